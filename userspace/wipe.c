// SPDX-License-Identifier: GPL-2.0-only
#include "wipe.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../dm-tier/dm-tier-format.h"
#include "signature.h"
#include "util.h"

static int open_for_wiping(const struct device *d)
{
	int fd = device_open(d, O_RDWR | O_EXCL);

	if (fd < 0)
		err("%s: cannot be opened for writing: %s.", d->name, strerror(-fd));
	return fd;
}

static int wipe_head(const struct device *d, size_t len)
{
	int fd = open_for_wiping(d), r;

	if (fd < 0)
		return fd;
	r = zero_blocks(fd, 0, len);
	if (r)
		err("%s: cannot be written: %s.", d->name, strerror(-r));
	close(fd);
	return r;
}

int wipe_labels(const struct device *d)
{
	return wipe_head(d, TIER_LABEL_SLOTS * TIER_LABEL_SLOT_SIZE);
}

int wipe_superblock(const struct device *d)
{
	return wipe_head(d, TIER_METADATA_BLOCK_SIZE);
}

int wipe_all_of(const struct device *d, int fd)
{
	int r = signatures_wipe(fd);

	if (!r)
		r = zero_blocks(fd, 0, TIER_LABEL_SLOTS * TIER_LABEL_SLOT_SIZE);
	if (r)
		err("%s: cannot be wiped: %s.", d->name, strerror(-r));
	/* Not every device has partitions; those that are in use were refused before. */
	else if (ioctl(fd, BLKRRPART) < 0)
		verbose("%s: partitions were not read again", d->name);
	return r;
}

int wipe_all(const struct device *d)
{
	int fd = open_for_wiping(d), r;

	if (fd < 0)
		return fd;
	r = wipe_all_of(d, fd);
	close(fd);
	return r;
}
