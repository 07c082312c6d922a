// SPDX-License-Identifier: GPL-2.0-only
#include "health.h"

#include "kick.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static void do_event(struct work_struct *work)
{
	struct tier_set *set = container_of(work, struct tier_set, event_work);

	mutex_lock(&set->config);
	if (set->bound)
		dm_table_event(set->bound->ti->table);
	mutex_unlock(&set->config);
}

void tier_set_event(struct tier_set *set)
{
	schedule_work(&set->event_work);
}

void tier_set_mode(struct tier_set *set, enum tier_mode mode, const char *why)
{
	static const char * const names[] = { "rw", "ro", "fail" };
	enum tier_mode old;

	spin_lock_irq(&set->lock);
	old = set->mode;
	if (old < mode)
		WRITE_ONCE(set->mode, mode);
	/* First writes that wait for room or their turn get their answer. */
	__tier_wake_starved(set);
	if (set->crowded)
		queue_work(set->wq, &set->io_work);
	spin_unlock_irq(&set->lock);
	if (old >= mode)
		return;
	DMERR("%s: mode %s: %s", dm_device_name(set->md), names[mode], why);
	trace_dm_tier_mode(disk_devt(dm_disk(set->md)), old, mode);
	tier_set_event(set);
}

void tier_set_recover(struct tier_set *set, const char *why)
{
	enum tier_mode old;

	spin_lock_irq(&set->lock);
	old = set->mode;
	WRITE_ONCE(set->mode, TIER_MODE_RW);
	spin_unlock_irq(&set->lock);
	if (old == TIER_MODE_RW)
		return;
	DMINFO("%s: mode rw: %s", dm_device_name(set->md), why);
	trace_dm_tier_mode(disk_devt(dm_disk(set->md)), old, TIER_MODE_RW);
	tier_set_event(set);
}

bool tier_set_full(struct tier_set *set)
{
	return READ_ONCE(set->mode) == TIER_MODE_RO && !set->needs_check &&
	       !set->no_writes && !set->read_only_activation;
}

/* Statuses that do not tell of the request only. */
static bool blames_device(blk_status_t status)
{
	return status != BLK_STS_OK && status != BLK_STS_NOTSUPP && status != BLK_STS_AGAIN &&
	       status != BLK_STS_INVAL;
}

bool tier_rejected(struct tier *t, struct bio *bio, blk_status_t status)
{
	switch (bio_op(bio)) {
	case REQ_OP_WRITE_ZEROES:
		return !bdev_write_zeroes_sectors(t->bdev);
	case REQ_OP_DISCARD:
		/* A dm device may offer them still when the disk below has none any more. */
		return !bdev_max_discard_sectors(t->bdev) || status == BLK_STS_NOTSUPP ||
		       status == BLK_STS_TARGET;
	default:
		return false;
	}
}

void tier_note_error(struct tier *t, bool write, blk_status_t status)
{
	bool event;

	if (!blames_device(status))
		return;
	atomic64_inc(&t->errors);
	event = write && !test_and_set_bit(TIER_FLAG_WRITE_FAILED, &t->flags);
	event |= !test_and_set_bit(TIER_FLAG_ERRORS, &t->flags);
	if (!event)
		return;
	DMERR_LIMIT("%s: tier %u (%pg): %s error; see the status", dm_device_name(t->set->md),
		    t->rec.rank, t->bdev, write ? "write" : "I/O");
	tier_set_event(t->set);
}

void tier_health_init(struct tier_set *set)
{
	INIT_WORK(&set->event_work, do_event);
}
