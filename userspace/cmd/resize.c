// SPDX-License-Identifier: GPL-2.0-only
/* resize, rename */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/size.h"
#include "base/step.h"
#include "base/util.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/dm.h"
#include "dm/status.h"
#include "dm/table.h"
#include "dm-tier/metadata/space.h"
#include "format/geometry.h"
#include "lvm/lvm-check.h"
#include "lvm/lvm-part.h"
#include "ops/mirrored.h"
#include "ops/reshape.h"
#include "set/find.h"
#include "set/set.h"

#define BUCKETS	4096

struct resizing {
	struct set *s;
	uint64_t capacity;	/* chunks, on the tiers as they are now */
	bool grown;		/* a tier has places that the set does not use yet */
	uint64_t length;	/* sectors, wanted */
};

/* Reads the present sizes of the devices; false with the error said. */
static bool measure(struct resizing *z)
{
	struct set *s = z->s;
	uint64_t places, sum = 0, most = geometry_chunks_of_metadata(UINT64_MAX);
	char a[SIZE_TEXT];
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++) {
		places = set_tier_places(s, i);
		if (places < s->tier[i].places) {
			err(z->s->ctx, ERR_DEGRADED,
			    "%s: tier %u (%s) has shrunk to %s. Give it back what it had.", s->name, i,
			    s->tier[i].dev.name, format_size(a, s->tier[i].dev.size));
			return false;
		}
		z->grown |= places > s->tier[i].places;
		/* A tier that is being emptied does not count. */
		if (s->tier[i].state != 'E')
			sum += places;
	}
	z->capacity = sum > s->info.reserve ? sum - s->info.reserve : 0;
	if (z->capacity > most)
		z->capacity = most;
	return true;
}

static bool wanted_length(const struct args *args, struct resizing *z)
{
	uint64_t bytes;
	int r;

	z->length = z->s->dm.length;
	if (!args->given[OPT_SIZE]) {
		if (z->capacity * z->s->chunk_sectors > z->length)
			z->length = z->capacity * z->s->chunk_sectors;
		return true;
	}
	/* Checked before, in cmd_resize(). */
	r = parse_size(args->value[OPT_SIZE], &bytes);
	z->length = bytes / SECTOR_SIZE;
	return !r;
}

/* The end of the last chunk that holds data. */
static int mapped_end(const struct set *s, uint64_t *end)
{
	uint64_t first = 0, count = s->status.chunks;
	struct heat_bucket b;
	char *message, *answer, *reason;
	const char *line;
	int r;

	*end = 0;
	while (count) {
		uint64_t found_first = 0, found = 0;

		message = xasprintf("heat %llu %llu %u", (unsigned long long)first, (unsigned long long)count,
				    count < BUCKETS ? (unsigned int)count : BUCKETS);
		r = dm_message(s->dm.name, message, &answer, &reason);
		free(message);
		if (r) {
			err(s->ctx, ERR_KERNEL_REFUSED, "%s: heat: %s.", s->name, reason);
			free(reason);
			return r;
		}
		for (line = answer; !heat_parse(&line, s->nr_tiers, &b);) {
			if (b.mapped) {
				found_first = b.first;
				found = b.count;
			}
		}
		free(answer);
		if (found == 1)
			*end = found_first + 1;
		if (found <= 1)
			return 0;
		first = found_first;
		count = found;
	}
	return 0;
}

static bool check_smaller(const struct resizing *z)
{
	const struct set *s = z->s;
	uint64_t end;
	char a[SIZE_TEXT], b[SIZE_TEXT];

	if (z->length >= s->dm.length)
		return true;
	if (mapped_end(s, &end))
		return false;
	if (end > z->length / s->chunk_sectors) {
		err(z->s->ctx, ERR_NO_SPACE,
		    "%s: is used up to %s, so it cannot be made as small as %s. Shrink what is on it, and discard the rest (fstrim, blkdiscard).",
		    s->name, format_size(a, end * s->chunk_sectors * SECTOR_SIZE),
		    format_size(b, z->length * SECTOR_SIZE));
		return false;
	}
	if (z->s->ctx->dry_run)
		return true;
	return ask(z->s->ctx,
		   "Make %s smaller, from %s to %s? The file system on it must not reach beyond that.", s->name,
		   format_size(a, s->dm.length * SECTOR_SIZE), format_size(b, z->length * SECTOR_SIZE));
}

