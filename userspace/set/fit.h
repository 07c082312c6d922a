/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a device must be to be part of a set.  Asked of those that are to join and of those
 * that come back, as a disk may be changed while it is away, or copied to another one.
 */
#ifndef TIERCTL_FIT_H
#define TIERCTL_FIT_H

#include "base/context.h"
#include "block/device.h"

/* Each tells what speaks against it, to go behind its name; NULL: nothing.  The caller frees. */
char *fit_kind(const struct device *d, bool writes);
/* block: bytes in a logical block of the set of that name, which may not become larger. */
char *fit_blocks(const struct device *d, const char *set, unsigned int block);
/* size: bytes that it had. */
char *fit_size(const struct device *d, uint64_t size);

/* Warns of what is slow, but no harm. */
void fit_warn(struct tier_context *ctx, const char *name, const struct device *d);

#endif
