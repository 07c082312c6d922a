/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way back: all chunks move to their own places on one tier, the data for the label area
 * comes last, and then the tier takes the set's place. Before the label is overwritten the set
 * is still a set; after that any command that finds the metadata can do the rest.
 */
#ifndef TIERCTL_REVERT_H
#define TIERCTL_REVERT_H

#include "base/context.h"
#include "set/set.h"

/* Chunks that have their own places on the tier. */
struct own_places {
	uint64_t first, end;
};

/*
 * The last step, when all chunks that can are in their own places. 0: the tier has taken the
 * set's place. -EAGAIN: some chunks are not in their own places, nothing was changed. Else with
 * the error said, and the set unchanged.
 */
int revert_cut_over(struct set *s, unsigned int rank, const struct own_places *own_places);

/*
 * The same for an inactive set, none of whose chunks has moved since convert: the data of the
 * label area is written back, its first block last; the caller holds the tier. 0: the tier is
 * the old device again. -EAGAIN: a chunk is not in its own place. Else with the error said.
 * Without write only checks.
 */
int revert_unused(struct set *s, unsigned int rank, const struct own_places *own_places, bool write);

/* How far a call came that left an active set suspended. */
enum revert_stage {
	REVERT_NONE,		/* the set was not suspended by revert */
	REVERT_BEFORE,		/* nothing was changed yet */
	REVERT_TAKEOVER,
	REVERT_UNKNOWN,		/* the metadata cannot be read */
};
enum revert_stage revert_stage(struct set *s);
/* Rank of the tier that takes the place of a set in REVERT_TAKEOVER, -1 if unknown. */
int revert_survivor(const struct set *s);
/* Then finishes the last step, or undoes it, as above. The caller has lock_set(). */
int revert_mend(struct set *s, unsigned int rank);

/* The set was interrupted in the last step, or after it. */
bool revert_unfinished(const struct set *s);
/* A tier that is still to be cleaned up is missing. */
bool revert_lacks_tier(const struct set *s);
/* The tier has taken the set's place. */
bool revert_committed(const struct set *s);
/* For an inactive set that did not get so far: it becomes a set again. 0 or an error, said. */
int revert_take_back(const struct set *s);
/*
 * Gives back the names of a set that was a logical volume: its device, if there is one, makes
 * way, then the placeholder, then the volume gets its own name. 0 or an error, said.
 */
int revert_names(struct tier_context *ctx, const char *set_hex, char **device);
/* Does the rest once the tier has taken the set's place. An exit code. */
int revert_finish(struct tier_context *ctx, const char *set_hex);

#endif
