// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mover decides which migration starts next, in this order: chunks that a
 * message asked for, chunks that are not where their pin or an evacuation wants
 * them, what the policy proposes.  It keeps the set within migration_depth,
 * migration_bandwidth, moves that do not pay soon within the pace of their tiers, and
 * the policy within each tier's endurance.
 */
#include "mover.h"

#include <linux/part_stat.h>
#include <linux/random.h>

#include "alloc.h"
#include "birth.h"
#include "budget.h"
#include "flush.h"
#include "gauge.h"
#include "health.h"
#include "kick.h"
#include "migrate.h"
#include "missed.h"
#include "publish.h"
#include "request.h"
#include "residence.h"
#include "saver.h"
#include "wear.h"

#define IDLE_SCAN_MS		1000
#define MOVER_SCAN		65536			/* chunks looked at in one go */
#define VICTIM_TRIES		64
#define VICTIM_SAMPLES		16

/* Used by the mover's work alone, or while suspended. */
struct tier_mover {
	u32 astray_cursor;		/* the next chunk of the pass over set->astray_groups */
	u32 astray_pass_seq;		/* set->astray_seq when it began */
	bool astray_found;		/* the pass has found a chunk astray */
	bool gave_way;			/* the last call began nothing, for the io work */
	bool held;			/* the pace of a tier held moves back in this call */
	bool moved;			/* moves began since the last look */
	bool unpaced;			/* moves without a pace since the last look */
	bool forgetful;			/* no memory to tell which chunks reside */
	struct tier_view views[TIER_MAX_TIERS];
};

/* ---- what the latency guard allows ---- */

static void look(struct tier_set *set)
{
	bool still = tier_set_idle(set) && !set->mover->moved, least;
	unsigned int rank;

	for (rank = 0; rank < set->nr_tiers; rank++) {
		struct tier *t = set->tiers[rank];

		least = tier_pace_least(t) && !set->mover->unpaced;
		tier_pace_judge(t, tier_gauge_look(t, still, least));
	}
	set->mover->moved = !tier_set_idle(set);
	set->mover->unpaced = tier_moves_unpaced(set);
}

static bool pair_held(struct tier *from, struct tier *to)
{
	return tier_pace_wait(from, TIER_PACE_START) || tier_pace_wait(to, TIER_PACE_START);
}

/* Whether no move from tier to tier may begin, but for proposals that the guard lets pass. */
static bool all_held(struct tier_set *set)
{
	unsigned int rank, ready = 0;

	for (rank = 0; rank < set->nr_tiers; rank++)
		ready += !tier_pace_wait(set->tiers[rank], TIER_PACE_START);
	return ready < 2 && ready < set->nr_tiers;
}

/* Of the set, whatever tier it is for. */
static bool io_under_way(struct tier_set *set)
{
	struct block_device *bdev = dm_disk(set->md)->part0;
	long nr = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		nr += part_stat_local_read_cpu(bdev, in_flight[0], cpu) +
		      part_stat_local_read_cpu(bdev, in_flight[1], cpu);
	return nr > 0;
}

/* Nothing moved when the tiers were looked at. */
static void begin(struct tier_set *set)
{
	unsigned int rank;

	set->mover->moved = true;
	if (!io_under_way(set))
		return;
	for (rank = 0; rank < set->nr_tiers; rank++)
		tier_pace_begin(set->tiers[rank]);
}

/*
 * tier_migrate() at the pace of the two tiers, unless it pays soon; -EAGAIN also if it is not the
 * chunk's turn.
 */
static int start(struct tier_set *set, u32 chunk, struct tier *to, u64 place,
		 enum tier_reason reason, struct tier_request *request,
		 const struct tier_move *proposal)
{
	struct tier *from = set->by_id[tier_word_id(tier_get_word(set, chunk))];
	bool soon = proposal && proposal->soon;
	int r;

	if (from && !soon && pair_held(from, to)) {
		set->mover->held = true;
		return -EAGAIN;
	}
	if (!set->mover->moved)
		begin(set);
	r = tier_migrate(set, chunk, to, place, reason, request, proposal);
	if (!r && soon) {
		set->mover->unpaced = true;
	} else if (!r) {
		tier_pace_take(to, TIER_PACE_START, set->chunk_sectors);
		if (from && from != to)
			tier_pace_take(from, TIER_PACE_START, set->chunk_sectors);
	}
	return r;
}

/* ---- requests ---- */

