// SPDX-License-Identifier: GPL-2.0-only
/*
 * First writes.  A birth takes a place for an unmapped chunk and lets its writes go there at
 * once.  Until each sector of the chunk was written or zeroed the chunk is partial: its I/O
 * passes here, and reads of sectors that nobody has written give zeroes.  What was not written
 * is zeroed ("completed") when something needs the chunk whole: a FLUSH or FUA write, a
 * discard, a suspend, or a second without a write of further sectors.  A whole chunk is
 * flushed with its tier and enters the metadata.
 *
 * No sector is zeroed while a write to it is in flight: completing waits for the writes under
 * way, and holds those of sectors that are to be zeroed.
 *
 * Functions that are not inlined are those that the crash tests watch.
 */
#include "birth.h"

#include <linux/bitmap.h>
#include <linux/hashtable.h>
#include <linux/mempool.h>

#include "alloc.h"
#include "flush.h"
#include "health.h"
#include "kick.h"
#include "map.h"
#include "missed.h"
#include "publish.h"
#include "stream.h"

#define MIN_BIRTHS 64
#define MAX_PARTIAL_SECTORS 2097152U	/* 1 GiB of chunks: a FLUSH waits for their zeroing */
#define MAX_IN_FLIGHT 256	/* of a tier: enough to keep any device busy */
#define MAX_UNCOMMITTED 8192	/* of a tier: one half gathers while the other is committed */
#define IDLE_TIME HZ		/* without a write of further sectors */
#define MAX_AGE (30 * HZ)	/* of a partial chunk */

struct tier_birth {
	struct tier_guard guard;
	struct list_head list;		/* in begun, partial or completing of struct tier_landing */
	struct hlist_node hash;
	struct tier_set *set;
	struct tier *tier;
	u64 place;
	u32 chunk;

	/* set->lock */
	u32 uncovered;			/* sectors that were neither written nor zeroed */
	unsigned int writers;		/* guarded writes in flight */
	bool failed;			/* one of them failed */
	bool completing;
	bool zeroing;			/* no writer is left; the zeroes are on their way */
	bool zero_failed;
	bool for_zeroes;		/* to be mapped without a write */
	bool by_command;		/* the zeroes were sent as WRITE ZEROES */
	u64 seq;			/* in the list of completing births, or 0 */
	unsigned long begun;		/* jiffies: first write */
	unsigned long touched;		/* last write of new sectors, or failed try to zero */
	unsigned long *covered;		/* a bit for each sector; NULL: no memory, all are zeroed */
	struct bio_list held;		/* wait until the chunk is whole */
	struct bio_list fua;		/* written, to be flushed and committed */
	struct bio_list retry;		/* failed, for another tier if no sector is covered */

	struct llist_node to_zero;
	struct tier_op op;
};

struct tier_births {
	DECLARE_HASHTABLE(hash, 10);	/* partial chunks, by chunk; set->lock */
	struct tier_streams streams;	/* of first writes; set->lock */
};

/* Of one tier.  A tier that hangs keeps what there is without memory: so each has its own. */
struct tier_landing {
	struct tier *tier;
	mempool_t pool;			/* of struct tier_birth */
	struct bio_set bios;		/* for zeroing */
	struct bio_vec zeroes[BIO_MAX_VECS];

	/* set->lock */
	struct list_head begun;		/* struct tier_birth, no write has succeeded */
	struct list_head partial;	/* the last one touched at the end */
	struct list_head completing;	/* in the order of seq */
	u64 last_seq;
	struct list_head waiting;	/* struct tier_birth_wait, in the order of up_to */
	bool commit;			/* to be flushed once nothing is completing any more */
	unsigned int nr_uncommitted;	/* whole, on their way to a commit */
	unsigned int in_flight;		/* guarded writes, and zeroings */
	unsigned long progress;		/* jiffies: when one ended last or the first one began */
	struct bio_list crowded;	/* first writes that wait for their turn */

	struct llist_head to_zero;	/* births to be zeroed */
	struct work_struct zero_work;
};

/* What is to be done once set->lock is released. */
struct aftermath {
	struct bio_list failed;		/* bios that end with an error */
	blk_status_t status;
	struct list_head waiters;
};

static void init_aftermath(struct aftermath *a)
{
	bio_list_init(&a->failed);
	a->status = BLK_STS_IOERR;
	INIT_LIST_HEAD(&a->waiters);
}

