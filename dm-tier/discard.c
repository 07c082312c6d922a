// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discard of whole chunks: unmap, commit, wait for the readers, pass down, free
 * the place.  The map handles smaller discards like writes.
 */
#include "discard.h"

#include <linux/mempool.h>

#include "alloc.h"
#include "birth.h"
#include "flush.h"
#include "health.h"
#include "kick.h"
#include "map.h"

#define MIN_UNMAPS 64

struct tier_discards {
	struct list_head unmapped;	/* struct tier_unmap, readers gone; set->lock */
	mempool_t pool;			/* of struct tier_unmap */
};

struct tier_unmap {
	struct list_head list;
	struct tier_set *set;
	struct bio *bio;
	struct tier *tier;
	u64 word;		/* before the discard */
	struct rcu_head rcu;
	struct tier_op op;
};

static void unmap_end(struct tier_unmap *u, bool free, blk_status_t status)
{
	struct tier_set *set = u->set;
	struct bio *bio = u->bio;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	if (free)
		__tier_free_place(u->tier, tier_word_place(u->word));
	set->freeing--;
	__tier_wake_starved(set);
	mempool_free(u, &set->discards->pool);
	__tier_retry_deferred(set);
	__tier_wake_idle(set);
	spin_unlock_irqrestore(&set->lock, flags);
	bio->bi_status = status;
	bio_endio(bio);
}

static void passed_down(struct bio *bio)
{
	struct tier_unmap *u = tier_bio_io(bio)->owner;
	blk_status_t status = bio->bi_status;

	tier_unhook_bio(bio);
	tier_mark_unflushed(u->tier);
	if (!tier_rejected(u->tier, bio, status))
		tier_note_error(u->tier, false, status);
	/* The chunk reads as zeroes even if the device failed the discard. */
	unmap_end(u, true, BLK_STS_OK);
}

void tier_pass_down_unmapped(struct tier_set *set)
{
	struct tier_unmap *u;

	for (;;) {
		spin_lock_irq(&set->lock);
		u = list_first_entry_or_null(&set->discards->unmapped, struct tier_unmap, list);
		if (u)
			list_del(&u->list);
		spin_unlock_irq(&set->lock);
		if (!u)
			return;
		if (set->discard_passdown && bdev_max_discard_sectors(u->tier->bdev)) {
			tier_hook_bio(u->bio, passed_down, u);
			tier_submit_to(set, u->bio, u->tier, tier_word_place(u->word));
		} else {
			unmap_end(u, true, BLK_STS_OK);
		}
	}
}

static void readers_gone(struct rcu_head *rcu)
{
	struct tier_unmap *u = container_of(rcu, struct tier_unmap, rcu);
	struct tier_set *set = u->set;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	list_add_tail(&u->list, &set->discards->unmapped);
	spin_unlock_irqrestore(&set->lock, flags);
	queue_work(set->wq, &set->io_work);
}

static void unmap_decided(struct tier_set *set, struct tier_op *op, bool committed)
{
	struct tier_unmap *u = container_of(op, struct tier_unmap, op);

	if (committed) {
		call_srcu(&u->tier->readers, &u->rcu, readers_gone);
		return;
	}
	spin_lock_irq(&set->lock);
	__tier_undo_unmap(set, op->chunk, u->word);
	/* WRITE ZEROES to the unmapped chunk may have been acknowledged: the next FLUSH fails. */
	__tier_flush_lose(set);
	spin_unlock_irq(&set->lock);
	unmap_end(u, false, BLK_STS_IOERR);
}

enum tier_discard tier_discard_chunk(struct tier_set *set, struct bio *bio)
{
	u32 chunk = tier_bio_chunk(set, bio);
	blk_status_t status = BLK_STS_OK;
	struct tier_unmap *u;
	struct tier *t;
	u64 word;

	spin_lock_irq(&set->lock);
	word = set->map[chunk];
	t = set->by_id[tier_word_id(word)];
	/* With the lock held, so that a discard is undecided or sees the change to ro. */
	if (tier_set_frozen(set)) {
		status = BLK_STS_IOERR;
		goto end;
	}
	if (!(word & TIER_ENTRY_MAPPED))
		goto end;
	if (!tier_present(t)) {
		status = BLK_STS_IOERR;
		goto end;
	}
	if (word & TIER_WORD_NEW) {
		/* The birth has to be committed before the chunk can be unmapped. */
		bio_list_add(&set->undecided, bio);
		__tier_commit_chunk(set, t, chunk);
		spin_unlock_irq(&set->lock);
		return TIER_DISCARD_TAKEN;
	}
	if (word & (TIER_WORD_MOVING | TIER_WORD_HELD)) {
		spin_unlock_irq(&set->lock);
		return TIER_DISCARD_MOVING;
	}
	/* GFP_NOWAIT: this very work frees the memory of other discards. */
	u = mempool_alloc(&set->discards->pool, GFP_NOWAIT);
	if (!u) {
		bio_list_add(&set->deferred, bio);
		spin_unlock_irq(&set->lock);
		return TIER_DISCARD_NO_MEMORY;
	}

	u->set = set;
	u->bio = bio;
	u->tier = t;
	u->word = word;
	u->op.chunk = chunk;
	u->op.entry = 0;
	u->op.done = unmap_decided;
	WRITE_ONCE(set->map[chunk], word & TIER_WORD_PIN_MASK);
	set->mapped--;
	set->freeing++;
	__tier_queue_op(set, &u->op);
	spin_unlock_irq(&set->lock);
	return TIER_DISCARD_TAKEN;

end:
	spin_unlock_irq(&set->lock);
	bio->bi_status = status;
	bio_endio(bio);
	return TIER_DISCARD_TAKEN;
}

static int init(struct tier_set *set)
{
	INIT_LIST_HEAD(&set->discards->unmapped);
	return mempool_init_kmalloc_pool(&set->discards->pool, MIN_UNMAPS,
					 sizeof(struct tier_unmap));
}

static void release(struct tier_set *set)
{
	mempool_exit(&set->discards->pool);
}

const struct tier_set_room tier_discard_room = TIER_SET_ROOM(discards, init, release);
