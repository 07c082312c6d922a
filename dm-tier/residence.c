// SPDX-License-Identifier: GPL-2.0-only
/* When chunks came to where they lie, so that the policy leaves them there for a while. */
#include "residence.h"

/* set->lock */
struct tier_residence {
	u32 *since;		/* by chunk, seconds since boot; 0: not known */
	u32 nr;
};

static u32 now(void)
{
	return ktime_get_boottime_seconds() + 1;
}

static u64 residence_of(const struct tier *t)
{
	return tier_tier_tunable(t->set, t->rec.rank, TIER_TIER_RESIDENCE);
}

static void replace(struct tier_set *set, struct tier_residence r)
{
	spin_lock_irq(&set->lock);
	swap(*set->residence, r);
	spin_unlock_irq(&set->lock);
	vfree(r.since);
}

void tier_drop_residence(struct tier_set *set)
{
	replace(set, (struct tier_residence){ });
}

bool tier_residence_keep(struct tier_set *set)
{
	struct tier_residence r = { .nr = set->nr_chunks };
	unsigned int rank;

	for (rank = 0; rank < set->nr_tiers && !residence_of(set->tiers[rank]); rank++)
		;
	if (rank == set->nr_tiers) {
		if (set->residence->nr)
			tier_drop_residence(set);
		return true;
	}
	if (set->residence->nr >= set->nr_chunks)
		return true;
	/* Others wait for the mover, maybe for the writeback that would free memory. */
	r.since = __vmalloc(array_size(r.nr, sizeof(*r.since)),
			    GFP_NOIO | __GFP_ZERO | __GFP_NOWARN | __GFP_NORETRY);
	if (r.since)
		replace(set, r);
	return r.since;
}

void __tier_arrived(struct tier_set *set, u32 chunk)
{
	lockdep_assert_held(&set->lock);
	if (chunk < set->residence->nr)
		set->residence->since[chunk] = now();
}

bool tier_resides(struct tier_set *set, u32 chunk, const struct tier *t)
{
	u64 residence = residence_of(t);
	u32 since = 0;

	if (!residence)
		return false;
	spin_lock_irq(&set->lock);
	if (chunk < set->residence->nr)
		since = set->residence->since[chunk];
	spin_unlock_irq(&set->lock);
	return since && now() - since <= residence;
}

const struct tier_set_room tier_residence_room = TIER_SET_ROOM(residence, NULL,
							       tier_drop_residence);
