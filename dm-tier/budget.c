// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much may be copied: by migration_bandwidth, and by the pace of each tier.
 *
 * A tier copies as fast as it can until moves begin while foreground I/O is under way, or the
 * latency guard finds that a class of it suffers.  Then it has a pace, START at first, which is
 * halved each time that a class suffers, and grows by a quarter each time that none does and the
 * pace was what held moves back.  migration_min is the least pace.  Nothing holds a tier back
 * that has no foreground I/O; its pace is kept.  A move goes by the slower one of its two tiers;
 * moves between other tiers only notice what is left of migration_depth.  A proposal that pays soon
 * has no pace, see struct tier_move.
 */
#include "budget.h"

/* set->lock */
struct bucket {
	s64 sectors;	/* that may be copied; less than none: a copy is being paid off */
	u64 stamp;	/* ns */
};

struct tier_budget {
	struct bucket bucket;
};

/* Sectors accrue at the rate, for at most a second, up to cap. */
static void accrue(struct bucket *b, u64 rate, s64 cap)
{
	u64 now = ktime_get_ns();
	u64 dt = clamp_t(s64, now - b->stamp, 0, NSEC_PER_SEC);
	u64 gain = mul_u64_u64_div_u64(rate, dt, NSEC_PER_SEC);

	b->sectors = min_t(s64, b->sectors + gain, cap);
	/* What did not make a sector yet is not lost. */
	b->stamp = rate && dt < NSEC_PER_SEC ?
		   b->stamp + div64_u64(gain * NSEC_PER_SEC, rate) : now;
}

/* Jiffies until there are sectors again, with those of `ahead` copied before. */
static unsigned long wait_for(const struct bucket *b, u64 rate, u64 ahead)
{
	s64 sectors = b->sectors - ahead;

	return rate && sectors <= 0 ? 1 + div64_u64((u64)(1 - sectors) * HZ, rate) : 0;
}

static u64 __refill(struct tier_set *set)
{
	u64 rate = tier_tunable(set, TIER_TUNABLE_BANDWIDTH) * 2;	/* sectors/s */

	accrue(&set->budget->bucket, rate, max_t(u64, rate, set->chunk_sectors));
	return rate;
}

unsigned long tier_budget_wait(struct tier_set *set, u64 ahead)
{
	unsigned long wait;
	u64 rate;

	spin_lock_irq(&set->lock);
	rate = __refill(set);
	wait = wait_for(&set->budget->bucket, rate, ahead);
	spin_unlock_irq(&set->lock);
	return wait;
}

void tier_budget_tokens(struct tier_set *set, u64 ahead, u32 *tokens, u32 *cap)
{
	s64 sectors;
	u64 rate;

	spin_lock_irq(&set->lock);
	rate = __refill(set);
	sectors = set->budget->bucket.sectors - ahead;
	spin_unlock_irq(&set->lock);
	*tokens = sectors > 0 ? sectors >> set->chunk_shift : 0;
	*cap = rate ? max_t(u64, rate >> set->chunk_shift, 1) : 0;
}

void tier_budget_take(struct tier_set *set, u32 sectors)
{
	if (!tier_tunable(set, TIER_TUNABLE_BANDWIDTH))
		return;
	spin_lock_irq(&set->lock);
	set->budget->bucket.sectors -= sectors;
	spin_unlock_irq(&set->lock);
}

/* ---- the pace of a tier ---- */

#define START	(SZ_4M >> SECTOR_SHIFT)		/* sectors a second */
#define LEAST	(SZ_1M >> SECTOR_SHIFT)
#define MOST_DEBT (SZ_1M >> SECTOR_SHIFT)	/* sectors, or what a second allows */
#define SINK_NS	(NSEC_PER_SEC / 10)	/* what was copied before is not felt any more */
#define RISE_NS	(NSEC_PER_SEC / 4)

/* set->lock */
struct tier_pace {
	u32 rate;	/* sectors/s; 0 = no limit */
	bool alone;	/* without foreground I/O, so without limit */
	bool moved;	/* since the rate has changed or a class suffered */
	u64 changed;	/* ns, of rate */
	struct bucket buckets[TIER_PACE_USES];
};

