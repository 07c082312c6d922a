/* SPDX-License-Identifier: GPL-2.0-only */
/* Free places of a tier; see alloc.c. */
#ifndef DM_TIER_ALLOC_H
#define DM_TIER_ALLOC_H

#include "core.h"

/*
 * All places free but those that are taken of the first `kept`, which the tier had before; while
 * suspended.  -ENOMEM.
 */
int tier_alloc_init(struct tier *t, u64 kept);

/* TIER_NO_PLACE if the tier is full. */
u64 __tier_alloc_place(struct tier *t);
/* False if the tier does not have that place, or it is taken.  Also while suspended. */
bool tier_alloc_exactly(struct tier *t, u64 place);
void __tier_free_place(struct tier *t, u64 place);

static inline u64 tier_free_places(const struct tier *t)
{
	return t->rec.places - READ_ONCE(t->used);
}

#endif /* DM_TIER_ALLOC_H */
