// SPDX-License-Identifier: GPL-2.0-only
/* tier_restore: makes metadata from a dump. */
#include <stdio.h>

#include "base/context.h"
#include "base/util.h"
#include "format/content.h"
#include "tools/dump-run.h"
#include "tools/output.h"
#include "tools/tool.h"

static const char help[] =
"tier_restore: make metadata of a dump\n"
"\n"
"Usage: tier_restore [OPTION]... -i FILE -o FILE\n"
"\n"
"The input is what tier_dump wrote, in XML or JSON; - is standard input. The output\n"
"is a block device that is not in use, whose contents are lost, or a file. A file\n"
"that is not there or empty gets the recommended size.\n"
"\n"
"Options:\n"
"  -i, --input FILE     the dump\n"
"  -o, --output FILE    where the metadata goes\n"
"  -q, --quiet          say errors only\n"
"  -h, --help           say this\n"
"  -V, --version        say the version\n"
"\n"
"Exit status: 0 done, 1 failed. A dump that is not in order, or an output that is too\n"
"small, changes nothing.\n";

static const struct option options[] = {
	{ "input", required_argument, NULL, 'i' },
	{ "output", required_argument, NULL, 'o' },
	{ "quiet", no_argument, NULL, 'q' },
	TOOL_OPTIONS,
};

static struct terminal terminal;

int main(int argc, char **argv)
{
	const char *input = NULL, *output = NULL;
	struct md_content content;
	bool good;
	int c;

	program = "tier_restore";
	terminal_init(&terminal);
	while ((c = tool_option(&terminal.ctx, argc, argv, ":i:o:qhV", options, help)) != -1) {
		switch (c) {
		case 'i':
			input = optarg;
			break;
		case 'o':
			output = optarg;
			break;
		case 'q':
			terminal.quiet = true;
			break;
		}
	}
	if (!input || !output || optind < argc) {
		if (input && output)
			err(&terminal.ctx, ERR_USAGE,
			    "one argument too many: %s. Try: tier_restore --help", argv[optind]);
		else
			err(&terminal.ctx, ERR_USAGE, "no %s. Try: tier_restore --help",
			    input ? "output: -o FILE" : "input: -i FILE");
		return tool_finish(&terminal, TOOL_FAILED);
	}
	if (!restore_read(&terminal.ctx, input, output, &content))
		return tool_finish(&terminal, TOOL_FAILED);
	good = output_metadata(&terminal.ctx, output, input, &content);
	md_content_free(&content);
	if (!good)
		return tool_finish(&terminal, TOOL_FAILED);
	say(&terminal.ctx, "%s: restored", output);
	return tool_finish(&terminal, TOOL_FINE);
}
