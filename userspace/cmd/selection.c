// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/selection.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "set/find.h"

static bool size_option(const struct args *args, enum option_id id, const char *name, uint64_t *bytes)
{
	int r = parse_size(args->value[id], bytes);

	if (r)
		err(args->ctx, ERR_USAGE, "--%s %s %s.", name, args->value[id], size_error(r));
	return !r;
}

/* All chunks that the bytes from offset on touch. */
static int range_from_bytes(const struct set *s, const struct args *args, struct range *range)
{
	uint64_t chunk = s->chunk_sectors * SECTOR_SIZE;
	uint64_t offset = 0, length;

	if (!args->given[OPT_LENGTH]) {
		err(s->ctx, ERR_USAGE, "--offset needs --length.");
		return EXIT_USAGE;
	}
	if (!size_option(args, OPT_LENGTH, "length", &length) ||
	    (args->given[OPT_OFFSET] && !size_option(args, OPT_OFFSET, "offset", &offset)))
		return EXIT_USAGE;
	if (!length || offset + length < offset) {
		err(s->ctx, ERR_USAGE, "--length %s is no length.", args->value[OPT_LENGTH]);
		return EXIT_USAGE;
	}
	range->first = offset / chunk;
	range->count = (offset + length - 1) / chunk - range->first + 1;
	return 0;
}

static int add_range(struct target *t, const struct range *range, bool bytes)
{
	uint64_t chunks = t->set->status.chunks;
	char size[SIZE_TEXT];

	if (range->first >= chunks || range->count > chunks - range->first) {
		if (bytes)
			err(t->list.ctx, ERR_USAGE, "%s: ends at %llu bytes (%s), with chunk %llu.",
			    t->set->name, (unsigned long long)t->set->length * SECTOR_SIZE,
			    format_size(size, t->set->length * SECTOR_SIZE),
			    (unsigned long long)chunks - 1);
		else
			err(t->list.ctx, ERR_USAGE, "%s: its chunks are 0 to %llu.", t->set->name,
			    (unsigned long long)chunks - 1);
		return EXIT_FAILED;
	}
	ranges_add(&t->numbered, range->first, range->count);
	return 0;
}

/* Such a word can only be a path. */
static bool looks_like_path(const char *word)
{
	return (*word == '/' && strncmp(word, "/dev/", 5)) || !strncmp(word, "./", 2) ||
	       !strncmp(word, "../", 3) || !strcmp(word, ".") || !strcmp(word, "..");
}

bool is_path(const struct set_list *list, const char *word)
{
	struct stack stack;
	struct stat st;
	bool on_set;

	if (sets_find(list, word))
		return false;
	if (looks_like_path(word))
		return true;
	if (stat(word, &st))
		return false;
	if (!S_ISBLK(st.st_mode))
		return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
	/* A device that is part of a set cannot hold files. */
	stack_init(&stack, list);
	on_set = stack_find_set(&stack, st.st_rdev) != NULL;
	stack_free(&stack);
	return on_set;
}

static int add_path(struct target *t, struct finder *finder, const char *path)
{
	struct target_path *p;
	struct where w;

	if (!where_is(finder, path, t->set, &w))
		return EXIT_FAILED;
	t->path = xrealloc(t->path, t->nr_paths + 1, sizeof(*t->path));
	p = &t->path[t->nr_paths++];
	p->path = path;
	p->where = w;
	t->set = w.set;
	ranges_add_all(&t->chunks, &w.chunks);
	return 0;
}

static int add_words(const struct args *args, unsigned int from, unsigned int flags, struct target *t)
{
	struct finder finder;
	struct range range;
	unsigned int i;
	int code = 0, r;

	finder_init(args->ctx, &finder, &t->list, flags & TARGET_SYNC);
	finder.empty_too = flags & TARGET_EMPTY;
	for (i = from; i < args->nr && !code; i++) {
		const char *word = args->word[i];
		struct stat st;

		/* Without a set a number is an error. "./7" is always the file of that name. */
		r = from && !looks_like_path(word) ? parse_range(word, &range.first, &range.count) : -1;
		if (!r) {
			code = add_range(t, &range, false);
		} else if (!looks_like_path(word) && !strchr(word, '/') && stat(word, &st)) {
			err(args->ctx, ERR_USAGE, "%s is not CHUNK or FIRST-LAST, and no file.", word);
			code = EXIT_USAGE;
		} else {
			code = add_path(t, &finder, word);
		}
	}
	finder_free(&finder);
	return code;
}

static int nothing_named(struct tier_context *ctx, const char *command)
{
	err(ctx, ERR_USAGE,
	    "%s: name the chunks by SET CHUNK[-CHUNK], by a file, or by --offset and --length.",
	    command);
	return EXIT_USAGE;
}

static int find_set(const struct args *args, struct target *t, bool *by_path)
{
	sets_load(args->ctx, &t->list, false);
	*by_path = is_path(&t->list, args->word[0]);
	if (*by_path)
		return 0;
	sets_free(&t->list);
	t->set = need_active(args->ctx, &t->list, args->word[0]);
	return t->set ? 0 : EXIT_FAILED;
}

int target_parse(const struct args *args, const char *command, unsigned int flags, struct target *t)
{
	bool bytes = args->given[OPT_OFFSET] || args->given[OPT_LENGTH], by_path;
	struct range range;
	int code;

	memset(t, 0, sizeof(*t));
	t->list.ctx = args->ctx;
	if (!args->nr) {
		err(args->ctx, ERR_USAGE, "%s: too few arguments. Try: tierctl %s --help", command, command);
		return EXIT_USAGE;
	}
	code = find_set(args, t, &by_path);
	if (code)
		return code;
	t->all = !by_path && args->nr == 1 && !bytes;
	if (bytes ? by_path || args->nr > 1 : t->all && !(flags & TARGET_WHOLE))
		return nothing_named(args->ctx, command);
	if (bytes) {
		code = range_from_bytes(t->set, args, &range);
		if (!code)
			code = add_range(t, &range, true);
	} else if (t->all) {
		ranges_add(&t->numbered, 0, t->set->status.chunks);
	} else {
		code = add_words(args, by_path ? 0 : 1, flags, t);
	}
	if (!code && by_path && !check_active(t->set))
		code = EXIT_FAILED;
	if (t->set)
		context_set(args->ctx, t->set->hex, t->set->name);
	ranges_settle(&t->numbered);
	ranges_add_all(&t->chunks, &t->numbered);
	ranges_settle(&t->chunks);
	return code;
}

void target_free(struct target *t)
{
	while (t->nr_paths)
		where_free(&t->path[--t->nr_paths].where);
	free(t->path);
	ranges_free(&t->chunks);
	ranges_free(&t->numbered);
	sets_free(&t->list);
}
