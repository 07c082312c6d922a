// SPDX-License-Identifier: GPL-2.0-only
/* Audits of the heat engine.  See audit.h. */
#include "heat/audit.h"

#define SWAP_MEMORY	64	/* a sum forgets 1/64 of itself per audit */
#define NEWCOMER_MEMORY	64	/* 16, of 16 audits at a time, decided by chance */

/*
 * A chunk whose rate of accesses stays what it was has a heat of rate x
 * half-life / ln 2, so in a quarter of a half-life it earns ln 2 / 4 of it.
 */
#define FAIR_SHARE	11	/* 64ths */

/* Believed at first: gaps of that many sixteenths were met with a fair share. */
#define PRIOR		((s64)128 << 8)

#define WARINESS_MAX	(256 * HEAT_WARINESS_ONE)

static u8 *bucket(struct heat_audits *t, u32 chunk)
{
	/* Fibonacci hashing (Knuth, volume 3, 6.4) */
	return &t->buckets[(chunk * 2654435769U) >> 22];
}

static void watch(struct heat_audits *t, u32 chunk, int step)
{
	if (chunk != HEAT_NO_CHUNK)
		*bucket(t, chunk) += step;
}

static bool watched(struct heat_audits *t, u32 chunk)
{
	unsigned int i;

	if (!*bucket(t, chunk))
		return false;
	for (i = 0; i < HEAT_AUDITS; i++) {
		const struct heat_audit *a = &t->audits[i];

		if (a->until && (a->chunk == chunk || a->victim == chunk))
			return true;
	}
	return false;
}

static void set_wariness(struct heat_audits *t)
{
	s64 fair = (t->expected + PRIOR) / 64 * FAIR_SHARE;
	s64 earned = t->earned + PRIOR / 64 * FAIR_SHARE;

	/* Nothing earned, or less: as dear as can be. */
	earned = max_t(s64, earned, fair / (WARINESS_MAX / HEAT_WARINESS_ONE) + 1);
	t->wariness = max_t(u64, HEAT_WARINESS_ONE,
			    div64_u64((u64)fair * HEAT_WARINESS_ONE, earned));
}

static void finish(struct heat_audits *t, struct heat_audit *a)
{
	watch(t, a->chunk, -1);
	watch(t, a->victim, -1);
	a->until = 0;
	if (a->victim == HEAT_NO_CHUNK) {
		t->newcomer += (a->earned - t->newcomer) / NEWCOMER_MEMORY;
		return;
	}
	t->expected += a->expected - t->expected / SWAP_MEMORY;
	t->earned += a->earned - t->earned / SWAP_MEMORY;
	set_wariness(t);
}

void heat_audits_access(struct heat_audits *t, u32 chunk, u64 weight, u64 now)
{
	struct heat_audit *due = &t->audits[++t->next % HEAT_AUDITS];
	unsigned int i;

	/* One look per access ends each audit soon after its time. */
	if (due->until && due->until <= now)
		finish(t, due);
	if (!*bucket(t, chunk))
		return;

	weight >>= 8;
	for (i = 0; i < HEAT_AUDITS; i++) {
		struct heat_audit *a = &t->audits[i];

		if (!a->until)
			continue;
		if (a->victim == chunk)
			a->earned -= weight;
		if (a->chunk != chunk)
			continue;
		a->earned += weight;
		/* What is proven need not be watched to the end. */
		if (a->victim == HEAT_NO_CHUNK && a->earned >= a->expected)
			finish(t, a);
	}
}

static void start(struct heat_audits *t, unsigned int first, unsigned int last,
		  const struct heat_audit *audit)
{
	unsigned int i;

	for (i = first; i < last; i++) {
		if (t->audits[i].until)
			continue;
		t->audits[i] = *audit;
		watch(t, audit->chunk, 1);
		watch(t, audit->victim, 1);
		return;
	}
}

void heat_audits_swap(struct heat_audits *t, u32 chunk, u32 victim, u32 gap,
		      u64 until)
{
	const struct heat_audit audit = {
		.chunk = chunk,
		.victim = victim,
		.expected = (s64)gap << 8,
		.until = until,
	};

	if (!watched(t, chunk) && !watched(t, victim))
		start(t, 0, HEAT_SWAP_AUDITS, &audit);
}

void heat_audits_newcomer(struct heat_audits *t, u32 chunk, u64 handicap, u32 most,
			  u64 until)
{
	const struct heat_audit audit = {
		.chunk = chunk,
		.victim = HEAT_NO_CHUNK,
		.expected = (s64)most << 8,
		.earned = -(s64)(handicap >> 8),
		.until = until,
	};

	if (!watched(t, chunk))
		start(t, HEAT_SWAP_AUDITS, HEAT_AUDITS, &audit);
}

u32 heat_audits_newcomer_heat(const struct heat_audits *t)
{
	return t->newcomer > 0 ? t->newcomer >> 8 : 0;
}

void heat_audits_init(struct heat_audits *t)
{
	memset(t, 0, sizeof(*t));
	set_wariness(t);
}
