// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes what the table of commands and options says into pages and completion files:
 *
 *   generate <FILE >NEW
 *
 * copies FILE, but for what stands between a line with "BEGIN WHAT (...)" and one with "END",
 * which is made anew.  WHAT is, for troff,
 *
 *   head COMMAND, options COMMAND	the page of that command
 *   commands, common, errors		tierctl(8): all commands, the options that it tells for all, the
 *					codes of errors
 *
 * and, for shells, table.  "make generate" calls this.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "cmd/commands.h"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Whether a word in capitals is a value: of an option of the command, or an argument. */
static bool is_value(const struct command *c, const char *word, size_t len)
{
	const struct command_option *o;
	const char *s, *value;
	size_t i;

	for (i = 0; i < len; i++)
		if (!isupper((unsigned char)word[i]))
			return false;
	for (s = c->synopsis; (s = strchr(s, *word)); s++)
		if (!strncmp(s, word, len) && !is_word(s[len]) && (s == c->synopsis || !is_word(s[-1])))
			return true;
	for (o = c->options; o->id; o++) {
		value = option_defs[o->id].value;
		if (value && strlen(value) == len && !strncmp(value, word, len))
			return true;
	}
	return false;
}

static void put(const char *text, size_t len)
{
	for (; len; text++, len--) {
		if (*text == '-')
			putchar('\\');
		putchar(*text);
	}
}

static void put_font(char font, const char *text, size_t len)
{
	printf("\\f%c", font);
	put(text, len);
	printf("\\fR");
}

/* The text as troff. */
static void put_text(const struct command *c, const char *text)
{
	const char *s = text, *end;
	size_t len;

	while (*s) {
		for (len = 0; is_word(s[len]) || (len && s[len] == '-' && is_word(s[len + 1])); len++)
			;
		if (*s == '*' && (end = strchr(s + 1, '*'))) {
			put_font('B', s + 1, end - s - 1);
			s = end + 1;
		} else if (*s == '-' && (s[1] == '-' || islower((unsigned char)s[1])) && (s == text || !is_word(s[-1]))) {
			len = strspn(s, "-abcdefghijklmnopqrstuvwxyz");
			put_font('B', s, len);
			s += len;
		} else if (len && s[len] == '(' && isdigit((unsigned char)s[len + 1]) && s[len + 2] == ')') {
			put_font('B', s, len);
			put(s + len, 3);
			s += len + 3;
		} else {
			for (len = 0; is_word(s[len]); len++)
				;
			if (len && is_value(c, s, len))
				put_font('I', s, len);
			else
				put(s, len ? len : 1);
			s += len ? len : 1;
		}
	}
}

static void put_head(const struct command *c)
{
	char *forms = xstrdup(c->synopsis), *form, *save;

	printf(".SH NAME\ntierctl\\-%s \\- ", c->name);
	put_text(c, c->summary);
	printf("\n.SH SYNOPSIS\n");
	for (form = strtok_r(forms, "\n", &save); form; form = strtok_r(NULL, "\n", &save)) {
		printf("%s.B tierctl %s\n", form == forms ? "" : ".br\n", c->name);
		put_text(c, form);
		printf("\n");
	}
	free(forms);
}

static void put_option(const struct command *c, const struct command_option *o)
{
	const struct option_def *d = &option_defs[o->id];
	const char *more = o->more ? o->more : d->more;
	char *text;

	printf(".TP\n");
	if (d->letter)
		printf("\\fB\\-%c\\fR, ", d->letter);
	printf("\\fB\\-\\-");
	put(d->name, strlen(d->name));
	printf("\\fR%s", o->id == OPT_TEST ? ", \\fB\\-\\-test\\fR" : "");
	if (d->value)
		printf(" \\fI%s\\fR", d->value);
	/* A line and what goes on with it make sentences. */
	text = xasprintf("%s%s%s%s%s%s", option_help(o), !more ? "." : strchr(",;:", *more) ? "" : ". ", more ?: "",
			 o->not_with ? " Not with --" : "", o->not_with ? option_defs[o->not_with].name : "",
			 o->not_with ? "." : "");
	*text = toupper((unsigned char)*text);
	printf("\n");
	put_text(c, text);
	printf("\n");
	free(text);
}

