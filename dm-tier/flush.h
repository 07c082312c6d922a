/* SPDX-License-Identifier: GPL-2.0-only */
/* Flushes of single tiers, and the first writes that wait for them; see flush.c. */
#ifndef DM_TIER_FLUSH_H
#define DM_TIER_FLUSH_H

#include "commit.h"

extern const struct tier_set_room tier_flush_room;
extern const struct tier_room tier_flusher_room;

/*
 * A write to the tier has ended.  Pairs with the exchange in send_flush(): a write that
 * ended before the mark is taken off is covered by the flush sent after that.
 */
static inline void tier_mark_unflushed(struct tier *t)
{
	if (READ_ONCE(t->unflushed) != TIER_UNFLUSHED)
		WRITE_ONCE(t->unflushed, TIER_UNFLUSHED);
}

/* Someone who waits for a flush of one tier; fn may be called from irq. */
struct tier_flush_wait {
	struct list_head list;
	void (*fn)(struct tier_flush_wait *wait, blk_status_t status);
};

/* Flushes one tier; wait->fn is called when done.  Process context. */
void tier_flush_tier(struct tier *t, struct tier_flush_wait *wait);
/*
 * Waits for the flush that covers all writes to the tier that have ended.  False: there is
 * nothing to wait for.  *idle: the caller shall call tier_flush_send(), or queue the
 * tier's flush_work, which does.
 */
bool __tier_flush_cover(struct tier *t, struct tier_flush_wait *wait, bool *idle);
/* Sends a flush if one is wanted and none is under way.  May block. */
void tier_flush_send(struct tier *t);
/* Flushes every present tier that was written; waits.  Process context. */
int tier_flush_all(struct tier_set *set);
bool __tier_flushing(struct tier_set *set);

/* A first write's data is on the tier: its op is queued once a flush has made it durable. */
void __tier_flush_then_commit(struct tier *t, struct tier_op *op);
/* New chunks are committed within a second of this. */
void tier_arm_commit_timer(struct tier_set *set);
void __tier_arm_commit_timer(struct tier_set *set);
/* Suspended: it is armed again when the set goes on. */
void tier_stop_commit_timer(struct tier_set *set);
/* Puts the first writes of all tiers on their way into the metadata now. */
void tier_commit_births(struct tier_set *set);
/* Written chunks that no flush has made durable; set->lock held, or suspended. */
bool tier_births_unflushed(struct tier_set *set);
/* These, or such as no metadata has had room for; likewise. */
bool tier_births_pending(struct tier_set *set);
/* Whether the tier fails to flush, and has such chunks. */
bool __tier_births_stuck(struct tier *t);
/* Hands the ops of these back, as they are given up; suspended. */
void tier_give_up_births(struct tier *t, struct list_head *ops);
/* Completes a FUA write once the tier is flushed and its new chunks are committed.  Any context. */
void tier_flush_births(struct tier *t, struct bio *bio);

/* The flush that ended last failed. */
bool tier_flush_failed(const struct tier *t);
/* How many failed since activation. */
unsigned int tier_failed_flushes(const struct tier *t);
/* The flush that ended last failed, and no other is under way. */
bool __tier_flush_fails(const struct tier *t);
/* One is under way for so long that the tier may be dead. */
bool __tier_flush_hangs(const struct tier *t);

/* What has been acknowledged is lost: the next FLUSH is to fail. */
void __tier_flush_lose(struct tier_set *set);
/*
 * Whether a flush failed that nobody who is told had asked for; it is told now.  A device
 * may drop what it could not write, and take the next flush as if nothing had been: as
 * with fsync(), the first to ask afterwards hears of it.
 */
bool __tier_flush_lost(struct tier_set *set);

#endif /* DM_TIER_FLUSH_H */
