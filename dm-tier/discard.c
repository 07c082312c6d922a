// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discard of whole chunks.  One object serves a bio, whatever its length, a batch of chunks at
 * a time: it holds their writes, unmaps them, waits for the readers, passes the discard down,
 * and frees the places.  The word keeps the place until then.  Chunks that are not committed
 * yet, or move, are left out; the bio comes back for them.
 *
 * The map handles smaller discards like writes.
 */
#include "discard.h"

#include <linux/mempool.h>

#include "alloc.h"
#include "birth.h"
#include "commit.h"
#include "flush.h"
#include "health.h"
#include "kick.h"

#define MAX_UNMAPS	64	/* bios under way */
#define BATCH		4096	/* chunks */
#define MAX_PIECES	8	/* discards of the tiers at a time */

struct tier_discards {
	/* set->lock */
	struct list_head list;		/* struct tier_unmap */
	struct bio_list waiting;	/* discards, until fewer are under way */
	struct bio_list held;		/* writes and discards of chunks that are being discarded */

	mempool_t pool;			/* of struct tier_unmap */
};

struct tier_piece {
	struct bio bio;
	struct tier *tier;
};

struct tier_unmap {
	struct list_head list;
	struct tier_set *set;
	struct bio *bio;
	u32 first, end;			/* its chunks */
	u32 first_left, last_left;	/* left out; none if first_left is end */
	blk_status_t status;
	struct tier_range range;	/* the batch */
	unsigned long tiers;		/* by rank: have readers that may know its places */
	u32 at;				/* the next chunk to be passed down */
	atomic_t pending;		/* pieces under way, plus one until all are sent */
	void (*step)(struct tier_unmap *u);	/* what its work does next */
	struct work_struct work;
	struct rcu_head rcu;
	struct tier_piece pieces[MAX_PIECES];
};

static void do_step(struct work_struct *work)
{
	struct tier_unmap *u = container_of(work, struct tier_unmap, work);

	u->step(u);
}

static void next_step(struct tier_unmap *u, void (*step)(struct tier_unmap *))
{
	u->step = step;
	queue_work(u->set->wq, &u->work);
}

/* Calls fn for each chunk from first to end, with the lock held. */
static void for_chunks(struct tier_unmap *u, u32 first, u32 end,
		       void (*fn)(struct tier_unmap *u, u32 chunk))
{
	u32 chunk = first, stop;

	while (chunk < end) {
		stop = min_t(u64, (u64)chunk + TIER_MOST_HELD, end);
		spin_lock_irq(&u->set->lock);
		for (; chunk < stop; chunk++)
			fn(u, chunk);
		spin_unlock_irq(&u->set->lock);
		cond_resched();
	}
}

/* ---- the end ---- */

static void __next_waiting(struct tier_set *set)
{
	struct bio *bio = NULL;

	if (set->discarding < MAX_UNMAPS)
		bio = bio_list_pop(&set->discards->waiting);
	if (bio)
		bio_list_add_head(&set->deferred, bio);
	__tier_retry_deferred(set);
}

/* Not inlined, as the crash tests watch it, like others here. */
static noinline void unmap_end(struct tier_unmap *u)
{
	bool again = u->first_left < u->end && !u->status;
	struct tier_io *io = tier_bio_io(u->bio);
	struct tier_set *set = u->set;
	struct bio *bio = u->bio;

	bio->bi_status = u->status;
	io->left_out = again;
	io->first_left = u->first_left;
	io->last_left = u->last_left;
	spin_lock_irq(&set->lock);
	if (again)
		bio_list_add(&set->deferred, bio);
	list_del(&u->list);
	mempool_free(u, &set->discards->pool);
	set->discarding--;
	__tier_wake_starved(set);
	__tier_defer_bios(set, &set->discards->held);
	__next_waiting(set);
	/* Who waits for the machine to hibernate looks without the lock. */
	wake_up(&set->idle_wait);
	spin_unlock_irq(&set->lock);
	if (!again)
		bio_endio(bio);
}

/* ---- a batch ---- */

static void step_hold(struct tier_unmap *u);

static void __free_place(struct tier_unmap *u, u32 chunk)
{
	struct tier_set *set = u->set;
	u64 word = set->map[chunk];

	if (!tier_word_discarded(word))
		return;
	__tier_free_place(set->by_id[tier_word_id(word)], tier_word_place(word));
	WRITE_ONCE(set->map[chunk], word & TIER_WORD_PIN_MASK);
	set->freeing--;
}

static void free_places(struct tier_unmap *u)
{
	struct tier_set *set = u->set;

	for_chunks(u, u->range.first, u->range.end, __free_place);
	spin_lock_irq(&set->lock);
	__tier_wake_starved(set);
	__tier_defer_bios(set, &set->discards->held);
	spin_unlock_irq(&set->lock);
	step_hold(u);
}

