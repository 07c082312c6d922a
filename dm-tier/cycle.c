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
#include "kick.h"

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

	/* Of the cycle that runs; set->lock. */
	unsigned int pending;		/* tiers to be flushed, plus one until all are known */
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
 * The cycle has ended: its bios are listed for tier_end_bios().  If no sender hears of its
 * failure, the next cycle fails as well, and so on until a sender hears.  Not inlined, as the
 * crash tests watch it.
 */
static noinline void __end_cycle(struct tier_cycle *c, struct bio_list *ended)
{
	struct tier_set *set = c->set;
	struct bio *bio;
	bool told = false;

	lockdep_assert_held(&set->lock);
	/* None is looked at if the cycle has succeeded, as there may be many. */
	if (c->status) {
		bio_list_for_each(bio, &c->batch) {
			told |= hears(bio);
			bio->bi_status = c->status;
		}
	}
	bio_list_merge(ended, &c->batch);
	bio_list_init(&c->batch);
	c->untold |= c->status && !told;
	c->running = false;
	if (!bio_list_empty(&c->waiting))
		queue_work(set->wq, &c->work);
	__tier_wake_idle(set);
}

/* Whether something that the cycle is to make durable is lost; forgets that. */
static bool __lost(struct tier_cycle *c)
{
	bool lost = __tier_flush_lost(c->set) || c->untold;

	c->untold = false;
	return lost;
}

static void cycle_committed(struct tier_commit_wait *wait, bool ok)
{
	struct tier_cycle *c = container_of(wait, struct tier_cycle, commit);
	struct bio_list ended = BIO_EMPTY_LIST;

	spin_lock_irq(&c->set->lock);
	if (!ok)
		c->status = BLK_STS_IOERR;
	__end_cycle(c, &ended);
	spin_unlock_irq(&c->set->lock);
	tier_end_bios(&ended);
}

/* All tiers have been flushed; the mapping is still to be committed. */
static void __cycle_flushed(struct tier_cycle *c, struct bio_list *ended)
{
	bool lost = __lost(c) || __tier_ops_lost(c->set);

	if (lost && !c->status)
		c->status = BLK_STS_IOERR;
	if (!c->status && __tier_ops_pending(c->set))
		__tier_wait_for_ops(c->set, &c->commit);
	else
		__end_cycle(c, ended);
}

static void __put_cycle(struct tier_cycle *c, struct bio_list *ended)
{
	if (!--c->pending)
		__cycle_flushed(c, ended);
}

static void cycle_tier_flushed(struct tier_flush_wait *wait, blk_status_t status,
			       struct bio_list *ended)
{
	struct tier_cycle *c = container_of(wait, struct cycle_wait, flush)->cycle;

	if (status)
		c->status = status;
	__put_cycle(c, ended);
}

/* All chunks of a tier that were new when the cycle began are whole, or one cannot be. */
static void cycle_births_whole(struct tier_birth_wait *wait, blk_status_t status)
{
	struct cycle_wait *w = container_of(wait, struct cycle_wait, births);
	struct bio_list ended = BIO_EMPTY_LIST;
	struct tier_set *set = w->cycle->set;
	bool idle = false;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	if (status || !__tier_flush_cover(w->tier, &w->flush, &idle))
		cycle_tier_flushed(&w->flush, status, &ended);
	if (idle)
		queue_work(w->tier->wq, &w->tier->flush_work);
	spin_unlock_irqrestore(&set->lock, flags);
	tier_end_bios(&ended);
}

/*
 * Begins a cycle.  Sending a flush may block.  Returns the tier whose flush a caller that may
 * wait has to submit once the lock is released, or NULL.  Not inlined, as the crash tests watch
 * it.
 */
static noinline struct tier *__run_cycle(struct tier_cycle *c, struct bio_list *ended,
					 bool may_wait)
{
	struct tier_set *set = c->set;
	struct tier *mine = NULL;
	unsigned int i;
	bool idle;

	c->running = true;
	c->batch = c->waiting;
	bio_list_init(&c->waiting);
	c->status = BLK_STS_OK;
	c->pending = 1;
	for (i = 0; i < set->nr_tiers; i++) {
		struct tier *t = set->tiers[i];

		if (!tier_present(t))
			continue;
		c->wait[i].tier = t;
		if (t->nr_births && __tier_complete_births(t, &c->wait[i].births)) {
			c->pending++;
			continue;
		}
		if (!__tier_flush_cover(t, &c->wait[i].flush, &idle))
			continue;
		c->pending++;
		if (idle && may_wait && !mine)
			mine = t;
		else if (idle)
			queue_work(t->wq, &t->flush_work);
	}
	if (mine)
		__tier_flush_start(mine);
	__put_cycle(c, ended);
	return mine;
}

/*
 * Begins a cycle, unless one is under way.  bio: of the caller, who waits for the tier that is
 * flushed; NULL: it is a work that calls.
 */
static void start_cycle(struct tier_cycle *c, struct bio *bio)
{
	struct bio_list ended = BIO_EMPTY_LIST;
	struct tier *t = NULL;

	if (!READ_ONCE(c->running))
		tier_complete_births(c->set);
	spin_lock_irq(&c->set->lock);
	if (bio)
		bio_list_add(&c->waiting, bio);
	if (!c->running && !bio_list_empty(&c->waiting))
		t = __run_cycle(c, &ended, bio);
	spin_unlock_irq(&c->set->lock);
	if (t)
		tier_flush_submit(t);
	tier_end_bios(&ended);
}

static void do_cycle(struct work_struct *work)
{
	start_cycle(container_of(work, struct tier_cycle, work), NULL);
}

void tier_cycle_flush(struct tier_set *set, struct bio *bio)
{
	start_cycle(set->cycle, bio);
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
	lost = __lost(c) || __tier_ops_lost(set) || tier_births_unflushed(set) ||
	       __tier_ops_pending(set);
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
