/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line: commands, their options, their help. */
#ifndef TIERCTL_OPTIONS_H
#define TIERCTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/words.h"

enum option_id {
	OPT_HELP, OPT_VERSION, OPT_QUIET, OPT_VERBOSE, OPT_YES, OPT_FORCE, OPT_TEST, OPT_JSON,
	OPT_METADATA, OPT_CHUNKSIZE, OPT_SIZE, OPT_POLICY, OPT_FEATURE, OPT_SET, OPT_ALL,
	OPT_DEGRADED, OPT_READ_ONLY, OPT_AUTO, OPT_INTERVAL, OPT_TIER, OPT_HOME, OPT_OFFSET,
	OPT_LENGTH, OPT_EVACUATED, OPT_TIMEOUT, OPT_BACKGROUND, OPT_NAME,
	OPT_WAIT, OPT_REFRESH, OPT_BATCH, OPT_ONCE, OPT_FILES, OPT_SVG, OPT_PNG, OPT_EXEC,
	OPT_NO_CHECK, OPT_OUTPUT, OPT_FORMAT,
	OPT_ABORT, OPT_AT, OPT_PV, OPT_CLEAR, OPT_APPLY, OPT_FAST, OPT_FAST_SIZE, OPT_FAST_PV,
	OPT_TIERS, OPT_LABEL,
	NR_OPTIONS,
};

/* What was given after the command. */
struct args {
	bool given[NR_OPTIONS];
	const char *value[NR_OPTIONS];	/* of those that take one: the last */
	struct strings features;	/* every --feature */
	struct strings settings;	/* every --set */
	struct strings fast;		/* every --fast */
	unsigned int nr;
	const char **word;		/* what is no option */
};

struct command {
	const char *name;
	const char *synopsis;
	const char *summary;		/* one line */
	const char *help;		/* what else is to be known */
	uint64_t options;		/* bits of the options it takes besides those all take */
	unsigned int min_words, max_words;
	int (*run)(const struct args *args);
};

#define OPT_BIT(id)	(1ULL << (id))

extern const struct command commands[];	/* ends with a NULL name */

const struct command *command_find(const char *name);

/* 0, or EXIT_USAGE with the error said.  Sets the global options. */
int options_parse(const struct command *c, int argc, char **argv, struct args *args);
void args_free(struct args *args);

void print_help(void);
void print_command_help(const struct command *c);

#endif
