/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set of numbers: the places that are taken. Its memory grows with the count of numbers, a
 * hundred bytes or so for each isolated number, little more than a bit for each number of a run.
 * A damaged record may claim more places than any machine has memory for.
 */
#ifndef TIER_LIB_TAKEN_H
#define TIER_LIB_TAKEN_H

#include <stdbool.h>

#include "format/pd.h"

struct md_leaf;

struct md_taken {
	struct md_leaf *leaf;	/* of consecutive numbers, in the order of arrival */
	size_t nr, room;
	size_t last;		/* used last */
	u32 *hash;		/* leaf + 1, 0: none; a power of 2 of them */
	unsigned int bits;	/* of which */
};

/* A zeroed struct is empty. */
void md_taken_free(struct md_taken *t);

/* False if the number was taken before. */
bool md_take(struct md_taken *t, u64 number);

#endif
