/* SPDX-License-Identifier: GPL-2.0-only */
/* Discard of whole chunks; see discard.c. */
#ifndef DM_TIER_DISCARD_H
#define DM_TIER_DISCARD_H

#include "core.h"

/*
 * Discards the chunks of a bio from first_left to last_left in its struct tier_io.  False:
 * last_left moves, and that move has to be cancelled before.  From the io work.
 */
bool tier_discard_chunks(struct tier_set *set, struct bio *bio);
/*
 * A write to a chunk that is being discarded: waits until the place is free, or ends with
 * BLK_STS_AGAIN.  False: the chunk is not, and is to be looked up again.  Any context.
 */
bool tier_wait_for_discard(struct tier_set *set, struct bio *bio);
/*
 * Whether a discard under way goes over the chunk.  A move that began now would be cancelled by
 * it, and so on, as moves are quicker to begin.  set->lock.
 */
bool __tier_being_discarded(struct tier_set *set, u32 chunk);

#endif /* DM_TIER_DISCARD_H */
