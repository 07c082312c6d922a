/* SPDX-License-Identifier: GPL-2.0-only */
/* What zeroes chunks of a tier. */
#ifndef DM_TIER_COPIER_H
#define DM_TIER_COPIER_H

#include <linux/dm-kcopyd.h>

#include "core.h"

extern const struct tier_set_room tier_copier_room;

/*
 * The kcopyd client for copies between two tiers, or zeroes onto one, made when
 * it is first asked for: a tier that hangs has no client in common with copies
 * between others.  Process context; NULL: no memory.
 */
struct dm_kcopyd_client *tier_copier(struct tier_set *set, struct tier *from, struct tier *to);
/* Frees those of all tiers; suspended. */
void tier_free_copiers(struct tier_set *set);

#endif /* DM_TIER_COPIER_H */
