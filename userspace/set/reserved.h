/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reservations of the disks of a set: while one machine has the set active, no other can write to
 * them (block/reserve.h).  A disk on which another program has keys is left to that.
 */
#ifndef TIERCTL_RESERVED_H
#define TIERCTL_RESERVED_H

#include <stdbool.h>

#include "set/set.h"

/*
 * Whether this machine may reserve all disks of the set; false with the error said. With take_over
 * also those that another machine has reserved. Warns of disks that are left to another program.
 */
bool reserved_may_take(const struct set *s, bool take_over);
/*
 * Reserves them, after reserved_may_take(). False with the error said, and nothing kept, unless
 * *shut_out: another machine has been shut out from a disk, and this one has it.
 */
bool reserved_take(const struct set *s, bool take_over, bool *shut_out);
/* Lets go of what reserved_take() has taken since the machine booted. Warns if it cannot. */
void reserved_drop(const struct set *s);
/* The same of a disk that leaves the set. */
void reserved_drop_disk(const struct set *s, const struct device *d);

#endif
