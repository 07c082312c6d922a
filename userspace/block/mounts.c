// SPDX-License-Identifier: GPL-2.0-only
#include "block/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/util.h"

int mounts_read(struct mounts *list)
{
	struct libmnt_table *table = mnt_new_table_from_file("/proc/self/mountinfo");
	struct libmnt_iter *i = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;

	memset(list, 0, sizeof(*list));
	while (table && i && !mnt_table_next_fs(table, i, &fs)) {
		const char *root = mnt_fs_get_root(fs), *source = mnt_fs_get_source(fs);

		list->mount = xrealloc(list->mount, list->nr + 1, sizeof(*list->mount));
		list->mount[list->nr++] = (struct mount){
			.dev = mnt_fs_get_devno(fs), .whole = root && !strcmp(root, "/"),
			.point = xstrdup(mnt_fs_get_target(fs)), .type = xstrdup(mnt_fs_get_fstype(fs)),
			.source = xstrdup(source ?: "none"),
		};
	}
	mnt_free_iter(i);
	mnt_unref_table(table);
	return table ? 0 : -1;
}

void mounts_free(struct mounts *list)
{
	while (list->nr) {
		list->nr--;
		free(list->mount[list->nr].point);
		free(list->mount[list->nr].type);
		free(list->mount[list->nr].source);
	}
	free(list->mount);
	list->mount = NULL;
}

dev_t mount_device(const struct mount *m)
{
	struct stat st;

	if (major(m->dev))
		return m->dev;
	return *m->source == '/' && !stat(m->source, &st) && S_ISBLK(st.st_mode) ? st.st_rdev : 0;
}

bool swap_is_on(dev_t dev)
{
	struct libmnt_table *table = mnt_new_table();
	struct libmnt_iter *i = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;
	bool found = false;
	struct stat st;

	if (table && i && !mnt_table_parse_swaps(table, NULL))
		while (!found && !mnt_table_next_fs(table, i, &fs))
			found = !stat(mnt_fs_get_source(fs), &st) && S_ISBLK(st.st_mode) && st.st_rdev == dev;
	mnt_free_iter(i);
	mnt_unref_table(table);
	return found;
}

static bool is_below(const char *file, const char *point)
{
	size_t len = strlen(point);

	return !strncmp(file, point, len) && (point[len - 1] == '/' || file[len] == '/');
}

dev_t mounts_device_of(const struct mounts *list, const char *file)
{
	const struct mount *found = NULL, *m;

	/* Of two mounts on one point the later one is on top. */
	for (m = list->mount; m < list->mount + list->nr; m++)
		if (is_below(file, m->point) && (!found || strlen(m->point) >= strlen(found->point)))
			found = m;
	return found ? mount_device(found) : 0;
}

const struct mount *mounts_find(const struct mounts *list, dev_t dev)
{
	const struct mount *found = NULL;
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		if (list->mount[i].dev == dev && (!found || (list->mount[i].whole && !found->whole)))
			found = &list->mount[i];
	return found;
}

bool mounts_have_root(const struct mounts *list, dev_t dev)
{
	const struct mount *m = mounts_find(list, dev);

	return m && m->whole;
}

int mount_open_root(const struct mounts *list, dev_t dev)
{
	struct stat st;
	unsigned int i;
	int fd;

	for (i = 0; i < list->nr; i++) {
		if (list->mount[i].dev != dev || !list->mount[i].whole)
			continue;
		fd = open(list->mount[i].point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!fstat(fd, &st) && st.st_dev == dev)
			return fd;
		close(fd);
	}
	return -ENOENT;
}
