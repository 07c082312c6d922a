/* SPDX-License-Identifier: GPL-2.0-only */
/* The report on a set, made once for people and for JSON. */
#ifndef TIERCTL_REPORT_H
#define TIERCTL_REPORT_H

#include "set/health.h"
#include "base/ranges.h"
#include "set/latency.h"
#include "set/set.h"
#include "set/wear.h"

struct attention {
	char *code;		/* one word, for JSON */
	int tier;		/* rank, -1 if no tier is meant */
	char *device;		/* the device that is meant, NULL if none or missing */
	char *text;
};

/* Per second, over the measured interval. */
struct rate {
	uint64_t reads, writes;			/* requests of the tiered device */
	uint64_t read_bytes, written_bytes;	/* of the tier's device, moves included */
	double await_ms;			/* mean time of a request */
};

struct report {
	struct set *set;
	const char *state;	/* active, suspended, failed, inactive, incomplete */
	const char *health;	/* ok, degraded, attention, failed */

	bool lacking;		/* data on a device, or on the end of one, cannot be read */
	struct health tier_health[TIER_MAX_TIERS], meta_health;
	unsigned int nr_attention;
	struct attention *attention;

	bool have_chunks;	/* all below is set */
	uint64_t mapped, pinned, chunks;
	uint64_t used[TIER_MAX_TIERS];

	bool have_rates;
	struct rate rate[TIER_MAX_TIERS];
	uint64_t moved_bytes_rate;

	/* report_look_at_tiers() was called, and the kernel answered: */
	bool have_wear, have_latency;
	struct wear wear[TIER_MAX_TIERS];
	struct latency latency[TIER_MAX_TIERS];

	unsigned int nr_lost;
	struct range *lost;	/* in order; chunks that lie on missing tiers */
	bool lost_cut;		/* there may be more ranges, or they were not looked for */

	int evacuating;		/* rank of a tier that is being emptied, -1 for none */

	bool have_holds;	/* see report_ask_holds() */
	struct pairs holds;	/* how often chunks were held back, by what */
};

/* Measures all active sets of the list together, for so many milliseconds; 0: no rates. */
struct report *reports_make(struct set **sets, unsigned int nr, unsigned int interval_ms);
void reports_free(struct report *reports, unsigned int nr);

/*
 * The same in two steps, for callers with other work in between. Rates are those since before,
 * for the sets in it; before may be NULL.
 */
struct samples;
struct samples *samples_take(struct set **sets, unsigned int nr);
void samples_free(struct samples *samples);
struct report *reports_since(struct set **sets, unsigned int nr, const struct samples *before);

/* Asks the kernel what was written to the tiers of an active set, and how fast they are. */
void report_look_at_tiers(struct report *r);

/* Whether the set can be asked for its counters, and for the places of chunks. */
bool report_measurable(const struct set *s);

/* Asks the set what held back its chunks, if it can be asked.  False with the error said. */
bool report_ask_holds(struct report *r);

/* Adds an entry to attention, about a device that may be none of the tiers. */
void report_attention(struct report *r, const char *code, const char *device, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
