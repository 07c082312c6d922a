/* SPDX-License-Identifier: GPL-2.0-only */
/* Tunables: the values that users write and the values for the kernel. */
#ifndef TIERCTL_TUNABLE_H
#define TIERCTL_TUNABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/suggest.h"

struct tunable {
	char *key;
	uint64_t value;		/* in the kernel's unit */
	bool policy;		/* a tunable of the policy: only the kernel knows its range */
};

/*
 * Reads KEY=VALUE. Sizes are converted to the key's unit: migration_bandwidth KiB/s,
 * tierN.endurance GiB a day, tierN.reserve chunks, tierN.latency us, tierN.watermark percent,
 * tierN.quiet and tierN.residence seconds. Returns NULL, or the error, for a message
 * that names the assignment; the caller frees.
 */
char *tunable_parse(const char *assignment, uint64_t chunk_sectors, unsigned int nr_tiers,
		    struct tunable *t);
/* Offers the keys of a set with that policy, except those of tiers. */
void tunable_offer(struct suggestion *g, const char *policy);
/*
 * "64 MiB/s" for 65536 in the kernel's unit, "no limit"; NULL if the number needs no
 * explanation.
 */
char *tunable_text(const char *key, uint64_t value, uint64_t chunk_sectors);
void tunable_free(struct tunable *t);

#endif
