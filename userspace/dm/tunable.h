/* SPDX-License-Identifier: GPL-2.0-only */
/* Tunables: what users write for a value and what the kernel is told. */
#ifndef TIERCTL_TUNABLE_H
#define TIERCTL_TUNABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/suggest.h"

struct tunable {
	char *key;
	uint64_t value;		/* in the kernel's unit */
	bool policy;		/* of the policy: only the kernel knows its range */
};

/*
 * Reads KEY=VALUE.  Sizes are turned into the key's unit: migration_bandwidth
 * KiB/s, tierN.endurance GiB a day, tierN.reserve chunks.  NULL, or what is
 * wrong, for a message that names the assignment; the caller frees.
 */
char *tunable_parse(const char *assignment, uint64_t chunk_sectors, unsigned int nr_tiers,
		    struct tunable *t);
/* The keys that a set with that policy has, but those of tiers. */
void tunable_offer(struct suggestion *g, const char *policy);
/* "64 MiB/s" of what the kernel calls 65536, "no limit"; NULL if the number says it all. */
char *tunable_text(const char *key, uint64_t value, uint64_t chunk_sectors);
void tunable_free(struct tunable *t);

#endif
