/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes a set of a device that holds data, in place. The chunks in the label area are copied to
 * the fast tier, and so is a short last chunk; every other chunk v stays at place v of the old
 * device, its own place. Before its label is written, the old device does not change. After that
 * any command that finds the labels, tierctl activate for example, can finish the conversion.
 */
#ifndef TIERCTL_CONVERT_H
#define TIERCTL_CONVERT_H

#include "base/context.h"
#include "lvm/lvm-part.h"
#include "set/set.h"

struct conversion {
	struct tier_context *ctx;
	const char *name;		/* in messages */
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
	uint64_t displaced;		/* chunks that are copied to the fast tier */
};

/* From the sizes of origin and chunk. */
void convert_arrange(struct conversion *c, uint64_t origin_size);

/*
 * Checks that all are separate disks: with two names for one disk, data written by one name
 * would be lost by the other. 0, or else with the error said. The caller holds all devices.
 */
int convert_check_twins(const struct conversion *c);

/*
 * Writes metadata, copies and labels, and clears the label areas; the caller holds all devices.
 * 0, or, with the error said, -1 if the origin is unchanged, and 1 if it is unknown whether it
 * has its label.
 */
int convert_write(const struct conversion *c);

/* Whether the conversion was interrupted; whether the origin had its label by then. */
bool convert_unfinished(const struct set *s);
bool convert_committed(const struct set *s);
/* Whether only the device is missing, and the set was never active. */
bool convert_unused(const struct set *s);

/* Does the steps between the label and the device that are not done yet. An exit code. */
int convert_finish(struct tier_context *ctx, const char *set_hex);

/*
 * Names the commands that go on with, or undo, a conversion whose origin has its label; after an
 * error.
 */
void convert_say_ways(struct tier_context *ctx, const char *name);

/* How certain it is that a device is the one that was to be converted. */
enum convert_origin {
	ORIGIN_GUESSED,		/* its name may belong to another device by now */
	ORIGIN_NAMED,		/* by the user, who is asked if the contents differ */
	ORIGIN_KNOWN,
};

/*
 * Undoes an interrupted conversion, as long as the set was not used. An exit code. A logical
 * volume that was to be converted has tags; origin is another device, NULL if nobody named it.
 */
int convert_undo(struct tier_context *ctx, const char *set_hex, const char *name,
		 const struct device *origin, enum convert_origin sure);

/*
 * The command to type when LVM refused a step of that command in the middle, for the set of that
 * name. The caller frees.
 */
char *convert_rest_command(struct tier_context *ctx, const char *set_hex, const char *name,
			   const char *command);

#endif
