// SPDX-License-Identifier: GPL-2.0-only
/* Table lines: built, parsed, and cut short or bent everywhere. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dm/table.h"
#include "../tap.h"

static const char full[] = "253:0 2048 3 8:16 - 8:48 2 paused no_discard_passdown "
			   "4 migration_depth 8 tier0.endurance 200 heat 2 headroom 2";

static void round_trip(const char *line)
{
	struct table t;
	char *again;

	if (!ok(!table_parse(line, &t), "parses: %s", line))
		return;
	again = table_build(&t);
	ok(!strcmp(line, again), "the same again: %s", again);
	free(again);
	table_free(&t);
}

static void refused(const char *line)
{
	struct table t;
	int r = table_parse(line, &t);

	ok(r == -EINVAL && !t.metadata && !t.nr_tiers, "refused: \"%s\"", line);
}

static void fields(void)
{
	struct table t;

	if (!ok(!table_parse(full, &t), "parses"))
		return;
	ok(!strcmp(t.metadata, "253:0"), "metadata");
	ok(t.chunk_sectors == 2048, "chunk size");
	ok(t.nr_tiers == 3 && !strcmp(t.tier[1], "-") && !strcmp(t.tier[2], "8:48"), "tiers");
	ok(t.features.nr == 2 && strings_have(&t.features, "no_discard_passdown"), "features");
	ok(!strings_have(&t.features, "skip_zeroing"), "no other feature");
	ok(t.core.nr == 2 && !strcmp(pairs_find(&t.core, "tier0.endurance"), "200"), "core arguments");
	ok(!strcmp(t.policy, "heat"), "policy");
	ok(!strcmp(pairs_find(&t.policy_args, "headroom"), "2"), "policy arguments");
	ok(!pairs_find(&t.policy_args, "headroo"), "no such argument");
	table_free(&t);
}

static void built(void)
{
	struct table t = { .metadata = strdup("/dev/sda"), .chunk_sectors = 128 };
	char *line;

	t.tier[t.nr_tiers++] = strdup("/dev/sdb");
	line = table_build(&t);
	ok(!strcmp(line, "/dev/sda 128 1 /dev/sdb 0 0 default 0"), "built: %s", line);
	free(line);
	table_free(&t);
}

/* Every prefix is refused or parsed as itself, never as something else. */
static void cut(void)
{
	unsigned int len, whole = 0;
	struct table t;

	for (len = 0; len < sizeof(full) - 1; len++) {
		char *line = strndup(full, len);

		/* "headroom " is cut in the middle of a pair. */
		if (!table_parse(line, &t)) {
			whole++;
			table_free(&t);
		}
		free(line);
	}
	ok(!whole, "no beginning of a line passes for one: %u", whole);
}

static void becomes(struct table *t, const char *wanted)
{
	char *line = table_build(t);

	ok(!strcmp(line, wanted), "becomes: %s", line);
	free(line);
}

/* Keys that name a tier by its rank follow the tier. */
static void other_lists(void)
{
	struct table t;

	if (!ok(!table_parse("m 128 2 a b 0 6 tier0.reserve 1 migration_depth 8 tier1.landing 0 heat 0", &t),
		"parses"))
		return;
	table_insert(&t, 0, "c");
	becomes(&t, "m 128 3 c a b 0 6 tier1.reserve 1 migration_depth 8 tier2.landing 0 heat 0");
	table_insert(&t, 2, "d");
	becomes(&t, "m 128 4 c a d b 0 6 tier1.reserve 1 migration_depth 8 tier3.landing 0 heat 0");
	table_insert(&t, 4, "e");
	becomes(&t, "m 128 5 c a d b e 0 6 tier1.reserve 1 migration_depth 8 tier3.landing 0 heat 0");
	table_drop(&t, 1);
	becomes(&t, "m 128 4 c d b e 0 4 migration_depth 8 tier2.landing 0 heat 0");
	table_drop(&t, 3);
	becomes(&t, "m 128 3 c d b 0 4 migration_depth 8 tier2.landing 0 heat 0");
	table_drop(&t, 0);
	becomes(&t, "m 128 2 d b 0 4 migration_depth 8 tier1.landing 0 heat 0");
	table_drop(&t, 1);
	becomes(&t, "m 128 1 d 0 2 migration_depth 8 heat 0");
	table_free(&t);
}

int main(void)
{
	fields();
	built();
	cut();
	other_lists();
	round_trip(full);
	round_trip("/dev/mapper/meta 128 1 /dev/sdb 0 0 static 0");
	round_trip("a 1 16 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 1 name:value 0 default 0");
	refused("");
	refused("   ");
	refused("a 2048 0 0 0 heat 0");
	refused("a 0 1 b 0 0 heat 0");
	refused("a 2048 17 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 0 0 heat 0");
	refused("a 2048 1 b 0 1 key heat 0");
	refused("a 2048 1 b 0 3 k v k heat 0");
	refused("a 2048 1 b 0 0 heat 0 more");
	refused("a 2048 1 b 99999999999 0 heat 0");
	refused("a 2048 1 b 0 -2 heat 0");
	refused("a 2048 -1 b 0 0 heat 0");
	return tap_done();
}
