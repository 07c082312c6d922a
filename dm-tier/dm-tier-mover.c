// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mover decides which migration starts next, in this order: chunks that a
 * message asked for, chunks that are not where their pin or an evacuation wants
 * them, what the policy proposes.  It keeps the set within migration_depth,
 * migration_bandwidth, and the policy within each tier's endurance.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dm-tier.h"

#define IDLE_SCAN_MS		1000
#define MOVER_SCAN		65536			/* chunks looked at in one go */
#define OWNER_SCAN		256			/* with the lock held */
#define VICTIM_TRIES		64
#define SECTORS_PER_GIB		BIT_ULL(21)
#define GUARD_BACKOFF_NS	(NSEC_PER_SEC / 2)
#define FADE_NS			(10 * NSEC_PER_SEC)
#define NS_PER_DAY		(86400ULL * NSEC_PER_SEC)

/* ---- budget ---- */

/* set->lock held.  Sectors accrue at the bandwidth, for at most a second. */
static u64 refill(struct tier_set *set)
{
	u64 rate = tier_tunable(set, TIER_TUNABLE_BANDWIDTH) * 2;	/* sectors/s */
	u64 now = ktime_get_ns();
	u64 dt = min_t(u64, now - set->budget_stamp, NSEC_PER_SEC);
	s64 cap = max_t(u64, rate, set->chunk_sectors);
	u64 gain = div_u64(rate * div_u64(dt, NSEC_PER_USEC), USEC_PER_SEC);

	if (gain || !rate) {
		set->budget = min_t(s64, set->budget + gain, cap);
		set->budget_stamp = now;
	}
	return rate;
}

unsigned long tier_budget_wait(struct tier_set *set)
{
	unsigned long wait = 0;
	u64 rate;

	spin_lock_irq(&set->lock);
	rate = refill(set);
	if (rate && set->budget <= 0)
		wait = 1 + div64_u64((u64)(1 - set->budget) * HZ, rate);
	spin_unlock_irq(&set->lock);
	return wait;
}

/* The day's allowance of a tier accrues evenly; a tenth of it may be saved up. */
static void refill_wear(struct tier_set *set, struct tier *to)
{
	u64 day = tier_tier_tunable(set, to->rec.rank, TIER_TIER_ENDURANCE) * SECTORS_PER_GIB;
	u64 cap = max_t(u64, div_u64(day, 10), set->chunk_sectors);
	u64 now = ktime_get_ns();
	u64 gain;

	lockdep_assert_held(&set->lock);
	if (!day)
		return;
	if (!to->wear_stamp) {
		to->wear_stamp = now;
		to->wear_left = cap;
	}
	gain = mul_u64_u64_div_u64(day, now - to->wear_stamp, NS_PER_DAY);
	to->wear_left = min(to->wear_left + gain, cap);
	/* What did not make a sector yet is not lost. */
	to->wear_stamp += mul_u64_u64_div_u64(gain, NS_PER_DAY, day);
}

/* Takes a chunk's worth, before others in flight find the same allowance. */
static bool wear_allows(struct tier_set *set, struct tier *to)
{
	if (!tier_tier_tunable(set, to->rec.rank, TIER_TIER_ENDURANCE))
		return true;
	refill_wear(set, to);
	if (to->wear_left < set->chunk_sectors)
		return false;
	to->wear_left -= set->chunk_sectors;
	return true;
}

bool tier_wear_left(struct tier_set *set, struct tier *t)
{
	bool left;

	if (!tier_tier_tunable(set, t->rec.rank, TIER_TIER_ENDURANCE))
		return true;
	spin_lock_irq(&set->lock);
	refill_wear(set, t);
	left = t->wear_left >= set->chunk_sectors;
	spin_unlock_irq(&set->lock);
	return left;
}

void tier_budget_take(struct tier_set *set, struct tier_migration *m, u32 sectors)
{
	struct tier *to = m->to;

	spin_lock_irq(&set->lock);
	if (tier_tunable(set, TIER_TUNABLE_BANDWIDTH))
		set->budget -= sectors;
	/* What the policy proposed has paid for its first pass. */
	if (!m->proposed || m->copied_pieces > m->nr_pieces) {
		refill_wear(set, to);
		to->wear_left -= min_t(u64, to->wear_left, sectors);
	}
	spin_unlock_irq(&set->lock);
}