/* Sectors a second; 0 = no limit. */
static u64 __rate(const struct tier *t)
{
	const struct tier_pace *p = t->pace;
	u64 least = tier_tunable(t->set, TIER_TUNABLE_MIGRATION_MIN) * 2;

	if (p->alone || !p->rate || !tier_tunable(t->set, TIER_TUNABLE_LATENCY_GUARD))
		return 0;
	return max_t(u64, p->rate, least);
}

/* What an eighth of a second allows may be saved up.  Sectors a second; 0 = no limit. */
static u64 __refill_pace(struct tier *t, enum tier_pace_use use)
{
	struct bucket *b = &t->pace->buckets[use];
	u64 rate = __rate(t);

	accrue(b, rate, rate / 8);
	/* What was copied without a limit is no debt. */
	if (!rate)
		b->sectors = 1;
	return rate;
}

unsigned long tier_pace_wait(struct tier *t, enum tier_pace_use use)
{
	unsigned long wait;
	u64 rate;

	spin_lock_irq(&t->set->lock);
	rate = __refill_pace(t, use);
	wait = wait_for(&t->pace->buckets[use], rate, 0);
	spin_unlock_irq(&t->set->lock);
	return wait;
}

void tier_pace_take(struct tier *t, enum tier_pace_use use, u32 sectors)
{
	struct bucket *b = &t->pace->buckets[use];
	u64 rate;

	spin_lock_irq(&t->set->lock);
	rate = __refill_pace(t, use);
	if (rate)
		b->sectors -= sectors;
	/* What does not wait for the pace may be much; other moves do not wait long for it. */
	if (use == TIER_PACE_COPY)
		b->sectors = max_t(s64, b->sectors, -(s64)max_t(u64, rate, MOST_DEBT));
	t->pace->moved = true;
	spin_unlock_irq(&t->set->lock);
}

bool __tier_paced(const struct tier *t)
{
	lockdep_assert_held(&t->set->lock);
	return __rate(t);
}

bool tier_pace_least(struct tier *t)
{
	u64 rate;

	spin_lock_irq(&t->set->lock);
	rate = __rate(t);
	spin_unlock_irq(&t->set->lock);
	return rate && rate <= LEAST;
}

void tier_pace_begin(struct tier *t)
{
	if (!tier_tunable(t->set, TIER_TUNABLE_LATENCY_GUARD))
		return;
	spin_lock_irq(&t->set->lock);
	t->pace->rate = t->pace->rate ? : START;
	spin_unlock_irq(&t->set->lock);
}

/* Whether moves would do more if they might. */
static bool __held_back(struct tier *t)
{
	enum tier_pace_use use;
	bool held = false;

	for (use = 0; use < TIER_PACE_USES; use++) {
		s64 rate = __refill_pace(t, use);

		held |= t->pace->buckets[use].sectors < rate / 8;
	}
	return held;
}

void tier_pace_judge(struct tier *t, enum tier_comfort comfort)
{
	struct tier_pace *p = t->pace;
	u64 now = ktime_get_ns();

	spin_lock_irq(&t->set->lock);
	if (comfort != TIER_COMFORT_UNKNOWN)
		p->alone = comfort == TIER_COMFORT_ALONE;
	if (comfort == TIER_COMFORT_SUFFERS)
		p->moved = false;
	if (!tier_tunable(t->set, TIER_TUNABLE_LATENCY_GUARD)) {
		p->rate = 0;
	} else if (comfort == TIER_COMFORT_SUFFERS && now - p->changed >= SINK_NS) {
		p->rate = p->rate ? max_t(u32, p->rate / 2, LEAST) : START;
		p->changed = now;
	} else if (comfort == TIER_COMFORT_FINE && p->moved && __held_back(t) &&
		   now - p->changed >= RISE_NS) {
		/* Between two copies everything is fine. */
		p->rate = min_t(u64, p->rate + (u64)p->rate / 4, U32_MAX);
		p->changed = now;
		p->moved = false;
	}
	spin_unlock_irq(&t->set->lock);
}

const struct tier_room tier_pace_room = TIER_ROOM(pace, NULL, NULL);
const struct tier_set_room tier_budget_room = TIER_SET_ROOM(budget, NULL, NULL);
