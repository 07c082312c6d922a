/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a missing tier may be, if its label was overwritten. */
#ifndef TIERCTL_HINT_H
#define TIERCTL_HINT_H

#include "set/set.h"

/*
 * What a user can type if the tier of that rank is missing, and a device of its size and last
 * name is there without a label, as far as that can be known.  NULL otherwise; the caller
 * frees.
 */
char *relabel_hint(const struct set *s, unsigned int rank);

#endif