/*
 * A free slot among migration_depth, and a place that no first write wants.  Migrations that
 * hang on a dead tier do not count, so that they do not stop those between the others.
 */
static bool slot_free(struct tier_set *set)
{
	unsigned int depth = tier_tunable(set, TIER_TUNABLE_DEPTH);
	unsigned int busy;
	bool is_free;

	spin_lock_irq(&set->lock);
	busy = __tier_busy_migrations(set);
	is_free = busy < depth && !__tier_crowds_births(set, busy);
	spin_unlock_irq(&set->lock);
	return is_free;
}

/* ---- what is measured ---- */

static void measure(struct tier_set *set)
{
	u64 guard = tier_tunable(set, TIER_TUNABLE_LATENCY_GUARD);
	unsigned int rank;

	for (rank = 0; rank < set->nr_tiers; rank++) {
		struct tier *t = set->tiers[rank];
		u64 ns = 0, nr = 0, mean;
		u32 chunk_ns;
		int cpu;

		for_each_possible_cpu(cpu) {
			struct tier_stats *s = per_cpu_ptr(t->stats, cpu);

			ns += READ_ONCE(s->sampled_ns);
			nr += READ_ONCE(s->sampled);
		}
		/* A cost so high that nothing moves would never be measured again. */
		chunk_ns = READ_ONCE(t->chunk_ns);
		if (chunk_ns && ktime_get_ns() - READ_ONCE(t->copied_ns) > FADE_NS) {
			WRITE_ONCE(t->chunk_ns, max(chunk_ns - chunk_ns / 8,
						    READ_ONCE(t->least_chunk_ns)));
			WRITE_ONCE(t->copied_ns, ktime_get_ns());
		}
		if (nr < t->last_sampled + 8)
			continue;
		mean = div64_u64(ns - t->last_sampled_ns, nr - t->last_sampled);
		mean = min_t(u64, mean, U32_MAX);
		t->last_sampled_ns = ns;
		t->last_sampled = nr;
		if (tier_set_idle(set) || !t->random_ns)
			t->random_ns = t->random_ns ? (t->random_ns * 7ULL + mean) / 8 : mean;
		else if (guard && mean * 100 > t->random_ns * (100 + guard))
			set->backoff_until = ktime_get_ns() + GUARD_BACKOFF_NS;
	}
}

/* ---- requests ---- */

/* A pin or a request that kept chunks where they are may have gone. */
static void may_go(struct tier_set *set)
{
	unsigned int rank;

	lockdep_assert_held(&set->lock);
	for (rank = 0; rank < set->nr_tiers; rank++)
		set->tiers[rank]->room_seq++;
}

/* Those it has moved already count: they shall not make room for the others. */
static bool chunk_requested(struct tier_set *set, u32 chunk, u8 id)
{
	struct tier_request *q;
	bool found = false;

	/* Messages add to the list and cut what is on it. */
	spin_lock_irq(&set->lock);
	list_for_each_entry(q, &set->requests, list)
		found |= q->id == id && !q->dropped && chunk >= q->low && chunk < q->end;
	spin_unlock_irq(&set->lock);
	return found;
}

/*
 * The last word counts: what a new request covers is taken off older ones, what
 * they have done already (from low on) included.  So they never overlap, and at
 * most one of them is cut in two; *rest is its upper part then.
 */
static void supersede(struct tier_set *set, u32 first, u32 end, struct tier_request **rest)
{
	struct tier_request *q;

	list_for_each_entry(q, &set->requests, list) {
		if (q->end <= first || q->low >= end)
			continue;
		if (q->low < first && q->end > end && *rest) {
			**rest = *q;
			(*rest)->first = max(q->first, end);
			(*rest)->low = end;
			(*rest)->in_flight = 0;
			list_add(&(*rest)->list, &q->list);
			*rest = NULL;
		}
		if (q->low < first) {
			q->end = first;
			q->first = min(q->first, first);
		} else {
			q->low = min(end, q->end);
			q->first = max(q->first, q->low);
		}
	}
}

