// SPDX-License-Identifier: GPL-2.0-only
/* pin, unpin */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/context.h"
#include "base/ranges.h"
#include "base/util.h"
#include "block/mounts.h"
#include "cmd/commands.h"
#include "cmd/move.h"
#include "cmd/options.h"
#include "cmd/selection.h"
#include "ops/wait.h"
#include "set/files.h"
#include "set/find.h"
#include "set/lock.h"
#include "set/pins.h"
#include "set/set.h"
#include "set/stack.h"

/*
 * Files and directories are recorded; for a block device there is no file system to record it
 * in.
 */
static int open_recorded(const char *path, dev_t *dev)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && !fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
		*dev = st.st_dev;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int pin_ranges(const struct set *s, const struct ranges *chunks, unsigned int rank)
{
	char rest[16];

	snprintf(rest, sizeof(rest), " %u", rank);
	return send_ranges(s, chunks, "pin", rest);
}

/*
 * The record must agree with the kernel's pins, so only one of these commands runs at a time.
 * Where no lock can be made, none is taken.
 */
static int lock_pins(const struct set *s)
{
	int fd = s->ctx->dry_run ? -1 : set_lock(s->hex, "pins", false);

	if (fd < 0 && !s->ctx->dry_run) {
		verbose(s->ctx, "%s: waiting for another tierctl pin or unpin", s->name);
		fd = set_lock(s->hex, "pins", true);
	}
	return fd;
}

static void unlock_pins(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* A new entry for a file; chunks that were pinned for it before, and still are, are included. */
static struct pin *new_entry(struct pins *pins, const char *handle, const char *set_hex)
{
	struct ranges before = { 0 };
	int i = pins_find(pins, handle);
	struct pin *pin;

	if (i >= 0) {
		if (!strcmp(pins->pin[i].set, set_hex))
			ranges_add_all(&before, &pins->pin[i].chunks);
		pins_remove(pins, i);
	}
	pin = pins_add(pins);
	copy_string(pin->set, sizeof(pin->set), set_hex);
	pin->chunks = before;
	return pin;
}

static bool record_pin(const struct mounts *mounts, const struct set *s, unsigned int tier_id,
		       const struct target_path *p)
{
	char *handle, *path;
	struct pins pins;
	struct pin *pin;
	bool good;
	dev_t dev;
	int fd = open_recorded(p->path, &dev);

	if (fd < 0)
		return true;
	good = pins_open(s->ctx, &pins, mounts, dev);
	if (good && !pin_identify(&pins, fd, &handle, &path)) {
		err(s->ctx, ERR_UNSUPPORTED, "%s: its file system has no lasting handle for it.", p->path);
		good = false;
	}
	if (good) {
		pin = new_entry(&pins, handle, s->hex);
		pin->tier_id = tier_id;
		pin->handle = handle;
		pin->path = path;
		ranges_add_all(&pin->chunks, &p->where.chunks);
		ranges_settle(&pin->chunks);
		good = pins_write(&pins);
	}
	if (!good)
		warn(s->ctx, "%s: pinned, but tierctl pin --refresh does not know of it.", p->path);
	pins_close(&pins);
	close(fd);
	return good;
}

/* The kernel accepts pins without room: these chunks stay in their places until there is room. */
static void warn_of_room(const struct set *s, const struct ranges *chunks, unsigned int rank)
{
	uint64_t places = s->status.tier[rank].places;

	if (ranges_total(chunks) > places)
		warn(s->ctx,
		     "%s: tier %u has room for %llu chunks, not for %s: the others stay elsewhere.",
		     s->name, rank, (unsigned long long)places, count_chunks(chunks).text);
}

static int pin_target(const struct args *args)
{
	struct mounts mounts = { 0 };
	unsigned int i, id, rank;
	struct target t;
	int code = target_with_tier(args, "pin", &t, &id), lock = -1;

	if (code)
		goto out;
	for (i = 0; i < t.nr_paths; i++)
		where_warn(args->ctx, &t.path[i].where, t.path[i].path);
	lock = lock_pins(t.set);
	code = EXIT_FAILED;
	if (!rank_now(t.set, id, &rank))
		goto out;
	warn_of_room(t.set, &t.chunks, rank);
	if (!pin_ranges(t.set, &t.chunks, rank))
		code = EXIT_DONE;
	if (code || args->ctx->dry_run)
		goto out;
	mounts_read(&mounts);
	for (i = 0; i < t.nr_paths; i++)
		if (!record_pin(&mounts, t.set, id, &t.path[i]))
			code = EXIT_FAILED;
	unlock_pins(lock);
	lock = -1;
	say(args->ctx, "%s: %s pinned to tier %u.", t.set->name, count_chunks(&t.chunks).text, rank);
	if (code == EXIT_DONE && args->given[OPT_WAIT])
		code = wait_for_chunks(t.set, &t.chunks, rank);
out:
	unlock_pins(lock);
	mounts_free(&mounts);
	target_free(&t);
	return code;
}

/*
 * pin --refresh
 */

struct refresh {
	struct set_list list;
	struct finder finder;
	struct pins pins;
	struct refreshed {
		struct set *set;	/* NULL: left as it is */
		bool gone;
		char *name;	/* in messages */
		struct ranges now;
	} *entry;
	unsigned int found;	/* number of all entries */
	bool failed;
};

static struct set *set_of_pin(struct set_list *list, const struct pin *pin)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		if (!strcmp(list->set[i].hex, pin->set))
			return &list->set[i];
	return NULL;
}