static void run_aftermath(struct aftermath *a)
{
	struct tier_birth_wait *wait, *next;
	struct bio *bio;

	while ((bio = bio_list_pop(&a->failed))) {
		if (!bio->bi_status)
			bio->bi_status = a->status;
		bio_endio(bio);
	}
	/* A waiter may wait again, or be freed, at once. */
	list_for_each_entry_safe(wait, next, &a->waiters, list)
		wait->fn(wait, wait->status);
}

/* Of a tier: enough for bursts of random writes, little enough for memory and for a FLUSH. */
static unsigned int max_partial(const struct tier_set *set)
{
	return clamp(MAX_PARTIAL_SECTORS >> set->chunk_shift, 4U, 8192U);
}

/*
 * Births may come faster than they can be zeroed, flushed and committed.  Then the next first
 * writes wait, since each birth keeps memory until its commit, and a FLUSH waits for all births
 * before it.  First writes do not wait for a tier whose flush fails.
 */
static bool may_begin(const struct tier *t)
{
	return t->nr_births < max_partial(t->set) && t->landing->in_flight < MAX_IN_FLIGHT &&
	       (t->nr_births + t->landing->nr_uncommitted < MAX_UNCOMMITTED ||
		__tier_flush_fails(t));
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
 * For TIER_STALL_NS no first write or zeroing has ended that is in flight, or the flush has not
 * that births wait for.  A slow commit is not the tier's fault and does not count.
 */
static bool births_hang(const struct tier *t)
{
	if (t->landing->in_flight &&
	    time_after(jiffies, t->landing->progress + nsecs_to_jiffies(TIER_STALL_NS)))
		return true;
	return !may_begin(t) && __tier_flush_hangs(t);
}

/* Is the first write to chunk a stream's: of all of the chunk, or behind another first write? */
static bool is_stream(struct tier_set *set, u32 chunk, const struct bio *bio)
{
	return bio_sectors(bio) == set->chunk_sectors ||
	       tier_in_stream(&set->births->streams, chunk);
}

static bool may_land(const struct tier *t, bool stream)
{
	u64 lands = tier_tier_tunable(t->set, t->rec.rank, TIER_TIER_LANDING);

	return lands == TIER_LANDS_ALL ||
	       lands == (stream ? TIER_LANDS_STREAMS : TIER_LANDS_RANDOM);
}

/*
 * The tier that a first write lands on: set->home at the place of the chunk's number, else
 * the tier that the chunk is pinned to, else the fastest tier that takes such landings and keeps
 * its reserve, else the fastest tier with a free place, else a tier that hangs.  *place is
 * TIER_NO_PLACE if the write has to wait for its turn on that tier.
 */
static struct tier *landing_tier(struct tier_set *set, u32 chunk, bool stream, u64 *place)
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
			    (!may_land(t, stream) ||
			     tier_free_places(t) <=
			     tier_tier_tunable(set, rank, TIER_TIER_RESERVE)))
				continue;
			if (take_place(t, place))
				return t;
		}
	}
	return NULL;
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

static void __sent(struct tier_landing *l)
{
	if (!l->in_flight++)
		l->progress = jiffies;
}

static void __ended(struct tier_landing *l)
{
	struct tier_set *set = l->tier->set;

	l->in_flight--;
	l->progress = jiffies;
	/* The next first writes may have their turn. */
	if (!bio_list_empty(&l->crowded))
		queue_work(set->wq, &set->io_work);
}

static bool nothing_covered(const struct tier_birth *b)
{
	return b->uncovered == b->set->chunk_sectors;
}

static void cover(struct tier_birth *b, u32 first, u32 end)
{
	u32 from, to = first;

	/* Only a write of the whole chunk begins without bits. */
	if (!b->covered) {
		b->uncovered = 0;
		return;
	}
	while ((from = find_next_zero_bit(b->covered, end, to)) < end) {
		to = find_next_bit(b->covered, end, from);
		bitmap_set(b->covered, from, to - from);
		b->uncovered -= to - from;
	}
}

/* ---- the chunk becomes whole, or does not ---- */

/* The birth is no longer completing: tells those who waited for that. */
static void __end_completing(struct tier_birth *b, blk_status_t status, struct aftermath *a)
{
	struct tier_landing *l = b->tier->landing;
	struct tier_birth_wait *wait, *next;
	struct tier_birth *first;
	u64 done;

	first = list_first_entry_or_null(&l->completing, struct tier_birth, list);
	done = first ? first->seq - 1 : l->last_seq;
	list_for_each_entry_safe(wait, next, &l->waiting, list) {
		if (status && wait->up_to >= b->seq)
			wait->status = status;
		if (wait->up_to <= done)
			list_move_tail(&wait->list, &a->waiters);
	}
	if (!first && l->commit) {
		l->commit = false;
		__tier_flush_new(b->tier);
	}
	__tier_wake_idle(b->set);
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
		mempool_free(b, &b->tier->landing->pool);
	}
	__tier_retry_deferred(set);
	/* The next first writes may have their turn. */
	if (!bio_list_empty(&l->crowded))
		queue_work(set->wq, &set->io_work);
	spin_unlock_irq(&set->lock);
}

