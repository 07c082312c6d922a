// SPDX-License-Identifier: GPL-2.0-only
/*
 * One migration, from start to end.
 *
 * The chunk's word gets MOVING; once the readers that saw it without are gone,
 * every write to the chunk passes tier_guard_write().  Guarded writes go to the
 * source and mark the 64 KiB pieces they touched as dirty when they end.  The
 * copy takes dirty pieces (at first all are) a step at a time.  When few are
 * left, HELD stops further writes, and the last pieces are copied once the writes
 * in flight have ended.  Moves that are copied wait for a batch: one flush of the
 * destination and one commit for all of them.  Then the word is switched, the held
 * writes are sent on, and the old place is freed when its last reader has left.
 * A batch is closed, its flush sent, at the latest when one of its chunks holds a write.
 *
 * Of the moves that are not copied yet, migration_depth are being copied; the next
 * ones wait for readers or for their turn meanwhile.
 *
 * Each state is a function that the migration's work runs; whatever the state
 * waits for queues the work again.
 */
#include "migrate.h"

#include <linux/hashtable.h>

#include "alloc.h"
#include "budget.h"
#include "copy.h"
#include "discard.h"
#include "flush.h"
#include "gauge.h"
#include "health.h"
#include "kick.h"
#include "map.h"
#include "missed.h"
#include "policy.h"
#include "publish.h"
#include "request.h"
#include "trace.h"
#include "wear.h"

/*
 * After this many passes over the chunk, writes may dirty only one piece for PRESSING_SHARE
 * copied pieces, so that fewer pieces are dirty after each pass.
 */
#define PASSES_UNTIL_PRESSING	4
#define PRESSING_SHARE		4
/* Pieces that one write is charged for at most: a huge write must not stop all others. */
#define MOST_CHARGED		(STEP_PIECES * PRESSING_SHARE)

#define STEP_PIECES	(TIER_COPY_SECTORS / TIER_PIECE_SECTORS)	/* copied at once */

/* What shares a flush and a commit, and what waits for its turn to be copied. */
#define BATCH_SECTORS	(SZ_16M >> SECTOR_SHIFT)
#define MOST_IN_BATCH	256	/* chunks */
#define LEAST_ROOMY	16	/* chunks in a batch: moves of fewer, larger ones take long */
#define BATCHES		4	/* under way at most: copied, flushed, committed, to be freed */
#define BATCH_NS	(NSEC_PER_SEC / 10)	/* a batch waits no longer for more moves */
#define LOOK_NS		(NSEC_PER_SEC / 10)	/* between two looks for moves that hang */

enum tier_stage {
	STAGE_AHEAD,	/* waits for readers or for its turn */
	STAGE_COPY,
	STAGE_COPIED,	/* waits for the flush of its batch to be sent */
	STAGE_FLUSH,	/* and what follows */
	STAGE_ENDED,	/* no longer guards the chunk; a place is still to be freed */
};

struct tier_moves {
	/* set->lock */
	DECLARE_HASHTABLE(hash, 8);	/* struct tier_migration, by chunk */
	unsigned int nr_stuck;		/* moves with ->stuck */
	unsigned int nr_ahead;		/* moves of this stage, without ->stuck */
	unsigned int nr_soon;		/* moves without a pace */
	DECLARE_BITMAP(hung, TIER_MAX_TIERS * TIER_MAX_TIERS);	/* see pair_of() */
	atomic_t nr_sent;		/* copies that the devices have; no lock */

	/* Of the mover, which looks for moves that hang. */
	u64 looked_ns;
	DECLARE_BITMAP(hanging, TIER_MAX_TIERS * TIER_MAX_TIERS);	/* becomes hung */
};

/* The moves to one tier; set->lock. */
struct tier_arrivals {
	struct tier *tier;
	unsigned int leaving;		/* moves from it to other tiers, without ->stuck */
	unsigned int coming;		/* moves that are not copied yet */
	unsigned int nr_copying;	/* of these, being copied, without ->stuck */
	struct list_head ready;		/* of STAGE_AHEAD, those that wait for their turn */
	struct list_head copied;	/* STAGE_COPIED: the batch that gathers */
	unsigned int nr_copied;
	bool close;			/* the batch does not wait for more */
	u64 since_ns;			/* when its first move came */
	struct list_head flushing;	/* the batch whose flush is under way */
	struct tier_flush_wait flush;
	struct list_head flushed;	/* the batch whose flush has ended, and how: */
	blk_status_t status;
	unsigned int failed_flushes;
	struct work_struct work;	/* sends the flush, and commits what is flushed */
};

/* A migration under way. */
struct tier_migration {
	struct tier_guard guard;
	struct hlist_node hash;
	struct list_head queue;		/* of its stage; set->lock */
	struct tier_set *set;
	struct tier *from, *to;
	u64 from_place, to_place;
	u32 chunk;
	enum tier_reason reason;
	bool proposed;			/* by the policy, which is told when the move ends */
	bool soon;			/* it pays soon: without a pace */
	struct tier_copy *copy;		/* of STAGE_COPY */
	struct tier_request *request;	/* that asked for the move, or NULL */
	void (*step)(struct tier_migration *m);	/* what its work does next */
	struct delayed_work work;

