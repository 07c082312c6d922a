// SPDX-License-Identifier: GPL-2.0-only
/*
 * The commit: mapping changes whose data is on stable storage gather as ops;
 * one work at a time writes them into the metadata, commits, and publishes the
 * result.  Nothing here waits for a tier.
 */
#include "commit.h"

#include "health.h"
#include "kick.h"
#include "metadata/metadata.h"
#include "wear.h"

#define OPS_PER_COMMIT	4096
#define RANGES_NS	(20 * NSEC_PER_MSEC)	/* so much later may a FLUSH end */

struct tier_commits {
	/* set->lock */
	struct list_head ops;
	struct list_head ranges;	/* struct tier_range */
	u64 queued, decided;		/* counts of ops */
	struct list_head waiting;	/* struct tier_commit_wait, in order of up_to */
	struct list_head kept;		/* ops that the metadata has no room for */
	u64 nr_kept;
	bool lost;			/* a failed commit left first writes out */

	bool space_low;			/* set->commit */
};

static void queue_commit(struct tier_set *set)
{
	queue_work(set->commit_wq, &set->commit_work);
}

void __tier_queue_op(struct tier_set *set, struct tier_op *op)
{
	lockdep_assert_held(&set->lock);
	list_add_tail(&op->list, &set->commits->ops);
	set->commits->queued++;
	queue_commit(set);
}

void __tier_queue_ops(struct tier_set *set, struct list_head *ops, unsigned int nr)
{
	lockdep_assert_held(&set->lock);
	list_splice_tail_init(ops, &set->commits->ops);
	set->commits->queued += nr;
	queue_commit(set);
}

void __tier_queue_range(struct tier_set *set, struct tier_range *range)
{
	lockdep_assert_held(&set->lock);
	list_add_tail(&range->list, &set->commits->ranges);
	queue_commit(set);
}

bool __tier_ops_pending(struct tier_set *set)
{
	lockdep_assert_held(&set->lock);
	return set->commits->queued != set->commits->decided;
}

void __tier_wait_for_ops(struct tier_set *set, struct tier_commit_wait *wait)
{
	lockdep_assert_held(&set->lock);
	wait->up_to = set->commits->queued;
	list_add_tail(&wait->list, &set->commits->waiting);
	queue_commit(set);
}

void __tier_keep_op(struct tier_set *set, struct tier_op *op)
{
	lockdep_assert_held(&set->lock);
	list_add_tail(&op->list, &set->commits->kept);
	set->commits->nr_kept++;
}

void __tier_op_lost(struct tier_set *set)
{
	lockdep_assert_held(&set->lock);
	set->commits->lost = true;
}

bool __tier_ops_lost(struct tier_set *set)
{
	lockdep_assert_held(&set->lock);
	return set->commits->lost || tier_ops_kept(set);
}

bool tier_ops_kept(struct tier_set *set)
{
	return !list_empty(&set->commits->kept);
}

void tier_requeue_ops(struct tier_set *set)
{
	struct tier_commits *c = set->commits;

	lockdep_assert_held(&set->commit);
	spin_lock_irq(&set->lock);
	if (tier_ops_kept(set)) {
		/* They come first again, so whoever waits for later ops waits for them. */
		list_splice_init(&c->kept, &c->ops);
		c->decided -= c->nr_kept;
		c->nr_kept = 0;
		queue_commit(set);
	}
	spin_unlock_irq(&set->lock);
}

void tier_give_up_ops(struct tier_set *set, struct list_head *ops)
{
	list_splice_tail_init(&set->commits->kept, ops);
	set->commits->nr_kept = 0;
}

bool tier_forget_lost_ops(struct tier_set *set)
{
	bool lost = set->commits->lost;

	set->commits->lost = false;
	return lost;
}

static void decide(struct tier_set *set, struct list_head *ops, struct list_head *ranges,
		   bool committed)
{
	struct tier_range *range, *next_range;
	struct tier_op *op, *next;

	list_for_each_entry_safe(op, next, ops, list) {
		list_del(&op->list);
		op->done(set, op, committed);
	}
	list_for_each_entry_safe(range, next_range, ranges, list) {
		/* Those for which the commit had no time at all are for the next one. */
		if (committed && range->up_to == range->first)
			break;
		list_del(&range->list);
		range->done(set, range, committed);
	}
}