static void __forget(struct tier_birth *b)
{
	struct tier *t = b->tier;

	hash_del(&b->hash);
	list_del(&b->list);
	t->nr_births--;
	bitmap_free(b->covered);
	b->covered = NULL;
}

static noinline void __birth_whole(struct tier_birth *b, struct aftermath *a)
{
	struct tier_set *set = b->set;
	struct tier *t = b->tier;

	__forget(b);
	__tier_change_word(set, b->chunk, TIER_WORD_HELD, 0);
	__tier_defer_bios(set, &b->held);
	__tier_flush_then_commit(t, &b->op);
	/* So that the next first writes need not wait for the timer. */
	if (!(++t->landing->nr_uncommitted % (MAX_UNCOMMITTED / 2)))
		__tier_flush_new(t);
	__tier_flush_births(t, &b->fua);
	if (b->seq)
		__end_completing(b, BLK_STS_OK, a);
	if (set->home)
		tier_kick_mover(set);
}

/* As if the write had never been sent. */
static void restore(struct bio *bio)
{
	struct tier_io *io = tier_bio_io(bio);

	bio->bi_iter = io->iter;
	bio->bi_status = BLK_STS_OK;
	/* A device that split the bio has counted it down to 0. */
	atomic_set(&bio->__bi_remaining, 1);
	if (io->fua)
		bio->bi_opf |= REQ_FUA;
}

/* The tier took no data.  Another tier may: the chunk is unmapped again. */
static noinline void __birth_undone(struct tier_birth *b, struct aftermath *a)
{
	struct tier_set *set = b->set;
	struct bio *bio;

	__forget(b);
	__tier_free_place(b->tier, b->place);
	set->mapped--;
	WRITE_ONCE(set->map[b->chunk], set->map[b->chunk] & TIER_WORD_PIN_MASK);
	bio_list_for_each(bio, &b->retry)
		restore(bio);
	bio_list_merge(&b->held, &b->retry);
	__tier_defer_bios(set, &b->held);
	/* Discards that waited for the commit of this chunk. */
	__tier_defer_bios(set, &set->undecided);
	__tier_wake_starved(set);
	if (b->seq)
		__end_completing(b, BLK_STS_OK, a);
	mempool_free(b, &b->tier->landing->pool);
}

/*
 * The rest of the chunk could not be zeroed.  What was written can be read and written again,
 * but does not become durable: FLUSHes fail until zeroing or writes cover the rest.
 */
static void __stay_partial(struct tier_birth *b, blk_status_t status, struct aftermath *a)
{
	struct bio_list held = b->held;
	struct tier_set *set = b->set;
	struct bio *bio;

	b->completing = false;
	b->zero_failed = true;
	b->touched = jiffies;
	list_move_tail(&b->list, &b->tier->landing->partial);
	a->status = status;
	bio_list_init(&b->held);
	while ((bio = bio_list_pop(&held)))
		bio_list_add(bio_op(bio) == REQ_OP_DISCARD ? &a->failed : &b->held, bio);
	__tier_defer_bios(set, &b->held);
	bio_list_merge(&a->failed, &b->fua);
	bio_list_init(&b->fua);
	__tier_take_undecided(b->tier, &a->failed);
	__end_completing(b, status, a);
	b->seq = 0;
}

/* No write is in flight any more: zeroes the rest. */
static void __zero(struct tier_birth *b)
{
	struct tier_landing *l = b->tier->landing;

	b->zeroing = true;
	__sent(l);
	/* With the lock held: the birth, and then its tier, may be freed at once. */
	llist_add(&b->to_zero, &l->to_zero);
	queue_work(b->tier->wq, &l->zero_work);
}

/* What follows once no write is in flight. */
static void __settle(struct tier_birth *b, struct aftermath *a)
{
	lockdep_assert_held(&b->set->lock);
	if (b->writers || b->zeroing)
		return;
	if (b->failed && nothing_covered(b)) {
		__birth_undone(b, a);
		return;
	}
	b->failed = false;
	bio_list_merge(&a->failed, &b->retry);
	bio_list_init(&b->retry);
	if (!b->uncovered)
		__birth_whole(b, a);
	else if (b->completing)
		__zero(b);
}

