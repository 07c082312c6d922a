// SPDX-License-Identifier: GPL-2.0-only
/* Publishes the new place of a chunk: in its word, and in the table of who lies where. */
#include "publish.h"

#include "kick.h"
#include "residence.h"

/* set->lock */
struct tier_owners {
	u32 *chunk;		/* by place - first_place; NULL: nothing is sent home */
	u32 places;
	u8 id;			/* of the tier */
};

static void __note_owner(struct tier_set *set, u32 chunk, u64 word)
{
	struct tier_owners *o = set->owners;
	u64 bit;

	if (!o->chunk || o->id != tier_word_id(word))
		return;
	bit = tier_word_place(word) - set->by_id[o->id]->rec.first_place;
	if (bit < o->places)
		WRITE_ONCE(o->chunk[bit], chunk);
}

void __tier_publish(struct tier_set *set, u32 chunk, u64 word)
{
	lockdep_assert_held(&set->lock);
	__note_owner(set, chunk, word);
	__tier_arrived(set, chunk);
	/* The pin may have changed. */
	WRITE_ONCE(set->map[chunk], (word & ~TIER_WORD_PIN_MASK) |
		   (set->map[chunk] & TIER_WORD_PIN_MASK));
	__tier_note_astray(set, chunk);
}

/* Replaces the table of who lies where. */
static void keep_owners(struct tier_set *set, struct tier_owners owners)
{
	spin_lock_irq(&set->lock);
	swap(*set->owners, owners);
	spin_unlock_irq(&set->lock);
	vfree(owners.chunk);
}

void tier_drop_owners(struct tier_set *set)
{
	keep_owners(set, (struct tier_owners){ });
}

/*
 * Fills the table by one scan of all chunks.  __tier_publish() notes each change from the
 * beginning of the scan on, so the table is never out of date.
 */
static bool find_owners(struct tier_set *set, struct tier *t)
{
	struct tier_owners owners = { .id = t->rec.id };
	unsigned int noio;
	u32 i = 0, end;

	/* A suspend blocks writes, so reclaim must not wait for them here. */
	noio = memalloc_noio_save();
	owners.places = min_t(u64, t->rec.places, set->nr_chunks - t->rec.first_place);
	owners.chunk = vmalloc(array_size(owners.places, sizeof(u32)));
	memalloc_noio_restore(noio);
	if (!owners.chunk)
		return false;
	memset(owners.chunk, 0xff, array_size(owners.places, sizeof(u32)));
	keep_owners(set, owners);
	while (i < set->nr_chunks && READ_ONCE(set->running)) {
		end = i + min_t(u32, set->nr_chunks - i, TIER_MOST_HELD);
		spin_lock_irq(&set->lock);
		for (; i < end; i++)
			if (set->map[i] & TIER_ENTRY_MAPPED)
				__note_owner(set, i, set->map[i]);
		spin_unlock_irq(&set->lock);
		cond_resched();
	}
	if (i == set->nr_chunks)
		return true;
	tier_drop_owners(set);
	return false;
}

bool tier_place_owner(struct tier_set *set, struct tier *t, u64 place, u32 *chunk)
{
	struct tier_owners *o = set->owners;
	u64 bit = place - t->rec.first_place, word;

	if ((!o->chunk || o->id != t->rec.id) && !find_owners(set, t))
		return false;
	*chunk = READ_ONCE(o->chunk[bit]);
	word = *chunk < set->nr_chunks ? tier_get_word(set, *chunk) : 0;
	return (word & TIER_ENTRY_MAPPED) && tier_word_id(word) == t->rec.id &&
	       tier_word_place(word) == place;
}

const struct tier_set_room tier_publish_room = TIER_SET_ROOM(owners, NULL, tier_drop_owners);
