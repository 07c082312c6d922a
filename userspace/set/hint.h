/* SPDX-License-Identifier: GPL-2.0-only */
/* The probable device of a missing tier whose label was overwritten. */
#ifndef TIERCTL_HINT_H
#define TIERCTL_HINT_H

#include "set/set.h"

/*
 * The command for the user, if the tier of that rank is missing, and a device of its size and
 * last name is there, without a label as far as known. NULL otherwise; the caller frees.
 */
char *relabel_hint(const struct set *s, unsigned int rank);

#endif
