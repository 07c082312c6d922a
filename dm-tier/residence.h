/* SPDX-License-Identifier: GPL-2.0-only */
/* When chunks came to where they lie, so that the policy leaves them there for a while. */
#ifndef DM_TIER_RESIDENCE_H
#define DM_TIER_RESIDENCE_H

#include "core.h"

/*
 * Remembers from now on if a tier has a residence, for 4 bytes a chunk; anew if the set has become
 * longer.  Of the mover.  False: there is no memory, and the policy may move nothing.
 */
bool tier_residence_keep(struct tier_set *set);
/* The chunk has come to another place.  set->lock */
void __tier_arrived(struct tier_set *set, u32 chunk);
/* Whether the chunk came less than its tier's residence ago; takes set->lock. */
bool tier_resides(struct tier_set *set, u32 chunk, const struct tier *t);
/* Forgets all of it. */
void tier_drop_residence(struct tier_set *set);

#endif /* DM_TIER_RESIDENCE_H */
