// SPDX-License-Identifier: GPL-2.0-only
#include "block/device.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "block/mounts.h"
#include "dm/dm.h"

static char *sysfs_path(dev_t dev, const char *attribute)
{
	return xasprintf("/sys/dev/block/%u:%u/%s", major(dev), minor(dev), attribute);
}

char *read_line(const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	if (!f)
		return NULL;
	len = getline(&line, &room, f);
	fclose(f);
	if (len < 0) {
		free(line);
		return NULL;
	}
	if (len && line[len - 1] == '\n')
		line[len - 1] = '\0';
	return line;
}

char *device_attribute(dev_t dev, const char *attribute)
{
	char *path = sysfs_path(dev, attribute);
	char *line = read_line(path);

	free(path);
	return line;
}

uint64_t device_attribute_number(dev_t dev, const char *attribute)
{
	char *text = device_attribute(dev, attribute);
	uint64_t n = 0;

	if (text && parse_number(text, &n))
		n = 0;
	free(text);
	return n;
}

/* Parses a number "major:minor" as sysfs writes it. */
static bool parse_devno(const char *s, dev_t *dev)
{
	unsigned int maj, min;
	char end;

	if (!s || sscanf(s, "%u:%u%c", &maj, &min, &end) != 2)
		return false;
	*dev = makedev(maj, min);
	return true;
}

/* The kernel's name: the last part of the directory in sysfs. */
static char *kernel_name(dev_t dev)
{
	char *path = xasprintf("/sys/dev/block/%u:%u", major(dev), minor(dev));
	char directory[PATH_MAX], *slash, *name, *c;
	ssize_t len = readlink(path, directory, sizeof(directory) - 1);

	free(path);
	if (len < 0)
		return NULL;
	directory[len] = '\0';
	slash = strrchr(directory, '/');
	name = xstrdup(slash ? slash + 1 : directory);
	/* sysfs writes the slash of cciss/c0d0 as an exclamation mark. */
	for (c = name; *c; c++)
		if (*c == '!')
			*c = '/';
	return name;
}

/*
 * LVM joins vg and lv by a hyphen and doubles the hyphens in them.  Returns
 * NULL for a name that is not one of vg and lv, "vg-lv-real" for example.
 */
char *lv_name_from_dm(const char *dm_name)
{
	char *name = xcalloc(strlen(dm_name) + 1, 1), *to = name;
	unsigned int parts = 1;
	const char *c;

	for (c = dm_name; *c; c++) {
		if (*c != '-') {
			*to++ = *c;
		} else if (c[1] == '-') {
			*to++ = '-';
			c++;
		} else {
			*to++ = '/';
			parts++;
		}
	}
	if (parts == 2)
		return name;
	free(name);
	return NULL;
}

char *dm_name_from_lv(const char *lv)
{
	char *name = xcalloc(2 * strlen(lv) + 1, 1), *to = name;

	for (; *lv; lv++) {
		if (*lv == '-')
			*to++ = '-';
		*to++ = *lv == '/' ? '-' : *lv;
	}
	return name;
}

static char *user_name(dev_t dev, const char *kname)
{
	char *dm_name = device_attribute(dev, "dm/name");
	char *uuid = device_attribute(dev, "dm/uuid");
	char *name = NULL;

	/* This includes a set with the name of a logical volume. */
	if (dm_name && uuid && (!strncmp(uuid, "LVM-", 4) ||
				(!strncmp(uuid, "TIER-", 5) && strlen(uuid) > 3 &&
				 !strcmp(uuid + strlen(uuid) - 3, "-lv"))))
		name = lv_name_from_dm(dm_name);
	if (!name)
		name = dm_name ? xasprintf("/dev/mapper/%s", dm_name) : xasprintf("/dev/%s", kname);
	free(dm_name);
	free(uuid);
	return name;
}

