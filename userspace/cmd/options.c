// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/suggest.h"
#include "base/util.h"
#include "tools/terminal.h"

/*
 * What completion offers: words as they are, and @set, @key (tunables of the set that is named),
 * @rank (of its tiers), @volume and @file.
 */
const struct option_def option_defs[NR_OPTIONS] = {
	[OPT_HELP]	 = { "help", 'h', NULL, "say how the command is used", .common = true },
	[OPT_VERSION]	 = { "version", 'V', NULL, "say the version", .common = true },
	[OPT_QUIET]	 = { "quiet", 'q', NULL, "say errors only", .common = true,
			     .more = "What *get*, *metrics*, *dump*, an image of *heatmap* and --json print is there all the "
				     "same." },
	[OPT_VERBOSE]	 = { "verbose", 'v', NULL, "say more", .common = true,
			     .more = ": messages to the kernel, tables, what libdevmapper has to say." },
	[OPT_YES]	 = { "yes", 'y', NULL, "answer yes to every question", .common = true,
			     .more = "Without a terminal to ask on, the answer is no." },
	[OPT_FORCE]	 = { "force", 'f', NULL, "go on in spite of what would be lost (still asks)", .common = true,
			     .more = "It never implies --yes." },
	[OPT_TEST]	 = { "dry-run", 't', NULL, "say what would be done, change nothing" },
	[OPT_JSON]	 = { "json", 0, NULL, "report as JSON", .more = ", see tierctl(8)." },
	[OPT_METADATA]	 = { "metadata", 'm', "DEV", "the device for the metadata", "@volume @file" },
	[OPT_CHUNKSIZE]	 = { "chunksize", 'c', "SIZE", "size of a chunk, a power of two from 64k to 1g (default 1m; more above 384t)" },
	[OPT_SIZE]	 = { "size", 'L', "SIZE", "how large" },
	[OPT_POLICY]	 = { "policy", 0, "POLICY", "what decides on moves: heat, static (default heat)", "heat static",
			     .more = "*static* moves nothing by itself." },
	[OPT_FEATURE]	 = { "feature", 0, "FEATURE", "one of paused, no_discard_passdown, skip_zeroing; repeatable",
			     "paused no_discard_passdown skip_zeroing",
			     .more = "*paused*: the policy and *tierctl evacuate* move nothing until *tierctl resume* or the "
				     "next activation. *no_discard_passdown*: discards free chunks but do not reach the "
				     "devices. *skip_zeroing*: a chunk that is new shows what was on the device before. It "
				     "holds while the device lives; the next tierctl-activate(8) takes it again." },
	[OPT_SET]	 = { "set", 0, "KEY=VALUE", "a tunable, as with tierctl-set(8); repeatable" },
	[OPT_ALL]	 = { "all", 'a', NULL, "all there are" },
	[OPT_DEGRADED]	 = { "degraded", 0, NULL, "go on without the tiers that are missing, stale or used otherwise" },
	[OPT_READ_ONLY]	 = { "read-only", 'r', NULL, "write nothing at all to the set" },
	[OPT_AUTO]	 = { "auto", 0, NULL, "complete sets only, in silence (for udev)", "@file" },
	[OPT_INTERVAL]	 = { "interval", 'i', "SECONDS", "measure rates for so long (1 to 86400), then report" },
	[OPT_TIER]	 = { "tier", 0, "RANK", "the tier, 0 is the fastest", "@rank" },
	[OPT_HOME]	 = { "home", 0, NULL, "put chunk N at place N of the tier" },
	[OPT_OFFSET]	 = { "offset", 0, "SIZE", "where the range starts in the tiered device",
			     .more = "; 0 if not given." },
	[OPT_LENGTH]	 = { "length", 0, "SIZE", "how long it is",
			     .more = "Every chunk that the range touches counts." },
	[OPT_EVACUATED]	 = { "evacuated", 0, "RANK", "wait until this tier is empty", "@rank" },
	[OPT_TIMEOUT]	 = { "timeout", 0, "SECONDS", "give up after so long" },
	[OPT_BACKGROUND] = { "background", 'b', NULL, "do not wait until it is done" },
	[OPT_ABORT]	 = { "abort", 0, NULL, "undo what an unfinished call of this command did" },
	[OPT_AT]	 = { "at", 0, "RANK", "where in the order of tiers, 0 is the fastest (default: last)", "0 1 2 3" },
	[OPT_PV]	 = { "pv", 0, "PV", "make a logical volume on this physical volume", "@file" },
	[OPT_FAST]	 = { "fast", 0, "DEV", "a device to put in front; repeatable, fastest first", "@volume @file" },
	[OPT_FAST_SIZE]	 = { "fast-size", 0, "SIZE", "make a logical volume of that size to put in front" },
	[OPT_FAST_PV]	 = { "fast-pv", 0, "PV", "the physical volume for --fast-size", "@file" },
	[OPT_NAME]	 = { "name", 'n', "NAME", "call the device NAME" },
	[OPT_WAIT]	 = { "wait", 'w', NULL, "wait until the chunks are there",
			     .more = ", with a bar on a terminal. Ctrl-C detaches. The exit status is 1 if some could not be "
				     "moved." },
	[OPT_REFRESH]	 = { "refresh", 0, NULL, "pin again the files that were pinned, wherever they lie now" },
	[OPT_BATCH]	 = { "batch", 0, NULL, "plain text, one screen after the other" },
	[OPT_ONCE]	 = { "once", 0, NULL, "end after the first one" },
	[OPT_FILES]	 = { "files", 0, NULL, "name the files that are hot" },
	[OPT_SVG]	 = { "svg", 0, "FILE", "draw to FILE as SVG", "@file" },
	[OPT_PNG]	 = { "png", 0, "FILE", "draw to FILE as PNG", "@file" },
	[OPT_JOURNAL]	 = { "journal", 0, NULL, "write to the journal, not to standard output" },
	[OPT_EXEC]	 = { "exec", 0, "COMMAND", "run COMMAND by the shell for each event" },
	[OPT_NO_CHECK]	 = { "no-check", 0, NULL, "do not check the metadata first" },
	[OPT_TAKE_OVER]	 = { "take-over", 0, NULL, "use it although another machine has not deactivated it" },
	[OPT_RESERVE]	 = { "reserve", 0, NULL, "reserve its disks, so that no other machine can write to them" },
	[OPT_OUTPUT]	 = { "output", 'o', "FILE", "write there, not to standard output", "@file" },
	[OPT_CLEAR]	 = { "clear", 0, NULL, "migration at all hours again" },
	[OPT_APPLY]	 = { "apply", 0, NULL, "change no timer, pause or resume as is right now" },
	[OPT_TIERS]	 = { "tiers", 0, NULL, "compare labels, make lost records of them: DEV..., fastest first" },
	[OPT_LABEL]	 = { "label", 0, "RANK", "write the label of this tier to DEV, which lost it", "0 1 2 3" },
	[OPT_DIR]	 = { "dir", 0, "DIR", "where to keep them (default /var/lib/dm-tier/backup)", "@file" },
	[OPT_KEEP]	 = { "keep", 0, "N", "how many of each set to keep (default 7)" },
	[OPT_AT_BOOT]	 = { "at-boot", 0, NULL, "let the initramfs do it at the next boot, before anything is mounted" },
	[OPT_MIRROR]	 = { "mirror", 0, "none", "keep the metadata on the fastest tier alone", "none" },
	[OPT_FORMAT]	 = { "format", 0, "FORMAT", "how to write it: xml (default) or json", "xml json" },
};

