/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Other policies for two tiers, to compare the heat engine with: short, and without care for
 * memory or time. A chunk of the slow tier that was just accessed is promoted or not; then
 * another one of the fast tier is demoted for it, if that is full.
 */
#ifndef DM_TIER_RIVALS_H
#define DM_TIER_RIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rivals {
	uint32_t nr_chunks, fast_places;
	const uint8_t *rank;		/* by chunk, 0 = fast */
	uint64_t now;			/* accesses so far */

	uint64_t *last;			/* by chunk: its last access, 0 = none */
	uint64_t *entered;		/* the access that put it where it is */
	uint32_t *count;
	uint8_t *queue;
	uint32_t in_small;

	/* Of the future, see rivals_foresee(). */
	double half_life, move_ms;
	double *future;			/* by access: worth of the chunk's later ones, ms */
	double *worth;			/* by chunk */
};

struct rival {
	const char *name;
	bool foresees;
	void (*accessed)(struct rivals *r, uint32_t chunk);
	/* Is chunk, just accessed, to go to the fast tier in victim's place? */
	bool (*wants)(struct rivals *r, uint32_t chunk, uint32_t victim);
	/* Of two chunks of the fast tier, the one with the lower rating makes way. */
	double (*rating)(const struct rivals *r, uint32_t chunk);
	void (*swapped)(struct rivals *r, uint32_t chunk, uint32_t victim);
};

#define RIVALS_NO_VICTIM	UINT32_MAX

/* NULL if there is none of that name. */
const struct rival *rival_of(const char *name);

void rivals_init(struct rivals *r, uint32_t nr_chunks, uint32_t fast_places,
		 const uint8_t *rank);
/* chunk and saving of each access (ms less on the fast tier), in order */
void rivals_foresee(struct rivals *r, const uint32_t *chunks, const double *savings,
		    size_t nr);
void rivals_accessed(struct rivals *r, const struct rival *rival, uint32_t chunk);
uint32_t rivals_victim(const struct rivals *r, const struct rival *rival);

#endif /* DM_TIER_RIVALS_H */
