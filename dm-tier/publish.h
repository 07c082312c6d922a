/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who lies on which place of one tier, while all goes back to it: kept up to date by
 * whoever publishes a chunk's new place.
 */
#ifndef DM_TIER_PUBLISH_H
#define DM_TIER_PUBLISH_H

#include "core.h"

/* The chunk's word becomes that place, with what else is to be set, and the pin it has. */
void __tier_publish(struct tier_set *set, u32 chunk, u64 word);

/*
 * The chunk on a place of a tier below the set's length; false while it is on its way in
 * or out, if the place is free, or if there is no memory.  The first call for a tier scans
 * all chunks.  Of the mover.
 */
bool tier_place_owner(struct tier_set *set, struct tier *t, u64 place, u32 *chunk);
/* Nothing is sent home any more. */
void tier_drop_owners(struct tier_set *set);

#endif /* DM_TIER_PUBLISH_H */