/*
 * Lists the birth where it belongs.  A FLUSH does not wait for a chunk of which no write has
 * succeeded: its tier may hang.
 */
static void __enlist(struct tier_birth *b)
{
	struct tier_landing *l = b->tier->landing;

	if (!b->completing) {
		list_move_tail(&b->list, &l->partial);
	} else if (!b->seq) {
		b->seq = ++l->last_seq;
		list_move_tail(&b->list, &l->completing);
	}
}

/* The chunk is wanted whole; __settle() or the caller zeroes the rest. */
static void __want_whole(struct tier_birth *b)
{
	b->completing = true;
	if (!b->writers || !nothing_covered(b))
		__enlist(b);
}

static void __complete(struct tier_birth *b)
{
	if (b->completing)
		return;
	__want_whole(b);
	if (!b->writers)
		__zero(b);
}

/* Completes those that were not written for the longest time, most at most. */
static void __complete_oldest(struct tier *t, unsigned int most)
{
	struct list_head *partial = &t->landing->partial;

	/* None of them is completing, and some of each is covered: it leaves the list. */
	for (; most && !list_empty(partial); most--)
		__complete(list_first_entry(partial, struct tier_birth, list));
}

void tier_complete_births(struct tier_set *set)
{
	unsigned long flags;
	unsigned int i, nr;

	for (i = 0; i < set->nr_tiers; i++) {
		struct tier *t = set->tiers[i];

		/* Not until none is left: zeroing may fail as fast as it is tried again. */
		for (nr = READ_ONCE(t->nr_births); nr > TIER_MOST_HELD; nr -= TIER_MOST_HELD) {
			if (list_empty(&t->landing->partial))
				break;
			spin_lock_irqsave(&set->lock, flags);
			__complete_oldest(t, TIER_MOST_HELD);
			spin_unlock_irqrestore(&set->lock, flags);
		}
	}
}

bool __tier_complete_births(struct tier *t, struct tier_birth_wait *wait)
{
	struct tier_landing *l = t->landing;

	lockdep_assert_held(&t->set->lock);
	__complete_oldest(t, UINT_MAX);
	if (list_empty(&l->completing))
		return false;
	wait->up_to = l->last_seq;
	wait->status = BLK_STS_OK;
	list_add_tail(&wait->list, &l->waiting);
	return true;
}

bool __tier_births_completing(struct tier *t)
{
	return !list_empty(&t->landing->completing);
}

/*
 * Half of the partial chunks that a tier may have are in use: the one that was not written
 * for the longest time makes room, so that first writes need not wait for that.
 */
static void __make_room(struct tier *t)
{
	if (t->nr_births > max_partial(t->set) / 2)
		__complete_oldest(t, 1);
}

/* ---- zeroes ---- */

static noinline void birth_zeroed(struct tier_birth *b, blk_status_t status)
{
	struct tier_set *set = b->set;
	struct aftermath a;
	unsigned long flags;

	init_aftermath(&a);
	tier_mark_unflushed(b->tier);
	/* Whatever status the device gave, it does not take plain writes. */
	if (status)
		tier_note_error(b->tier, true, BLK_STS_IOERR);
	spin_lock_irqsave(&set->lock, flags);
	b->zeroing = false;
	__ended(b->tier->landing);
	if (!status) {
		b->uncovered = 0;
		__birth_whole(b, &a);
	} else if (nothing_covered(b)) {
		__birth_undone(b, &a);
	} else {
		__stay_partial(b, status, &a);
	}
	spin_unlock_irqrestore(&set->lock, flags);
	run_aftermath(&a);
}

static void zero_endio(struct bio *bio)
{
	struct tier_birth *b = bio->bi_private;
	blk_status_t status = bio->bi_status;
	struct tier_set *set = b->set;
	unsigned long flags;

	bio_put(bio);
	if (!status || !b->by_command) {
		birth_zeroed(b, status);
		return;
	}
	spin_lock_irqsave(&set->lock, flags);
	__ended(b->tier->landing);
	__zero(b);
	spin_unlock_irqrestore(&set->lock, flags);
}

/* A bio, not sent yet, that zeroes these sectors and ends after `before`, which is sent. */
static struct bio *zero(struct tier_birth *b, struct bio *before, sector_t sector, u32 nr)
{
	struct tier_landing *l = b->tier->landing;
	struct bio *bio = bio_alloc_bioset(b->tier->bdev, 0, b->by_command ? REQ_OP_WRITE_ZEROES :
					   REQ_OP_WRITE, GFP_NOIO, &l->bios);

