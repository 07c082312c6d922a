/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is measured of the tiers: samples of the foreground's I/O, that map.c takes, by enum
 * tier_class; what a write costs includes its share of the flushes.
 */
#ifndef DM_TIER_GAUGE_H
#define DM_TIER_GAUGE_H

#include "core.h"

/* How the foreground I/O of a tier fares. */
enum tier_comfort {
	TIER_COMFORT_UNKNOWN,
	TIER_COMFORT_ALONE,	/* there was none for a while */
	TIER_COMFORT_MET,	/* there is some */
	TIER_COMFORT_FINE,	/* it was as fast as latency_guard wants it */
	TIER_COMFORT_SUFFERS,	/* a class of it was slower */
};

/*
 * Takes in the samples since the last call; of the mover.  still: nothing has moved since;
 * least: so little that the tier's latency is that of its load.
 */
enum tier_comfort tier_gauge_look(struct tier *t, bool still, bool least);
/* A chunk was copied in ns; of the time that copies had in common, in its share. */
void tier_gauge_copy(struct tier *from, struct tier *to, u64 ns);
/* A flush of the tier took ns.  One at a time; any context. */
void tier_gauge_flush(struct tier *t, u64 ns);

/* Means; 0 = unknown.  Any context. */
u32 tier_gauge_now_ns(const struct tier *t, enum tier_class class);	/* of the last seconds */
/*
 * Whether the tier had no foreground I/O for its quiet time, and is to be left alone; not in the
 * last minute of each hour from then on.  Any context.
 */
bool tier_asleep(const struct tier *t);
/* A low percentile of the last day. */
u32 tier_gauge_unloaded_ns(const struct tier *t, enum tier_class class);
u32 tier_gauge_chunk_ns(const struct tier *t);	/* to read or write a chunk */
const struct tier_load *tier_gauge_load(const struct tier *t);	/* of the mover */

#endif /* DM_TIER_GAUGE_H */
