// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does the calls of dmsetup that the tests need hundreds of times, without the libraries, whose
 * loading takes most of the time on an emulated processor.
 *
 *   quickdm status NAME
 *   quickdm table [--inactive] NAME
 *   quickdm message [--] NAME SECTOR WORD...
 *   quickdm load NAME --table TABLE
 *   quickdm suspend|resume NAME [--noflush] [--nolockfs] [--noudevsync]
 *   quickdm info -c --noheadings -o events NAME
 *
 * and, if DM_DISABLE_UDEV says that nobody else makes nodes,
 *
 *   quickdm create NAME --table TABLE
 *   quickdm remove [--retry] NAME...
 *
 * For everything else it executes dmsetup. A table is written as for dmsetup: a line for each
 * target. Exit status 1 with a line on stderr, as dmsetup.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/dm-ioctl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define BUFFER_BYTES	(1U << 24)
#define USUAL_BYTES	(1U << 16)	/* the kernel copies all it is given */
#define MAX_NAMES	64
#define RETRIES		50	/* of 0.1 s */

static union {
	struct dm_ioctl head;
	char bytes[BUFFER_BYTES];
} buffer;

static const char *table, *columns;
static bool noflush, nolockfs, retry, inactive;
static bool nodes;		/* this program makes and removes nodes */
static char *names[MAX_NAMES];
static int nr_names;
static unsigned int size = USUAL_BYTES;

static void begin(const char *name, unsigned int flags)
{
	memset(&buffer, 0, sizeof(buffer.head));
	buffer.head.version[0] = DM_VERSION_MAJOR;
	buffer.head.data_size = size;
	buffer.head.data_start = sizeof(buffer.head);
	buffer.head.flags = flags;
	snprintf(buffer.head.name, sizeof(buffer.head.name), "%s", name);
}

static int call(unsigned long request)
{
	static int control = -1;

	if (control < 0)
		control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	return control < 0 ? -1 : ioctl(control, request, &buffer);
}

static int failed(const char *what)
{
	fprintf(stderr, "quickdm: %s %s: %s\n", what, buffer.head.name, strerror(errno));
	return 1;
}

/* Grows the buffer for an answer that did not fit; false if it cannot grow. */
static bool more_room(void)
{
	if (!(buffer.head.flags & DM_BUFFER_FULL_FLAG) || size == BUFFER_BYTES)
		return false;
	size *= 4;
	return true;
}

/* Text after the head; the text of a target begins with its specification. */
static int status(const char *name, unsigned int flags)
{
	struct dm_target_spec *spec;
	char *at;
	uint32_t i;

	do {
		begin(name, flags | (noflush ? DM_NOFLUSH_FLAG : 0) |
		      (inactive ? DM_QUERY_INACTIVE_TABLE_FLAG : 0));
		if (call(DM_TABLE_STATUS))
			return failed("status");
	} while (more_room());
	if (buffer.head.flags & DM_BUFFER_FULL_FLAG) {
		errno = ENOSPC;
		return failed("status");
	}
	at = buffer.bytes + buffer.head.data_start;
	for (i = 0; i < buffer.head.target_count; i++) {
		spec = (void *)at;
		printf("%" PRIu64 " %" PRIu64 " %s %s\n", (uint64_t)spec->sector_start,
		       (uint64_t)spec->length, spec->target_type, at + sizeof(*spec));
		at = buffer.bytes + buffer.head.data_start + spec->next;
	}
	return 0;
}

static int message(void)
{
	struct dm_target_msg *msg = (void *)(buffer.bytes + sizeof(buffer.head));
	size_t room, used;
	const char *answer;
	int i;

	do {
		begin(names[0], 0);
		room = size - sizeof(buffer.head) - sizeof(*msg);
		msg->sector = strtoull(names[1], NULL, 10);
		for (used = 0, i = 2; i < nr_names && used < room; i++)
			used += snprintf(msg->message + used, room - used, "%s%s", i > 2 ? " " : "",
					 names[i]);
		if (call(DM_TARGET_MSG))
			return failed("message");
	} while (more_room());
	if (buffer.head.flags & DM_BUFFER_FULL_FLAG) {
		errno = ENOSPC;
		return failed("message");
	}
	if (buffer.head.flags & DM_DATA_OUT_FLAG) {
		answer = buffer.bytes + buffer.head.data_start;
		used = strlen(answer);
		printf("%s%s", answer, used && answer[used - 1] == '\n' ? "" : "\n");
	}
	return 0;
}

static int load(const char *name)
{
	char *at = buffer.bytes + sizeof(buffer.head), *lines, *line, *rest;
	struct dm_target_spec *spec;
	uint64_t start, length;
	int used;

	begin(name, 0);
	lines = strdup(table);
	rest = lines;
	while ((line = strsep(&rest, "\n"))) {
		spec = (void *)at;
		memset(spec, 0, sizeof(*spec));
		if (sscanf(line, "%" SCNu64 " %" SCNu64 " %15s%n", &start, &length,
			   spec->target_type, &used) < 3)
			continue;
		spec->sector_start = start;
		spec->length = length;
		line += used + strspn(line + used, " ");
		spec->next = (sizeof(*spec) + strlen(line) + 1 + 7) & ~7U;
		strcpy((char *)(spec + 1), line);
		at += spec->next;
		buffer.head.target_count++;
	}
	free(lines);
	if (at > buffer.bytes + size)
		buffer.head.data_size = at - buffer.bytes;
	return call(DM_TABLE_LOAD) ? failed("load") : 0;
}

