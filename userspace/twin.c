// SPDX-License-Identifier: GPL-2.0-only
#include "twin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../dm-tier/dm-tier-format.h"
#include "util.h"

/* A label or a superblock, and a block of any device. */
#define HEAD_BYTES	(TIER_LABEL_SLOTS * TIER_LABEL_SLOT_SIZE)

/* As it is on the disk, whatever somebody's buffers say. */
static int read_head(const struct device *d, void *head)
{
	int fd = device_open(d, O_RDONLY), r = fd;

	if (fd >= 0) {
		r = read_blocks(fd, 0, head, HEAD_BYTES);
		close(fd);
	}
	return r;
}

static int write_head(int fd, const void *head)
{
	int r = write_fully(fd, 0, head, HEAD_BYTES);

	return !r && fsync(fd) ? -errno : r;
}

int twins_alike(const struct device *a, const struct device *b)
{
	char *x = block_buffer(HEAD_BYTES), *y = block_buffer(HEAD_BYTES);
	int r = read_head(a, x) ? : read_head(b, y);

	if (!r)
		r = !memcmp(x, y, HEAD_BYTES);
	free(x);
	free(y);
	return r;
}

int twins(const struct device *a, const struct device *b)
{
	char *old = block_buffer(HEAD_BYTES), *new = block_buffer(HEAD_BYTES);
	int r = twins_alike(a, b), fd = -1, back;
	unsigned int i;

	if (r <= 0)
		goto out;
	fd = device_open(a, O_RDWR | O_DIRECT);
	r = fd < 0 ? fd : read_head(a, old);
	if (r < 0)
		goto out;
	for (i = 0; i < HEAD_BYTES; i++)
		new[i] = ~old[i];
	r = write_head(fd, new);
	if (!r)
		r = twins_alike(a, b);
	back = write_head(fd, old);
	if (back)
		r = back;
out:
	if (fd >= 0)
		close(fd);
	free(old);
	free(new);
	return r;
}
