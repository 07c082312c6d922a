// SPDX-License-Identifier: GPL-2.0-only
/* tier_check: is a set's metadata in order? */
#include <stdio.h>
#include <stdlib.h>

#include "check-run.h"
#include "tool.h"

static const char help[] =
"tier_check: check the metadata of a tiered set\n"
"\n"
"Usage: tier_check [OPTION]... -i FILE [--tiers DEV...]\n"
"\n"
"FILE is a metadata device that is not in use, or a file with its contents.\n"
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

	if (!run->input)
		return "no input: -i FILE";
	if (run->clear_needs_check && (partial || run->ignore_minor))
		return "--clear-needs-check-flag wants a whole check, and no --ignore-non-fatal-errors";
	if (run->superblock_only && (tiers || run->snapshot))
		return "--super-block-only checks neither tiers nor the metadata snapshot";
	if (run->snapshot && tiers)
		return "--metadata-snap goes without --tiers: labels are newer than a snapshot";
	return tool_tiers_wrong(run->nr_tiers, tiers);
}

int main(int argc, char **argv)
{
	struct check_run run = { 0 };
	bool tiers = false;
	const char *wrong;
	int c;

	program = "tier_check";
	while ((c = tool_option(argc, argv, ":i:mqhV", options, help)) != -1) {
		switch (c) {
		case 'i':
			run.input = optarg;
			break;
		case 'm':
			run.snapshot = true;
			break;
		case 'q':
			global.quiet = true;
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
	run.tiers = (const char *const *)argv + optind;
	run.nr_tiers = argc - optind;
	wrong = contradiction(&run, tiers);
	if (wrong) {
		err("%s. Try: tier_check --help", wrong);
		return tool_finish(TOOL_FAILED);
	}
	c = check_run(&run) ? TOOL_FINE : TOOL_FAILED;
	free(run.first);
	return tool_finish(c);
}