/* The tier for chunks that have to leave `from`: the nearest one with room that answers. */
static struct tier *refuge(struct tier_set *set, const struct tier *from)
{
	struct tier *t, *hangs = NULL;
	int rank = from->rec.rank;
	int distance, side;

	for (distance = 1; distance < (int)set->nr_tiers; distance++) {
		for (side = 1; side >= -1; side -= 2) {
			int there = rank + side * distance;

			if (there < 0 || there >= (int)set->nr_tiers)
				continue;
			t = set->tiers[there];
			if (!tier_open(t) || !tier_free_places(t))
				continue;
			if (!tier_pair_hangs(set, from, t))
				return t;
			hangs = hangs ? : t;
		}
	}
	return hangs;
}

/* Whether a chunk may leave this tier.  *later: it may soon. */
static bool movable(struct tier_set *set, u32 chunk, u8 id, bool *later)
{
	u64 word = tier_get_word(set, chunk);

	if (!(word & TIER_ENTRY_MAPPED) || tier_word_id(word) != id ||
	    tier_word_pin(word) || tier_requested(set, chunk, id))
		return false;
	if (!(word & (TIER_WORD_NEW | TIER_WORD_MOVING | TIER_WORD_HELD)))
		return true;
	*later = true;
	return false;
}

/* Whether a scan found no chunk that may leave the tier, and nothing has changed since. */
static bool stuck(const struct tier *t)
{
	return t->stuck_seq == READ_ONCE(t->room_seq);
}

/* Looks for chunks that may leave the tier from a random one on, and takes the coldest. */
static bool coldest(struct tier_set *set, struct tier *t, u32 *chunk, bool *later)
{
	u32 start = get_random_u32() % set->nr_chunks, i, heat, least = U32_MAX;
	unsigned int samples = 0;
	u32 found = 0;

	for (i = 0; i < set->nr_chunks && READ_ONCE(set->running); i++) {
		u32 other = (start + (u64)i) % set->nr_chunks;

		if (!(i & 0xffff))
			cond_resched();
		/* Of few that may leave, the next one is far away. */
		if (samples && i - found > MOVER_SCAN)
			break;
		if (!movable(set, other, t->rec.id, later))
			continue;
		found = i;
		heat = tier_policy_heat(set, other);
		if (!samples || heat < least)
			*chunk = other;
		least = min(least, heat);
		if (++samples == VICTIM_SAMPLES || !least)
			break;
	}
	return samples && movable(set, *chunk, t->rec.id, later);
}

/* Starts to move an unpinned chunk away from a full tier.  0, -ENOSPC, or -EAGAIN. */
static int make_room(struct tier_set *set, struct tier *t)
{
	struct tier *to = refuge(set, t);
	u32 seq = READ_ONCE(t->room_seq);
	bool found = false, later = false;
	unsigned int tries;
	u32 chunk = 0;
	int r;

	if (tier_departures(t))
		return 0;
	if (to && pair_held(t, to)) {
		set->mover->held = true;
		return -EAGAIN;
	}
	/* A scan of all chunks takes long and is repeated only after a change. */
	if (!to || stuck(t))
		return -ENOSPC;
	for (tries = 0; !found && tries < VICTIM_TRIES; tries++) {
		if (!tier_policy_victim(set, t->rec.rank, &chunk))
			break;
		found = movable(set, chunk, t->rec.id, &later);
	}
	/* The policy names no chunk: takes the coldest of some that may leave. */
	if (!found)
		found = coldest(set, t, &chunk, &later);
	/* A suspend cut the scan short: other chunks may be able to leave. */
	if (!found && !READ_ONCE(set->running))
		return -EAGAIN;
	if (!found && later) {
		tier_commit_births(set);
		return -EAGAIN;
	}
	if (!found) {
		t->stuck_seq = seq;
		return -ENOSPC;
	}
	r = start(set, chunk, to, TIER_NO_PLACE, TIER_REASON_MAKE_ROOM, NULL, NULL);
	/* The chunk has gone, or `to` was closed: another chunk may leave. */
	return r == -ENOENT || r == -ENXIO ? -EAGAIN : r;
}