	/* set->lock */
	enum tier_stage stage;
	bool stuck;			/* hangs, or is ahead of moves that hang */
	struct bio_list held;
	unsigned int writers;		/* guarded writes in flight */
	unsigned int writing;		/* pieces that they write */
	bool waiting_for_writers;
	bool cancelled;
	bool stopped;			/* cancelled by a suspend */
	bool committing;		/* its op is queued: too late to cancel */
	bool pressing;			/* writes pass a few at a time */
	int quota;			/* pieces that may be written, times PRESSING_SHARE */
	unsigned int failed_flushes;	/* of the destination when it began */

	unsigned int passes;
	unsigned int next_piece;
	unsigned int nr_pieces;
	unsigned int copied_pieces;
	unsigned int last_run;		/* pieces of the last copy */
	int error;
	u64 run_start_ns, copy_ns;	/* of the copy under way; of all so far */
	u64 progress_ns;
	struct rcu_head rcu;
	struct tier_op op;
	unsigned long dirty[];		/* a bit for each piece */
};

static bool shall_stop(struct tier_migration *m);
static void step_copy(struct tier_migration *m);
static void step_last(struct tier_migration *m);
static void step_abort(struct tier_migration *m);
static void step_end(struct tier_migration *m);

static void next_step(struct tier_migration *m, void (*step)(struct tier_migration *))
{
	m->step = step;
	queue_delayed_work(m->set->wq, &m->work, 0);
}

static void do_step(struct work_struct *work)
{
	struct tier_migration *m = container_of(work, struct tier_migration, work.work);

	m->step(m);
}

static struct tier_migration *find(struct tier_set *set, u32 chunk)
{
	struct tier_migration *m;

	lockdep_assert_held(&set->lock);
	hash_for_each_possible(set->moves->hash, m, hash, chunk)
		if (m->chunk == chunk && m->stage != STAGE_ENDED)
			return m;
	return NULL;
}

/* Calls fn for each move.  Others get the lock meanwhile, as a move keeps its bucket. */
static void __for_moves(struct tier_set *set, void (*fn)(struct tier_migration *m))
{
	struct tier_moves *moves = set->moves;
	unsigned int bucket, nr = 0;
	struct tier_migration *m;

	for (bucket = 0; bucket < HASH_SIZE(moves->hash); bucket++) {
		hlist_for_each_entry(m, &moves->hash[bucket], hash) {
			fn(m);
			nr++;
		}
		if (nr >= TIER_MOST_HELD) {
			nr = 0;
			__tier_relax(set);
		}
	}
}

/* ---- turns and batches ---- */

static unsigned int batch_size(const struct tier_set *set)
{
	return clamp(BATCH_SECTORS >> set->chunk_shift, 1, MOST_IN_BATCH);
}

static unsigned int pair_of(const struct tier *from, const struct tier *to)
{
	return from->rec.rank * TIER_MAX_TIERS + to->rec.rank;
}

static bool waits_for_turn(const struct tier_migration *m)
{
	return m->stage == STAGE_AHEAD && !list_empty(&m->queue);
}

/* Ends the wait of a move that is ready. */
static void __begin_copy(struct tier_migration *m)
{
	struct tier_moves *moves = m->set->moves;

	list_del_init(&m->queue);
	m->stage = STAGE_COPY;
	m->failed_flushes = tier_failed_flushes(m->to);
	moves->nr_ahead -= !m->stuck;
	m->to->arrivals->nr_copying += !m->stuck;
	WRITE_ONCE(m->progress_ns, ktime_get_ns());
	next_step(m, step_copy);
	if (moves->nr_ahead <= batch_size(m->set) / 2)
		tier_kick_mover(m->set);
}

static unsigned int __copying(struct tier_set *set)
{
	unsigned int rank, nr = 0;

	lockdep_assert_held(&set->lock);
	for (rank = 0; rank < set->nr_tiers; rank++)
		nr += set->tiers[rank]->arrivals->nr_copying;
	return nr;
}

/*
 * So many at a time to each tier: those that go down would wait for those that come up, and
 * these for the places that the former leave.
 */
static void __begin_copies(struct tier_arrivals *a)
{
	struct tier_set *set = a->tier->set;
	struct tier_migration *m;
	unsigned int i;

	lockdep_assert_held(&set->lock);
	for (i = 0; i < TIER_MOST_HELD; i++) {
		if (a->nr_copying >= tier_tunable(set, TIER_TUNABLE_DEPTH))
			return;
		m = list_first_entry_or_null(&a->ready, struct tier_migration, queue);
		if (!m)
			return;
		/* The mover looks at it again. */
		if (m->stuck)
			list_move_tail(&m->queue, &a->ready);
		else
			__begin_copy(m);
	}
}

