/* SPDX-License-Identifier: GPL-2.0-only */
/* Routes bios to the place, the first writes, the discards or the move that they are for. */
#ifndef DM_TIER_DEFERRED_H
#define DM_TIER_DEFERRED_H

#include "map.h"

void tier_deferred_init(struct tier_set *set);

/*
 * Acts on what tier_map_bio() said of a bio, as a target's map function returns; any
 * context that map() runs in.
 */
int tier_act(struct tier_set *set, struct bio *bio, struct tier_io *io, enum tier_route route);

#endif /* DM_TIER_DEFERRED_H */
