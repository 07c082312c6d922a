// SPDX-License-Identifier: GPL-2.0-only
/*
 * First writes.  A birth takes a place for an unmapped chunk, puts zeroes there
 * (or the write itself, if it covers the chunk), publishes the chunk as NEW and
 * lets its writes go on.  The mapping enters the metadata after the tier has
 * been flushed.
 */
#include "birth.h"

#include <linux/hashtable.h>
#include <linux/mempool.h>
#include <linux/slab.h>

#include "alloc.h"
#include "copier.h"
#include "flush.h"
#include "health.h"
#include "kick.h"
#include "map.h"
#include "missed.h"
#include "publish.h"

#define MIN_BIRTHS 64
#define MAX_BIRTHS 256		/* of a tier at once: enough to keep any device busy */
#define MAX_UNCOMMITTED 8192	/* of a tier: one half gathers while the other is committed */

struct tier_birth {
	struct list_head list;
	struct hlist_node hash;
	struct tier_set *set;
	u32 chunk;
	struct tier *tier;
	u64 place;
	u64 before;			/* the word that an undone discard brings back, or 0 */
	struct bio_list bios;		/* writes that wait for the zeroing */
	struct bio *whole;		/* a write that covers the chunk, or NULL */
	struct llist_node to_zero;
	bool by_command;		/* the zeroes were sent as WRITE ZEROES */
	bool for_zeroes;		/* the chunk is to be mapped as zeroes, without a write */
	bool fua;			/* REQ_FUA of `whole`: a tier without a cache clears it */
	blk_status_t status;
	struct tier_op op;
};

struct tier_births {
	/* set->lock */
	struct list_head begun;		/* struct tier_birth in progress */
	struct list_head born;		/* data on the tier */
	DECLARE_HASHTABLE(hash, 10);	/* both, by chunk */

	mempool_t pool;			/* of struct tier_birth */
};

/* Of one tier. */
struct tier_landing {
	struct tier *tier;
	/* set->lock */
	unsigned int nr_uncommitted;	/* born, on their way to a commit */
	u64 ended_ns;			/* when a birth ended last, or the first one began */
	struct bio_list crowded;	/* first writes that wait for their turn */

	struct llist_head to_zero;	/* births whose place is to be zeroed */
	struct work_struct zero_work;
};

/* The data or zeroes are on the tier, or could not be written. */
static void birth_written(struct tier_birth *b, blk_status_t status)
{
	struct tier_set *set = b->set;
	unsigned long flags;

	b->status = status;
	spin_lock_irqsave(&set->lock, flags);
	list_move_tail(&b->list, &set->births->born);
	/* With the lock held: the write may end at once, and then the set may be freed. */
	queue_work(set->wq, &set->io_work);
	spin_unlock_irqrestore(&set->lock, flags);
}

/*
 * Each tier has a work that zeroes: zeroing may wait for memory that a hanging tier holds, and
 * births on the other tiers must not wait for that.
 */
static void zero_birth(struct tier_birth *b)
{
	struct tier_set *set = b->set;
	unsigned long flags;

	/* With the lock held: the birth, and then its tier, may be freed at once. */
	spin_lock_irqsave(&set->lock, flags);
	llist_add(&b->to_zero, &b->tier->landing->to_zero);
	queue_work(set->wq, &b->tier->landing->zero_work);
	spin_unlock_irqrestore(&set->lock, flags);
}

static void zeroed(int read_err, unsigned long write_err, void *context)
{
	struct tier_birth *b = context;

	if (write_err && b->by_command)
		zero_birth(b);
	else
		birth_written(b, write_err ? BLK_STS_IOERR : BLK_STS_OK);
}

/*
 * A device that fails WRITE ZEROES may take zeroes as data even though it still offers the
 * command.  A dm device does so if the device below it turned out not to know the command.
 */
