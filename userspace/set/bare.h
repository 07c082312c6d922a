/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices without a label.  Before convert has labelled its device, and after revert
 * has taken the label away, nothing on it names the set, and the kernel's names are
 * others after each start.  What the set has in the place of the label area tells it
 * from others.
 */
#ifndef TIERCTL_BARE_H
#define TIERCTL_BARE_H

#include "set/set.h"

/*
 * Whether a device, on which the caller has found no label, begins with what the inactive
 * set has at its beginning, on its other tiers.  False also if that cannot be read, or is
 * nothing but zeroes, which any device may have.
 */
bool bare_begins_as(const struct set *s, const struct device *d);

/*
 * Whether a tier that convert has just labelled, or revert was going to take the label
 * from, was written to by somebody who took it for the device it was: something in its
 * label area is no label, not zero, and not as the inactive set has it.  1, 0, or -errno
 * if one of these cannot be read.
 */
int bare_area_written(const struct set *s, const struct device *d);

/*
 * What a user can type to have the set's copy in the place of the block in which the label
 * at that byte lies.  NULL if the metadata cannot be read; the caller frees.
 */
char *bare_label_command(const struct set *s, const struct device *d, uint64_t label);

#endif
