/* SPDX-License-Identifier: GPL-2.0-only */
/* The logical volumes of a set leave it. */
#ifndef TIERCTL_PARTS_H
#define TIERCTL_PARTS_H

#include <sys/types.h>

#include "base/context.h"
#include "lvm/lvm-part.h"

/*
 * One volume: removed if it was made for the set and carries nothing of somebody else's,
 * else given its old name.  0 or -1, with the error said.
 */
int parts_release(struct tier_context *ctx, const struct lvm_part *p);

/* Marks the volume of that device as the one that is to outlive the set, and no other; 0: none. */
int parts_mark_home(struct tier_context *ctx, const char *set_hex, dev_t home);

/*
 * All of the set's.  Volumes that were made for the set go, the others get their names back and lose their
 * tags; those of the origin, by which all is found, last.  One that was made and is the
 * device "home", or marked as such, stays, too.
 */
int parts_release_all(struct tier_context *ctx, const char *set_hex, dev_t home);

#endif
