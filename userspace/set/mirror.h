/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Metadata that lies on the set's tiers, mirrored on two of them, or on one alone. It has no device
 * until one is made of the legs (format/leg.h): linear slices of the tiers, and dm-raid above them.
 * These devices are called after the set's UUID, so that a rename does not concern them.
 */
#ifndef TIERCTL_MIRROR_H
#define TIERCTL_MIRROR_H

#include "base/context.h"
#include "set/legs.h"

/* "transaction 17 of generation 3, from 2026-11-29 10:00:00" of a leg; the caller frees. */
char *mirror_leg_age(const struct mirror_leg *leg);

/* The device of the set's metadata; the caller frees. */
char *mirror_device_name(const char *set_hex);
/* The same for its path. */
char *mirror_device_path(const char *set_hex);
bool mirror_is_assembled(const char *set_hex);
/*
 * Makes the metadata device, if it is not there yet. All legs have to be there, but for degraded.
 * With read_only nothing is written to any leg, and the device shows the newest. 0, or -1 with the
 * error said; name is the set's.
 */
int mirror_assemble(struct tier_context *ctx, const char *set_hex, const char *name, const struct mirror *m,
		    bool degraded, bool read_only);
/* The same for legs that are all zero. */
int mirror_assemble_new(struct tier_context *ctx, const char *set_hex, const char *name, const struct mirror *m);

/* Removes these devices, unless the metadata device is in use. 0, or -1 with the error said. */
int mirror_release(struct tier_context *ctx, const char *set_hex, const char *name);
/* The same for all that this process has assembled. */
void mirrors_release(struct tier_context *ctx);

/* What the header of a leg says, from what the mirror says and this. */
void mirror_set_leg(struct mirror *m, unsigned int i, const u8 *set_uuid, const u8 *tier_uuid, bool slow);
/* Writes the header of each leg and zeroes all behind it. 0, or -1 with the error said. */
int mirror_format(struct tier_context *ctx, const struct mirror *m);
/* Wipes the header of a leg. 0 or -errno, with the error said. */
int mirror_forget_leg(struct tier_context *ctx, const struct device *tier, uint64_t at);

/*
 * Moves leg i of an assembled mirror to a tier that has room for it: *to is its leg there, the other
 * leg, if there is one, is in m. Ends when the new leg is whole. 0, or -1 with the error said.
 */
int mirror_move_leg(struct tier_context *ctx, const char *set_hex, const char *name, struct mirror *m, unsigned int i,
		    const struct mirror_leg *to);

#endif
