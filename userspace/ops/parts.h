/* SPDX-License-Identifier: GPL-2.0-only */
/* Releases the logical volumes of a set. */
#ifndef TIERCTL_PARTS_H
#define TIERCTL_PARTS_H

#include <sys/types.h>

#include "base/context.h"
#include "lvm/lvm-part.h"

/*
 * One volume: removed if it was made for the set and carries no other data, else it gets its old
 * name. 0 or -1, with the error said.
 */
int parts_release(struct tier_context *ctx, const struct lvm_part *p);

/* Marks the volume of that device as the one that outlives the set, and no other; 0: none. */
int parts_mark_home(struct tier_context *ctx, const char *set_hex, dev_t survivor);

/*
 * All volumes of the set. Volumes that were made for it are removed, the others get their names
 * back and lose their tags; the origin, by which all is found, comes last. A volume that was
 * made for the set stays if it is the device "survivor", or is marked so.
 */
int parts_release_all(struct tier_context *ctx, const char *set_hex, dev_t survivor);

#endif
