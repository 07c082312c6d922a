/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by tier_check, tier_dump, tier_restore and tier_repair. */
#ifndef TIER_TOOLS_TOOL_H
#define TIER_TOOLS_TOOL_H

#include <getopt.h>

#include "base/context.h"
#include "format/problems.h"
#include "format/source.h"
#include "base/util.h"
#include "tools/terminal.h"

/* Options that every tool has. */
#define TOOL_OPTIONS						\
	{ "help", no_argument, NULL, 'h' },			\
	{ "version", no_argument, NULL, 'V' },			\
	{ NULL, 0, NULL, 0 }

/*
 * Returns the next option, -1 after the last, like getopt_long(), with our own messages. Does
 * not return from TOOL_OPTIONS, nor from a wrong option, with the error said.
 */
int tool_option(struct tier_context *ctx, int argc, char **argv, const char *letters,
		const struct option *options, const char *help);

/* The error in the number of devices, with or without --tiers; or NULL. */
const char *tool_tiers_wrong(unsigned int nr, bool announced);

/* Exit codes. */
#define TOOL_FINE	0
#define TOOL_FAILED	1

/*
 * Opens metadata. A block device in use, and a file that a loop device shows, are refused,
 * unless shared. flags: O_RDONLY or O_RDWR. Returns a file descriptor, or -1 with the error
 * said.
 */
int tool_open(struct tier_context *ctx, const char *path, int flags, bool shared);

/* Also makes its source. False with the error said. */
bool tool_open_source(struct tier_context *ctx, const char *path, uint64_t at, bool shared, struct md_source *src);
void tool_close_source(struct md_source *src);

/* Errors in the metadata are printed with this input's name. */
struct tool_input {
	struct tier_context *ctx;
	const char *path;
};
void tool_say_problem(void *input, const char *text);

/* Closes stdout; TOOL_FAILED with the error said if output could not be written. */
int tool_finish(struct terminal *t, int code);

#endif
