/* SPDX-License-Identifier: GPL-2.0-only */
/* What there is to tell about a set, worked out once for people and for JSON. */
#ifndef TIERCTL_REPORT_H
#define TIERCTL_REPORT_H

#include "set/health.h"
#include "base/ranges.h"
#include "set/set.h"

struct attention {
	char *code;		/* one word, for JSON */
	int tier;		/* rank, -1 if it is not about a tier */
	char *device;		/* that it is about, NULL if none or missing */
	char *text;
};

/* Per second, over the interval that was measured. */
struct rate {
	uint64_t reads, writes;			/* requests of the tiered device */
	uint64_t read_bytes, written_bytes;	/* of the tier's device, moves included */
	double await_ms;			/* mean time of a request to it */
};

struct report {
	struct set *set;
	const char *state;	/* active, suspended, failed, inactive, incomplete */
	const char *health;	/* ok, degraded, attention, failed */

	bool lacking;		/* what is on a device, or on the end of it, cannot be had */
	struct health tier_health[TIER_MAX_TIERS], meta_health;
	unsigned int nr_attention;
	struct attention *attention;

	bool have_chunks;	/* of all below */
	uint64_t mapped, pinned, chunks;
	uint64_t used[TIER_MAX_TIERS];

	bool have_rates;
	struct rate rate[TIER_MAX_TIERS];
	uint64_t moved_bytes_rate;

	unsigned int nr_lost;
	struct range *lost;	/* in order; chunks that lie on missing tiers */
	bool lost_cut;		/* there may be more, or nobody has looked */

	int evacuating;		/* rank of a tier that is being emptied, -1 for none */
};

/*
 * Every set of the list that is active is measured for so many milliseconds,
 * together; 0 for no rates.
 */
struct report *reports_make(struct set **sets, unsigned int nr, unsigned int interval_ms);
void reports_free(struct report *reports, unsigned int nr);

/*
 * The same in two steps, for who has something better to do meanwhile.  Rates
 * are those since before, of the sets that were in it; before may be NULL.
 */
struct samples;
struct samples *samples_take(struct set **sets, unsigned int nr);
void samples_free(struct samples *samples);
struct report *reports_since(struct set **sets, unsigned int nr, const struct samples *before);

/* Whether it can be asked what it does, and where chunks are. */
bool report_measurable(const struct set *s);

/* Notes one more thing that needs attention, about a device that may be none of the tiers. */
void report_attend(struct report *r, const char *code, const char *device, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