int tier_request_migration(struct tier_set *set, u32 first, u32 nr, struct tier *to,
			   enum tier_reason reason)
{
	struct tier_request *q = kzalloc(sizeof(*q), GFP_KERNEL);
	struct tier_request *rest = kzalloc(sizeof(*rest), GFP_KERNEL);

	if (!q || !rest) {
		kfree(q);
		kfree(rest);
		return -ENOMEM;
	}
	q->first = first;
	q->low = first;
	q->end = first + nr;
	q->id = to->rec.id;
	q->reason = reason;
	spin_lock_irq(&set->lock);
	supersede(set, first, q->end, &rest);
	list_add_tail(&q->list, &set->requests);
	may_go(set);
	spin_unlock_irq(&set->lock);
	kfree(rest);
	tier_kick_mover(set);
	return 0;
}

/* Replaces the table of who lies where; NULL when nothing is sent home any more. */
static void keep_owners(struct tier_set *set, u32 *owners, u8 id, u32 places)
{
	u32 *old;

	spin_lock_irq(&set->lock);
	old = set->home_owner;
	set->home_owner = owners;
	set->home_id = id;
	set->home_places = places;
	spin_unlock_irq(&set->lock);
	vfree(old);
}

static void drop_owners(struct tier_set *set)
{
	keep_owners(set, NULL, 0, 0);
}

void __tier_note_owner(struct tier_set *set, const struct tier *t, u64 place, u32 chunk)
{
	u64 bit = place - t->rec.first_place;

	lockdep_assert_held(&set->lock);
	if (set->home_owner && set->home_id == t->rec.id && bit < set->home_places)
		WRITE_ONCE(set->home_owner[bit], chunk);
}

void tier_drop_requests(struct tier_set *set, const struct tier *to)
{
	struct tier_request *q;

	spin_lock_irq(&set->lock);
	list_for_each_entry(q, &set->requests, list)
		if (q->id == to->rec.id)
			q->dropped = true;
	may_go(set);
	spin_unlock_irq(&set->lock);
}

void tier_bound_requests(struct tier_set *set)
{
	struct tier_request *q;

	list_for_each_entry(q, &set->requests, list) {
		q->end = min(q->end, set->nr_chunks);
		q->first = min(q->first, q->end);
	}
	drop_owners(set);
	tier_forget_missed(set);
}

void tier_free_requests(struct tier_set *set)
{
	struct tier_request *q, *next;

	list_for_each_entry_safe(q, next, &set->requests, list) {
		list_del(&q->list);
		kfree(q);
	}
	drop_owners(set);
	tier_forget_missed(set);
}

/* The tier that a chunk displaced from `from` goes to: the nearest with room that answers. */
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

/* May a chunk leave this tier for another one?  *later: not now, but soon. */
static bool movable(struct tier_set *set, u32 chunk, u8 id, bool *later)
{
	u64 word = tier_get_word(set, chunk);

	if (!(word & TIER_ENTRY_MAPPED) || tier_word_id(word) != id ||
	    tier_word_pin(word) || chunk_requested(set, chunk, id))
		return false;
	if (!(word & (TIER_WORD_NEW | TIER_WORD_MOVING | TIER_WORD_HELD)))
		return true;
	*later = true;
	return false;
}

/* Whether a place of this tier is about to become free, as far as devices answer. */
static bool departures(struct tier_set *set, const struct tier *t)
{
	struct tier_migration *m;
	bool found = false;

	spin_lock_irq(&set->lock);
	list_for_each_entry(m, &set->migrations, list)
		found |= m->from == t && m->to != t && !tier_migration_hangs(m);
	spin_unlock_irq(&set->lock);
	return found;
}

/* Whether a look at all chunks found none that may make room, and nothing has changed since. */
static bool stuck(const struct tier *t)
{
	return t->stuck_seq == READ_ONCE(t->room_seq);
}

