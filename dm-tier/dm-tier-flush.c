// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flushes.
 *
 * Each tier has one flush bio.  Who wants a tier flushed joins the waiters of
 * the next flush; while one is under way the next is sent when it ends.  When a
 * flush ends well, the births whose data it covers go on to the commit.
 *
 * FLUSH bios gather in cycles: a cycle flushes every tier that was written,
 * commits if the mapping changed, and completes the bios that it started with.
 * A bio that comes while a cycle is under way is served by the next one.
 */
#include "dm-tier.h"

/* set->lock held; true if the caller shall call send_flush(). */
static bool start_flush(struct tier *t)
{
	lockdep_assert_held(&t->set->lock);
	if (t->flushing)
		return false;
	t->flushing = true;
	t->flush_ns = ktime_get_ns();
	list_splice_init(&t->flush_waiting, &t->flush_running);
	list_splice_init(&t->births, &t->births_flushing);
	bio_list_merge(&t->fua_running, &t->fua_waiting);
	bio_list_init(&t->fua_waiting);
	return true;
}

/* set->lock held: someone waits for a flush that has not been sent. */
static bool flush_wanted(const struct tier *t)
{
	return !list_empty(&t->flush_waiting) || !bio_list_empty(&t->fua_waiting);
}

static void end_bios(struct bio_list *bios, blk_status_t status)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios))) {
		bio->bi_status = status;
		bio_endio(bio);
	}
}

/* set->lock held: discards that wait for births of this tier to be committed. */
static void take_undecided(struct tier *t, struct bio_list *failed)
{
	struct tier_set *set = t->set;
	struct bio_list others = BIO_EMPTY_LIST;
	struct bio *bio;

	while ((bio = bio_list_pop(&set->undecided))) {
		u64 word = set->map[tier_bio_chunk(set, bio)];

		bio_list_add(tier_word_id(word) == t->rec.id ? failed : &others, bio);
	}
	set->undecided = others;
}

static void flush_endio(struct bio *bio)
{
	struct tier *t = container_of(bio, struct tier, flush_bio);
	struct tier_set *set = t->set;
	struct tier_flush_wait *wait, *tmp;
	blk_status_t status = bio->bi_status;
	struct tier_op *op, *next;
	struct bio_list failed = BIO_EMPTY_LIST;
	LIST_HEAD(waiters);
	unsigned long flags;

	bio_uninit(bio);
	if (status) {
		cmpxchg(&t->unflushed, 0, TIER_UNFLUSHED_TOLD);
		tier_note_error(t, true, status);
	}
	spin_lock_irqsave(&set->lock, flags);
	list_splice_init(&t->flush_running, &waiters);
	if (status) {
		t->flush_failed = true;
		tier_wake_crowded(set);
		t->failed_flushes++;
		/* What it has dropped may have been written since it was sent. */
		t->flush_lost |= t->flush_covers_new ||
				 READ_ONCE(t->unflushed) == TIER_UNFLUSHED;
		list_splice_init(&t->births_flushing, &t->births);
		/* The timer may have gone by while they were on their way. */
		if (!list_empty(&t->births) && set->running)
			__tier_arm_commit_timer(set);
	} else {
		t->flush_failed = false;
		list_for_each_entry_safe(op, next, &t->births_flushing, list) {
			list_del(&op->list);
			__tier_queue_op(set, op);
		}
	}
	t->flushing = false;
	if (flush_wanted(t) || t->flush_again)
		queue_work(set->wq, &t->flush_work);
	t->flush_again = false;
	if (status) {
		bio_list_merge(&failed, &t->fua_running);
		take_undecided(t, &failed);
	} else if (!bio_list_empty(&t->fua_running)) {
		bio_list_merge(&set->fua_flushed, &t->fua_running);
		set->fua_flushed_upto = set->ops_queued;
		queue_work(set->wq, &set->commit_work);
	}
	bio_list_init(&t->fua_running);
	/* Within the lock: once the set is quiet it may be freed. */
	wake_up(&set->idle_wait);
	spin_unlock_irqrestore(&set->lock, flags);

	list_for_each_entry_safe(wait, tmp, &waiters, list)
		wait->fn(wait, status);
	end_bios(&failed, status);
}

static void send_flush(struct tier *t)
{
	/* Pairs with tier_mark_unflushed(): taken off before the flush is sent. */
	t->flush_covers_new = xchg(&t->unflushed, 0) == TIER_UNFLUSHED;
	bio_init(&t->flush_bio, t->bdev, NULL, 0,
		 REQ_OP_WRITE | REQ_PREFLUSH | REQ_SYNC);
	t->flush_bio.bi_end_io = flush_endio;
	submit_bio(&t->flush_bio);
}

static void do_flush(struct work_struct *work)
{
	struct tier *t = container_of(work, struct tier, flush_work);
	bool send = false;

	spin_lock_irq(&t->set->lock);
	if (t->flushing)
		t->flush_again = true;
	else if (flush_wanted(t) || !list_empty(&t->births))
		send = start_flush(t);
	spin_unlock_irq(&t->set->lock);
	if (send)
		send_flush(t);
}

