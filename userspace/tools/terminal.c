// SPDX-License-Identifier: GPL-2.0-only
#include "tools/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/screen.h"
#include "base/util.h"

struct terminal *terminal_of(struct tier_context *ctx)
{
	return (struct terminal *)ctx;
}

/* Keeps lines for the JSON report; errors, which are few, always. */
static void keep(struct terminal *t, enum line_level level, enum error_code code, const char *text)
{
	t->line = xrealloc(t->line, t->nr_lines + 1, sizeof(*t->line));
	t->line[t->nr_lines] = (struct terminal_line){ level, code, xstrdup(text) };
	if (level != LINE_RESULT)
		make_printable(t->line[t->nr_lines].text);
	t->nr_lines++;
}

/* Names of files and disks may contain any bytes. */
static void print_line(const char *before, const char *line)
{
	char *s = xstrdup(line);

	make_printable(s);
	fflush(stdout);
	fprintf(stderr, "%s%s%s\n", before, *before ? ": " : "", s);
	free(s);
}

static void log_line(struct tier_context *ctx, enum line_level level, enum error_code code, const char *line)
{
	struct terminal *t = terminal_of(ctx);

	if (level == LINE_ERROR || (t->json && !t->errors_only && level != LINE_VERBOSE))
		keep(t, level, code, line);
	switch (level) {
	case LINE_ERROR:
		print_line(program, line);
		break;
	case LINE_WARNING:
		if (!t->quiet)
			print_line(program, line);
		break;
	case LINE_RESULT:
		if (!t->quiet && !t->json)
			puts(line);
		break;
	case LINE_VERBOSE:
		if (t->verbose)
			print_line("", line);
		break;
	}
}

static bool ask_user(struct tier_context *ctx, const char *question)
{
	char *printable, answer[16];
	bool yes = false;

	if (terminal_of(ctx)->yes)
		return true;
	if (!isatty(STDIN_FILENO)) {
		err(ctx, ERR_DECLINED, "%s Nobody to ask: answered no. Repeat with -y to mean yes.", question);
		return false;
	}
	printable = xstrdup(question);
	make_printable(printable);
	fflush(stdout);
	fprintf(stderr, "%s [y/N] ", printable);
	free(printable);
	if (fgets(answer, sizeof(answer), stdin))
		yes = answer[0] == 'y' || answer[0] == 'Y';
	if (!yes)
		err(ctx, ERR_DECLINED, "declined; what this asks for was not done.");
	return yes;
}

static void show_progress(struct tier_context *ctx, const char *line)
{
	char *s;

	if (terminal_of(ctx)->quiet || terminal_of(ctx)->json)
		return;
	if (!line) {
		fputs("\r\033[K", stdout);
	} else if (!*line) {
		putchar('\n');
	} else {
		s = xstrdup(line);
		make_printable(s);
		printf("\r%.*s\033[K", (int)screen_width() - 1, s);
		free(s);
	}
	fflush(stdout);
}

void terminal_init(struct terminal *t)
{
	t->ctx.log = log_line;
	t->ctx.ask = ask_user;
	t->ctx.progress = isatty(STDOUT_FILENO) ? show_progress : NULL;
}

void terminal_free(struct terminal *t)
{
	while (t->nr_lines)
		free(t->line[--t->nr_lines].text);
	free(t->line);
	t->line = NULL;
	while (t->ctx.nr_sets) {
		free(t->ctx.set[--t->ctx.nr_sets].hex);
		free(t->ctx.set[t->ctx.nr_sets].name);
	}
	free(t->ctx.set);
	t->ctx.set = NULL;
}
