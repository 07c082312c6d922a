// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is measured of the tiers: how long a small read takes, and how long the copy of a
 * chunk keeps them busy.
 */
#include "gauge.h"

#include <linux/math64.h>

#define FADE_NS	(10 * NSEC_PER_SEC)

struct tier_gauge {
	u32 random_ns;			/* of the mover */
	u64 last_ns, last_nr;		/* sampled until then; of the mover */
	/* Means of measurements, of which one may get lost: no lock. */
	u32 chunk_ns, least_chunk_ns;
	u64 copied_ns;			/* when chunk_ns changed last */
};

/* A cost so high that nothing moves would never be measured again. */
static void fade(struct tier_gauge *g)
{
	u32 chunk_ns = READ_ONCE(g->chunk_ns);

	if (!chunk_ns || ktime_get_ns() - READ_ONCE(g->copied_ns) <= FADE_NS)
		return;
	WRITE_ONCE(g->chunk_ns, max(chunk_ns - chunk_ns / 8, READ_ONCE(g->least_chunk_ns)));
	WRITE_ONCE(g->copied_ns, ktime_get_ns());
}

static bool look(struct tier *t, u64 guard)
{
	struct tier_gauge *g = t->gauge;
	u64 ns = 0, nr = 0, mean;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct tier_stats *s = per_cpu_ptr(t->stats, cpu);

		ns += READ_ONCE(s->sampled_ns);
		nr += READ_ONCE(s->sampled);
	}
	fade(g);
	if (nr < g->last_nr + 8)
		return false;
	mean = div64_u64(ns - g->last_ns, nr - g->last_nr);
	mean = min_t(u64, mean, U32_MAX);
	g->last_ns = ns;
	g->last_nr = nr;
	if (!tier_set_idle(t->set) && g->random_ns)
		return guard && mean * 100 > g->random_ns * (100 + guard);
	g->random_ns = g->random_ns ? (g->random_ns * 7ULL + mean) / 8 : mean;
	return false;
}

bool tier_gauge_look(struct tier_set *set)
{
	u64 guard = tier_tunable(set, TIER_TUNABLE_LATENCY_GUARD);
	unsigned int rank;
	bool slow = false;

	for (rank = 0; rank < set->nr_tiers; rank++)
		slow |= look(set->tiers[rank], guard);
	return slow;
}

/* A mean that one slow copy cannot spoil. */
static void average_copy(struct tier_gauge *g, u64 ns)
{
	u32 old = READ_ONCE(g->chunk_ns);

	if (old)
		ns = (old * 7ULL + min_t(u64, ns, old * 4ULL)) / 8;
	WRITE_ONCE(g->chunk_ns, clamp_t(u64, ns, 1, U32_MAX));
	/* Nor does it cost nothing after a quiet night. */
	WRITE_ONCE(g->least_chunk_ns, READ_ONCE(g->chunk_ns) / 8);
	WRITE_ONCE(g->copied_ns, ktime_get_ns());
}

/* What it costs each of the two sides, which share the time. */
void tier_gauge_copy(struct tier *from, struct tier *to, u64 ns)
{
	average_copy(from->gauge, ns / 2);
	average_copy(to->gauge, ns / 2);
}

u32 tier_gauge_random_ns(const struct tier *t)
{
	return t->gauge->random_ns;
}

u32 tier_gauge_chunk_ns(const struct tier *t)
{
	return READ_ONCE(t->gauge->chunk_ns);
}

const struct tier_room tier_gauge_room = TIER_ROOM(gauge, NULL, NULL);
