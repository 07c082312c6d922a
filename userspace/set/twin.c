// SPDX-License-Identifier: GPL-2.0-only
#include "set/twin.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/step.h"
#include "base/util.h"
#include "set/member.h"

/* Read from the disk, not from anybody's buffers. */
static int read_head(const struct device *d, void *head)
{
	int fd = device_open(d, O_RDONLY), r = fd;

	if (fd >= 0) {
		r = read_blocks(fd, 0, head, MEMBER_HEAD);
		close(fd);
	}
	return r;
}

int twins_alike(const struct device *a, const struct device *b)
{
	char *x = block_buffer(MEMBER_HEAD), *y = block_buffer(MEMBER_HEAD);
	int r = read_head(a, x) ? : read_head(b, y);

	if (!r)
		r = !memcmp(x, y, MEMBER_HEAD);
	free(x);
	free(y);
	return r;
}

/*
 * The sector to change for a moment: the first sector of zeroes, else the last sector. If the
 * power fails meanwhile, the change does no harm: the sector is not part of a label, and
 * tier_repair can restore the bytes behind a superblock.
 */
static size_t harmless_sector(const char *head)
{
	size_t at = 0;

	while (at < MEMBER_HEAD - SECTOR_SIZE && !tier_all_zero(head + at, SECTOR_SIZE))
		at += SECTOR_SIZE;
	return at;
}

/* Writes through the twin, the other name of the disk, or NULL, if this one fails. */
static int write_back(struct tier_context *ctx, const struct device *a, int fd,
		      const struct device *twin, const char *old, size_t from, size_t len)
{
	int other, r = write_durably(fd, from, old + from, len);

	if (r && twin) {
		other = device_open(twin, O_RDWR | O_DIRECT);
		r = other < 0 ? other : write_durably(other, from, old + from, len);
		if (other >= 0)
			close(other);
	}
	if (r)
		err(ctx, ERR_IO,
		    "%s: %zu bytes from byte %zu on were changed to look for a second name of it, and cannot be written back: %s.",
		    a->name, len, from, strerror(-r));
	return r;
}

int twins(struct tier_context *ctx, const struct device *a, const struct device *b)
{
	char *old = block_buffer(MEMBER_HEAD), *new = block_buffer(MEMBER_HEAD);
	int r = twins_alike(a, b), fd = -1, back;
	size_t at, from, len = a->logical_block;
	sigset_t before;
	unsigned int i;

	if (r <= 0)
		goto out;
	fd = device_open(a, O_RDWR | O_DIRECT);
	r = fd < 0 ? fd : read_head(a, old);
	if (r < 0)
		goto out;
	at = harmless_sector(old);
	if (len > MEMBER_HEAD)
		len = MEMBER_HEAD;
	from = at - at % len;
	memcpy(new, old, MEMBER_HEAD);
	for (i = 0; i < SECTOR_SIZE; i++)
		new[at + i] = ~old[at + i];
	hold_signals(&before);
	r = write_durably(fd, from, new + from, len);
	if (!r) {
		step_reached("twins", "changed");
		r = twins_alike(a, b);
	}
	back = write_back(ctx, a, fd, r == 1 ? b : NULL, old, from, len);
	release_signals(&before);
	if (back)
		r = back;
out:
	if (fd >= 0)
		close(fd);
	free(old);
	free(new);
	return r;
}

int twins_refuse(struct tier_context *ctx, const struct device *a, const struct device *b)
{
	int r = twins(ctx, a, b);

	if (r > 0)
		err(ctx, ERR_UNSUITABLE, "%s: is the same disk as %s. Name it once.", a->name, b->name);
	else if (r)
		err(ctx, error_from(-r), "%s, %s: cannot be compared: %s.", a->name, b->name, strerror(-r));
	return r;
}
