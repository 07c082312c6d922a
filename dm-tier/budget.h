/* SPDX-License-Identifier: GPL-2.0-only */
/* How much may be copied: by migration_bandwidth, and by each tier's endurance. */
#ifndef DM_TIER_BUDGET_H
#define DM_TIER_BUDGET_H

#include "core.h"

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

/*
 * Takes a chunk's worth of a tier's endurance, before others in flight find the same
 * allowance; false if there is none.
 */
bool tier_wear_take_chunk(struct tier_set *set, struct tier *to);
/* Gives the chunk's worth back: nothing was written. */
void tier_wear_give_back(struct tier_set *set, struct tier *to);
/* Charges sectors that are written in any case. */
void tier_wear_take(struct tier_set *set, struct tier *to, u32 sectors);
/* Whether endurance lets migration write a chunk to this tier now. */
bool tier_wear_left(struct tier_set *set, struct tier *t);
/* The tunable was set: the allowance begins anew. */
void tier_wear_restart(struct tier_set *set, struct tier *t);

#endif /* DM_TIER_BUDGET_H */
