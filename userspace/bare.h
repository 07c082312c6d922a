/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices without a label.  Before convert has labelled its device, and after revert
 * has taken the label away, nothing on it names the set, and the kernel's names are
 * others after each start.  What the set has in the place of the label area tells it
 * from others.
 */
#ifndef TIERCTL_BARE_H
#define TIERCTL_BARE_H

#include "set.h"

/*
 * Whether a device, on which the caller has found no label, begins with what the inactive
 * set has at its beginning, on its other tiers.  False also if that cannot be read, or is
 * nothing but zeroes, which any device may have.
 */
bool bare_begins_as(const struct set *s, const struct device *d);

#endif
