// SPDX-License-Identifier: GPL-2.0-only
/* tier_check: checks a set's metadata. */
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/util.h"
#include "tools/check-run.h"
#include "tools/tool.h"

static const char help[] =
"tier_check: check the metadata of a tiered set\n"
"\n"
"Usage: tier_check [OPTION]... DEV|-i FILE [--tiers DEV...]\n"
"\n"
"DEV or FILE is a metadata device that is not in use, or a file with its contents.\n"
"Only what follows --tiers is a tier.\n"
"\n"
"Options:\n"
"  -i, --input FILE             the metadata\n"
"  -m, --metadata-snap          check what the metadata snapshot holds; the set may be\n"
"                               live; not with --tiers\n"
"      --super-block-only       check the superblock alone\n"
"      --skip-mappings          check neither mapping, heat nor reference counts\n"
"      --tiers                  check the labels on DEV..., too: are they of this set,\n"
"                               and neither stale?\n"
"      --clear-needs-check-flag clear the flag if nothing is wrong\n"
"      --ignore-non-fatal-errors  do not fail because of lost space and the like\n"
"  -q, --quiet                  only the exit status tells\n"
"  -h, --help                   say this\n"
"  -V, --version                say the version\n"
"\n"
"Exit status: 0 nothing is wrong, 1 something is, or it could not be checked.\n";

enum { SUPERBLOCK_ONLY = 256, SKIP_MAPPINGS, TIERS, CLEAR, IGNORE };

static const struct option options[] = {
	{ "input", required_argument, NULL, 'i' },
	{ "metadata-snap", no_argument, NULL, 'm' },
	{ "super-block-only", no_argument, NULL, SUPERBLOCK_ONLY },
	{ "skip-mappings", no_argument, NULL, SKIP_MAPPINGS },
	{ "tiers", no_argument, NULL, TIERS },
	{ "clear-needs-check-flag", no_argument, NULL, CLEAR },
	{ "ignore-non-fatal-errors", no_argument, NULL, IGNORE },
	{ "quiet", no_argument, NULL, 'q' },
	TOOL_OPTIONS,
};

/* Options that do not go together, in words; NULL if all is well. */
static const char *contradiction(const struct check_run *run, bool tiers)
{
	bool partial = run->superblock_only || run->skip_mappings || run->snapshot;

	if (run->clear_needs_check && (partial || run->ignore_minor))
		return "--clear-needs-check-flag wants a whole check, and no --ignore-non-fatal-errors";
	if (run->superblock_only && (tiers || run->snapshot))
		return "--super-block-only checks neither tiers nor the metadata snapshot";
	if (run->snapshot && tiers)
		return "--metadata-snap goes without --tiers: labels are newer than a snapshot";
	return tool_tiers_wrong(run->nr_tiers, tiers);
}

/* The arguments that are no options, sorted by their position. */
struct operands {
	const char *metadata;	/* the first before --tiers */
	const char *superfluous;	/* the second before --tiers */
	const char **tiers;	/* all after --tiers */
	unsigned int nr_tiers;
};

static void add_operand(struct operands *o, const char *word, bool is_tier)
{
	if (is_tier)
		o->tiers[o->nr_tiers++] = word;
	else if (!o->metadata)
		o->metadata = word;
	else if (!o->superfluous)
		o->superfluous = word;
}

/* The metadata named by -i or an operand; NULL with the error said. */
static const char *choose_input(struct tier_context *ctx, const struct operands *o, const char *option)
{
	const char *input = option ? option : o->metadata;
	const char *superfluous = option ? o->metadata : o->superfluous;

	if (!input)
		err(ctx, ERR_USAGE, "no input: name DEV, or -i FILE. Try: tier_check --help");
	else if (superfluous)
		err(ctx, ERR_USAGE,
		    "one argument too many: %s. The input is %s, and tiers come after --tiers. Try: tier_check --help",
		    superfluous, input);
	return superfluous ? NULL : input;
}

static struct terminal terminal;

int main(int argc, char **argv)
{
	struct operands operands = { .tiers = xcalloc(argc, sizeof(*operands.tiers)) };
	struct check_run run = { .ctx = &terminal.ctx };
	bool tiers = false;
	const char *wrong;
	int c;

	program = "tier_check";
	terminal_init(&terminal);
	/* The leading - hands over the operands in their order, as the option 1. */
	while ((c = tool_option(&terminal.ctx, argc, argv, "-:i:mqhV", options, help)) != -1) {
		switch (c) {
		case 1:
			add_operand(&operands, optarg, tiers);
			break;
		case 'i':
			run.input = optarg;
			break;
		case 'm':
			run.snapshot = true;
			break;
		case 'q':
			terminal.quiet = true;
			run.in_silence = true;
			break;
		case SUPERBLOCK_ONLY:
			run.superblock_only = true;
			break;
		case SKIP_MAPPINGS:
			run.skip_mappings = true;
			break;
		case TIERS:
			tiers = true;
			break;
		case CLEAR:
			run.clear_needs_check = true;
			break;
		case IGNORE:
			run.ignore_minor = true;
			break;
		}
	}
	for (; optind < argc; optind++)		/* arguments behind -- */
		add_operand(&operands, argv[optind], tiers);
	run.tiers = operands.tiers;
	run.nr_tiers = operands.nr_tiers;
	run.input = choose_input(&terminal.ctx, &operands, run.input);
	wrong = run.input ? contradiction(&run, tiers) : NULL;
	if (wrong)
		err(&terminal.ctx, ERR_USAGE, "%s. Try: tier_check --help", wrong);
	c = run.input && !wrong && check_run(&run) ? TOOL_FINE : TOOL_FAILED;
	free(run.first);
	free(operands.tiers);
	return tool_finish(&terminal, c);
}
