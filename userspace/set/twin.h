/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two devices that are one disk: a second path to it that no multipath device stands
 * above, or a loop device that shows it.  Neither the kernel nor O_EXCL knows.
 */
#ifndef TIERCTL_TWIN_H
#define TIERCTL_TWIN_H

#include "base/context.h"
#include "block/device.h"

/* Whether both begin with the same; if not, they are no twins.  Or -errno. */
int twins_alike(const struct device *a, const struct device *b);

/*
 * Whether both are one: what a begins with is changed for a moment, so nobody else may
 * use it.  -errno if that cannot be told; the beginning of a may have suffered then.
 */
int twins(struct tier_context *ctx, const struct device *a, const struct device *b);

#endif
