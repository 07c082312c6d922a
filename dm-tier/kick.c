// SPDX-License-Identifier: GPL-2.0-only
#include "kick.h"

#define STALL_LOOK_MS	1000
#define COMMIT_TIMER_MS	1000

/*
 * Bios that the set itself submits to one tier.  Submitting blocks if the device has no request
 * left, or throttles bios of their kind.  So each tier and kind has a work that submits: none
 * holds up the bios of others.
 */
enum { LANE_HELD_BACK, LANE_COPIES, LANE_DISCARDS, NR_LANES };

struct tier_lane {
	struct tier *tier;
	struct bio_list bios;		/* set->lock */
	struct work_struct work;
};

struct tier_outbox {
	struct tier_lane lane[NR_LANES];
};

int tier_defer_bio(struct tier_set *set, struct bio *bio)
{
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	tier_put_aside(&set->deferred, bio);
	spin_unlock_irqrestore(&set->lock, flags);
	queue_work(set->wq, &set->io_work);
	return DM_MAPIO_SUBMITTED;
}

void __tier_defer_bios(struct tier_set *set, struct bio_list *bios)
{
	lockdep_assert_held(&set->lock);
	if (bio_list_empty(bios))
		return;
	bio_list_merge(&set->deferred, bios);
	bio_list_init(bios);
	queue_work(set->wq, &set->io_work);
}

void __tier_retry_deferred(struct tier_set *set)
{
	lockdep_assert_held(&set->lock);
	if (!bio_list_empty(&set->deferred))
		queue_work(set->wq, &set->io_work);
}

void __tier_wake_starved(struct tier_set *set)
{
	__tier_defer_bios(set, &set->starved);
}

void tier_kick_mover(struct tier_set *set)
{
	if (READ_ONCE(set->running))
		mod_delayed_work(set->wq, &set->mover_work, 0);
}

void tier_watch_stalls(struct tier_set *set)
{
	queue_delayed_work(set->wq, &set->mover_work, msecs_to_jiffies(STALL_LOOK_MS));
}

void __tier_chunks_may_go(struct tier_set *set)
{
	unsigned int rank;

	lockdep_assert_held(&set->lock);
	for (rank = 0; rank < set->nr_tiers; rank++)
		set->tiers[rank]->room_seq++;
}

void __tier_arm_commit_timer(struct tier_set *set)
{
	lockdep_assert_held(&set->lock);
	queue_delayed_work(set->wq, &set->commit_timer, msecs_to_jiffies(COMMIT_TIMER_MS));
}

void __tier_mark_astray(struct tier_set *set)
{
	set->astray = true;
	set->astray_seq++;
	__tier_chunks_may_go(set);
}

static void do_lane(struct work_struct *work)
{
	struct tier_lane *lane = container_of(work, struct tier_lane, work);
	struct tier *t = lane->tier;
	struct bio *bio;

	for (;;) {
		spin_lock_irq(&t->set->lock);
		bio = bio_list_pop(&lane->bios);
		spin_unlock_irq(&t->set->lock);
		if (!bio)
			return;
		if (bio->bi_bdev) {
			dm_submit_bio_remap(bio, NULL);
		} else {
			/* Only now, as this charges the bio to the cgroup of the task that runs. */
			bio_set_dev(bio, t->bdev);
			submit_bio(bio);
		}
	}
}

void tier_post(struct tier *t, struct bio *bio)
{
	struct tier_lane *lane = &t->outbox->lane[bio->bi_bdev ? LANE_HELD_BACK :
						  bio_op(bio) == REQ_OP_DISCARD ? LANE_DISCARDS :
						  LANE_COPIES];
	unsigned long flags;

	spin_lock_irqsave(&t->set->lock, flags);
	bio_list_add(&lane->bios, bio);
	/* With the lock held: a quiet set may be freed. */
	queue_work(t->wq, &lane->work);
	spin_unlock_irqrestore(&t->set->lock, flags);
}

static int init(struct tier *t)
{
	unsigned int i;

	for (i = 0; i < NR_LANES; i++) {
		struct tier_lane *lane = &t->outbox->lane[i];

		lane->tier = t;
		bio_list_init(&lane->bios);
		INIT_WORK(&lane->work, do_lane);
	}
	return 0;
}

static void release(struct tier *t)
{
	unsigned int i;

	for (i = 0; i < NR_LANES; i++)
		cancel_work_sync(&t->outbox->lane[i].work);
}

const struct tier_room tier_outbox_room = TIER_ROOM(outbox, init, release);
