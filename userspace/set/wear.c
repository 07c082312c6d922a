// SPDX-License-Identifier: GPL-2.0-only
#include "set/wear.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/size.h"

#define WEAR_MS	3000

static double days(const struct set *s, unsigned int rank, long long sectors)
{
	const char *text;
	uint64_t gib = 0;
	char key[40];

	snprintf(key, sizeof(key), "tier%u.endurance", rank);
	text = status_tunable(&s->status, key);
	if (!text || parse_number(text, &gib) || !gib)
		return 0;
	return (double)sectors * SECTOR_SIZE / ((double)gib * (1ULL << 30));
}

bool wear_query(const struct set *s, struct wear wear[TIER_MAX_TIERS])
{
	char *answer, *line;
	unsigned int i;

	if (!s->active || s->status.kind != STATUS_OK || dm_query(s->dm.name, WEAR_MS, "wear", &answer))
		return false;
	for (i = 0, line = answer; i < s->nr_tiers; i++) {
		unsigned long long written, used, allowed;
		long long left;
		unsigned int rank;
		int length;

		if (sscanf(line, "%u %llu %llu %llu %lld%n", &rank, &written, &used, &allowed, &left, &length) != 5 ||
		    rank != i)
			break;
		line += length;
		wear[i] = (struct wear){
			written * SECTOR_SIZE, used * SECTOR_SIZE, allowed * SECTOR_SIZE, days(s, i, left),
		};
	}
	free(answer);
	return i == s->nr_tiers;
}
