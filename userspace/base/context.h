/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a command hands down: where lines go, who answers questions, what may be changed.
 * Below cmd/ and tools/ nothing prints, asks or ends the tool by itself.
 */
#ifndef TIERCTL_CONTEXT_H
#define TIERCTL_CONTEXT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum line_level {
	LINE_ERROR,
	LINE_WARNING,
	LINE_RESULT,	/* what was done, or would be */
	LINE_VERBOSE,
};

struct context_set {
	char *hex;		/* the digits of its UUID */
	char *name;
};

struct tier_context {
	/* A line without its newline; a result may have more than one.  code: of an error. */
	void (*log)(struct tier_context *ctx, enum line_level level, enum error_code code, const char *line);
	/* Whether the answer is yes; no is an error, which is logged. */
	bool (*ask)(struct tier_context *ctx, const char *question);
	/*
	 * How far something is: a line in place of the last one; NULL takes that away, "" leaves
	 * it where it is and goes on below.  NULL if nobody wants to see it.
	 */
	void (*progress)(struct tier_context *ctx, const char *line);

	bool dry_run;		/* change nothing, say what would be done */
	bool force;

	/* For reports: whether anything was written, or told to the kernel or LVM, and of which sets. */
	bool changed;
	unsigned int nr_sets;
	struct context_set *set;

	/* Of quiet_begin(). */
	bool quiet;
	unsigned int nr_held;
	struct held_line *held;
};

void err(struct tier_context *ctx, enum error_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void warn(struct tier_context *ctx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void say(struct tier_context *ctx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void verbose(struct tier_context *ctx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool ask(struct tier_context *ctx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Notes that the command is about this set, by its last name. */
void context_set(struct tier_context *ctx, const char *hex, const char *name);

/*
 * While a set is suspended whatever lies on it waits, maybe this tool and where it writes to
 * as well.  From one to the other it stays in memory, lines are held back, and so are signals.
 */
struct stillness {
	sigset_t signals;
};
void quiet_begin(struct tier_context *ctx, struct stillness *before);
void quiet_end(struct tier_context *ctx, const struct stillness *before);

#endif
