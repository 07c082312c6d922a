/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a damaged node leaves behind: leaves that the space map says are in use, but
 * that nothing whole points to.  They carry their keys, so that they can still be
 * read.
 */
#ifndef TIER_LIB_ORPHANS_H
#define TIER_LIB_ORPHANS_H

#include "format/content.h"

/*
 * Fills *orphans with the blocks that such leaves of arrays point to: ref.first is the
 * key.  Finds none if the space map is damaged, for then free blocks, which hold what
 * was true once, look the same; nor if there is a metadata snapshot, which also has
 * leaves that are out of date.
 */
void md_orphans_find(struct md_refs *orphans, const struct md_image *image);

#endif
