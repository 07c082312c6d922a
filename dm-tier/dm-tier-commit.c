// SPDX-License-Identifier: GPL-2.0-only
/*
 * The commit: mapping changes whose data is on stable storage gather as ops;
 * one work at a time writes them into the metadata, commits, and publishes the
 * result.  Nothing here waits for a tier.
 */
#include "dm-tier.h"

#define COMMIT_TIMER_MS	1000
#define OPS_PER_COMMIT	4096

void __tier_queue_op(struct tier_set *set, struct tier_op *op)
{
	lockdep_assert_held(&set->lock);
	list_add_tail(&op->list, &set->ops);
	set->ops_queued++;
	queue_work(set->wq, &set->commit_work);
}

void tier_queue_op(struct tier_set *set, struct tier_op *op)
{
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	__tier_queue_op(set, op);
	spin_unlock_irqrestore(&set->lock, flags);
}

static void decide(struct tier_set *set, struct list_head *ops, bool committed)
{
	struct tier_op *op, *next;

	list_for_each_entry_safe(op, next, ops, list) {
		list_del(&op->list);
		op->done(set, op, committed);
	}
}

static int write_ops(struct tier_set *set, struct list_head *ops)
{
	struct tier_op *op;
	int r;

	list_for_each_entry(op, ops, list) {
		u64 pin = tier_get_word(set, op->chunk) & TIER_WORD_PIN_MASK;

		r = tier_metadata_set_entry(set->metadata, op->chunk, op->entry | pin);
		if (r)
			return r;
	}
	return 0;
}

/*
 * A commit failed, and the superblock may or may not be on the disk.  What the
 * ops say is decided by reading it back; until then their chunks are held as
 * they are.  Then the mode falls to ro, or to fail if nothing can be learnt.
 */
bool tier_settle_commit(struct tier_set *set)
{
	enum tier_verdict verdict;

	/* Whoever made a change hears of a commit that was settled on the way. */
	if (set->needs_check && set->mode != TIER_MODE_RW)
		return false;
	verdict = tier_metadata_verdict(set->metadata);
	if (verdict == TIER_VERDICT_UNKNOWN) {
		tier_set_mode(set, TIER_MODE_FAIL, "the superblock cannot be read back");
		return false;
	}
	WRITE_ONCE(set->needs_check, true);
	if (tier_metadata_abort(set->metadata) ||
	    tier_metadata_set_needs_check(set->metadata)) {
		tier_set_mode(set, TIER_MODE_FAIL, "needs_check cannot be recorded");
		/* In the device's cache at best: nothing can be promised. */
		return false;
	}
	tier_metadata_set_read_only(set->metadata);
	tier_set_mode(set, TIER_MODE_RO, "a metadata commit failed");
	return verdict == TIER_VERDICT_NEW;
}

int tier_settle_error(struct tier_set *set, int r)
{
	/* What was refused, or could not be read, before anything was changed does no harm. */
	if (r && tier_metadata_doomed(set->metadata))
		tier_settle_commit(set);
	return r;
}

void tier_watch_space(struct tier_set *set)
{
	bool low = !tier_metadata_has_room(set->metadata, TIER_SMALL_BATCH);

	lockdep_assert_held(&set->commit);
	if (low && !set->metadata_low) {
		DMWARN("%s: the metadata device is nearly full; grow it", dm_device_name(set->md));
		tier_set_event(set);
	}
	set->metadata_low = low;
}

int tier_commit_now(struct tier_set *set)
{
	int r;

	lockdep_assert_held(&set->commit);
	if (tier_set_frozen(set))
		return -EROFS;
	if (!tier_metadata_has_room(set->metadata, 0)) {
		tier_set_mode(set, TIER_MODE_RO, "out of metadata space");
		return -ENOSPC;
	}
	r = tier_metadata_commit(set->metadata, false);
	if (r && tier_settle_commit(set))
		r = 0;
	if (!r)
		tier_watch_space(set);
	return r;
}

/* Decides a batch of ops; false if they did not make it to the disk. */
static bool commit_batch(struct tier_set *set, struct list_head *ops, u64 nr)
{
	bool committed = false;
	int r;

	if (!tier_set_frozen(set)) {
		if (!tier_metadata_has_room(set->metadata, nr)) {
			tier_set_mode(set, TIER_MODE_RO, "out of metadata space");
		} else {
			/* Only a commit that was tried can be on the disk after all. */
			r = write_ops(set, ops);
			if (r)
				tier_settle_commit(set);
			else
				committed = !tier_metadata_commit(set->metadata, false) ||
					    tier_settle_commit(set);
		}
	}
	decide(set, ops, committed);
	return committed;
}

/*
 * How many ops the next transaction has room for.  When it is few, one that is
 * open is committed first, which gives back what it has replaced.
 */
static u64 room_for_ops(struct tier_set *set)
{
	u64 nr = OPS_PER_COMMIT;

	if (tier_set_frozen(set))
		return nr;
	if (!tier_metadata_has_room(set->metadata, TIER_SMALL_BATCH) &&
	    tier_metadata_commit(set->metadata, false)) {
		tier_settle_commit(set);
		return nr;
	}
	while (nr > 1 && !tier_metadata_has_room(set->metadata, nr))
		nr /= 2;
	return nr;
}

