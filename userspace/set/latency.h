/* SPDX-License-Identifier: GPL-2.0-only */
/* How long accesses to the tiers of an active set take, as the kernel measured them. */
#ifndef TIERCTL_LATENCY_H
#define TIERCTL_LATENCY_H

#include "set/set.h"

#define LATENCY_CLASSES	4

/* In the kernel's order: random_read, sequential_read, random_write, sequential_write. */
extern const char *const latency_class[LATENCY_CLASSES];

struct latency {
	struct {
		unsigned int unloaded_ns, now_ns;	/* 0: unknown */
	} class[LATENCY_CLASSES];
};

/* Reads the kernel's answer. False: it is not one for so many tiers. */
bool latency_parse(const char *answer, unsigned int nr_tiers, struct latency latency[TIER_MAX_TIERS]);
/* By rank, with a time limit. False: the kernel does not say. */
bool latency_query(const struct set *s, struct latency latency[TIER_MAX_TIERS]);

#endif
