/* SPDX-License-Identifier: GPL-2.0-only */
/* What tier_check, tier_dump, tier_restore and tier_repair share. */
#ifndef TIER_TOOLS_TOOL_H
#define TIER_TOOLS_TOOL_H

#include <getopt.h>

#include "base/context.h"
#include "format/problems.h"
#include "format/source.h"
#include "base/util.h"
#include "tools/terminal.h"

/* What every tool has. */
#define TOOL_OPTIONS						\
	{ "help", no_argument, NULL, 'h' },			\
	{ "version", no_argument, NULL, 'V' },			\
	{ NULL, 0, NULL, 0 }

/*
 * The next option, -1 after the last, as getopt_long() but for the messages.  Does
 * not return from TOOL_OPTIONS, nor from a wrong option, with the error said.
 */
int tool_option(struct tier_context *ctx, int argc, char **argv, const char *letters,
		const struct option *options, const char *help);

/* What is wrong with so many devices, given or not given after --tiers; or NULL. */
const char *tool_tiers_wrong(unsigned int nr, bool announced);

/* Exit codes. */
#define TOOL_FINE	0
#define TOOL_FAILED	1

/*
 * Opens metadata; a block device that is in use, and a file that a loop device shows, is
 * refused, unless shared.  flags: O_RDONLY or O_RDWR.  A file descriptor, or -1 with the error said.
 */
int tool_open(struct tier_context *ctx, const char *path, int flags, bool shared);

/* The same and its source.  False with the error said. */
bool tool_open_source(struct tier_context *ctx, const char *path, bool shared, struct md_source *src);
void tool_close_source(struct md_source *src);

/* Problems are errors of this struct tool_input. */
struct tool_input {
	struct tier_context *ctx;
	const char *path;
};
void tool_say_problem(void *input, const char *text);

/* Closes stdout; TOOL_FAILED with the error said if what was printed got lost. */
int tool_finish(struct terminal *t, int code);

#endif
