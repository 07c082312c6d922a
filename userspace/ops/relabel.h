/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tier whose label was overwritten, by a partition table for example. The metadata knows all
 * contents of the label; but the user has to say that the device is the tier.
 */
#ifndef TIERCTL_RELABEL_H
#define TIERCTL_RELABEL_H

#include "base/context.h"
#include "set/set.h"

/* tierctl repair --label.  An exit code. */
int relabel(struct tier_context *ctx, const char *rank, const char *dev, const char *set);

#endif
