/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks B-trees and arrays. Nothing that is read is trusted: a block is checked before it is
 * used, keys must lie where the level above says, and a block that cannot be used is reported
 * and left out, so that the rest can still be read.
 *
 * A tree is read level by level in order of blocks, so values are not in order of keys.
 */
#ifndef TIER_LIB_TREE_H
#define TIER_LIB_TREE_H

#include "format/source.h"

/* The number of references to each block. */
struct md_counts {
	u64 nr;
	u32 *count;
};

/*
 * Counts a reference. Returns whether it is the first: only then references from that block are
 * counted. Without counts (NULL) each is the first.
 */
bool md_count(struct md_counts *counts, u64 block);

struct md_tree {
	struct md_source *src;
	struct md_counts *counts;	/* NULL: references are not counted */
	u32 value_size;
	u64 end;			/* all keys are below it */
	void (*value)(void *context, u64 key, const void *value, bool fresh);
	/* A node that cannot be used: keys ref->first to ref->end - 1 are lost. */
	void (*bad)(void *context, const struct md_ref *ref, const char *why);
	void *context;
};

/* Counts a reference to root, too. */
void md_tree_walk(struct md_tree *t, u64 root);

struct md_array {
	struct md_source *src;
	struct md_counts *counts;
	u32 value_size;
	u64 nr;				/* of values */
	/* nr values from number first on. */
	void (*values)(void *context, u64 first, u32 nr, const void *values);
	/* Values first to end - 1 are lost; block 0 if no block is known. */
	void (*lost)(void *context, u64 first, u64 end, u64 block, const char *why);
	/* Blocks that may replace lost ones, in order of their key, first; or NULL. */
	const struct md_refs *orphans;
	void *context;
};

void md_array_walk(struct md_array *a, u64 root);

#endif
