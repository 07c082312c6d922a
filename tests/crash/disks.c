// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disks of null_blk that hold data and have a volatile cache.  Taking the power
 * away drops what was written and not flushed, even while the disk is in use;
 * to who has it open it is dead from then on.
 */
#include "crash.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIGFS "/sys/kernel/config/nullb"

struct disk disks[NR_DISKS] = {
	{ .name = "tc_meta", .mib = 4 },
	{ .name = "tc_fast", .mib = 8 },
	{ .name = "tc_slow", .mib = 12 },
	{ .name = "tc_third", .mib = 12 },
};

const char *disk_path(const struct disk *d)
{
	static char paths[NR_DISKS][32];
	char *path = paths[d - disks];

	snprintf(path, sizeof(paths[0]), "/dev/%s", d->name);
	return path;
}

uint64_t disk_sectors(const struct disk *d)
{
	return d->mib * 2048ULL;
}

static void set_attribute(const struct disk *d, const char *attribute, unsigned int value)
{
	char path[96], text[16];
	int r;

	snprintf(path, sizeof(path), CONFIGFS "/%s/%s", d->name, attribute);
	snprintf(text, sizeof(text), "%u\n", value);
	r = write_text(path, text);
	if (r)
		die("%s: %s", path, strerror(-r));
}

void disk_off(struct disk *d)
{
	if (d->on)
		set_attribute(d, "power", 0);
	d->on = false;
}

void disk_on(struct disk *d)
{
	unsigned int i;

	set_attribute(d, "cache_size", d->cache_mib);
	/*
	 * null_blk spins for ever when two requests write a full cache back at the
	 * same time on the same CPU: no more than one request, then.
	 */
	set_attribute(d, "hw_queue_depth", d->cache_mib < d->mib ? 1 : 64);
	/* Completed by a timer, so that what takes several requests takes its time. */
	set_attribute(d, "irqmode", d->delay_us ? 2 : 0);
	set_attribute(d, "completion_nsec", d->delay_us ? d->delay_us * 1000 : 1);
	set_attribute(d, "power", 1);
	d->on = true;
	for (i = 0; access(disk_path(d), F_OK); i++) {
		if (i == 2000)
			die("%s did not appear", disk_path(d));
		nap_ms(5);
	}
}

void disks_create(void)
{
	char path[96];
	unsigned int i;

	for (i = 0; i < NR_DISKS; i++) {
		struct disk *d = &disks[i];

		snprintf(path, sizeof(path), CONFIGFS "/%s", d->name);
		if (mkdir(path, 0755))
			die("%s: %s; is null_blk loaded with nr_devices=0?", path, strerror(errno));
		set_attribute(d, "size", d->mib);
		set_attribute(d, "memory_backed", 1);
		set_attribute(d, "discard", 1);
	}
}

void disks_destroy(void)
{
	char path[96];
	unsigned int i;

	for (i = 0; i < NR_DISKS; i++) {
		disk_off(&disks[i]);
		snprintf(path, sizeof(path), CONFIGFS "/%s", disks[i].name);
		rmdir(path);
	}
}

void disk_blank(struct disk *d)
{
	uint64_t range[2] = { 0, disk_sectors(d) * SECTOR };
	int fd = open(disk_path(d), O_RDWR | O_CLOEXEC | O_EXCL);

	/* null_blk gives the pages back, cached ones too. */
	if (fd < 0 || ioctl(fd, BLKDISCARD, range))
		die("%s cannot be blanked: %s", disk_path(d), strerror(errno));
	close(fd);
}
