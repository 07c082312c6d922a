/* SPDX-License-Identifier: GPL-2.0-only */
/* A check of metadata and labels, from opening to the last message. */
#ifndef TIER_TOOLS_CHECK_RUN_H
#define TIER_TOOLS_CHECK_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct check_run {
	struct tier_context *ctx;
	const char *input;
	bool superblock_only;
	bool skip_mappings;
	bool snapshot;		/* the metadata snapshot's contents; the set may be live */
	bool ignore_minor;	/* not with clear_needs_check */
	bool clear_needs_check;	/* if nothing is wrong */
	bool in_silence;	/* say nothing of what is found: first has it */
	unsigned int nr_tiers;
	const char *const *tiers;	/* devices whose labels are to be compared */
	void (*was_read)(void *context);	/* if not NULL: all that is to be read is */
	void *context;

	/* Filled in. */
	uint64_t errors, minor;
	bool needs_check;	/* the flag is set, still */
	bool cleared;		/* it was, and is no more */
	char *first;		/* the first thing that is wrong, NULL; the caller frees */
};

/*
 * Whether nothing is wrong.  All that is was said, but for --quiet's sake; that
 * the input cannot be opened is always said.
 */
bool check_run(struct check_run *run);

#endif
