// SPDX-License-Identifier: GPL-2.0-only
/*
 * The set under test.  Device-mapper's ioctls are used as they are: several
 * threads talk to it, and a cycle shall not take longer than it must.
 */
#include "crash.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../dm-tier/dm-tier-format-code.h"

#define NAME		"tc_set"
#define PAYLOAD		4096

struct request {
	struct dm_ioctl head;
	union {
		char bytes[PAYLOAD];
		struct dm_target_spec spec;
		struct dm_target_msg message;
	} u;
};

static unsigned int minor_number;

static int control(unsigned long command, struct request *q, unsigned int flags)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("/dev/mapper/control: %s", strerror(errno));
	q->head.version[0] = DM_VERSION_MAJOR;
	q->head.data_size = sizeof(*q);
	q->head.data_start = sizeof(q->head);
	q->head.flags = flags;
	snprintf(q->head.name, sizeof(q->head.name), NAME);
	return ioctl(fd, command, q) ? -errno : 0;
}

/* How many chunks fit, without the reserve; largest: how many of them on one tier. */
static uint64_t places_of(uint32_t chunk_sectors, uint64_t *largest)
{
	uint64_t area = chunk_sectors > TIER_LABEL_AREA_MIN ? chunk_sectors : TIER_LABEL_AREA_MIN;
	uint64_t all = 0, places;
	unsigned int i;

	*largest = 0;
	for (i = 1; i < NR_DISKS; i++) {
		places = (disk_sectors(&disks[i]) - area) / chunk_sectors;
		all += places;
		if (places > *largest)
			*largest = places;
	}
	return all - (all / 128 < 2 ? 2 : all / 128);
}

uint64_t set_capacity(uint32_t chunk_sectors)
{
	uint64_t largest;

	return places_of(chunk_sectors, &largest) * chunk_sectors;
}

uint64_t set_roomy_size(uint32_t chunk_sectors)
{
	uint64_t largest, places = places_of(chunk_sectors, &largest);

	return (places - largest) * 95 / 100 * chunk_sectors;
}

static int remove_device(void)
{
	struct request q = { };
	unsigned int i;
	int r;

	/* Someone may have it open for a moment. */
	for (i = 0; i < 400; i++) {
		memset(&q, 0, sizeof(q));
		r = control(DM_DEV_REMOVE, &q, 0);
		if (r != -EBUSY)
			return r;
		nap_ms(25);
	}
	return r;
}

int set_activate(struct set *s)
{
	char *params;
	struct request q = { };
	int r;

	r = control(DM_DEV_CREATE, &q, 0);
	if (r)
		die("cannot create " NAME ": %s", strerror(-r));
	minor_number = minor(q.head.dev);

	memset(&q, 0, sizeof(q));
	q.head.target_count = 1;
	q.u.spec.length = s->sectors;
	strcpy(q.u.spec.target_type, "tier");
	params = q.u.bytes + sizeof(q.u.spec);
	snprintf(params, PAYLOAD - sizeof(q.u.spec),
		 "%s %u %u %s %s %s 0 4 migration_bandwidth 0 migration_depth 8 %s 0",
		 disk_path(&disks[META]), s->chunk_sectors, NR_TIERS, disk_path(&disks[s->order[0]]),
		 disk_path(&disks[s->order[1]]), disk_path(&disks[s->order[2]]), s->policy);
	r = control(DM_TABLE_LOAD, &q, 0);
	if (!r) {
		memset(&q, 0, sizeof(q));
		r = control(DM_DEV_SUSPEND, &q, 0);
	}
	if (r)
		remove_device();
	s->active = !r;
	return r;
}

int set_deactivate(struct set *s)
{
	int r;

	if (!s->active)
		return 0;
	r = remove_device();
	s->active = false;
	return r;
}

int set_open(void)
{
	char path[32];
	unsigned int i;
	int fd;

	snprintf(path, sizeof(path), "/dev/dm-%u", minor_number);
	for (i = 0; i < 2000; i++) {
		fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
		if (fd >= 0 || errno != ENOENT)
			break;
		nap_ms(5);
	}
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	return fd;
}

