/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices without a label. Before convert has labelled its device, and after revert has removed
 * the label, nothing on the device names the set, and the kernel's names change at each start.
 * The set's copy of the label area identifies the device.
 */
#ifndef TIERCTL_BARE_H
#define TIERCTL_BARE_H

#include "set/set.h"

/*
 * Whether a device without a label begins with the same data as the inactive set, which has it
 * on its other tiers. False also if that data cannot be read, or is only zeroes, which any
 * device may have.
 */
bool bare_begins_as(const struct set *s, const struct device *d);

/*
 * Whether a tier that convert has just labelled, or whose label revert was going to remove, was
 * written to as a plain device: its label area has data other than the label and zeroes that
 * differs from the inactive set's. 1, 0, or -errno if one of them cannot be read.
 */
int bare_area_written(const struct set *s, const struct device *d);

/*
 * The command that writes the set's copy of the data over the block of the label at that byte.
 * NULL if the metadata cannot be read; the caller frees.
 */
char *bare_label_command(const struct set *s, const struct device *d, uint64_t label);

#endif
