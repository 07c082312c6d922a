/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Labels on the tiers: see struct tier_label.  The bytes are packed and judged
 * by format.c, which user space compiles too.
 */
#ifndef DM_TIER_LABEL_H
#define DM_TIER_LABEL_H

#include <linux/blkdev.h>
#include "format-code.h"

/*
 * Reads both slots.  0: *info holds the valid label with the higher generation.  -ENODATA: both
 * slots are all zeroes.  Otherwise *reason says what lies there: -EINVAL something that is not a
 * label or an unknown incompat feature, -EILSEQ damaged labels only, -EIO.  A device that cannot
 * hold a label gives -EINVAL.  May sleep.
 */
int tier_label_read(struct block_device *bdev, struct tier_label_info *info, const char **reason);

/*
 * Writes info's slot and flushes the device.  Who writes to the slot that the label
 * was not read from keeps that one whole.  May sleep.
 */
int tier_label_write(struct block_device *bdev, const struct tier_label_info *info);

/* Zeroes the first `sectors` of a device and flushes it.  May sleep. */
int tier_label_wipe_area(struct block_device *bdev, u64 sectors);

#endif /* DM_TIER_LABEL_H */
