// SPDX-License-Identifier: GPL-2.0-only
/* list, scan, status */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/util.h"
#include "block/device.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "set/lost.h"
#include "set/member.h"
#include "set/report.h"
#include "set/scan.h"
#include "set/set.h"
#include "set/volumes.h"
#include "tools/terminal.h"
#include "view/render.h"

/*
 * The named sets, or all. Devices are read only if needed. False if a set was not found, with
 * the error said.
 */
static bool choose(const struct args *args, struct set_list *list, struct set ***chosen, unsigned int *nr)
{
	bool found_all = true;
	unsigned int i;

	sets_load(args->ctx, list, false);
	for (i = 0; i < args->nr; i++)
		found_all &= sets_find(list, args->word[i]) != NULL;
	if (!args->nr || !found_all) {
		sets_free(list);
		sets_load(args->ctx, list, true);
	}

	*nr = 0;
	*chosen = xcalloc(args->nr ? args->nr : list->nr, sizeof(**chosen));
	found_all = true;
	if (!args->nr)
		for (i = 0; i < list->nr; i++)
			(*chosen)[(*nr)++] = &list->set[i];
	for (i = 0; i < args->nr; i++) {
		struct set *s = sets_need(list, args->word[i]);

		if (s)
			(*chosen)[(*nr)++] = s;
		else
			found_all = false;
	}
	return found_all;
}

/* A disk that was unplugged may be back under another name, which an active set does not know. */
static void look_for_missing(struct tier_context *ctx, struct set **sets, unsigned int nr)
{
	struct member_list members;
	bool scanned = false;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!sets[i]->active || !sets[i]->have_table || (sets[i]->have_meta && !set_missing(sets[i])))
			continue;
		if (!scanned)
			members_scan(ctx, &members, false);
		scanned = true;
		set_look_for_missing(sets[i], &members);
	}
	if (scanned)
		members_free(&members);
}

static int code_for(bool found_all, const struct report *reports, unsigned int nr)
{
	int code = found_all ? EXIT_DONE : EXIT_FAILED;
	unsigned int i;

	for (i = 0; i < nr && code == EXIT_DONE; i++)
		if (strcmp(reports[i].health, "ok"))
			code = EXIT_ATTENTION;
	return code;
}

int cmd_list(const struct args *args)
{
	struct report *reports;
	struct set_list list;
	struct set **chosen;
	unsigned int i, nr;
	bool found = choose(args, &list, &chosen, &nr);
	int code;

	look_for_missing(args->ctx, chosen, nr);
	reports = reports_make(chosen, nr, 0);
	reports_look_at_volumes(reports, nr);
	code = code_for(found, reports, nr);
	if (terminal_of(args->ctx)->json)
		for (i = 0; i < nr; i++)
			json_add_report(&reports[i]);
	else if (!terminal_of(args->ctx)->quiet && (nr || !args->nr))
		show_list(reports, nr);
	reports_free(reports, nr);
	free(chosen);
	sets_free(&list);
	return code;
}

int cmd_status(const struct args *args)
{
	struct report *reports;
	struct set_list list;
	struct set **chosen;
	unsigned int i, nr;
	uint64_t ms;
	bool found;
	int code = parse_interval(args, "status", &ms);

	if (code)
		return code;
	found = choose(args, &list, &chosen, &nr);
	look_for_missing(args->ctx, chosen, nr);
	reports = reports_make(chosen, nr, ms);
	reports_look_at_volumes(reports, nr);
	code = code_for(found, reports, nr);
	for (i = 0; i < nr; i++) {
		report_find_lost(&reports[i]);
		if (terminal_of(args->ctx)->json || terminal_of(args->ctx)->verbose)
			report_look_at_tiers(&reports[i]);
		if (terminal_of(args->ctx)->verbose && !report_ask_holds(&reports[i]))
			code = EXIT_FAILED;
		if (terminal_of(args->ctx)->json) {
			json_add_report(&reports[i]);
		} else {
			if (i)
				say(args->ctx, "%s", "");
			show_status(&reports[i]);
		}
	}
	if (!nr && !args->nr)
		say(args->ctx, "No tiered sets.");
	reports_free(reports, nr);
	free(chosen);
	sets_free(&list);
	return code;
}

static void scan_named(const struct args *args, struct member_list *list, bool *found_all)
{
	struct device d;
	unsigned int i;

	memset(list, 0, sizeof(*list));
	for (i = 0; i < args->nr; i++) {
		int r = device_from_name(args->word[i], &d);

		if (r) {
			device_not_found(args->ctx, args->word[i], r);
			*found_all = false;
			continue;
		}
		members_add(list, &d);
	}
	members_look(args->ctx, list);
}

static bool is_hidden(const struct member *m, const struct set_list *sets)
{
	struct role role;

	role_of(m, sets, &role);
	return role.state && !strcmp(role.state, "hidden");
}

static void leave_out_hidden(struct member_list *devices, const struct set_list *sets)
{
	unsigned int i, kept = 0;

	for (i = 0; i < devices->nr; i++) {
		if (is_hidden(&devices->member[i], sets))
			member_free(&devices->member[i]);
		else
			devices->member[kept++] = devices->member[i];
	}
	devices->nr = kept;
}

/* Devices that should not be there, and missing parts of sets. */
static bool scan_needs_attention(const struct member_list *devices, const struct set_list *sets)
{
	unsigned int i;

	for (i = 0; i < devices->nr; i++) {
		struct role role;

		/* A path that is there is normal. */
		if (is_hidden(&devices->member[i], sets))
			continue;
		role_of(&devices->member[i], sets, &role);
		if (!strcmp(role.role, "damaged"))
			return true;
		if (role.state && strcmp(role.state, "active") && strcmp(role.state, "inactive"))
			return true;
		if (role.set && (role.set->problem || set_missing(role.set)))
			return true;
	}
	return false;
}

int cmd_scan(const struct args *args)
{
	struct member_list all, named = { 0 };
	struct member_list *shown = &all;
	struct set_list sets;
	bool found = true;
	int code = EXIT_DONE;

	if (args->given[OPT_ALL] && args->nr) {
		err(args->ctx, ERR_USAGE, "scan: name devices or say --all, not both.");
		return EXIT_USAGE;
	}
	members_scan(args->ctx, &all, args->given[OPT_ALL]);
	sets_load_members(args->ctx, &sets, &all);
	if (!args->given[OPT_ALL])
		leave_out_hidden(&all, &sets);
	if (args->nr) {
		scan_named(args, &named, &found);
		shown = &named;
	}
	if (terminal_of(args->ctx)->json)
		json_add_scan(shown, &sets);
	else if (!terminal_of(args->ctx)->quiet && (shown->nr || !args->nr))
		show_scan(shown, &sets);
	if (!found)
		code = EXIT_FAILED;
	else if (scan_needs_attention(shown, &sets))
		code = EXIT_ATTENTION;
	sets_free(&sets);
	members_free(&named);
	members_free(&all);
	return code;
}