/* Starts to move something unpinned away from a full tier.  0, -ENOSPC, or try again. */
static int make_room(struct tier_set *set, struct tier *t)
{
	struct tier *to = refuge(set, t);
	u32 seq = READ_ONCE(t->room_seq);
	bool found = false, later = false;
	unsigned int tries;
	u32 chunk = 0;
	u32 i;
	int r;

	if (departures(set, t))
		return 0;
	/* To look at all chunks takes its time: not again before something has changed. */
	if (!to || stuck(t))
		return -ENOSPC;
	mutex_lock(&set->policy_lock);
	for (tries = 0; !found && tries < VICTIM_TRIES; tries++) {
		if (!set->policy || !set->policy_type->victim ||
		    !set->policy_type->victim(set->policy, t->rec.rank, &chunk))
			break;
		found = movable(set, chunk, t->rec.id, &later);
	}
	mutex_unlock(&set->policy_lock);
	/* The policy has no opinion: the first that may go, from a random start. */
	if (!found) {
		u32 start = get_random_u32() % set->nr_chunks;

		for (i = 0; !found && i < set->nr_chunks && READ_ONCE(set->running); i++) {
			chunk = (start + (u64)i) % set->nr_chunks;
			found = movable(set, chunk, t->rec.id, &later);
			if (!(i & 0xffff))
				cond_resched();
		}
	}
	/* A suspend cut the look short: that says nothing of those it did not come to. */
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
	r = tier_migrate(set, chunk, to, TIER_NO_PLACE, TIER_REASON_MAKE_ROOM, NULL, false);
	/* It has gone meanwhile, or `to` was closed: that says nothing of who needs the room. */
	return r == -ENOENT || r == -ENXIO ? -EAGAIN : r;
}

/*
 * One scan of all chunks, and whoever comes to lie on a place meanwhile, or later, is noted:
 * so the table is never out of date as long as homing lasts.
 */
static bool find_owners(struct tier_set *set, struct tier *t)
{
	u32 places = min_t(u64, t->rec.places, set->nr_chunks - t->rec.first_place);
	u32 i = 0, end, *owners;
	unsigned int noio;
	u64 word;

	/* A suspend, which blocks what reclaim would write, waits for the mover. */
	noio = memalloc_noio_save();
	owners = vmalloc(array_size(places, sizeof(u32)));
	memalloc_noio_restore(noio);
	if (!owners)
		return false;
	memset(owners, 0xff, array_size(places, sizeof(u32)));
	keep_owners(set, owners, t->rec.id, places);
	while (i < set->nr_chunks && READ_ONCE(set->running)) {
		end = min(i + OWNER_SCAN, set->nr_chunks);
		spin_lock_irq(&set->lock);
		for (; i < end; i++) {
			word = set->map[i];
			if ((word & TIER_ENTRY_MAPPED) && tier_word_id(word) == t->rec.id)
				__tier_note_owner(set, t, tier_word_place(word), i);
		}
		spin_unlock_irq(&set->lock);
		cond_resched();
	}
	if (i < set->nr_chunks) {
		drop_owners(set);
		return false;
	}
	return true;
}

/* Who lies on a place below the set's length; nobody while it is on its way in or out. */
static bool place_owner(struct tier_set *set, struct tier *t, u64 place, u32 *chunk)
{
	u64 bit = place - t->rec.first_place, word;

	if ((!set->home_owner || set->home_id != t->rec.id) && !find_owners(set, t))
		return false;
	*chunk = READ_ONCE(set->home_owner[bit]);
	word = *chunk < set->nr_chunks ? tier_get_word(set, *chunk) : 0;
	return (word & TIER_ENTRY_MAPPED) && tier_word_id(word) == t->rec.id &&
	       tier_word_place(word) == place;
}

