// SPDX-License-Identifier: GPL-2.0-only
/*
 * Free places of a tier: a bitmap in core, rebuilt from the mapping at
 * activation.  set->lock protects it.
 */
#include <linux/vmalloc.h>

#include "dm-tier.h"

static size_t map_bytes(u64 places)
{
	return BITS_TO_LONGS(places) * sizeof(unsigned long);
}

int tier_alloc_init(struct tier *t)
{
	/* Of 2^34 places more than kvzalloc() gives. */
	t->used_map = vzalloc(map_bytes(t->rec.places));
	return t->used_map ? 0 : -ENOMEM;
}

void tier_alloc_exit(struct tier *t)
{
	vfree(t->used_map);
	t->used_map = NULL;
}

static void take(struct tier *t, u64 bit)
{
	__set_bit(bit, t->used_map);
	t->used++;
	t->hint = bit + 1;
}

/* Next fit: chunks written one after the other lie side by side. */
u64 tier_alloc_place(struct tier *t)
{
	u64 bit;

	lockdep_assert_held(&t->set->lock);
	if (t->used >= t->rec.places)
		return TIER_NO_PLACE;
	bit = find_next_zero_bit(t->used_map, t->rec.places, t->hint);
	if (bit >= t->rec.places)
		bit = find_next_zero_bit(t->used_map, t->rec.places, 0);
	if (bit >= t->rec.places)
		return TIER_NO_PLACE;
	take(t, bit);
	return bit + t->rec.first_place;
}

bool tier_alloc_exactly(struct tier *t, u64 place)
{
	u64 bit = place - t->rec.first_place;

	if (place < t->rec.first_place || bit >= t->rec.places ||
	    test_bit(bit, t->used_map))
		return false;
	take(t, bit);
	return true;
}

void __tier_free_place(struct tier *t, u64 place)
{
	u64 bit = place - t->rec.first_place;

	lockdep_assert_held(&t->set->lock);
	if (!WARN_ON_ONCE(!__test_and_clear_bit(bit, t->used_map)))
		t->used--;
	t->room_seq++;
}

/* First writes that found no place try again. */
void __tier_wake_starved(struct tier_set *set)
{
	lockdep_assert_held(&set->lock);
	if (bio_list_empty(&set->starved))
		return;
	bio_list_merge(&set->deferred, &set->starved);
	bio_list_init(&set->starved);
	queue_work(set->wq, &set->io_work);
}