static void put_options(const struct command *c)
{
	const struct command_option *o;

	printf(".SH OPTIONS\n");
	for (o = c->options; o->id; o++)
		if (!option_defs[o->id].common || o->help || o->more)
			put_option(c, o);
	printf(".PP\nThe options that every command takes are in \\fBtierctl\\fR(8).\n");
}

static void put_commands(void)
{
	const struct command *c;

	for (c = commands; c->name; c++) {
		printf(".TP\n\\fBtierctl\\-%s\\fR(8)\n", c->name);
		put_text(c, c->summary);
		printf("\n");
	}
}

static void put_common(void)
{
	struct command_option o = { 0 };
	int id;

	for (id = OPT_NONE + 1; id < NR_OPTIONS; id++) {
		o.id = id;
		if (option_defs[id].common)
			put_option(commands, &o);
	}
}

static void put_errors(void)
{
	unsigned int i;

	for (i = 0; i < NR_ERRORS; i++) {
		printf(".TP\n.B ");
		put(error_defs[i].name, strlen(error_defs[i].name));
		printf("\n");
		put_text(commands, error_defs[i].meaning);
		printf("\n");
	}
}

static void put_quoted(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			printf("'\\'");
		putchar(*text);
	}
}

static bool takes(const struct command *c, int id, const char *help)
{
	const struct command_option *o;

	for (o = c->options; o->id; o++)
		if ((int)o->id == id && !strcmp(option_help(o), help))
			return true;
	return false;
}

/* One row for all commands in which the option means the same. */
static void put_option_row(const struct command *first, const struct command_option *o)
{
	const struct option_def *d = &option_defs[o->id];
	const char *help = option_help(o);
	const struct command *c;

	for (c = commands; c < first; c++)
		if (takes(c, o->id, help))
			return;
	printf("option|");
	if (d->letter)
		printf("-%c ", d->letter);
	printf("--%s%s|", d->name, o->id == OPT_TEST ? " --test" : "");
	for (; c->name; c++)
		if (takes(c, o->id, help))
			printf("%s%s", c == first ? "" : " ", c->name);
	printf("|%s|", d->offers ? d->offers : d->value ? "-" : "");
	put_quoted(help);
	printf("\n");
}

/*
 * Rows that all shells read alike:
 *
 *   command|NAME|what is offered for its arguments|summary
 *   option|its spellings|commands that take it|what is offered for its value, "-" for nothing|help
 */
static void put_table(void)
{
	const struct command_option *o;
	const struct command *c;

	for (c = commands; c->name; c++) {
		printf("command|%s|%s|", c->name, c->words);
		put_quoted(c->summary);
		printf("\n");
	}
	for (c = commands; c->name; c++)
		for (o = c->options; o->id; o++)
			put_option_row(c, o);
}

static bool put_block(const char *what)
{
	const char *name = strchr(what, ' ');
	const struct command *c = name ? command_find(name + 1) : NULL;

	if (c && !strncmp(what, "head ", 5))
		put_head(c);
	else if (c && !strncmp(what, "options ", 8))
		put_options(c);
	else if (!strcmp(what, "commands"))
		put_commands();
	else if (!strcmp(what, "common"))
		put_common();
	else if (!strcmp(what, "errors"))
		put_errors();
	else if (!strcmp(what, "table"))
		put_table();
	else
		return false;
	return true;
}

int main(void)
{
	char *line = NULL, *begin, *what, *end;
	bool inside = false, good = true;
	size_t room = 0;

	while (good && getline(&line, &room, stdin) > 0) {
		if (inside && strstr(line, " END"))
			inside = false;
		if (inside)
			continue;
		fputs(line, stdout);
		begin = strstr(line, " BEGIN ");
		if (begin) {
			what = begin + strlen(" BEGIN ");
			end = strstr(what, " (");
			if (end)
				*end = '\0';
			good = put_block(what);
			if (!good)
				fprintf(stderr, "generate: BEGIN %s: names nothing that is in the table.\n", what);
			inside = true;
		}
	}
	free(line);
	if (good && inside)
		fputs("generate: a line with END is missing.\n", stderr);
	return good && !inside && !fflush(stdout) ? 0 : 1;
}
