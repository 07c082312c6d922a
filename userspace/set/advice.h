/* SPDX-License-Identifier: GPL-2.0-only */
/* What a set would gain by a fast tier of another size, and what holds its chunks back. */
#ifndef TIERCTL_ADVICE_H
#define TIERCTL_ADVICE_H

#include "set/heat.h"

/* Half, the same, twice and four times the size of the fastest tier. */
#define ADVICE_SIZES	4

struct advice {
	uint64_t heat;			/* of all chunks */
	double now;			/* part of the heat on the fastest tier, 0 to 1 */
	uint64_t places[ADVICE_SIZES];	/* chunks */
	double share[ADVICE_SIZES];	/* part of the heat if the hottest chunks lay on so many places */
	struct pairs holds, day;	/* the kernel's answers */
};

/*
 * False with the error said; call advice_free() in any case.  The set is active.  Of a set with more than
 * a million chunks, neighbours are taken together.
 */
bool advice_make(const struct set *s, struct advice *a);
void advice_free(struct advice *a);

/* The part of the heat of the hottest chunks that fill so many places; sorts the buckets. */
double advice_share(struct heat_bucket *bucket, unsigned int nr, uint64_t places);

/* The tunable that has to do with a word of holds, or NULL; N stands for a rank. */
const char *advice_tunable(const char *hold);

#endif
