/* SPDX-License-Identifier: GPL-2.0-only */
/* Labels on tiers, read and compared with the metadata. */
#ifndef TIER_LIB_LABELS_H
#define TIER_LIB_LABELS_H

#include "format/rules.h"

/* As tier_label_choose(). */
int md_read_label(int fd, struct tier_label_info *label, const char **reason);

/*
 * Checks that the device fd, called name in messages, is a tier of this set, and that neither is
 * stale. Returns its record, or NULL with an error.
 */
const struct tier_meta_tier *md_check_label(const struct tier_meta_info *info, const struct md_tiers *tiers, int fd,
					    const char *name, struct md_problems *p);

#endif
