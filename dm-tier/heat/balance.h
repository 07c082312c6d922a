/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balance under load: how much of the load a tier may have beside the next slower one.
 *
 * Where a faster tier has more to do than it can, an access to it waits longer than one to the
 * slower tier below it takes, and with two tiers of nearly equal speed a set could deliver the
 * sum of both.  So the share that the faster one has of the load of both is limited while it
 * takes as long as the slower one or longer, and the limit is searched for by halves: which of
 * the two takes longer tells only on which side of the best share the present one is, as all
 * accesses that are under way queue where there is too much.
 */
#ifndef DM_TIER_HEAT_BALANCE_H
#define DM_TIER_HEAT_BALANCE_H

#include "heat/port.h"
#include "policy-type.h"

#define HEAT_WHOLE	65536	/* a share: all of it */

/* Of a tier and the next slower one. */
struct heat_balance {
	u32 seen;		/* number of the last interval */
	u64 load[2];		/* weights of accesses to this tier and the next, since then */
	u64 accesses;		/* to all tiers, until then */
	u32 weight;		/* of an access in that interval, heat with 16 fractional bits */
	u32 limit;		/* share that this tier may have; HEAT_WHOLE = no limit */
	u32 low, high;		/* the best share lies between these */
	u32 step;		/* by how much the limit changes at most */
	u32 rise, sink;		/* share that may still climb, that has to go down; one is 0 */
	u32 share;		/* in the interval before, while chunks move */
	u32 wait;		/* intervals until the share is judged */
	u32 agreed;		/* how often in a row it was found too large, or too small */
	bool too_large;
	u32 rest;		/* intervals until a new search may begin */
	u32 rests;		/* searches so far that gained nothing */
	u32 pick;		/* the last chunk of this tier that was accessed */
};

/* An interval of the tier's load has ended; accesses: so far. */
void heat_balance_look(struct heat_balance *b, u64 accesses, const struct tier_view *fast,
		       const struct tier_view *slow);

/* Whether the tier is to get no more load. */
static inline bool heat_balance_full(const struct heat_balance *b)
{
	return b->limit < HEAT_WHOLE && !b->rise;
}

#endif /* DM_TIER_HEAT_BALANCE_H */
