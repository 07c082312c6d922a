/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way back: everything goes to its own place on one tier, what lies under the
 * label comes last, and then the tier takes the set's place.  Until the label is
 * overwritten it is a set, from there on the rest can be finished by whoever finds
 * the metadata.
 */
#ifndef TIERCTL_REVERT_H
#define TIERCTL_REVERT_H

#include "base/context.h"
#include "set/set.h"

/* Chunks that have a place of their own number on the tier. */
struct homes {
	uint64_t first, end;
};

/*
 * The moment: all chunks are home as far as they can be.  0: the tier has taken the
 * set's place.  -EAGAIN: some are not home, nothing was changed.  Else with the error
 * said, and the set as it was.
 */
int revert_cut_over(struct set *s, unsigned int rank, const struct homes *homes);

/*
 * The same of an inactive set none of whose chunks has moved since convert: what lies under the
 * label is written back, its first block last; the caller holds the tier.  0: the tier is what
 * it was.  -EAGAIN: a chunk is not home.  Else with the error said.  Without write it only looks.
 */
int revert_unused(struct set *s, unsigned int rank, const struct homes *homes, bool write);

/* How far a call came that has left an active set suspended. */
enum revert_stage {
	REVERT_NONE,		/* it was not revert */
	REVERT_BEFORE,		/* nothing was changed yet */
	REVERT_MOMENT,
	REVERT_UNKNOWN,		/* the metadata cannot be read */
};
enum revert_stage revert_stage(struct set *s);
/* Rank of the tier that was to take the place of a set in REVERT_MOMENT, -1 if not known. */
int revert_home(const struct set *s);
/* Then finishes the moment, or undoes it, as above.  The caller has lock_set(). */
int revert_mend(struct set *s, unsigned int rank);

/* The set is one that was interrupted at that moment, or after it. */
bool revert_unfinished(const struct set *s);
/* A tier that is still to be cleaned up is not there. */
bool revert_lacks_tier(const struct set *s);
/* The tier has taken its place. */
bool revert_committed(const struct set *s);
/* Of an inactive set that did not get so far: it is a set again.  0 or an error, said. */
int revert_take_back(const struct set *s);
/*
 * The names of a set that was a logical volume go back: its device, if it has one, makes way,
 * then the placeholder, then the volume gets its own.  0 or an error, said.
 */
int revert_names(struct tier_context *ctx, const char *set_hex, char **device);
/* All that is left to do once the tier has taken the set's place.  An exit code. */
int revert_finish(struct tier_context *ctx, const char *set_hex);

#endif
