// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flushes of single tiers.
 *
 * Each tier has one flush bio.  A waiter waits for the next flush that is sent.  While a
 * flush is in flight, the next one is sent when it has ended.  When a flush succeeds, the ops
 * of the births whose data it covers are queued for the commit.
 */
#include "flush.h"

#include "gauge.h"
#include "health.h"
#include "kick.h"

/* Of one tier; set->lock. */
struct tier_flusher {
	struct tier *tier;
	struct bio bio;
	bool flushing;			/* a flush is in flight */
	bool covers_new;		/* covers writes that no failed flush has covered */
	bool failed;			/* the flush that ended last failed */
	bool again;			/* flush_work ran while a flush was in flight */
	unsigned int nr_failed;		/* since activation */
	unsigned long sent;		/* jiffies, when the last flush was */
	u64 sent_ns;			/* the same, as it is measured */
	struct list_head waiting;	/* struct tier_flush_wait, for the next flush */
	struct list_head running;	/* for the flush in flight */
	struct list_head births;	/* struct tier_op: data written, not flushed */
	struct list_head births_flushing;
	unsigned int nr_births, nr_flushing;	/* in these lists */
	struct bio_list fua_waiting;	/* FUA writes to new chunks, for the next flush */
	struct bio_list fua_running;	/* for the flush in flight */
};

struct tier_flushes {
	bool lost;			/* new writes failed to be flushed, untold; set->lock */
};

bool __tier_flush_start(struct tier *t)
{
	struct tier_flusher *f = t->flusher;

	lockdep_assert_held(&t->set->lock);
	if (f->flushing)
		return false;
	f->flushing = true;
	f->sent = jiffies;
	f->sent_ns = ktime_get_ns();
	list_splice_init(&f->waiting, &f->running);
	list_splice_init(&f->births, &f->births_flushing);
	f->nr_flushing += f->nr_births;
	f->nr_births = 0;
	bio_list_merge(&f->fua_running, &f->fua_waiting);
	bio_list_init(&f->fua_waiting);
	return true;
}

/* Someone waits for a flush that has not been sent. */
static bool __flush_wanted(const struct tier_flusher *f)
{
	return !list_empty(&f->waiting) || !bio_list_empty(&f->fua_waiting);
}

void __tier_take_undecided(struct tier *t, struct bio_list *bios)
{
	struct tier_set *set = t->set;
	struct bio_list others = BIO_EMPTY_LIST;
	struct bio *bio;

	while ((bio = bio_list_pop(&set->undecided))) {
		u64 word = set->map[tier_bio_io(bio)->last_left];

		bio_list_add(tier_word_id(word) == t->rec.id ? bios : &others, bio);
	}
	set->undecided = others;
}

static void fua_committed(struct tier_commit_wait *wait, bool ok)
{
	struct tier_io *io = container_of(wait, struct tier_io, wait);
	struct bio_list bios = { .head = dm_bio_from_per_bio_data(io, sizeof(*io)) };
	struct bio *bio;

	while ((bio = bio_list_pop(&bios))) {
		bio->bi_status = ok ? BLK_STS_OK : BLK_STS_IOERR;
		bio_endio(bio);
	}
}

/* The first bio waits, with the others behind it. */
static void __wait_for_commit(struct tier_set *set, struct bio_list *bios)
{
	struct tier_commit_wait *wait;

	if (bio_list_empty(bios))
		return;
	wait = &tier_bio_io(bio_list_peek(bios))->wait;
	bio_list_init(bios);
	wait->fn = fua_committed;
	__tier_wait_for_ops(set, wait);
}

static void __flush_failed(struct tier_flusher *f, struct bio_list *failed)
{
	struct tier *t = f->tier;

	f->failed = true;
	f->nr_failed++;
	/* The device may have dropped data that was written after the flush was sent. */
	t->set->flushes->lost |= f->covers_new || READ_ONCE(t->unflushed) == TIER_UNFLUSHED;
	list_splice_init(&f->births_flushing, &f->births);
	f->nr_births += f->nr_flushing;
	f->nr_flushing = 0;
	/* The timer may have expired while these births were being flushed. */
	if (!list_empty(&f->births) && t->set->running)
		__tier_arm_commit_timer(t->set);
	bio_list_merge(failed, &f->fua_running);
	bio_list_init(&f->fua_running);
	__tier_take_undecided(t, failed);
	/* First writes do not wait for their turn on a tier that fails to flush. */
	if (t->set->crowded)
		queue_work(t->set->wq, &t->set->io_work);
}

