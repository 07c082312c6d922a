// SPDX-License-Identifier: GPL-2.0-only
/* Where the lines of a command go, and what is kept of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tap.h"
#include "base/util.h"
#include "context.h"

/* What stdout, or stderr, gets while fn runs. */
static char printed[4096];

static void catch(int fd, void (*fn)(struct tier_context *ctx))
{
	int old = dup(fd);
	FILE *f = tmpfile();
	ssize_t n;

	fflush(stdout);
	dup2(fileno(f), fd);
	fn(&terminal.ctx);
	fflush(stdout);
	dup2(old, fd);
	close(old);
	n = pread(fileno(f), printed, sizeof(printed) - 1, 0);
	printed[n > 0 ? n : 0] = '\0';
	fclose(f);
}

static void all_levels(struct tier_context *ctx)
{
	err(ctx, ERR_IN_USE, "%s: no.", "one\ntwo\033[31m");
	warn(ctx, "careful");
	say(ctx, "%s", "done\nand done");
	verbose(ctx, "chatter");
}

static void all_levels_quietly(struct tier_context *ctx)
{
	struct stillness before;

	quiet_begin(ctx, &before);
	all_levels(ctx);
	fflush(stdout);
	ok(!lseek(STDERR_FILENO, 0, SEEK_CUR), "nothing is printed while a set is suspended");
	quiet_end(ctx, &before);
}

static void question(struct tier_context *ctx)
{
	ok(!ask(ctx, "Really?"), "nobody to ask means no");
}

static void test_printing(void)
{
	catch(STDERR_FILENO, all_levels);
	ok(!strcmp(printed, "tierctl: one_two_[31m: no.\ntierctl: careful\n"), "an error is one line, whatever it names");
	ok(terminal.nr_lines == 1 && terminal.line[0].code == ERR_IN_USE, "and kept, with its code");
	catch(STDOUT_FILENO, all_levels);
	ok(!strcmp(printed, "done\nand done\n"), "results go to standard output");
	terminal.verbose = true;
	catch(STDERR_FILENO, all_levels);
	ok(strstr(printed, "\nchatter\n"), "-v says more");
	terminal.quiet = true;
	terminal.verbose = false;
	catch(STDERR_FILENO, all_levels);
	ok(!strstr(printed, "careful") && strstr(printed, "no."), "-q leaves errors");
	catch(STDOUT_FILENO, all_levels);
	ok(!*printed, "and no results");
	terminal.quiet = false;
	terminal_free(&terminal);
}

static void test_json(void)
{
	terminal.json = true;
	catch(STDOUT_FILENO, all_levels);
	ok(!*printed && terminal.nr_lines == 3 && !strcmp(terminal.line[2].text, "done\nand done"),
	   "for --json results are kept, and not printed");
	terminal_free(&terminal);
	terminal.errors_only = true;
	catch(STDOUT_FILENO, all_levels);
	ok(!*printed && terminal.nr_lines == 1, "or only errors are");
	terminal.json = terminal.errors_only = false;
	terminal_free(&terminal);
}

static void test_quiet(void)
{
	catch(STDERR_FILENO, all_levels_quietly);
	ok(!strcmp(printed, "tierctl: one_two_[31m: no.\ntierctl: careful\n"), "it is said afterwards");
	terminal_free(&terminal);
}

static void test_question(void)
{
	int old = dup(STDIN_FILENO);
	FILE *f = tmpfile();

	dup2(fileno(f), STDIN_FILENO);
	catch(STDERR_FILENO, question);
	ok(terminal.nr_lines == 1 && terminal.line[0].code == ERR_DECLINED, "and is an error");
	terminal.yes = true;
	ok(ask(&terminal.ctx, "Really?"), "-y answers yes");
	dup2(old, STDIN_FILENO);
	close(old);
	fclose(f);
	terminal_free(&terminal);
}

/* tierctl(8) is generated, the schema is not. */
static void test_codes(void)
{
	FILE *f = fopen("../../userspace/schema/common.json", "r");
	char *schema = NULL, *wanted;
	size_t room = 0;
	unsigned int i, j;

	ok(f && getdelim(&schema, &room, '\0', f) > 0, "the schema can be read");
	for (i = 0; schema && i < NR_ERRORS; i++) {
		wanted = xasprintf("\"%s\"", error_defs[i].name);
		ok(strstr(schema, wanted) && *error_defs[i].meaning, "it has the code %s, which means something", error_defs[i].name);
		free(wanted);
		for (j = 0; j < i && strcmp(error_defs[i].name, error_defs[j].name); j++)
			;
		ok(i == j, "and no other has that name");
	}
	free(schema);
	if (f)
		fclose(f);
}

static void test_errno(void)
{
	ok(error_from(ESTALE) == ERR_CHANGED && error_from(EROFS) == ERR_UNSUITABLE &&
	   error_from(EINVAL) == ERR_UNSUITABLE && error_from(ENOMEM) == ERR_SYSTEM && error_from(EIO) == ERR_IO,
	   "an errno has a code");
}

int main(void)
{
	test_context();
	test_printing();
	test_json();
	test_quiet();
	test_question();
	test_codes();
	test_errno();
	return tap_done();
}
