/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which machine uses a set.  Its metadata names the owner: the machine that activated it last.
 * While that has not ended cleanly, another machine that sees the devices leaves the set alone.
 */
#ifndef TIERCTL_OWNER_H
#define TIERCTL_OWNER_H

#include "base/context.h"
#include "set/set.h"

/*
 * Another machine uses the inactive set, or was cut off from it: says which one, as a part of a
 * sentence; the caller frees.  NULL if none does, if a machine of the two has no id, or in an
 * initramfs, which would keep the machine from booting.
 */
char *owner_elsewhere(const struct set *s);

/*
 * Records that this machine uses the inactive set from now on: its metadata is as it was when the
 * set was loaded, and is not clean any more; *now is what is recorded. False with the error said.
 */
bool owner_claim(const struct set *s, struct tier_meta_info *now);
/* Takes that back, if nothing came of it. */
void owner_unclaim(const struct set *s, const struct tier_meta_info *now);

/* The same of a new set, which is active as the device of that name: warns if it cannot. */
void owner_record(struct tier_context *ctx, const char *name);

#endif