static void __flush_succeeded(struct tier_flusher *f)
{
	struct tier_set *set = f->tier->set;

	f->failed = false;
	if (f->nr_flushing)
		__tier_queue_ops(set, &f->births_flushing, f->nr_flushing);
	f->nr_flushing = 0;
	__wait_for_commit(set, &f->fua_running);
}

void tier_end_bios(struct bio_list *bios)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios)))
		bio_endio(bio);
}

static void flush_endio(struct bio *bio)
{
	struct tier_flusher *f = container_of(bio, struct tier_flusher, bio);
	struct tier *t = f->tier;
	struct tier_set *set = t->set;
	struct tier_flush_wait *wait, *tmp;
	blk_status_t status = bio->bi_status;
	struct bio_list failed = BIO_EMPTY_LIST, ended = BIO_EMPTY_LIST;
	LIST_HEAD(waiters);
	unsigned long flags;

	bio_uninit(bio);
	if (status) {
		cmpxchg(&t->unflushed, 0, TIER_UNFLUSHED_TOLD);
		tier_note_error(t, true, status);
	} else {
		tier_gauge_flush(t, ktime_get_ns() - f->sent_ns);
	}
	spin_lock_irqsave(&set->lock, flags);
	list_splice_init(&f->running, &waiters);
	if (status)
		__flush_failed(f, &failed);
	else
		__flush_succeeded(f);
	f->flushing = false;
	if (__flush_wanted(f) || f->again)
		queue_work(t->wq, &t->flush_work);
	f->again = false;
	/* A waiter may wait again, or be freed, at once. */
	list_for_each_entry_safe(wait, tmp, &waiters, list)
		wait->fn(wait, status, &ended);
	__tier_wake_idle(set);
	spin_unlock_irqrestore(&set->lock, flags);
	bio_list_for_each(bio, &failed)
		bio->bi_status = status;
	tier_end_bios(&failed);
	tier_end_bios(&ended);
}

void tier_flush_submit(struct tier *t)
{
	struct tier_flusher *f = t->flusher;

	/* Pairs with tier_mark_unflushed(): taken off before the flush is sent. */
	f->covers_new = xchg(&t->unflushed, 0) == TIER_UNFLUSHED;
	bio_init(&f->bio, t->bdev, NULL, 0,
		 REQ_OP_WRITE | REQ_PREFLUSH | REQ_SYNC);
	f->bio.bi_end_io = flush_endio;
	submit_bio_noacct(&f->bio);
}

/* Sends a flush if one is wanted and none is under way. */
static void do_flush(struct work_struct *work)
{
	struct tier *t = container_of(work, struct tier, flush_work);
	struct tier_flusher *f = t->flusher;
	bool send = false;

	spin_lock_irq(&t->set->lock);
	if (f->flushing)
		f->again = true;
	else if (__flush_wanted(f) || !list_empty(&f->births))
		send = __tier_flush_start(t);
	spin_unlock_irq(&t->set->lock);
	if (send)
		tier_flush_submit(t);
}

void tier_flush_tier(struct tier *t, struct tier_flush_wait *wait)
{
	bool send;

	spin_lock_irq(&t->set->lock);
	list_add_tail(&wait->list, &t->flusher->waiting);
	send = __tier_flush_start(t);
	spin_unlock_irq(&t->set->lock);
	if (send)
		tier_flush_submit(t);
}

bool __tier_flush_cover(struct tier *t, struct tier_flush_wait *wait, bool *idle)
{
	struct tier_flusher *f = t->flusher;
	bool written = READ_ONCE(t->unflushed) || !list_empty(&f->births);

	lockdep_assert_held(&t->set->lock);
	/* What was written is durable, as the block core would say if it got the flush. */
	if (written && !f->flushing && !f->failed && list_empty(&f->births) &&
	    !bdev_write_cache(t->bdev)) {
		xchg(&t->unflushed, 0);
		written = false;
	}
	*idle = written && !f->flushing;
	/* The flush in flight covers everything if no write has ended since. */
	if (written)
		list_add_tail(&wait->list, &f->waiting);
	else if (f->flushing)
		list_add_tail(&wait->list, &f->running);
	return written || f->flushing;
}

bool __tier_flushing(struct tier_set *set)
{
	bool flushing = false;
	unsigned int i;

	lockdep_assert_held(&set->lock);
	for (i = 0; i < set->nr_tiers; i++)
		flushing |= set->tiers[i]->flusher->flushing;
	return flushing;
}

struct flush_sync {
	struct tier_flush_wait wait;
	struct completion done;
	blk_status_t status;
};

static void sync_flushed(struct tier_flush_wait *wait, blk_status_t status,
			 struct bio_list *ended)
{
	struct flush_sync *sync = container_of(wait, struct flush_sync, wait);

	sync->status = status;
	complete(&sync->done);
}

