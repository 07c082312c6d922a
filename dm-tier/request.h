/* SPDX-License-Identifier: GPL-2.0-only */
/* Chunks that messages asked to move. */
#ifndef DM_TIER_REQUEST_H
#define DM_TIER_REQUEST_H

#include <linux/rbtree.h>

#include "core.h"

/* Done from first to end. */
struct tier_request {
	struct list_head list;
	struct rb_node node;
	u64 nr;			/* newer ones have higher numbers */
	u32 first, end;
	u32 low;		/* what lies below has a newer request */
	u8 id;			/* of the tier they go to */
	enum tier_reason reason;
	unsigned int in_flight;	/* moves */
};

/* Whether the chunk with this word is where the request wants it, or cannot be. */
static inline bool tier_request_met(const struct tier_request *q, u32 chunk, u64 word)
{
	if (!(word & TIER_ENTRY_MAPPED))
		return q->reason != TIER_REASON_HOME;
	return tier_word_id(word) == q->id && !(word & TIER_WORD_MOVING) &&
	       (q->reason != TIER_REASON_HOME ||
		(tier_word_place(word) == chunk && !tier_word_discarding(word)));
}

/* Asks for a move of these chunks; takes the place of what older requests say of them.  -ENOMEM. */
int tier_request_migration(struct tier_set *set, u32 first, u32 nr, struct tier *to,
			   enum tier_reason reason);
/* Forgets the requests for a tier; those under way end. */
void tier_drop_requests(struct tier_set *set, const struct tier *to);
/* Cuts requests at the end of a set that became shorter; while suspended. */
void tier_bound_requests(struct tier_set *set);
void tier_free_requests(struct tier_set *set);

bool __tier_requests_pending(struct tier_set *set);
/* Whether this chunk is asked to lie on that tier, or has been moved there by a request. */
bool tier_requested(struct tier_set *set, u32 chunk, u8 id);
/*
 * Starts the next move; of the mover, as only it takes requests off the list.  start: 0 if
 * begun; -EAGAIN or -ENOMEM: not now; -ENOENT: there is nothing to do for this chunk; else it
 * cannot be moved.  True: one was started.  *more: so many were passed over that others are to
 * have their turn first.
 */
bool tier_request_next(struct tier_set *set,
		       int (*start)(struct tier_set *set, struct tier_request *q, u32 chunk),
		       bool *more);
/* A move of a request has ended; again: it is still to be done. */
void tier_request_ended(struct tier_set *set, struct tier_request *q, u32 chunk, bool again);

#endif /* DM_TIER_REQUEST_H */
