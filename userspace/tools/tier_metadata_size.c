// SPDX-License-Identifier: GPL-2.0-only
/* tier_metadata_size: prints how large a metadata device should be. */
#include <stdio.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "dm-tier/format.h"
#include "format/build.h"
#include "format/geometry.h"
#include "format/pd.h"
#include "tools/tool.h"

static const char help[] =
"tier_metadata_size: tell how large the metadata device of a tiered set should be\n"
"\n"
"Usage: tier_metadata_size [OPTION]... --size SIZE\n"
"\n"
"Options:\n"
"  -s, --size SIZE      of the tiered device, with a unit: 64t\n"
"  -c, --chunksize SIZE of a chunk, a power of two from 64k to 1g (default 1m; more above 384t)\n"
"      --minimum        the least that tierctl create accepts, not what is recommended\n"
"  -n, --numeric-only   bytes and nothing else\n"
"  -h, --help           say this\n"
"  -V, --version        say the version\n"
"\n"
"Exit status: 0 done, 1 failed.\n";

enum { MINIMUM = 256 };

static const struct option options[] = {
	{ "size", required_argument, NULL, 's' },
	{ "chunksize", required_argument, NULL, 'c' },
	{ "minimum", no_argument, NULL, MINIMUM },
	{ "numeric-only", no_argument, NULL, 'n' },
	TOOL_OPTIONS,
};

/* False with the error said. */
static bool size_option(struct tier_context *ctx, const char *option, const char *text, uint64_t *bytes)
{
	int r = parse_size(text, bytes);

	if (r)
		err(ctx, ERR_USAGE, "%s: %s: %s.", option, text, size_error(r));
	return !r;
}

static int answer(struct tier_context *ctx, uint64_t size, uint64_t chunk, bool minimum, bool numeric)
{
	uint64_t chunks, bytes, needed;
	char text[SIZE_TEXT];

	if (chunk < TIER_CHUNK_SECTORS_MIN * SECTOR_SIZE || chunk > TIER_CHUNK_SECTORS_MAX * SECTOR_SIZE ||
	    chunk & (chunk - 1)) {
		err(ctx, ERR_USAGE, "--chunksize: a power of two from 64k to 1g.");
		return TOOL_FAILED;
	}
	chunks = DIV_ROUND_UP_ULL(size, chunk);
	needed = md_build_needs(chunks) * MD_BLOCK;
	if (!size || !md_build_fits(chunks)) {
		err(ctx, ERR_USAGE, "--size: %s.",
		    size ? "metadata cannot hold so many chunks; use larger ones" : "there is no device without a size");
		return TOOL_FAILED;
	}
	bytes = minimum ? geometry_metadata_min(chunks) : geometry_metadata_good(chunks);
	if (bytes < needed)
		bytes = needed;
	/* Devices consist of whole blocks. */
	bytes = DIV_ROUND_UP_ULL(bytes, MD_BLOCK) * MD_BLOCK;
	if (numeric)
		printf("%llu\n", (unsigned long long)bytes);
	else
		printf("%llu bytes, %s\n", (unsigned long long)bytes, format_size(text, bytes));
	return TOOL_FINE;
}

static struct terminal terminal;

int main(int argc, char **argv)
{
	uint64_t size = 0, chunk = 0;
	bool minimum = false, numeric = false, have_size = false, have_chunk = false;
	int c;

	program = "tier_metadata_size";
	terminal_init(&terminal);
	while ((c = tool_option(&terminal.ctx, argc, argv, ":s:c:nhV", options, help)) != -1) {
		switch (c) {
		case 's':
			have_size = true;
			if (!size_option(&terminal.ctx, "--size", optarg, &size))
				return tool_finish(&terminal, TOOL_FAILED);
			break;
		case 'c':
			have_chunk = true;
			if (!size_option(&terminal.ctx, "--chunksize", optarg, &chunk))
				return tool_finish(&terminal, TOOL_FAILED);
			break;
		case MINIMUM:
			minimum = true;
			break;
		case 'n':
			numeric = true;
			break;
		}
	}
	if (!have_size || optind < argc) {
		if (have_size)
			err(&terminal.ctx, ERR_USAGE,
			    "one argument too many: %s. Try: tier_metadata_size --help", argv[optind]);
		else
			err(&terminal.ctx, ERR_USAGE, "no --size. Try: tier_metadata_size --help");
		return tool_finish(&terminal, TOOL_FAILED);
	}
	if (!have_chunk)
		chunk = geometry_chunk_sectors(size / SECTOR_SIZE) * SECTOR_SIZE;
	return tool_finish(&terminal, answer(&terminal.ctx, size, chunk, minimum, numeric));
}