void tier_flush_tier(struct tier *t, struct tier_flush_wait *wait)
{
	bool send;

	spin_lock_irq(&t->set->lock);
	list_add_tail(&wait->list, &t->flush_waiting);
	send = start_flush(t);
	spin_unlock_irq(&t->set->lock);
	if (send)
		send_flush(t);
}

/*
 * Whether data comes behind a FLUSH.  The core flushes by a clone without data, drops
 * its error, and sends the data as if nothing had been (6.1, 6.12).  The clone still
 * points to the pages of the bio it was made of; a FLUSH of its own right has none.
 */
static bool precedes_data(const struct bio *bio)
{
	return bio->bi_io_vec;
}

/*
 * The FUA writes that fail for a FLUSH whose own write is not recognized: what a journal
 * still writes once its commit record has failed (jbd2: its superblock, ext4: its own)
 * may come before another's commit record.
 */
#define FUAS_PER_FLUSH 3

/* set->lock held: the write of that data is to fail, as its FLUSH did. */
static void add_untold(struct tier_set *set, const struct bio_vec *data)
{
	unsigned int nr = set->nr_untold;

	if (nr == TIER_MAX_UNTOLD) {
		set->untold[nr - 1].fuas += FUAS_PER_FLUSH;
		return;
	}
	set->untold[nr].data = data;
	set->untold[nr].fuas = FUAS_PER_FLUSH;
	WRITE_ONCE(set->nr_untold, nr + 1);
}

/*
 * set->lock held: who in a batch that failed does not hear of it.  The data is a journal's
 * commit record, as a rule: that write is failed in place of its FLUSH.  The next FLUSH
 * fails as well, unless this one did so for that very reason.
 */
static void note_untold(struct tier_set *set, bool news)
{
	bool told = false;
	struct bio *bio;

	bio_list_for_each(bio, &set->flush_batch) {
		if (precedes_data(bio))
			add_untold(set, bio->bi_io_vec);
		else
			told = true;
	}
	if (news && !told)
		set->flush_untold = true;
}

/*
 * All clones of a bio share its bio_vecs, so that the write is known by them.  A device
 * above that copies the data (dm-crypt) hides whose it is: any FUA write may be that one.
 */
bool __tier_write_untold(struct tier_set *set, struct bio *bio)
{
	unsigned int i, nr;
	unsigned long flags;
	bool untold, over;

	spin_lock_irqsave(&set->lock, flags);
	nr = set->nr_untold;
	for (i = 0; i < nr; i++)
		if (set->untold[i].data == bio->bi_io_vec)
			break;
	untold = i < nr;
	over = untold;
	if (!untold && nr && (bio->bi_opf & REQ_FUA)) {
		i = 0;
		untold = true;
		over = !--set->untold[0].fuas;
	}
	if (over) {
		set->untold[i] = set->untold[nr - 1];
		WRITE_ONCE(set->nr_untold, nr - 1);
	}
	spin_unlock_irqrestore(&set->lock, flags);
	return untold;
}

/* The cycle is over; any context.  news: it is not only that an earlier one failed. */
static void end_cycle(struct tier_set *set, blk_status_t status, bool news)
{
	struct bio_list bios;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	if (status)
		note_untold(set, news);
	bios = set->flush_batch;
	bio_list_init(&set->flush_batch);
	set->cycle_running = false;
	if (!bio_list_empty(&set->flush_waiting))
		queue_work(set->wq, &set->cycle_work);
	/* Within the lock: once the set is quiet it may be freed. */
	wake_up(&set->idle_wait);
	spin_unlock_irqrestore(&set->lock, flags);

	end_bios(&bios, status);
}

/*
 * Whether a flush failed that nobody who is told had asked for.  A device may drop what
 * it could not write, and take the next flush as if nothing had been: as with fsync(),
 * the first to ask afterwards hears of it.
 */
bool tier_flush_lost(struct tier_set *set)
{
	bool lost = set->flush_lost || set->flush_untold;
	unsigned int i;

	lockdep_assert_held(&set->lock);
	set->flush_lost = false;
	set->flush_untold = false;
	for (i = 0; i < set->nr_tiers; i++) {
		lost |= set->tiers[i]->flush_lost;
		set->tiers[i]->flush_lost = false;
	}
	return lost;
}

/* All tiers have been flushed; what is left is the mapping. */
static void cycle_flushed(struct tier_set *set)
{
	blk_status_t status = set->cycle_status;
	bool news = status, commit = false, untold;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	untold = set->flush_untold;
	set->flush_untold = false;
	if (tier_flush_lost(set) || tier_births_lost(set))
		news = true;
	if (news || untold)
		status = status ? : BLK_STS_IOERR;
	if (!status && set->ops_queued != set->ops_decided) {
		set->cycle_wants_commit = true;
		set->cycle_upto = set->ops_queued;
		commit = true;
		/* Within the lock: a commit that is under way may end the cycle. */
		queue_work(set->wq, &set->commit_work);
	}
	spin_unlock_irqrestore(&set->lock, flags);

	if (!commit)
		end_cycle(set, status, news);
}

