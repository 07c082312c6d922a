/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set of numbers: the places that are taken.  Its memory goes with how many they are, a
 * hundred bytes or so each if they are far from each other, and little more than a bit if
 * not: a damaged record may speak of more places than any machine has memory for.
 */
#ifndef TIER_LIB_TAKEN_H
#define TIER_LIB_TAKEN_H

#include <stdbool.h>

#include "format/pd.h"

struct md_leaf;

struct md_taken {
	struct md_leaf *leaf;	/* of numbers that follow each other, in the order they came */
	size_t nr, room;
	size_t last;		/* the one that was needed last */
	u32 *hash;		/* leaf + 1, 0: none; a power of 2 of them */
	unsigned int bits;	/* of which */
};

/* All zeroes is an empty one. */
void md_taken_free(struct md_taken *t);

/* False if the number was in it before. */
bool md_take(struct md_taken *t, u64 number);

#endif