static void do_zero(struct work_struct *work)
{
	struct tier_landing *l = container_of(work, struct tier_landing, zero_work);
	struct llist_node *list = llist_reverse_order(llist_del_all(&l->to_zero));
	struct tier *t = l->tier;
	struct tier_set *set = t->set;
	struct tier_birth *b, *next;
	int r;

	llist_for_each_entry_safe(b, next, list, to_zero) {
		struct dm_io_region where = {
			.bdev = t->bdev,
			.sector = tier_place_sector(set, b->place),
			.count = set->chunk_sectors,
		};

		if (b->by_command) {
			r = blkdev_issue_zeroout(where.bdev, where.sector, where.count, GFP_NOIO,
						 0);
			birth_written(b, errno_to_blk_status(r));
		} else {
			b->by_command = bdev_write_zeroes_sectors(where.bdev);
			dm_kcopyd_zero(tier_copier(set, t, t), 1, &where, 0, zeroed, b);
		}
	}
}

static void whole_endio(struct bio *bio)
{
	struct tier_birth *b = tier_bio_io(bio)->owner;

	tier_unhook_bio(bio);
	birth_written(b, bio->bi_status);
}

/*
 * Births may come faster than they can be flushed and committed.  Then the next first writes
 * wait, since each birth keeps memory until its commit, and a FLUSH waits for all births
 * before it.  First writes do not wait for a tier whose flush fails.
 */
static bool may_begin(const struct tier *t)
{
	return t->nr_births < MAX_BIRTHS &&
	       (t->landing->nr_uncommitted < MAX_UNCOMMITTED || __tier_flush_fails(t));
}

/* Takes a place for a birth, or none yet if it may not begin; false if the tier is full. */
static bool take_place(struct tier *t, u64 *place)
{
	if (!tier_free_places(t))
		return false;
	*place = may_begin(t) ? __tier_alloc_place(t) : TIER_NO_PLACE;
	return true;
}

/*
 * No birth may begin, and no birth, or the flush that births wait for, has ended for
 * TIER_STALL_NS.  A slow commit is not the tier's fault and does not count.
 */
static bool births_hang(const struct tier *t)
{
	if (t->nr_births >= MAX_BIRTHS)
		return ktime_get_ns() - t->landing->ended_ns > TIER_STALL_NS;
	return !may_begin(t) && __tier_flush_hangs(t);
}

/*
 * The tier that a first write lands on: set->home at the place of the chunk's number, else
 * the tier that the chunk is pinned to, else the fastest tier that takes landings and keeps
 * its reserve, else the fastest tier with a free place, else a tier that hangs.  *place is
 * TIER_NO_PLACE if the write has to wait for its turn on that tier.
 */
static struct tier *landing_tier(struct tier_set *set, u32 chunk, u64 *place)
{
	unsigned int pin = tier_word_pin(set->map[chunk]);
	enum { STRICT, ANY_ROOM, HANGING, NR_TRIES } try;
	unsigned int rank;
	struct tier *t;

	lockdep_assert_held(&set->lock);
	if (set->home && tier_open(set->home) && !births_hang(set->home)) {
		*place = TIER_NO_PLACE;
		if (!may_begin(set->home))
			return set->home;
		if (tier_alloc_exactly(set->home, chunk)) {
			*place = chunk;
			return set->home;
		}
	}
	t = pin ? set->by_id[pin - 1] : NULL;
	if (t && tier_open(t) && !births_hang(t) && take_place(t, place))
		return t;
	for (try = STRICT; try < NR_TRIES; try++) {
		for (rank = 0; rank < set->nr_tiers; rank++) {
			t = set->tiers[rank];
			if (!tier_open(t) || (try != HANGING && births_hang(t)))
				continue;
			if (try == STRICT &&
			    (!tier_tier_tunable(set, rank, TIER_TIER_LANDING) ||
			     tier_free_places(t) <=
			     tier_tier_tunable(set, rank, TIER_TIER_RESERVE)))
				continue;
			if (take_place(t, place))
				return t;
		}
	}
	return NULL;
}

/* Whether a move or discard may free a place. */
static bool room_may_come(struct tier_set *set)
{
	return set->nr_migrations || set->freeing;
}

static struct tier_birth *find_birth(struct tier_set *set, u32 chunk)
{
	struct tier_birth *b;

	lockdep_assert_held(&set->lock);
	hash_for_each_possible(set->births->hash, b, hash, chunk)
		if (b->chunk == chunk)
			return b;
	return NULL;
}

static void map_again(struct tier_set *set, u32 chunk, u64 word)
{
	__tier_publish(set, chunk, word);
	set->mapped++;
}

