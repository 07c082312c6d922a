/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Leaves below a damaged node: the space map marks them as in use, but no undamaged node points
 * to them. They carry their keys, so they can still be read.
 */
#ifndef TIER_LIB_ORPHANS_H
#define TIER_LIB_ORPHANS_H

#include "format/content.h"

/*
 * Fills *orphans with the blocks that such leaves of arrays point to: ref.first is the key.
 * Finds none if the space map is damaged, since free blocks with old contents look the same; nor
 * if there is a metadata snapshot, which has out-of-date leaves, too.
 */
void md_orphans_find(struct md_refs *orphans, const struct md_image *image);

#endif