/* The occupant of a chunk's home moves away: elsewhere, or within the tier. */
static int clear_home(struct tier_set *set, struct tier *t, u64 place)
{
	struct tier *to;
	u32 occupant;
	int r;

	if (!place_owner(set, t, place, &occupant))
		return -EAGAIN;
	to = refuge(set, t);
	if (!to)
		to = t;
	if (to != t || tier_free_places(t)) {
		u64 elsewhere = TIER_NO_PLACE;

		if (to == t) {
			/* Claimed by number: a chunk may move within its tier only so. */
			spin_lock_irq(&set->lock);
			elsewhere = tier_alloc_place(t);
			if (elsewhere != TIER_NO_PLACE)
				__tier_free_place(t, elsewhere);
			spin_unlock_irq(&set->lock);
			if (elsewhere == TIER_NO_PLACE)
				return -ENOSPC;
		}
		r = tier_migrate(set, occupant, to, elsewhere, TIER_REASON_MAKE_ROOM,
				 NULL, false);
		return r == -ENOENT ? -EAGAIN : r;
	}
	return -ENOSPC;
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
	if (!(word & TIER_ENTRY_MAPPED)) {
		if (place == TIER_NO_PLACE || READ_ONCE(set->home) != to)
			return -ENOENT;
		r = tier_materialise(set, chunk, to, place);
		if (r == -ENOSPC)
			r = clear_home(set, to, place) ? : -EAGAIN;
		return r;
	}
	if (tier_word_id(word) == q->id &&
	    (place == TIER_NO_PLACE || place == tier_word_place(word)) &&
	    !(word & TIER_WORD_MOVING))
		return -ENOENT;
	if (word & TIER_WORD_NEW)
		tier_commit_births(set);
	r = tier_migrate(set, chunk, to, place, q->reason, q, false);
	if (r != -ENOSPC)
		return r;
	if (q->reason == TIER_REASON_HOME)
		r = clear_home(set, to, place);
	else
		r = make_room(set, to);
	return r ? r : -EAGAIN;
}

