// SPDX-License-Identifier: GPL-2.0-only
/*
 * The set under test. Uses device-mapper's ioctls directly: several threads call them, and a
 * cycle must be short.
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

#include "../../dm-tier/format-code.h"

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

/* ---- sizes ---- */

static uint64_t places(const struct set *s, unsigned int disk)
{
	uint32_t chunk = s->chunk_sectors;
	uint64_t area = chunk > TIER_LABEL_AREA_MIN ? chunk : TIER_LABEL_AREA_MIN;

	return (disk_sectors(&disks[disk]) - area) / chunk;
}

static uint64_t all_places(const struct set *s)
{
	uint64_t all = 0;
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		all += places(s, s->order[i]);
	return all;
}

void set_init(struct set *s, uint32_t chunk_sectors)
{
	unsigned int i;

	memset(s, 0, sizeof(*s));
	s->chunk_sectors = chunk_sectors;
	s->nr_tiers = NEW_TIERS;
	for (i = 0; i < NEW_TIERS; i++)
		s->order[i] = i + 1;
	s->reserve = all_places(s) / 128;
	if (s->reserve < 2)
		s->reserve = 2;
}

uint32_t set_nr_chunks(const struct set *s)
{
	return (s->sectors + s->chunk_sectors - 1) / s->chunk_sectors;
}

uint64_t set_capacity(const struct set *s)
{
	return (all_places(s) - s->reserve) * s->chunk_sectors;
}

uint64_t set_roomy_size(const struct set *s)
{
	uint64_t largest = 0;
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (places(s, s->order[i]) > largest)
			largest = places(s, s->order[i]);
	return (all_places(s) - s->reserve - largest) * 95 / 100 * s->chunk_sectors;
}

bool set_can_empty(const struct set *s, unsigned int rank)
{
	return all_places(s) - places(s, s->order[rank]) >= set_nr_chunks(s) + s->reserve;
}

unsigned int set_spare(const struct set *s)
{
	unsigned int disk, i;

	for (disk = 1; disk < NR_DISKS; disk++) {
		for (i = 0; i < s->nr_tiers && s->order[i] != disk; i++)
			;
		if (i == s->nr_tiers)
			return disk;
	}
	return 0;
}

/* ---- tables ---- */

static bool given_up;

bool set_given_up(void)
{
	return __atomic_load_n(&given_up, __ATOMIC_ACQUIRE);
}

static int remove_device(void)
{
	struct request q = { };
	unsigned int i;
	int r;

	/* Someone may have the device open for a moment. */
	for (i = 0; i < 400; i++) {
		memset(&q, 0, sizeof(q));
		r = control(DM_DEV_REMOVE, &q, 0);
		if (r != -EBUSY)
			return r;
		nap_ms(25);
	}
	return r;
}

static int load_table(const struct set *s)
{
	char *params;
	struct request q = { };
	size_t size = PAYLOAD - sizeof(q.u.spec);
	unsigned int i;
	int n;

	q.head.target_count = 1;
	q.u.spec.length = s->sectors;
	strcpy(q.u.spec.target_type, "tier");
	params = q.u.bytes + sizeof(q.u.spec);
	n = snprintf(params, size, "%s %u %u", disk_path(&disks[META]), s->chunk_sectors,
		     s->nr_tiers);
	for (i = 0; i < s->nr_tiers; i++)
		n += snprintf(params + n, size - n, " %s", disk_path(&disks[s->order[i]]));
	snprintf(params + n, size - n, " 0 6 migration_bandwidth 0 migration_depth 8 heat_interval 1 %s 0",
		 s->policy);
	return control(DM_TABLE_LOAD, &q, 0);
}

static int suspend_or_resume(unsigned int flags)
{
	struct request q = { };

	return control(DM_DEV_SUSPEND, &q, flags);
}

int set_activate(struct set *s)
{
	struct request q = { };
	int r;

	r = control(DM_DEV_CREATE, &q, 0);
	if (r)
		die("cannot create " NAME ": %s", strerror(-r));
	minor_number = minor(q.head.dev);
	r = load_table(s);
	if (!r)
		r = suspend_or_resume(0);
	if (r)
		remove_device();
	__atomic_store_n(&given_up, false, __ATOMIC_RELEASE);
	s->active = !r;
	return r;
}

static void give_up(const struct set *s)
{
	struct request q = { };
	int r;

	__atomic_store_n(&given_up, true, __ATOMIC_RELEASE);
	q.head.target_count = 1;
	q.u.spec.length = s->sectors;
	strcpy(q.u.spec.target_type, "error");
	r = control(DM_TABLE_LOAD, &q, 0);
	if (!r)
		r = suspend_or_resume(0);
	if (r)
		die("what waits for the device cannot be given an error: %s", strerror(-r));
}

