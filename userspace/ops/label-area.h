/* SPDX-License-Identifier: GPL-2.0-only */
/* The label area of a tier: zeroes except for the label. */
#ifndef TIERCTL_LABEL_AREA_H
#define TIERCTL_LABEL_AREA_H

#include "base/context.h"
#include "set/set.h"

/* Zeroes all but the label at that byte. flags of open(). 0 or -errno, without a message. */
int label_area_zero(const struct device *d, uint64_t chunk_sectors, uint64_t label, int flags);
/* The same, with the error said. */
int label_area_clear(struct tier_context *ctx, const struct device *d, uint64_t chunk_sectors, uint64_t label);
/*
 * Whether nobody has the tier of an inactive set open, or has written to it since the command
 * was interrupted; the man page of the command says what to do then. *at: the byte of the label
 * in force. 0 or -errno, with the error said.
 */
int label_area_untouched(const struct set *s, const struct device *d, const char *command, uint64_t *at);
/* Zeroes all but that label, if the tier is untouched. */
int label_area_clear_tier(const struct set *s, const struct device *d, const char *command);

#endif
