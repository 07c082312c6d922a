/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the target and a policy module say to each other.
 *
 * The target tells the policy which chunks were accessed; the policy proposes moves.  It never sees
 * a bio and never waits for a move.  All calls into one policy object come from one worker at a
 * time, in process context, and must not sleep for long.
 */
#ifndef DM_TIER_POLICY_TYPE_H
#define DM_TIER_POLICY_TYPE_H

#include <linux/types.h>
#include "format.h"

struct module;

/* One access to one chunk, as the target saw it. */
struct tier_access {
	u64 sector;		/* of the virtual device */
	u32 sectors;		/* never crosses a chunk border */
	u16 weight;		/* accesses for which it stands, itself included */
	u8 write;		/* 0 or 1 */
	u8 meta;		/* 1: of a file system's metadata */
};

/* Accesses that are measured apart; stream: continues an earlier one, or is large. */
enum tier_class {
	TIER_RANDOM_READ,
	TIER_STREAM_READ,
	TIER_RANDOM_WRITE,
	TIER_STREAM_WRITE,
	TIER_NR_CLASSES,
};

/* What foreground I/O met on a tier in an interval of a few seconds. */
struct tier_load {
	u32 number;		/* of the interval; 0: none has ended yet */
	u32 in_flight;		/* accesses at a time, in sixteenths */
	u32 mean_ns[TIER_NR_CLASSES];
	u32 samples[TIER_NR_CLASSES];	/* behind each mean; 0: there is none */
};

/*
 * What keeps a chunk from moving to a faster tier.  Where the faster tiers have different answers,
 * the last one in this order counts, as it is the nearest to a move.  New ones that no tier has go
 * to the end; the words for users are in message.c.
 */
enum tier_hold {
	TIER_HOLD_NOTHING,	/* moves when its turn comes */
	TIER_HOLD_NOTHING_FASTER,
	TIER_HOLD_COLD,		/* no hotter than what lies there, or too cold for any move */
	TIER_HOLD_PRICE,	/* saves less than the move costs */
	TIER_HOLD_BUDGET,	/* saves too little for what is left of migration_bandwidth */
	TIER_HOLD_ENDURANCE,	/* of the tier it would go to is spent */
	TIER_HOLD_GUARD,	/* one of the two tiers has moved what it may for now */
	TIER_HOLD_LOAD,		/* the faster tier is no faster as it is loaded now */
	TIER_HOLD_RESIDENCE,	/* it came too lately */
	TIER_HOLD_PINNED,
	TIER_HOLD_PAUSED,
	TIER_HOLD_FULL,		/* no room there, and nothing can be moved away to make some */
	TIER_HOLD_QUIET,	/* one of the two tiers sleeps */
	TIER_HOLD_DEPTH,	/* migration_depth, or first writes, allow no more moves at once */
	TIER_HOLD_UNREAD,	/* heat is still being read */
	TIER_HOLD_BUSY,		/* it moves, is not committed yet, or could not be moved just now */
	TIER_HOLD_REQUESTED,	/* a message asked that it lies there */
	TIER_HOLD_STATIC,	/* the policy moves nothing by itself */
	TIER_HOLD_READ_ONLY,
	TIER_HOLD_UNMAPPED,
	TIER_HOLD_MISSING,
	TIER_NR_HOLDS,
};

/* A tier as the policy sees it; index = rank. */
struct tier_view {
	u64 places;		/* chunks that fit */
	u64 free;		/* places nothing lies on, above the watermark */
	u64 lacking;		/* places to be made free until it is kept */
	u64 reserve;		/* places first writes leave free */
	u32 random_ns;		/* measured time of a small random read, 0 = unknown */
	u32 stream_ns;		/* of a read that continues an earlier one, 0 = unknown */
	u32 random_write_ns;	/* the same of writes, 0 = unknown */
	u32 stream_write_ns;
	u32 chunk_ns;		/* measured time to transfer one chunk, 0 = unknown */
	struct tier_load load;	/* as it is now */
	bool open;		/* present, healthy and admitted: may be a destination */
	bool spent;		/* would be open, but its endurance is spent: only first writes */
	enum tier_hold held;	/* what forbids moves from and to it for now, or NOTHING */
};

