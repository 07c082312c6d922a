// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loaded into tierctl by the tests (LD_PRELOAD): device-mapper refuses one of the calls that
 * change something. REFUSE names a folder. Its file "count" holds how many calls there were so
 * far, LVM's included (lib-refuse.sh); "at" holds the number of the call to refuse; "refused" is
 * written and names that call. The messages that only ask are appended to "asked".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/dm-ioctl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static FILE *open_in(const char *folder, const char *name, const char *mode)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return fopen(path, mode);
}

static unsigned int number_in(const char *folder, const char *name)
{
	FILE *f = open_in(folder, name, "r");
	unsigned int n = 0;

	if (f) {
		if (fscanf(f, "%u", &n) != 1)
			n = 0;
		fclose(f);
	}
	return n;
}

static void write_to(const char *folder, const char *name, const char *mode, const char *text)
{
	FILE *f = open_in(folder, name, mode);

	if (f) {
		fprintf(f, "%s\n", text);
		fclose(f);
	}
}

static void write_in(const char *folder, const char *name, const char *text)
{
	write_to(folder, name, "w", text);
}

/* The text of a message to the target; a message that only asks changes nothing. */
static const char *message_of(const struct dm_ioctl *d)
{
	const struct dm_target_msg *m = (const void *)((const char *)d + d->data_start);
	const char *folder = getenv("REFUSE");

	if (strncmp(m->message, "heat", 4) && strncmp(m->message, "chunk", 5) &&
	    strcmp(m->message, "holds") && strcmp(m->message, "day"))
		return m->message;
	if (folder)
		write_to(folder, "asked", "a", m->message);
	return NULL;
}

static const char *change_of(unsigned long request, const struct dm_ioctl *d)
{
	switch (request) {
	case DM_DEV_CREATE:
		return "create";
	case DM_DEV_REMOVE:
		return "remove";
	case DM_DEV_RENAME:
		return "rename";
	case DM_DEV_SUSPEND:
		return d->flags & DM_SUSPEND_FLAG ? "suspend" : "resume";
	case DM_TABLE_LOAD:
		return "load";
	case DM_TABLE_CLEAR:
		return "clear";
	case DM_TARGET_MSG:
		return message_of(d);
	default:
		return NULL;
	}
}

static bool is_refused(const char *change, const struct dm_ioctl *d)
{
	const char *folder = getenv("REFUSE");
	unsigned int n;
	char text[256];

	if (!folder)
		return false;
	n = number_in(folder, "count") + 1;
	snprintf(text, sizeof(text), "%u", n);
	write_in(folder, "count", text);
	if (n != number_in(folder, "at"))
		return false;
	snprintf(text, sizeof(text), "device-mapper: %s %s", change, *d->name ? d->name : d->uuid);
	write_in(folder, "refused", text);
	return true;
}

int ioctl(int fd, unsigned long request, ...)
{
	const char *change;
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	change = _IOC_TYPE(request) == DM_IOCTL ? change_of(request, arg) : NULL;
	if (change && is_refused(change, arg)) {
		errno = EPERM;
		return -1;
	}
	return syscall(SYS_ioctl, fd, request, arg);
}