void __tier_undo_unmap(struct tier_set *set, u32 chunk, u64 word)
{
	struct tier_birth *b = find_birth(set, chunk);

	if (b)
		b->before = word;
	else if (!(set->map[chunk] & TIER_ENTRY_MAPPED))
		map_again(set, chunk, word);
}

static void begin_birth(struct tier_set *set, struct tier_birth *b)
{
	lockdep_assert_held(&set->lock);
	list_add_tail(&b->list, &set->births->begun);
	hash_add(set->births->hash, &b->hash, b->chunk);
	if (!b->tier->nr_births++)
		b->tier->landing->ended_ns = ktime_get_ns();
}

static void end_birth(struct tier_set *set, struct tier_birth *b)
{
	lockdep_assert_held(&set->lock);
	list_del(&b->list);
	hash_del(&b->hash);
	b->tier->nr_births--;
	b->tier->landing->ended_ns = ktime_get_ns();
}

static bool covers_chunk(struct tier_set *set, struct bio *bio)
{
	return bio_op(bio) == REQ_OP_WRITE &&
	       bio_sectors(bio) == set->chunk_sectors;
}

static void write_birth(struct tier_set *set, struct tier_birth *b)
{
	if (b->whole) {
		b->fua = b->whole->bi_opf & REQ_FUA;
		tier_bio_io(b->whole)->iter = b->whole->bi_iter;
		tier_hook_bio(b->whole, whole_endio, b);
		tier_submit_to(set, b->whole, b->tier, b->place);
	} else if (set->skip_zeroing && !b->for_zeroes) {
		birth_written(b, BLK_STS_OK);
	} else {
		zero_birth(b);
	}
}

enum tier_first_write tier_first_write(struct tier_set *set, struct bio *bio)
{
	u32 chunk = tier_bio_chunk(set, bio);
	struct tier_birth *b;
	struct tier *t;
	u64 place;

	spin_lock_irq(&set->lock);
	if ((set->map[chunk] & TIER_ENTRY_MAPPED) || tier_set_frozen(set)) {
		/*
		 * A discard has been undone, or a commit has failed.  After a failed commit
		 * a free place may hold data of a chunk that is not decided.
		 */
		spin_unlock_irq(&set->lock);
		return TIER_NOT_FIRST;
	}
	b = find_birth(set, chunk);
	if (b) {
		bio_list_add(&b->bios, bio);
		spin_unlock_irq(&set->lock);
		return TIER_FIRST_TAKEN;
	}
	b = mempool_alloc(&set->births->pool, GFP_NOWAIT);
	if (!b) {
		bio_list_add(&set->deferred, bio);
		spin_unlock_irq(&set->lock);
		return TIER_FIRST_NO_MEMORY;
	}
	t = landing_tier(set, chunk, &place);
	if (!t) {
		bool starved = room_may_come(set);

		mempool_free(b, &set->births->pool);
		if (starved)
			bio_list_add(&set->starved, bio);
		spin_unlock_irq(&set->lock);
		if (!starved) {
			bio->bi_status = BLK_STS_NOSPC;
			bio_endio(bio);
		}
		return TIER_FIRST_TAKEN;
	}
	if (place == TIER_NO_PLACE) {
		mempool_free(b, &set->births->pool);
		bio_list_add(&t->landing->crowded, bio);
		set->crowded = true;
		spin_unlock_irq(&set->lock);
		tier_watch_stalls(set);
		return TIER_FIRST_TAKEN;
	}
	memset(b, 0, sizeof(*b));
	b->set = set;
	b->chunk = chunk;
	b->tier = t;
	b->place = place;
	if (covers_chunk(set, bio))
		b->whole = bio;
	else
		bio_list_add(&b->bios, bio);
	begin_birth(set, b);
	spin_unlock_irq(&set->lock);
	write_birth(set, b);
	return TIER_FIRST_TAKEN;
}

