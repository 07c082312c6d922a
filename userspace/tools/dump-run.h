/* SPDX-License-Identifier: GPL-2.0-only */
/* Dump, restore and repair, from opening to the last message. */
#ifndef TIER_TOOLS_DUMP_RUN_H
#define TIER_TOOLS_DUMP_RUN_H

#include "base/context.h"
#include "format/content.h"

struct dump_run {
	struct tier_context *ctx;
	const char *input;
	uint64_t at;		/* byte of it where the metadata begins */
	const char *output;	/* NULL: standard output */
	bool json;
	bool snapshot;		/* only the metadata snapshot; the set may be active */
	void (*was_read)(void *context);	/* when all was read; or NULL */
	void *context;
	struct tier_meta_info *info;	/* of what was dumped; or NULL */
};

/* False with the error said; then an old file is unchanged. */
bool dump_run(const struct dump_run *run);

/*
 * Reads a dump for output, XML or JSON ("-": standard input), and checks it. The caller calls
 * md_content_free() if true.
 */
bool restore_read(struct tier_context *ctx, const char *input, const char *output, struct md_content *content);

struct repair_run {
	struct tier_context *ctx;
	const char *input;
	uint64_t at;		/* as above */
	const char *output;
	unsigned int nr_tiers;
	const char *const *tiers;	/* devices whose labels replace lost records, fastest first */
	bool lose_tiers;	/* give up chunks of tiers without name and record */
	/* Asked before chunks are given up; NULL: not asked. */
	bool (*may_lose)(const struct repair_run *run, unsigned long long chunks);
	const void *context;
};

/* The same; prints to standard output which chunks are lost. */
bool repair_run(const struct repair_run *run);

#endif
