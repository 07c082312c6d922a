/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks all of a set's metadata. */
#ifndef TIER_LIB_CHECK_H
#define TIER_LIB_CHECK_H

#include "format/content.h"

struct md_check {
	bool superblock_only;
	bool skip_mappings;	/* neither mapping nor heat, and no reference counts */
	bool snapshot;		/* only the contents of the metadata snapshot */

	/* Set, as far as the metadata could be read. */
	bool have_info;
	struct tier_meta_info info;
	bool have_tiers;
	struct md_tiers tiers;
};

/* Reports and counts all errors in p. */
void md_check(struct md_check *check, struct md_source *src, struct md_problems *p);

#endif