/* Moves the chunk away that lies on the place of another one: to another tier, or within t. */
static int clear_home(struct tier_set *set, struct tier *t, u64 place)
{
	struct tier *to = refuge(set, t);
	u64 elsewhere = TIER_NO_PLACE;
	u32 occupant;
	int r;

	if (!tier_place_owner(set, t, place, &occupant))
		return -EAGAIN;
	if (!to) {
		/* A move within a tier needs the number of a free place. */
		spin_lock_irq(&set->lock);
		elsewhere = __tier_alloc_place(t);
		if (elsewhere != TIER_NO_PLACE)
			__tier_free_place(t, elsewhere);
		spin_unlock_irq(&set->lock);
		if (elsewhere == TIER_NO_PLACE)
			return -ENOSPC;
	}
	r = start(set, occupant, to ? : t, elsewhere, TIER_REASON_MAKE_ROOM, NULL, NULL);
	return r == -ENOENT ? -EAGAIN : r;
}

/*
 * The next chunk of a request.  0: started; -EAGAIN: not now; -ENOENT: nothing
 * to do for this chunk; else it cannot be moved.
 */
static int start_requested(struct tier_set *set, struct tier_request *q, u32 chunk)
{
	struct tier *to = set->by_id[q->id];
	u64 word = tier_get_word(set, chunk);
	u64 place = TIER_NO_PLACE;
	int r;

	if (q->reason == TIER_REASON_HOME)
		place = chunk;
	if (place != TIER_NO_PLACE && (place < to->rec.first_place ||
				       place >= to->rec.first_place + to->rec.places))
		return -ENXIO;
	if (tier_request_met(q, chunk, word))
		return -ENOENT;
	if (!(word & TIER_ENTRY_MAPPED)) {
		if (READ_ONCE(set->home) != to)
			return -ENOENT;
		if (tier_pace_wait(to, TIER_PACE_START)) {
			set->mover->held = true;
			return -EAGAIN;
		}
		r = tier_materialise(set, chunk, to, place);
		if (!r) {
			tier_budget_take(set, set->chunk_sectors);
			tier_pace_take(to, TIER_PACE_START, set->chunk_sectors);
		}
		if (r == -ENOSPC)
			r = clear_home(set, to, place) ? : -EAGAIN;
		return r;
	}
	/* A discard that began before the way home may unmap the chunk still. */
	if (q->reason == TIER_REASON_HOME && tier_word_discarding(word))
		return -EAGAIN;
	if (word & TIER_WORD_NEW)
		tier_commit_births(set);
	r = start(set, chunk, to, place, q->reason, q, NULL);
	if (r != -ENOSPC)
		return r;
	r = q->reason == TIER_REASON_HOME ? clear_home(set, to, place) : make_room(set, to);
	return r ? : -EAGAIN;
}

/* ---- pins and evacuations ---- */

static void evacuation_progress(struct tier_set *set)
{
	unsigned int rank;

	for (rank = 0; rank < set->nr_tiers; rank++) {
		struct tier *t = set->tiers[rank];

		if (READ_ONCE(t->evacuating) && !READ_ONCE(t->used)) {
			WRITE_ONCE(t->evacuating, false);
			DMINFO("%s: tier %u is evacuated", dm_device_name(set->md), rank);
			tier_set_event(set);
		}
	}
}

static bool evacuating(struct tier_set *set)
{
	unsigned int rank;

	for (rank = 0; rank < set->nr_tiers; rank++)
		if (READ_ONCE(set->tiers[rank]->evacuating))
			return true;
	return false;
}

/* Where an astray chunk should be, NULL if it cannot go there. */
static struct tier *wanted(struct tier_set *set, u64 word, enum tier_reason *reason)
{
	struct tier *at = set->by_id[tier_word_id(word)];
	unsigned int pin = tier_word_pin(word);
	struct tier *to;
	bool leaves;

	if (!tier_present(at))
		return NULL;
	leaves = READ_ONCE(at->rec.flags) & TIER_RECORD_EVACUATE;
	if (pin && pin - 1 != at->rec.id) {
		to = set->by_id[pin - 1];
		/* A chunk of an evacuated tier does not wait for room on the tier of its pin. */
		if (to && tier_open(to) &&
		    !(leaves && (stuck(to) || tier_pair_hangs(set, at, to)))) {
			*reason = TIER_REASON_PIN;
			return to;
		}
	}
	if (leaves) {
		*reason = TIER_REASON_EVACUATE;
		return refuge(set, at);
	}
	return NULL;
}

/*
 * The last copy of this chunk failed, and only a message starts another one.  The failure is
 * noted before the word loses MOVING, so the word has to be read before the note.
 */
