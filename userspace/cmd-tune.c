// SPDX-License-Identifier: GPL-2.0-only
/* pause, resume, set, get */
#include <stdlib.h>

#include "commands.h"
#include "render.h"
#include "tunable.h"
#include "util.h"

static int pause_each(const struct args *args, const char *message, bool paused)
{
	int code = EXIT_DONE;
	unsigned int i;

	for (i = 0; i < args->nr; i++) {
		struct set_list list;
		struct set *s = need_active(&list, args->word[i]);

		if (!s || send_message(s, "%s", message))
			code = EXIT_FAILED;
		else if (!global.test)
			say("%s: migration %s.\n", s->name, paused ? "paused" : "running");
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

/* All assignments, or none and the error said. */
static struct tunable *parse_all(const struct set *s, const struct args *args, unsigned int nr)
{
	struct tunable *list = xcalloc(nr, sizeof(*list));
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const char *word = args->word[i + 1];
		char *wrong = tunable_parse(word, s->chunk_sectors, s->nr_tiers, &list[i]);

		if (!wrong && !status_tunable(&s->status, list[i].key))
			wrong = xasprintf("is no key of this set or its policy (%s): tierctl get %s names them",
					  s->status.policy, s->name);
		if (wrong) {
			err("%s: %s %s.", s->name, word, wrong);
			free(wrong);
			for (i = 0; i < nr; i++)
				tunable_free(&list[i]);
			free(list);
			return NULL;
		}
	}
	return list;
}

/* Gives those that were set already the values they had. */
static void take_back(const struct set *s, const struct tunable *list, unsigned int nr)
{
	while (nr--)
		send_message(s, "set %s %s", list[nr].key, status_tunable(&s->status, list[nr].key));
}

int cmd_set(const struct args *args)
{
	unsigned int i, nr = args->nr - 1;
	struct tunable *tunables;
	struct set_list list;
	struct set *s = need_active(&list, args->word[0]);
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
	if (code == EXIT_DONE && !global.test)
		for (i = 0; i < nr; i++)
			say("%s: %s=%llu\n", s->name, tunables[i].key,
			    (unsigned long long)tunables[i].value);
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
	struct set *s = need_active(&list, args->word[0]);
	int code = EXIT_FAILED;

	if (!s)
		goto out;
	if (key && !status_tunable(&s->status, key)) {
		err("%s: no key %s. tierctl get %s names them.", s->name, key, s->name);
		goto out;
	}
	if (global.json)
		json_add_tunables(s, key);
	else
		show_tunables(s, key);
	code = EXIT_DONE;
out:
	sets_free(&list);
	return code;
}