	bio->bi_iter.bi_sector = sector;
	bio->bi_iter.bi_size = to_bytes(nr);
	tier_count_written(b->tier, nr);
	if (!b->by_command) {
		bio->bi_io_vec = l->zeroes;
		bio->bi_vcnt = DIV_ROUND_UP(nr, PAGE_SECTORS);
	}
	if (before) {
		bio_chain(before, bio);
		submit_bio(before);
	}
	return bio;
}

/*
 * Zeroes what no write has covered.  A device that fails WRITE ZEROES may take zeroes as data
 * even though it still offers the command.  A dm device does so if the device below it turned
 * out not to know the command.
 */
static noinline void zero_rest(struct tier_birth *b)
{
	u32 size = b->set->chunk_sectors, from, to = 0, most;
	sector_t place = tier_place_sector(b->set, b->place);
	struct bio *bio = NULL;

	most = b->by_command ? 0 : bdev_write_zeroes_sectors(b->tier->bdev);
	b->by_command = most;
	most = most ? : BIO_MAX_VECS * PAGE_SECTORS;
	while (to < size && (!b->set->skip_zeroing || b->for_zeroes)) {
		from = b->covered ? find_next_zero_bit(b->covered, size, to) : to;
		to = b->covered ? find_next_bit(b->covered, size, from) : size;
		to = from + min(to - from, most);
		if (from < size)
			bio = zero(b, bio, place + from, to - from);
	}
	if (bio) {
		bio->bi_private = b;
		bio->bi_end_io = zero_endio;
		submit_bio(bio);
	} else {
		birth_zeroed(b, BLK_STS_OK);
	}
}

/* Each tier has a work that zeroes, as sending a bio may wait for the tier. */
static void do_zero(struct work_struct *work)
{
	struct tier_landing *l = container_of(work, struct tier_landing, zero_work);
	struct llist_node *list = llist_reverse_order(llist_del_all(&l->to_zero));
	struct tier_birth *b, *next;

	llist_for_each_entry_safe(b, next, list, to_zero)
		zero_rest(b);
}

/* ---- I/O to partial chunks ---- */

/* A guarded write has ended.  True: the bio was kept. */
static bool write_ended(struct tier_set *set, struct tier_guard *guard, struct bio *bio,
			blk_status_t status)
{
	struct tier_birth *b = container_of(guard, struct tier_birth, guard);
	struct tier_io *io = tier_bio_io(bio);
	struct tier *t = b->tier;
	struct aftermath a;
	unsigned long flags;
	bool kept = false;

	init_aftermath(&a);
	spin_lock_irqsave(&set->lock, flags);
	b->writers--;
	__ended(t->landing);
	if (!status) {
		cover(b, io->first_sector, io->end_sector);
		b->touched = jiffies;
		__enlist(b);
		if (io->fua)
			bio_list_add(&b->fua, bio);
		kept = io->fua;
		if (io->fua || time_after(jiffies, b->begun + MAX_AGE))
			__want_whole(b);
	} else {
		b->failed = true;
		/* Unless the write itself is invalid, another tier may take it. */
		kept = nothing_covered(b) && bio_op(bio) == REQ_OP_WRITE &&
		       status != BLK_STS_INVAL && status != BLK_STS_AGAIN;
		if (kept) {
			bio->bi_status = status;
			tier_put_aside(&b->retry, bio);
			/* Whatever status the device gave, it does not take plain writes. */
			if (!test_bit(TIER_FLAG_WRITE_FAILED, &t->flags))
				tier_note_error(t, true, BLK_STS_IOERR);
		}
	}
	__settle(b, &a);
	if (!bio_list_empty(&t->landing->crowded))
		__make_room(t);
	spin_unlock_irqrestore(&set->lock, flags);
	run_aftermath(&a);
	return kept;
}

/*
 * TIER_REMAPPED: the write goes on, with a guard if it covers sectors or is to be durable.
 * TIER_ENDED: it waits until the chunk is whole.  A frozen set takes no new sectors.
 */
static enum tier_route __admit_write(struct tier_birth *b, struct bio *bio, struct tier_io *io)
{
	u32 size = b->set->chunk_sectors;
	u32 first = bio->bi_iter.bi_sector & (size - 1);
	u32 end = first + bio_sectors(bio);
	bool fua = bio->bi_opf & REQ_FUA, covered;

