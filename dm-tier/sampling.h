/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which accesses the policy sees when there are more than it needs, and for how many each
 * one stands.  Plain C, shared with the replay tool.
 *
 * Accesses are noted in a window, by all CPUs at the same time.  The window is closed when
 * one CPU has noted enough, and the time of the mover opens it again, so that nobody is
 * passed over for long.  Until then all accesses count, and what was noted stands for them.
 */
#ifndef DM_TIER_SAMPLING_H
#define DM_TIER_SAMPLING_H

#include "policy-type.h"

#define TIER_OBSERVE_MS		20	/* from an access until the policy sees it */
#define TIER_ENOUGH		8000	/* accesses a second of which none is passed over */
#define TIER_LONGEST_REST_MS	100

/* Accesses that one CPU notes in a window: a stream shows only in those that follow each other. */
#define TIER_LONGEST_WINDOW	(TIER_ENOUGH * TIER_OBSERVE_MS / 1000)
#define TIER_SHORTEST_WINDOW	32

/* Accesses at the start of a window that only show which streams there are. */
#define TIER_LEAD		32

/* cpus: that noted something in the last window */
static inline unsigned int tier_window_length(unsigned int cpus)
{
	unsigned int share = TIER_LONGEST_WINDOW / (cpus ? cpus : 1);

	return share > TIER_SHORTEST_WINDOW ? share : TIER_SHORTEST_WINDOW;
}

/*
 * How long after the last one the next window opens, if so many accesses were noted: half of
 * TIER_ENOUGH are noted where there are more.
 */
static inline unsigned int tier_window_rest_ms(unsigned int noted)
{
	unsigned int ms = 2 * noted / (TIER_ENOUGH / 1000);

	return ms < TIER_LONGEST_REST_MS ? ms : TIER_LONGEST_REST_MS;
}

/* What one CPU noted in a window that was closed, while its weights are given out. */
struct tier_weights {
	u32 all;		/* accesses for which the rest stands */
	u32 nr;			/* noted accesses without a weight yet */
	u32 lead;		/* of these, first: stand for themselves */
};

/* nr: noted by this CPU; noted, all: noted, and made, by all CPUs */
static inline void tier_weights_begin(struct tier_weights *w, u32 nr, u32 noted, u32 all)
{
	w->all = nr;
	if (noted && all > noted)
		w->all = all / noted < 0xffff ? (u64)all * nr / noted : 0xffff * nr;
	w->nr = nr;
	w->lead = w->all > nr ? nr / 2 : 0;
	if (w->lead > TIER_LEAD)
		w->lead = TIER_LEAD;
}

static inline u16 tier_next_weight(struct tier_weights *w)
{
	u32 weight = w->lead ? 1 : w->all / w->nr;

	w->lead -= !!w->lead;
	w->all -= weight;
	w->nr--;
	return weight < 0xffff ? weight : 0xffff;
}

#endif /* DM_TIER_SAMPLING_H */
