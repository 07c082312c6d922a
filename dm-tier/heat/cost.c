// SPDX-License-Identifier: GPL-2.0-only
/* What accesses and moves cost.  See cost.h. */
#include "heat/cost.h"

/*
 * A tier counts as faster than the next by 1/8 at least: the user's order stands
 * where tiers measure alike.
 */
#define LEAST_SAVING	8

/* Half of what a counter can hold, or nothing would ever be worth a move. */
#define COST_MAX	0x8000U

/* A latency that changed by less than that part is not looked at again. */
#define DRIFT		16

/* Latencies assumed before any are measured: a hard disk and an SSD. */
#define SSD_RANDOM_NS	90000U
#define SSD_STREAM_NS	20000U
#define SSD_SECTOR_NS	256U
#define HDD_RANDOM_NS	8000000U
#define HDD_STREAM_NS	100000U
#define HDD_SECTOR_NS	2844U

static u32 assumed(u32 fast, u32 slow, unsigned int rank, unsigned int nr_tiers)
{
	return nr_tiers > 1 ? fast + (slow - fast) / (nr_tiers - 1) * rank : fast;
}

/*
 * What was not measured yet is assumed in proportion to what was, or a fast tier
 * with a disk's assumed transfer time would never see the first move.
 */
static void set_latencies(struct heat_costs *c, u32 chunk_sectors)
{
	unsigned int rank;

	for (rank = 0; rank < c->nr_tiers; rank++) {
		const struct heat_latency *seen = &c->seen[rank];
		struct heat_latency *l = &c->latency[rank];
		u64 random_ns = assumed(SSD_RANDOM_NS, HDD_RANDOM_NS, rank, c->nr_tiers);
		u64 stream_ns = assumed(SSD_STREAM_NS, HDD_STREAM_NS, rank, c->nr_tiers);
		u64 chunk_ns = (u64)chunk_sectors *
			assumed(SSD_SECTOR_NS, HDD_SECTOR_NS, rank, c->nr_tiers);

		if (seen->random_ns && seen->random_ns < random_ns) {
			stream_ns = div64_u64(stream_ns * seen->random_ns, random_ns);
			chunk_ns = div64_u64(chunk_ns * seen->random_ns, random_ns);
		}
		l->chunk_ns = seen->chunk_ns ?: min_t(u64, chunk_ns, 0xffffffff);
		l->random_ns = seen->random_ns ?: random_ns;
		l->stream_ns = stream_ns;
		l->random_write_ns = l->random_ns;
		l->stream_write_ns = stream_ns;
		/* What others save counts in small random reads: beside an assumed one, nothing. */
		if (!seen->random_ns)
			continue;
		l->stream_ns = seen->stream_ns ?: stream_ns;
		l->random_write_ns = seen->random_write_ns ?: l->random_ns;
		l->stream_write_ns = seen->stream_write_ns ?: l->stream_ns;
	}
}

static u64 saving_ns(u32 slow_ns, u32 fast_ns)
{
	return max_t(u64, slow_ns > fast_ns ? slow_ns - fast_ns : 0,
		     slow_ns / LEAST_SAVING + 1);
}

/* part / whole with 16 fractional bits of heat; 0 if part is negative */
static u32 share_of(u64 minuend, u64 subtrahend, u64 whole)
{
	u64 part = minuend > subtrahend ? minuend - subtrahend : 0;

	return min_t(u64, div64_u64(part * (HEAT_ONE << 16), whole), 0xffffffff);
}

/*
 * Of an access that takes so long.  It saves no more than a random read, or one measured under
 * load would outweigh everything.
 */
static u32 weight_of(u32 slow_ns, u32 fast_ns, u64 span)
{
	return min_t(u32, share_of(saving_ns(slow_ns, fast_ns), 0, span), HEAT_ONE << 16);
}

/* Both chunks of a swap are read on one tier and written on the other. */
static u32 cost_of_swap(const struct heat_latency *a, const struct heat_latency *b)
{
	u64 ns = 2 * ((u64)a->random_ns + a->chunk_ns + b->random_ns + b->chunk_ns);

	return min_t(u64, COST_MAX,
		     div64_u64(ns * HEAT_ONE, saving_ns(a->random_ns, b->random_ns)));
}

static void set_costs(struct heat_costs *c, u32 chunk_sectors)
{
	const struct heat_latency *fast = &c->latency[0];
	const struct heat_latency *slow = &c->latency[c->nr_tiers - 1];
	u64 span = saving_ns(slow->random_ns, fast->random_ns);
	unsigned int i, j;

	c->weight_random[0] = HEAT_ONE << 16;
	c->weight_random[1] = weight_of(slow->random_write_ns, fast->random_write_ns, span);
	c->weight_stream[0] = weight_of(slow->stream_ns, fast->stream_ns, span);
	c->weight_stream[1] = weight_of(slow->stream_write_ns, fast->stream_write_ns, span);
	c->weight_sector = share_of(slow->chunk_ns, fast->chunk_ns,
				    span * chunk_sectors);

	c->depth[0] = 0;
	for (i = 1; i < c->nr_tiers; i++) {
		const struct heat_latency *l = &c->latency[i];
		u64 depth = saving_ns(l->random_ns, fast->random_ns) << 16;

		c->depth[i] = min_t(u64, div64_u64(depth, span), 65536);
		for (j = 0; j < i; j++)
			c->swap_cost[i][j] = cost_of_swap(l, &c->latency[j]);
	}
}

static bool drifted(u32 seen, u32 now)
{
	return (seen > now ? seen - now : now - seen) > seen / DRIFT;
}

void heat_costs_update(struct heat_costs *c, const struct tier_view *tiers,
		       unsigned int nr_tiers, u32 chunk_sectors)
{
	bool changed = nr_tiers != c->nr_tiers;
	unsigned int rank;

	c->nr_tiers = nr_tiers;
	for (rank = 0; rank < nr_tiers; rank++) {
		const struct tier_view *t = &tiers[rank];
		struct heat_latency *seen = &c->seen[rank];

		if (!drifted(seen->random_ns, t->random_ns) &&
		    !drifted(seen->stream_ns, t->stream_ns) &&
		    !drifted(seen->random_write_ns, t->random_write_ns) &&
		    !drifted(seen->stream_write_ns, t->stream_write_ns) &&
		    !drifted(seen->chunk_ns, t->chunk_ns))
			continue;
		seen->random_ns = t->random_ns;
		seen->stream_ns = t->stream_ns;
		seen->random_write_ns = t->random_write_ns;
		seen->stream_write_ns = t->stream_write_ns;
		seen->chunk_ns = t->chunk_ns;
		changed = true;
	}
	if (!changed || !nr_tiers)
		return;
	set_latencies(c, chunk_sectors);
	set_costs(c, chunk_sectors);
}