	covered = b->covered && find_next_zero_bit(b->covered, end, first) >= end;
	if (bio_op(bio) == REQ_OP_DISCARD)
		return TIER_ENDED;
	if (!covered && tier_set_frozen(b->set))
		return TIER_KILL;
	if ((!b->covered && end - first < size) || (b->completing && (!covered || fua)))
		return TIER_ENDED;
	if (covered && !fua)
		return TIER_REMAPPED;
	b->writers++;
	__sent(b->tier->landing);
	io->guard = &b->guard;
	io->first_sector = first;
	io->end_sector = end;
	io->iter = bio->bi_iter;
	io->fua = fua;
	return TIER_REMAPPED;
}

/* Sends a write to the chunk's place, or has it wait until the chunk is whole; unlocks. */
static enum tier_route write_partial(struct tier_birth *b, struct bio *bio, struct tier_io *io,
				     unsigned long flags)
	__releases(&b->set->lock)
{
	struct tier_set *set = b->set;
	u64 word = set->map[b->chunk];
	enum tier_route route;
	bool again;

	route = __admit_write(b, bio, io);
	if (route == TIER_REMAPPED)
		io->srcu_idx = tier_srcu_enter(&b->tier->readers);
	if (route != TIER_ENDED) {
		spin_unlock_irqrestore(&set->lock, flags);
		return route == TIER_REMAPPED ? tier_map_entered(set, bio, io, word) : route;
	}
	again = tier_wants_again(set, bio);
	if (!again)
		tier_put_aside(&b->held, bio);
	__complete(b);
	spin_unlock_irqrestore(&set->lock, flags);
	if (again)
		bio_wouldblock_error(bio);
	return TIER_ENDED;
}

/* The part of a read that was written comes from the tier, the rest is zeroes. */
static enum tier_route read_partial(struct tier_birth *b, struct bio *bio, struct tier_io *io,
				    unsigned long flags)
	__releases(&b->set->lock)
{
	struct tier_set *set = b->set;
	u32 first = bio->bi_iter.bi_sector & (set->chunk_sectors - 1);
	u32 nr = bio_sectors(bio), end = first + nr, to = end;
	bool covered = b->covered ? test_bit(first, b->covered) : !b->uncovered;
	u64 word = set->map[b->chunk];

	if (b->covered)
		to = covered ? find_next_zero_bit(b->covered, end, first) :
			       find_next_bit(b->covered, end, first);
	if (covered)
		io->srcu_idx = tier_srcu_enter(&b->tier->readers);
	spin_unlock_irqrestore(&set->lock, flags);
	if (to < end)
		dm_accept_partial_bio(bio, to - first);
	if (covered)
		return tier_map_entered(set, bio, io, word);
	zero_fill_bio(bio);
	bio_endio(bio);
	return TIER_ENDED;
}

enum tier_route tier_map_partial(struct tier_set *set, struct bio *bio, struct tier_io *io)
{
	struct tier_birth *b;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	b = find_birth(set, tier_bio_chunk(set, bio));
	if (b && op_is_write(bio_op(bio)))
		return write_partial(b, bio, io, flags);
	if (b)
		return read_partial(b, bio, io, flags);
	spin_unlock_irqrestore(&set->lock, flags);
	return TIER_AGAIN;
}

/* ---- begin ---- */

static struct tier_birth *alloc_birth(struct tier *t, u32 chunk)
{
	struct tier_birth *b = mempool_alloc(&t->landing->pool, GFP_NOWAIT);
	struct tier_set *set = t->set;

	if (!b)
		return NULL;
	memset(b, 0, sizeof(*b));
	b->guard.write_ended = write_ended;
	b->set = set;
	b->tier = t;
	b->chunk = chunk;
	b->uncovered = set->chunk_sectors;
	bio_list_init(&b->held);
	bio_list_init(&b->fua);
	bio_list_init(&b->retry);
	return b;
}

static noinline void __birth_begun(struct tier_birth *b, u64 place)
{
	struct tier_set *set = b->set;
	struct tier *t = b->tier;
	unsigned int pin;

	lockdep_assert_held(&set->lock);
	b->place = place;
	b->begun = jiffies;
	b->touched = jiffies;
	b->op.chunk = b->chunk;
	b->op.entry = tier_word(place, t->rec.id);
	b->op.done = birth_committed;
	list_add_tail(&b->list, &t->landing->begun);
	hash_add(set->births->hash, &b->hash, b->chunk);
	t->nr_births++;
	__tier_publish(set, b->chunk, b->op.entry | TIER_WORD_NEW | TIER_WORD_HELD |
		       tier_reason_bits(TIER_REASON_FIRST_WRITE));
	pin = tier_word_pin(set->map[b->chunk]);
	if (pin && pin - 1 != t->rec.id) {
		__tier_mark_astray(set);
		tier_kick_mover(set);
	}
	set->mapped++;
	tier_forget_copy_failed(set, b->chunk);
	__tier_arm_commit_timer(set);
}