/*
 * Whether all files below a directory were read. If not, chunks pinned for the others, which are
 * unknown, stay pinned.
 */
static bool all_seen(struct tier_context *ctx, const struct refreshed *e, const struct where *w)
{
	if (!w->failed)
		return true;
	err(ctx, ERR_IO,
	    "%s: %llu file%s or director%s could not be looked at (-v names them): what was pinned before stays so.",
	    e->name, (unsigned long long)w->failed, w->failed == 1 ? "" : "s",
	    w->failed == 1 ? "y" : "ies");
	return false;
}

/*
 * Finds a recorded file's present place. False with the error said; an entry without a set is
 * left as it is.
 */
static bool look_again(struct refresh *r, unsigned int i)
{
	struct pin *pin = &r->pins.pin[i];
	struct refreshed *e = &r->entry[i];
	struct set *s = set_of_pin(&r->list, pin);
	struct where w;
	bool whole = false;
	char *path;
	int fd;

	e->name = pins_name(&r->pins, pin->path);
	if (!s) {
		err(r->list.ctx, ERR_INACTIVE,
		    "%s: was pinned on the set %s, which is not active. Activate that, or pin it anew where it is now.",
		    e->name, pin->set);
		return false;
	}
	if (!check_active(s))
		return false;
	if (set_rank_with(s, pin->tier_id) < 0) {
		err(r->list.ctx, ERR_NOT_FOUND,
		    "%s: the tier of %s that it was pinned to is gone. Unpin it, or pin it to another.",
		    e->name, s->name);
		return false;
	}
	fd = pin_open(&r->pins, pin, &path);
	if (fd == -ENOENT) {
		e->set = s;
		e->gone = true;
		return true;
	}
	if (fd < 0) {
		err(r->list.ctx, error_from(-fd), "%s: %s.", e->name, strerror(-fd));
		return false;
	}
	free(e->name);
	e->name = pins_name(&r->pins, path);
	free(path);
	if (where_is_open(&r->finder, fd, e->name, s, &w)) {
		e->set = s;
		ranges_add_all(&e->now, &w.chunks);
		whole = all_seen(r->list.ctx, e, &w);
		if (!whole)
			ranges_add_all(&e->now, &pin->chunks);
		ranges_settle(&e->now);
		ranges_cut(&e->now, s->status.chunks);
		where_free(&w);
	}
	close(fd);
	return whole;
}

/* The chunks that are pinned for files of the set after the refresh. */
static void pinned_afterwards(const struct refresh *r, const struct set *s, struct ranges *chunks)
{
	unsigned int i;

	for (i = 0; i < r->pins.nr; i++) {
		if (r->entry[i].set == s)
			ranges_add_all(chunks, &r->entry[i].now);
		else if (!strcmp(r->pins.pin[i].set, s->hex))
			ranges_add_all(chunks, &r->pins.pin[i].chunks);
	}
	ranges_settle(chunks);
}

/*
 * A chunk that is shared by files pinned to different tiers belongs to the file that was pinned
 * last.
 */
static void leave_to_others(const struct refresh *r, unsigned int i, struct ranges *chunks)
{
	const struct pin *pin = &r->pins.pin[i];
	unsigned int j;

	for (j = i + 1; j < r->pins.nr; j++) {
		const struct pin *other = &r->pins.pin[j];

		if (!strcmp(other->set, pin->set) && other->tier_id != pin->tier_id)
			ranges_subtract(chunks, r->entry[j].set ? &r->entry[j].now : &other->chunks);
	}
}

/*
 * Recorded chunks are pinned once more: the kernel drops pins with a tier, and another file
 * system on the set may have unpinned a chunk that lies in both.
 */
