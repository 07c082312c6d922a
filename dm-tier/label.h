/* SPDX-License-Identifier: GPL-2.0-only */
/* Labels on the tiers: struct tier_label, packed and judged by format.c.  All may sleep. */
#ifndef DM_TIER_LABEL_H
#define DM_TIER_LABEL_H

#include <linux/blkdev.h>
#include "format-code.h"

/* Reads both slots: tier_label_choose().  -EINVAL also if the device cannot hold a label. */
int tier_label_read(struct block_device *bdev, struct tier_label_info *info, const char **reason);

/*
 * Writes info's slot and flushes the device.  Who writes to the slot that the label was not read
 * from keeps that one whole.
 */
int tier_label_write(struct block_device *bdev, const struct tier_label_info *info);

/* Zeroes the first `sectors` of a device and flushes it. */
int tier_label_wipe_area(struct block_device *bdev, u64 sectors);

#endif /* DM_TIER_LABEL_H */