/* Starts the commit of chunks that are whole now, or on their way to that. */
static void __commit_births(struct tier *t)
{
	t->landing->commit = !list_empty(&t->landing->completing);
	__tier_flush_new(t);
}

enum tier_route tier_first_write(struct tier_set *set, struct bio *bio, struct tier_io *io)
{
	u32 chunk = tier_bio_chunk(set, bio);
	bool again = tier_wants_again(set, bio);
	struct bio_list *waits = NULL;
	unsigned long flags;
	struct tier_birth *b = NULL;
	struct tier *t;
	u64 place, word;

	spin_lock_irqsave(&set->lock, flags);
	word = set->map[chunk];
	if ((word & TIER_ENTRY_MAPPED) || tier_set_frozen(set) || tier_word_discarded(word)) {
		/*
		 * The chunk was mapped meanwhile, or a commit has failed, or its discard is under
		 * way.  After a failed commit a free place may hold data of a chunk that is not
		 * decided.
		 */
		spin_unlock_irqrestore(&set->lock, flags);
		return tier_word_discarded(word) ? TIER_GUARD : TIER_AGAIN;
	}
	t = landing_tier(set, chunk, is_stream(set, chunk, bio), &place);
	if (t && place != TIER_NO_PLACE)
		b = alloc_birth(t, chunk);
	if (b) {
		if (bio_sectors(bio) < set->chunk_sectors)
			b->covered = bitmap_zalloc(set->chunk_sectors, GFP_NOWAIT | __GFP_NOWARN);
		__birth_begun(b, place);
		tier_note_in_stream(&set->births->streams, chunk);
		__make_room(t);
		return write_partial(b, bio, io, flags);
	}
	if (t && place != TIER_NO_PLACE) {
		/* The commit of births frees memory, but the tier may hang. */
		__tier_free_place(t, place);
		waits = &set->deferred;
		__complete_oldest(t, TIER_MOST_HELD);
		__commit_births(t);
	} else if (t) {
		waits = &t->landing->crowded;
		set->crowded = true;
		__make_room(t);
		__commit_births(t);
	} else if (set->nr_migrations || set->discarding) {
		/* A move or discard may free a place. */
		waits = &set->starved;
	}
	if (waits && !again)
		tier_put_aside(waits, bio);
	spin_unlock_irqrestore(&set->lock, flags);
	if (waits)
		tier_watch_stalls(set);
	if (!waits || again) {
		bio->bi_status = waits ? BLK_STS_AGAIN : BLK_STS_NOSPC;
		bio_endio(bio);
	}
	return TIER_ENDED;
}

int tier_materialise(struct tier_set *set, u32 chunk, struct tier *t, u64 place)
{
	unsigned int depth = tier_tunable(set, TIER_TUNABLE_DEPTH);
	struct tier_birth *b = alloc_birth(t, chunk);
	int r = 0;

	if (!b)
		return -ENOMEM;
	b->for_zeroes = true;

	spin_lock_irq(&set->lock);
	if (set->map[chunk] & TIER_ENTRY_MAPPED)
		r = -ENOENT;
	else if (!tier_open(t))
		r = -ENXIO;
	else if (!set->running || tier_set_frozen(set) || t->landing->in_flight >= depth ||
		 !may_begin(t) || tier_word_discarded(set->map[chunk]))
		r = -EAGAIN;
	else if (!tier_alloc_exactly(t, place))
		r = -ENOSPC;
	if (r) {
		mempool_free(b, &b->tier->landing->pool);
	} else {
		__birth_begun(b, place);
		__complete(b);
	}
	spin_unlock_irq(&set->lock);
	return r;
}

/* ---- commit ---- */

void __tier_commit_chunk(struct tier_set *set, struct tier *t, u32 chunk)
{
	struct tier_birth *b = find_birth(set, chunk);

	if (b) {
		__complete(b);
		t->landing->commit = true;
	} else {
		__tier_flush_new(t);
	}
}

void tier_commit_births(struct tier_set *set)
{
	unsigned long flags;
	unsigned int i;

	tier_complete_births(set);
	spin_lock_irqsave(&set->lock, flags);
	for (i = 0; i < set->nr_tiers; i++) {
		__complete_oldest(set->tiers[i], UINT_MAX);
		__commit_births(set->tiers[i]);
	}
	spin_unlock_irqrestore(&set->lock, flags);
}