int tier_materialise(struct tier_set *set, u32 chunk, struct tier *t, u64 place)
{
	unsigned int depth = tier_tunable(set, TIER_TUNABLE_DEPTH);
	struct tier_birth *b;
	int r = 0;

	b = mempool_alloc(&set->births->pool, GFP_NOWAIT);
	if (!b)
		return -ENOMEM;
	memset(b, 0, sizeof(*b));
	b->set = set;
	b->chunk = chunk;
	b->tier = t;
	b->place = place;
	b->for_zeroes = true;
	bio_list_init(&b->bios);

	spin_lock_irq(&set->lock);
	if (set->map[chunk] & TIER_ENTRY_MAPPED)
		r = -ENOENT;
	else if (!tier_open(t))
		r = -ENXIO;
	else if (!set->running || tier_set_frozen(set) || t->nr_births >= depth ||
		 !may_begin(t) || find_birth(set, chunk))
		r = -EAGAIN;
	else if (!tier_alloc_exactly(t, place))
		r = -ENOSPC;
	else
		begin_birth(set, b);
	spin_unlock_irq(&set->lock);

	if (r)
		mempool_free(b, &set->births->pool);
	else
		write_birth(set, b);
	return r;
}

static void birth_committed(struct tier_set *set, struct tier_op *op, bool committed)
{
	struct tier_birth *b = container_of(op, struct tier_birth, op);
	struct tier_landing *l = b->tier->landing;

	/* If the op was not committed, the chunk stays NEW, and FLUSHes fail. */
	spin_lock_irq(&set->lock);
	if (!committed && (set->no_writes || (set->mode == TIER_MODE_RO && !set->needs_check))) {
		/* Another table may allow writes later, and full metadata may be grown. */
		__tier_keep_op(set, op);
	} else {
		if (committed)
			__tier_change_word(set, b->chunk, TIER_WORD_NEW, 0);
		else
			__tier_op_lost(set);
		if (committed && tier_forget_copy_failed(set, b->chunk))
			tier_kick_mover(set);
		l->nr_uncommitted--;
		mempool_free(b, &set->births->pool);
	}
	__tier_retry_deferred(set);
	/* The next first writes may have their turn. */
	if (!bio_list_empty(&l->crowded))
		queue_work(set->wq, &set->io_work);
	spin_unlock_irq(&set->lock);
}

/* A program that keeps the set open hears of the loss by the next FLUSH. */
void tier_drop_births(struct tier *t)
{
	struct tier_set *set = t->set;
	struct tier_op *op, *next;
	struct tier_birth *b;
	LIST_HEAD(ops);

	tier_give_up_births(t, &ops);
	tier_give_up_ops(set, &ops);
	if (!list_empty(&ops))
		__tier_flush_lose(set);
	list_for_each_entry_safe(op, next, &ops, list) {
		b = container_of(op, struct tier_birth, op);
		b->tier->landing->nr_uncommitted--;
		mempool_free(b, &set->births->pool);
	}
}

/* The tier did not take the data.  Another tier may, unless the write itself is invalid. */
static void birth_failed(struct tier_set *set, struct tier_birth *b)
{
	struct bio *bio = b->whole;
	bool invalid = bio && b->status == BLK_STS_INVAL;

	/* Whatever status the device gave, it does not take plain writes. */
	if (!invalid)
		tier_note_error(b->tier, true, BLK_STS_IOERR);
	if (bio) {
		bio->bi_iter = tier_bio_io(bio)->iter;
		bio->bi_status = invalid ? b->status : BLK_STS_OK;
		/* A device that split the bio has counted it down to 0. */
		atomic_set(&bio->__bi_remaining, 1);
		if (b->fua)
			bio->bi_opf |= REQ_FUA;
	}
	spin_lock_irq(&set->lock);
	end_birth(set, b);
	__tier_free_place(b->tier, b->place);
	if (b->before) {
		/* Zeroes may have been acknowledged while the chunk was unmapped. */
		map_again(set, b->chunk, b->before);
		__tier_flush_lose(set);
	}
	__tier_wake_starved(set);
	if (bio && !invalid)
		bio_list_add(&set->deferred, bio);
	bio_list_merge(&set->deferred, &b->bios);
	spin_unlock_irq(&set->lock);
	mempool_free(b, &set->births->pool);
	queue_work(set->wq, &set->io_work);
	if (invalid)
		bio_endio(bio);
}

