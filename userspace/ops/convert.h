/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Making a set of a device that holds data, in place.  The chunks under the label
 * area are copied to the fast tier, and so is a last one that is not whole; every
 * other chunk v lies at place v of the old device, where it was.  Up to the label
 * on the old device nothing has happened to it; from there on whoever finds the
 * labels, tierctl activate for example, can finish the rest.
 */
#ifndef TIERCTL_CONVERT_H
#define TIERCTL_CONVERT_H

#include "base/context.h"
#include "lvm/lvm-part.h"
#include "set/set.h"

struct conversion {
	struct tier_context *ctx;
	const char *name;		/* for users */
	const char *dm_name;
	const char *policy;
	u8 uuid[TIER_UUID_SIZE];
	char hex[UUID_HEX];
	struct device origin, meta;
	unsigned int nr_fast;
	struct device fast[TIER_MAX_TIERS - 1];

	/* convert_arrange() fills these in. */
	uint64_t chunk_sectors;
	uint64_t length;		/* sectors */
	uint64_t nr_chunks;
	uint64_t first_place;
	uint64_t homeless;		/* chunks that are copied to the fast tier */
};

/* From the sizes of origin and chunk. */
void convert_arrange(struct conversion *c, uint64_t origin_size);

/*
 * Whether all are disks of their own, as what is written to one of two names for a disk would be
 * lost by what goes to the other; 0, or else with the error said.  The caller holds them all.
 */
int convert_check_twins(const struct conversion *c);

/*
 * Writes metadata, copies and labels, and clears the label areas; the caller
 * holds all devices.  0, or, with the error said, -1 if the origin is as it was and 1
 * if nobody can say whether it has its label.
 */
int convert_write(const struct conversion *c);

/* Whether the set is one whose conversion was interrupted; whether the origin has its label, then. */
bool convert_unfinished(const struct set *s);
bool convert_committed(const struct set *s);
/* Whether it has all but its device, and has never had that. */
bool convert_unused(const struct set *s);

/* The steps between the label and the device, as far as they are not done.  An exit code. */
int convert_finish(struct tier_context *ctx, const char *set_hex);

/* Which commands go on with, or undo, a conversion whose origin has its label; after an error. */
void convert_say_ways(struct tier_context *ctx, const char *name);

/* How sure it is that a device is the one that was to be converted. */
enum convert_origin {
	ORIGIN_GUESSED,		/* its name may have been another one's by then */
	ORIGIN_NAMED,		/* by the user, who is asked if it does not look like it */
	ORIGIN_KNOWN,
};

/*
 * Undoes what an interrupted conversion left, as long as the set was not used.  An exit code.
 * A logical volume that was to be converted has tags; origin is another device, NULL
 * if nobody named it.
 */
int convert_undo(struct tier_context *ctx, const char *set_hex, const char *name,
		 const struct device *origin, enum convert_origin sure);

/*
 * What to type when one of these was refused in the middle of that command on the set of that
 * name.  The caller frees.
 */
char *convert_rest_command(struct tier_context *ctx, const char *set_hex, const char *name,
			   const char *command);

#endif
