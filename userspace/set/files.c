// SPDX-License-Identifier: GPL-2.0-only
#include "set/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"

void finder_init(struct tier_context *ctx, struct finder *finder, const struct set_list *sets, bool sync)
{
	memset(finder, 0, sizeof(*finder));
	finder->ctx = ctx;
	stack_init(&finder->stack, sets);
	finder->sync = sync;
	if (mounts_read(&finder->mounts))
		verbose(ctx, "cannot read /proc/self/mountinfo");
	progress_start(ctx, &finder->progress);
}

void finder_free(struct finder *finder)
{
	progress_end(&finder->progress);
	stack_free(&finder->stack);
	mounts_free(&finder->mounts);
}

void where_free(struct where *w)
{
	ranges_free(&w->chunks);
	memset(w, 0, sizeof(*w));
}

struct search {
	struct finder *finder;
	struct where *w;
	dev_t dev;
	const char *path;	/* as typed */
	bool alone;		/* path is a file itself: any problem is an error */
	bool said;
	uint64_t looked_at;
};

static int add_sectors(void *context, struct set *s, uint64_t at, uint64_t count)
{
	struct where *w = context;
	uint64_t first = at / s->chunk_sectors;

	if (s != w->set || at >= s->length)
		return 0;
	if (count > s->length - at)
		count = s->length - at;
	ranges_add(&w->chunks, first, (at + count - 1) / s->chunk_sectors - first + 1);
	w->bytes += count * SECTOR_SIZE;
	return 0;
}

/* Adds the bytes from offset on of the block device. */
static void add_bytes(struct search *search, uint64_t offset, uint64_t length)
{
	struct where *w = search->w;
	uint64_t first = offset / SECTOR_SIZE, before = w->bytes;

	stack_map(&search->finder->stack, search->dev, first,
		  (offset + length + SECTOR_SIZE - 1) / SECTOR_SIZE - first, add_sectors, w);
	if (w->bytes - before < length)
		w->elsewhere += length - (w->bytes - before);
}

static void cannot_tell(struct search *search, const char *path, int error)
{
	const struct mount *m = mounts_find(&search->finder->mounts, search->dev);

	search->said = true;
	if (error == EOPNOTSUPP)
		err(search->finder->ctx, ERR_UNSUPPORTED,
		    "%s: its file system (%s) does not tell where files lie (FIEMAP).", path,
		    m ? m->type : "unknown");
	else if (error == EXDEV)
		err(search->finder->ctx, ERR_UNSUPPORTED,
		    "%s: its data is on the realtime device of %s, which is not followed.", path,
		    m ? m->point : "its file system");
	else
		err(search->finder->ctx, error_from(error), "%s: %s.", path, strerror(error));
}

static int add_file(void *context, int fd, const char *path)
{
	struct search *search = context;
	struct where *w = search->w;
	uint64_t before = w->bytes;
	struct extents extents;
	unsigned int i;
	int r;

	progress_show(&search->finder->progress, "%s: %llu files looked at", search->path,
		      (unsigned long long)search->looked_at++);
	r = extents_read(fd, search->finder->sync, &extents);
	if (r == -EOPNOTSUPP || (r && search->alone)) {
		cannot_tell(search, path, -r);
	} else if (r) {
		w->failed++;
		verbose(search->finder->ctx, "%s: %s", path, strerror(-r));
		r = 0;
	} else {
		for (i = 0; i < extents.nr; i++)
			add_bytes(search, extents.extent[i].offset, extents.extent[i].length);
		w->extents += extents.nr;
		w->files += w->bytes > before;
		w->in_inode += extents.in_inode;
		w->unplaced += extents.unplaced;
	}
	extents_free(&extents);
	return r;
}

static void not_opened(void *context, const char *path, int error)
{
	struct search *search = context;

	search->w->failed++;
	verbose(search->finder->ctx, "%s: %s", path, strerror(error));
}

/* The set below the device, or NULL with the error said. */
static struct set *find_set(struct search *search, const struct set *named)
{
	const struct mount *m = mounts_find(&search->finder->mounts, search->dev);
	struct stack *stack = &search->finder->stack;
	struct device d;
	struct set *s;