static void step_pass_down(struct tier_unmap *u);

static void put_pieces(struct tier_unmap *u)
{
	if (atomic_dec_and_test(&u->pending))
		next_step(u, step_pass_down);
}

static noinline void passed_down(struct bio *bio)
{
	struct tier *t = container_of(bio, struct tier_piece, bio)->tier;
	blk_status_t status = bio->bi_status;
	bool rejected = tier_rejected(t, bio, status);
	struct tier_unmap *u = bio->bi_private;

	bio_uninit(bio);
	tier_mark_unflushed(t);
	/* The chunks read as zeroes even if the device failed the discard. */
	if (!rejected)
		tier_note_error(t, false, status);
	put_pieces(u);
}

/* The next places that the discard has to reach, neighbours together; false: there are none. */
static bool next_piece(struct tier_unmap *u, struct tier_piece *p)
{
	struct tier_set *set = u->set;
	u64 first = 0, word;
	u32 most = 0, nr;

	while (!most) {
		if (u->at == u->range.end)
			return false;
		first = tier_get_word(set, u->at++);
		if (!tier_word_discarded(first) || !set->discard_passdown)
			continue;
		p->tier = set->by_id[tier_word_id(first)];
		/* Not more than the device takes at once: other bios may come in between. */
		most = min(bdev_max_discard_sectors(p->tier->bdev), UINT_MAX >> SECTOR_SHIFT);
	}
	first &= TIER_WORD_LOCATION_MASK;
	for (nr = 1; u->at < u->range.end && nr < most >> set->chunk_shift; nr++, u->at++) {
		word = tier_get_word(set, u->at);
		if (!tier_word_discarded(word) || (word & TIER_WORD_LOCATION_MASK) != first + nr)
			break;
	}
	bio_init(&p->bio, NULL, NULL, 0, REQ_OP_DISCARD);
	p->bio.bi_iter.bi_sector = tier_place_sector(set, tier_word_place(first));
	p->bio.bi_iter.bi_size = to_bytes((u64)nr << set->chunk_shift);
	p->bio.bi_end_io = passed_down;
	p->bio.bi_private = u;
	return true;
}

static void step_pass_down(struct tier_unmap *u)
{
	unsigned int nr;

	atomic_set(&u->pending, 1);
	for (nr = 0; nr < MAX_PIECES && next_piece(u, &u->pieces[nr]); nr++) {
		struct tier_piece *p = &u->pieces[nr];

		atomic_inc(&u->pending);
		this_cpu_inc(p->tier->stats->writes);
		tier_post(p->tier, &p->bio);
	}
	if (nr)
		put_pieces(u);
	else
		free_places(u);
}

static void readers_gone(struct rcu_head *rcu);

static void wait_for_readers(struct tier_unmap *u)
{
	unsigned int rank;

	if (!u->tiers) {
		u->at = u->range.first;
		next_step(u, step_pass_down);
		return;
	}
	rank = __ffs(u->tiers);
	u->tiers &= u->tiers - 1;
	call_srcu(&u->set->tiers[rank]->readers, &u->rcu, readers_gone);
}

static void readers_gone(struct rcu_head *rcu)
{
	wait_for_readers(container_of(rcu, struct tier_unmap, rcu));
}

static void __set_unmapped(struct tier_unmap *u, u32 chunk)
{
	struct tier_set *set = u->set;

	if (!tier_word_discarding(set->map[chunk]))
		return;
	__tier_change_word(set, chunk, TIER_ENTRY_MAPPED, 0);
	set->mapped--;
	set->freeing++;
}

static void __let_go(struct tier_unmap *u, u32 chunk)
{
	if (tier_word_discarding(u->set->map[chunk]))
		__tier_change_word(u->set, chunk, TIER_WORD_HELD, 0);
}

static noinline void unmap_decided(struct tier_set *set, struct tier_range *range, bool committed)
{
	struct tier_unmap *u = container_of(range, struct tier_unmap, range);

	if (!committed) {
		for_chunks(u, range->first, range->end, __let_go);
		u->status = BLK_STS_IOERR;
		next_step(u, unmap_end);
		return;
	}
	/* What the commit had no time for belongs to the next batch. */
	for_chunks(u, range->up_to, range->end, __let_go);
	range->end = range->up_to;
	for_chunks(u, range->first, range->end, __set_unmapped);
	wait_for_readers(u);
}

