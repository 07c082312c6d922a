// SPDX-License-Identifier: GPL-2.0-only
#include "block/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/util.h"

/* ID PARENT MAJOR:MINOR ROOT POINT OPTIONS... - TYPE SOURCE OPTIONS */
static void add_line(struct mounts *list, char *line)
{
	char *dash = strstr(line, " - "), *field[5], *type, *source, *save;
	unsigned int i, maj, min;
	struct mount *m;

	if (!dash)
		return;
	*dash = '\0';
	type = strtok_r(dash + 3, " \n", &save);
	source = type ? strtok_r(NULL, " \n", &save) : NULL;
	for (i = 0; i < 5; i++) {
		field[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!field[i])
			return;
	}
	if (!source || sscanf(field[2], "%u:%u", &maj, &min) != 2)
		return;
	decode_octal(field[4]);
	decode_octal(source);
	list->mount = xrealloc(list->mount, list->nr + 1, sizeof(*list->mount));
	m = &list->mount[list->nr++];
	m->dev = makedev(maj, min);
	m->whole = !strcmp(field[3], "/");
	m->point = xstrdup(field[4]);
	m->type = xstrdup(type);
	m->source = xstrdup(source);
}

int mounts_read(struct mounts *list)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t room = 0;

	memset(list, 0, sizeof(*list));
	if (!f)
		return -errno;
	while (getline(&line, &room, f) > 0)
		add_line(list, line);
	free(line);
	fclose(f);
	return 0;
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

static bool is_below(const char *file, const char *point)
{
	size_t len = strlen(point);

	return !strncmp(file, point, len) && (point[len - 1] == '/' || file[len] == '/');
}

dev_t mounts_device_of(const struct mounts *list, const char *file)
{
	const struct mount *found = NULL, *m;

	/* Of two with one point the later one is on top. */
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