	/* btrfs, overlayfs, tmpfs, NFS... */
	if (!major(search->dev)) {
		err(search->finder->ctx, ERR_UNSUPPORTED,
		    "%s: its file system (%s) does not tell on which blocks of a device files lie; ext4 and XFS do.",
		    search->path, m ? m->type : "unknown");
		return NULL;
	}
	free(stack->stop);
	stack->stop = NULL;
	s = stack_find_set(stack, search->dev);
	if (s && (!named || s == named))
		return s;
	if (device_from_number(search->dev, &d))
		d.name = xstrdup("a device that is gone");
	if (s)
		err(search->finder->ctx, ERR_UNSUITABLE, "%s: lies on %s, not on %s.", search->path, s->name,
		    named->name);
	else if (stack->stop)
		err(search->finder->ctx, ERR_UNSUITABLE, "%s: lies on %s, below which is %s.", search->path,
		    d.name, stack->stop);
	else
		err(search->finder->ctx, ERR_UNSUITABLE,
		    "%s: lies on %s, which is on no tiered set that is active.", search->path, d.name);
	device_free(&d);
	return NULL;
}

static void say_nothing_found(struct search *search)
{
	const struct where *w = search->w;

	if (w->elsewhere)
		err(search->finder->ctx, ERR_UNSUITABLE, "%s: none of it lies on %s.", search->path,
		    w->set->name);
	else if (w->in_inode && search->alone)
		err(search->finder->ctx, ERR_UNSUITABLE,
		    "%s: is so small that its data lies in its inode (inline data), not in blocks of its own.",
		    search->path);
	else if (w->unplaced)
		err(search->finder->ctx, ERR_BUSY,
		    "%s: its data has no place on the disk yet: sync, and try again.", search->path);
	else if (search->alone)
		err(search->finder->ctx, ERR_UNSUITABLE, "%s: has no blocks, it is empty.", search->path);
	else
		err(search->finder->ctx, ERR_UNSUITABLE, "%s: no file below it has blocks.", search->path);
}

static bool search_open(struct search *search, int fd, const struct stat *st, const struct set *named)
{
	struct walk walk = { .file = add_file, .failed = not_opened, .context = search };
	struct where *w = search->w;
	bool good;

	search->dev = S_ISBLK(st->st_mode) ? st->st_rdev : st->st_dev;
	search->alone = !S_ISDIR(st->st_mode);
	w->set = find_set(search, named);
	if (!w->set)
		return false;
	if (S_ISBLK(st->st_mode)) {
		struct device d;

		if (device_from_number(st->st_rdev, &d))
			d.size = 0;
		add_bytes(search, 0, d.size);
		device_free(&d);
	} else if (search->alone) {
		add_file(search, fd, search->path);
	} else {
		walk_directory(&walk, dup(fd), search->path);
		w->other_fs = walk.other_fs;
	}
	progress_end(&search->finder->progress);
	ranges_settle(&w->chunks);
	good = !search->said && (w->chunks.nr || search->finder->empty_too);
	if (!good && !search->said)
		say_nothing_found(search);
	return good;
}

bool where_is_open(struct finder *finder, int fd, const char *path, const struct set *named,
		   struct where *w)
{
	struct search search = { .finder = finder, .w = w, .path = path };
	struct stat st;

	memset(w, 0, sizeof(*w));
	if (fstat(fd, &st)) {
		err(finder->ctx, error_from(errno), "%s: %s.", path, strerror(errno));
		return false;
	}
	if (search_open(&search, fd, &st, named))
		return true;
	where_free(w);
	return false;
}

bool where_is(struct finder *finder, const char *path, const struct set *named, struct where *w)
{
	struct stat st;
	bool found;
	int fd;

	memset(w, 0, sizeof(*w));
	if (stat(path, &st)) {
		err(finder->ctx, error_from(errno), "%s: %s.", path,
		    errno == ENOENT ? "no such file or directory" : strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISBLK(st.st_mode)) {
		err(finder->ctx, ERR_UNSUITABLE, "%s: is no file, directory or block device.", path);
		return false;
	}
	/* A block device is not opened: its mounts and sets must not notice. */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | (S_ISBLK(st.st_mode) ? O_PATH : 0));
	if (fd < 0) {
		err(finder->ctx, error_from(errno), "%s: %s.", path, strerror(errno));
		return false;
	}
	found = where_is_open(finder, fd, path, named, w);
	close(fd);
	return found;
}

void where_warn(struct tier_context *ctx, const struct where *w, const char *path)
{
	char size[SIZE_TEXT];

	if (w->elsewhere)
		warn(ctx, "%s: %s of it does not lie on %s and was left out.", path,
		     format_size(size, w->elsewhere), w->set->name);
	if (w->other_fs)
		warn(ctx, "%s: %llu director%s below it on other file systems left out.", path,
		     (unsigned long long)w->other_fs, w->other_fs == 1 ? "y" : "ies");
	if (w->failed)
		warn(ctx, "%s: %llu file%s or director%s could not be looked at (-v names them).", path,
		     (unsigned long long)w->failed, w->failed == 1 ? "" : "s", w->failed == 1 ? "y" : "ies");
}