/* Chunks that nobody has written for a while become whole, and whole ones are committed. */
/* The resume arms the timer again; a suspend waits for the bios that wait. */
static bool __timer_wanted(struct tier_set *set)
{
	return set->running || set->crowded || !bio_list_empty(&set->undecided);
}

/* The machine hibernates: its image of memory must not miss a commit. */
static bool __timer_ends(struct tier_set *set)
{
	return set->resumed && !__timer_wanted(set);
}

static void do_commit_timer(struct work_struct *work)
{
	struct tier_set *set = container_of(work, struct tier_set, commit_timer.work);
	unsigned int i, nr = 0;
	struct tier_birth *b;

	spin_lock_irq(&set->lock);
	if (__timer_ends(set))
		goto out;
	for (i = 0; i < set->nr_tiers; i++) {
		struct tier *t = set->tiers[i];

		for (;;) {
			b = list_first_entry_or_null(&t->landing->partial, struct tier_birth, list);
			if (!b || time_before(jiffies, b->touched + IDLE_TIME))
				break;
			/* A FLUSH tries again what could not be zeroed, or this after admit. */
			if (b->zero_failed && test_bit(TIER_FLAG_WRITE_FAILED, &t->flags)) {
				b->touched = jiffies;
				__enlist(b);
			} else {
				__complete(b);
			}
			if (++nr % TIER_MOST_HELD)
				continue;
			__tier_relax(set);
			if (__timer_ends(set))
				goto out;
		}
		__commit_births(t);
	}
	if (__timer_wanted(set) && tier_births_unflushed(set))
		__tier_arm_commit_timer(set);
out:
	spin_unlock_irq(&set->lock);
}

/* A program that keeps the set open hears of the loss by the next FLUSH. */
void tier_drop_births(struct tier *t)
{
	struct tier_set *set = t->set;
	struct tier_birth *b, *b_next;
	struct tier_op *op, *next;
	LIST_HEAD(ops);

	list_splice_init(&t->landing->begun, &t->landing->partial);
	list_for_each_entry_safe(b, b_next, &t->landing->partial, list) {
		if (!nothing_covered(b))
			__tier_flush_lose(set);
		__forget(b);
		mempool_free(b, &b->tier->landing->pool);
	}
	tier_give_up_births(t, &ops);
	tier_give_up_ops(set, &ops);
	if (!list_empty(&ops))
		__tier_flush_lose(set);
	list_for_each_entry_safe(op, next, &ops, list) {
		b = container_of(op, struct tier_birth, op);
		b->tier->landing->nr_uncommitted--;
		mempool_free(b, &b->tier->landing->pool);
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
		if (births_hang(t) || !tier_open(t))
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
		if (may_begin(t) || tier_set_frozen(set) || !tier_open(t))
			bio = bio_list_pop(&t->landing->crowded);
		crowded |= !bio_list_empty(&t->landing->crowded);
	}
	if (!bio)
		set->crowded = crowded;
	spin_unlock_irq(&set->lock);
	return bio;
}

static int init_tier(struct tier *t)
{
	unsigned int i;

	t->landing->tier = t;
	for (i = 0; i < BIO_MAX_VECS; i++)
		bvec_set_page(&t->landing->zeroes[i], ZERO_PAGE(0), PAGE_SIZE, 0);
	INIT_LIST_HEAD(&t->landing->begun);
	INIT_LIST_HEAD(&t->landing->partial);
	INIT_LIST_HEAD(&t->landing->completing);
	INIT_LIST_HEAD(&t->landing->waiting);
	bio_list_init(&t->landing->crowded);
	init_llist_head(&t->landing->to_zero);
	INIT_WORK(&t->landing->zero_work, do_zero);
	/* Two bios, as one is kept until it is known whether another one follows. */
	return bioset_init(&t->landing->bios, 2, 0, 0) ? :
	       mempool_init_kmalloc_pool(&t->landing->pool, MIN_BIRTHS, sizeof(struct tier_birth));
}

static void release_tier(struct tier *t)
{
	cancel_work_sync(&t->landing->zero_work);
	mempool_exit(&t->landing->pool);
	bioset_exit(&t->landing->bios);
}

static int init(struct tier_set *set)
{
	hash_init(set->births->hash);
	tier_streams_init(&set->births->streams);
	INIT_DELAYED_WORK(&set->commit_timer, do_commit_timer);
	return 0;
}

const struct tier_room tier_landing_room = TIER_ROOM(landing, init_tier, release_tier);

const struct tier_set_room tier_birth_room = TIER_SET_ROOM(births, init, NULL);
