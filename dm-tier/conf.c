// SPDX-License-Identifier: GPL-2.0-only
/* Tunables: their names and limits, and the values in force. */
#include <linux/ctype.h>

#include "core.h"

const struct tier_key tier_keys[TIER_NR_TUNABLES] = {
	[TIER_TUNABLE_BANDWIDTH] = { "migration_bandwidth", 0, U32_MAX, 65536 },
	[TIER_TUNABLE_DEPTH] = { "migration_depth", 1, 256, 4 },
	[TIER_TUNABLE_LATENCY_GUARD] = { "latency_guard", 0, 1000, 20 },
	[TIER_TUNABLE_HEAT_INTERVAL] = { "heat_interval", 1, 86400, 600 },
	[TIER_TUNABLE_MIGRATION_MIN] = { "migration_min", 0, U32_MAX, 0 },
};

const struct tier_key tier_tier_keys[TIER_NR_TIER_TUNABLES] = {
	[TIER_TIER_ENDURANCE] = { "endurance", 0, TIER_MAX_ALLOWANCE, 0 },
	[TIER_TIER_RESERVE] = { "reserve", 0, TIER_MAX_ALLOWANCE, 0 },
	[TIER_TIER_LANDING] = { "landing", TIER_LANDS_NOTHING, TIER_LANDS_STREAMS,
				TIER_LANDS_ALL },
	[TIER_TIER_LATENCY] = { "latency", 0, TIER_MAX_LATENCY, 0 },
	[TIER_TIER_WATERMARK] = { "watermark", 0, TIER_MAX_WATERMARK, 0 },
	[TIER_TIER_QUIET] = { "quiet", 0, TIER_MAX_QUIET, 0 },
	[TIER_TIER_RESIDENCE] = { "residence", 0, U32_MAX, 0 },
};

const char *const tier_features[TIER_NR_FEATURES] = {
	[TIER_FEATURE_PAUSED] = "paused",
	[TIER_FEATURE_NO_DISCARD_PASSDOWN] = "no_discard_passdown",
	[TIER_FEATURE_SKIP_ZEROING] = "skip_zeroing",
	[TIER_FEATURE_READ_ONLY] = "read_only",
};

int tier_parse_u64(const char *word, u64 min, u64 max, u64 *value)
{
	if (!word || !isdigit(word[0]) || kstrtou64(word, 10, value) ||
	    *value < min || *value > max)
		return -EINVAL;
	return 0;
}

u64 *tier_tier_value(struct tier_meta_tier *rec, enum tier_tier_tunable key)
{
	u64 *values[TIER_NR_TIER_TUNABLES] = {
		[TIER_TIER_ENDURANCE] = &rec->endurance,
		[TIER_TIER_RESERVE] = &rec->reserve,
		[TIER_TIER_LANDING] = &rec->landing,
		[TIER_TIER_LATENCY] = &rec->latency,
		[TIER_TIER_WATERMARK] = &rec->watermark,
		[TIER_TIER_QUIET] = &rec->quiet,
		[TIER_TIER_RESIDENCE] = &rec->residence,
	};

	return values[key];
}

static int find_key(const struct tier_key *keys, int max, const char *name)
{
	int i;

	for (i = 0; keys && i < max && keys[i].name; i++)
		if (!strcmp(name, keys[i].name))
			return i;
	return -EINVAL;
}

/* tierN.KEY */
static int find_tier_tunable(struct tier_target *tt, const char *name, const char *dot,
			     struct tier_tunable_ref *ref)
{
	int i = find_key(tier_tier_keys, TIER_NR_TIER_TUNABLES, dot + 1);
	char digits[4] = "";
	u64 rank;

	if (i < 0 || strncmp(name, "tier", 4) || dot - name - 4 < 1 || dot - name - 4 > 2)
		return -EINVAL;
	memcpy(digits, name + 4, dot - name - 4);
	if (tier_parse_u64(digits, 0, TIER_MAX_TIERS - 1, &rank))
		return -EINVAL;
	if (rank >= tt->nr_tiers)
		return -ENODEV;
	ref->key = &tier_tier_keys[i];
	ref->given = &tt->overrides.tier[rank][i];
	ref->stored = tt->set ? tier_tier_value(&tt->set->tiers[rank]->rec, i) : NULL;
	ref->rank = rank;
	return 0;
}

int tier_find_tunable(struct tier_target *tt, const char *name, struct tier_tunable_ref *ref)
{
	const char *dot = strchr(name, '.');
	int i = find_key(tier_keys, TIER_NR_TUNABLES, name);

	ref->rank = -1;
	ref->policy_key = -1;
	if (dot)
		return find_tier_tunable(tt, name, dot, ref);
	if (i >= 0) {
		ref->key = &tier_keys[i];
		ref->given = &tt->overrides.core[i];
		ref->stored = tt->set ? &tt->set->tunables[i] : NULL;
		return 0;
	}
	i = tt->policy ? find_key(tt->policy->keys, TIER_MAX_POLICY_KEYS, name) : -EINVAL;
	if (i < 0)
		return i;
	ref->key = &tt->policy->keys[i];
	ref->given = &tt->overrides.policy[i];
	ref->stored = tt->set ? &tt->set->policy_tunables[i] : NULL;
	ref->policy_key = i;
	return 0;
}

static u64 in_force(const struct tier_override *given, const u64 *stored)
{
	return READ_ONCE(given->given) ? given->value : READ_ONCE(*stored);
}

u64 tier_tunable(struct tier_set *set, enum tier_tunable key)
{
	return in_force(&set->bound->overrides.core[key], &set->tunables[key]);
}

u64 tier_tier_tunable(struct tier_set *set, unsigned int rank, enum tier_tier_tunable key)
{
	return in_force(&set->bound->overrides.tier[rank][key],
			tier_tier_value(&set->tiers[rank]->rec, key));
}

u64 tier_policy_tunable(struct tier_set *set, unsigned int key)
{
	return in_force(&set->bound->overrides.policy[key], &set->policy_tunables[key]);
}
