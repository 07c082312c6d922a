/* SPDX-License-Identifier: GPL-2.0-only */
/* What moves next; see mover.c. */
#ifndef DM_TIER_MOVER_H
#define DM_TIER_MOVER_H

#include "core.h"
#include "policy.h"

/* An activation: any chunk may lie astray.  While suspended. */
void tier_mover_restart(struct tier_set *set);
/*
 * What a policy is to know of the tiers, by rank, until the next call.  Of the mover, or while
 * suspended; takes set->lock.
 */
const struct tier_view *tier_view_tiers(struct tier_set *set);

/* What keeps a chunk from moving to a faster tier now; may sleep. */
enum tier_hold tier_mover_why(struct tier_set *set, u32 chunk);

#endif /* DM_TIER_MOVER_H */
