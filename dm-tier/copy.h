/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies from tier to tier; see copy.c. */
#ifndef DM_TIER_COPY_H
#define DM_TIER_COPY_H

#include "core.h"

#define TIER_COPY_SECTORS	(SZ_1M >> SECTOR_SHIFT)	/* copied at once at most */

struct tier_copy;

/* In any context; write: an error is one of the destination. */
typedef void (*tier_copied_fn)(void *context, bool write, blk_status_t status);

/* What a copy needs; NULL: no memory.  Process context. */
struct tier_copy *tier_copy_get(struct tier_set *set);
/* Keeps it for the next copy. */
void __tier_copy_put(struct tier_set *set, struct tier_copy *c);
/* Frees what was kept.  Process context. */
void tier_copy_shrink(struct tier_set *set);
/* Copies from place to place; offset and count in sectors.  Does not wait. */
void tier_copy(struct tier_copy *c, struct tier *from, u64 from_place, struct tier *to,
	       u64 to_place, u32 offset, u32 count, tier_copied_fn fn, void *context);

#endif /* DM_TIER_COPY_H */