int device_from_number(dev_t dev, struct device *d)
{
	char *kname = kernel_name(dev);
	dev_t whole;
	char *text;

	memset(d, 0, sizeof(*d));
	if (!kname)
		return -ENOENT;
	d->dev = dev;
	d->path = xasprintf("/dev/%s", kname);
	d->name = user_name(dev, kname);
	free(kname);
	d->size = device_attribute_number(dev, "size") * SECTOR_SIZE;
	d->read_only = device_attribute_number(dev, "ro");

	/* A partition has no queue of its own. */
	text = device_attribute(dev, "../dev");
	if (device_attribute_number(dev, "partition") && parse_devno(text, &whole))
		d->logical_block = device_attribute_number(whole, "queue/logical_block_size");
	else
		d->logical_block = device_attribute_number(dev, "queue/logical_block_size");
	free(text);
	return 0;
}

static bool is_path(const char *name)
{
	return *name == '/' || !strncmp(name, "./", 2) || !strncmp(name, "../", 3);
}

int device_from_name(const char *name, struct device *d)
{
	struct stat st;
	dev_t dev;
	int r = -ENOENT;

	memset(d, 0, sizeof(*d));
	if (parse_devno(name, &dev))
		return device_from_number(dev, d);
	if (is_path(name) && !stat(name, &st))
		return S_ISBLK(st.st_mode) ? device_from_number(st.st_rdev, d) : -ENOTBLK;

	/*
	 * VG/LV: udev's link, or the node that is there without udev. Never a file of that name
	 * in the working directory, which anybody may have put there.
	 */
	if (!is_path(name) && strchr(name, '/')) {
		char *link = xasprintf("/dev/%s", name);
		char *dm_name = dm_name_from_lv(name);
		char *node = xasprintf("/dev/mapper/%s", dm_name);

		if ((!stat(link, &st) && S_ISBLK(st.st_mode)) ||
		    (!stat(node, &st) && S_ISBLK(st.st_mode)))
			r = device_from_number(st.st_rdev, d);
		free(link);
		free(dm_name);
		free(node);
	}
	return r;
}

void device_not_found(struct tier_context *ctx, const char *name, int error)
{
	char *path = xasprintf("/dev/%s", name);
	struct stat st;

	if (error == -ENOTBLK)
		err(ctx, ERR_UNSUITABLE, "%s: is no block device.", name);
	else if (!strchr(name, '/') && !stat(path, &st) && S_ISBLK(st.st_mode))
		err(ctx, ERR_NOT_FOUND, "%s: no such device. Did you mean %s?", name, path);
	else if (!is_path(name) && strchr(name, '/') && !stat(name, &st) && S_ISBLK(st.st_mode))
		err(ctx, ERR_NOT_FOUND, "%s: no such device. Did you mean ./%s?", name, name);
	else
		err(ctx, ERR_NOT_FOUND, "%s: no such device.", name);
	free(path);
}

/* The disk that a partition belongs to, or the device itself. */
static dev_t whole_disk(dev_t dev)
{
	char *partition = device_attribute(dev, "partition");
	char *text = partition ? device_attribute(dev, "../dev") : NULL;
	dev_t whole;

	if (!parse_devno(text, &whole))
		whole = dev;
	free(partition);
	free(text);
	return whole;
}

bool device_overlaps(const struct device *a, const struct device *b)
{
	return a->dev != b->dev && (whole_disk(a->dev) == b->dev || whole_disk(b->dev) == a->dev);
}

int devices_for_each(int (*fn)(void *context, dev_t dev), void *context)
{
	DIR *dir = opendir("/sys/dev/block");
	struct dirent *e;
	int r = 0;
	dev_t dev;

	if (!dir)
		return -errno;
	while (!r && (e = readdir(dir)))
		if (parse_devno(e->d_name, &dev) && device_attribute_number(dev, "size"))
			r = fn(context, dev);
	closedir(dir);
	return r;
}

/* Calls fn for each entry of a directory of sysfs that is a block device. */
static int for_each_below(const char *path, int (*fn)(void *context, dev_t dev), void *context)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int r = 0;

	if (!dir)
		return 0;
	while (!r && (e = readdir(dir))) {
		char *file = xasprintf("%s/%s/dev", path, e->d_name);
		char *text = *e->d_name == '.' ? NULL : read_line(file);
		dev_t dev;

		if (parse_devno(text, &dev))
			r = fn(context, dev);
		free(text);
		free(file);
	}
	closedir(dir);
	return r;
}