const struct command_option *option_of(const struct command *c, int id)
{
	const struct command_option *o;

	for (o = c->options; o->id; o++)
		if ((int)o->id == id)
			return o;
	return NULL;
}

const char *option_help(const struct command_option *o)
{
	return o->help ? o->help : option_defs[o->id].help;
}

const struct command *command_find(const char *name)
{
	const struct command *c;

	for (c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

static int find_long(const char *name, size_t len)
{
	int id;

	if (len == 4 && !strncmp(name, "test", len))
		return OPT_TEST;
	for (id = OPT_NONE + 1; id < NR_OPTIONS; id++)
		if (strlen(option_defs[id].name) == len && !strncmp(option_defs[id].name, name, len))
			return id;
	return -1;
}

static int find_letter(char letter)
{
	int id;

	for (id = OPT_NONE + 1; id < NR_OPTIONS; id++)
		if (option_defs[id].letter == letter)
			return id;
	return -1;
}

struct parser {
	const struct command *c;
	struct args *args;
	int argc;
	char **argv;
	int next;
};

__attribute__((format(printf, 3, 4)))
static int usage_error(struct tier_context *ctx, const struct command *c, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	err(ctx, ERR_USAGE, "%s: %s. Try: tierctl %s --help", c->name, s, c->name);
	free(s);
	return EXIT_USAGE;
}

/* The number of arguments is wrong. */
static int count_error(struct tier_context *ctx, const struct command *c, const char *what, const char *word)
{
	struct text forms = { 0 };
	const char *s, *end;

	for (s = c->synopsis; *s; s = *end ? end + 1 : end) {
		end = strchrnul(s, '\n');
		text_add(&forms, "%s%.*s", s == c->synopsis ? "" : " or ", (int)(end - s), s);
	}
	err(ctx, ERR_USAGE, "%s: %s%s. Usage: tierctl %s %s", c->name, what, word, c->name, forms.s);
	text_free(&forms);
	return EXIT_USAGE;
}

static int no_option(struct tier_context *ctx, const struct command *c, const char *spelt, int spelt_len)
{
	char *word = xstrndup(spelt, spelt_len), *meant;
	const struct command_option *o;
	struct suggestion g;

	suggestion_init(&g, word + strspn(word, "-"));
	for (o = c->options; o->id; o++)
		suggestion_offer(&g, option_defs[o->id].name);
	meant = suggestion_text(&g, "--");
	err(ctx, ERR_USAGE, "%s: no option %s.%s Try: tierctl %s --help", c->name, word, meant, c->name);
	free(meant);
	free(word);
	return EXIT_USAGE;
}

/* value is what came with the option, NULL if nothing did. */
static int take(struct parser *p, int id, const char *spelt, int spelt_len, const char *value)
{
	if (id < 0 || !option_of(p->c, id))
		return no_option(p->args->ctx, p->c, spelt, spelt_len);
	if (!option_defs[id].value && value)
		return usage_error(p->args->ctx, p->c, "%.*s takes no value", spelt_len, spelt);
	if (option_defs[id].value && !value) {
		if (p->next == p->argc)
			return usage_error(p->args->ctx, p->c, "%.*s needs a value: %s", spelt_len, spelt, option_defs[id].value);
		value = p->argv[p->next++];
	}
	p->args->given[id] = true;
	p->args->value[id] = value;
	if (id == OPT_FEATURE)
		strings_add(&p->args->features, value);
	if (id == OPT_SET)
		strings_add(&p->args->settings, value);
	if (id == OPT_FAST)
		strings_add(&p->args->fast, value);
	return 0;
}

static int take_long(struct parser *p, const char *word)
{
	size_t len = strcspn(word + 2, "=");
	const char *value = word[2 + len] ? word + 2 + len + 1 : NULL;

	return take(p, find_long(word + 2, len), word, len + 2, value);
}

/* -qy, -c64k, -c 64k */
static int take_letters(struct parser *p, const char *word)
{
	const char *letter;
	char spelt[3] = "-?";
	int r;

	for (letter = word + 1; *letter; letter++) {
		int id = find_letter(*letter);
		bool rest = id >= 0 && option_defs[id].value && letter[1];

		spelt[1] = *letter;
		r = take(p, id, spelt, 2, rest ? letter + 1 : NULL);
		if (r || rest)
			return r;
	}
	return 0;
}

static void set_context(const struct args *args)
{
	struct terminal *t = terminal_of(args->ctx);

	t->quiet = args->given[OPT_QUIET];
	t->verbose = args->given[OPT_VERBOSE];
	t->yes = args->given[OPT_YES];
	t->json = args->given[OPT_JSON];
	t->ctx.force = args->given[OPT_FORCE];
	t->ctx.dry_run = args->given[OPT_TEST];
}

int options_parse(struct tier_context *ctx, const struct command *c, int argc, char **argv, struct args *args)
{
	struct parser p = { .c = c, .args = args, .argc = argc, .argv = argv };
	const struct command_option *o;
	bool only_words = false;
	int r = 0;

	memset(args, 0, sizeof(*args));
	args->ctx = ctx;
	args->word = xcalloc(argc + 1, sizeof(*args->word));
	while (!r && p.next < argc) {
		const char *word = argv[p.next++];

		if (only_words || word[0] != '-' || !word[1])
			args->word[args->nr++] = word;
		else if (!strcmp(word, "--"))
			only_words = true;
		else if (word[1] == '-')
			r = take_long(&p, word);
		else
			r = take_letters(&p, word);
	}
	if (r || args->given[OPT_HELP] || args->given[OPT_VERSION])
		return r;

	for (o = c->options; o->id; o++)
		if (o->not_with && args->given[o->id] && args->given[o->not_with])
			return usage_error(args->ctx, c, "--%s and --%s: one of the two", option_defs[o->id].name,
					   option_defs[o->not_with].name);
	if (args->nr < c->min_words)
		return count_error(ctx, c, "too few arguments", "");
	if (args->nr > c->max_words)
		return count_error(ctx, c, "one argument too many: ", args->word[c->max_words]);
	set_context(args);
	return 0;
}

void args_free(struct args *args)
{
	strings_free(&args->features);
	strings_free(&args->settings);
	strings_free(&args->fast);
	free(args->word);
}

static void print_option(const struct command_option *o)
{
	const struct option_def *d = &option_defs[o->id];
	char left[64];

	snprintf(left, sizeof(left), "%c%c%s --%s%s%s%s", d->letter ? '-' : ' ', d->letter ? d->letter : ' ',
		 d->letter ? "," : " ", d->name, o->id == OPT_TEST ? ", --test" : "",
		 d->value ? " " : "", d->value ? d->value : "");
	printf("  %-28s %s\n", left, option_help(o));
}

void print_command_help(const struct command *c)
{
	const struct command_option *o;
	const char *form, *end;

	printf("tierctl %s: %s\n\n", c->name, c->summary);
	for (form = c->synopsis; *form; form = *end ? end + 1 : end) {
		end = strchrnul(form, '\n');
		printf("%s tierctl %s %.*s\n", form == c->synopsis ? "Usage:" : "      ", c->name,
		       (int)(end - form), form);
	}
	printf("\n%s%s", c->help ? c->help : "", c->help ? "\n" : "");
	puts("Options:");
	for (o = c->options; o->id; o++)
		print_option(o);
}

void print_help(void)
{
	const struct command *c;

	puts("tierctl: manage tiered block devices\n\nUsage: tierctl COMMAND [OPTION]...\n\nCommands:");
	for (c = commands; c->name; c++)
		printf("  %-11s %s\n", c->name, c->summary);
	puts("\n"
	     "tierctl COMMAND --help tells the options of a command, tierctl --version the\n"
	     "version. A set is named by NAME, VG/LV, its device or its UUID; a device by its\n"
	     "path or VG/LV; a tier by its rank, 0 is the fastest, or by its device. Sizes need a\n"
	     "unit: 64k, 1.5t.\n"
	     "\n"
	     "Exit status: 0 done, 1 failed or declined, 2 usage, 3 degraded or needs attention\n"
	     "(status, list, scan, check, activate --degraded), 130 detached, the work goes on.");
}
