// SPDX-License-Identifier: GPL-2.0-only
/* tier_dump: writes a set's metadata as text. */
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/util.h"
#include "tools/dump-run.h"
#include "tools/tool.h"

static const char help[] =
"tier_dump: write the metadata of a tiered set as text\n"
"\n"
"Usage: tier_dump [OPTION]... DEV|-i FILE\n"
"\n"
"DEV or FILE is a metadata device that is not in use, or a file with its contents.\n"
"tier_restore makes metadata of the text again.\n"
"\n"
"Options:\n"
"  -i, --input FILE     the metadata\n"
"  -o, --output FILE    write there, not to standard output\n"
"  -m, --metadata-snap  dump what the metadata snapshot holds; the set may be live\n"
"      --format FORMAT  xml (default) or json\n"
"  -q, --quiet          accepted for the sake of scripts: there is nothing to silence\n"
"  -h, --help           say this\n"
"  -V, --version        say the version\n"
"\n"
"Exit status: 0 done, 1 failed; then nothing was written, unless writing failed.\n";

enum { FORMAT = 256 };

static const struct option options[] = {
	{ "input", required_argument, NULL, 'i' },
	{ "output", required_argument, NULL, 'o' },
	{ "metadata-snap", no_argument, NULL, 'm' },
	{ "format", required_argument, NULL, FORMAT },
	{ "quiet", no_argument, NULL, 'q' },
	TOOL_OPTIONS,
};

static struct terminal terminal;

int main(int argc, char **argv)
{
	struct dump_run run = { .ctx = &terminal.ctx };
	int c;

	program = "tier_dump";
	terminal_init(&terminal);
	while ((c = tool_option(&terminal.ctx, argc, argv, ":i:o:mqhV", options, help)) != -1) {
		switch (c) {
		case 'i':
			run.input = optarg;
			break;
		case 'o':
			run.output = optarg;
			break;
		case 'm':
			run.snapshot = true;
			break;
		case FORMAT:
			if (strcmp(optarg, "xml") && strcmp(optarg, "json")) {
				err(&terminal.ctx, ERR_USAGE, "no format %s: xml, json.", optarg);
				return tool_finish(&terminal, TOOL_FAILED);
			}
			run.json = !strcmp(optarg, "json");
			break;
		case 'q':
			break;
		}
	}
	if (!run.input && optind < argc)
		run.input = argv[optind++];
	if (!run.input || optind < argc) {
		if (run.input)
			err(&terminal.ctx, ERR_USAGE,
			    "one argument too many: %s. The input is %s. Try: tier_dump --help",
			    argv[optind], run.input);
		else
			err(&terminal.ctx, ERR_USAGE, "no input: name DEV, or -i FILE. Try: tier_dump --help");
		return tool_finish(&terminal, TOOL_FAILED);
	}
	return tool_finish(&terminal, dump_run(&run) ? TOOL_FINE : TOOL_FAILED);
}
