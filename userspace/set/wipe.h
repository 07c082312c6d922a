/* SPDX-License-Identifier: GPL-2.0-only */
/* Wipes the contents of a device. */
#ifndef TIERCTL_WIPE_H
#define TIERCTL_WIPE_H

#include "base/context.h"
#include "set/candidate.h"

/*
 * Wipes the labels (both slots) of a tier, or the superblock, if they are still that set's. 0 or
 * -errno, with the error said.
 */
int wipe_labels(struct tier_context *ctx, const struct device *d, const u8 *set_uuid);
/* Wipes the rest of the label area, up to that byte. */
int wipe_behind_labels(struct tier_context *ctx, const struct device *d, const u8 *set_uuid, uint64_t end);
/* The same for a stray; a device that is used for something else by now is left alone. */
int wipe_stray(struct tier_context *ctx, const struct device *d, const u8 *set_uuid);
int wipe_superblock(struct tier_context *ctx, const struct device *d, const u8 *set_uuid);

/*
 * Other data that would be lost with the label of a tier, as the device is used for something
 * else by now; NULL for none, or with --force. The caller frees.
 */
char *wipe_would_lose(struct tier_context *ctx, const struct device *d);

/*
 * Wipes all signatures that libblkid knows, and the first bytes; tells the kernel to forget
 * partitions. 0 or -errno, with the error said.
 */
int wipe_all_of(struct tier_context *ctx, const struct device *d, int fd, uint64_t bytes);
/* The same for a device that becomes a tier, with its label area. */
int wipe_all(struct tier_context *ctx, const struct device *d, uint64_t chunk_sectors);
/*
 * Makes a device blank that becomes a tier of such chunks, or metadata (0), if its contents are
 * still those that candidate_look_inside() saw. In the label area, what lies behind the place of
 * labels and has no signature counts as nothing.
 */
int wipe_candidate(struct tier_context *ctx, const struct candidate *c, uint64_t chunk_sectors);

#endif
