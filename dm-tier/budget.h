/* SPDX-License-Identifier: GPL-2.0-only */
/* How much may be copied, by migration_bandwidth. */
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

#endif /* DM_TIER_BUDGET_H */
