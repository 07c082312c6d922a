// SPDX-License-Identifier: GPL-2.0-only
/* backup: dumps of all sets, the last few of each are kept */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "set/set.h"

#define FOLDER	"/var/lib/dm-tier/backup"
#define KEEP	7
#define SUFFIX	".xml"

/* Makes the folder and those above it. 0, or -1 with errno set. */
static int make_folders(const char *path)
{
	char *copy = xstrdup(path), *s = copy;
	int r = 0;

	while (!r && *s) {
		s = strchrnul(s + 1, '/');
		if (*s) {
			*s = '\0';
			r = mkdir(copy, 0755) && errno != EEXIST ? -1 : 0;
			*s = '/';
		}
	}
	if (!r && mkdir(copy, 0700) && errno != EEXIST)
		r = -1;
	free(copy);
	return r;
}

/*
 * The name of a dump tells the set, and the age of its metadata: generation and transaction. A
 * name of LVM has a slash, and a damaged one may have anything. The caller frees.
 */
static char *dump_name(const char *set, const struct tier_meta_info *info)
{
	char *name = xasprintf("%s-%llu-%llu" SUFFIX, set, (unsigned long long)info->generation,
			       (unsigned long long)info->trans_id), *c;

	make_printable(name);
	for (c = name; *c; c++)
		if (*c == '/' || *c == ' ')
			*c = '-';
	if (*name == '.')
		*name = '_';
	return name;
}

struct kept {
	char *name;
	struct timespec made;
};

static int by_age(const void *a, const void *b)
{
	const struct timespec *x = &((const struct kept *)a)->made, *y = &((const struct kept *)b)->made;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? 1 : -1;
	return (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

/* Removes the oldest dumps beyond keep; the newest is new, even if the clock was set back. */
static void remove_old(struct tier_context *ctx, const char *folder, const char *new, unsigned int keep)
{
	DIR *dir = opendir(folder);
	struct kept *list = NULL;
	unsigned int i, nr = 0;
	struct dirent *e;
	struct stat st;

	while (dir && (e = readdir(dir))) {
		size_t len = strlen(e->d_name), end = strlen(SUFFIX);

		if (len <= end || strcmp(e->d_name + len - end, SUFFIX) || !strcmp(e->d_name, new) ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		list = xrealloc(list, nr + 1, sizeof(*list));
		list[nr++] = (struct kept){ xstrdup(e->d_name), st.st_mtim };
	}
	if (nr)
		qsort(list, nr, sizeof(*list), by_age);
	for (i = 0; i < nr; i++) {
		if (i >= keep - 1 && unlinkat(dirfd(dir), list[i].name, 0))
			warn(ctx, "%s/%s: cannot be removed: %s.", folder, list[i].name, strerror(errno));
		free(list[i].name);
	}
	free(list);
	if (dir)
		closedir(dir);
}

/* What stands in the way of a dump of a set that nobody named; NULL: nothing. */
static const char *reason_to_skip(const struct set *s)
{
	if (!set_has_metadata(s))
		return "its metadata device is missing";
	if (!s->active && s->meta_doubled)
		return "two devices have its metadata";
	if (!s->active && s->have_info && s->info.state == TIER_STATE_FORMATTING)
		return "its creation was interrupted";
	if (!s->active && s->have_info && s->info.state == TIER_STATE_RETIRED)
		return "it was taken apart";
	return NULL;
}

/* False with the error said. */
static bool back_up(struct tier_context *ctx, const struct set *s, const char *dir, unsigned int keep)
{
	char *folder = xasprintf("%s/%s", dir, s->hex), *new = xasprintf("%s/new", folder);
	char *name = NULL, *path = NULL;
	struct tier_meta_info info;
	bool good = false;

	context_set(ctx, s->hex, s->name);
	/* The metadata of an inactive set does not change, so its last dump may be as new. */
	if (!s->active && s->have_info) {
		name = dump_name(s->name, &s->info);
		path = xasprintf("%s/%s", folder, name);
		good = !access(path, F_OK);
		if (good)
			say(ctx, "%s: has not changed since %s.", s->name, path);
	}
	if (!good && ctx->dry_run) {
		say(ctx, "Would write a dump of %s to %s.", s->name, folder);
		good = true;
	} else if (!good) {
		ctx->changed = true;
		if (make_folders(folder))
			err(ctx, error_from(errno), "%s: %s.", folder, strerror(errno));
		else if (dump_metadata(ctx, s->hex, new, &info)) {
			free(name);
			free(path);
			name = dump_name(s->name, &info);
			path = xasprintf("%s/%s", folder, name);
			good = !rename(new, path);
			if (good)
				say(ctx, "%s: %s", s->name, path);
			else
				err(ctx, error_from(errno), "%s: %s.", path, strerror(errno));
		}
		if (good)
			remove_old(ctx, folder, name, keep);
	}
	free(path);
	free(name);
	free(new);
	free(folder);
	return good;
}

int cmd_backup(const struct args *args)
{
	const char *dir = args->given[OPT_DIR] ? args->value[OPT_DIR] : FOLDER, *why;
	struct tier_context *ctx = args->ctx;
	int code = EXIT_DONE;
	uint64_t keep = KEEP;
	struct set_list list;
	struct set *s;
	unsigned int i;

	if (args->given[OPT_KEEP] && (parse_number(args->value[OPT_KEEP], &keep) || !keep || keep > 10000)) {
		err(ctx, ERR_USAGE, "backup: --keep %s is not a number of dumps from 1 to 10000.",
		    args->value[OPT_KEEP]);
		return EXIT_USAGE;
	}
	if (!*dir) {
		err(ctx, ERR_USAGE, "backup: --dir is empty. Name a directory.");
		return EXIT_USAGE;
	}
	if (sets_load(ctx, &list, true))
		code = EXIT_FAILED;
	for (i = 0; i < list.nr && !args->nr; i++) {
		why = reason_to_skip(&list.set[i]);
		if (why)
			warn(ctx, "%s: is left out, as %s.", list.set[i].name, why);
		else if (!back_up(ctx, &list.set[i], dir, keep))
			code = EXIT_FAILED;
	}
	for (i = 0; i < args->nr; i++) {
		/* Says the error. */
		s = sets_need(&list, args->word[i]);
		if (!s || !back_up(ctx, s, dir, keep))
			code = EXIT_FAILED;
	}
	sets_free(&list);
	return code;
}
