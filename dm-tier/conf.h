/* SPDX-License-Identifier: GPL-2.0-only */
/* Tunables: their names and limits, and the values in force. */
#ifndef DM_TIER_CONF_H
#define DM_TIER_CONF_H

#include <linux/types.h>
#include "format.h"

struct tier_set;

enum tier_tunable {
	TIER_TUNABLE_BANDWIDTH,		/* KiB/s, 0 = no limit */
	TIER_TUNABLE_DEPTH,		/* moves at once */
	TIER_TUNABLE_LATENCY_GUARD,	/* percent, 0 = off */
	TIER_NR_TUNABLES,
};

enum tier_tier_tunable {
	TIER_TIER_ENDURANCE,		/* GiB a day, 0 = no limit */
	TIER_TIER_RESERVE,		/* chunks */
	TIER_TIER_LANDING,		/* 0 or 1 */
	TIER_NR_TIER_TUNABLES,
};

#define TIER_MAX_POLICY_KEYS 8

struct tier_key {
	const char *name;
	u64 min, max, initial;
};

extern const struct tier_key tier_keys[TIER_NR_TUNABLES];
extern const struct tier_key tier_tier_keys[TIER_NR_TIER_TUNABLES];

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

/* Index of the key and its rank (-1 for a target tunable); -EINVAL. */
int tier_parse_key(const char *word, int *rank);
/* A decimal number from 0 to max; -EINVAL. */
int tier_parse_u64(const char *word, u64 max, u64 *value);

/*
 * Values in force.  Messages change them under set->config while the mover and first
 * writes read them without a lock: any order of the two will do.
 */
u64 tier_tunable(struct tier_set *set, enum tier_tunable key);
u64 tier_tier_tunable(struct tier_set *set, unsigned int rank, enum tier_tier_tunable key);
u64 tier_policy_tunable(struct tier_set *set, unsigned int key);

#endif /* DM_TIER_CONF_H */