static void __close_batch(struct tier_arrivals *a)
{
	a->close = true;
	queue_work(a->tier->wq, &a->work);
}

/* The chunk's writes do not wait for other moves. */
static void __hurry(struct tier_migration *m)
{
	if (m->stage == STAGE_COPIED)
		__close_batch(m->to->arrivals);
}

static void __cancel(struct tier_migration *m)
{
	m->cancelled = true;
	__hurry(m);
	if (waits_for_turn(m))
		__begin_copy(m);
}

/* The move is copied, or was given up before. */
static void __end_copy(struct tier_migration *m, enum tier_stage stage)
{
	struct tier_arrivals *a = m->to->arrivals;

	lockdep_assert_held(&m->set->lock);
	m->stage = stage;
	if (m->copy)
		__tier_copy_put(m->set, m->copy);
	a->nr_copying -= !m->stuck;
	a->coming--;
	if (stage == STAGE_COPIED) {
		if (!a->nr_copied++)
			a->since_ns = ktime_get_ns();
		list_add_tail(&m->queue, &a->copied);
	}
	/* At a pace, moves come one by one: a batch gathers for BATCH_NS, not to flush each. */
	if (a->nr_copied >= batch_size(m->set) ||
	    (a->nr_copied && !a->coming && !__tier_paced(m->from) && !__tier_paced(m->to)))
		__close_batch(a);
	__begin_copies(a);
}

/* ---- guarded writes ---- */

static u32 pieces_of(const struct tier_io *io)
{
	return io->last_piece - io->first_piece + 1;
}

static bool guarded_write_end(struct tier_set *set, struct tier_guard *guard, struct bio *bio,
			      blk_status_t status)
{
	struct tier_migration *m = container_of(guard, struct tier_migration, guard);
	struct tier_io *io = tier_bio_io(bio);
	unsigned long flags;
	u32 piece;

	/* Marked after the data is on the device: a copy that clears the bit sees it. */
	for (piece = io->first_piece; piece <= io->last_piece; piece++)
		set_bit(piece, m->dirty);
	spin_lock_irqsave(&set->lock, flags);
	m->writing -= pieces_of(io);
	if (!--m->writers && m->waiting_for_writers) {
		m->waiting_for_writers = false;
		next_step(m, step_last);
	} else if (m->waiting_for_writers) {
		/* The device answers: hold writes again, or the writers would never end. */
		WRITE_ONCE(m->progress_ns, ktime_get_ns());
		__tier_change_word(set, m->chunk, 0, TIER_WORD_HELD);
	}
	spin_unlock_irqrestore(&set->lock, flags);
	return false;
}

enum tier_route tier_guard_write(struct tier_set *set, struct bio *bio)
{
	struct tier_io *io = tier_bio_io(bio);
	u32 chunk = tier_bio_chunk(set, bio);
	u32 offset = bio->bi_iter.bi_sector & (set->chunk_sectors - 1);
	struct tier_migration *m;
	unsigned long flags;
	u64 word;

	spin_lock_irqsave(&set->lock, flags);
	word = set->map[chunk];
	m = find(set, chunk);
	if (!m || !(word & (TIER_WORD_MOVING | TIER_WORD_HELD))) {
		spin_unlock_irqrestore(&set->lock, flags);
		return TIER_AGAIN;
	}
	if ((word & TIER_WORD_HELD) || (m->pressing && m->quota <= 0)) {
		bool again = tier_wants_again(set, bio);

		if (!again)
			tier_put_aside(&m->held, bio);
		__hurry(m);
		spin_unlock_irqrestore(&set->lock, flags);
		if (again)
			bio_wouldblock_error(bio);
		return TIER_ENDED;
	}
	io->first_piece = offset / TIER_PIECE_SECTORS;
	io->last_piece = (offset + bio_sectors(bio) - 1) / TIER_PIECE_SECTORS;
	m->writers++;
	m->writing += pieces_of(io);
	if (m->pressing)
		m->quota -= min_t(u32, pieces_of(io) * PRESSING_SHARE, MOST_CHARGED);
	spin_unlock_irqrestore(&set->lock, flags);
	return tier_map_guarded(set, bio, word, &m->guard);
}

bool tier_cancel_migration(struct tier_set *set, u32 chunk, struct bio *bio)
{
	struct tier_migration *m;

	spin_lock_irq(&set->lock);
	m = find(set, chunk);
	if (m) {
		bio_list_add(&m->held, bio);
		__cancel(m);
	}
	spin_unlock_irq(&set->lock);
	return m;
}

static void __stop(struct tier_migration *m)
{
	m->stopped = true;
	__cancel(m);
}

void tier_cancel_migrations(struct tier_set *set)
{
	spin_lock_irq(&set->lock);
	__for_moves(set, __stop);
	spin_unlock_irq(&set->lock);
}

/* The io work looks the held bios up again. */
static void release_held(struct tier_migration *m)
{
	spin_lock_irq(&m->set->lock);
	__tier_defer_bios(m->set, &m->held);
	spin_unlock_irq(&m->set->lock);
}

