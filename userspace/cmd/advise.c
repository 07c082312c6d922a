// SPDX-License-Identifier: GPL-2.0-only
/* advise */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/status.h"
#include "set/advice.h"
#include "set/find.h"
#include "set/set.h"
#include "tools/terminal.h"
#include "view/render-json.h"

static uint64_t number(const struct pairs *list, const char *key)
{
	const char *value = pairs_find(list, key);
	uint64_t n = 0;

	return value && !parse_number(value, &n) ? n : 0;
}

/* Accesses that the fastest tiers served, or the slowest one, to chunks that the policy had moved there. */
static uint64_t served(const struct set *s, const struct advice *a, bool slowest)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++) {
		char key[24];

		snprintf(key, sizeof(key), "served%u", i);
		if ((i + 1 == s->nr_tiers) == slowest)
			sum += number(&a->day, key);
	}
	return sum;
}

static void say_sizes(const struct set *s, const struct advice *a)
{
	char size[SIZE_TEXT];
	unsigned int i;

	if (!a->heat) {
		say(s->ctx, "No chunk has heat: nothing was accessed for long, or the policy does not count accesses.");
		return;
	}
	say(s->ctx, "Of the time that a fast tier can save, with the heat as it is:");
	say(s->ctx, "  %3.0f%% is saved, as chunks lie now", 100 * a->now);
	for (i = 0; i < ADVICE_SIZES; i++)
		say(s->ctx, "  %3.0f%% at most with a fast tier of %s, %s", 100 * a->share[i],
		    format_size(size, a->places[i] * s->chunk_sectors * SECTOR_SIZE),
		    (const char *[]){ "half its size", "its size", "twice its size", "four times its size" }[i]);
}

static void say_holds(const struct set *s, const struct advice *a)
{
	unsigned int i, nr = 0;

	for (i = 0; i < a->holds.nr; i++) {
		const struct pair *p = &a->holds.pair[i];
		const char *tunable = advice_tunable(p->key);
		const char *value = tunable ? status_tunable(&s->status, tunable) : NULL;

		if (!strcmp(p->value, "0"))
			continue;
		if (!nr++)
			say(s->ctx, "Since activation chunks that were worth a look were not moved up:");
		say(s->ctx, "  %s times by %s%s%s%s%s", p->value, p->key, tunable ? ": " : "", tunable ? tunable : "",
		    value ? " is " : "", value ? value : "");
	}
	if (!nr)
		say(s->ctx, "Nothing has held chunks back since activation.");
}

static void say_day(const struct set *s, const struct advice *a)
{
	uint64_t moves = number(&a->day, "promotions") + number(&a->day, "demotions");
	char moved[SIZE_TEXT];

	say(s->ctx, "In the last %.1f hours %llu chunks moved up and %llu down, %s.",
	    number(&a->day, "seconds") / 3600.0, (unsigned long long)number(&a->day, "promotions"),
	    (unsigned long long)number(&a->day, "demotions"),
	    format_size(moved, number(&a->day, "migrated_sectors") * SECTOR_SIZE));
	if (moves)
		say(s->ctx, "Since then about %llu accesses were served faster, to chunks that the policy moved up, and %llu slower, to those that it moved down.",
		    (unsigned long long)served(s, a, false), (unsigned long long)served(s, a, true));
}

static void add_json(const struct set *s, const struct advice *a)
{
	json_object *o = json_new_set(s), *sizes = json_object_new_array(), *holds = json_object_new_array();
	json_object *day = json_object_new_object();
	unsigned int i;

	json_object_object_add(o, "share_now", a->heat ? json_object_new_double(a->now) : NULL);
	for (i = 0; i < ADVICE_SIZES; i++) {
		json_object *size = json_object_new_object();

		json_object_object_add(size, "factor", json_object_new_double((1 << i) / 2.0));
		put_number(size, "size", a->places[i] * s->chunk_sectors * SECTOR_SIZE);
		json_object_object_add(size, "share", a->heat ? json_object_new_double(a->share[i]) : NULL);
		json_object_array_add(sizes, size);
	}
	json_object_object_add(o, "fast_tier", sizes);
	for (i = 0; i < a->holds.nr; i++) {
		json_object *hold = json_object_new_object();

		put_string(hold, "reason", a->holds.pair[i].key);
		put_number(hold, "count", number(&a->holds, a->holds.pair[i].key));
		put_string(hold, "tunable", advice_tunable(a->holds.pair[i].key));
		json_object_array_add(holds, hold);
	}
	json_object_object_add(o, "held_back", holds);
	put_number(day, "seconds", number(&a->day, "seconds"));
	put_number(day, "promotions", number(&a->day, "promotions"));
	put_number(day, "demotions", number(&a->day, "demotions"));
	put_number(day, "moved_bytes", number(&a->day, "migrated_sectors") * SECTOR_SIZE);
	put_number(day, "served_faster", served(s, a, false));
	put_number(day, "served_slower", served(s, a, true));
	json_object_object_add(o, "last_day", day);
}

int cmd_advise(const struct args *args)
{
	struct set_list list;
	const struct set *s = need_active(args->ctx, &list, args->word[0]);
	int code = EXIT_FAILED;
	struct advice a;

	if (s) {
		if (advice_make(s, &a)) {
			code = EXIT_DONE;
			if (terminal_of(args->ctx)->json) {
				add_json(s, &a);
			} else {
				say_sizes(s, &a);
				say_holds(s, &a);
				say_day(s, &a);
			}
		}
		advice_free(&a);
	}
	sets_free(&list);
	return code;
}
