/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The heat engine: counts accesses, decides which chunk should lie on which
 * tier.  Plain C without allocation, locks or floating point; the kernel
 * module dm-tier-heat and the replay tool are built from the same file.
 *
 * The caller serialises all calls on one engine (see policy-type.h, whose
 * operations these functions implement); none of them sleeps.
 */
#ifndef DM_TIER_HEAT_ENGINE_H
#define DM_TIER_HEAT_ENGINE_H

#include "heat/audit.h"
#include "heat/balance.h"
#include "heat/cost.h"
#include "heat/port.h"
#include "policy-type.h"

#define HEAT_STREAMS	8	/* sequential streams told apart */
#define HEAT_CANDIDATES	64	/* chunks that wait for a promotion */
#define HEAT_POOL	32	/* cold chunks remembered per tier */
#define HEAT_FLIGHTS	256	/* proposals not yet done */
#define HEAT_BACKOFFS	64	/* failed moves remembered */

/* Indices into heat_engine_keys. */
enum heat_key {
	HEAT_KEY_HALF_LIFE,
	HEAT_KEY_ADMIT,
	HEAT_KEY_HEADROOM,
	HEAT_KEY_METADATA_WEIGHT,
	HEAT_NR_KEYS,
};

extern const struct tier_key heat_engine_keys[HEAT_NR_KEYS + 1];

/* A chunk that may be worth promoting. */
struct heat_candidate {
	u32 chunk;
	u32 score;		/* time a move to the fastest tier saves */
	u8 backed;		/* rank that is making room for it, or TIER_NOWHERE */
	u64 patience;		/* clock until which it waits for that room */
	u64 seen;		/* its last access, as noted below */
	u64 since_ns, last_ns;	/* accesses are counted since; the last of them */
	u32 nr, gained;		/* those that were noted; the heat of all */
	bool soon;		/* the swap, of which one half is done, pays soon */
};

/* A cold chunk of a tier. */
struct heat_cold {
	u32 chunk;
	u32 heat;		/* when last looked at */
};

struct heat_pool {
	unsigned int nr;
	struct heat_cold cold[HEAT_POOL];
};

/* A proposed move; ranks are TIER_NOWHERE once the tiers were renumbered. */
struct heat_flight {
	u32 chunk;
	u8 from;
	u8 to;
};

/* A chunk whose move failed; left alone until the clock passes until. */
struct heat_backoff {
	u32 chunk;
	u64 until;
};

/* The engine.  All fields belong to it; public only so that callers can embed it. */
struct tier_policy {
	struct tier_policy_env env;
	u32 *heat;
	u32 nr_chunks;
	u64 keys[HEAT_NR_KEYS];
	u32 rng;
	u32 chunk_shift;	/* sectors to chunks */

	u64 accesses;		/* so far, with those that were not noted */
	unsigned int nr_tiers;
	u64 fast_places;	/* of all tiers but the slowest */
	bool was_full[TIER_MAX_TIERS];	/* but for what first writes leave free */
	struct heat_costs costs;
	struct heat_balance balance[TIER_MAX_TIERS];

	u64 noted;		/* accesses seen, without their weights */
	u64 clock;		/* the same, and some for each tick */
	u32 idle_ticks;		/* since the last access */

	/* Ends of the last streams (sectors), oldest first. */
	u64 streams[HEAT_STREAMS];

	/* Decay: everything before hand was decayed in this pass. */
	u32 hand;
	u32 pass;
	u32 step;		/* chunks to sweep per access, 16 fractional bits */
	u32 owed;		/* chunks not yet swept, 16 fractional bits */
	u64 reciprocal;		/* 2^48 / nr_chunks */

	u32 newcomers[2];	/* in this pass, in the last one */

	/* Random looks at chunks that may be taken now. */
	u32 probes;

	unsigned int nr_candidates;
	struct heat_candidate candidates[HEAT_CANDIDATES];
	struct heat_pool pools[TIER_MAX_TIERS];
	unsigned int nr_flights;
	struct heat_flight flights[HEAT_FLIGHTS];
	unsigned int next_backoff;
	u64 last_backoff;	/* clock at which none is left */
	struct heat_backoff backoffs[HEAT_BACKOFFS];
	struct heat_audits audits;
};

/* heat[nr_chunks] stays the caller's; see struct tier_policy_type. */
void heat_engine_init(struct tier_policy *e, const struct tier_policy_env *env,
		      u32 *heat, u32 nr_chunks);
void heat_engine_observe(struct tier_policy *e, const struct tier_access *a,
			 unsigned int nr);
bool heat_engine_next(struct tier_policy *e, u32 tokens, u32 cap,
		      struct tier_move *move);
void heat_engine_done(struct tier_policy *e, const struct tier_move *move,
		      bool moved);
bool heat_engine_victim(struct tier_policy *e, unsigned int rank, u32 *chunk);
enum tier_hold heat_engine_why(struct tier_policy *e, u32 chunk, u32 tokens, u32 cap);
bool heat_engine_waiting(struct tier_policy *e);

/* Heat of a chunk now, in units of 1 / HEAT_ONE; 0 for an unknown chunk. */
u32 heat_engine_heat(struct tier_policy *e, u32 chunk);
void heat_engine_set(struct tier_policy *e, unsigned int key, u64 value);
void heat_engine_tick(struct tier_policy *e);

#endif /* DM_TIER_HEAT_ENGINE_H */