int device_for_each_holder(dev_t dev, int (*fn)(void *context, dev_t holder), void *context)
{
	char *path = sysfs_path(dev, "holders");
	int r = for_each_below(path, fn, context);

	free(path);
	return r;
}

/* The device or file that a loop device shows; false if dev is no loop device. */
static bool loop_info(dev_t dev, struct loop_info64 *info)
{
	char *file = device_attribute(dev, "loop/backing_file");
	struct device d = { 0 };
	bool known = false;
	int fd;

	if (file && !device_from_number(dev, &d)) {
		/* A stat of the file itself may wait for a device below. */
		fd = open(d.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0) {
			known = !ioctl(fd, LOOP_GET_STATUS64, info);
			close(fd);
		}
		device_free(&d);
	}
	free(file);
	return known;
}

/* The device that a loop device shows, or on which its file lies; 0 if dev is no loop device. */
static dev_t behind_loop(dev_t dev)
{
	struct loop_info64 info;
	struct mounts mounts;
	dev_t behind;
	char *file;

	if (!loop_info(dev, &info))
		return 0;
	behind = info.lo_rdevice ? info.lo_rdevice : info.lo_device;
	if (major(behind))
		return behind;
	/* A stat of the file itself may wait for a device below. */
	file = device_attribute(dev, "loop/backing_file");
	mounts_read(&mounts);
	behind = file ? mounts_device_of(&mounts, file) : 0;
	mounts_free(&mounts);
	free(file);
	return behind;
}

int device_for_each_under(dev_t dev, int (*fn)(void *context, dev_t under), void *context)
{
	dev_t whole = whole_disk(dev), behind;
	char *path;
	int r;

	if (whole != dev)
		return fn(context, whole);
	behind = behind_loop(dev);
	if (behind)
		return fn(context, behind);
	path = sysfs_path(dev, "slaves");
	r = for_each_below(path, fn, context);
	free(path);
	return r;
}

static int waits(void *context, dev_t dev)
{
	(void)context;
	return device_waits(dev);
}

bool device_waits(dev_t dev)
{
	return device_attribute_number(dev, "dm/suspended") || device_for_each_under(dev, waits, NULL);
}

static int stands_on(void *context, dev_t dev)
{
	return device_stands_on(dev, *(dev_t *)context);
}

bool device_stands_on(dev_t dev, dev_t on)
{
	return dev == on || device_for_each_under(dev, stands_on, &on);
}

static int share_disk(void *context, dev_t dev)
{
	return devices_share_disk(dev, *(dev_t *)context);
}

bool devices_share_disk(dev_t a, dev_t b)
{
	return device_stands_on(b, a) || device_for_each_under(a, share_disk, &b);
}

static char *find_mount(dev_t dev)
{
	struct mounts mounts;
	char *found = NULL;
	unsigned int i;

	mounts_read(&mounts);
	for (i = 0; i < mounts.nr && !found; i++)
		if (mount_device(&mounts.mount[i]) == dev)
			found = xstrdup(mounts.mount[i].point);
	mounts_free(&mounts);
	return found;
}

static int mount_of_partition(void *context, dev_t dev)
{
	*(char **)context = find_mount(dev);
	return *(char **)context != NULL;
}

char *device_mount_point(dev_t dev)
{
	char *point = find_mount(dev);

	if (!point) {
		char *path = sysfs_path(dev, "");

		for_each_below(path, mount_of_partition, &point);
		free(path);
	}
	return point;
}

static int describe_holder(void *context, dev_t holder)
{
	struct device d;

	if (device_from_number(holder, &d))
		return 0;
	*(char **)context = xasprintf("in use by %s", d.name);
	device_free(&d);
	return 1;
}

/* A loop device does not hold its device or file exclusively, and no process has it open. */
struct shown {
	dev_t dev;		/* the device, or the device that the file lies on */
	uint64_t ino;		/* of the file, 0: a device */
	char *text;
};

