// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "base/words.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "format/geometry.h"
#include "format/rules.h"
#include "set/find.h"

int check_name(struct tier_context *ctx, const char *name, const char *command)
{
	if (!is_name(name)) {
		err(ctx, ERR_USAGE,
		    "%s: %s is no name for a set: at most %d of letters, digits and #+-.:=@_, and not control",
		    command, name, TIER_NAME_SIZE - 1);
		return EXIT_USAGE;
	}
	return 0;
}

int parse_features(const struct args *args, const char *command, struct strings *features)
{
	static const char *const known[] = { "paused", "no_discard_passdown", "skip_zeroing" };
	unsigned int i, j;

	for (i = 0; i < args->features.nr; i++) {
		const char *feature = args->features.s[i];

		for (j = 0; j < sizeof(known) / sizeof(*known); j++)
			if (!strcmp(feature, known[j]))
				break;
		if (j == sizeof(known) / sizeof(*known)) {
			err(args->ctx, ERR_USAGE,
			    "%s: no feature %s: paused, no_discard_passdown, skip_zeroing.", command,
			    feature);
			return EXIT_USAGE;
		}
		if (!strings_have(features, feature))
			strings_add(features, feature);
	}
	return 0;
}

int parse_interval(const struct args *args, const char *command, uint64_t *ms)
{
	*ms = 0;
	if (!args->given[OPT_INTERVAL])
		return 0;
	if (parse_number(args->value[OPT_INTERVAL], ms) || !*ms || *ms > 86400) {
		err(args->ctx, ERR_USAGE,
		    "%s: --interval %s is not a number of seconds from 1 to 86400.", command,
		    args->value[OPT_INTERVAL]);
		return EXIT_USAGE;
	}
	*ms *= 1000;
	return 0;
}

int parse_chunk_size(const struct args *args, const char *command, uint64_t *sectors)
{
	const char *text = args->value[OPT_CHUNKSIZE];
	uint64_t bytes;
	int r;

	*sectors = 0;
	if (!args->given[OPT_CHUNKSIZE])
		return 0;
	r = parse_size(text, &bytes);
	if (r) {
		err(args->ctx, ERR_USAGE, "%s: --chunksize %s %s.", command, text, size_error(r));
		return EXIT_USAGE;
	}
	*sectors = bytes / SECTOR_SIZE;
	if (bytes & (bytes - 1) || *sectors < TIER_CHUNK_SECTORS_MIN || *sectors > TIER_CHUNK_SECTORS_MAX) {
		err(args->ctx, ERR_USAGE, "%s: --chunksize %s is not a power of two from 64k to 1g.",
		    command, text);
		return EXIT_USAGE;
	}
	return 0;
}

const char *chunk_size_note(const struct args *args, uint64_t sectors)
{
	bool usual = args->given[OPT_CHUNKSIZE] || sectors == geometry_chunk_sectors(0);

	return usual ? "" : " (as it is so large; --chunksize for another)";
}

int parse_policy(const struct args *args, const char *command, char **policy)
{
	const char *text = args->given[OPT_POLICY] ? args->value[OPT_POLICY] : "default";

	if (!md_knows_policy(text)) {
		err(args->ctx, ERR_USAGE, "%s: no policy %s: heat, static.", command, text);
		return EXIT_USAGE;
	}
	*policy = xstrdup(text);
	return 0;
}
