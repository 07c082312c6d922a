// SPDX-License-Identifier: GPL-2.0-only
/*
 * Free places of a tier: a bitmap in core, rebuilt from the mapping at
 * activation.  set->lock protects it.  A second bitmap says which groups of places are
 * full, so that a search looks at few words, however large and full the tier is.
 */
#include "alloc.h"

#define GROUP	4096	/* places for each bit of `full` */

struct tier_space {
	u64 hint;		/* where to look first */
	unsigned long *used;	/* bit = place - first_place; the last group ends with ones */
	unsigned long *full;	/* a bit for each group; allocated with `used` */
};

static u64 nr_groups(const struct tier *t)
{
	return DIV_ROUND_UP_ULL(t->rec.places, GROUP);
}

/* The first free place of a group from bit on, or the end of the group. */
static u64 find_free(const struct tier_space *s, u64 group, u64 bit)
{
	return find_next_zero_bit(s->used, (group + 1) * GROUP, bit);
}

static void note_if_full(struct tier_space *s, u64 group)
{
	if (find_free(s, group, group * GROUP) == (group + 1) * GROUP)
		__set_bit(group, s->full);
}

int tier_alloc_init(struct tier *t, u64 kept)
{
	struct tier_space *s = t->space;
	u64 nr = nr_groups(t), bit, group;
	unsigned long *used;

	/* Of 2^34 places more than kvzalloc() gives. */
	used = vzalloc((nr * BITS_TO_LONGS(GROUP) + BITS_TO_LONGS(nr)) * sizeof(long));
	if (!used)
		return -ENOMEM;
	if (kept) {
		memcpy(used, s->used, BITS_TO_LONGS(kept) * sizeof(long));
		/* The ones behind the last place. */
		for (bit = kept; bit % BITS_PER_LONG; bit++)
			__clear_bit(bit, used);
	} else {
		t->used = 0;
		s->hint = 0;
	}
	vfree(s->used);
	s->used = used;
	s->full = used + nr * BITS_TO_LONGS(GROUP);
	for (bit = t->rec.places; bit < nr * GROUP; bit++)
		__set_bit(bit, used);
	for (group = 0; group < nr; group++)
		note_if_full(s, group);
	return 0;
}

static void release(struct tier *t)
{
	vfree(t->space->used);
}

const struct tier_room tier_alloc_room = TIER_ROOM(space, NULL, release);

static void take(struct tier *t, u64 bit)
{
	struct tier_space *s = t->space;

	__set_bit(bit, s->used);
	t->used++;
	/* The whole group is looked at only if the bit's own word is full. */
	if (s->used[BIT_WORD(bit)] == ~0UL)
		note_if_full(s, bit / GROUP);
}

/* Next fit: chunks written one after the other lie side by side. */
u64 __tier_alloc_place(struct tier *t)
{
	struct tier_space *s = t->space;
	u64 group = s->hint / GROUP, nr = nr_groups(t), bit;

	lockdep_assert_held(&t->set->lock);
	if (t->used >= t->rec.places)
		return TIER_NO_PLACE;
	bit = find_free(s, group, s->hint);
	if (bit == (group + 1) * GROUP) {
		group = find_next_zero_bit(s->full, nr, group + 1);
		if (group == nr)
			group = find_next_zero_bit(s->full, nr, 0);
		bit = find_free(s, group, group * GROUP);
	}
	take(t, bit);
	s->hint = bit + 1 < t->rec.places ? bit + 1 : 0;
	return bit + t->rec.first_place;
}

bool tier_alloc_exactly(struct tier *t, u64 place)
{
	u64 bit = place - t->rec.first_place;

	if (place < t->rec.first_place || bit >= t->rec.places ||
	    test_bit(bit, t->space->used))
		return false;
	take(t, bit);
	return true;
}

void __tier_free_place(struct tier *t, u64 place)
{
	u64 bit = place - t->rec.first_place;

	lockdep_assert_held(&t->set->lock);
	if (!WARN_ON_ONCE(!__test_and_clear_bit(bit, t->space->used)))
		t->used--;
	__clear_bit(bit / GROUP, t->space->full);
	t->room_seq++;
}
