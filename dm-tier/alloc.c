// SPDX-License-Identifier: GPL-2.0-only
/*
 * Free places of a tier: a bitmap in core, rebuilt from the mapping at
 * activation.  set->lock protects it.
 */
#include "alloc.h"

#include <linux/slab.h>
#include <linux/vmalloc.h>

struct tier_space {
	u64 hint;		/* where to look first */
	unsigned long *used;	/* bit = place - first_place */
};

int tier_alloc_init(struct tier *t)
{
	tier_alloc_exit(t);
	t->space = kzalloc(sizeof(*t->space), GFP_KERNEL);
	if (!t->space)
		return -ENOMEM;
	t->used = 0;
	/* Of 2^34 places more than kvzalloc() gives. */
	t->space->used = vzalloc(BITS_TO_LONGS(t->rec.places) * sizeof(long));
	return t->space->used ? 0 : -ENOMEM;
}

void tier_alloc_exit(struct tier *t)
{
	if (t->space)
		vfree(t->space->used);
	kfree(t->space);
	t->space = NULL;
}

/* Next fit: chunks written one after the other lie side by side. */
u64 __tier_alloc_place(struct tier *t)
{
	struct tier_space *s = t->space;
	u64 bit;

	lockdep_assert_held(&t->set->lock);
	if (t->used >= t->rec.places)
		return TIER_NO_PLACE;
	bit = find_next_zero_bit(s->used, t->rec.places, s->hint);
	if (bit >= t->rec.places)
		bit = find_next_zero_bit(s->used, t->rec.places, 0);
	if (bit >= t->rec.places)
		return TIER_NO_PLACE;
	__set_bit(bit, s->used);
	t->used++;
	s->hint = bit + 1;
	return bit + t->rec.first_place;
}

bool tier_alloc_exactly(struct tier *t, u64 place)
{
	u64 bit = place - t->rec.first_place;

	if (place < t->rec.first_place || bit >= t->rec.places ||
	    __test_and_set_bit(bit, t->space->used))
		return false;
	t->used++;
	return true;
}

void __tier_free_place(struct tier *t, u64 place)
{
	u64 bit = place - t->rec.first_place;

	lockdep_assert_held(&t->set->lock);
	if (!WARN_ON_ONCE(!__test_and_clear_bit(bit, t->space->used)))
		t->used--;
	t->room_seq++;
}
