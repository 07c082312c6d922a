/* SPDX-License-Identifier: GPL-2.0-only */
/* The arguments of a tier target, in the syntax of the kernel's table line. */
#ifndef TIERCTL_TABLE_H
#define TIERCTL_TABLE_H

#include <stdint.h>
#include "dm-tier/format.h"
#include "base/words.h"

/* The owner frees with table_free(). */
struct table {
	char *metadata;			/* a path or major:minor */
	uint64_t chunk_sectors;
	unsigned int nr_tiers;
	char *tier[TIER_MAX_TIERS];	/* by rank; "-" for a missing one */
	struct strings features;
	struct pairs core;
	char *policy;			/* NULL means default */
	struct pairs policy_args;
};

/* The words after "tier" in the table line; the caller frees. */
char *table_build(const struct table *t);

/* The reverse.  -EINVAL leaves *t empty. */
int table_parse(const char *params, struct table *t);

/*
 * Changes the list of tiers; tunables that name a tier by its rank move with it, or are removed
 * with it.
 */
void table_insert(struct table *t, unsigned int rank, const char *device);
void table_drop(struct table *t, unsigned int rank);

void table_free(struct table *t);

#endif