/* ---- start ---- */

static void quiesced(struct rcu_head *rcu)
{
	struct tier_migration *m = container_of(rcu, struct tier_migration, rcu);
	struct tier_set *set = m->set;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	WRITE_ONCE(m->progress_ns, ktime_get_ns());
	list_add_tail(&m->queue, &m->to->arrivals->ready);
	if (m->cancelled)
		__begin_copy(m);
	else if (m->stuck)
		tier_kick_mover(set);
	else
		__begin_copies(m->to->arrivals);
	spin_unlock_irqrestore(&set->lock, flags);
}

static void decided(struct tier_set *set, struct tier_op *op, bool committed);

static bool hangs(const struct tier_migration *m)
{
	/* What is ready waits for others. */
	return !waits_for_turn(m) &&
	       (s64)(m->set->moves->looked_ns - READ_ONCE(m->progress_ns)) > (s64)TIER_STALL_NS;
}

static void __note_hanging(struct tier_migration *m)
{
	if (hangs(m))
		__set_bit(pair_of(m->from, m->to), m->set->moves->hanging);
}

static void __set_stuck(struct tier_migration *m, bool stuck)
{
	struct tier_moves *moves = m->set->moves;
	int change = stuck - m->stuck;

	m->stuck = stuck;
	moves->nr_stuck += change;
	if (m->stage == STAGE_AHEAD)
		moves->nr_ahead -= change;
	if (m->stage == STAGE_COPY)
		m->to->arrivals->nr_copying -= change;
	if (m->from != m->to)
		m->from->arrivals->leaving -= change;
}

/*
 * Writes do not wait for a device that does not answer: the move is given up.  The place on
 * its destination stays taken until the device answers.
 */
static void __release_stuck(struct tier_migration *m)
{
	struct tier_set *set = m->set;

	if (m->stage == STAGE_ENDED || m->committing || bio_list_empty(&m->held) ||
	    !(m->pressing || set->map[m->chunk] & TIER_WORD_HELD))
		return;
	WRITE_ONCE(m->pressing, false);
	__tier_change_word(set, m->chunk, TIER_WORD_HELD, 0);
	__tier_defer_bios(set, &m->held);
	__cancel(m);
}

/* Those are stuck that hang, and those that would, as one between the same tiers does. */
static void __judge(struct tier_migration *m)
{
	__set_stuck(m, hangs(m) || (m->stage == STAGE_AHEAD &&
				    test_bit(pair_of(m->from, m->to), m->set->moves->hung)));
	if (!m->stuck)
		return;
	__release_stuck(m);
	/* A move that has not begun frees its place; it will be asked for again. */
	if (waits_for_turn(m))
		__stop(m);
}

void tier_watch_migrations(struct tier_set *set)
{
	struct tier_moves *moves = set->moves;
	u64 now = ktime_get_ns();
	unsigned int rank;
	bool quiet;

	spin_lock_irq(&set->lock);
	/* The mover comes here with the end of each move: it need not look at all others then. */
	if (now - moves->looked_ns > LOOK_NS || moves->nr_stuck ||
	    !bitmap_empty(moves->hung, TIER_MAX_TIERS * TIER_MAX_TIERS)) {
		moves->looked_ns = now;
		bitmap_zero(moves->hanging, TIER_MAX_TIERS * TIER_MAX_TIERS);
		__for_moves(set, __note_hanging);
		bitmap_copy(moves->hung, moves->hanging, TIER_MAX_TIERS * TIER_MAX_TIERS);
		__for_moves(set, __judge);
	}
	for (rank = 0; rank < set->nr_tiers; rank++) {
		struct tier_arrivals *a = set->tiers[rank]->arrivals;

		if (a->nr_copied && (s64)(now - a->since_ns) > (s64)BATCH_NS)
			__close_batch(a);
		__begin_copies(a);
	}
	quiet = !moves->nr_ahead && !__copying(set);
	spin_unlock_irq(&set->lock);
	if (quiet)
		tier_copy_shrink(set);
}

/* One of the two tiers may be dead: moves between other tiers go first. */
bool tier_pair_hangs(struct tier_set *set, const struct tier *from, const struct tier *to)
{
	return test_bit(pair_of(from, to), set->moves->hung);
}

bool tier_departures(const struct tier *t)
{
	return READ_ONCE(t->arrivals->leaving);
}

/*
 * Whether one move more would take the place of a chunk that is not mapped yet: the first
 * write of that would have to wait for moves to end.  Moves may use the reserve only, unless
 * there is more room than first writes take while a move lasts.  If a tier is not open, as it
 * fails or is evacuated, there may be too few places for all chunks anyway, and moves go on.
 * Neither a move that hangs nor a place that a discard is about to free stops other moves.
 */