void tier_flush_committed(struct tier_set *set, bool ok)
{
	end_cycle(set, ok ? BLK_STS_OK : BLK_STS_IOERR, true);
}

static void put_cycle(struct tier_set *set)
{
	if (atomic_dec_and_test(&set->cycle_pending))
		cycle_flushed(set);
}

static void cycle_tier_flushed(struct tier_flush_wait *wait, blk_status_t status)
{
	struct tier_set *set = container_of(wait - wait->slot, struct tier_set,
					    cycle_wait[0]);

	if (status)
		WRITE_ONCE(set->cycle_status, status);
	put_cycle(set);
}

/* Not inlined, as the crash tests watch it begin. */
static noinline void run_cycle(struct tier_set *set)
{
	struct tier *last = NULL;
	unsigned int i;
	bool written;

	set->cycle_status = BLK_STS_OK;
	atomic_set(&set->cycle_pending, 1);
	spin_lock_irq(&set->lock);
	for (i = 0; i < set->nr_tiers; i++) {
		struct tier *t = set->tiers[i];
		struct tier_flush_wait *wait = &set->cycle_wait[i];

		if (!tier_present(t))
			continue;
		written = READ_ONCE(t->unflushed) || !list_empty(&t->births);
		/* A flush under way covers all if nothing was written since. */
		if (t->flushing && !written) {
			list_add_tail(&wait->list, &t->flush_running);
		} else if (written) {
			list_add_tail(&wait->list, &t->flush_waiting);
			/* One is sent from here.  It may block, so the others are not. */
			if (!t->flushing) {
				if (last)
					queue_work(set->wq, &last->flush_work);
				last = t;
			}
		} else {
			continue;
		}
		atomic_inc(&set->cycle_pending);
	}
	if (last)
		start_flush(last);
	spin_unlock_irq(&set->lock);
	if (last)
		send_flush(last);
	put_cycle(set);
}

static bool start_cycle(struct tier_set *set)
{
	lockdep_assert_held(&set->lock);
	if (set->cycle_running || bio_list_empty(&set->flush_waiting))
		return false;
	set->cycle_running = true;
	set->flush_batch = set->flush_waiting;
	bio_list_init(&set->flush_waiting);
	return true;
}

static void do_cycle(struct work_struct *work)
{
	tier_flush_run(container_of(work, struct tier_set, cycle_work));
}

void tier_flush_run(struct tier_set *set)
{
	bool start;

	spin_lock_irq(&set->lock);
	start = start_cycle(set);
	spin_unlock_irq(&set->lock);
	if (start)
		run_cycle(set);
}

void tier_flush_queue(struct tier_set *set, struct bio *bio)
{
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	bio_list_add(&set->flush_waiting, bio);
	spin_unlock_irqrestore(&set->lock, flags);
}

void tier_flush_births(struct tier *t, struct bio *bio)
{
	struct tier_set *set = t->set;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	bio_list_add(&t->fua_waiting, bio);
	/* Within the lock: a flush that is sent already may end the bio, and the set be freed. */
	queue_work(set->wq, &t->flush_work);
	spin_unlock_irqrestore(&set->lock, flags);
}

struct tier_flush_sync {
	struct tier_flush_wait wait;
	struct completion done;
	blk_status_t status;
};

static void sync_flushed(struct tier_flush_wait *wait, blk_status_t status)
{
	struct tier_flush_sync *sync = container_of(wait, struct tier_flush_sync, wait);

	sync->status = status;
	complete(&sync->done);
}

int tier_flush_all(struct tier_set *set)
{
	struct tier_flush_sync sync;
	unsigned int i;
	int r = 0;

	for (i = 0; i < set->nr_tiers; i++) {
		struct tier *t = set->tiers[i];

		if (!tier_present(t) ||
		    (!READ_ONCE(t->unflushed) && !READ_ONCE(t->flushing) &&
		     list_empty_careful(&t->births)))
			continue;
		sync.wait.fn = sync_flushed;
		init_completion(&sync.done);
		tier_flush_tier(t, &sync.wait);
		wait_for_completion_io(&sync.done);
		if (sync.status && !r)
			r = blk_status_to_errno(sync.status);
	}
	return r;
}

void tier_flush_init_tier(struct tier *t)
{
	INIT_LIST_HEAD(&t->flush_waiting);
	INIT_LIST_HEAD(&t->flush_running);
	INIT_LIST_HEAD(&t->births);
	INIT_LIST_HEAD(&t->births_flushing);
	bio_list_init(&t->fua_waiting);
	bio_list_init(&t->fua_running);
	INIT_WORK(&t->flush_work, do_flush);
}

void tier_flush_init(struct tier_set *set)
{
	unsigned int i;

	INIT_WORK(&set->cycle_work, do_cycle);
	bio_list_init(&set->flush_waiting);
	bio_list_init(&set->flush_batch);
	for (i = 0; i < TIER_MAX_TIERS; i++) {
		set->cycle_wait[i].fn = cycle_tier_flushed;
		set->cycle_wait[i].slot = i;
	}
}
