/* SPDX-License-Identifier: GPL-2.0-only */
/* Tunables: their names and limits, and the values in force. */
#ifndef DM_TIER_CONF_H
#define DM_TIER_CONF_H

#include "policy-type.h"

struct tier_meta_tier;
struct tier_set;
struct tier_target;

enum tier_tunable {
	TIER_TUNABLE_BANDWIDTH,		/* KiB/s, 0 = no limit */
	TIER_TUNABLE_DEPTH,		/* moves at once */
	TIER_TUNABLE_LATENCY_GUARD,	/* percent, 0 = off */
	TIER_TUNABLE_HEAT_INTERVAL,	/* seconds */
	TIER_TUNABLE_MIGRATION_MIN,	/* KiB/s, 0 = none */
	TIER_NR_TUNABLES,
};

enum tier_tier_tunable {
	TIER_TIER_ENDURANCE,		/* GiB a day, 0 = no limit */
	TIER_TIER_RESERVE,		/* chunks */
	TIER_TIER_LANDING,		/* enum tier_lands */
	TIER_TIER_LATENCY,		/* us, 0 = measured */
	TIER_TIER_WATERMARK,		/* percent of the places */
	TIER_TIER_QUIET,		/* seconds, 0 = off */
	TIER_TIER_RESIDENCE,		/* seconds, 0 = off */
	TIER_NR_TIER_TUNABLES,
};

#define TIER_MAX_POLICY_KEYS 8

extern const struct tier_key tier_keys[TIER_NR_TUNABLES];
extern const struct tier_key tier_tier_keys[TIER_NR_TIER_TUNABLES];

enum tier_feature {
	TIER_FEATURE_PAUSED,
	TIER_FEATURE_NO_DISCARD_PASSDOWN,
	TIER_FEATURE_SKIP_ZEROING,
	TIER_FEATURE_READ_ONLY,
	TIER_NR_FEATURES,
};

extern const char *const tier_features[TIER_NR_FEATURES];	/* their names */

/* A value that the table gives, in force while the table lives. */
struct tier_override {
	bool given;
	u64 value;
};

/* Those of one table. */
struct tier_overrides {
	struct tier_override core[TIER_NR_TUNABLES];
	struct tier_override tier[TIER_MAX_TIERS][TIER_NR_TIER_TUNABLES];
	struct tier_override policy[TIER_MAX_POLICY_KEYS];
};

/* What the name of a tunable stands for. */
struct tier_tunable_ref {
	const struct tier_key *key;
	struct tier_override *given;	/* of the table */
	u64 *stored;			/* NULL: the table has no set yet */
	int rank;			/* -1: not of a tier */
	int policy_key;			/* -1: not of the policy */
};

/* -EINVAL: unknown to the table, which may have no policy yet; -ENODEV: it has no such tier. */
int tier_find_tunable(struct tier_target *tt, const char *name, struct tier_tunable_ref *ref);
/* A decimal number from min to max; word may be NULL.  -EINVAL. */
int tier_parse_u64(const char *word, u64 min, u64 max, u64 *value);
/* Whether migration would have to do more than it may; both in KiB/s, 0 = neither. */
static inline bool tier_min_too_large(u64 migration_min, u64 migration_bandwidth)
{
	return migration_bandwidth && migration_min > migration_bandwidth;
}

/* Where the record of a tier has its value. */
u64 *tier_tier_value(struct tier_meta_tier *rec, enum tier_tier_tunable key);

/*
 * Values in force, of an active set.  Messages change them under set->config while the mover
 * and first writes read them without a lock: any order of the two will do.
 */
u64 tier_tunable(struct tier_set *set, enum tier_tunable key);
u64 tier_tier_tunable(struct tier_set *set, unsigned int rank, enum tier_tier_tunable key);
u64 tier_policy_tunable(struct tier_set *set, unsigned int key);

#endif /* DM_TIER_CONF_H */
