// SPDX-License-Identifier: GPL-2.0-only
#include "kick.h"

#define STALL_LOOK_MS	1000
#define COMMIT_TIMER_MS	1000

/*
 * Bios that the set itself submits to one tier.  Submitting blocks if the device has no request
 * left.  So each tier has a work that submits: a tier that hangs does not hold up bios for
 * others.
 */
struct tier_outbox {
	struct tier *tier;
	struct bio_list bios, copies;	/* set->lock */
	struct work_struct work;
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

static void do_outbox(struct work_struct *work)
{
	struct tier_outbox *outbox = container_of(work, struct tier_outbox, work);
	struct tier *t = outbox->tier;
	struct bio *bio;

	for (;;) {
		spin_lock_irq(&t->set->lock);
		bio = bio_list_pop(&outbox->bios) ? : bio_list_pop(&outbox->copies);
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
	unsigned long flags;

	spin_lock_irqsave(&t->set->lock, flags);
	bio_list_add(bio->bi_bdev ? &t->outbox->bios : &t->outbox->copies, bio);
	/* With the lock held: a quiet set may be freed. */
	queue_work(t->set->wq, &t->outbox->work);
	spin_unlock_irqrestore(&t->set->lock, flags);
}

static void init(struct tier *t)
{
	t->outbox->tier = t;
	bio_list_init(&t->outbox->bios);
	bio_list_init(&t->outbox->copies);
	INIT_WORK(&t->outbox->work, do_outbox);
}

static void release(struct tier *t)
{
	cancel_work_sync(&t->outbox->work);
}

const struct tier_room tier_outbox_room = TIER_ROOM(outbox, init, release);
