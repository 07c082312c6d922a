/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The context of a program that is run by hand or by a script: errors, warnings and -v go to
 * stderr, results to stdout, questions to the terminal.  What --json reports of them is kept.
 */
#ifndef TIERCTL_TERMINAL_H
#define TIERCTL_TERMINAL_H

#include "base/context.h"

struct terminal_line {
	enum line_level level;	/* without --json, or with errors_only, errors alone are kept */
	enum error_code code;
	char *text;
};

struct terminal {
	struct tier_context ctx;
	bool quiet;		/* errors only */
	bool verbose;
	bool yes;		/* the answer to every question */
	bool json;		/* results are not printed */
	bool errors_only;	/* the report has no results and warnings */
	unsigned int nr_lines;
	struct terminal_line *line;
};

/* The flags may be set, or changed, before and after. */
void terminal_init(struct terminal *t);
void terminal_free(struct terminal *t);

/* Of a context that terminal_init() made. */
struct terminal *terminal_of(struct tier_context *ctx);

#endif