static char *node_of(const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), "/dev/mapper/%s", name);
	return path;
}

/* Makes the node of the device of the last call; an older node of that name is removed. */
static int make_node(const char *name)
{
	uint64_t dev = buffer.head.dev;
	dev_t number = makedev(dev >> 8 & 0xfff, (dev >> 12 & 0xfff00) | (dev & 0xff));
	const char *node = node_of(name);
	struct stat st;

	if (!stat(node, &st) && S_ISBLK(st.st_mode) && st.st_rdev == number)
		return 0;
	unlink(node);
	return mknod(node, S_IFBLK | 0600, number) ? failed("node of") : 0;
}

static int set_suspended(const char *name, bool suspend)
{
	begin(name, (suspend ? DM_SUSPEND_FLAG : 0) | (noflush ? DM_NOFLUSH_FLAG : 0) |
		    (nolockfs ? DM_SKIP_LOCKFS_FLAG : 0));
	if (call(DM_DEV_SUSPEND))
		return failed(suspend ? "suspend" : "resume");
	return suspend || !nodes ? 0 : make_node(name);
}

static int events(const char *name)
{
	begin(name, 0);
	if (call(DM_DEV_STATUS))
		return failed("info");
	printf("%u\n", buffer.head.event_nr);
	return 0;
}

static int wait_for_event(const char *name, const char *event)
{
	begin(name, 0);
	buffer.head.event_nr = atoi(event);
	return call(DM_DEV_WAIT) ? failed("wait") : 0;
}

/* As with dmsetup, a device whose table is refused does not stay. */
static int create(const char *name)
{
	begin(name, 0);
	if (call(DM_DEV_CREATE))
		return failed("create");
	if (!load(name) && !set_suspended(name, false))
		return 0;
	begin(name, 0);
	call(DM_DEV_REMOVE);
	return 1;
}

static int remove_one(const char *name)
{
	int i;

	for (i = 0; ; i++) {
		begin(name, 0);
		if (!call(DM_DEV_REMOVE))
			break;
		if (errno != EBUSY || !retry || i == RETRIES)
			return failed("remove");
		usleep(100000);
	}
	unlink(node_of(name));
	return 0;
}

static bool take_option(int argc, char **argv, int *i)
{
	const char *word = argv[*i];

	if (!strcmp(word, "--noflush"))
		noflush = true;
	else if (!strcmp(word, "--nolockfs"))
		nolockfs = true;
	else if (!strcmp(word, "--retry"))
		retry = true;
	else if (!strcmp(word, "--inactive"))
		inactive = true;
	else if (!strcmp(word, "--table") && *i + 1 < argc)
		table = argv[++*i];
	else if (!strcmp(word, "-o") && *i + 1 < argc)
		columns = argv[++*i];
	else
		return !strcmp(word, "--noudevsync") || !strcmp(word, "-c") ||
		       !strcmp(word, "--noheadings");
	return true;
}

/* False if dmsetup has to run the command. */
static bool run(const char *command, int *result)
{
	int i;

	nodes = getenv("DM_DISABLE_UDEV");
	if (!strcmp(command, "message") && nr_names > 2)
		*result = message();
	else if (!strcmp(command, "remove") && nodes && nr_names)
		for (*result = 0, i = 0; i < nr_names; i++)
			*result |= remove_one(names[i]);
	else if (!strcmp(command, "wait") && nr_names == 2)
		*result = wait_for_event(names[0], names[1]);
	else if (nr_names != 1)
		return false;
	else if (!strcmp(command, "status"))
		*result = status(names[0], 0);
	else if (!strcmp(command, "table"))
		*result = status(names[0], DM_STATUS_TABLE_FLAG);
	else if (!strcmp(command, "load") && table && !inactive)
		*result = load(names[0]);
	else if (!strcmp(command, "suspend") || !strcmp(command, "resume"))
		*result = set_suspended(names[0], *command == 's');
	else if (!strcmp(command, "info") && columns && !strcmp(columns, "events"))
		*result = events(names[0]);
	else if (!strcmp(command, "create") && nodes && table)
		*result = create(names[0]);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	bool known = argc > 1, words = false;
	int i, result;

	for (i = 2; i < argc && known; i++) {
		if (!words && !strcmp(argv[i], "--"))
			words = true;
		else if (!words && argv[i][0] == '-' && nr_names < 2)
			known = take_option(argc, argv, &i);
		else if (nr_names < MAX_NAMES)
			names[nr_names++] = argv[i];
		else
			known = false;
	}
	if (known && run(argv[1], &result))
		return result;
	argv[0] = "dmsetup";
	execvp(argv[0], argv);
	perror("dmsetup");
	return 1;
}
