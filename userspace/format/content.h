/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of metadata: read from the blocks of one superblock, or held in memory to be
 * dumped, repaired or written.
 */
#ifndef TIER_LIB_CONTENT_H
#define TIER_LIB_CONTENT_H

#include "format/rules.h"
#include "format/tree.h"

/* The metadata described by a superblock, or by a metadata snapshot, which is a copy of one. */
struct md_image {
	struct md_source *src;
	struct md_counts *counts;	/* of references; NULL: references are not counted */
	struct md_problems *p;
	struct tier_meta_info info;
	struct tier_meta_roots roots;
	const struct md_refs *orphans;	/* see orphans.h; NULL: no search */
	bool broken;			/* some blocks cannot be used */
};

/* Reads block 0.  False, with an error, unless it is a good superblock. */
bool md_image_open(struct md_image *image);
/* The metadata snapshot of image, which has one. */
bool md_image_snapshot(const struct md_image *image, struct md_image *snapshot);

/* False if a part cannot be read; the readable parts are in *tiers, or *tunables. */
bool md_image_tiers(struct md_image *image, struct md_tiers *tiers);
bool md_image_tunables(struct md_image *image, struct md_tunables *tunables);

/*
 * Reads the mapping and checks each entry; places NULL: only the structure. With store, which is
 * all zero, good entries are copied there.
 */
void md_image_mapping(struct md_image *image, struct md_places *places, u64 *store);
void md_image_heat(struct md_image *image, u32 *store);

struct md_content {
	struct tier_meta_info info;
	struct md_tiers tiers;
	struct md_tunables tunables;
	u64 *mapping;			/* info.nr_chunks entries */
	u32 *heat;
};

/* Allocates room for the contents of a set like info, all zero. */
void md_content_init(struct md_content *c, const struct tier_meta_info *info);
void md_content_free(struct md_content *c);

/* Reads all that can be read; unreadable and wrong parts are errors in image->p. */
void md_content_read(struct md_content *c, struct md_image *image);

/* Checks all rules; bad entries are corrected: unmapped, or unpinned. */
void md_content_judge(struct md_content *c, struct md_problems *p);

#endif
