/* SPDX-License-Identifier: GPL-2.0-only */
/* Taking away what a device carries. */
#ifndef TIERCTL_WIPE_H
#define TIERCTL_WIPE_H

#include "base/context.h"
#include "set/candidate.h"

/*
 * Labels (both slots) of a tier, or the superblock, if they are that set's still.  0 or
 * -errno, with the error said.
 */
int wipe_labels(struct tier_context *ctx, const struct device *d, const u8 *set_uuid);
/* What lies behind them, up to that byte: the rest of the label area. */
int wipe_behind_labels(struct tier_context *ctx, const struct device *d, const u8 *set_uuid, uint64_t end);
/* The same of a device that nothing needs: one that is used otherwise by now is left alone. */
int wipe_stray(struct tier_context *ctx, const struct device *d, const u8 *set_uuid);
int wipe_superblock(struct tier_context *ctx, const struct device *d, const u8 *set_uuid);

/*
 * What else would be lost with the label of a tier, as the device is used otherwise by now;
 * NULL for nothing, or if --force says so.  The caller frees.
 */
char *wipe_would_lose(struct tier_context *ctx, const struct device *d);

/*
 * All that libblkid knows, and the place of superblock and labels; tells the
 * kernel to forget partitions.  0 or -errno, with the error said.
 */
int wipe_all(struct tier_context *ctx, const struct device *d);
/* The same by a descriptor that holds the device. */
int wipe_all_of(struct tier_context *ctx, const struct device *d, int fd);
/* The same, if it carries what it did when candidate_look_inside() saw it. */
int wipe_candidate(struct tier_context *ctx, const struct candidate *c, bool metadata);

#endif
