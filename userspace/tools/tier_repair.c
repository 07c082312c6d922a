// SPDX-License-Identifier: GPL-2.0-only
/* tier_repair: saves what can be read of damaged metadata. */
#include <stdio.h>

#include "base/context.h"
#include "base/util.h"
#include "tools/dump-run.h"
#include "tools/tool.h"

static const char help[] =
"tier_repair: save what can be read of damaged metadata\n"
"\n"
"Usage: tier_repair [OPTION]... -i FILE -o FILE [--tiers DEV...]\n"
"\n"
"The input is a metadata device that is not in use, or a file with its contents; it is\n"
"only read. The output is another device, whose contents are lost, or a file. Every\n"
"mapping that can be read is kept; the chunks of those that cannot be are named, and\n"
"read as zeroes afterwards.\n"
"\n"
"Options:\n"
"  -i, --input FILE     the damaged metadata\n"
"  -o, --output FILE    where the repaired metadata goes\n"
"      --tiers          refuse metadata that is older than the labels on DEV..., and\n"
"                       make records of tiers that are lost anew from them: all tiers\n"
"                       of the set, fastest first\n"
"  -f, --force          where records are lost, give up the chunks on tiers that are not\n"
"                       named, too\n"
"  -q, --quiet          say errors only, not what is lost\n"
"  -h, --help           say this\n"
"  -V, --version        say the version\n"
"\n"
"Exit status: 0 the output is metadata in good order, 1 failed.\n";

enum { TIERS = 256 };

static const struct option options[] = {
	{ "input", required_argument, NULL, 'i' },
	{ "output", required_argument, NULL, 'o' },
	{ "tiers", no_argument, NULL, TIERS },
	{ "force", no_argument, NULL, 'f' },
	{ "quiet", no_argument, NULL, 'q' },
	TOOL_OPTIONS,
};

static const char *what_is_missing(const struct repair_run *run, bool tiers)
{
	if (!run->input)
		return "no input: -i FILE";
	if (!run->output)
		return "no output: -o FILE";
	return tool_tiers_wrong(run->nr_tiers, tiers);
}

static struct terminal terminal;

int main(int argc, char **argv)
{
	struct repair_run run = { .ctx = &terminal.ctx };
	bool tiers = false;
	const char *missing;
	int c;

	program = "tier_repair";
	terminal_init(&terminal);
	while ((c = tool_option(&terminal.ctx, argc, argv, ":i:o:fqhV", options, help)) != -1) {
		switch (c) {
		case 'i':
			run.input = optarg;
			break;
		case 'o':
			run.output = optarg;
			break;
		case TIERS:
			tiers = true;
			break;
		case 'f':
			run.lose_tiers = true;
			break;
		case 'q':
			terminal.quiet = true;
			break;
		}
	}
	run.tiers = (const char *const *)argv + optind;
	run.nr_tiers = argc - optind;
	missing = what_is_missing(&run, tiers);
	if (missing) {
		err(&terminal.ctx, ERR_USAGE, "%s. Try: tier_repair --help", missing);
		return tool_finish(&terminal, TOOL_FAILED);
	}
	return tool_finish(&terminal, repair_run(&run) ? TOOL_FINE : TOOL_FAILED);
}
