/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which machine uses a set.  Its metadata names the owner: the machine that activated it last.
 * While that has not ended cleanly, another machine that sees the devices leaves the set alone.
 */
#ifndef TIERCTL_OWNER_H
#define TIERCTL_OWNER_H

#include "base/context.h"
#include "set/set.h"

/* In an initramfs alone. Its lines are the sets that --auto may activate there; none: all. */
#define IN_INITRAMFS	"/etc/dm-tier/in-initramfs"

/* The machine's id; all zero if it is not known. */
void owner_this_machine(u8 id[TIER_UUID_SIZE]);

/*
 * Whether no other machine uses the inactive set, or was cut off from it: false with the error
 * said, which ends with advice, a sentence.  True if a machine of the two has no id, and in an
 * initramfs, as a refusal would keep the machine from booting.
 */
bool owner_not_elsewhere(const struct set *s, const char *advice);

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
