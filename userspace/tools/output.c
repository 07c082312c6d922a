// SPDX-License-Identifier: GPL-2.0-only
#include "tools/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"
#include "block/device.h"
#include "format/build.h"
#include "format/geometry.h"
#include "set/member.h"

#define LL(n)	((unsigned long long)(n))

static bool same_thing(const struct stat *a, const struct stat *b)
{
	if (S_ISBLK(a->st_mode) && S_ISBLK(b->st_mode))
		return a->st_rdev == b->st_rdev;
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool overlap(const char *path, const char *other)
{
	struct device a, b;
	bool do_overlap;

	if (device_from_name(path, &a))
		return false;
	if (device_from_name(other, &b)) {
		device_free(&a);
		return false;
	}
	do_overlap = device_overlaps(&a, &b);
	device_free(&a);
	device_free(&b);
	return do_overlap;
}

bool output_is(const char *path, const char *other)
{
	struct stat a, b;

	return !stat(path, &a) && !stat(other, &b) && (same_thing(&a, &b) || overlap(path, other));
}

bool output_may_create(struct tier_context *ctx, const char *path)
{
	if (strncmp(path, "/dev/", 5) || !strncmp(path, "/dev/shm/", 9))
		return true;
	err(ctx, ERR_NOT_FOUND, "%s: no such device.", path);
	return false;
}

bool output_is_free(struct tier_context *ctx, const char *path, const struct stat *st)
{
	char *held = S_ISREG(st->st_mode) ? file_held(st) : NULL;

	if (!held)
		return true;
	err(ctx, ERR_IN_USE, "%s: %s.", path, held);
	free(held);
	return false;
}

bool output_may_replace(struct tier_context *ctx, const char *path, const struct stat *st)
{
	struct member m = { 0 };
	int fd;

	if (!output_is_free(ctx, path, st))
		return false;
	if (!S_ISREG(st->st_mode))
		return true;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return true;
	member_judge(fd, &m);
	close(fd);
	if (m.kind != MEMBER_TIER && m.kind != MEMBER_METADATA && m.kind != MEMBER_DAMAGED)
		return true;
	err(ctx, ERR_UNSUITABLE,
	    "%s: is, or was, metadata or a tier of a set. Name another file, or remove it first.", path);
	return false;
}

bool output_may_overwrite(struct tier_context *ctx, int fd, const char *path)
{
	struct member m = { 0 };
	struct stat st;

	/* The contents of the device were named, and --force allowed to overwrite them. */
	if (ctx->force && (fstat(fd, &st) || S_ISBLK(st.st_mode)))
		return true;
	member_judge(fd, &m);
	if (m.kind == MEMBER_TIER) {
		make_printable(m.label.name);
		err(ctx, ERR_UNSUITABLE,
		    "%s: is a tier of the set \"%s\", with its data. Name another device or file.", path,
		    m.label.name);
	} else if (m.kind == MEMBER_DAMAGED && m.is_label) {
		err(ctx, ERR_UNSUITABLE, "%s: %s. Name another device or file.", path, m.reason);
	} else if (m.kind == MEMBER_UNREADABLE && lseek(fd, 0, SEEK_END) >= MEMBER_HEAD) {
		/* A file too short for a label is no tier. */
		err(ctx, ERR_UNSUITABLE,
		    "%s: %s, so it may be a tier, with its data. Name another device or file.", path,
		    m.reason);
	} else {
		return true;
	}
	return false;
}

static int open_output(struct tier_context *ctx, const char *path, const char *input, bool *created)
{
	struct stat out;
	int fd;

	*created = false;
	if (stat(path, &out)) {
		if (errno != ENOENT) {
			err(ctx, error_from(errno), "%s: %s.", path, strerror(errno));
			return -1;
		}
		if (!output_may_create(ctx, path))
			return -1;
		*created = true;
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			err(ctx, error_from(errno), "%s: %s.", path, strerror(errno));
		return fd;
	}
	if (!S_ISREG(out.st_mode) && !S_ISBLK(out.st_mode)) {
		err(ctx, ERR_UNSUITABLE, "%s: neither a block device nor a file.", path);
		return -1;
	}
	if (output_is(path, input)) {
		err(ctx, ERR_UNSUITABLE, "%s: is the input. Name another device or file.", path);
		return -1;
	}
	if (!output_is_free(ctx, path, &out))
		return -1;
	fd = open(path, O_RDWR | O_CLOEXEC | (S_ISBLK(out.st_mode) ? O_EXCL : 0));
	if (fd < 0)
		err(ctx, error_from(errno), "%s: %s.", path, errno == EBUSY ? "is in use" : strerror(errno));
	if (fd >= 0 && !output_may_overwrite(ctx, fd, path)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Size in bytes; 0 with the error said. */
static u64 make_room(struct tier_context *ctx, int fd, const char *path, u64 nr_chunks)
{
	u64 needed = md_build_needs(nr_chunks) * MD_BLOCK, good = geometry_metadata_good(nr_chunks);
	off_t size = lseek(fd, 0, SEEK_END);

	if (size < 0) {
		err(ctx, error_from(errno), "%s: %s.", path, strerror(errno));
		return 0;
	}
	if (!size) {
		size = (good > needed ? good : needed) / MD_BLOCK * MD_BLOCK;
		if (ftruncate(fd, size)) {
			err(ctx, error_from(errno), "%s: %s.", path, strerror(errno));
			return 0;
		}
	}
	if ((u64)size < needed) {
		err(ctx, ERR_NO_SPACE, "%s: has %llu bytes, %llu chunks need at least %llu.", path,
		    LL(size), LL(nr_chunks), LL(needed));
		return 0;
	}
	return size;
}

bool output_metadata(struct tier_context *ctx, const char *path, const char *input, const struct md_content *c)
{
	bool created, good = false;
	int fd = open_output(ctx, path, input, &created), r;
	u64 size;

	if (fd < 0)
		return false;
	size = make_room(ctx, fd, path, c->info.nr_chunks);
	if (size) {
		ctx->changed = true;
		r = md_build(fd, size / MD_BLOCK, c);
		if (r)
			err(ctx, error_from(-r), "%s: %s.", path, strerror(-r));
		good = !r;
	}
	if (close(fd) && good) {
		err(ctx, error_from(errno), "%s: %s.", path, strerror(errno));
		good = false;
	}
	if (!good && created)
		unlink(path);
	return good;
}
