// SPDX-License-Identifier: GPL-2.0-only
#include "block/extents.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

#define PER_CALL	256
/* The most directories open at a time; a deeper directory is an error. */
#define DEPTH_MAX	256

static void add_extent(struct extents *list, uint64_t offset, uint64_t length)
{
	struct extent *last = list->nr ? &list->extent[list->nr - 1] : NULL;

	if (last && last->offset + last->length == offset) {
		last->length += length;
		return;
	}
	if (list->nr == list->room) {
		list->room = list->room ? 2 * list->room : 8;
		list->extent = xrealloc(list->extent, list->room, sizeof(*list->extent));
	}
	list->extent[list->nr++] = (struct extent){ .offset = offset, .length = length };
}

/* XFS can keep the data of some files on another device and reports places on that device. */
static bool on_realtime_device(int fd)
{
	struct fsxattr attr;

	return !ioctl(fd, FS_IOC_FSGETXATTR, &attr) && attr.fsx_xflags & FS_XFLAG_REALTIME;
}

int extents_read(int fd, bool sync, struct extents *list)
{
	struct fiemap *map;
	bool last = false;
	unsigned int i;
	int r = 0;

	memset(list, 0, sizeof(*list));
	if (on_realtime_device(fd))
		return -EXDEV;
	map = xcalloc(1, sizeof(*map) + PER_CALL * sizeof(map->fm_extents[0]));
	while (!last) {
		uint64_t start = map->fm_start;

		map->fm_length = FIEMAP_MAX_OFFSET - start;
		map->fm_flags = sync ? FIEMAP_FLAG_SYNC : 0;
		map->fm_extent_count = PER_CALL;
		map->fm_mapped_extents = 0;
		if (ioctl(fd, FS_IOC_FIEMAP, map)) {
			r = errno == ENOTTY || errno == EBADR ? -EOPNOTSUPP : -errno;
			break;
		}
		last = !map->fm_mapped_extents;
		for (i = 0; i < map->fm_mapped_extents; i++) {
			const struct fiemap_extent *e = &map->fm_extents[i];

			if (e->fe_flags & (FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL))
				list->in_inode = true;
			else if (e->fe_flags & FIEMAP_EXTENT_UNKNOWN)
				list->unplaced = true;
			else
				add_extent(list, e->fe_physical, e->fe_length);
			last |= e->fe_flags & FIEMAP_EXTENT_LAST;
			map->fm_start = e->fe_logical + e->fe_length;
		}
		/* A file system that reports no progress would cause an endless loop. */
		last |= map->fm_start <= start;
	}
	free(map);
	return r;
}

void extents_free(struct extents *list)
{
	free(list->extent);
	memset(list, 0, sizeof(*list));
}

static int walk_level(struct walk *walk, int fd, const char *path, dev_t dev, unsigned int depth);

static int walk_entry(struct walk *walk, int dir, const struct dirent *e, const char *path, dev_t dev,
		      unsigned int depth)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	struct stat st;
	int fd, r = 0;
	char *below;

	if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
	    (e->d_type != DT_UNKNOWN && e->d_type != DT_REG && e->d_type != DT_DIR))
		return 0;
	below = xasprintf("%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", e->d_name);
	/* Opening a device or a pipe may have side effects. */
	if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW)) {
		fd = -1;
	} else if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		goto out;
	} else if (st.st_dev != dev) {
		walk->other_fs++;
		goto out;
	} else {
		fd = openat(dir, e->d_name, flags);
	}
	if (fd < 0) {
		/* The file may be gone since. */
		if (errno != ENOENT)
			walk->failed(walk->context, below, errno);
	} else if (S_ISDIR(st.st_mode)) {
		r = walk_level(walk, fd, below, dev, depth + 1);
	} else {
		r = walk->file(walk->context, fd, below);
		close(fd);
	}
out:
	free(below);
	return r;
}

static int walk_level(struct walk *walk, int fd, const char *path, dev_t dev, unsigned int depth)
{
	DIR *dir = depth < DEPTH_MAX ? fdopendir(fd) : NULL;
	struct dirent *e;
	int r = 0;

	if (!dir) {
		walk->failed(walk->context, path, depth < DEPTH_MAX ? errno : ELOOP);
		close(fd);
		return 0;
	}
	/* A part of the directory may be unreadable. */
	while (!r && ((errno = 0), (e = readdir(dir))))
		r = walk_entry(walk, dirfd(dir), e, path, dev, depth);
	if (!r && errno)
		walk->failed(walk->context, path, errno);
	closedir(dir);
	return r;
}

int walk_directory(struct walk *walk, int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st)) {
		walk->failed(walk->context, path, errno);
		close(fd);
		return 0;
	}
	return walk_level(walk, fd, path, st.st_dev, 0);
}