int set_reload(struct set *s, bool load, bool noflush)
{
	int r = load ? load_table(s) : 0;

	if (!r)
		r = suspend_or_resume(DM_SUSPEND_FLAG | DM_SKIP_LOCKFS_FLAG |
				      (noflush ? DM_NOFLUSH_FLAG : 0));
	if (r)
		return r;
	r = suspend_or_resume(0);
	if (r)
		give_up(s);
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

int set_ask(char *answer, size_t size, const char *fmt, ...)
{
	struct request q = { };
	va_list args;
	int r;

	va_start(args, fmt);
	vsnprintf(q.u.message.message, PAYLOAD - sizeof(q.u.message), fmt, args);
	va_end(args);
	r = control(DM_TARGET_MSG, &q, 0);
	if (!r && !(q.head.flags & DM_DATA_OUT_FLAG))
		r = -ENODATA;
	if (!r)
		snprintf(answer, size, "%s", (char *)&q + q.head.data_start);
	return r;
}

/* ---- status ---- */

static char *next_word(char **at)
{
	char *word = strsep(at, " ");

	if (!word)
		die("the status is too short");
	return word;
}

static unsigned long long next_number(char **at)
{
	return strtoull(next_word(at), NULL, 10);
}

static void skip(char **at, unsigned int n)
{
	while (n--)
		next_word(at);
}

static void take_tunables(char **at, struct set_status *st)
{
	unsigned int n = next_number(at), rank;
	char rest[16];

	for (; n; n -= 2) {
		char *key = next_word(at);
		unsigned long long value = next_number(at);

		if (!strcmp(key, "latency_guard"))
			st->guard = value;
		if (sscanf(key, "tier%u.%15s", &rank, rest) == 2 && rank < MAX_TIERS &&
		    !strcmp(rest, "endurance"))
			st->endurance[rank] = value;
	}
}

void set_get_status(const struct set *s, struct set_status *st)
{
	struct request q = { };
	unsigned int rank;
	char line[PAYLOAD], *at = line, *mode;
	int r = control(DM_TABLE_STATUS, &q, 0);

	if (r)
		die("no status: %s", strerror(-r));
	snprintf(line, sizeof(line), "%s",
		 (char *)&q + q.head.data_start + sizeof(struct dm_target_spec));
	memset(st, 0, sizeof(*st));
	skip(&at, 2);
	st->snapshot = strcmp(next_word(&at), "-");
	skip(&at, 2);
	st->pinned = next_number(&at);
	if (next_number(&at) != s->nr_tiers)
		die("the status is of another number of tiers");
	for (rank = 0; rank < s->nr_tiers; rank++) {
		next_word(&at);
		st->evacuating[rank] = !strcmp(next_word(&at), "E");
		st->used[rank] = next_number(&at);	/* up to the slash */
		skip(&at, 3);
	}
	skip(&at, 6);
	skip(&at, next_number(&at));
	take_tunables(&at, st);
	next_word(&at);
	skip(&at, next_number(&at));
	mode = next_word(&at);
	st->good = !strcmp(mode, "rw") && !strcmp(next_word(&at), "-");
	if (!st->good)
		note("BAD: mode %s after activation, or it needs a check", mode);
	else
		st->paused = !strcmp(next_word(&at), "paused");
}

/* ---- metadata ---- */

uint64_t set_generation(void)
{
	int fd = open(disk_path(&disks[META]), O_RDONLY | O_DIRECT | O_CLOEXEC);
	void *block = alloc_buffer(TIER_METADATA_BLOCK_SIZE);
	struct tier_meta_info info = { };
	const char *reason;
	int r;

	if (pread(fd, block, TIER_METADATA_BLOCK_SIZE, 0) != TIER_METADATA_BLOCK_SIZE)
		die("%s: %s", disk_path(&disks[META]), strerror(errno));
	/* A damaged superblock is left to the checker. */
	r = tier_superblock_unpack(block, &info, &reason);
	close(fd);
	free(block);
	if (r == -ENODATA || (!r && info.state == TIER_STATE_FORMATTING))
		return 0;
	return r ? 1 : info.generation;
}

static bool ask(const struct set *s, const char *checker, bool quiet)
{
	const char *argv[MAX_TIERS + 6] = { checker };
	extern char **environ;
	int status = 0, r;
	unsigned int n = 1, i;
	pid_t pid;

	if (quiet)
		argv[n++] = "-q";
	argv[n++] = "-i";
	argv[n++] = disk_path(&disks[META]);
	argv[n++] = "--tiers";
	for (i = 0; i < s->nr_tiers; i++)
		argv[n++] = disk_path(&disks[s->order[i]]);
	fflush(stdout);
	r = posix_spawn(&pid, checker, NULL, NULL, (char **)argv, environ);
	if (r)
		die("%s: %s", checker, strerror(r));
	return waitpid(pid, &status, 0) == pid && !status;
}

bool set_check_metadata(const struct set *s, const char *checker)
{
	/* Until a set has been formatted in full, there is nothing to check. */
	if (!set_generation() || ask(s, checker, true))
		return true;
	note("BAD metadata, says %s:", checker);
	ask(s, checker, false);
	return false;
}
