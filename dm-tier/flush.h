/* SPDX-License-Identifier: GPL-2.0-only */
/* Flushes of single tiers, and the first writes that wait for them; see flush.c. */
#ifndef DM_TIER_FLUSH_H
#define DM_TIER_FLUSH_H

#include "commit.h"

/*
 * A write to the tier has ended.  Pairs with the exchange in tier_flush_submit(): a write that
 * ended before the mark is taken off is covered by the flush sent after that.
 */
static inline void tier_mark_unflushed(struct tier *t)
{
	if (READ_ONCE(t->unflushed) != TIER_UNFLUSHED)
		WRITE_ONCE(t->unflushed, TIER_UNFLUSHED);
}

/*
 * Waits for a flush of one tier.  fn: any context, set->lock held; bios that it adds to the
 * list end once the lock is released.
 */
struct tier_flush_wait {
	struct list_head list;
	void (*fn)(struct tier_flush_wait *wait, blk_status_t status, struct bio_list *ended);
};

/* Ends bios whose status is set.  Without the lock. */
void tier_end_bios(struct bio_list *bios);

/* Flushes one tier; wait->fn is called when done.  Process context. */
void tier_flush_tier(struct tier *t, struct tier_flush_wait *wait);
/*
 * Waits for a flush that covers all ended writes to the tier.  False: everything is flushed.
 * If *idle, no flush is in flight, and the caller has to start one or to queue the tier's
 * flush_work.
 */
bool __tier_flush_cover(struct tier *t, struct tier_flush_wait *wait, bool *idle);
/* Begins a flush unless one is under way.  True: the caller has to submit it. */
bool __tier_flush_start(struct tier *t);
/* May block. */
void tier_flush_submit(struct tier *t);
/* Flushes every present tier that was written; waits.  Process context. */
int tier_flush_all(struct tier_set *set);
bool __tier_flushing(struct tier_set *set);

/* The data of a first write is on the tier: queues the op after the next flush. */
void __tier_flush_then_commit(struct tier *t, struct tier_op *op);
/* Flushes the tier if first writes wait for that, and so starts their commit. */
void __tier_flush_new(struct tier *t);
/* Whether new chunks are not whole or wait for a flush; set->lock held, or suspended. */
bool tier_births_unflushed(struct tier_set *set);
/* The same, or wait for metadata space; likewise. */
bool tier_births_pending(struct tier_set *set);
/* Whether first writes wait for a tier whose last flush, or the zeroing of a chunk, failed. */
bool __tier_births_stuck(struct tier *t);
/* Moves the ops that wait for a flush to the list: they are given up.  Suspended. */
void tier_give_up_births(struct tier *t, struct list_head *ops);
/* Completes FUA writes once the tier is flushed and its new chunks are committed.  Any context. */
void tier_flush_births(struct tier *t, struct bio *bio);
void __tier_flush_births(struct tier *t, struct bio_list *bios);
/* Takes the discards that wait until births of this tier are committed. */
void __tier_take_undecided(struct tier *t, struct bio_list *bios);

/* The flush that ended last failed. */
bool tier_flush_failed(const struct tier *t);
/* Number of flushes that failed since activation. */
unsigned int tier_failed_flushes(const struct tier *t);
/* The flush that ended last failed, and none is in flight. */
bool __tier_flush_fails(const struct tier *t);
/* A flush has been in flight for TIER_STALL_NS. */
bool __tier_flush_hangs(const struct tier *t);

/* Acknowledged data is lost: the next FLUSH fails. */
void __tier_flush_lose(struct tier_set *set);
/*
 * Whether a flush has failed that no FLUSH waited for; the caller reports the failure, and it
 * is forgotten.  A device may drop the data that it could not write and complete the next
 * flush without an error.  So the first FLUSH afterwards has to fail, as fsync() does.
 */
bool __tier_flush_lost(struct tier_set *set);

#endif /* DM_TIER_FLUSH_H */
