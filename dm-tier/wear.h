/* SPDX-License-Identifier: GPL-2.0-only */
/* What is written to each tier, and how much of that endurance leaves to migration; see wear.c. */
#ifndef DM_TIER_WEAR_H
#define DM_TIER_WEAR_H

#include "core.h"

/* In sectors. */
struct tier_wear_state {
	u64 written;	/* since the tier joined */
	/* Without endurance 0; else since it was set, or the activation: */
	u64 used;	/* written */
	u64 allowed;	/* to be written, by endurance */
	s64 left;	/* that the policy may write now; below 0: is to be made up for */
};

void tier_wear_get(struct tier_set *set, struct tier *t, struct tier_wear_state *state);

/* Whether endurance lets the policy write a chunk to this tier now. */
bool tier_wear_left(struct tier_set *set, struct tier *t);
/*
 * Keeps a chunk's worth of a tier's endurance for a move of the policy, before others in flight
 * find the same allowance; false if there is none.
 */
bool tier_wear_take_chunk(struct tier_set *set, struct tier *to);
/* Such a move has ended; what it wrote is counted as all writes are. */
void tier_wear_give_back(struct tier_set *set, struct tier *to);
/* Counts sectors that are moved there whatever endurance says: they use up what is left. */
void tier_wear_take(struct tier_set *set, struct tier *to, u32 sectors);
/* The tunable was set: the allowance begins anew. */
void tier_wear_restart(struct tier_set *set, struct tier *t);

/*
 * Enters what was written into the tiers' records, rounded to 64 MiB, with set->commit held.
 * Above 0: there is something to commit.  Or an error of tier_metadata_set_wear(), which need
 * not have doomed the transaction: then it is stored later.
 */
int tier_wear_store(struct tier_set *set);

#endif /* DM_TIER_WEAR_H */
