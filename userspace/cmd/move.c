// SPDX-License-Identifier: GPL-2.0-only
/* migrate, evacuate, admit, and functions shared with pin */
#include "cmd/move.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/util.h"
#include "cmd/commands.h"
#include "ops/mirrored.h"
#include "ops/reshape.h"
#include "ops/wait.h"
#include "set/find.h"
#include "set/lock.h"
#include "set/message.h"
#include "set/tier.h"

int target_with_tier(const struct args *args, const char *command, struct target *t, unsigned int *id)
{
	unsigned int rank;
	int code;

	memset(t, 0, sizeof(*t));
	/* Checked first: "-t 0" is a dry run and a word, not a tier. */
	if (!args->given[OPT_TIER] && args->nr) {
		err(args->ctx, ERR_USAGE, "%s: say where: --tier RANK.", command);
		return EXIT_USAGE;
	}
	code = target_parse(args, command, TARGET_SYNC, t);
	if (!code && !parse_rank(t->set, args->value[OPT_TIER], &rank))
		code = EXIT_FAILED;
	if (!code)
		*id = t->set->tier[rank].id;
	return code;
}

bool rank_now(struct set *s, unsigned int id, unsigned int *rank)
{
	if (set_refresh(s)) {
		err(s->ctx, ERR_NOT_FOUND, "%s: is gone.", s->name);
		return false;
	}
	for (*rank = 0; *rank < s->status.nr_tiers; ++*rank)
		if (s->status.tier[*rank].id == id)
			return true;
	err(s->ctx, ERR_CHANGED, "%s: the tier was taken out meanwhile.", s->name);
	return false;
}

int send_ranges(const struct set *s, const struct ranges *chunks, const char *message, const char *rest)
{
	struct progress progress;
	unsigned int i;
	int r = 0;

	progress_start(s->ctx, &progress);
	for (i = 0; i < chunks->nr && !r; i++) {
		r = send_message(s, "%s %llu %llu%s", message, (unsigned long long)chunks->range[i].first,
				 (unsigned long long)chunks->range[i].count, rest);
		progress_bar(&progress, message, i + 1, chunks->nr);
	}
	progress_end(&progress);
	if (r && i > 1)
		err(s->ctx, ERR_UNFINISHED,
		    "%s: %s: %u of %u ranges of chunks were taken before that and stay so.", s->name,
		    message, i - 1, chunks->nr);
	return r;
}

int cmd_migrate(const struct args *args)
{
	unsigned int i, id, rank;
	struct target t;
	char rest[32];
	int code = target_with_tier(args, "migrate", &t, &id);

	if (!code && args->given[OPT_HOME] && t.nr_paths) {
		err(args->ctx, ERR_USAGE, "migrate: --home is for chunks that are named by number.");
		code = EXIT_USAGE;
	}
	if (code)
		goto out;
	for (i = 0; i < t.nr_paths; i++)
		where_warn(args->ctx, &t.path[i].where, t.path[i].path);
	code = EXIT_FAILED;
	if (!rank_now(t.set, id, &rank))
		goto out;
	snprintf(rest, sizeof(rest), " %u%s", rank, args->given[OPT_HOME] ? " home" : "");
	if (!send_ranges(t.set, &t.chunks, "migrate", rest))
		code = EXIT_DONE;
	if (code || args->ctx->dry_run)
		goto out;
	if (args->given[OPT_WAIT])
		code = wait_for_chunks(t.set, &t.chunks, rank);
	else
		say(args->ctx, "%s: %s to move to tier %u. tierctl wait %s waits for the end.", t.set->name,
		    count_chunks(&t.chunks).text, rank, t.set->name);
out:
	target_free(&t);
	return code;
}

struct chunk_words count_chunks(const struct ranges *chunks)
{
	unsigned long long n = ranges_total(chunks);
	struct chunk_words w;

	snprintf(w.text, sizeof(w.text), "%llu chunk%s", n, n == 1 ? "" : "s");
	return w;
}

int cmd_evacuate(const struct args *args)
{
	struct set_list list;
	unsigned int rank;
	struct set *s = need_active(args->ctx, &list, args->word[0]);
	int code = EXIT_FAILED;

	/* A leg of the metadata moves, if it can, as remove moves it. While a tier is missing only data does. */
	if (s && set_mirror_assembled(s) && !set_missing(s)) {
		sets_free(&list);
		s = need_changeable(args->ctx, &list, args->word[0]);
	}
	if (!s || !parse_rank(s, args->word[1], &rank) || !check_room(s, rank, 0, "evacuate") ||
	    mirrored_leave(s, rank, true) || send_message(s, "evacuate %u", rank))
		goto out;
	unlock_set();
	code = EXIT_DONE;
	if (args->ctx->dry_run)
		goto out;
	if (args->given[OPT_BACKGROUND])
		say(args->ctx,
		    "%s: tier %u is being evacuated. tierctl wait --evacuated %u %s waits for the end.",
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
	struct set *s = need_active(args->ctx, &list, args->word[0]);
	int code = EXIT_FAILED;

	if (s && parse_rank(s, args->word[1], &rank) && !send_message(s, "admit %u", rank)) {
		code = EXIT_DONE;
		if (!args->ctx->dry_run)
			say(args->ctx, "%s: tier %u is in use again.", s->name, rank);
	}
	sets_free(&list);
	return code;
}