static bool given_up(struct tier_set *set, u32 chunk)
{
	smp_rmb();	/* the word before the note; step_abort() has locks between them */
	return tier_copy_failed(set, chunk);
}

/* A chunk that its tier cannot flush cannot leave; the commit of the chunk takes the note away. */
static void give_up_unflushed(struct tier_set *set, u32 chunk)
{
	struct tier *t;
	u64 word;

	spin_lock_irq(&set->lock);
	word = set->map[chunk];
	t = set->by_id[tier_word_id(word)];
	if ((word & TIER_WORD_NEW) &&
	    (tier_flush_failed(t) || (tier_word_partial(word) &&
				      test_bit(TIER_FLAG_WRITE_FAILED, &t->flags))) &&
	    tier_note_copy_failed(set, chunk))
		set->failed++;
	spin_unlock_irq(&set->lock);
}

/* The pass has ended.  If it found no chunk astray and nothing has changed, none is. */
static void end_astray_pass(struct tier_set *set)
{
	set->mover->astray_cursor = 0;
	spin_lock_irq(&set->lock);
	if (!set->mover->astray_found && set->astray_seq == set->mover->astray_pass_seq &&
	    !set->nr_migrations && !evacuating(set))
		set->astray = false;
	spin_unlock_irq(&set->lock);
}

/* Goes to the next group that may hold an astray chunk.  False: there is none. */
static bool next_group(struct tier_set *set)
{
	unsigned long group = set->mover->astray_cursor >> TIER_GROUP_SHIFT;

	spin_lock_irq(&set->lock);
	group = find_next_bit(set->astray_groups, TIER_GROUPS, group);
	if (group < TIER_GROUPS)
		__clear_bit(group, set->astray_groups);
	spin_unlock_irq(&set->lock);
	set->mover->astray_cursor = group << TIER_GROUP_SHIFT;
	return group << TIER_GROUP_SHIFT < set->nr_chunks;
}

/* A pass that has to wait for nothing goes on until the end (jiffies). */
static bool next_astray(struct tier_set *set, unsigned long end)
{
	bool full[TIER_MAX_TIERS] = { }, held[TIER_MAX_TIERS], waits = false;
	enum tier_reason reason;
	unsigned int rank;
	struct tier *to;
	u32 looked;
	int r;

	/* In a set that goes back to one tier, pins do not count. */
	if (READ_ONCE(set->home))
		return false;
	for (rank = 0; rank < set->nr_tiers; rank++)
		held[rank] = tier_pace_wait(set->tiers[rank], TIER_PACE_START);
	for (looked = 0; READ_ONCE(set->astray) && READ_ONCE(set->running); looked++) {
		u32 chunk = set->mover->astray_cursor;
		u64 word;

		if (looked >= MOVER_SCAN && (waits || time_after(jiffies, end)))
			break;
		if (!(looked % 4096))
			cond_resched();
		if (!chunk) {
			set->mover->astray_found = false;
			set->mover->astray_pass_seq = READ_ONCE(set->astray_seq);
		}
		if (!(chunk & (BIT(TIER_GROUP_SHIFT) - 1)) && !next_group(set)) {
			end_astray_pass(set);
			break;
		}
		chunk = set->mover->astray_cursor;
		word = tier_get_word(set, chunk);
		to = NULL;
		if (tier_word_astray(set, word)) {
			spin_lock_irq(&set->lock);
			__tier_note_astray(set, chunk);
			spin_unlock_irq(&set->lock);
			to = wanted(set, word, &reason);
		}
		if (to) {
			bool hold = held[to->rec.rank] ||
				    held[set->by_id[tier_word_id(word)]->rec.rank];

			set->mover->astray_found = true;
			set->mover->held |= hold;
			waits = true;
			r = -EAGAIN;
			if (!(tier_paused(set) && reason == TIER_REASON_EVACUATE) &&
			    !hold && !full[to->rec.rank] && !(word & TIER_WORD_MOVING) &&
			    !given_up(set, chunk)) {
				r = start(set, chunk, to, TIER_NO_PLACE, reason, NULL, NULL);
				if (r == -EAGAIN)
					give_up_unflushed(set, chunk);
			}
			if (!r)
				return true;
			if (r == -ENOSPC) {
				full[to->rec.rank] = true;
				if (reason == TIER_REASON_PIN)
					make_room(set, to);
			}
		}
		if (++set->mover->astray_cursor >= set->nr_chunks) {
			end_astray_pass(set);
			break;
		}
	}
	return false;
}