static bool __crowds_births(struct tier_set *set)
{
	u64 free = 0, held = set->mapped + set->freeing;
	unsigned int rank, batch = batch_size(set);

	lockdep_assert_held(&set->lock);
	if (set->nr_migrations == set->moves->nr_stuck)
		return false;
	for (rank = 0; rank < set->nr_tiers; rank++) {
		const struct tier *t = set->tiers[rank];

		if (!tier_open(t))
			return false;
		free += tier_free_places(t);
	}
	if (!bio_list_empty(&set->starved))
		return true;
	return free + set->moves->nr_stuck + held <= set->nr_chunks &&
	       (batch < LEAST_ROOMY || free <= BATCHES * batch);
}

bool tier_may_migrate(struct tier_set *set, u64 *ahead)
{
	unsigned int depth = tier_tunable(set, TIER_TUNABLE_DEPTH), batch = batch_size(set);
	struct tier_moves *moves = set->moves;
	bool may;

	spin_lock_irq(&set->lock);
	may = moves->nr_ahead + __copying(set) < depth + batch &&
	      set->nr_migrations - moves->nr_stuck < depth + BATCHES * batch &&
	      !__crowds_births(set);
	*ahead = (u64)moves->nr_ahead << set->chunk_shift;
	spin_unlock_irq(&set->lock);
	return may;
}

unsigned int __tier_in_flight(struct tier_set *set)
{
	unsigned int nr = __copying(set) + set->moves->nr_stuck;

	lockdep_assert_held(&set->lock);
	return nr ? : !!set->nr_migrations;
}

bool tier_moves_unpaced(struct tier_set *set)
{
	return READ_ONCE(set->moves->nr_soon);
}

/* Looks where the chunk lies, and takes *place, or any, for it; see tier_migrate(). */
static int __take_place(struct tier_migration *m, u64 word, struct tier *to, u64 *place)
{
	struct tier_set *set = to->set;

	if (!(word & TIER_ENTRY_MAPPED))
		return -ENOENT;
	m->from = set->by_id[tier_word_id(word)];
	m->from_place = tier_word_place(word);
	/* A chunk that is leaving this tier can be moved back once it has left. */
	if (m->from == to && (*place == TIER_NO_PLACE || *place == m->from_place) &&
	    !(word & TIER_WORD_MOVING))
		return -ENOENT;
	if (!set->running || (word & (TIER_WORD_NEW | TIER_WORD_MOVING | TIER_WORD_HELD)) ||
	    __tier_being_discarded(set, m->chunk) || tier_pair_hangs(set, m->from, to))
		return -EAGAIN;
	if (!tier_present(m->from) || !tier_open(to))
		return -ENXIO;
	if (__crowds_births(set))
		return -EAGAIN;
	if (*place == TIER_NO_PLACE)
		*place = __tier_alloc_place(to);
	else if (!tier_alloc_exactly(to, *place))
		*place = TIER_NO_PLACE;
	return *place == TIER_NO_PLACE ? -ENOSPC : 0;
}

int tier_migrate(struct tier_set *set, u32 chunk, struct tier *to, u64 place,
		 enum tier_reason reason, struct tier_request *request,
		 const struct tier_move *proposal)
{
	unsigned int nr_pieces = set->chunk_sectors / TIER_PIECE_SECTORS;
	struct tier_migration *m;
	int r;

	/* GFP_NOWAIT: reclaim may wait for writes that only the mover releases. */
	m = kzalloc(struct_size(m, dirty, BITS_TO_LONGS(nr_pieces)), GFP_NOWAIT | __GFP_NOWARN);
	if (!m)
		return -ENOMEM;

	m->chunk = chunk;
	spin_lock_irq(&set->lock);
	r = __take_place(m, set->map[chunk], to, &place);
	if (r)
		goto out;

	m->guard.write_ended = guarded_write_end;
	m->set = set;
	m->to = to;
	m->to_place = place;
	m->reason = reason;
	m->request = request;
	m->proposed = proposal;
	m->soon = proposal && proposal->soon;
	m->nr_pieces = nr_pieces;
	m->progress_ns = ktime_get_ns();
	bitmap_fill(m->dirty, nr_pieces);
	bio_list_init(&m->held);
	INIT_LIST_HEAD(&m->queue);
	INIT_DELAYED_WORK(&m->work, do_step);
	m->op.chunk = chunk;
	m->op.entry = tier_word(place, to->rec.id);
	m->op.done = decided;
	if (request)
		request->in_flight++;
	hash_add(set->moves->hash, &m->hash, chunk);
	set->nr_migrations++;
	set->moves->nr_ahead++;
	set->moves->nr_soon += m->soon;
	to->arrivals->coming++;
	m->from->arrivals->leaving += m->from != to;
	__tier_forget_missed(set, chunk);
	__tier_change_word(set, chunk, 0, TIER_WORD_MOVING);
	trace_dm_tier_migrate_start(disk_devt(dm_disk(set->md)), chunk, m->from->rec.rank,
				    m->from_place, to->rec.rank, place, reason, 0);
out:
	spin_unlock_irq(&set->lock);
	if (r)
		kfree(m);
	else
		call_srcu(&m->from->readers, &m->rcu, quiesced);
	return r;
}

/* ---- copy ---- */

