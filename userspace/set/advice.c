// SPDX-License-Identifier: GPL-2.0-only
#include "set/advice.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* The most messages that ask for heat. */
#define MESSAGES	256

static const struct {
	const char *hold, *tunable;
} tunables[] = {
	{ "cold", "admit" },
	{ "budget", "migration_bandwidth" },
	{ "endurance", "tierN.endurance" },
	{ "guard", "latency_guard" },
	{ "residence", "tierN.residence" },
	{ "quiet", "tierN.quiet" },
	{ "depth", "migration_depth" },
};

const char *advice_tunable(const char *hold)
{
	unsigned int i;

	for (i = 0; i < sizeof(tunables) / sizeof(*tunables); i++)
		if (!strcmp(tunables[i].hold, hold))
			return tunables[i].tunable;
	return NULL;
}

/* Rounding must not make more than all of it. */
static double part(double some, double all)
{
	return !all ? 0 : some < all ? some / all : 1;
}

static int hotter(const void *a, const void *b)
{
	double x = heat_mean(a), y = heat_mean(b);

	return x > y ? -1 : x < y;
}

double advice_share(struct heat_bucket *bucket, unsigned int nr, uint64_t places)
{
	double fast = 0, all = 0;
	unsigned int i;

	qsort(bucket, nr, sizeof(*bucket), hotter);
	for (i = 0; i < nr; i++) {
		uint64_t fits = bucket[i].mapped < places ? bucket[i].mapped : places;

		all += bucket[i].heat;
		fast += heat_mean(&bucket[i]) * fits;
		places -= fits;
	}
	return part(fast, all);
}

struct map {
	struct heat_bucket *bucket;
	unsigned int nr, room;
};

static int add_bucket(void *context, const struct heat_bucket *b)
{
	struct map *m = context;

	/* A chunk that is not mapped takes no place; its old heat does not count. */
	if (!b->mapped || !b->heat)
		return 0;
	if (m->nr == m->room) {
		m->room += HEAT_BUCKETS_MAX;
		m->bucket = xrealloc(m->bucket, m->room, sizeof(*m->bucket));
	}
	m->bucket[m->nr++] = *b;
	return 0;
}

static int read_heat(const struct set *s, struct map *m)
{
	uint64_t chunks = s->status.chunks, first, count;
	uint64_t step = HEAT_BUCKETS_MAX * (1 + chunks / HEAT_BUCKETS_MAX / MESSAGES);
	int r = 0;

	for (first = 0; first < chunks && !r; first += count) {
		count = chunks - first < step ? chunks - first : step;
		r = heat_query(s, first, count, HEAT_BUCKETS_MAX, add_bucket, m);
	}
	return r;
}

bool advice_make(const struct set *s, struct advice *a)
{
	struct map m = { 0 };
	double fast = 0;
	unsigned int i;
	bool good;

	memset(a, 0, sizeof(*a));
	good = !read_heat(s, &m) && !pairs_query(s, "holds", &a->holds) && !pairs_query(s, "day", &a->day);
	for (i = 0; i < m.nr; i++) {
		a->heat += m.bucket[i].heat;
		fast += heat_mean(&m.bucket[i]) * m.bucket[i].on_rank[0];
	}
	a->now = part(fast, a->heat);
	for (i = 0; i < ADVICE_SIZES; i++) {
		a->places[i] = (s->status.tier[0].places << i) / 2;
		a->share[i] = advice_share(m.bucket, m.nr, a->places[i]);
	}
	free(m.bucket);
	return good;
}

void advice_free(struct advice *a)
{
	pairs_free(&a->holds);
	pairs_free(&a->day);
}
