/* SPDX-License-Identifier: GPL-2.0-only */
/* The status line (INFO) of a tier target. */
#ifndef TIERCTL_STATUS_H
#define TIERCTL_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "dm-tier/format.h"
#include "base/words.h"

enum status_kind {
	STATUS_OK,
	STATUS_FAIL,	/* the target has failed */
	STATUS_ERROR,	/* the metadata cannot be queried */
	STATUS_WAITS,	/* there is no answer */
};

struct tier_status {
	unsigned int id;
	char state;		/* A active, E evacuating, F errors, - missing */
	uint64_t used, places;	/* chunks */
	uint64_t reads, writes;	/* bios since activation */
	uint64_t errors;
};

struct status {
	enum status_kind kind;	/* nothing below is set unless STATUS_OK */
	uint64_t metadata_block;	/* sectors */
	uint64_t metadata_used, metadata_total;	/* metadata blocks */
	bool held;
	uint64_t held_root;	/* block of the metadata snapshot */
	uint64_t chunk_sectors;
	uint64_t mapped, chunks, pinned;
	unsigned int nr_tiers;
	struct tier_status tier[TIER_MAX_TIERS];	/* by rank */
	uint64_t promotions, demotions, aborted, failed;
	uint64_t in_flight;	/* chunks */
	uint64_t migrated;	/* sectors */
	struct strings features;
	struct pairs core;
	char *policy;
	struct pairs policy_args;
	bool read_only;
	bool needs_check;
	bool paused;
};

/* Words after the last known word come from a newer kernel and are skipped. */
int status_parse(const char *line, struct status *s);
void status_free(struct status *s);

/* The value in force of a target, tier or policy tunable, NULL if there is none. */
const char *status_tunable(const struct status *s, const char *key);

/* The line for one bucket in the answer to the heat message. */
struct heat_bucket {
	uint64_t first, count, mapped, reads, writes, heat;
	uint64_t on_rank[TIER_MAX_TIERS];
};

/* Reads the bucket at *line and moves *line to the next; -ENODATA at the end. */
int heat_parse(const char **line, unsigned int nr_tiers, struct heat_bucket *b);

/*
 * Whether the metadata device has less free space than so many changed entries of the mapping
 * need.
 */
bool status_metadata_short(const struct status *s, uint64_t entries);
/*
 * Whether the metadata is nearly full: as above, at which the kernel sends an event, or nine
 * tenths used.
 */
bool status_metadata_low(const struct status *s);

#endif
