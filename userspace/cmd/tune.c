// SPDX-License-Identifier: GPL-2.0-only
/* pause, resume, set, get */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/suggest.h"
#include "base/util.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/status.h"
#include "dm/tunable.h"
#include "set/find.h"
#include "set/message.h"
#include "set/set.h"
#include "tools/terminal.h"
#include "view/render.h"

static int pause_each(const struct args *args, const char *message, bool paused)
{
	int code = EXIT_DONE;
	unsigned int i;

	for (i = 0; i < args->nr; i++) {
		struct set_list list;
		struct set *s = need_active(args->ctx, &list, args->word[i]);

		if (!s || send_message(s, "%s", message))
			code = EXIT_FAILED;
		else if (!args->ctx->dry_run)
			say(args->ctx, "%s: migration %s.", s->name, paused ? "paused" : "running");
		sets_free(&list);
	}
	return code;
}

int cmd_pause(const struct args *args)
{
	return pause_each(args, "pause", true);
}

int cmd_resume(const struct args *args)
{
	return pause_each(args, "resume", false);
}

/* The error for a key that the set does not have; the caller frees. */
static char *no_key(const struct set *s, const char *key)
{
	struct suggestion g;
	char *meant, *text;
	unsigned int i;

	suggestion_init(&g, key);
	for (i = 0; i < s->status.core.nr; i++)
		suggestion_offer(&g, s->status.core.pair[i].key);
	for (i = 0; i < s->status.policy_args.nr; i++)
		suggestion_offer(&g, s->status.policy_args.pair[i].key);
	meant = suggestion_text(&g, "");
	text = xasprintf("%s is no key of this set or its policy (%s).%s tierctl get %s names them.", key,
			 s->status.policy, meant, s->name);
	free(meant);
	return text;
}

/*
 * The key is checked before the value, whose range depends on it; tunable_parse() knows the keys
 * of tiers.
 */
static char *check_key(const struct set *s, const char *assignment)
{
	size_t len = strcspn(assignment, "=");
	char *key = xstrndup(assignment, len), *wrong = NULL;

	if (assignment[len] && len && !strchr(key, '.') && !status_tunable(&s->status, key))
		wrong = no_key(s, key);
	free(key);
	return wrong;
}

/* Parses all assignments, or returns NULL with the error said. */
static struct tunable *parse_all(const struct set *s, const struct args *args, unsigned int nr)
{
	struct tunable *list = xcalloc(nr, sizeof(*list));
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const char *word = args->word[i + 1];
		char *unknown = check_key(s, word), *wrong = NULL;

		if (unknown)
			err(s->ctx, ERR_USAGE, "%s: %s", s->name, unknown);
		else
			wrong = tunable_parse(word, s->chunk_sectors, s->nr_tiers, &list[i]);
		if (wrong)
			err(s->ctx, ERR_USAGE, "%s: %s %s.", s->name, word, wrong);
		if (unknown || wrong) {
			free(unknown);
			free(wrong);
			for (i = 0; i < nr; i++)
				tunable_free(&list[i]);
			free(list);
			return NULL;
		}
	}
	return list;
}

/* Restores the old values of tunables that were set already. */
static void take_back(const struct set *s, const struct tunable *list, unsigned int nr)
{
	while (nr--)
		send_message(s, "set %s %s", list[nr].key, status_tunable(&s->status, list[nr].key));
}

/* Prints a tunable as tierctl get does, and its meaning. */
static void say_tunable(const struct set *s, const struct tunable *t)
{
	char *text = tunable_text(t->key, t->value, s->chunk_sectors);

	say(s->ctx, "%s: %s=%llu%s%s%s", s->name, t->key, (unsigned long long)t->value, text ? " (" : "",
	    text ? text : "", text ? ")" : "");
	free(text);
}

/* Commits wake a tier that is to sleep if the metadata lies on its disk. */
static void say_what_wakes(const struct set *s, const struct tunable *t)
{
	unsigned int rank;
	int end = 0;

	if (!t->value || sscanf(t->key, "tier%u.quiet%n", &rank, &end) != 1 || !end || rank >= s->nr_tiers)
		return;
	if (devices_share_disk(s->tier[rank].dev.dev, s->meta_dev.dev))
		warn(s->ctx, "%s: The metadata lies on a disk of tier %u: first writes, moves and changes of the set wake it.",
		     s->name, rank);
}

int cmd_set(const struct args *args)
{
	unsigned int i, nr = args->nr - 1;
	struct tunable *tunables;
	struct set_list list;
	struct set *s = need_active(args->ctx, &list, args->word[0]);
	int code = EXIT_FAILED;

	if (!s)
		goto out;
	tunables = parse_all(s, args, nr);
	if (!tunables) {
		code = EXIT_USAGE;
		goto out;
	}
	code = EXIT_DONE;
	for (i = 0; i < nr; i++) {
		if (send_message(s, "set %s %llu", tunables[i].key, (unsigned long long)tunables[i].value)) {
			take_back(s, tunables, i);
			code = EXIT_FAILED;
			break;
		}
	}
	if (code == EXIT_DONE && !args->ctx->dry_run)
		for (i = 0; i < nr; i++) {
			say_tunable(s, &tunables[i]);
			say_what_wakes(s, &tunables[i]);
		}
	for (i = 0; i < nr; i++)
		tunable_free(&tunables[i]);
	free(tunables);
out:
	sets_free(&list);
	return code;
}

int cmd_get(const struct args *args)
{
	const char *key = args->nr > 1 ? args->word[1] : NULL;
	struct set_list list;
	struct set *s = need_active(args->ctx, &list, args->word[0]);
	int code = EXIT_FAILED;

	if (!s)
		goto out;
	if (key && !status_tunable(&s->status, key)) {
		char *unknown = no_key(s, key);

		err(args->ctx, ERR_USAGE, "%s: %s", s->name, unknown);
		free(unknown);
		goto out;
	}
	if (terminal_of(args->ctx)->json)
		json_add_tunables(s, key);
	else
		show_tunables(s, key);
	code = EXIT_DONE;
out:
	sets_free(&list);
	return code;
}
