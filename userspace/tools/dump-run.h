/* SPDX-License-Identifier: GPL-2.0-only */
/* Dump, restore and repair, from opening to the last message. */
#ifndef TIER_TOOLS_DUMP_RUN_H
#define TIER_TOOLS_DUMP_RUN_H

#include "base/context.h"
#include "format/content.h"

struct dump_run {
	struct tier_context *ctx;
	const char *input;
	const char *output;	/* NULL: standard output */
	bool json;
	bool snapshot;		/* what the metadata snapshot holds; the set may be live */
	void (*was_read)(void *context);	/* if not NULL: all that is to be read is */
	void *context;
};

/* False with the error said; a file that was there is as it was. */
bool dump_run(const struct dump_run *run);

/*
 * What is in a dump, in XML or JSON ("-": standard input), that is meant for output and in
 * order.  md_content_free() if true.
 */
bool restore_read(struct tier_context *ctx, const char *input, const char *output, struct md_content *content);

struct repair_run {
	struct tier_context *ctx;
	const char *input;
	const char *output;
	unsigned int nr_tiers;
	const char *const *tiers;	/* devices whose labels replace lost records, fastest first */
	bool lose_tiers;	/* that are not among them and have no record */
	/* Asked before such are lost; NULL: nobody. */
	bool (*may_lose)(const struct repair_run *run, unsigned long long chunks);
	const void *context;
};

/* The same; what is lost is said on standard output. */
bool repair_run(const struct repair_run *run);

#endif
