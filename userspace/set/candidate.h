/* SPDX-License-Identifier: GPL-2.0-only */
/* A device that is to become part of a set: may it, and what would be lost? */
#ifndef TIERCTL_CANDIDATE_H
#define TIERCTL_CANDIDATE_H

#include "base/context.h"
#include "set/set.h"

struct candidate {
	const char *typed;
	struct device dev;
	char *carries;		/* what --force would wipe, NULL for nothing */
};

/* All of these say the error. */
bool candidate_find(struct tier_context *ctx, struct candidate *d);
/* The same of a logical volume that was made for a set: nothing else may be wiped in its place. */
bool candidate_find_made(struct tier_context *ctx, struct candidate *d);
/*
 * Whether it is free: not in use, not read-only, of a kind that can be a part, not a set, and
 * not made of the device that is to be made of it (0 for none).  No --force helps against that.
 */
bool candidate_usable(const struct candidate *d, const struct set_list *sets, dev_t above);
/* Whether fit_blocks() has nothing against it; so is put behind what it has. */
bool candidate_blocks_fit(struct tier_context *ctx, const struct candidate *d, const char *set,
			  unsigned int block, const char *so);
/* The same of a physical volume that a part is to be made on. */
bool candidate_pv_apart(struct tier_context *ctx, const char *pv, dev_t above);
/* Fills in what it carries, which is refused without --force. */
bool candidate_look_inside(struct tier_context *ctx, struct candidate *d, bool metadata);
/* Whether what was typed names the same device still, of the same size. */
bool candidate_same(struct tier_context *ctx, const struct candidate *d);
/* The same, and it carries the same. */
bool candidate_unchanged(struct tier_context *ctx, const struct candidate *d, bool metadata);
void candidate_free(struct candidate *d);
/* Whether its first 4 KiB are zeroes. */
bool candidate_begins_blank(const struct device *d);

/* What of a set a device carries, in words; NULL for nothing. */
char *candidate_describe(const struct member *m);

/*
 * A label of this set on a device that is none of its tiers, by the metadata's
 * word, and nothing else: what an add or a remove that was cut short leaves.
 */
bool candidate_is_leftover(struct set *s, const struct member *m);

/*
 * What a logical volume that was made for the set, and is none of its tiers, holds of
 * somebody else's by now.  NULL if it is as add or remove left it; the caller frees.
 * Without a set: one of a set that is gone, with its label.  What has no signature may be
 * a copy, or metadata, that convert never finished, and counts as nothing.
 */
char *candidate_foreign(struct set *s, const struct device *d);

#endif
