// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "lib/rules.h"
#include "reshape.h"
#include "size.h"
#include "util.h"

static struct set *find_known(struct set_list *list, const char *name)
{
	struct set *s;

	sets_load(list, false);
	s = sets_find(list, name);
	if (s)
		return s;
	/* It may be there, but inactive. */
	sets_free(list);
	sets_load(list, true);
	return sets_need(list, name);
}

bool need_known(struct set_list *list, const char *name)
{
	return find_known(list, name) != NULL;
}

struct set *need_active(struct set_list *list, const char *name)
{
	struct set *s = find_known(list, name);

	return s && check_active(s) ? s : NULL;
}

bool check_active(const struct set *s)
{
	if (!s->active)
		err("%s: not active. Type: tierctl activate %s", s->name, s->name);
	else if (s->dm.wiped)
		err("%s: its device has a table of \"error\". When it is closed, type: tierctl activate %s", s->name, s->name);
	else if (!s->have_table)
		err("%s: no table is loaded. Type: tierctl activate %s", s->name, s->name);
	else if (s->status.kind == STATUS_WAITS)
		err("%s: does not answer; it waits for its metadata device. Type: tierctl status %s", s->name, s->name);
	else if (s->status.kind != STATUS_OK)
		err("%s: %s; the kernel log says why.", s->name,
		    s->status.kind == STATUS_FAIL ? "has failed" : "its status cannot be queried");
	else
		return true;
	return false;
}

int send_message(const struct set *s, const char *fmt, ...)
{
	char *message, *reason, *resume;
	va_list ap;
	int r = 0;

	va_start(ap, fmt);
	message = xvasprintf(fmt, ap);
	va_end(ap);

	verbose("message to %s: %s", s->dm.name, message);
	if (global.test) {
		say("Would tell %s: %s\n", s->name, message);
	} else {
		r = dm_message(s->dm.name, message, NULL, &reason);
		if (r) {
			resume = s->dm.suspended ? set_resume_command(s) : NULL;
			err("%s: %s: %s.%s%s", s->name, message, reason, resume ? " It is suspended. First: " : "",
			    resume ? resume : "");
			free(resume);
			free(reason);
		}
	}
	free(message);
	return r;
}

bool parse_rank(const struct set *s, const char *text, unsigned int *rank)
{
	int found = reshape_find(s, text);

	if (found < 0) {
		err("%s: no tier %s, its tiers are 0 to %u.", s->name, text, s->nr_tiers - 1);
		return false;
	}
	*rank = found;
	return true;
}

/* udev looks at a device each time that a writer has closed it. */
#define CLOSE_TRIES	20
#define CLOSE_MS	100

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
		err("%s: mounted on %s. Type: umount %s, then: tierctl %s %s", s->name, point, point, command,
		    s->name);
	else
		err("%s: %s. Close it first.", s->name, usage);
	free(point);
	free(usage);
	return false;
}

bool is_name(const char *name)
{
	/* "control" is where device-mapper itself is talked to. */
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789#+-.:=@_";

	return strlen(name) < TIER_NAME_SIZE && *name && !name[strspn(name, allowed)] &&
	       strcmp(name, ".") && strcmp(name, "..") && strcmp(name, "control");
}

int check_name(const char *name, const char *command)
{
	if (!is_name(name)) {
		err("%s: %s is no name for a set: at most %d of letters, digits and #+-.:=@_, and not control",
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
			err("%s: no feature %s: paused, no_discard_passdown, skip_zeroing.", command, feature);
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
		err("%s: --interval %s is not a number of seconds from 1 to 86400.", command,
		    args->value[OPT_INTERVAL]);
		return EXIT_USAGE;
	}
	*ms *= 1000;
	return 0;
}

int parse_chunk_size(const struct args *args, const char *command, uint64_t *sectors)
{
	const char *text = args->given[OPT_CHUNKSIZE] ? args->value[OPT_CHUNKSIZE] : "1m";
	uint64_t bytes;
	int r = parse_size(text, &bytes);

	if (r) {
		err("%s: --chunksize %s %s.", command, text, size_error(r));
		return EXIT_USAGE;
	}
	*sectors = bytes / SECTOR_SIZE;
	if (bytes & (bytes - 1) || *sectors < TIER_CHUNK_SECTORS_MIN || *sectors > TIER_CHUNK_SECTORS_MAX) {
		err("%s: --chunksize %s is not a power of two from 64k to 1g.", command, text);
		return EXIT_USAGE;
	}
	return 0;
}

int parse_policy(const struct args *args, const char *command, char **policy)
{
	const char *text = args->given[OPT_POLICY] ? args->value[OPT_POLICY] : "default";

	if (!md_knows_policy(text)) {
		err("%s: no policy %s: heat, static.", command, text);
		return EXIT_USAGE;
	}
	*policy = xstrdup(text);
	return 0;
}