static void copied(void *context, bool write, blk_status_t status)
{
	struct tier_migration *m = context;

	if (status) {
		tier_note_error(write ? m->to : m->from, write, BLK_STS_IOERR);
		m->error = -EIO;
	}
	/* Copies at the same time share the devices. */
	m->copy_ns += div_u64(ktime_get_ns() - m->run_start_ns,
			      atomic_fetch_dec(&m->set->moves->nr_sent));
	WRITE_ONCE(m->progress_ns, ktime_get_ns());
	next_step(m, m->step);
}

/* Not inlined, as the crash tests watch it begin. */
static noinline void copy_pieces(struct tier_migration *m, unsigned int first, unsigned int end)
{
	struct tier_set *set = m->set;
	u32 count = (end - first) * TIER_PIECE_SECTORS;
	unsigned int piece;

	for (piece = first; piece < end; piece++)
		clear_bit(piece, m->dirty);
	/* The bits are cleared before the copy reads; pairs with guarded_write_end(). */
	smp_mb__after_atomic();

	m->last_run = end - first;
	m->copied_pieces += m->last_run;
	m->run_start_ns = ktime_get_ns();
	tier_budget_take(set, count);
	if (!m->soon) {
		tier_pace_take(m->from, TIER_PACE_COPY, count);
		if (m->to != m->from)
			tier_pace_take(m->to, TIER_PACE_COPY, count);
	}
	if (m->proposed)
		tier_count_written(m->to, count);
	else
		tier_wear_take(set, m->to, count);
	atomic_inc(&set->moves->nr_sent);
	tier_copy(m->copy, m->from, m->from_place, m->to, m->to_place,
		  first * TIER_PIECE_SECTORS, count, copied, m);
}

/* Copies the first run of dirty pieces at or after the cursor. */
static bool copy_run(struct tier_migration *m)
{
	unsigned int first, end;

	first = find_next_bit(m->dirty, m->nr_pieces, m->next_piece);
	if (first >= m->nr_pieces)
		return false;
	end = find_next_zero_bit(m->dirty, m->nr_pieces, first);
	end = min(end, first + STEP_PIECES);
	m->next_piece = end;
	copy_pieces(m, first, end);
	return true;
}

/*
 * A move also stops if its destination is evacuated, or fails before all is copied.  Later the
 * flush tells whether the copy is safe there.
 */
static bool shall_stop(struct tier_migration *m)
{
	return m->error || READ_ONCE(m->cancelled) || tier_set_frozen(m->set) ||
	       (m->stage < STAGE_COPIED ? !tier_open(m->to) :
		READ_ONCE(m->to->rec.flags) & TIER_RECORD_EVACUATE);
}

/*
 * Holds writes if no more than one step's pieces are left: the dirty ones, and those that the
 * writes in flight will dirty.  *ready: no write is in flight.
 */
static bool hold_writes(struct tier_migration *m, bool *ready)
{
	struct tier_set *set = m->set;
	unsigned int left;
	bool few;

	spin_lock_irq(&set->lock);
	left = bitmap_weight(m->dirty, m->nr_pieces) + m->writing;
	few = min(left, m->nr_pieces) <= STEP_PIECES;
	if (few) {
		if (!m->cancelled)
			__tier_change_word(set, m->chunk, 0, TIER_WORD_HELD);
		*ready = !m->writers;
		m->waiting_for_writers = m->writers;
		m->step = step_last;
	}
	spin_unlock_irq(&set->lock);
	return few;
}

/* Lets writes through by quota, unless the move was given up. */
static void press(struct tier_migration *m)
{
	spin_lock_irq(&m->set->lock);
	WRITE_ONCE(m->pressing, !m->cancelled);
	spin_unlock_irq(&m->set->lock);
}

/* Jiffies until the budget, and the pace of both tiers, allow the next step. */
static unsigned long copy_wait(struct tier_migration *m)
{
	unsigned long wait = tier_budget_wait(m->set, 0);

	/* First writes wait for the places that moves hold. */
	if (m->soon || !bio_list_empty(&m->set->starved))
		return wait;
	return max3(wait, tier_pace_wait(m->from, TIER_PACE_COPY),
		    tier_pace_wait(m->to, TIER_PACE_COPY));
}

