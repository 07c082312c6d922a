/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What accesses and moves cost, in heat, from the tiers' measured latencies.
 * What is not measured yet is assumed: a hard disk and an SSD, and between
 * them in proportion to the rank.
 */
#ifndef DM_TIER_HEAT_COST_H
#define DM_TIER_HEAT_COST_H

#include "heat/port.h"
#include "policy-type.h"

/*
 * Heat is counted in sixteenths of the time that one random access takes longer
 * on the slowest tier than on the fastest.
 */
#define HEAT_ONE	16

/* Latencies of a tier. */
struct heat_latency {
	u32 random_ns;
	u32 stream_ns;
	u32 random_write_ns;
	u32 stream_write_ns;
	u32 chunk_ns;
};

struct heat_costs {
	unsigned int nr_tiers;
	struct heat_latency seen[TIER_MAX_TIERS];	/* as measured, 0 = unknown */
	struct heat_latency latency[TIER_MAX_TIERS];	/* with what is assumed */

	/* Of a read, of a write, heat with 16 fractional bits; the last one per sector. */
	u32 weight_random[2];
	u32 weight_stream[2];
	u32 weight_sector;

	u32 depth[TIER_MAX_TIERS];	/* 0 fastest .. 65536 slowest, by random_ns */

	/* [from][to] with to < from: heat of the time to move one up, one down. */
	u32 swap_cost[TIER_MAX_TIERS][TIER_MAX_TIERS];
};

/* Cheap if nothing changed; chunk_sectors must not change. */
void heat_costs_update(struct heat_costs *c, const struct tier_view *tiers,
		       unsigned int nr_tiers, u32 chunk_sectors);

#endif /* DM_TIER_HEAT_COST_H */
