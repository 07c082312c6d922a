// SPDX-License-Identifier: GPL-2.0-only
#include "set/latency.h"

#include <stdio.h>
#include <stdlib.h>

#define LATENCY_MS	3000

const char *const latency_class[LATENCY_CLASSES] = {
	"random_read", "sequential_read", "random_write", "sequential_write",
};

bool latency_parse(const char *answer, unsigned int nr_tiers, struct latency latency[TIER_MAX_TIERS])
{
	unsigned int i, class, rank;
	int length;

	for (i = 0; i < nr_tiers; i++) {
		if (sscanf(answer, "%u%n", &rank, &length) != 1 || rank != i)
			return false;
		answer += length;
		for (class = 0; class < LATENCY_CLASSES; class++) {
			if (sscanf(answer, " %u %u%n", &latency[i].class[class].unloaded_ns,
				   &latency[i].class[class].now_ns, &length) != 2)
				return false;
			answer += length;
		}
	}
	return true;
}

bool latency_query(const struct set *s, struct latency latency[TIER_MAX_TIERS])
{
	char *answer;
	bool good;

	if (!s->active || s->status.kind != STATUS_OK || dm_query(s->dm.name, LATENCY_MS, "latency", &answer))
		return false;
	good = latency_parse(answer, s->nr_tiers, latency);
	free(answer);
	return good;
}
