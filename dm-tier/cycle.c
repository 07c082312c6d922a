// SPDX-License-Identifier: GPL-2.0-only
/*
 * FLUSH bios gather in cycles: a cycle waits until new chunks are whole, flushes
 * every tier that was written, waits for the commit if the mapping changed, and
 * completes the bios that it started with.  A bio that comes while a cycle is
 * under way is served by the next one.
 */
#include "cycle.h"

#include "birth.h"
#include "flush.h"

struct cycle_wait {
	struct tier_birth_wait births;
	struct tier_flush_wait flush;
	struct tier_cycle *cycle;
	struct tier *tier;
};

struct tier_cycle {
	struct tier_set *set;
	struct work_struct work;

	/* set->lock */
	bool running;
	bool untold;			/* a cycle failed, and no sender has heard of it */
	struct bio_list waiting;	/* for the next cycle */
	struct bio_list batch;		/* for the cycle that runs */

	/* Of the cycle that runs. */
	atomic_t pending;		/* tiers to be flushed, plus one until all are known */
	blk_status_t status;
	struct cycle_wait wait[TIER_MAX_TIERS];	/* by rank */
	struct tier_commit_wait commit;
};

/*
 * Whether the sender of a FLUSH hears of an error.  For a FLUSH with data the core sends a
 * clone without data first, drops the clone's error, and then sends the data (6.1, 6.12).
 * Only such a clone has a bio_vec.
 */
static bool hears(const struct bio *bio)
{
	return !bio->bi_io_vec;
}

/*
 * The cycle has ended; any context.  If no sender hears of its failure, the next cycle fails
 * as well, and so on until a sender hears.
 */
static void end_cycle(struct tier_cycle *c, blk_status_t status)
{
	struct tier_set *set = c->set;
	struct bio_list bios;
	unsigned long flags;
	struct bio *bio;
	bool told = false;

	spin_lock_irqsave(&set->lock, flags);
	bios = c->batch;
	bio_list_init(&c->batch);
	bio_list_for_each(bio, &bios)
		told |= hears(bio);
	c->untold |= status && !told;
	c->running = false;
	if (!bio_list_empty(&c->waiting))
		queue_work(set->wq, &c->work);
	/* With the lock held: a quiet set may be freed. */
	wake_up(&set->idle_wait);
	spin_unlock_irqrestore(&set->lock, flags);

	while ((bio = bio_list_pop(&bios))) {
		bio->bi_status = status;
		bio_endio(bio);
	}
}

static void cycle_committed(struct tier_commit_wait *wait, bool ok)
{
	struct tier_cycle *c = container_of(wait, struct tier_cycle, commit);

	spin_lock_irq(&c->set->lock);
	/* An undone discard brings old data back where zeroes were acknowledged. */
	if (__tier_flush_lost(c->set) || c->untold)
		ok = false;
	c->untold = false;
	spin_unlock_irq(&c->set->lock);
	end_cycle(c, ok ? BLK_STS_OK : BLK_STS_IOERR);
}

/* All tiers have been flushed; the mapping is still to be committed. */
static void cycle_flushed(struct tier_cycle *c)
{
	struct tier_set *set = c->set;
	blk_status_t status = c->status;
	bool commit, lost;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	lost = __tier_flush_lost(set) || __tier_ops_lost(set) || c->untold;
	c->untold = false;
	if (lost && !status)
		status = BLK_STS_IOERR;
	commit = !status && __tier_ops_pending(set);
	/* With the lock held: a commit may end the cycle at once. */
	if (commit)
		__tier_wait_for_ops(set, &c->commit);
	spin_unlock_irqrestore(&set->lock, flags);

	if (!commit)
		end_cycle(c, status);
}

static void put_cycle(struct tier_cycle *c)
{
	if (atomic_dec_and_test(&c->pending))
		cycle_flushed(c);
}

static void cycle_tier_flushed(struct tier_flush_wait *wait, blk_status_t status)
{
	struct tier_cycle *c = container_of(wait, struct cycle_wait, flush)->cycle;

	if (status)
		WRITE_ONCE(c->status, status);
	put_cycle(c);
}

