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

/* The path of the metadata device; the caller frees. */
char *mirror_device_path(const char *set_hex);

/*
 * Whether the legs that are there can be put together: all of them have to be, but for degraded.
 * False with the error said; name is the set's.
 */
bool mirror_may_assemble(struct tier_context *ctx, const char *name, const struct mirror *m, bool degraded);

/*
 * Makes the metadata device of legs that may be assembled; one that is there and not in use is made
 * anew. With read_only nothing is written to any leg, and the device shows the newest. Whoever calls
 * this or mirror_release() holds LOCK_DEVICE of the set. 0, or -1 with the error said.
 */
int mirror_assemble(struct tier_context *ctx, const char *set_hex, const char *name, const struct mirror *m,
		    bool degraded, bool read_only);
/* The same for legs that are all zero. */
int mirror_assemble_new(struct tier_context *ctx, const char *set_hex, const char *name, const struct mirror *m);

/* Removes these devices, also those of a call that was killed. 0, or -1 with the error said: in use. */
int mirror_release(struct tier_context *ctx, const char *set_hex, const char *name);
/* The same for who does not hold that lock. */
int mirror_release_alone(struct tier_context *ctx, const char *set_hex, const char *name);

/* Removes the slices of a tier whose leg is none of the assembled mirror. 0, or -1 with the error said. */
int mirror_drop_slices(struct tier_context *ctx, const char *set_hex, const char *name, unsigned int id);

/* What the header of a leg says, from what the mirror says and this. */
void mirror_set_leg(struct mirror *m, unsigned int i, const u8 *set_uuid, const u8 *tier_uuid, bool slow);
/* Writes the header of each leg and zeroes all behind it. 0, or -1 with the error said. */
int mirror_format(struct tier_context *ctx, const struct mirror *m);
/* Wipes the leg of that set on a tier with its label, if there is one. 0 or -errno, with the error said. */
int mirror_wipe_leg(struct tier_context *ctx, const struct device *tier, const u8 *set_uuid);

/* Whether leg i of an assembled mirror can move: the other one is whole. False with the error said, if there is ctx. */
bool mirror_may_move(struct tier_context *ctx, const char *set_hex, const char *name, const struct mirror *m, unsigned int i);
/*
 * Moves leg i of an assembled mirror to a tier that has room for it: *to is its leg there, the other
 * leg, if there is one, is in m. Ends when the new leg is whole. 0, or -1 with the error said.
 */
int mirror_move_leg(struct tier_context *ctx, const char *set_hex, const char *name, struct mirror *m, unsigned int i,
		    const struct mirror_leg *to);

/*
 * The legs that are there belong together, and no other: they get the next generation. 0, or -errno
 * with the error said: none can be written.
 */
int mirror_keep_legs(struct tier_context *ctx, struct mirror *m);

/*
 * Makes the device of an assembled mirror larger; there is so much room on both legs' tiers, and
 * both are whole. The set must not take the new size before mirror_note_size(). 0, or -1 with the
 * error said.
 */
int mirror_grow(struct tier_context *ctx, const char *set_hex, const char *name, struct mirror *m, uint64_t size);
/*
 * Makes sure that dm-raid has written down the size of the device of an assembled mirror of two
 * legs: after a crash it would have another one. 0, or -1 with the error said.
 */
int mirror_note_size(struct tier_context *ctx, const char *set_hex, const char *name, struct mirror *m, uint64_t size);

#endif