static int write_ops(struct tier_set *set, struct list_head *ops)
{
	struct tier_op *op;
	int r;

	list_for_each_entry(op, ops, list) {
		u64 pin = tier_get_word(set, op->chunk) & TIER_WORD_PIN_MASK;

		r = tier_metadata_set_entry(set->metadata, op->chunk, op->entry | pin);
		if (r)
			return r;
	}
	return 0;
}

/* Unmaps chunks of the ranges, most at most, and no longer than RANGES_NS. */
static int write_ranges(struct tier_set *set, struct list_head *ranges, u64 most)
{
	u64 end_ns = ktime_get_ns() + RANGES_NS, before;
	struct tier_range *range;
	int r;

	list_for_each_entry(range, ranges, list) {
		before = most;
		for (range->up_to = range->first; range->up_to < range->end; range->up_to++) {
			u64 word = tier_get_word(set, range->up_to);

			if (!tier_word_discarding(word))
				continue;
			if (!most) {
				if (!before)
					range->up_to = range->first;
				break;
			}
			r = tier_metadata_set_entry(set->metadata, range->up_to,
						    word & TIER_WORD_PIN_MASK);
			if (r)
				return r;
			most = ktime_get_ns() < end_ns ? most - 1 : 0;
		}
	}
	return 0;
}

/*
 * A commit failed, and the new superblock may or may not be on the disk.  Reading it back
 * decides the ops; until then their chunks stay as they are.  The mode falls to ro, or to
 * fail if the superblock cannot be read.
 */
bool tier_settle_commit(struct tier_set *set)
{
	enum tier_verdict verdict;

	/* The commit was settled already: the caller's change is not on the disk. */
	if (set->needs_check && set->mode != TIER_MODE_RW)
		return false;
	verdict = tier_metadata_verdict(set->metadata);
	if (verdict == TIER_VERDICT_UNKNOWN) {
		tier_set_mode(set, TIER_MODE_FAIL, "the superblock cannot be read back");
		return false;
	}
	WRITE_ONCE(set->needs_check, true);
	if (tier_metadata_abort(set->metadata) ||
	    tier_metadata_set_needs_check(set->metadata)) {
		tier_set_mode(set, TIER_MODE_FAIL, "needs_check cannot be recorded");
		/* The commit is in the device's cache at best and may get lost. */
		return false;
	}
	tier_metadata_set_read_only(set->metadata);
	tier_set_mode(set, TIER_MODE_RO, "a metadata commit failed");
	return verdict == TIER_VERDICT_NEW;
}

int tier_settle_error(struct tier_set *set, int r)
{
	/* An error before the first change leaves the transaction valid. */
	if (r && tier_metadata_doomed(set->metadata))
		tier_settle_commit(set);
	return r;
}

void tier_watch_space(struct tier_set *set)
{
	bool low = !tier_metadata_has_room(set->metadata, TIER_SMALL_BATCH);

	lockdep_assert_held(&set->commit);
	if (low && !set->commits->space_low) {
		DMWARN("%s: the metadata device is nearly full; grow it", dm_device_name(set->md));
		tier_set_event(set);
	}
	set->commits->space_low = low;
}

int tier_commit_now(struct tier_set *set)
{
	int r;

	lockdep_assert_held(&set->commit);
	if (tier_set_frozen(set))
		return -EROFS;
	if (!tier_metadata_has_room(set->metadata, 0)) {
		tier_set_mode(set, TIER_MODE_RO, "out of metadata space");
		return -ENOSPC;
	}
	r = tier_metadata_commit(set->metadata, false);
	if (r && tier_settle_commit(set))
		r = 0;
	if (!r)
		tier_watch_space(set);
	return r;
}

/* Decides nr ops, and ranges up to `room` changes in all; false if they are not on the disk. */
static bool commit_batch(struct tier_set *set, struct list_head *ops, u64 nr,
			 struct list_head *ranges, u64 room)
{
	bool committed = false;
	int r;