/* *more: it has passed over so many chunks that others are to have their turn first. */
static bool next_request(struct tier_set *set, bool *more)
{
	struct tier_request *q, *next;
	unsigned int looked = 0;
	bool idle;
	u32 chunk;
	int r;

	/* Only this work takes requests off the list. */
	spin_lock_irq(&set->lock);
	list_for_each_entry_safe(q, next, &set->requests, list) {
		while (q->first < q->end && !q->dropped && set->running &&
		       looked++ < MOVER_SCAN) {
			chunk = q->first;
			spin_unlock_irq(&set->lock);
			r = start_requested(set, q, chunk);
			spin_lock_irq(&set->lock);
			if (r == -EAGAIN || r == -ENOMEM)
				break;
			/* Unless a newer request has taken it away meanwhile. */
			if (q->first == chunk)
				q->first++;
			if (!r) {
				spin_unlock_irq(&set->lock);
				return true;
			}
			if (r != -ENOENT) {
				set->failed++;
				tier_note_missed(set, chunk,
						 r == -ENOSPC ? "tier_full" : "tier_unusable");
			}
			if (!(q->first & 0xfff)) {
				spin_unlock_irq(&set->lock);
				cond_resched();
				spin_lock_irq(&set->lock);
			}
		}
		if ((q->dropped || q->first >= q->end) && !q->in_flight) {
			list_del(&q->list);
			kfree(q);
			may_go(set);
		}
	}
	*more = looked > MOVER_SCAN;
	idle = list_empty(&set->requests);
	spin_unlock_irq(&set->lock);
	if (idle)
		drop_owners(set);
	return false;
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

/* Where a chunk should be, NULL if it is there already. */
static struct tier *wanted(struct tier_set *set, u64 word, enum tier_reason *reason)
{
	struct tier *at = set->by_id[tier_word_id(word)];
	unsigned int pin = tier_word_pin(word);
	struct tier *to;
	bool leaves;

	if (!(word & TIER_ENTRY_MAPPED) || !tier_present(at))
		return NULL;
	leaves = READ_ONCE(at->rec.flags) & TIER_RECORD_EVACUATE;
	if (pin && pin - 1 != at->rec.id) {
		to = set->by_id[pin - 1];
		/* One that has to leave anyway does not wait where nobody makes room. */
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

void tier_mark_astray(struct tier_set *set)
{
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	set->astray = true;
	set->astray_seq++;
	may_go(set);
	spin_unlock_irqrestore(&set->lock, flags);
}

/*
 * The last copy of this chunk failed; another try waits for a message.  That is noted before
 * the word says that the chunk no longer moves, so it is to be asked after the word was read.
 */
static bool given_up(struct tier_set *set, u32 chunk)
{
	smp_rmb();	/* the word before the note; step_abort() has locks between them */
	return xa_load(&set->copy_failed, chunk);
}

/* What cannot become durable cannot leave either, until its commit takes the note away. */
static void give_up_unflushed(struct tier_set *set, u32 chunk)
{
	u64 word;

	spin_lock_irq(&set->lock);
	word = set->map[chunk];
	if ((word & TIER_WORD_NEW) && set->by_id[tier_word_id(word)]->flush_failed &&
	    !xa_err(xa_store(&set->copy_failed, chunk, xa_mk_value(1),
			     GFP_NOWAIT | __GFP_NOWARN)))
		set->failed++;
	spin_unlock_irq(&set->lock);
}

/* The end of a pass: was there nothing left to do, and is nothing new? */
static void end_astray_pass(struct tier_set *set)
{
	set->astray_cursor = 0;
	spin_lock_irq(&set->lock);
	if (!set->astray_found && set->astray_seq == set->astray_pass_seq &&
	    !set->nr_migrations && !evacuating(set))
		set->astray = false;
	spin_unlock_irq(&set->lock);
}

static bool next_astray(struct tier_set *set)
{
	bool full[TIER_MAX_TIERS] = { };
	enum tier_reason reason;
	struct tier *to;
	u32 looked;
	int r;

	/* In a set that goes back to one tier, pins do not count. */
	if (READ_ONCE(set->home))
		return false;
	for (looked = 0; READ_ONCE(set->astray) && looked < MOVER_SCAN; looked++) {
		u32 chunk = set->astray_cursor;
		u64 word;

		if (!READ_ONCE(set->running))
			break;
		if (!chunk) {
			set->astray_found = false;
			set->astray_pass_seq = READ_ONCE(set->astray_seq);
		}
		word = tier_get_word(set, chunk);
		to = wanted(set, word, &reason);
		if (to) {
			set->astray_found = true;
			r = -EAGAIN;
			if (!(tier_paused(set) && reason == TIER_REASON_EVACUATE) &&
			    !full[to->rec.rank] && !(word & TIER_WORD_MOVING) &&
			    !given_up(set, chunk)) {
				r = tier_migrate(set, chunk, to, TIER_NO_PLACE, reason,
						 NULL, false);
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
		if (++set->astray_cursor >= set->nr_chunks) {
			end_astray_pass(set);
			break;
		}
	}
	return false;
}

/* ---- policy ---- */

static bool next_proposal(struct tier_set *set)
{
	u64 rate = tier_tunable(set, TIER_TUNABLE_BANDWIDTH) * 2;
	unsigned int chunk_shift = set->chunk_shift;
	struct tier_move move;
	struct tier *to;
	u32 tokens, cap;
	bool found, allowed;
	int r;

	if (!set->policy || !set->policy_type->next)
		return false;
	spin_lock_irq(&set->lock);
	refill(set);
	tokens = set->budget > 0 ? set->budget >> chunk_shift : 0;
	spin_unlock_irq(&set->lock);
	cap = max_t(u64, rate >> chunk_shift, 1);
	if (rate && !tokens)
		return false;

	mutex_lock(&set->policy_lock);
	tier_policy_refresh(set);
	found = set->policy_type->next(set->policy, tokens, rate ? cap : 0, &move);
	mutex_unlock(&set->policy_lock);
	if (!found)
		return false;

	r = -ENOENT;
	if (move.chunk < set->nr_chunks && move.to < set->nr_tiers) {
		to = set->tiers[move.to];
		spin_lock_irq(&set->lock);
		allowed = wear_allows(set, to);
		spin_unlock_irq(&set->lock);
		if (allowed)
			r = tier_migrate(set, move.chunk, to, TIER_NO_PLACE,
					 TIER_REASON_POLICY, NULL, true);
		if (allowed && r) {
			spin_lock_irq(&set->lock);
			to->wear_left += set->chunk_sectors;
			spin_unlock_irq(&set->lock);
		}
	}
	if (r && set->policy_type->done) {
		mutex_lock(&set->policy_lock);
		set->policy_type->done(set->policy, &move, false);
		mutex_unlock(&set->policy_lock);
	}
	return !r;
}

/* ---- the work ---- */

/* A mean that one slow copy cannot spoil. */
static void average_copy(struct tier *t, u64 ns)
{
	u32 old = READ_ONCE(t->chunk_ns);

	if (old)
		ns = (old * 7ULL + min_t(u64, ns, old * 4ULL)) / 8;
	WRITE_ONCE(t->chunk_ns, clamp_t(u64, ns, 1, U32_MAX));
	/* Nor does it cost nothing after a quiet night. */
	WRITE_ONCE(t->least_chunk_ns, READ_ONCE(t->chunk_ns) / 8);
	WRITE_ONCE(t->copied_ns, ktime_get_ns());
}

/*
 * What it costs the tiers to copy a chunk: the time kcopyd took, shared by the
 * copies under way and by the two sides.
 */
static void note_copy(struct tier_set *set, struct tier_migration *m)
{
	unsigned int sharing = max(1U, READ_ONCE(set->nr_migrations));
	u64 ns = m->copy_ns * m->nr_pieces;

	ns = div_u64(div_u64(ns, max(1U, m->copied_pieces)), 2 * sharing);
	average_copy(m->from, ns);
	average_copy(m->to, ns);
}

void tier_migration_ended(struct tier_set *set, struct tier_migration *m, bool moved)
{
	struct tier_request *q = m->request;

	if (moved)
		note_copy(set, m);
	if (m->proposed) {
		struct tier_move move = { .chunk = m->chunk, .to = m->to->rec.rank };

		mutex_lock(&set->policy_lock);
		if (set->policy && set->policy_type->done)
			set->policy_type->done(set->policy, &move, moved);
		mutex_unlock(&set->policy_lock);
	}
	if (!q)
		return;
	spin_lock_irq(&set->lock);
	q->in_flight--;
	/*
	 * Stopped by a suspend or for want of room, not by a fault: it is still to be done,
	 * by that part of the request that has the chunk if it was cut in two.
	 */
	if (!moved && !m->error && (m->stopped || tier_set_frozen(set)))
		list_for_each_entry(q, &set->requests, list)
			if (q->id == m->to->rec.id && m->chunk >= q->low && m->chunk < q->end)
				q->first = min(q->first, m->chunk);
	spin_unlock_irq(&set->lock);
}

static void start_moves(struct tier_set *set)
{
	bool started = true, again = false;
	unsigned int ms = TIER_OBSERVE_MS;

	mutex_lock(&set->policy_lock);
	measure(set);
	tier_policy_refresh(set);
	tier_policy_drain(set);
	if (set->policy && set->policy_type->tick)
		set->policy_type->tick(set->policy);
	mutex_unlock(&set->policy_lock);

	if (tier_set_frozen(set))
		return;
	while (started && READ_ONCE(set->running)) {
		if (!slot_free(set))
			break;
		if (tier_budget_wait(set)) {
			again = true;
			break;
		}
		started = next_request(set, &again);
		if (again)
			break;
		if (!started)
			started = next_astray(set);
		if (!started && !tier_paused(set) && ktime_get_ns() >= set->backoff_until)
			started = next_proposal(set);
	}
	evacuation_progress(set);
	/* Requests and pins that wait for room, a commit or their turn. */
	spin_lock_irq(&set->lock);
	if (!again && list_empty(&set->requests) && tier_set_idle(set)) {
		/* Astray chunks that cannot move now; whatever changes that kicks. */
		again = set->astray;
		if (!set->astray_cursor)
			ms = IDLE_SCAN_MS;
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
	/* First, as to look for what can be moved may take a while. */
	tier_release_held(set);
	spin_lock_irq(&set->lock);
	__tier_retry_deferred(set);
	spin_unlock_irq(&set->lock);
	crowded = tier_release_crowded(set);
	if (READ_ONCE(set->running))
		start_moves(set);
	if (crowded || !tier_set_idle(set))
		tier_watch_stalls(set);
}

/* The mover looks soon, also while the set is suspended, at what waits for a device or memory. */
void tier_watch_stalls(struct tier_set *set)
{
	queue_delayed_work(set->wq, &set->mover_work, msecs_to_jiffies(IDLE_SCAN_MS));
}

void tier_kick_mover(struct tier_set *set)
{
	if (READ_ONCE(set->running))
		mod_delayed_work(set->wq, &set->mover_work, 0);
}

void tier_mover_init(struct tier_set *set)
{
	INIT_DELAYED_WORK(&set->mover_work, do_mover);
	INIT_LIST_HEAD(&set->migrations);
	INIT_LIST_HEAD(&set->requests);
	hash_init(set->migration_hash);
	xa_init_flags(&set->copy_failed, XA_FLAGS_LOCK_IRQ);
}