/* The FUA writes that have nothing to wait for but the first ops, up to that one. */
static void take_fua(struct tier_set *set, u64 upto, struct bio_list *fua)
{
	lockdep_assert_held(&set->lock);
	if (upto < set->fua_upto)
		return;
	bio_list_merge(fua, &set->fua_committing);
	bio_list_init(&set->fua_committing);
}

static void do_commit(struct work_struct *work)
{
	struct tier_set *set = container_of(work, struct tier_set, commit_work);
	struct bio_list fua = BIO_EMPTY_LIST;
	struct bio_list retry;
	bool cycle, more, ok, lost;
	struct bio *bio;
	LIST_HEAD(ops);
	u64 room, upto, nr = 0;

	mutex_lock(&set->commit);
	room = room_for_ops(set);
	spin_lock_irq(&set->lock);
	while (!list_empty(&set->ops) && nr < room) {
		list_move_tail(set->ops.next, &ops);
		nr++;
	}
	more = !list_empty(&set->ops);
	/* Ops are decided in order.  Who waits for some does not wait for all that came since. */
	upto = set->ops_decided + nr;
	cycle = set->cycle_wants_commit && upto >= set->cycle_upto;
	if (cycle)
		set->cycle_wants_commit = false;
	take_fua(set, upto, &fua);
	if (bio_list_empty(&set->fua_committing)) {
		bio_list_merge(&set->fua_committing, &set->fua_flushed);
		bio_list_init(&set->fua_flushed);
		set->fua_upto = set->fua_flushed_upto;
		take_fua(set, upto, &fua);
	}
	spin_unlock_irq(&set->lock);

	if (!list_empty(&ops) && commit_batch(set, &ops, nr))
		tier_watch_space(set);

	spin_lock_irq(&set->lock);
	set->ops_decided = upto;
	tier_wake_crowded(set);
	ok = !tier_births_lost(set);
	/* A discard that was undone takes with it what others were told of zeroes. */
	lost = cycle && tier_flush_lost(set);
	retry = set->undecided;
	bio_list_init(&set->undecided);
	bio_list_merge(&set->deferred, &retry);
	spin_unlock_irq(&set->lock);
	mutex_unlock(&set->commit);

	if (more)
		queue_work(set->wq, &set->commit_work);
	if (!bio_list_empty(&retry))
		queue_work(set->wq, &set->io_work);
	if (cycle)
		tier_flush_committed(set, ok && !lost);
	while ((bio = bio_list_pop(&fua))) {
		bio->bi_status = ok ? BLK_STS_OK : BLK_STS_IOERR;
		bio_endio(bio);
	}
	wake_up(&set->idle_wait);
}

static bool births_wait(struct tier_set *set)
{
	unsigned int i;

	for (i = 0; i < set->nr_tiers; i++)
		if (!list_empty(&set->tiers[i]->births))
			return true;
	return false;
}

bool tier_births_unflushed(struct tier_set *set)
{
	unsigned int i;

	for (i = 0; i < set->nr_tiers; i++)
		if (!list_empty(&set->tiers[i]->births_flushing))
			return true;
	return births_wait(set);
}

bool tier_births_pending(struct tier_set *set)
{
	return tier_births_unflushed(set) || !list_empty(&set->unwritten);
}

/* The tier's flush carries its births on to the commit. */
void tier_commit_births(struct tier_set *set)
{
	unsigned int i;

	for (i = 0; i < set->nr_tiers; i++) {
		struct tier *t = set->tiers[i];

		if (!list_empty_careful(&t->births))
			queue_work(set->wq, &t->flush_work);
	}
}

static void do_commit_timer(struct work_struct *work)
{
	struct tier_set *set = container_of(work, struct tier_set, commit_timer.work);
	bool again;

	spin_lock_irq(&set->lock);
	/* It is armed again when the set goes on. */
	again = births_wait(set) && set->running;
	set->commit_timer_armed = again;
	spin_unlock_irq(&set->lock);

	if (!again)
		return;
	tier_commit_births(set);
	queue_delayed_work(set->wq, &set->commit_timer,
			   msecs_to_jiffies(COMMIT_TIMER_MS));
}

void __tier_arm_commit_timer(struct tier_set *set)
{
	lockdep_assert_held(&set->lock);
	set->commit_timer_armed = true;
	queue_delayed_work(set->wq, &set->commit_timer,
			   msecs_to_jiffies(COMMIT_TIMER_MS));
}

void tier_arm_commit_timer(struct tier_set *set)
{
	if (READ_ONCE(set->commit_timer_armed))
		return;
	spin_lock_irq(&set->lock);
	__tier_arm_commit_timer(set);
	spin_unlock_irq(&set->lock);
}

void tier_commit_init(struct tier_set *set)
{
	INIT_WORK(&set->commit_work, do_commit);
	INIT_DELAYED_WORK(&set->commit_timer, do_commit_timer);
	INIT_LIST_HEAD(&set->ops);
	INIT_LIST_HEAD(&set->unwritten);
	bio_list_init(&set->fua_flushed);
	bio_list_init(&set->fua_committing);
}
