// SPDX-License-Identifier: GPL-2.0-only
#include "twin.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "member.h"
#include "reshape.h"
#include "util.h"

/* As it is on the disk, whatever somebody's buffers say. */
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

int twins(const struct device *a, const struct device *b)
{
	char *old = block_buffer(MEMBER_HEAD), *new = block_buffer(MEMBER_HEAD);
	int r = twins_alike(a, b), fd = -1, back;
	sigset_t before;
	unsigned int i;

	if (r <= 0)
		goto out;
	fd = device_open(a, O_RDWR | O_DIRECT);
	r = fd < 0 ? fd : read_head(a, old);
	if (r < 0)
		goto out;
	for (i = 0; i < MEMBER_HEAD; i++)
		new[i] = ~old[i];
	hold_signals(&before);
	r = write_durably(fd, 0, new, MEMBER_HEAD);
	if (!r) {
		reshape_step("twins", "changed");
		r = twins_alike(a, b);
	}
	back = write_durably(fd, 0, old, MEMBER_HEAD);
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
