/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies: their registry, and what passes between the set and the one at work; see policy.c. */
#ifndef DM_TIER_POLICY_H
#define DM_TIER_POLICY_H

#include "core.h"
#include "policy-type.h"
#include "sampling.h"

#define TIER_RING_SIZE 256		/* at least TIER_LONGEST_WINDOW */

struct tier_ring {
	unsigned int head;		/* written by the CPU that owns the ring */
	unsigned int tail;		/* written by the mover */
	struct tier_access slot[TIER_RING_SIZE];
};

/* Takes a reference; loads the module if need be; -EINVAL if there is none; or -ENOMEM. */
struct tier_policy_type *tier_policy_get(const char *name);
void tier_policy_put(struct tier_policy_type *type);
unsigned int tier_policy_nr_keys(const struct tier_policy_type *type);

/* Notes an access for the policy while set->observing; any context that map() runs in. */
void tier_note_access(struct tier_set *set, struct bio *bio);

/*
 * A policy begins with the heat that there is, and ends; while suspended.  views: of the
 * tiers by rank, as in all calls that have them.
 */
int tier_policy_start(struct tier_set *set, struct tier_policy_type *type,
		      const struct tier_view *views);
void tier_policy_stop(struct tier_set *set);
bool tier_policy_is(struct tier_set *set, const struct tier_policy_type *type);

/* Hands what was noted to the policy. */
void tier_policy_drain(struct tier_set *set);
/* The same, and the work that is due without an access. */
void tier_policy_tick(struct tier_set *set, const struct tier_view *views);
/* The calls of struct tier_policy_type; false, 0 or nothing where the policy has none. */
bool tier_policy_next(struct tier_set *set, const struct tier_view *views, u32 tokens, u32 cap,
		      struct tier_move *move);
void tier_policy_done(struct tier_set *set, const struct tier_move *move, bool moved);
bool tier_policy_victim(struct tier_set *set, unsigned int rank, u32 *chunk);
enum tier_hold tier_policy_why(struct tier_set *set, u32 chunk, u32 tokens, u32 cap);
u32 tier_policy_heat(struct tier_set *set, u32 chunk);
void tier_policy_set(struct tier_set *set, unsigned int key, u64 value);

/* The target holds back whatever the policy would look at now: counts it, if there is a chunk. */
void tier_policy_hold(struct tier_set *set, enum tier_hold held);
/* How often chunks were held back by that since activation. */
u64 tier_policy_held(struct tier_set *set, enum tier_hold held);

/* What the set did; since activation, or in a part of that time. */
struct tier_deeds {
	u64 ns;				/* when, or how long */
	u64 promotions, demotions, migrated_sectors;
	u64 served[TIER_MAX_TIERS];	/* accesses to chunks that the policy moved there */
};

/* What it did in the last day, from an hour's end to now; or since activation. */
void tier_policy_day(struct tier_set *set, struct tier_deeds *day);

#endif /* DM_TIER_POLICY_H */
