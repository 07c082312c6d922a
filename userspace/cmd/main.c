// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "base/util.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/dm.h"
#include "set/lock.h"
#include "view/render.h"

/* Those that work on files, and the one that lists devices whatever they are to a set. */
static bool may_do_without_dm(const struct command *c)
{
	return c->run == cmd_check || c->run == cmd_dump || c->run == cmd_restore || c->run == cmd_repair ||
	       c->run == cmd_scan;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct args args;
	char *reason;
	int code = options_parse(c, argc, argv, &args);

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

	if (global.json)
		json_start(c->name);
	if (geteuid()) {
		err("%s: only root can do that.", c->name);
		code = EXIT_FAILED;
		goto report;
	}
	lock_as(c->name);
	dm_start();
	if (!may_do_without_dm(c) && dm_ask(&reason)) {
		err("%s: %s.", c->name, reason);
		free(reason);
		code = EXIT_FAILED;
	} else {
		code = c->run(&args);
	}
	if (code == EXIT_DONE && dm_failed())
		code = EXIT_FAILED;
	dm_stop();
report:
	if (global.json)
		json_finish();
out:
	args_free(&args);
	return code;
}

static int unknown(const char *word)
{
	const struct command *c;
	struct suggestion g;
	char *meant;

	suggestion_init(&g, word);
	for (c = commands; c->name; c++)
		suggestion_offer(&g, c->name);
	meant = suggestion_text(&g, "tierctl ");
	err("no %s %s.%s Try: tierctl --help", *word == '-' ? "option" : "command", word, meant);
	free(meant);
	return EXIT_USAGE;
}

/* help, help COMMAND, --help, -h */
static int help(const char *word)
{
	const struct command *c = word ? command_find(word) : NULL;

	if (word && !c)
		return unknown(word);
	if (c)
		print_command_help(c);
	else
		print_help();
	return EXIT_DONE;
}

/* udev starts programs without a PATH, and su keeps one that has not the folders of LVM. */
static void complete_path(void)
{
	const char *path = getenv("PATH");
	char *whole = xasprintf("%s:/usr/sbin:/sbin", path && *path ? path : "/usr/bin:/bin");

	setenv("PATH", whole, 1);
	free(whole);
}

int main(int argc, char **argv)
{
	const struct command *c;
	int code;

	complete_path();
	/* Who started us may ignore it, and then there is no exit status of what we start. */
	signal(SIGCHLD, SIG_DFL);
	if (argc < 2) {
		err("no command. Try: tierctl --help");
		code = EXIT_USAGE;
	} else if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("tierctl " TIERCTL_VERSION);
		code = EXIT_DONE;
	} else if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		code = help(argv[2]);
	} else {
		c = command_find(argv[1]);
		code = c ? run(c, argc - 2, argv + 2) : unknown(argv[1]);
	}
	if (fflush(stdout) || ferror(stdout)) {
		/* Else something has been said already. */
		if (code == EXIT_DONE || code == EXIT_ATTENTION) {
			err("standard output cannot be written: what should be there is not whole.");
			code = EXIT_FAILED;
		}
	}
	free_errors();
	return code;
}
