/* SPDX-License-Identifier: GPL-2.0-only */
/* What is measured of the tiers. */
#ifndef DM_TIER_GAUGE_H
#define DM_TIER_GAUGE_H

#include "core.h"

/*
 * Takes in the samples since the last call; of the mover.  True: a tier was slower during moves
 * than latency_guard allows.
 */
bool tier_gauge_look(struct tier_set *set);
/* A chunk was copied in ns; of the time that copies had in common, in its share. */
void tier_gauge_copy(struct tier *from, struct tier *to, u64 ns);

/* Means; 0 = unknown. */
u32 tier_gauge_random_ns(const struct tier *t);	/* of a small random read */
u32 tier_gauge_chunk_ns(const struct tier *t);	/* to read or write a chunk */

#endif /* DM_TIER_GAUGE_H */