/* The last step before the set grows. */
static bool fits_metadata(const struct resizing *z)
{
	const struct set *s = z->s;
	uint64_t chunks = (z->length + s->chunk_sectors - 1) / s->chunk_sectors;
	uint64_t need = tier_md_blocks_needed(chunks) * TIER_METADATA_BLOCK_SECTORS;

	return z->length <= s->dm.length || !set_mirror_assembled(s) || s->meta_dev.size / SECTOR_SIZE >= need ||
	       (reshape_has_metadata(s, false) && !mirrored_grow(s, need));
}

/* While the kernel cannot commit, it ignores the growth of tiers. */
static bool took_growth(struct set *s)
{
	bool took = !set_refresh(s);
	unsigned int i;

	for (i = 0; i < s->nr_tiers && took; i++)
		took = s->tier[i].places >= set_tier_places(s, i);
	if (!took)
		err(s->ctx, ERR_IO,
		    "%s: what its tiers have grown by could not be written down. Try again.", s->name);
	return took;
}

/* LVM shows the size of the placeholder. */
static int show_size(const struct set *s, uint64_t length)
{
	if (!s->lv || !lvm_fit_placeholder(s->ctx, s->hex, length * SECTOR_SIZE))
		return EXIT_DONE;
	err(s->ctx, ERR_LVM_REFUSED,
	    "%s: has its size, but LVM does not show it. The same command again mends that.", s->name);
	return EXIT_FAILED;
}

static int resize(const struct args *args, struct set *s)
{
	struct resizing z = { .s = s };
	char a[SIZE_TEXT], b[SIZE_TEXT];
	struct table t;
	int failed;

	if (!measure(&z) || !wanted_length(args, &z))
		return EXIT_FAILED;
	if (z.length > s->dm.length && (z.length + s->chunk_sectors - 1) / s->chunk_sectors > z.capacity) {
		err(args->ctx, ERR_NO_SPACE,
		    "%s: %s does not fit on its tiers: at most %s (%llus). Add %s first.", s->name,
		    format_size(a, z.length * SECTOR_SIZE),
		    format_size(b, z.capacity * s->chunk_sectors * SECTOR_SIZE),
		    (unsigned long long)z.capacity * s->chunk_sectors,
		    args->given[OPT_SIZE] ? "a tier, or make one larger," : "a tier");
		return EXIT_FAILED;
	}
	if (z.length == s->dm.length && !z.grown) {
		say(args->ctx, "%s: is %s, %s.", s->name, format_size(a, z.length * SECTOR_SIZE),
		    args->given[OPT_SIZE] ? "as it should be" : "which is all that its tiers allow");
		return show_size(s, z.length);
	}
	if (!check_smaller(&z) ||
	    (s->lv && !lvm_may_fit_placeholder(args->ctx, s->hex, s->name, z.length * SECTOR_SIZE)))
		return EXIT_FAILED;

	if (!fits_metadata(&z))
		return EXIT_FAILED;
	reshape_table(s, &t);
	failed = reshape_reload(s, &t, z.length, "resize");
	table_free(&t);
	if (failed || (!args->ctx->dry_run && z.grown && !took_growth(s)))
		return EXIT_FAILED;
	if (!args->ctx->dry_run && z.length == s->dm.length)
		say(args->ctx, "%s: larger tiers are in use; the set stays at %s.", s->name,
		    format_size(a, z.length * SECTOR_SIZE));
	else if (!args->ctx->dry_run)
		say(args->ctx, "%s: from %s to %s.", s->name, format_size(a, s->dm.length * SECTOR_SIZE),
		    format_size(b, z.length * SECTOR_SIZE));
	return show_size(s, z.length);
}

int cmd_resize(const struct args *args)
{
	struct set_list list;
	uint64_t bytes = 0;
	struct set *s;
	int r = args->given[OPT_SIZE] ? parse_size(args->value[OPT_SIZE], &bytes) : 0;
	int code = EXIT_FAILED;
	char size[SIZE_TEXT];

	if (r || (args->given[OPT_SIZE] && (!bytes || bytes % 4096))) {
		err(args->ctx, ERR_USAGE, "resize: --size %s %s.", args->value[OPT_SIZE],
		    r ? size_error(r) : "is not a multiple of 4k");
		return EXIT_USAGE;
	}
	s = need_changeable(args->ctx, &list, args->word[0]);
	if (s && args->given[OPT_ABORT]) {
		/* There is only one step, which is done or not. */
		say(args->ctx, "%s: is %s; there is nothing to undo.", s->name,
		    format_size(size, s->dm.length * SECTOR_SIZE));
		code = EXIT_DONE;
	} else if (s) {
		code = resize(args, s);
	}
	sets_free(&list);
	return code;
}

/*
 * rename: the device first, then the metadata and the labels, which take the device's name when
 * its table is loaded again.
 */

