/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two devices that are one disk: a second path without a multipath device, or a loop device that
 * shows the disk. Neither the kernel nor O_EXCL knows.
 */
#ifndef TIERCTL_TWIN_H
#define TIERCTL_TWIN_H

#include "base/context.h"
#include "block/device.h"

/* Whether both begin with the same data; if not, they are no twins. Or -errno. */
int twins_alike(const struct device *a, const struct device *b);

/*
 * Whether both are one disk: the beginning of a is changed for a moment, so nobody else may use
 * it. -errno if unknown; the beginning of a may be damaged then.
 */
int twins(struct tier_context *ctx, const struct device *a, const struct device *b);
/* The same for two devices that have to be separate disks: 0, or else with the error said. */
int twins_refuse(struct tier_context *ctx, const struct device *a, const struct device *b);

#endif