struct tier_move {
	u32 chunk;
	u8 to;			/* rank */
	u8 soon;		/* 1: pays for itself so soon that the latency guard lets it pass */
};

#define TIER_NOWHERE	0xff
#define TIER_PINNED	0x80	/* beside the rank: a pin keeps the chunk there */
#define TIER_RESIDENT	0x40	/* beside the rank: it came too lately to leave */
#define TIER_RANK_MASK	0x3f

/* What the target offers a policy; valid from create to destroy. */
struct tier_policy_env {
	void *context;
	/*
	 * The rank a chunk lies on, with TIER_PINNED or TIER_RESIDENT if that keeps it there, or
	 * TIER_NOWHERE if it is unmapped or cannot be moved now (moving already, requested to lie
	 * there, missing tier, not yet committed).
	 */
	unsigned int (*where)(void *context, u32 chunk);
	/* Uniform random number below ceiling (ceiling > 0). */
	u32 (*random)(void *context, u32 ceiling);
	const struct tier_view *tiers;	/* kept current by the target before each call */
	const unsigned int *nr_tiers;
	const u64 *now_ns;		/* since boot, kept current likewise */
	u32 chunk_sectors;
	/* For each TIER_HEAT_PER_BLOCK values of heat: 1 once the policy has changed one. */
	u8 *changed;
	/* [TIER_NR_HOLDS]: how often a chunk that a move might pay for was held back by what. */
	u64 *held;
};

/* A tunable: of a policy, and of the target and its tiers in conf.c. */
struct tier_key {
	const char *name;
	u64 min, max, initial;
};

struct tier_policy;

struct tier_policy_type {
	const char *name;
	struct module *owner;
#ifdef __KERNEL__
	struct list_head list;			/* of the registry */
#endif
	const struct tier_key *keys;	/* ends with a NULL name */

	/*
	 * heat[nr_chunks] is the target's array of counters (low 16 bits reads, high 16 bits
	 * writes, see TIER_HEAT_*): the policy keeps the counts in it, the target persists them.
	 * When the array moves, or the number of chunks or the tiers change, the target makes a new
	 * policy of the old one's heat.  -ENOMEM returns an ERR_PTR.
	 */
	struct tier_policy *(*create)(const struct tier_policy_env *env, u32 *heat, u32 nr_chunks);
	void (*destroy)(struct tier_policy *p);
	/* Accesses since the last call, each CPU's in order. */
	void (*observe)(struct tier_policy *p, const struct tier_access *a, unsigned int nr);
	/*
	 * The best move now, false if none is worth it.  tokens/cap is how much
	 * of the migration budget is unspent, in chunks (cap 0 = no limit).
	 * A proposed move is not proposed again until done() is called for it.
	 */
	bool (*next)(struct tier_policy *p, u32 tokens, u32 cap, struct tier_move *move);
	/* A proposed move ended; moved is false if the chunk stayed. */
	void (*done)(struct tier_policy *p, const struct tier_move *move, bool moved);
	/* The chunk that rank can best spare; false if it finds none. */
	bool (*victim)(struct tier_policy *p, unsigned int rank, u32 *chunk);
	/*
	 * What keeps a chunk from moving to a faster tier, found as next() finds it; of what the
	 * target holds against a move, only tokens and cap are known here.  Decides nothing.
	 */
	enum tier_hold (*why)(struct tier_policy *p, u32 chunk, u32 tokens, u32 cap);
	/* Whether next() has chunks to look at; an upper bound of what it would propose. */
	bool (*waiting)(struct tier_policy *p);
	/* Heat of a chunk on the scale the policy compares, for users to read. */
	u32 (*heat)(struct tier_policy *p, u32 chunk);
	/* index into keys; the value was checked against min and max. */
	void (*set)(struct tier_policy *p, unsigned int key, u64 value);
	/* Work that is due without an access (decay, headroom); cheap. */
	void (*tick)(struct tier_policy *p);
};

/* Every op may be NULL; without create the policy has no object, and no op is called. */
int tier_policy_register(struct tier_policy_type *type);
void tier_policy_unregister(struct tier_policy_type *type);

#endif /* DM_TIER_POLICY_TYPE_H */
