// SPDX-License-Identifier: GPL-2.0-only
/* How much may be copied, by migration_bandwidth. */
#include "budget.h"

#include <linux/math64.h>

/* set->lock */
struct tier_budget {
	s64 sectors;
	u64 stamp;	/* ns */
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

const struct tier_set_room tier_budget_room = TIER_SET_ROOM(budget, NULL, NULL);
