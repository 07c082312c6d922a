// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replays what dm-log-writes has logged of a device onto another, up to a mark.
 *
 *   replay LOG TARGET MARK [FROM]
 *
 * FROM is the sector of the log to begin at (default: the first entry); the
 * sector behind the mark is printed, for the next call.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SECTOR		512
#define MAGIC		0x6a736677736872ULL
#define LOG_DISCARD	4
#define LOG_MARK	8
#define DATA_MAX	(64U << 20)

struct super {
	uint64_t magic, version, nr_entries;
	uint32_t sector_size;
};

struct entry {
	uint64_t sector, nr_sectors, flags, data_len;
};

static int log_fd, target_fd;

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "replay: %s: %s\n", what, errno ? strerror(errno) : "damaged");
	exit(1);
}

static void read_log(void *to, size_t bytes, uint64_t at)
{
	errno = 0;
	if (pread(log_fd, to, bytes, at) != (ssize_t)bytes)
		die("the log cannot be read");
}

static void apply(const struct entry *e, unsigned int sector_size, uint64_t data_at)
{
	uint64_t bytes = e->nr_sectors * sector_size, at = e->sector * sector_size;
	uint64_t range[2] = { at, bytes };
	void *data;

	if (!bytes)
		return;
	if (e->flags & LOG_DISCARD) {
		if (ioctl(target_fd, BLKDISCARD, range))
			die("the target cannot discard");
		return;
	}
	if (bytes > DATA_MAX)
		die("an entry is too large");
	data = malloc(bytes);
	if (!data)
		die("no memory");
	read_log(data, bytes, data_at);
	if (pwrite(target_fd, data, bytes, at) != (ssize_t)bytes)
		die("the target cannot be written");
	free(data);
}

int main(int argc, char **argv)
{
	unsigned char buffer[SECTOR];
	struct super super;
	uint64_t at;

	if (argc < 4 || argc > 5) {
		fprintf(stderr, "usage: replay LOG TARGET MARK [FROM]\n");
		return 2;
	}
	log_fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	target_fd = open(argv[2], O_WRONLY | O_CLOEXEC);
	if (log_fd < 0 || target_fd < 0)
		die("cannot open");
	read_log(&super, sizeof(super), 0);
	super.sector_size = le32toh(super.sector_size);
	errno = 0;
	if (le64toh(super.magic) != MAGIC || super.sector_size != SECTOR)
		die("this is no log of 512-byte sectors");
	at = argc == 5 ? strtoull(argv[4], NULL, 10) : 1;

	for (;;) {
		struct entry e;

		read_log(buffer, sizeof(buffer), at * SECTOR);
		memcpy(&e, buffer, sizeof(e));
		e.sector = le64toh(e.sector);
		e.nr_sectors = le64toh(e.nr_sectors);
		e.flags = le64toh(e.flags);
		e.data_len = le64toh(e.data_len);
		at++;
		if (e.flags & LOG_MARK) {
			size_t n = strlen(argv[3]);

			if (e.data_len >= n && sizeof(e) + n < SECTOR &&
			    !memcmp(buffer + sizeof(e), argv[3], n) &&
			    (e.data_len == n || !buffer[sizeof(e) + n]))
				break;
			continue;
		}
		/* The rest of the log, behind the last entry, is blank. */
		if (!e.nr_sectors && !e.flags)
			die("the mark is not in the log");
		apply(&e, super.sector_size, at * SECTOR);
		if (!(e.flags & LOG_DISCARD))
			at += e.nr_sectors;
	}
	if (fsync(target_fd))
		die("the target cannot be flushed");
	printf("%llu\n", (unsigned long long)at);
	return 0;
}
