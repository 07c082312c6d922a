// SPDX-License-Identifier: GPL-2.0-only
/* The part of block/device.h that tier_id takes, too: it needs no library. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "block/device.h"

#define ZERO_BYTES	(1U << 20)	/* at once */

void device_copy(struct device *to, const struct device *from)
{
	*to = *from;
	to->path = xstrdup(from->path);
	to->name = xstrdup(from->name);
}

void device_free(struct device *d)
{
	free(d->path);
	free(d->name);
	memset(d, 0, sizeof(*d));
}

int device_open(const struct device *d, int flags)
{
	int fd;

	if ((flags & O_ACCMODE) != O_RDONLY) {
		fd = open(d->path, flags | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	fd = open(d->path, flags | O_DIRECT | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == EINVAL)
		fd = open(d->path, flags | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void *block_buffer(size_t len)
{
	void *buf;

	if (posix_memalign(&buf, 4096, len))
		out_of_memory();
	memset(buf, 0, len);
	return buf;
}

int read_blocks(int fd, uint64_t offset, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)buf + done, len - done, offset + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -EIO;
		if (!n)
			return -ENODATA;
		done += n;
	}
	return 0;
}

int write_durably(int fd, uint64_t offset, const void *buf, size_t len)
{
	int r = write_fully(fd, offset, buf, len);

	return !r && fsync(fd) ? -errno : r;
}

int zero_blocks(int fd, uint64_t offset, uint64_t len)
{
	size_t piece = len < ZERO_BYTES ? len : ZERO_BYTES;
	void *buf = block_buffer(piece);
	int r = 0;

	while (!r && len) {
		if (piece > len)
			piece = len;
		r = write_fully(fd, offset, buf, piece);
		offset += piece;
		len -= piece;
	}
	free(buf);
	if (!r && fsync(fd))
		r = -errno;
	return r;
}
