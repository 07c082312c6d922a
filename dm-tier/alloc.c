// SPDX-License-Identifier: GPL-2.0-only
/*
 * Free places of a tier: a bitmap in core, rebuilt from the mapping at
 * activation.  set->lock protects it.
 */
#include "alloc.h"

struct tier_space {
	u64 hint;		/* where to look first */
	unsigned long *used;	/* bit = place - first_place */
};

int tier_alloc_init(struct tier *t, u64 kept)
{
	/* Of 2^34 places more than kvzalloc() gives. */
	unsigned long *used = vzalloc(BITS_TO_LONGS(t->rec.places) * sizeof(long));

	if (!used)
		return -ENOMEM;
	if (kept) {
		memcpy(used, t->space->used, BITS_TO_LONGS(kept) * sizeof(long));
	} else {
		t->used = 0;
		t->space->hint = 0;
	}
	vfree(t->space->used);
	t->space->used = used;
	return 0;
}

static void release(struct tier *t)
{
	vfree(t->space->used);
}

const struct tier_room tier_alloc_room = TIER_ROOM(space, NULL, release);

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
