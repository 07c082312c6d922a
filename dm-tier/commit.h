/* SPDX-License-Identifier: GPL-2.0-only */
/* Mapping changes on their way into the metadata; see commit.c. */
#ifndef DM_TIER_COMMIT_H
#define DM_TIER_COMMIT_H

#include "core.h"

/* A change of one chunk's mapping. */
struct tier_op {
	struct list_head list;
	u32 chunk;
	u64 entry;		/* place, tier id and MAPPED; the pin is added */
	/* In process context, set->commit held.  committed: it is on disk. */
	void (*done)(struct tier_set *set, struct tier_op *op, bool committed);
};

/* Chunks that are to be unmapped: of the range, those that tier_word_discarding() says. */
struct tier_range {
	struct list_head list;
	u32 first, end;		/* chunks */
	u32 up_to;		/* the first one that the commit had no time for, or end */
	/* As that of an op.  committed: those before up_to are unmapped on disk. */
	void (*done)(struct tier_set *set, struct tier_range *range, bool committed);
};

void __tier_queue_op(struct tier_set *set, struct tier_op *op);
/* The same with a list of nr ops, which is emptied. */
void __tier_queue_ops(struct tier_set *set, struct list_head *ops, unsigned int nr);
/* No FLUSH waits for ranges: what they discard was not acknowledged. */
void __tier_queue_range(struct tier_set *set, struct tier_range *range);
/* Whether ops are queued or being decided. */
bool __tier_ops_pending(struct tier_set *set);
/*
 * Calls wait->fn once all ops that are queued by now are decided, in process context,
 * without a lock.  ok: nothing that was first written before is lost.
 */
void __tier_wait_for_ops(struct tier_set *set, struct tier_commit_wait *wait);

/*
 * The op of a first write could not be committed.  A kept op is queued again once the metadata
 * has room or may be written.  Until then, and for good if an op is lost, FLUSHes fail.
 */
void __tier_keep_op(struct tier_set *set, struct tier_op *op);
void __tier_op_lost(struct tier_set *set);
/* Whether ops are kept or lost. */
bool __tier_ops_lost(struct tier_set *set);
/* Whether ops are kept; set->lock held, or suspended. */
bool tier_ops_kept(struct tier_set *set);
/* Queues the kept ops. */
void tier_requeue_ops(struct tier_set *set);
/* Moves the kept ops to the list: they are given up.  Suspended. */
void tier_give_up_ops(struct tier_set *set, struct list_head *ops);
/* Whether ops were lost; forgets that.  Suspended. */
bool tier_forget_lost_ops(struct tier_set *set);

/* Commits set->info and tier records that a message changed; set->commit held. */
int tier_commit_now(struct tier_set *set);
/* After a commit failed, set->commit held: true if it is on disk after all. */
bool tier_settle_commit(struct tier_set *set);
/*
 * The same for what commits within the metadata layer: an error that leaves the
 * transaction in doubt is settled at once.  Returns r.
 */
int tier_settle_error(struct tier_set *set, int r);
/* Tells once when a batch of changes may no longer find room; set->commit held. */
void tier_watch_space(struct tier_set *set);

#endif /* DM_TIER_COMMIT_H */
