// SPDX-License-Identifier: GPL-2.0-only
#include "set/find.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/util.h"

/* udev opens a device each time that a writer has closed it. */
#define CLOSE_TRIES	20
#define CLOSE_MS	100

static struct set *find_known(struct tier_context *ctx, struct set_list *list, const char *name)
{
	struct set *s;

	sets_load(ctx, list, false);
	s = sets_find(list, name);
	if (s) {
		context_set(ctx, s->hex, s->name);
		return s;
	}
	/* The set may be there, but inactive. */
	sets_free(list);
	sets_load(ctx, list, true);
	return sets_need(list, name);
}

bool need_known(struct tier_context *ctx, struct set_list *list, const char *name)
{
	return find_known(ctx, list, name) != NULL;
}

struct set *need_active(struct tier_context *ctx, struct set_list *list, const char *name)
{
	struct set *s = find_known(ctx, list, name);

	return s && check_active(s) ? s : NULL;
}

bool check_active(const struct set *s)
{
	if (!s->active)
		err(s->ctx, ERR_INACTIVE, "%s: not active. Type: tierctl activate %s", s->name, s->name);
	else if (s->dm.wiped)
		err(s->ctx, ERR_FAILED,
		    "%s: its device has a table of \"error\". When it is closed, type: tierctl activate %s",
		    s->name, s->name);
	else if (!s->have_table)
		err(s->ctx, ERR_INACTIVE, "%s: no table is loaded. Type: tierctl activate %s", s->name,
		    s->name);
	else if (s->status.kind == STATUS_WAITS)
		err(s->ctx, ERR_UNREACHABLE,
		    "%s: does not answer; it waits for its metadata device. Type: tierctl status %s",
		    s->name, s->name);
	else if (s->status.kind != STATUS_OK)
		err(s->ctx, ERR_FAILED, "%s: %s; the kernel log says why.", s->name,
		    s->status.kind == STATUS_FAIL ? "has failed" : "its status cannot be queried");
	else
		return true;
	return false;
}

struct set *sets_find_hex(const struct set_list *list, const char *set_hex)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		if (!strcmp(list->set[i].hex, set_hex))
			return &list->set[i];
	return NULL;
}

bool set_parts_known(const struct set *s)
{
	if (s->doubled)
		err(s->ctx, ERR_AMBIGUOUS, "%s: %s. One of them is a copy: disconnect it.", s->name,
		    s->problem);
	return !s->doubled;
}

bool set_unchanged(const struct set *s)
{
	struct set_list list;
	const struct set *now;
	bool same;

	sets_load(s->ctx, &list, false);
	now = sets_find(&list, s->dm.name);
	same = now && now->dm.dev == s->dm.dev && now->dm.length == s->dm.length &&
	       now->dm.table && s->dm.table && !strcmp(now->dm.table, s->dm.table);
	sets_free(&list);
	if (!same)
		err(s->ctx, ERR_CHANGED, "%s: was changed by somebody else meanwhile. Try again.", s->name);
	return same;
}

bool check_closed(const struct set *s, const char *command)
{
	int open = s->dm.open_count, tries;
	char *usage, *point;

	for (tries = 0; open > 0 && tries < CLOSE_TRIES; tries++) {
		point = device_mount_point(s->dm.dev);
		free(point);
		if (point)
			break;
		sleep_ms(CLOSE_MS);
		open = dm_open_count(s->dm.name);
	}
	if (open <= 0)
		return true;
	point = device_mount_point(s->dm.dev);
	usage = point ? NULL : set_usage(s);
	if (point)
		err(s->ctx, ERR_IN_USE, "%s: mounted on %s. Type: umount %s, then: tierctl %s %s",
		    s->name, point, point, command, s->name);
	else
		err(s->ctx, ERR_IN_USE, "%s: %s. Close it first.", s->name, usage);
	free(point);
	free(usage);
	return false;
}

bool is_name(const char *name)
{
	/* "control" is the node of device-mapper itself. */
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789#+-.:=@_";

	return strlen(name) < TIER_NAME_SIZE && *name && !name[strspn(name, allowed)] &&
	       strcmp(name, ".") && strcmp(name, "..") && strcmp(name, "control");
}