/* All chunks of a tier that were new when the cycle began are whole, or one cannot be. */
static void cycle_births_whole(struct tier_birth_wait *wait, blk_status_t status)
{
	struct cycle_wait *w = container_of(wait, struct cycle_wait, births);
	struct tier_set *set = w->cycle->set;
	bool idle = false, wait_for_flush;
	unsigned long flags;

	if (status) {
		cycle_tier_flushed(&w->flush, status);
		return;
	}
	spin_lock_irqsave(&set->lock, flags);
	wait_for_flush = __tier_flush_cover(w->tier, &w->flush, &idle);
	if (idle)
		queue_work(set->wq, &w->tier->flush_work);
	spin_unlock_irqrestore(&set->lock, flags);
	if (!wait_for_flush)
		put_cycle(w->cycle);
}

/* Not inlined, as the crash tests watch it begin. */
static noinline void run_cycle(struct tier_cycle *c)
{
	struct tier_set *set = c->set;
	struct tier *last = NULL;
	unsigned int i;
	bool idle;

	c->status = BLK_STS_OK;
	atomic_set(&c->pending, 1);
	spin_lock_irq(&set->lock);
	for (i = 0; i < set->nr_tiers; i++) {
		struct tier *t = set->tiers[i];

		if (!tier_present(t))
			continue;
		c->wait[i].tier = t;
		if (__tier_complete_births(t, &c->wait[i].births)) {
			atomic_inc(&c->pending);
			continue;
		}
		if (!__tier_flush_cover(t, &c->wait[i].flush, &idle))
			continue;
		atomic_inc(&c->pending);
		/* Sending may block, so only the last flush is sent from here. */
		if (idle && last)
			queue_work(set->wq, &last->flush_work);
		if (idle)
			last = t;
	}
	spin_unlock_irq(&set->lock);
	if (last)
		tier_flush_send(last);
	put_cycle(c);
}

static void start_cycle(struct tier_cycle *c)
{
	bool start;

	spin_lock_irq(&c->set->lock);
	start = !c->running && !bio_list_empty(&c->waiting);
	if (start) {
		c->running = true;
		c->batch = c->waiting;
		bio_list_init(&c->waiting);
	}
	spin_unlock_irq(&c->set->lock);
	if (start)
		run_cycle(c);
}

static void do_cycle(struct work_struct *work)
{
	start_cycle(container_of(work, struct tier_cycle, work));
}

void tier_cycle_flush(struct tier_set *set, struct bio *bio)
{
	struct tier_cycle *c = set->cycle;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	bio_list_add(&c->waiting, bio);
	spin_unlock_irqrestore(&set->lock, flags);
	start_cycle(c);
}

bool __tier_cycle_running(struct tier_set *set)
{
	lockdep_assert_held(&set->lock);
	return set->cycle->running;
}

bool tier_cycle_lost(struct tier_set *set)
{
	struct tier_cycle *c = set->cycle;
	bool lost;

	spin_lock_irq(&set->lock);
	lost = __tier_flush_lost(set) || c->untold || __tier_ops_lost(set) ||
	       tier_births_unflushed(set) || __tier_ops_pending(set);
	c->untold = false;
	spin_unlock_irq(&set->lock);
	return lost;
}

static int init(struct tier_set *set)
{
	struct tier_cycle *c = set->cycle;
	unsigned int i;

	c->set = set;
	INIT_WORK(&c->work, do_cycle);
	bio_list_init(&c->waiting);
	bio_list_init(&c->batch);
	c->commit.fn = cycle_committed;
	for (i = 0; i < TIER_MAX_TIERS; i++) {
		c->wait[i].cycle = c;
		c->wait[i].births.fn = cycle_births_whole;
		c->wait[i].flush.fn = cycle_tier_flushed;
	}
	return 0;
}

const struct tier_set_room tier_cycle_room = TIER_SET_ROOM(cycle, init, NULL);