static bool mend(struct refresh *r, unsigned int i)
{
	struct pin *pin = &r->pins.pin[i];
	struct refreshed *e = &r->entry[i];
	struct ranges stale = { 0 }, keep = { 0 }, mine = { 0 };
	unsigned long long before, nr;
	unsigned int rank;
	bool good;

	if (!rank_now(e->set, pin->tier_id, &rank))
		return false;
	ranges_add_all(&stale, &pin->chunks);
	/* The set may be smaller by now. */
	ranges_cut(&stale, e->set->status.chunks);
	pinned_afterwards(r, e->set, &keep);
	ranges_subtract(&stale, &keep);
	ranges_add_all(&mine, &e->now);
	leave_to_others(r, i, &mine);
	good = !send_ranges(e->set, &stale, "unpin", "") && !set_refresh(e->set);
	before = e->set->status.pinned;
	good = good && !pin_ranges(e->set, &mine, rank) && !set_refresh(e->set);
	if (good && !r->list.ctx->dry_run) {
		nr = e->set->status.pinned < before ? 0 : e->set->status.pinned - before;
		say(r->list.ctx, "%s: %s%llu chunk%s pinned, %s unpinned.", e->name, e->gone ? "gone, " : "", nr,
		    nr == 1 ? "" : "s", count_chunks(&stale).text);
		ranges_free(&pin->chunks);
		ranges_add_all(&pin->chunks, &e->now);
	}
	ranges_free(&stale);
	ranges_free(&keep);
	ranges_free(&mine);
	return good;
}

static void update_identity(struct refresh *r, unsigned int i)
{
	char *handle, *path;
	int fd = pin_open(&r->pins, &r->pins.pin[i], &path);

	if (fd < 0)
		return;
	free(path);
	if (pin_identify(&r->pins, fd, &handle, &path)) {
		free(r->pins.pin[i].handle);
		free(r->pins.pin[i].path);
		r->pins.pin[i].handle = handle;
		r->pins.pin[i].path = path;
	}
	close(fd);
}

/* Records the files that were pinned again. */
static bool record_refresh(struct refresh *r)
{
	unsigned int i;

	for (i = r->pins.nr; i--;) {
		if (r->entry[i].gone)
			pins_remove(&r->pins, i);
		else if (r->entry[i].set)
			update_identity(r, i);
	}
	return pins_write(&r->pins);
}

static bool refresh_file_system(struct refresh *r, dev_t dev)
{
	bool good = pins_open(r->list.ctx, &r->pins, &r->finder.mounts, dev);
	unsigned int i, nr = good ? r->pins.nr : 0;

	r->found += nr;
	r->entry = xcalloc(nr, sizeof(*r->entry));
	/* A file that cannot be read does not stop the refresh of the others. */
	for (i = 0; i < nr; i++)
		good &= look_again(r, i);
	for (i = 0; i < nr; i++) {
		if (!r->entry[i].set || mend(r, i))
			continue;
		/* Chunks that could not be unpinned stay recorded. */
		r->entry[i].set = NULL;
		r->entry[i].gone = false;
		good = false;
	}
	if (nr && !r->list.ctx->dry_run)
		good &= record_refresh(r);
	for (i = 0; i < nr; i++) {
		free(r->entry[i].name);
		ranges_free(&r->entry[i].now);
	}
	free(r->entry);
	pins_close(&r->pins);
	return good;
}

/* Whether the user asked for the file system on dev: by its set, or by a file in it. */
static bool wanted(const struct args *args, const struct refresh *r, const struct set *s, dev_t dev)
{
	struct stat st;
	unsigned int i;

	for (i = 0; i < args->nr; i++)
		if (sets_find(&r->list, args->word[i]) == s || (!stat(args->word[i], &st) && st.st_dev == dev))
			return true;
	return !args->nr;
}

/* Each word must be a set, or lie on one. */
static bool check_words(const struct args *args, struct refresh *r)
{
	const struct set *s;
	struct stat st;
	unsigned int i;

	for (i = 0; i < args->nr; i++) {
		const char *word = args->word[i];

		s = sets_find(&r->list, word);
		if (s) {
			context_set(args->ctx, s->hex, s->name);
			continue;
		}
		if (!is_path(&r->list, word))
			return sets_need(&r->list, word) != NULL;
		if (stat(word, &st)) {
			err(args->ctx, ERR_NOT_FOUND, "%s: no such file or directory.", word);
			return false;
		}
		if (!major(st.st_dev) || !stack_find_set(&r->finder.stack, st.st_dev)) {
			err(args->ctx, ERR_UNSUITABLE, "%s: lies on no tiered set that is active.", word);
			return false;
		}
	}
	return true;
}

