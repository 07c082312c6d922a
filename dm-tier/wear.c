// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is written to each tier, and how much of that endurance leaves to migration.
 *
 * All that is sent to a tier is counted, by CPU: what the users of the set write, zeroes for the
 * rest of new chunks, copies.  A day's allowance accrues evenly, and all these writes are taken
 * off it.  If the users write more than it allows, the policy moves no chunk to the tier before
 * time has made up for that: so what is written in the long run is what endurance says, where
 * users leave room.  Moves that a message, a pin or an evacuation asks for are not stopped, and
 * are not made up for.
 */
#include "wear.h"

#include "metadata/metadata.h"

#define SECTORS_PER_GIB	BIT_ULL(21)
#define NS_PER_DAY	(86400ULL * NSEC_PER_SEC)
#define UNIT		BIT_ULL(17)	/* sectors: 64 MiB, of the wear in a tier's record */

struct tier_wear {
	/* set->lock */
	s64 left;	/* sectors that the policy may still write */
	u64 kept;	/* of these, for moves under way */
	u64 day;	/* the allowance, sectors; 0 = none */
	u64 stamp;	/* ns until which it has accrued; 0 = anew */
	u64 seen;	/* sectors that had been written then */
	u64 used, allowed;
	u64 stored;	/* of the sectors written, those in rec.wear; set->commit to write, too */
};

/* Sectors written since the tier was created in memory. */
static u64 count_written(const struct tier *t)
{
	u64 sectors = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sectors += READ_ONCE(per_cpu_ptr(t->stats, cpu)->written);
	return sectors;
}

static u64 allowance(struct tier_set *set, const struct tier *t)
{
	return tier_tier_tunable(set, t->rec.rank, TIER_TIER_ENDURANCE) * SECTORS_PER_GIB;
}

/*
 * A tenth of the day's allowance may be saved up.  With another day, by a table, all begins anew:
 * what was written meanwhile is not owed.
 */
static void __refill(struct tier_set *set, struct tier_wear *w, u64 day, u64 written)
{
	s64 cap = max_t(u64, div_u64(day, 10), set->chunk_sectors);
	u64 now = ktime_get_ns(), gain;

	lockdep_assert_held(&set->lock);
	if (w->day != day)
		w->stamp = 0;
	w->day = day;
	if (!day)
		return;
	if (!w->stamp) {
		w->stamp = now;
		w->seen = written;
		w->used = 0;
		w->left = cap;
		w->allowed = cap;
	}
	gain = mul_u64_u64_div_u64(day, now - w->stamp, NS_PER_DAY);
	/* What did not make a sector yet is not lost. */
	w->stamp += mul_u64_u64_div_u64(gain, NS_PER_DAY, day);
	w->allowed += gain;
	/* Another caller may have counted later. */
	if (written > w->seen) {
		w->used += written - w->seen;
		w->left -= written - w->seen;
		w->seen = written;
	}
	w->left = min_t(s64, w->left + gain, cap);
}

static bool take(struct tier_set *set, struct tier *t, u32 sectors)
{
	u64 day = allowance(set, t), written = day ? count_written(t) : 0;
	struct tier_wear *w = t->wear;
	bool allowed = true;

	spin_lock_irq(&set->lock);
	__refill(set, w, day, written);
	if (day)
		allowed = w->left >= (s64)(w->kept + set->chunk_sectors);
	if (allowed)
		w->kept += sectors;
	spin_unlock_irq(&set->lock);
	return allowed;
}

bool tier_wear_left(struct tier_set *set, struct tier *t)
{
	return take(set, t, 0);
}

bool tier_wear_take_chunk(struct tier_set *set, struct tier *to)
{
	return take(set, to, set->chunk_sectors);
}

void tier_wear_give_back(struct tier_set *set, struct tier *to)
{
	spin_lock_irq(&set->lock);
	to->wear->kept -= set->chunk_sectors;
	spin_unlock_irq(&set->lock);
}

void tier_wear_take(struct tier_set *set, struct tier *to, u32 sectors)
{
	u64 day = allowance(set, to), written = day ? count_written(to) : 0;
	struct tier_wear *w = to->wear;

	tier_count_written(to, sectors);
	if (!day)
		return;
	spin_lock_irq(&set->lock);
	__refill(set, w, day, written);
	w->seen += sectors;
	w->used += sectors;
	w->left = max(w->left - sectors, min(w->left, 0LL));
	spin_unlock_irq(&set->lock);
}

void tier_wear_restart(struct tier_set *set, struct tier *t)
{
	spin_lock_irq(&set->lock);
	t->wear->stamp = 0;
	spin_unlock_irq(&set->lock);
}

void tier_wear_get(struct tier_set *set, struct tier *t, struct tier_wear_state *state)
{
	u64 day = allowance(set, t), written = count_written(t);
	struct tier_wear *w = t->wear;

	memset(state, 0, sizeof(*state));
	spin_lock_irq(&set->lock);
	state->written = t->rec.wear * UNIT + written - w->stored;
	if (day) {
		__refill(set, w, day, written);
		state->used = w->used;
		state->allowed = w->allowed;
		state->left = w->left;
	}
	spin_unlock_irq(&set->lock);
}

int tier_wear_store(struct tier_set *set)
{
	int changed = 0, r = 0;
	unsigned int rank;

	lockdep_assert_held(&set->commit);
	for (rank = 0; rank < set->nr_tiers; rank++) {
		struct tier *t = set->tiers[rank];
		/* To the nearest: the rest is lost with each activation, as often too much. */
		u64 units = (count_written(t) + UNIT / 2 - t->wear->stored) / UNIT;
		u32 wear = min_t(u64, t->rec.wear + units, U32_MAX);

		if (wear == t->rec.wear)
			continue;
		r = tier_metadata_set_wear(set->metadata, t->rec.id, wear);
		if (r)
			break;
		spin_lock_irq(&set->lock);
		t->wear->stored += units * UNIT;
		t->rec.wear = wear;
		spin_unlock_irq(&set->lock);
		changed = 1;
	}
	return changed ? : r;
}

const struct tier_room tier_wear_room = TIER_ROOM(wear, NULL, NULL);