int tier_flush_all(struct tier_set *set)
{
	struct flush_sync sync;
	unsigned int i;
	int r = 0;

	for (i = 0; i < set->nr_tiers; i++) {
		struct tier *t = set->tiers[i];

		if (!tier_present(t) ||
		    (!READ_ONCE(t->unflushed) && !READ_ONCE(t->flusher->flushing) &&
		     list_empty_careful(&t->flusher->births)))
			continue;
		sync.wait.fn = sync_flushed;
		init_completion(&sync.done);
		tier_flush_tier(t, &sync.wait);
		wait_for_completion_io(&sync.done);
		/* Who called sync_flushed() has released the lock before the set may be freed. */
		spin_lock_irq(&set->lock);
		spin_unlock_irq(&set->lock);
		if (sync.status && !r)
			r = blk_status_to_errno(sync.status);
	}
	return r;
}

/* ---- first writes ---- */

void __tier_flush_then_commit(struct tier *t, struct tier_op *op)
{
	lockdep_assert_held(&t->set->lock);
	list_add_tail(&op->list, &t->flusher->births);
	t->flusher->nr_births++;
}

void __tier_flush_new(struct tier *t)
{
	lockdep_assert_held(&t->set->lock);
	if (!list_empty(&t->flusher->births))
		queue_work(t->wq, &t->flush_work);
}

bool tier_births_unflushed(struct tier_set *set)
{
	unsigned int i;

	for (i = 0; i < set->nr_tiers; i++) {
		struct tier *t = set->tiers[i];

		if (t->nr_births || !list_empty(&t->flusher->births) ||
		    !list_empty(&t->flusher->births_flushing))
			return true;
	}
	return false;
}

bool tier_births_pending(struct tier_set *set)
{
	return tier_births_unflushed(set) || tier_ops_kept(set);
}

bool __tier_births_stuck(struct tier *t)
{
	struct tier_flusher *f = t->flusher;

	lockdep_assert_held(&t->set->lock);
	return (f->failed && (!list_empty(&f->births) || !list_empty(&f->births_flushing))) ||
	       (t->nr_births && test_bit(TIER_FLAG_WRITE_FAILED, &t->flags));
}

void tier_give_up_births(struct tier *t, struct list_head *ops)
{
	list_splice_tail_init(&t->flusher->births, ops);
	t->flusher->nr_births = 0;
}

void __tier_flush_births(struct tier *t, struct bio_list *bios)
{
	if (bio_list_empty(bios))
		return;
	bio_list_merge(&t->flusher->fua_waiting, bios);
	/* With the lock held: the bios may end at once, and then the set may be freed. */
	queue_work(t->wq, &t->flush_work);
}

void tier_flush_births(struct tier *t, struct bio *bio)
{
	struct bio_list bios = BIO_EMPTY_LIST;
	struct tier_set *set = t->set;
	unsigned long flags;

	bio_list_add(&bios, bio);
	spin_lock_irqsave(&set->lock, flags);
	__tier_flush_births(t, &bios);
	spin_unlock_irqrestore(&set->lock, flags);
}

/* ---- what has failed ---- */

bool tier_flush_failed(const struct tier *t)
{
	return READ_ONCE(t->flusher->failed);
}

unsigned int tier_failed_flushes(const struct tier *t)
{
	return READ_ONCE(t->flusher->nr_failed);
}

bool __tier_flush_fails(const struct tier *t)
{
	return t->flusher->failed && !t->flusher->flushing;
}

bool __tier_flush_hangs(const struct tier *t)
{
	return t->flusher->flushing &&
	       time_after(jiffies, t->flusher->sent + nsecs_to_jiffies(TIER_STALL_NS));
}

void __tier_flush_lose(struct tier_set *set)
{
	set->flushes->lost = true;
}

bool __tier_flush_lost(struct tier_set *set)
{
	bool lost = set->flushes->lost;

	lockdep_assert_held(&set->lock);
	set->flushes->lost = false;
	return lost;
}

/* ---- coming and going ---- */

static int init_tier(struct tier *t)
{
	struct tier_flusher *f = t->flusher;

	f->tier = t;
	INIT_LIST_HEAD(&f->waiting);
	INIT_LIST_HEAD(&f->running);
	INIT_LIST_HEAD(&f->births);
	INIT_LIST_HEAD(&f->births_flushing);
	bio_list_init(&f->fua_waiting);
	bio_list_init(&f->fua_running);
	INIT_WORK(&t->flush_work, do_flush);
	return 0;
}

const struct tier_room tier_flusher_room = TIER_ROOM(flusher, init_tier, NULL);

const struct tier_set_room tier_flush_room = TIER_SET_ROOM(flushes, NULL, NULL);
