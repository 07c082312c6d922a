// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/suggest.h"
#include "base/util.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/dm.h"
#include "set/lock.h"
#include "tools/terminal.h"
#include "view/render.h"

/* Commands on files, and scan, which lists all devices. */
static bool may_do_without_dm(const struct command *c)
{
	return c->run == cmd_check || c->run == cmd_dump || c->run == cmd_restore || c->run == cmd_repair ||
	       c->run == cmd_scan;
}

/* Those that change something, but for two that have a report. */
static bool only_changes(const struct command *c)
{
	return option_of(c, OPT_TEST) && c->run != cmd_check && c->run != cmd_schedule;
}

static int run(struct tier_context *ctx, const struct command *c, int argc, char **argv)
{
	struct args args;
	char *reason;
	int code = options_parse(ctx, c, argc, argv, &args);

	if (code)
		goto out;
	if (args.given[OPT_HELP]) {
		print_command_help(c);
		goto out;
	}
	if (args.given[OPT_VERSION]) {
		puts("tierctl " TIERCTL_VERSION);
		goto out;
	}

	terminal_of(ctx)->errors_only = !only_changes(c);
	if (terminal_of(ctx)->json)
		json_start(c->name);
	if (geteuid()) {
		err(ctx, ERR_PERMISSION, "%s: only root can do that.", c->name);
		code = EXIT_FAILED;
		goto report;
	}
	lock_as(c->name);
	dm_start(ctx);
	if (!may_do_without_dm(c) && dm_ask(&reason)) {
		err(ctx, ERR_KERNEL_REFUSED, "%s: %s.", c->name, reason);
		free(reason);
		code = EXIT_FAILED;
	} else {
		code = c->run(&args);
	}
	if (code == EXIT_DONE && dm_failed())
		code = EXIT_FAILED;
	dm_stop();
report:
	if (terminal_of(ctx)->json && only_changes(c))
		json_finish_change(terminal_of(ctx), code);
	else if (terminal_of(ctx)->json)
		json_finish(terminal_of(ctx));
out:
	args_free(&args);
	return code;
}

static int unknown(struct tier_context *ctx, const char *word)
{
	const struct command *c;
	struct suggestion g;
	char *meant;

	suggestion_init(&g, word);
	for (c = commands; c->name; c++)
		suggestion_offer(&g, c->name);
	meant = suggestion_text(&g, "tierctl ");
	err(ctx, ERR_USAGE, "no %s %s.%s Try: tierctl --help", *word == '-' ? "option" : "command", word,
	    meant);
	free(meant);
	return EXIT_USAGE;
}

/* help, help COMMAND, --help, -h */
static int help(struct tier_context *ctx, const char *word)
{
	const struct command *c = word ? command_find(word) : NULL;

	if (word && !c)
		return unknown(ctx, word);
	if (c)
		print_command_help(c);
	else
		print_help();
	return EXIT_DONE;
}

/* udev starts programs without a PATH, and su may keep a PATH without LVM's folders. */
static void complete_path(void)
{
	const char *path = getenv("PATH");
	char *whole = xasprintf("%s:/usr/sbin:/sbin", path && *path ? path : "/usr/bin:/bin");

	setenv("PATH", whole, 1);
	free(whole);
}

int main(int argc, char **argv)
{
	struct terminal terminal = { 0 };
	const struct command *c;
	int code;

	terminal_init(&terminal);
	complete_path();
	/* The parent may ignore SIGCHLD; then the exit status of our children would be lost. */
	signal(SIGCHLD, SIG_DFL);
	if (argc < 2) {
		err(&terminal.ctx, ERR_USAGE, "no command. Try: tierctl --help");
		code = EXIT_USAGE;
	} else if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("tierctl " TIERCTL_VERSION);
		code = EXIT_DONE;
	} else if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		code = help(&terminal.ctx, argv[2]);
	} else {
		c = command_find(argv[1]);
		code = c ? run(&terminal.ctx, c, argc - 2, argv + 2) : unknown(&terminal.ctx, argv[1]);
	}
	if (fflush(stdout) || ferror(stdout)) {
		/* Otherwise an error has been said already. */
		if (code == EXIT_DONE || code == EXIT_ATTENTION) {
			err(&terminal.ctx, ERR_IO,
			    "standard output cannot be written: what should be there is not whole.");
			code = EXIT_FAILED;
		}
	}
	terminal_free(&terminal);
	return code;
}
