/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes a set whose metadata lies on its tiers. The kernel formats sets with a metadata device of
 * their own alone, so tierctl writes the metadata and the labels.
 */
#ifndef TIERCTL_MIRRORED_H
#define TIERCTL_MIRRORED_H

#include "set/mirror.h"
#include "set/set.h"

struct mirrored_set {
	struct tier_context *ctx;
	const char *name;
	const char *policy;
	u8 uuid[TIER_UUID_SIZE];
	char hex[UUID_HEX];
	uint64_t chunk_sectors;
	uint64_t length;		/* sectors */
	uint64_t first_place;
	unsigned int nr_tiers;
	const struct device *tier[TIER_MAX_TIERS];	/* by rank */
	struct mirror mirror;
};

/*
 * Chooses the tiers for nr legs, the fastest two if these are separate disks, and where they lie;
 * chunk_sectors, first_place and the tiers are set.
 */
void mirrored_arrange(struct mirrored_set *m, unsigned int nr);

/*
 * Writes legs, metadata and labels; the devices are blank. Then the metadata has its device. 0, or
 * -1 with the error said; mirrored_undo() makes the devices blank again.
 */
int mirrored_write(const struct mirrored_set *m);
void mirrored_undo(const struct mirrored_set *m);

/*
 * If a leg of the metadata lies on that tier of an active set, moves it to another one, with
 * --dry-run only says so. 0, or -1 with the error said: no other tier can take it, for one. With
 * may_stay a leg that cannot move stays, with a warning.
 */
int mirrored_leave(const struct set *s, unsigned int rank, bool may_stay);

/*
 * A move that was killed may have left the metadata of an active set suspended, or with a table that
 * waits, and a leg that says it is the latest: takes that back. 0 also if there is nothing to do, or
 * -errno with the error said.
 */
int mirrored_go_on(const struct set *s);

/*
 * Makes the metadata of an active set, which lies on its tiers, as large as these allow: so many
 * sectors at least. For that it moves to tiers with more room. With --dry-run only says so. 0, or
 * -1 with the error said: too few tiers have so much room, for one.
 */
int mirrored_grow(const struct set *s, uint64_t sectors);
/*
 * For who wants to load a table of an active set: an earlier call may have been killed when the
 * metadata was larger and dm-raid had not noted that. 0, or -1 with the error said.
 */
int mirrored_settle(const struct set *s);

#endif
