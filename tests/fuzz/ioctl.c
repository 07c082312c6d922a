// SPDX-License-Identifier: GPL-2.0-only
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BUFFER_BYTES (LINE_MAX_BYTES + 65536)

static union {
	struct dm_ioctl head;
	char bytes[BUFFER_BYTES];
} buffer;

static void prepare(const char *name, unsigned int flags)
{
	memset(&buffer, 0, sizeof(buffer));
	buffer.head.version[0] = DM_VERSION_MAJOR;
	buffer.head.data_size = sizeof(buffer);
	buffer.head.data_start = sizeof(buffer.head);
	buffer.head.flags = flags;
	snprintf(buffer.head.name, sizeof(buffer.head.name), "%s", name);
}

static int call(unsigned long request)
{
	static int control = -1;

	if (control < 0)
		control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (control < 0)
		die("/dev/mapper/control: %s", strerror(errno));
	return ioctl(control, request, &buffer) ? -errno : 0;
}

int dm_load(const char *name, const char *type, uint64_t length, const char *params)
{
	struct dm_target_spec *spec = (void *)(buffer.bytes + sizeof(buffer.head));

	prepare(name, 0);
	buffer.head.target_count = 1;
	spec->length = length;
	spec->next = (sizeof(*spec) + strlen(params) + 1 + 7) & ~7U;
	snprintf(spec->target_type, sizeof(spec->target_type), "%s", type);
	strcpy((char *)(spec + 1), params);
	return call(DM_TABLE_LOAD);
}

int dm_clear(const char *name)
{
	prepare(name, 0);
	return call(DM_TABLE_CLEAR);
}

int dm_resume(const char *name)
{
	prepare(name, 0);
	return call(DM_DEV_SUSPEND);
}

int dm_message(const char *name, uint64_t sector, const char *text)
{
	struct dm_target_msg *msg = (void *)(buffer.bytes + sizeof(buffer.head));

	prepare(name, 0);
	msg->sector = sector;
	strcpy(msg->message, text);
	return call(DM_TARGET_MSG);
}

bool kernel_tainted(void)
{
	static int fd = -1;
	char text[32];
	ssize_t n;

	if (fd < 0)
		fd = open("/proc/sys/kernel/tainted", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		die("/proc/sys/kernel/tainted: %s", strerror(errno));
	text[n] = 0;
	/* Bit 5: bad page, 7: oops, 9: warning, 14: soft lockup. */
	return strtoul(text, NULL, 10) & (1 << 5 | 1 << 7 | 1 << 9 | 1 << 14);
}
