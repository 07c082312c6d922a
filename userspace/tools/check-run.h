/* SPDX-License-Identifier: GPL-2.0-only */
/* A check of metadata and labels, from opening to the last message. */
#ifndef TIER_TOOLS_CHECK_RUN_H
#define TIER_TOOLS_CHECK_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct check_run {
	struct tier_context *ctx;
	const char *input;
	uint64_t at;		/* byte of it where the metadata begins; not with clear_needs_check */
	bool superblock_only;
	bool skip_mappings;
	bool snapshot;		/* only the metadata snapshot; the set may be active */
	bool ignore_minor;	/* not with clear_needs_check */
	bool clear_needs_check;	/* if nothing is wrong */
	bool in_silence;	/* print no errors; the first error is in first */
	unsigned int nr_tiers;
	const char *const *tiers;	/* devices whose labels are to be compared */
	void (*was_read)(void *context);	/* when all was read; or NULL */
	void *context;

	/* Results. */
	uint64_t errors, minor;
	bool needs_check;	/* the flag is still set */
	bool cleared;		/* the flag was cleared */
	char *first;		/* the first error, or NULL; the caller frees */
};

/*
 * Whether there is no error. Prints all errors, unless --quiet. Always says if the input cannot
 * be opened.
 */
bool check_run(struct check_run *run);

#endif
