// SPDX-License-Identifier: GPL-2.0-only
/* Tunables: their names and limits, and the values in force. */
#include <linux/ctype.h>

#include "core.h"

const struct tier_key tier_keys[TIER_NR_TUNABLES] = {
	[TIER_TUNABLE_BANDWIDTH] = { "migration_bandwidth", 0, U32_MAX, 65536 },
	[TIER_TUNABLE_DEPTH] = { "migration_depth", 1, 256, 4 },
	[TIER_TUNABLE_LATENCY_GUARD] = { "latency_guard", 0, 1000, 0 },
};

const struct tier_key tier_tier_keys[TIER_NR_TIER_TUNABLES] = {
	[TIER_TIER_ENDURANCE] = { "endurance", 0, TIER_MAX_ALLOWANCE, 0 },
	[TIER_TIER_RESERVE] = { "reserve", 0, TIER_MAX_ALLOWANCE, 0 },
	[TIER_TIER_LANDING] = { "landing", 0, 1, 1 },
};

int tier_parse_u64(const char *word, u64 max, u64 *value)
{
	if (!isdigit(word[0]) || kstrtou64(word, 10, value) || *value > max)
		return -EINVAL;
	return 0;
}

int tier_parse_key(const char *word, int *rank)
{
	const char *dot = strchr(word, '.');
	char digits[4] = "";
	u64 value;
	int i;

	*rank = -1;
	if (!dot) {
		for (i = 0; i < TIER_NR_TUNABLES; i++)
			if (!strcmp(word, tier_keys[i].name))
				return i;
		return -EINVAL;
	}
	if (strncmp(word, "tier", 4) || dot - word - 4 < 1 || dot - word - 4 > 2)
		return -EINVAL;
	memcpy(digits, word + 4, dot - word - 4);
	if (tier_parse_u64(digits, TIER_MAX_TIERS - 1, &value))
		return -EINVAL;
	*rank = value;
	for (i = 0; i < TIER_NR_TIER_TUNABLES; i++)
		if (!strcmp(dot + 1, tier_tier_keys[i].name))
			return i;
	return -EINVAL;
}

u64 tier_tunable(struct tier_set *set, enum tier_tunable key)
{
	const struct tier_target *tt = set->bound;

	return tt && READ_ONCE(tt->overrides.core[key].given) ? tt->overrides.core[key].value :
							   READ_ONCE(set->tunables[key]);
}

u64 tier_tier_tunable(struct tier_set *set, unsigned int rank, enum tier_tier_tunable key)
{
	const struct tier_target *tt = set->bound;
	const struct tier_meta_tier *rec = &set->tiers[rank]->rec;

	if (tt && READ_ONCE(tt->overrides.tier[rank][key].given))
		return tt->overrides.tier[rank][key].value;
	switch (key) {
	case TIER_TIER_ENDURANCE:
		return READ_ONCE(rec->endurance);
	case TIER_TIER_RESERVE:
		return READ_ONCE(rec->reserve);
	default:
		return READ_ONCE(rec->landing);
	}
}

u64 tier_policy_tunable(struct tier_set *set, unsigned int key)
{
	const struct tier_target *tt = set->bound;

	return tt && tt->overrides.policy[key].given ? tt->overrides.policy[key].value :
						       set->policy_tunables[key];
}
