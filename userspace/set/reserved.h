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
/*
 * Reserves a disk that is to join the set, if the set's are reserved; with --dry-run only says that
 * it cannot be. False with the error said. d: NULL for a volume that is to be made.
 */
bool reserved_join(const struct set *s, const struct device *d);
/* Lets go of a disk that leaves the set, or has not joined it. */
void reserved_drop_disk(const struct set *s, const struct device *d);

#endif