	if (!tier_set_frozen(set)) {
		if (!tier_metadata_has_room(set->metadata, nr ? : 1)) {
			tier_set_mode(set, TIER_MODE_RO, "out of metadata space");
		} else {
			/* The transaction can be on the disk only if a commit was tried. */
			r = write_ops(set, ops) ? : write_ranges(set, ranges, room - nr);
			/* Without room it waits; if it dooms the transaction, the commit fails. */
			if (!r)
				tier_wear_store(set);
			if (r)
				tier_settle_commit(set);
			else
				committed = !tier_metadata_commit(set->metadata, false) ||
					    tier_settle_commit(set);
		}
	}
	decide(set, ops, ranges, committed);
	return committed;
}

/*
 * The number of ops that the next transaction has room for.  If there is little room, the
 * open transaction is committed first: that frees the blocks that it has replaced.
 */
static u64 room_for_ops(struct tier_set *set)
{
	u64 nr = OPS_PER_COMMIT;

	if (tier_set_frozen(set))
		return nr;
	if (!tier_metadata_has_room(set->metadata, TIER_SMALL_BATCH) &&
	    tier_metadata_commit(set->metadata, false)) {
		tier_settle_commit(set);
		return nr;
	}
	while (nr > 1 && !tier_metadata_has_room(set->metadata, nr))
		nr /= 2;
	return nr;
}

/* Takes the waiters that wait for the first up_to ops or fewer. */
static void take_waiting(struct tier_commits *c, u64 up_to, struct list_head *waiting)
{
	struct tier_commit_wait *wait, *next;

	list_for_each_entry_safe(wait, next, &c->waiting, list) {
		if (wait->up_to > up_to)
			break;
		list_move_tail(&wait->list, waiting);
	}
}

static void do_commit(struct work_struct *work)
{
	struct tier_set *set = container_of(work, struct tier_set, commit_work);
	struct tier_commits *c = set->commits;
	struct tier_commit_wait *wait, *next;
	LIST_HEAD(waiting);
	LIST_HEAD(ranges);
	bool more, ok;
	LIST_HEAD(ops);
	u64 room, ops_room, up_to, nr = 0;

	mutex_lock(&set->commit);
	room = room_for_ops(set);
	spin_lock_irq(&set->lock);
	list_splice_init(&c->ranges, &ranges);
	/* Ranges get their share. */
	ops_room = list_empty(&ranges) ? room : max(room - room / 4, 1ULL);
	while (!list_empty(&c->ops) && nr < ops_room) {
		list_move_tail(c->ops.next, &ops);
		if (!(++nr % TIER_MOST_HELD))
			__tier_relax(set);
	}
	more = !list_empty(&c->ops);
	/* Ops are decided in order: a waiter does not wait for ops that were queued later. */
	up_to = c->decided + nr;
	take_waiting(c, up_to, &waiting);
	spin_unlock_irq(&set->lock);

	if ((nr || !list_empty(&ranges)) && commit_batch(set, &ops, nr, &ranges, room))
		tier_watch_space(set);

	spin_lock_irq(&set->lock);
	more |= !list_empty(&ranges);
	list_splice(&ranges, &c->ranges);
	c->decided += nr;
	ok = !__tier_ops_lost(set);
	__tier_defer_bios(set, &set->undecided);
	spin_unlock_irq(&set->lock);
	mutex_unlock(&set->commit);

	if (more)
		queue_commit(set);
	list_for_each_entry_safe(wait, next, &waiting, list) {
		/* The waiter may wait again, or be freed, at once. */
		list_del(&wait->list);
		wait->fn(wait, ok);
	}
	wake_up(&set->idle_wait);
}

static int init(struct tier_set *set)
{
	INIT_LIST_HEAD(&set->commits->ops);
	INIT_LIST_HEAD(&set->commits->ranges);
	INIT_LIST_HEAD(&set->commits->waiting);
	INIT_LIST_HEAD(&set->commits->kept);
	INIT_WORK(&set->commit_work, do_commit);
	return 0;
}

const struct tier_set_room tier_commit_room = TIER_SET_ROOM(commits, init, NULL);