/* ---- policy ---- */

/* Places that the policy leaves free; none of the slowest tier, where what leaves others goes. */
static u64 watermark(struct tier *t)
{
	u64 percent = tier_tier_tunable(t->set, t->rec.rank, TIER_TIER_WATERMARK);

	return t->rec.rank + 1 < t->set->nr_tiers ? div_u64(t->rec.places * percent, 100) : 0;
}

const struct tier_view *tier_view_tiers(struct tier_set *set)
{
	struct tier_view *views = set->mover->views;
	unsigned int rank;

	for (rank = 0; rank < set->nr_tiers; rank++) {
		struct tier *t = set->tiers[rank];
		bool open = tier_open(t), left = tier_wear_left(set, t);
		u32 given_ns = tier_tier_tunable(set, rank, TIER_TIER_LATENCY) * NSEC_PER_USEC;
		u64 free = tier_free_places(t), kept = watermark(t);

		views[rank] = (struct tier_view) {
			.places = t->rec.places,
			.free = free > kept ? free - kept : 0,
			.lacking = kept > free ? kept - free : 0,
			.reserve = tier_tier_tunable(set, rank, TIER_TIER_RESERVE),
			.random_ns = given_ns ? : tier_gauge_unloaded_ns(t, TIER_RANDOM_READ),
			.stream_ns = tier_gauge_unloaded_ns(t, TIER_STREAM_READ),
			.random_write_ns = tier_gauge_unloaded_ns(t, TIER_RANDOM_WRITE),
			.stream_write_ns = tier_gauge_unloaded_ns(t, TIER_STREAM_WRITE),
			.chunk_ns = tier_gauge_chunk_ns(t),
			.load = *tier_gauge_load(t),
			.open = open && left,
			.spent = open && !left,
			.held = tier_asleep(t) ? TIER_HOLD_QUIET :
				tier_pace_wait(t, TIER_PACE_START) ? TIER_HOLD_GUARD :
				TIER_HOLD_NOTHING,
		};
	}
	return views;
}

/* What keeps the policy from any move now. */
static enum tier_hold policy_hold(struct tier_set *set)
{
	return tier_paused(set) ? TIER_HOLD_PAUSED :
	       tier_saver_reads(set) ? TIER_HOLD_UNREAD :
	       set->mover->forgetful ? TIER_HOLD_RESIDENCE : TIER_HOLD_NOTHING;
}

enum tier_hold tier_mover_why(struct tier_set *set, u32 chunk)
{
	u64 word = tier_get_word(set, chunk), ahead;
	struct tier *at = set->by_id[tier_word_id(word)];
	enum tier_hold held;
	u32 tokens, cap;
	bool may;

	if (!(word & TIER_ENTRY_MAPPED))
		return TIER_HOLD_UNMAPPED;
	if (!tier_present(at))
		return TIER_HOLD_MISSING;
	if (tier_word_pin(word))
		return TIER_HOLD_PINNED;
	if (tier_requested(set, chunk, at->rec.id))
		return TIER_HOLD_REQUESTED;
	if (tier_set_frozen(set))
		return TIER_HOLD_READ_ONLY;
	may = tier_may_migrate(set, &ahead);
	tier_budget_tokens(set, ahead, &tokens, &cap);
	/* First what would keep the chunk there also if the set did all it could. */
	held = tier_policy_why(set, chunk, tokens, cap);
	if (!held && tier_resides(set, chunk, at))
		held = TIER_HOLD_RESIDENCE;
	held = held ? : policy_hold(set);
	return held || may ? held : TIER_HOLD_DEPTH;
}

static bool next_proposal(struct tier_set *set, u64 ahead)
{
	enum tier_hold held = policy_hold(set);
	struct tier_move move = { };
	u32 tokens, cap;
	struct tier *to;
	int r = -ENOENT;

	tier_budget_tokens(set, ahead, &tokens, &cap);
	if (!held && cap && !tokens)
		held = TIER_HOLD_BUDGET;
	if (held) {
		tier_policy_hold(set, held);
		return false;
	}
	if (!tier_policy_next(set, tier_view_tiers(set), tokens, cap, &move))
		return false;

	if (move.chunk < set->nr_chunks && move.to < set->nr_tiers) {
		to = set->tiers[move.to];
		if (tier_wear_take_chunk(set, to)) {
			r = start(set, move.chunk, to, TIER_NO_PLACE, TIER_REASON_POLICY, NULL,
				  &move);
			if (r)
				tier_wear_give_back(set, to);
		}
	}
	if (r)
		tier_policy_done(set, &move, false);
	return !r;
}

