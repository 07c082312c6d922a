/* SPDX-License-Identifier: GPL-2.0-only */
/* Answers of a set to the heat and chunk messages. */
#ifndef TIERCTL_HEAT_H
#define TIERCTL_HEAT_H

#include "base/ranges.h"
#include "set/set.h"

/* The most lines in the kernel's answer to one message. */
#define HEAT_BUCKETS_MAX	4096

/*
 * Calls fn for each bucket of the chunks from first on. Returns 0, the first non-zero answer of
 * fn, or -errno with the error said.
 */
int heat_query(const struct set *s, uint64_t first, uint64_t count, unsigned int buckets,
	       int (*fn)(void *context, const struct heat_bucket *b), void *context);

/* Sums over the chunks.  0 or -errno, with the error said. */
int heat_sum(const struct set *s, const struct ranges *chunks, struct heat_bucket *sum);

/*
 * Divides the chunks, in their order, into at most max cells of (nearly) the same size; first
 * and count of a cell count the chunks of the list. The caller frees *cells. 0 or -errno, with
 * the error said.
 */
int heat_cells(const struct set *s, const struct ranges *chunks, unsigned int max,
	       struct heat_bucket **cells, unsigned int *nr);

/* Heat of a mapped chunk of the bucket, on average. */
double heat_mean(const struct heat_bucket *b);

/*
 * The hottest chunks, hottest first, at most max; chunks without heat are left out. A bucket for
 * each chunk; the caller frees. 0 or -errno, with the error said.
 */
int heat_hottest(const struct set *s, unsigned int max, struct heat_bucket **hottest, unsigned int *nr);

/* The answer to the chunk message. */
struct chunk_info {
	uint64_t chunk;
	int rank;		/* -1 if unmapped */
	uint64_t place;
	uint64_t heat, reads, writes;
	int pin;		/* rank, -1 for none */
	char state[16];
	char reason[24];
	char held[24];		/* what keeps it from a faster tier; "" of an older kernel */
};

/* 0 or -errno, with the error said. */
int chunk_query(const struct set *s, uint64_t chunk, struct chunk_info *info);
/* The answer in pairs to holds or day; the caller frees them.  Like chunk_query(). */
int pairs_query(const struct set *s, const char *message, struct pairs *answer);
/* false if the answer makes no sense */
bool chunk_parse(const char *answer, struct chunk_info *info);

#endif
