// SPDX-License-Identifier: GPL-2.0-only
/* migrate, pin, unpin, evacuate, admit */
#include <stdlib.h>

#include "commands.h"
#include "report.h"
#include "size.h"
#include "util.h"

static bool size_option(const struct args *args, enum option_id id, const char *name, uint64_t *bytes)
{
	int r = parse_size(args->value[id], bytes);

	if (r)
		err("--%s %s %s.", name, args->value[id], size_error(r));
	return !r;
}

/* Every chunk that the bytes from offset on touch. */
static int range_from_bytes(const struct set *s, const struct args *args, struct range *range)
{
	uint64_t chunk = s->chunk_sectors * SECTOR_SIZE;
	uint64_t offset = 0, length;

	if (!args->given[OPT_LENGTH]) {
		err("--offset needs --length.");
		return EXIT_USAGE;
	}
	if (!size_option(args, OPT_LENGTH, "length", &length) ||
	    (args->given[OPT_OFFSET] && !size_option(args, OPT_OFFSET, "offset", &offset)))
		return EXIT_USAGE;
	if (!length || offset + length < offset) {
		err("--length %s is no length.", args->value[OPT_LENGTH]);
		return EXIT_USAGE;
	}
	range->first = offset / chunk;
	range->count = (offset + length - 1) / chunk - range->first + 1;
	return 0;
}

/* 0, or an exit code with the error said. */
static int parse_chunks(const struct set *s, const struct args *args, struct range *range)
{
	bool bytes = args->given[OPT_OFFSET] || args->given[OPT_LENGTH];
	uint64_t chunks = s->status.chunks;
	int code;

	if (bytes == (args->nr > 1)) {
		err("Name the chunks either by CHUNK[-CHUNK] or by --offset and --length.");
		return EXIT_USAGE;
	}
	if (bytes) {
		code = range_from_bytes(s, args, range);
		if (code)
			return code;
	} else if (parse_range(args->word[1], &range->first, &range->count)) {
		err("%s is not CHUNK or FIRST-LAST.", args->word[1]);
		return EXIT_USAGE;
	}
	if (range->first >= chunks || range->count > chunks - range->first) {
		err("%s: its chunks are 0 to %llu.", s->name, (unsigned long long)chunks - 1);
		return EXIT_FAILED;
	}
	return 0;
}

static int rank_option(const struct set *s, const struct args *args, const char *command, unsigned int *rank)
{
	if (!args->given[OPT_TIER]) {
		err("%s: say where: --tier RANK.", command);
		return EXIT_USAGE;
	}
	return parse_rank(s, args->value[OPT_TIER], rank) ? 0 : EXIT_FAILED;
}

enum action { MIGRATE, PIN, UNPIN };

static int act(const struct args *args, enum action action)
{
	static const char *const name[] = { "migrate", "pin", "unpin" };
	unsigned long long first, count;
	struct set_list list;
	struct range range;
	unsigned int rank = 0;
	struct set *s = need_active(&list, args->word[0]);
	int r, code = EXIT_FAILED;

	if (!s)
		goto out;
	code = parse_chunks(s, args, &range);
	if (!code && action != UNPIN)
		code = rank_option(s, args, name[action], &rank);
	if (code)
		goto out;

	first = range.first;
	count = range.count;
	if (action == UNPIN)
		r = send_message(s, "unpin %llu %llu", first, count);
	else
		r = send_message(s, "%s %llu %llu %u%s", name[action], first, count, rank,
				 args->given[OPT_HOME] ? " home" : "");
	code = r ? EXIT_FAILED : EXIT_DONE;
	if (r || global.test)
		goto out;
	if (action == MIGRATE)
		say("%s: %llu chunk%s to move to tier %u. tierctl wait %s waits for the end.\n", s->name,
		    count, count == 1 ? "" : "s", rank, s->name);
	else if (action == PIN)
		say("%s: %llu chunk%s pinned to tier %u.\n", s->name, count, count == 1 ? "" : "s", rank);
	else
		say("%s: %llu chunk%s may move again.\n", s->name, count, count == 1 ? "" : "s");
out:
	sets_free(&list);
	return code;
}

int cmd_migrate(const struct args *args)
{
	return act(args, MIGRATE);
}

int cmd_pin(const struct args *args)
{
	return act(args, PIN);
}

int cmd_unpin(const struct args *args)
{
	return act(args, UNPIN);
}

/* What the set needs has to fit on the tiers that stay: false, with the figures said, if not. */
static bool check_room(struct set *s, unsigned int rank)
{
	uint64_t chunk = s->chunk_sectors * SECTOR_SIZE, elsewhere = 0, need = s->status.chunks;
	char a[SIZE_TEXT], b[SIZE_TEXT], c[SIZE_TEXT];
	unsigned int i;

	/* A little is kept free for moving. */
	if (!set_read_info(s))
		need += s->info.reserve;
	for (i = 0; i < s->status.nr_tiers; i++)
		if (i != rank && s->tier[i].present && s->tier[i].state != 'E')
			elsewhere += s->status.tier[i].places;
	if (elsewhere >= need || s->tier[rank].state == 'E')
		return true;
	err("%s: evacuate tier %u: the set needs %s, its other tiers have %s. Add %s first.", s->name, rank,
	    format_size(a, need * chunk), format_size(b, elsewhere * chunk),
	    format_size(c, (need - elsewhere) * chunk));
	return false;
}

int cmd_evacuate(const struct args *args)
{
	struct set_list list;
	unsigned int rank;
	struct set *s = need_active(&list, args->word[0]);
	int code = EXIT_FAILED;

	if (!s || !parse_rank(s, args->word[1], &rank) || !check_room(s, rank) ||
	    send_message(s, "evacuate %u", rank))
		goto out;
	code = EXIT_DONE;
	if (global.test)
		goto out;
	if (args->given[OPT_BACKGROUND])
		say("%s: tier %u is being evacuated. tierctl wait --evacuated %u %s waits for the end.\n",
		    s->name, rank, rank, s->name);
	else
		code = wait_for(s, rank, 0);
out:
	sets_free(&list);
	return code;
}

int cmd_admit(const struct args *args)
{
	struct set_list list;
	unsigned int rank;
	struct set *s = need_active(&list, args->word[0]);
	int code = EXIT_FAILED;

	if (s && parse_rank(s, args->word[1], &rank) && !send_message(s, "admit %u", rank)) {
		code = EXIT_DONE;
		if (!global.test)
			say("%s: tier %u is in use again.\n", s->name, rank);
	}
	sets_free(&list);
	return code;
}
