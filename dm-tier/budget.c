// SPDX-License-Identifier: GPL-2.0-only
/* How much may be copied: by migration_bandwidth, and by each tier's endurance. */
#include "budget.h"

#include <linux/math64.h>

#define SECTORS_PER_GIB	BIT_ULL(21)
#define NS_PER_DAY	(86400ULL * NSEC_PER_SEC)

/* set->lock */
struct tier_budget {
	s64 sectors;
	u64 stamp;	/* ns */
};

/* set->lock */
struct tier_wear {
	u64 sectors;	/* that migration may still write */
	u64 stamp;	/* ns, 0 = anew */
};

/* Sectors accrue at the bandwidth, for at most a second. */
static u64 __refill(struct tier_set *set)
{
	u64 rate = tier_tunable(set, TIER_TUNABLE_BANDWIDTH) * 2;	/* sectors/s */
	struct tier_budget *b = set->budget;
	u64 now = ktime_get_ns();
	u64 dt = min_t(u64, now - b->stamp, NSEC_PER_SEC);
	s64 cap = max_t(u64, rate, set->chunk_sectors);
	u64 gain = mul_u64_u64_div_u64(rate, dt, NSEC_PER_SEC);

	b->sectors = min_t(s64, b->sectors + gain, cap);
	/* What did not make a sector yet is not lost. */
	b->stamp = rate && dt < NSEC_PER_SEC ?
		   b->stamp + div64_u64(gain * NSEC_PER_SEC, rate) : now;
	return rate;
}

unsigned long tier_budget_wait(struct tier_set *set, u64 ahead)
{
	unsigned long wait = 0;
	s64 sectors;
	u64 rate;

	spin_lock_irq(&set->lock);
	rate = __refill(set);
	sectors = set->budget->sectors - ahead;
	if (rate && sectors <= 0)
		wait = 1 + div64_u64((u64)(1 - sectors) * HZ, rate);
	spin_unlock_irq(&set->lock);
	return wait;
}

void tier_budget_tokens(struct tier_set *set, u64 ahead, u32 *tokens, u32 *cap)
{
	s64 sectors;
	u64 rate;

	spin_lock_irq(&set->lock);
	rate = __refill(set);
	sectors = set->budget->sectors - ahead;
	spin_unlock_irq(&set->lock);
	*tokens = sectors > 0 ? sectors >> set->chunk_shift : 0;
	*cap = rate ? max_t(u64, rate >> set->chunk_shift, 1) : 0;
}

void tier_budget_take(struct tier_set *set, u32 sectors)
{
	if (!tier_tunable(set, TIER_TUNABLE_BANDWIDTH))
		return;
	spin_lock_irq(&set->lock);
	set->budget->sectors -= sectors;
	spin_unlock_irq(&set->lock);
}

/* The day's allowance of a tier accrues evenly; a tenth of it may be saved up. */
static void __refill_wear(struct tier_set *set, struct tier *to)
{
	u64 day = tier_tier_tunable(set, to->rec.rank, TIER_TIER_ENDURANCE) * SECTORS_PER_GIB;
	u64 cap = max_t(u64, div_u64(day, 10), set->chunk_sectors);
	struct tier_wear *w = to->wear;
	u64 now = ktime_get_ns();
	u64 gain;

	lockdep_assert_held(&set->lock);
	if (!day)
		return;
	if (!w->stamp) {
		w->stamp = now;
		w->sectors = cap;
	}
	gain = mul_u64_u64_div_u64(day, now - w->stamp, NS_PER_DAY);
	w->sectors = min(w->sectors + gain, cap);
	/* What did not make a sector yet is not lost. */
	w->stamp += mul_u64_u64_div_u64(gain, NS_PER_DAY, day);
}

static bool take_wear(struct tier_set *set, struct tier *t, u32 sectors)
{
	bool allowed;

	if (!tier_tier_tunable(set, t->rec.rank, TIER_TIER_ENDURANCE))
		return true;
	spin_lock_irq(&set->lock);
	__refill_wear(set, t);
	allowed = t->wear->sectors >= set->chunk_sectors;
	if (allowed)
		t->wear->sectors -= sectors;
	spin_unlock_irq(&set->lock);
	return allowed;
}

bool tier_wear_left(struct tier_set *set, struct tier *t)
{
	return take_wear(set, t, 0);
}

bool tier_wear_take_chunk(struct tier_set *set, struct tier *to)
{
	return take_wear(set, to, set->chunk_sectors);
}

void tier_wear_give_back(struct tier_set *set, struct tier *to)
{
	spin_lock_irq(&set->lock);
	to->wear->sectors += set->chunk_sectors;
	spin_unlock_irq(&set->lock);
}

void tier_wear_take(struct tier_set *set, struct tier *to, u32 sectors)
{
	spin_lock_irq(&set->lock);
	__refill_wear(set, to);
	to->wear->sectors -= min_t(u64, to->wear->sectors, sectors);
	spin_unlock_irq(&set->lock);
}

void tier_wear_restart(struct tier_set *set, struct tier *t)
{
	spin_lock_irq(&set->lock);
	t->wear->stamp = 0;
	spin_unlock_irq(&set->lock);
}

const struct tier_set_room tier_budget_room = TIER_SET_ROOM(budget, NULL, NULL);

const struct tier_room tier_wear_room = TIER_ROOM(wear, NULL, NULL);