static void step_copy(struct tier_migration *m)
{
	struct tier_set *set = m->set;
	unsigned long wait;
	bool empty, ready;

	m->step = step_copy;
	if (shall_stop(m)) {
		step_abort(m);
		return;
	}
	if (!m->copy)
		m->copy = tier_copy_get(set);
	/* A move that holds writes back does not wait for its budget; the next move does. */
	wait = !m->copy ? HZ : READ_ONCE(m->pressing) ? 0 : copy_wait(m);
	if (wait) {
		/* A short wait, as a cancel is noticed only afterwards. */
		WRITE_ONCE(m->progress_ns, ktime_get_ns());
		queue_delayed_work(set->wq, &m->work, min(wait, HZ / 10UL));
		return;
	}
	if (READ_ONCE(m->pressing)) {
		spin_lock_irq(&set->lock);
		m->quota = min_t(int, m->quota + m->last_run, STEP_PIECES);
		m->last_run = 0;
		spin_unlock_irq(&set->lock);
		/* Writes that exceed the quota are held again. */
		release_held(m);
	}
	if (copy_run(m))
		return;

	/* If pieces were copied, a pass over the chunk has ended. */
	m->passes += !!m->next_piece;
	m->next_piece = 0;
	if (hold_writes(m, &ready)) {
		if (ready)
			step_last(m);
		return;
	}
	if (m->passes >= PASSES_UNTIL_PRESSING)
		press(m);
	/*
	 * Without a dirty piece there is nothing to do until a write ends.  If the writes in flight
	 * were charged for less than they write, other writes are let through meanwhile.
	 */
	empty = bitmap_empty(m->dirty, m->nr_pieces);
	if (empty && READ_ONCE(m->writing) > READ_ONCE(m->writers) * MOST_CHARGED)
		m->last_run = STEP_PIECES;
	queue_delayed_work(set->wq, &m->work, empty);
}

/* No write is in flight, and new ones are held: copies the last pieces. */
static void step_last(struct tier_migration *m)
{
	if (shall_stop(m)) {
		step_abort(m);
		return;
	}
	if (copy_run(m))
		return;
	if (m->next_piece) {
		m->next_piece = 0;
		if (!bitmap_empty(m->dirty, m->nr_pieces)) {
			next_step(m, step_last);
			return;
		}
	}
	/* No sender was told that the copy is written. */
	cmpxchg(&m->to->unflushed, 0, TIER_UNFLUSHED_TOLD);
	spin_lock_irq(&m->set->lock);
	__end_copy(m, STAGE_COPIED);
	if (m->cancelled || !bio_list_empty(&m->held))
		__hurry(m);
	spin_unlock_irq(&m->set->lock);
}

/* ---- flush and commit ---- */

/* Commits the moves whose flush has ended. */
static void __commit_flushed(struct tier_arrivals *a)
{
	struct tier_set *set = a->tier->set;
	struct tier_migration *m;
	unsigned int nr = 0;

	while ((m = list_first_entry_or_null(&a->flushed, struct tier_migration, queue))) {
		list_del_init(&m->queue);
		WRITE_ONCE(m->progress_ns, ktime_get_ns());
		/* After an earlier flush failed, the device may have dropped data of the copy. */
		if (a->status || a->failed_flushes != m->failed_flushes)
			m->error = -EIO;
		m->committing = !shall_stop(m);
		if (m->committing)
			__tier_queue_op(set, &m->op);
		else
			next_step(m, step_abort);
		if (!(++nr % TIER_MOST_HELD))
			__tier_relax(set);
	}
}

/*
 * Closes the batch that has gathered, unless the one before it is still being flushed.  Only
 * this work takes moves off a batch.
 */
static void do_batch(struct work_struct *work)
{
	struct tier_arrivals *a = container_of(work, struct tier_arrivals, work);
	struct tier_set *set = a->tier->set;
	struct tier_migration *m, *next;
	unsigned int nr = 0;
	bool send;

	spin_lock_irq(&set->lock);
	__commit_flushed(a);
	send = a->close && list_empty(&a->flushing);
	list_for_each_entry_safe(m, next, &a->copied, queue) {
		if (!(++nr % TIER_MOST_HELD))
			__tier_relax(set);
		if (shall_stop(m)) {
			list_del_init(&m->queue);
			next_step(m, step_abort);
		} else if (send) {
			list_move_tail(&m->queue, &a->flushing);
			WRITE_ONCE(m->progress_ns, ktime_get_ns());
		} else {
			continue;
		}
		m->stage = STAGE_FLUSH;
		a->nr_copied--;
	}
	if (!a->nr_copied)
		a->close = false;
	send &= !list_empty(&a->flushing);
	/* One may have come while the lock was not held. */
	if (a->close && list_empty(&a->flushing))
		queue_work(a->tier->wq, &a->work);
	spin_unlock_irq(&set->lock);
	if (send)
		tier_flush_tier(a->tier, &a->flush);
}

static void flushed(struct tier_flush_wait *wait, blk_status_t status, struct bio_list *ended)
{
	struct tier_arrivals *a = container_of(wait, struct tier_arrivals, flush);

	a->status = status;
	a->failed_flushes = tier_failed_flushes(a->tier);
	list_splice_init(&a->flushing, &a->flushed);
	queue_work(a->tier->wq, &a->work);
}

/* ---- end ---- */

static void old_place_quiet(struct rcu_head *rcu)
{
	next_step(container_of(rcu, struct tier_migration, rcu), step_end);
}

