/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the tier of a set that an argument names. */
#ifndef TIERCTL_TIER_H
#define TIERCTL_TIER_H

#include "set/set.h"

/* Rank of the tier on that device, or -1. */
int set_rank_of_device(const struct set *s, dev_t dev);

/* DEV or RANK; -1, without a message, if it is no tier. */
int set_rank_of_word(const struct set *s, const char *word);

/* Parses a rank of the set; false with the error said. */
bool parse_rank(const struct set *s, const char *text, unsigned int *rank);

#endif
