/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requirements for a device that is part of a set. They are checked for devices that join and
 * for devices that come back, as a disk may be changed while it is away, or copied to another
 * disk.
 */
#ifndef TIERCTL_FIT_H
#define TIERCTL_FIT_H

#include "base/context.h"
#include "block/device.h"

/*
 * Each returns the problem, to be printed behind the device's name; NULL: none. The caller
 * frees.
 */
char *fit_kind(const struct device *d, bool writes);
/* block: bytes in a logical block of the named set, which must not become larger. */
char *fit_blocks(const struct device *d, const char *set, unsigned int block);
/* size: bytes that the device had. */
char *fit_size(const struct device *d, uint64_t size);

/* Warns about a device that is slow, but does no harm. */
void fit_warn(struct tier_context *ctx, const char *name, const struct device *d);

#endif