/* The commit's result: set->commit is held. */
static void decided(struct tier_set *set, struct tier_op *op, bool committed)
{
	struct tier_migration *m = container_of(op, struct tier_migration, op);

	if (!committed) {
		/* If the metadata is full, the move is tried again later. */
		if (!tier_set_full(set))
			m->error = -EIO;
		next_step(m, step_abort);
		return;
	}
	spin_lock_irq(&set->lock);
	__tier_publish(set, m->chunk, m->op.entry | tier_reason_bits(m->reason));
	/* A pass may have gone by while the chunk moved. */
	if (tier_word_astray(set, set->map[m->chunk]))
		__tier_mark_astray(set);
	m->stage = STAGE_ENDED;
	WRITE_ONCE(m->progress_ns, ktime_get_ns());
	set->migrated_sectors += set->chunk_sectors;
	if (m->to->rec.rank < m->from->rec.rank)
		set->promotions++;
	else if (m->to->rec.rank > m->from->rec.rank)
		set->demotions++;
	spin_unlock_irq(&set->lock);
	trace_dm_tier_migrate_end(disk_devt(dm_disk(set->md)), m->chunk, m->from->rec.rank,
				  m->from_place, m->to->rec.rank, m->to_place, m->reason, 0);
	release_held(m);
	call_srcu(&m->from->readers, &m->rcu, old_place_quiet);
}

/* Tells the policy or the request that the move has ended. */
static void tell_end(struct tier_migration *m, bool moved)
{
	struct tier_move move = { .chunk = m->chunk, .to = m->to->rec.rank };
	struct tier_set *set = m->set;

	if (moved)
		tier_gauge_copy(m->from, m->to, div_u64(m->copy_ns * m->nr_pieces,
							max(1U, m->copied_pieces)));
	if (m->proposed) {
		tier_policy_done(set, &move, moved);
		tier_wear_give_back(set, m->to);
	}
	if (m->request)
		tier_request_ended(set, m->request, m->chunk, !moved && !m->error &&
				   (m->stopped || tier_set_frozen(set)));
}

static void finish(struct tier_migration *m, bool moved)
{
	struct tier_set *set = m->set;

	tell_end(m, moved);
	spin_lock_irq(&set->lock);
	hash_del(&m->hash);
	if (moved)
		__tier_free_place(m->from, m->from_place);
	else
		__tier_free_place(m->to, m->to_place);
	set->nr_migrations--;
	set->moves->nr_soon -= m->soon;
	set->moves->nr_stuck -= m->stuck;
	m->from->arrivals->leaving -= !m->stuck && m->from != m->to;
	__tier_wake_starved(set);
	tier_kick_mover(set);
	/* With the lock held: a quiet set may be freed. */
	wake_up(&set->idle_wait);
	spin_unlock_irq(&set->lock);
	kfree(m);
}

static void step_end(struct tier_migration *m)
{
	finish(m, true);
}

static void step_abort(struct tier_migration *m)
{
	struct tier_set *set = m->set;

	/* Without memory for the note the move is tried again; held writes do not wait. */
	if (m->error)
		tier_note_copy_failed(set, m->chunk);
	spin_lock_irq(&set->lock);
	if (m->writers) {
		/* These writes point to m; the end of the last one leads back here. */
		WRITE_ONCE(m->progress_ns, ktime_get_ns());
		__tier_change_word(set, m->chunk, 0, TIER_WORD_HELD);
		m->waiting_for_writers = true;
		m->step = step_last;
		m->cancelled = true;
		spin_unlock_irq(&set->lock);
		return;
	}
	if (m->stage == STAGE_COPY)
		__end_copy(m, STAGE_FLUSH);
	__tier_change_word(set, m->chunk, TIER_WORD_MOVING | TIER_WORD_HELD, 0);
	m->stage = STAGE_ENDED;
	/* A requested chunk whose copy has not begun counts as if its move had not begun either. */
	if (m->error || (m->request && !m->copied_pieces && !tier_open(m->to)))
		set->failed++;
	else
		set->aborted++;
	__tier_note_missed(set, m->chunk, m->error ? "io_error" :
			 tier_open(m->to) ? "aborted" : "tier_unusable");
	spin_unlock_irq(&set->lock);
	trace_dm_tier_migrate_abort(disk_devt(dm_disk(set->md)), m->chunk, m->from->rec.rank,
				    m->from_place, m->to->rec.rank, m->to_place, m->reason,
				    m->error);
	release_held(m);
	finish(m, false);
}

static int init_tier(struct tier *t)
{
	struct tier_arrivals *a = t->arrivals;

	a->tier = t;
	INIT_LIST_HEAD(&a->ready);
	INIT_LIST_HEAD(&a->copied);
	INIT_LIST_HEAD(&a->flushing);
	INIT_LIST_HEAD(&a->flushed);
	INIT_WORK(&a->work, do_batch);
	a->flush.fn = flushed;
	return 0;
}

static void release_tier(struct tier *t)
{
	cancel_work_sync(&t->arrivals->work);
}

const struct tier_room tier_arrivals_room = TIER_ROOM(arrivals, init_tier, release_tier);

static int init(struct tier_set *set)
{
	hash_init(set->moves->hash);
	return 0;
}

const struct tier_set_room tier_migrate_room = TIER_SET_ROOM(moves, init, NULL);
