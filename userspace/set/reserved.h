/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reservations of the disks of a set: while one machine has the set active, no other can write to
 * them (block/reserve.h).  A disk that another program has reserved is left to that.
 */
#ifndef TIERCTL_RESERVED_H
#define TIERCTL_RESERVED_H

#include <stdbool.h>

#include "set/set.h"

/* Whether this machine may reserve all disks of the inactive set; false with the error said. */
bool reserved_may_take(const struct set *s, bool take_over);
/*
 * Reserves them, after reserved_may_take(), and shuts all others out; false with the error said, and
 * nothing kept.
 */
bool reserved_take(const struct set *s);
/* Lets go of what reserved_take() has taken. Warns if it cannot. */
void reserved_drop(const struct set *s);

#endif
