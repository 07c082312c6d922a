/* SPDX-License-Identifier: GPL-2.0-only */
/* How much may be copied, by migration_bandwidth and the latency guard. */
#ifndef DM_TIER_BUDGET_H
#define DM_TIER_BUDGET_H

#include "gauge.h"

/*
 * How long to wait, in jiffies, before a copy, or before the start of a move that will be
 * copied after those of `ahead` sectors.
 */
unsigned long tier_budget_wait(struct tier_set *set, u64 ahead);
/*
 * Chunks that may be copied after the `ahead` sectors, and that may be saved up at most; *cap
 * is 0 without a limit.
 */
void tier_budget_tokens(struct tier_set *set, u64 ahead, u32 *tokens, u32 *cap);
/* Charges sectors that are being copied. */
void tier_budget_take(struct tier_set *set, u32 sectors);

/* What is held back where foreground I/O of a tier would suffer otherwise. */
enum tier_pace_use {
	TIER_PACE_START,	/* moves that begin: charged a chunk each */
	TIER_PACE_COPY,		/* what moves that have begun copy */
	TIER_PACE_USES,
};

/* Jiffies that a move from or to the tier has to wait. */
unsigned long tier_pace_wait(struct tier *t, enum tier_pace_use use);
void tier_pace_take(struct tier *t, enum tier_pace_use use, u32 sectors);
bool __tier_paced(const struct tier *t);	/* set->lock */
bool tier_pace_least(struct tier *t);	/* so slow that nobody notices */
/* Moves begin while foreground I/O is under way. */
void tier_pace_begin(struct tier *t);
/* A look at the tier has found this. */
void tier_pace_judge(struct tier *t, enum tier_comfort comfort);

#endif /* DM_TIER_BUDGET_H */
