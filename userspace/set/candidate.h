/* SPDX-License-Identifier: GPL-2.0-only */
/* A device that is to become part of a set: is it allowed, and which data would be lost? */
#ifndef TIERCTL_CANDIDATE_H
#define TIERCTL_CANDIDATE_H

#include "base/context.h"
#include "set/set.h"

struct candidate {
	const char *typed;
	struct device dev;
	char *carries;		/* contents that --force would wipe, NULL for none */
};

/* All of these functions say the error. */
bool candidate_find(struct tier_context *ctx, struct candidate *d);
/*
 * The same for a logical volume that was made for a set: no other device may be wiped in its
 * place.
 */
bool candidate_find_made(struct tier_context *ctx, struct candidate *d);
/*
 * Whether the device is no part of an active set, no set, not read-only, of a kind that can be a
 * part, and not made of the device above (0 for none), which is to be made of it. --force does
 * not help.
 */
bool candidate_suitable(const struct candidate *d, const struct set_list *sets, dev_t above);
/* The same, and not in use. */
bool candidate_usable(const struct candidate *d, const struct set_list *sets, dev_t above);
/* Whether fit_blocks() accepts the device; so is added to its reason. */
bool candidate_blocks_fit(struct tier_context *ctx, const struct candidate *d, const char *set,
			  unsigned int block, const char *so);
/* The same for a physical volume on which a part is to be made. */
bool candidate_pv_apart(struct tier_context *ctx, const char *pv, dev_t above);
/* Finds the contents of the device, which are refused without --force. */
bool candidate_look_inside(struct tier_context *ctx, struct candidate *d, bool metadata);
/* Whether the name that was typed is still the same device, with the same size. */
bool candidate_same(struct tier_context *ctx, const struct candidate *d);
/* Also that its contents are the same. */
bool candidate_unchanged(struct tier_context *ctx, const struct candidate *d, bool metadata);
void candidate_free(struct candidate *d);
/* Whether its first 4 KiB are zeroes. */
bool candidate_begins_blank(const struct device *d);

/* The part of a set that a device carries, in words; NULL for none. */
char *candidate_describe(const struct member *m);

/*
 * A device with a label of this set and nothing else, which is no tier by the metadata: left by
 * an interrupted add or remove.
 */
bool candidate_is_leftover(struct set *s, const struct member *m);

/*
 * Other contents of a logical volume that was made for the set and is none of its tiers. NULL if
 * it is as add or remove left it; the caller frees. Without a set: the volume of a set that is
 * gone, with its label. Data without a signature does not count: it may be a copy, or metadata,
 * of a convert that was not finished.
 */
char *candidate_foreign(struct set *s, const struct device *d);

#endif
