/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line: commands, their options, their help. */
#ifndef TIERCTL_OPTIONS_H
#define TIERCTL_OPTIONS_H

#include <stdbool.h>

#include "base/context.h"
#include "base/words.h"

enum option_id {
	OPT_NONE,
	OPT_HELP, OPT_VERSION, OPT_QUIET, OPT_VERBOSE, OPT_YES, OPT_FORCE, OPT_TEST, OPT_JSON,
	OPT_METADATA, OPT_CHUNKSIZE, OPT_SIZE, OPT_POLICY, OPT_FEATURE, OPT_SET, OPT_ALL,
	OPT_DEGRADED, OPT_READ_ONLY, OPT_AUTO, OPT_INTERVAL, OPT_TIER, OPT_HOME, OPT_OFFSET,
	OPT_LENGTH, OPT_EVACUATED, OPT_TIMEOUT, OPT_BACKGROUND, OPT_NAME,
	OPT_WAIT, OPT_REFRESH, OPT_BATCH, OPT_ONCE, OPT_FILES, OPT_SVG, OPT_PNG, OPT_EXEC, OPT_JOURNAL,
	OPT_NO_CHECK, OPT_TAKE_OVER, OPT_RESERVE, OPT_OUTPUT, OPT_FORMAT,
	OPT_ABORT, OPT_AT, OPT_PV, OPT_CLEAR, OPT_APPLY, OPT_FAST, OPT_FAST_SIZE, OPT_FAST_PV,
	OPT_TIERS, OPT_LABEL, OPT_DIR, OPT_KEEP, OPT_AT_BOOT, OPT_MIRROR,
	NR_OPTIONS,
};

/* The words behind the command. */
struct args {
	struct tier_context *ctx;
	bool given[NR_OPTIONS];
	const char *value[NR_OPTIONS];	/* for options with a value: the last one */
	struct strings features;	/* every --feature */
	struct strings settings;	/* every --set */
	struct strings fast;		/* every --fast */
	unsigned int nr;
	const char **word;		/* words that are no options */
};

/*
 * One option of a command.  Texts are plain: the generator (generate.c) recognises options, what
 * stands for a value and NAME(8); *bold* is bold.
 */
struct command_option {
	enum option_id id;
	const char *help;		/* a line, NULL for what it says with every command */
	enum option_id not_with;	/* beside that one it would do nothing: a usage error */
	const char *more;		/* what the manual page has behind it: sentences, or with , ; : what goes on */
};

#define COMMAND_OPTIONS	20

/* --help, completion and manual pages are made of these. */
struct command {
	const char *name;
	const char *synopsis;		/* one form a line */
	const char *summary;		/* one line */
	const char *help;		/* what else is to be known */
	const char *words;		/* what completion offers for arguments (options.c), with commas between them */
	struct command_option options[COMMAND_OPTIONS];	/* ends with OPT_NONE */
	unsigned int min_words, max_words;
	int (*run)(const struct args *args);
};

extern const struct command commands[];	/* ends with a NULL name */

const struct command *command_find(const char *name);

/* 0, or EXIT_USAGE with the error said.  Sets what the context has of them. */
int options_parse(struct tier_context *ctx, const struct command *c, int argc, char **argv, struct args *args);
void args_free(struct args *args);

/* The properties of an option in all commands. */
struct option_def {
	const char *name;
	char letter;
	const char *value;		/* name of its value, NULL for none */
	const char *help;		/* a line */
	const char *offers;		/* what completion offers for the value */
	const char *more;		/* as above */
	bool common;			/* tierctl(8) tells it, the page of a command only what is special */
};

extern const struct option_def option_defs[NR_OPTIONS];

/* NULL if the command does not take it. */
const struct command_option *option_of(const struct command *c, int id);

/* The line about it. */
const char *option_help(const struct command_option *o);

void print_help(void);
void print_command_help(const struct command *c);

#endif