static void birth_succeeded(struct tier_set *set, struct tier_birth *b)
{
	struct bio_list bios = b->bios;
	struct bio *whole = b->whole;
	struct tier *t = b->tier;
	bool fua = b->fua;
	unsigned int pin;
	bool strays;

	tier_mark_unflushed(t);
	b->op.chunk = b->chunk;
	b->op.entry = tier_word(b->place, t->rec.id);
	b->op.done = birth_committed;

	spin_lock_irq(&set->lock);
	__tier_publish(set, b->chunk, b->op.entry | TIER_WORD_NEW |
		       tier_reason_bits(TIER_REASON_FIRST_WRITE));
	pin = tier_word_pin(set->map[b->chunk]);
	strays = pin && pin - 1 != t->rec.id;
	set->mapped++;
	tier_forget_copy_failed(set, b->chunk);
	end_birth(set, b);
	__tier_flush_then_commit(t, &b->op);
	/* So that the next first writes need not wait for the timer. */
	if (!(++t->landing->nr_uncommitted % (MAX_UNCOMMITTED / 2)))
		queue_work(set->wq, &t->flush_work);
	/* The chunk is mapped, and this very run of the io work looks them up. */
	__tier_defer_bios(set, &bios);
	spin_unlock_irq(&set->lock);

	/* From here on the commit may free b. */
	if (strays)
		tier_mark_astray(set);
	tier_arm_commit_timer(set);
	if (strays || READ_ONCE(set->home))
		tier_kick_mover(set);
	if (fua)
		tier_flush_births(t, whole);
	else if (whole)
		bio_endio(whole);
}

void tier_bring_up_births(struct tier_set *set)
{
	struct tier_birth *b;

	for (;;) {
		spin_lock_irq(&set->lock);
		b = list_first_entry_or_null(&set->births->born, struct tier_birth, list);
		spin_unlock_irq(&set->lock);
		if (!b)
			return;
		if (b->status)
			birth_failed(set, b);
		else
			birth_succeeded(set, b);
	}
}

bool tier_release_crowded(struct tier_set *set)
{
	bool crowded = false;
	unsigned int i;

	spin_lock_irq(&set->lock);
	for (i = 0; i < set->nr_tiers; i++) {
		struct tier *t = set->tiers[i];

		if (bio_list_empty(&t->landing->crowded))
			continue;
		crowded = true;
		if (births_hang(t))
			__tier_defer_bios(set, &t->landing->crowded);
	}
	spin_unlock_irq(&set->lock);
	return crowded;
}

struct bio *tier_next_crowded(struct tier_set *set)
{
	bool crowded = false;
	struct bio *bio = NULL;
	unsigned int i;

	spin_lock_irq(&set->lock);
	for (i = 0; i < set->nr_tiers && !bio; i++) {
		struct tier *t = set->tiers[i];

		/* In a frozen set no birth begins, and the writes have to fail. */
		if (may_begin(t) || tier_set_frozen(set))
			bio = bio_list_pop(&t->landing->crowded);
		crowded |= !bio_list_empty(&t->landing->crowded);
	}
	if (!bio)
		set->crowded = crowded;
	spin_unlock_irq(&set->lock);
	return bio;
}

static void init_tier(struct tier *t)
{
	t->landing->tier = t;
	bio_list_init(&t->landing->crowded);
	init_llist_head(&t->landing->to_zero);
	INIT_WORK(&t->landing->zero_work, do_zero);
}

static void release_tier(struct tier *t)
{
	cancel_work_sync(&t->landing->zero_work);
}

static int init(struct tier_set *set)
{
	INIT_LIST_HEAD(&set->births->begun);
	INIT_LIST_HEAD(&set->births->born);
	hash_init(set->births->hash);
	return mempool_init_kmalloc_pool(&set->births->pool, MIN_BIRTHS,
					 sizeof(struct tier_birth));
}

static void release(struct tier_set *set)
{
	mempool_exit(&set->births->pool);
}

const struct tier_room tier_landing_room = {
	.size = sizeof(struct tier_landing),
	.pointer = offsetof(struct tier, landing),
	.init = init_tier,
	.exit = release_tier,
};

const struct tier_set_room tier_birth_room = {
	.size = sizeof(struct tier_births),
	.pointer = offsetof(struct tier_set, births),
	.init = init,
	.exit = release,
};