static void __hold(struct tier_unmap *u, u32 chunk)
{
	struct tier_set *set = u->set;
	u64 word = set->map[chunk];
	struct tier *t = set->by_id[tier_word_id(word)];

	/* While everything goes back to one tier, chunks stay mapped. */
	if (!(word & TIER_ENTRY_MAPPED) || set->home)
		return;
	/* With the lock held, so that a discard is undecided or sees the change to ro. */
	if (tier_set_frozen(set) || !tier_present(t)) {
		u->status = BLK_STS_IOERR;
		return;
	}
	if (word & (TIER_WORD_NEW | TIER_WORD_MOVING)) {
		u->first_left = min(u->first_left, chunk);
		u->last_left = chunk;
		/* The birth has to be committed before the chunk can be unmapped. */
		if (word & TIER_WORD_NEW)
			__tier_commit_chunk(set, t, chunk);
		return;
	}
	__tier_change_word(set, chunk, 0, TIER_WORD_HELD);
	u->tiers |= BIT(t->rec.rank);
}

static void step_hold(struct tier_unmap *u)
{
	struct tier_range *r = &u->range;
	struct tier_set *set = u->set;

	do {
		r->first = r->end;
		r->end = min_t(u64, (u64)r->first + BATCH, u->end);
		for_chunks(u, r->first, r->end, __hold);
	} while (!u->tiers && r->end < u->end);
	if (!u->tiers) {
		unmap_end(u);
		return;
	}
	spin_lock_irq(&set->lock);
	__tier_queue_range(set, r);
	spin_unlock_irq(&set->lock);
}

/* ---- the beginning ---- */

static bool __under_way(struct tier_discards *d, u32 first, u32 end)
{
	struct tier_unmap *u;

	list_for_each_entry(u, &d->list, list)
		if (u->first < end && first < u->end)
			return true;
	return false;
}

bool __tier_being_discarded(struct tier_set *set, u32 chunk)
{
	lockdep_assert_held(&set->lock);
	return set->discarding && __under_way(set->discards, chunk, chunk + 1);
}

static void __begin(struct tier_set *set, struct bio *bio, u32 first, u32 end)
{
	/* There is one in the pool for each that may be under way. */
	struct tier_unmap *u = mempool_alloc(&set->discards->pool, GFP_NOWAIT);

	memset(u, 0, sizeof(*u));
	u->set = set;
	u->bio = bio;
	u->first = first;
	u->end = end;
	u->first_left = end;
	u->range.end = first;
	u->range.done = unmap_decided;
	INIT_WORK(&u->work, do_step);
	list_add_tail(&u->list, &set->discards->list);
	set->discarding++;
	next_step(u, step_hold);
}

noinline bool tier_discard_chunks(struct tier_set *set, struct bio *bio)
{
	struct tier_io *io = tier_bio_io(bio);
	struct tier_discards *d = set->discards;
	u32 first = io->first_left, last = io->last_left;
	u64 word;
	bool moves;

	spin_lock_irq(&set->lock);
	word = io->left_out && !set->home ? set->map[last] : 0;
	moves = word & TIER_WORD_MOVING;
	if ((word & TIER_WORD_NEW) && !tier_set_frozen(set)) {
		bio_list_add(&set->undecided, bio);
		__tier_commit_chunk(set, set->by_id[tier_word_id(word)], last);
	} else if (moves) {
		/* The caller cancels the move. */
	} else if (__under_way(d, first, last + 1)) {
		bio_list_add(&d->held, bio);
	} else if (set->discarding == MAX_UNMAPS) {
		bio_list_add(&d->waiting, bio);
	} else {
		__begin(set, bio, first, last + 1);
	}
	__next_waiting(set);
	spin_unlock_irq(&set->lock);
	return !moves;
}

bool tier_wait_for_discard(struct tier_set *set, struct bio *bio)
{
	bool again = tier_wants_again(set, bio), held;
	unsigned long flags;
	u64 word;

	spin_lock_irqsave(&set->lock, flags);
	word = set->map[tier_bio_chunk(set, bio)];
	held = tier_word_discarding(word) || tier_word_discarded(word);
	if (held && !again)
		tier_put_aside(&set->discards->held, bio);
	spin_unlock_irqrestore(&set->lock, flags);
	if (held && again)
		bio_wouldblock_error(bio);
	return held;
}

static int init(struct tier_set *set)
{
	INIT_LIST_HEAD(&set->discards->list);
	bio_list_init(&set->discards->waiting);
	bio_list_init(&set->discards->held);
	return mempool_init_kmalloc_pool(&set->discards->pool, MAX_UNMAPS,
					 sizeof(struct tier_unmap));
}

static void release(struct tier_set *set)
{
	mempool_exit(&set->discards->pool);
}

const struct tier_set_room tier_discard_room = TIER_SET_ROOM(discards, init, release);