int set_message(const char *fmt, ...)
{
	struct request q = { };
	va_list args;

	va_start(args, fmt);
	vsnprintf(q.u.message.message, PAYLOAD - sizeof(q.u.message), fmt, args);
	va_end(args);
	return control(DM_TARGET_MSG, &q, 0);
}

/* ---- status ---- */

static char *next_word(char **at)
{
	char *word = strsep(at, " ");

	if (!word)
		die("the status is too short");
	return word;
}

static void skip_counted(char **at)
{
	unsigned int n = atoi(next_word(at));

	while (n--)
		next_word(at);
}

bool set_check_status(struct set *s)
{
	struct request q = { };
	unsigned int rank, i;
	bool good = true;
	char line[PAYLOAD], *at = line, *mode, *check;
	int r = control(DM_TABLE_STATUS, &q, 0);

	if (r)
		die("no status: %s", strerror(-r));
	snprintf(line, sizeof(line), "%s",
		 (char *)&q + q.head.data_start + sizeof(struct dm_target_spec));
	for (i = 0; i < 7; i++)
		next_word(&at);
	for (rank = 0; rank < NR_TIERS; rank++) {
		unsigned int disk = s->order[rank];
		int evacuating;

		next_word(&at);
		evacuating = !strcmp(next_word(&at), "E");
		for (i = 0; i < 4; i++)
			next_word(&at);
		if (s->evacuating[disk] >= 0 && s->evacuating[disk] != evacuating) {
			note("BAD: %s of %s was answered and is not in force",
			     s->evacuating[disk] ? "evacuate" : "admit", disks[disk].name);
			good = false;
		}
		s->evacuating[disk] = evacuating;
	}
	for (i = 0; i < 6; i++)
		next_word(&at);
	skip_counted(&at);
	skip_counted(&at);
	next_word(&at);
	skip_counted(&at);
	mode = next_word(&at);
	check = next_word(&at);
	if (strcmp(mode, "rw") || strcmp(check, "-")) {
		note("BAD: mode %s, check %s after activation", mode, check);
		good = false;
	}
	return good;
}

/* ---- metadata ---- */

/* Whether a set has been formatted in full; until then a checker has nothing to check. */
static bool formatted(void)
{
	int fd = open(disk_path(&disks[META]), O_RDONLY | O_DIRECT | O_CLOEXEC);
	void *block = alloc_buffer(TIER_METADATA_BLOCK_SIZE);
	struct tier_meta_info info = { };
	const char *reason;
	bool live;

	if (pread(fd, block, TIER_METADATA_BLOCK_SIZE, 0) != TIER_METADATA_BLOCK_SIZE)
		die("%s: %s", disk_path(&disks[META]), strerror(errno));
	/* One that is damaged is for the checker to complain about. */
	live = tier_superblock_unpack(block, &info, &reason) != -ENODATA &&
	       info.state != TIER_STATE_FORMATTING;
	close(fd);
	free(block);
	return live;
}

static bool ask(const char *checker, bool quiet)
{
	const char *argv[] = { checker, "-q", "-i", disk_path(&disks[META]), "--tiers",
			       disk_path(&disks[1]), disk_path(&disks[2]), disk_path(&disks[3]),
			       NULL };
	const char **args = argv;
	extern char **environ;
	int status = 0, r;
	pid_t pid;

	if (!quiet) {
		argv[1] = checker;
		args++;
	}
	fflush(stdout);
	r = posix_spawn(&pid, checker, NULL, NULL, (char **)args, environ);
	if (r)
		die("%s: %s", checker, strerror(r));
	return waitpid(pid, &status, 0) == pid && !status;
}

bool set_check_metadata(const char *checker)
{
	if (!checker || !formatted() || ask(checker, true))
		return true;
	note("BAD metadata, says %s:", checker);
	ask(checker, false);
	return false;
}