/* ---- the work ---- */

/* A watermark is not kept: what is to make room may have come lately, or was not found yet. */
static bool lacks_room(struct tier_set *set)
{
	unsigned int rank;

	for (rank = 0; rank < set->nr_tiers; rank++)
		if (set->mover->views[rank].lacking)
			return !tier_paused(set);
	return false;
}

static bool requests_pending(struct tier_set *set)
{
	bool pending;

	spin_lock_irq(&set->lock);
	pending = __tier_requests_pending(set);
	spin_unlock_irq(&set->lock);
	return pending;
}

static void start_moves(struct tier_set *set)
{
	unsigned long end = jiffies + msecs_to_jiffies(TIER_OBSERVE_MS);
	bool started = true, again = false, wait;
	unsigned int ms = TIER_OBSERVE_MS;
	u64 ahead;

	look(set);
	set->mover->forgetful = !tier_residence_keep(set);
	set->mover->held = false;
	tier_policy_tick(set, tier_view_tiers(set));
	tier_saver_watch(set);

	if (tier_set_frozen(set))
		return;
	/*
	 * Bios that a move has held come first, once: a discard among them, which cancelled that
	 * move, would cancel the next one of the chunk as well.
	 */
	set->mover->gave_way = !set->mover->gave_way && work_pending(&set->io_work);
	if (set->mover->gave_way) {
		started = false;
		again = true;
		ms = 1;
	}
	while (started && READ_ONCE(set->running)) {
		if (!tier_may_migrate(set, &ahead)) {
			tier_policy_hold(set, policy_hold(set) ? : TIER_HOLD_DEPTH);
			break;
		}
		/* Moves under way have to be watched, too. */
		wait = tier_budget_wait(set, ahead);
		if (wait || time_after(jiffies, end)) {
			if (wait)
				tier_policy_hold(set, policy_hold(set) ? : TIER_HOLD_BUDGET);
			again = true;
			break;
		}
		started = tier_request_next(set, start_requested, &again);
		if (again)
			break;
		if (!started && all_held(set)) {
			set->mover->held = true;
			/* The place that is made for a request is not for others. */
			if (requests_pending(set))
				break;
		} else if (!started) {
			started = next_astray(set, end);
		}
		/* The guard lets some proposals pass. */
		if (!started)
			started = next_proposal(set, ahead);
	}
	evacuation_progress(set);
	again |= set->mover->held;
	/* Requests and pins may wait for room, a commit or their turn. */
	spin_lock_irq(&set->lock);
	if (!again && !__tier_requests_pending(set) && tier_set_idle(set)) {
		/* Chunks astray may be unable to move now; a change kicks the mover. */
		again = set->astray && !set->home;
		if (!again || (!set->mover->astray_cursor &&
			       set->astray_seq == set->mover->astray_pass_seq))
			ms = IDLE_SCAN_MS;
		again |= lacks_room(set);
	} else {
		again = true;
	}
	again &= set->running;
	spin_unlock_irq(&set->lock);
	if (again)
		queue_delayed_work(set->wq, &set->mover_work, msecs_to_jiffies(ms));
}

static void do_mover(struct work_struct *work)
{
	struct tier_set *set = container_of(work, struct tier_set, mover_work.work);
	bool crowded;

	WRITE_ONCE(set->observe_armed, 0);
	/* Before the search for moves, which may take long. */
	tier_watch_migrations(set);
	spin_lock_irq(&set->lock);
	__tier_retry_deferred(set);
	spin_unlock_irq(&set->lock);
	crowded = tier_release_crowded(set);
	if (READ_ONCE(set->running))
		start_moves(set);
	if (crowded || !tier_set_idle(set))
		tier_watch_stalls(set);
}

void tier_mover_restart(struct tier_set *set)
{
	/* Not all of this group has been looked at. */
	__set_bit(set->mover->astray_cursor >> TIER_GROUP_SHIFT, set->astray_groups);
	set->mover->astray_cursor = 0;
	set->astray = true;
}

static int init(struct tier_set *set)
{
	INIT_DELAYED_WORK(&set->mover_work, do_mover);
	return 0;
}

const struct tier_set_room tier_mover_room = TIER_SET_ROOM(mover, init, NULL);
