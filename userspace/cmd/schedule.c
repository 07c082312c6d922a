// SPDX-License-Identifier: GPL-2.0-only
/* schedule: the hours of migration */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/util.h"
#include "base/words.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/status.h"
#include "ops/schedule.h"
#include "ops/window.h"
#include "set/find.h"
#include "set/set.h"
#include "tools/terminal.h"
#include "view/render-json.h"

static void show(const struct schedule *d)
{
	const struct set *s = d->set;
	bool known = s->active && s->have_table && s->status.kind == STATUS_OK;
	struct text windows = { 0 };
	unsigned int i;

	if (terminal_of(d->ctx)->json) {
		json_object *o = json_new_set(s), *list = json_object_new_array();

		for (i = 0; i < d->windows.nr; i++)
			json_object_array_add(list, json_object_new_string(d->windows.s[i]));
		json_object_object_add(o, "windows", list);
		put_string(o, "migration", !known ? NULL : s->status.paused ? "paused" : "running");
		return;
	}
	schedule_join(d, ", ", &windows);
	say(d->ctx, "%s: migration %s%s%s%s.", s->name, d->windows.nr ? "from " : "is not scheduled",
	    d->windows.nr ? windows.s : "", known ? "; now " : "",
	    !known ? "" : s->status.paused ? "paused" : "running");
	text_free(&windows);
}

static int check_options(const struct args *args)
{
	bool clear = args->given[OPT_CLEAR], apply = args->given[OPT_APPLY];
	struct window w;
	unsigned int i;

	if ((clear && args->nr > 1) || (apply && args->nr < 2)) {
		err(args->ctx, ERR_USAGE, "schedule: --clear goes alone, --apply with hours.");
		return EXIT_USAGE;
	}
	for (i = 1; i < args->nr; i++)
		if (!window_parse(args->word[i], &w)) {
			err(args->ctx, ERR_USAGE, "schedule: %s is no part of a day like 22:00-06:00.",
			    args->word[i]);
			return EXIT_USAGE;
		}
	return 0;
}

static int schedule(struct schedule *d, const struct args *args)
{
	bool apply = args->given[OPT_APPLY], was;
	struct strings before;
	unsigned int i;
	int code;

	schedule_read(d);
	was = d->windows.nr;
	if (args->nr == 1 && !args->given[OPT_CLEAR]) {
		show(d);
		return EXIT_DONE;
	}
	before = d->windows;
	memset(&d->windows, 0, sizeof(d->windows));
	for (i = 1; i < args->nr; i++)
		strings_add(&d->windows, args->word[i]);
	/* Without hours migration runs at all times; a pause by the user stays. */
	if (args->given[OPT_CLEAR])
		code = was ? schedule_clear(d) : EXIT_DONE;
	else if (apply || schedule_install(d, &before))
		code = schedule_set_paused(d->set, !schedule_inside(d));
	else
		code = EXIT_FAILED;
	strings_free(&before);
	if (!code && !d->ctx->dry_run && !apply)
		show(d);
	return code;
}

int cmd_schedule(const struct args *args)
{
	struct set_list list;
	struct schedule d;
	int code = check_options(args);

	if (code)
		return code;
	code = EXIT_FAILED;
	if (need_known(args->ctx, &list, args->word[0])) {
		struct set *s = sets_find(&list, args->word[0]);

		schedule_init(args->ctx, &d, s->hex);
		d.set = s;
		code = schedule(&d, args);
		schedule_free(&d);
	}
	sets_free(&list);
	return code;
}