static int rename_device(struct tier_context *ctx, const char *from, const char *to)
{
	char *reason;

	if (ctx->dry_run) {
		say(ctx, "Would rename /dev/mapper/%s to /dev/mapper/%s.", from, to);
		return 0;
	}
	if (!dm_rename(from, to, &reason))
		return 0;
	err(ctx, ERR_KERNEL_REFUSED, "%s: cannot be renamed to %s: %s.", from, to, reason);
	free(reason);
	return -1;
}

static int record_name(struct set *s)
{
	struct table t;
	int r;

	reshape_table(s, &t);
	r = reshape_reload(s, &t, s->dm.length, "rename");
	table_free(&t);
	if (r && !s->ctx->dry_run)
		err(s->ctx, ERR_UNFINISHED,
		    "%s: is called so now, but not in its metadata. Once the cause is gone the same command again mends that; --abort goes back.",
		    s->name);
	if (r || s->ctx->dry_run)
		return r ? EXIT_FAILED : EXIT_DONE;
	/* The kernel keeps the old name while it cannot commit. */
	s->have_info = false;
	if (!set_read_info(s) && !strcmp(s->info.name, s->dm.name))
		return EXIT_DONE;
	err(s->ctx, ERR_IO,
	    "%s: is called so now, but not in its metadata, which could not be written. The same command again mends that.",
	    s->name);
	return EXIT_FAILED;
}

/* Finds out which of the two names the device has, and which the metadata has. */
static struct set *find_either(struct tier_context *ctx, struct set_list *list, const char *from, const char *to)
{
	struct set *s;

	sets_load(ctx, list, false);
	s = sets_find(list, to);
	if (s && s->active && !strcmp(s->dm.name, to) && !sets_find(list, from)) {
		sets_free(list);
		return need_changeable(ctx, list, to);
	}
	sets_free(list);
	s = need_known(ctx, list, from) ? sets_find(list, from) : NULL;
	if (!s)
		return NULL;
	if (!s->active && is_name(s->name)) {
		err(ctx, ERR_INACTIVE, "%s: not active. Type: tierctl activate --name %s %s",
		    s->name, to, s->name);
		return NULL;
	}
	sets_free(list);
	return need_changeable(ctx, list, from);
}

static bool name_is_free(const struct set *s, const char *to)
{
	struct set_list all;
	bool good = false;
	const struct set *other;

	sets_load(s->ctx, &all, true);
	other = sets_find(&all, to);
	if (dm_name_exists(to))
		err(s->ctx, ERR_EXISTS, "%s: another device has the name %s. Choose one that is free.",
		    s->name, to);
	else if (other)
		err(s->ctx, ERR_EXISTS, "%s: an inactive set has the name %s. Choose one that is free.",
		    s->name, to);
	else
		good = true;
	sets_free(&all);
	return good;
}

static int set_name(struct tier_context *ctx, const char *from, const char *to)
{
	struct set_list list;
	struct set *s;
	int code = EXIT_FAILED;

	/* The device has the new name, and the metadata still the old one. */
	s = need_changeable(ctx, &list, ctx->dry_run ? from : to);
	if (s)
		code = record_name(s);
	sets_free(&list);
	if (!code && !ctx->dry_run)
		say(ctx, "%s: is called %s now, its device is /dev/mapper/%s.", from, to, to);
	return code;
}

int cmd_rename(const struct args *args)
{
	const char *from = args->word[0], *to = args->word[1];
	struct set_list list;
	struct set *s;
	char *now = NULL;
	int code;

	if (args->given[OPT_ABORT]) {
		const char *swap = from;

		from = to;
		to = swap;
	}
	code = check_name(args->ctx, to, "rename");
	if (code)
		return code;
	s = find_either(args->ctx, &list, from, to);
	code = EXIT_FAILED;
	if (s && strcmp(s->name, s->dm.name)) {
		err(args->ctx, ERR_UNSUITABLE,
		    "%s: keeps the name of its logical volume until tierctl revert.", s->name);
	} else if (s && !strcmp(s->dm.name, to)) {
		/* An earlier call renamed only the device. */
		if (!strcmp(s->info.name, to))
			say(args->ctx, "%s: is its name already.", to);
		now = xstrdup(to);
		code = strcmp(s->info.name, to) ? -1 : EXIT_DONE;
	} else if (s && name_is_free(s, to) && reshape_has_metadata(s, false)) {
		now = xstrdup(s->dm.name);
		code = rename_device(args->ctx, now, to) ? EXIT_FAILED : -1;
		step_reached("rename", "device");
	}
	sets_free(&list);
	if (code < 0)
		code = set_name(args->ctx, now, to);
	free(now);
	return code;
}