static int cmd_refresh(const struct args *args)
{
	struct refresh r = { 0 };
	struct mounts *mounts;
	unsigned int i, j;
	struct set *s;
	bool good;
	int lock;

	sets_load(args->ctx, &r.list, false);
	finder_init(args->ctx, &r.finder, &r.list, true);
	r.finder.empty_too = true;
	mounts = &r.finder.mounts;
	good = check_words(args, &r);
	for (i = 0; i < mounts->nr && good; i++) {
		dev_t dev = mounts->mount[i].dev;

		/* Each file system once, however often it is mounted. */
		for (j = 0; j < i && mounts->mount[j].dev != dev; j++)
			;
		s = j == i && major(dev) ? stack_find_set(&r.finder.stack, dev) : NULL;
		if (!s || !wanted(args, &r, s, dev))
			continue;
		/* Nobody asked for it: without a mount of its root it is left out. */
		if (!args->nr && !mounts_have_root(mounts, dev))
			continue;
		context_set(args->ctx, s->hex, s->name);
		lock = lock_pins(s);
		r.failed |= !refresh_file_system(&r, dev);
		unlock_pins(lock);
	}
	if (good && !r.failed && !r.found)
		say(args->ctx, "No file is pinned by name.");
	finder_free(&r.finder);
	sets_free(&r.list);
	return good && !r.failed ? EXIT_DONE : EXIT_FAILED;
}

int cmd_pin(const struct args *args)
{
	return args->given[OPT_REFRESH] ? cmd_refresh(args) : pin_target(args);
}

/*
 * unpin
 */

static bool is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return !strcmp(directory, ".") || !strcmp(path, directory) ||
	       (!strncmp(path, directory, len) && path[len] == '/');
}

/*
 * Removes the entries for path, and those below it, from *pins. Chunks pinned for them go to
 * *chunks, except chunks that others keep pinned. False with the error said if path is pinned as
 * part of a directory above it.
 */
static bool forget_pins(struct pins *pins, const struct set *s, const char *name, const char *path,
			struct ranges *chunks)
{
	struct ranges kept;
	char *now, *above;
	unsigned int i;
	int fd;

	for (i = pins->nr; i--;) {
		if (strcmp(pins->pin[i].set, s->hex))
			continue;
		fd = pin_open(pins, &pins->pin[i], &now);
		if (fd < 0)
			continue;
		close(fd);
		if (is_below(now, path)) {
			ranges_add_all(chunks, &pins->pin[i].chunks);
			pins_remove(pins, i);
		} else if (is_below(path, now)) {
			above = pins_name(pins, now);
			err(pins->ctx, ERR_UNSUITABLE, "%s: is pinned as part of %s. Unpin that.", name, above);
			free(above);
			free(now);
			return false;
		}
		free(now);
	}
	pins_chunks(pins, s->hex, -1, &kept);
	ranges_settle(chunks);
	ranges_subtract(chunks, &kept);
	ranges_free(&kept);
	return true;
}

static bool unpin_path(const struct mounts *mounts, const struct set *s, const struct target_path *p)
{
	struct ranges chunks = { 0 };
	char *handle, *path;
	struct pins pins;
	bool recorded = false, good = true;
	dev_t dev;
	int fd = open_recorded(p->path, &dev);

	ranges_add_all(&chunks, &p->where.chunks);
	if (fd >= 0) {
		if (!mounts_have_root(mounts, dev)) {
			pins.root = -1;
		} else if (!pins_open(s->ctx, &pins, mounts, dev)) {
			good = false;
		} else if (pin_identify(&pins, fd, &handle, &path)) {
			recorded = pins.nr;
			good = forget_pins(&pins, s, p->path, path, &chunks);
			free(handle);
			free(path);
		}
		close(fd);
	}
	ranges_cut(&chunks, s->status.chunks);
	good = good && !send_ranges(s, &chunks, "unpin", "");
	if (good && recorded && !s->ctx->dry_run)
		good = pins_write(&pins);
	if (fd >= 0 && pins.root >= 0)
		pins_close(&pins);
	ranges_free(&chunks);
	return good;
}

int cmd_unpin(const struct args *args)
{
	struct mounts mounts = { 0 };
	uint64_t pinned;
	unsigned int i;
	struct target t;
	int code = target_parse(args, "unpin", TARGET_SYNC | TARGET_EMPTY, &t), lock = -1;

	if (code)
		goto out;
	lock = lock_pins(t.set);
	set_refresh(t.set);
	pinned = t.set->status.pinned;
	if (t.nr_paths) {
		mounts_read(&mounts);
		for (i = 0; i < t.nr_paths; i++)
			if (!unpin_path(&mounts, t.set, &t.path[i]))
				code = EXIT_FAILED;
	}
	if (send_ranges(t.set, &t.numbered, "unpin", ""))
		code = EXIT_FAILED;
	if (!code && !args->ctx->dry_run && !set_refresh(t.set)) {
		pinned -= pinned < t.set->status.pinned ? pinned : t.set->status.pinned;
		say(args->ctx, "%s: %llu chunk%s may move again.", t.set->name, (unsigned long long)pinned,
		    pinned == 1 ? "" : "s");
	}
out:
	unlock_pins(lock);
	mounts_free(&mounts);
	target_free(&t);
	return code;
}
