/* SPDX-License-Identifier: GPL-2.0-only */
/* The space map: the recorded number of references to each block of metadata. */
#ifndef TIER_LIB_SPACEMAP_H
#define TIER_LIB_SPACEMAP_H

#include "format/problems.h"
#include "format/tree.h"

/*
 * Reads the space map of this root into *said (which md_counts_free() frees) and counts the
 * references to its own blocks in counts. False if a part of it cannot be read; this part is
 * reported, and has count 0.
 */
bool md_spacemap_read(struct md_source *src, const u8 root[TIER_SPACE_MAP_ROOT_SIZE],
		      struct md_counts *counts, struct md_counts *said, struct md_problems *p);

/* Reports blocks whose recorded count differs from the counted references. */
void md_spacemap_compare(const struct md_counts *said, const struct md_counts *counted,
			 struct md_problems *p);

void md_counts_init(struct md_counts *counts, u64 nr);
void md_counts_free(struct md_counts *counts);

#endif
