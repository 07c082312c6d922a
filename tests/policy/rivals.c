// SPDX-License-Identifier: GPL-2.0-only
/* Other policies to compare the heat engine with.  See rivals.h. */
#include "rivals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size);

	if (!p) {
		fputs("replay: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

void rivals_init(struct rivals *r, uint32_t nr_chunks, uint32_t fast_places,
		 const uint8_t *rank)
{
	memset(r, 0, sizeof(*r));
	r->nr_chunks = nr_chunks;
	r->fast_places = fast_places;
	r->rank = rank;
	r->last = allocate(nr_chunks, sizeof(*r->last));
	r->entered = allocate(nr_chunks, sizeof(*r->entered));
	r->count = allocate(nr_chunks, sizeof(*r->count));
	r->queue = allocate(nr_chunks, sizeof(*r->queue));
	r->worth = allocate(nr_chunks, sizeof(*r->worth));
}

void rivals_accessed(struct rivals *r, const struct rival *rival, uint32_t chunk)
{
	r->now++;
	if (!r->entered[chunk])
		r->entered[chunk] = r->now;
	rival->accessed(r, chunk);
	r->last[chunk] = r->now;
}

uint32_t rivals_victim(const struct rivals *r, const struct rival *rival)
{
	uint32_t best = RIVALS_NO_VICTIM;
	double least = INFINITY;

	for (uint32_t c = 0; c < r->nr_chunks; c++) {
		double rating = r->rank[c] ? INFINITY : rival->rating(r, c);

		if (rating < least) {
			least = rating;
			best = c;
		}
	}
	return best;
}

/* ---- LRU: what was accessed last is on the fast tier ---- */

static void lru_accessed(struct rivals *r, uint32_t chunk)
{
	(void)r;
	(void)chunk;
}

static bool lru_wants(struct rivals *r, uint32_t chunk, uint32_t victim)
{
	(void)r;
	(void)chunk;
	(void)victim;
	return true;
}

static double lru_rating(const struct rivals *r, uint32_t chunk)
{
	return r->last[chunk];
}

static void nothing_swapped(struct rivals *r, uint32_t chunk, uint32_t victim)
{
	(void)r;
	(void)chunk;
	(void)victim;
}

/*
 * ---- SMQ-like: queues by the logarithm of the hits, LRU within each ----
 *
 * As dm-cache's policy smq does, more or less: hits are halved from time to time, and a chunk
 * has to be in a higher queue than the one that it replaces.
 */

static void smq_accessed(struct rivals *r, uint32_t chunk)
{
	r->count[chunk]++;
	if (r->now % (64ULL * r->fast_places))
		return;
	for (uint32_t c = 0; c < r->nr_chunks; c++)
		r->count[c] /= 2;
}

static unsigned int smq_queue(const struct rivals *r, uint32_t chunk)
{
	return r->count[chunk] ? 32 - __builtin_clz(r->count[chunk]) : 0;
}

static bool smq_wants(struct rivals *r, uint32_t chunk, uint32_t victim)
{
	return victim == RIVALS_NO_VICTIM || smq_queue(r, chunk) > smq_queue(r, victim);
}

static double smq_rating(const struct rivals *r, uint32_t chunk)
{
	return smq_queue(r, chunk) * 1e12 + r->last[chunk];
}

/*
 * ---- S3-FIFO (Yang, Zhang, Qiu, Yue, Vinayak 2023) ----
 *
 * New chunks go to a small queue of a tenth; from there those that were accessed go to the
 * main one, the others off the fast tier. A chunk that comes back soon goes to the main one.
 */
enum { S3_SMALL, S3_MAIN };

static void s3_accessed(struct rivals *r, uint32_t chunk)
{
	if (r->count[chunk] < 3)
		r->count[chunk]++;
}

static bool s3_evicts_small(const struct rivals *r)
{
	return 10 * r->in_small >= r->fast_places;
}

/* The queue that evicts is looked through from its end; in it, what was used gets a turn more. */
static double s3_rating(const struct rivals *r, uint32_t chunk)
{
	bool first = s3_evicts_small(r) == (r->queue[chunk] == S3_SMALL);

	return (first ? 0 : 1e15) + (r->count[chunk] > 1 ? r->count[chunk] * 1e12 : 0) +
	       r->entered[chunk];
}

static void s3_swapped(struct rivals *r, uint32_t chunk, uint32_t victim)
{
	bool ghost = r->last[chunk] && r->now - r->entered[chunk] < 10ULL * r->fast_places;
	uint32_t c;

	/* Those that were passed over on the way to the victim have lost a turn. */
	for (c = 0; victim != RIVALS_NO_VICTIM && c < r->nr_chunks; c++) {
		if (r->rank[c] || r->queue[c] != r->queue[victim] || r->count[c] < 2 ||
		    r->entered[c] >= r->entered[victim])
			continue;
		r->count[c]--;
		r->entered[c] = r->now;
		r->queue[c] = S3_MAIN;
	}
	if (victim != RIVALS_NO_VICTIM) {
		r->entered[victim] = r->now;
		r->count[victim] = 0;
	}
	r->entered[chunk] = r->now;
	r->count[chunk] = 0;
	r->queue[chunk] = ghost ? S3_MAIN : S3_SMALL;
	for (r->in_small = 0, c = 0; c < r->nr_chunks; c++)
		r->in_small += !r->rank[c] && r->queue[c] == S3_SMALL;
}

/*
 * ---- Clairvoyant: heat of the future instead of the past ----
 *
 * A chunk's worth is what its accesses to come save, each the less the later it is. It is
 * kept as a logarithm as of the start of the trace, so that it only changes with an access. Not
 * the optimum, but nobody who does not know the future is near.
 */
void rivals_foresee(struct rivals *r, const uint32_t *chunks, const double *savings,
		    size_t nr)
{
	double *later = allocate(r->nr_chunks, sizeof(*later));
	size_t *next = allocate(r->nr_chunks, sizeof(*next));

	r->future = allocate(nr, sizeof(*r->future));
	for (size_t n = nr; n--; ) {
		uint32_t c = chunks[n];

		if (next[c])
			r->future[n] = later[c] * exp2((n - (double)next[c]) / r->half_life);
		later[c] = r->future[n] + savings[n];
		next[c] = n;
	}
	free(later);
	free(next);
}

static void clairvoyant_accessed(struct rivals *r, uint32_t chunk)
{
	double future = r->future[r->now - 1];

	r->worth[chunk] = future > 0 ? log2(future) - r->now / r->half_life : -1e18;
}

static double worth_now(const struct rivals *r, uint32_t chunk)
{
	return exp2(r->worth[chunk] + r->now / r->half_life);
}

static bool clairvoyant_wants(struct rivals *r, uint32_t chunk, uint32_t victim)
{
	if (victim == RIVALS_NO_VICTIM)
		return worth_now(r, chunk) > r->move_ms;
	return worth_now(r, chunk) - worth_now(r, victim) > 2 * r->move_ms;
}

static double clairvoyant_rating(const struct rivals *r, uint32_t chunk)
{
	return r->worth[chunk];
}

static const struct rival rivals[] = {
	{ "lru", false, lru_accessed, lru_wants, lru_rating, nothing_swapped },
	{ "smq", false, smq_accessed, smq_wants, smq_rating, nothing_swapped },
	{ "s3fifo", false, s3_accessed, lru_wants, s3_rating, s3_swapped },
	{ "clairvoyant", true, clairvoyant_accessed, clairvoyant_wants, clairvoyant_rating,
	  nothing_swapped },
};

const struct rival *rival_of(const char *name)
{
	for (size_t i = 0; i < sizeof(rivals) / sizeof(rivals[0]); i++)
		if (!strcmp(rivals[i].name, name))
			return &rivals[i];
	return NULL;
}