static int shown_by(void *context, dev_t loop)
{
	struct shown *s = context;
	struct loop_info64 info;
	bool same;

	if (!loop_info(loop, &info) || !s->ino != !!info.lo_rdevice)
		return 0;
	if (s->ino)
		same = info.lo_device == s->dev && info.lo_inode == s->ino;
	else
		same = info.lo_rdevice == s->dev || whole_disk(info.lo_rdevice) == s->dev ||
		       info.lo_rdevice == whole_disk(s->dev);
	return same && describe_holder(&s->text, loop);
}

char *file_held(const struct stat *st)
{
	struct shown s = { .dev = st->st_dev, .ino = st->st_ino };

	devices_for_each(shown_by, &s);
	return s.text;
}

static int holder_of_partition(void *context, dev_t dev)
{
	return device_for_each_holder(dev, describe_holder, context);
}

/* The mode of the link in /proc shows whether a file is open for writing. */
static bool is_open(int fds, const char *fd, bool writing)
{
	struct stat st;

	return *fd != '.' && !fstatat(fds, fd, &st, AT_SYMLINK_NOFOLLOW) &&
	       (!writing || (st.st_mode & S_IWUSR));
}

static bool process_has_open(const char *pid, dev_t dev, bool writing)
{
	char *path = xasprintf("/proc/%s/fd", pid);
	DIR *dir = opendir(path);
	bool found = false;
	struct dirent *e;
	struct stat st;

	while (dir && !found && (e = readdir(dir)))
		found = is_open(dirfd(dir), e->d_name, writing) && !fstatat(dirfd(dir), e->d_name, &st, 0) &&
			S_ISBLK(st.st_mode) && (st.st_rdev == dev || whole_disk(st.st_rdev) == dev);
	if (dir)
		closedir(dir);
	free(path);
	return found;
}

char *device_opener(dev_t dev, bool writing)
{
	DIR *dir = opendir("/proc");
	char *path, *name, *text = NULL;
	struct dirent *e;

	while (dir && !text && (e = readdir(dir))) {
		if (!isdigit((unsigned char)*e->d_name) || !process_has_open(e->d_name, dev, writing))
			continue;
		path = xasprintf("/proc/%s/comm", e->d_name);
		name = read_line(path);
		text = xasprintf("%s (pid %s)", name ? name : "a process", e->d_name);
		free(name);
		free(path);
	}
	if (dir)
		closedir(dir);
	return text;
}

bool device_uuid_begins(dev_t dev, const char *prefix)
{
	char *uuid = device_attribute(dev, "dm/uuid");
	bool begins = uuid && !strncmp(uuid, prefix, strlen(prefix));

	free(uuid);
	return begins;
}

static int is_another(void *context, dev_t holder)
{
	bool own = device_uuid_begins(holder, SLICE_UUID_PREFIX) || device_uuid_begins(holder, MIRROR_UUID_PREFIX);

	*(bool *)context |= own;
	return !own;
}

/* A tier that nothing holds but the metadata on it, which the set has for itself. */
static bool held_by_own_metadata(dev_t dev)
{
	bool held = false;

	return !device_for_each_holder(dev, is_another, &held) && held;
}

char *device_held(const struct device *d)
{
	struct shown shown = { .dev = d->dev };
	char *text = NULL, *path, *point;
	int fd;

	point = device_mount_point(d->dev);
	if (point) {
		text = xasprintf("mounted on %s", point);
		free(point);
		return text;
	}
	if (swap_is_on(d->dev))
		return xstrdup("in use as swap");
	if (held_by_own_metadata(d->dev))
		return NULL;
	if (holder_of_partition(&text, d->dev))
		return text;
	path = sysfs_path(d->dev, "");
	for_each_below(path, holder_of_partition, &text);
	free(path);
	if (text)
		return text;
	if (devices_for_each(shown_by, &shown) > 0)
		return shown.text;

	fd = open(d->path, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return NULL;
	}
	if (errno != EBUSY)
		return xasprintf("cannot be opened: %s", strerror(errno));
	point = device_opener(d->dev, false);
	text = point ? xasprintf("open by %s", point) : xstrdup("in use");
	free(point);
	return text;
}

bool device_is_volume(dev_t dev)
{
	return device_uuid_begins(dev, "LVM-");
}
