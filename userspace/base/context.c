// SPDX-License-Identifier: GPL-2.0-only
#include "base/context.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/util.h"

struct held_line {
	enum line_level level;
	enum error_code code;
	char *line;
};

static void log_line(struct tier_context *ctx, enum line_level level, enum error_code code, char *line)
{
	if (ctx->quiet) {
		ctx->held = xrealloc(ctx->held, ctx->nr_held + 1, sizeof(*ctx->held));
		ctx->held[ctx->nr_held++] = (struct held_line){ level, code, line };
	} else {
		ctx->log(ctx, level, code, line);
		free(line);
	}
}

#define LOG(level, code) do {							\
	va_list ap;								\
	char *line;								\
										\
	va_start(ap, fmt);							\
	line = xvasprintf(fmt, ap);						\
	va_end(ap);								\
	log_line(ctx, level, code, line);					\
} while (0)

void err(struct tier_context *ctx, enum error_code code, const char *fmt, ...)
{
	LOG(LINE_ERROR, code);
}

void warn(struct tier_context *ctx, const char *fmt, ...)
{
	LOG(LINE_WARNING, 0);
}

void say(struct tier_context *ctx, const char *fmt, ...)
{
	LOG(LINE_RESULT, 0);
}

void verbose(struct tier_context *ctx, const char *fmt, ...)
{
	LOG(LINE_VERBOSE, 0);
}

bool ask(struct tier_context *ctx, const char *fmt, ...)
{
	char *question;
	va_list ap;
	bool yes;

	va_start(ap, fmt);
	question = xvasprintf(fmt, ap);
	va_end(ap);
	yes = ctx->ask(ctx, question);
	free(question);
	return yes;
}

void context_set(struct tier_context *ctx, const char *hex, const char *name)
{
	unsigned int i;

	for (i = 0; i < ctx->nr_sets && strcmp(ctx->set[i].hex, hex); i++)
		;
	if (i < ctx->nr_sets) {
		free(ctx->set[i].name);
	} else {
		ctx->set = xrealloc(ctx->set, ++ctx->nr_sets, sizeof(*ctx->set));
		ctx->set[i].hex = xstrdup(hex);
	}
	ctx->set[i].name = xstrdup(name);
}

void quiet_begin(struct tier_context *ctx, struct stillness *before)
{
	ctx->quiet = true;
	mlockall(MCL_CURRENT | MCL_FUTURE);
	hold_signals(&before->signals);
}

void quiet_end(struct tier_context *ctx, const struct stillness *before)
{
	unsigned int i;

	munlockall();
	ctx->quiet = false;
	/* Before the signals: what ends the tool now must not take the lines along. */
	for (i = 0; i < ctx->nr_held; i++) {
		ctx->log(ctx, ctx->held[i].level, ctx->held[i].code, ctx->held[i].line);
		free(ctx->held[i].line);
	}
	free(ctx->held);
	ctx->held = NULL;
	ctx->nr_held = 0;
	release_signals(&before->signals);
}
