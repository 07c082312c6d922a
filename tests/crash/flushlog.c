// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disks that lose what was not flushed, and a log of all that was.
 *
 *	flushlog record LOG LIST MIB...		until SIGTERM; prints the paths of the
 *						disks, which have MIB each
 *	flushlog replay LOG FROM TARGET...	one more FLUSH or FUA write
 *
 * An entry of LOG is a sector that came to stable storage, or the end of a FLUSH or FUA
 * write, with the size that LIST had by then.  All disks share one log, so that up to
 * any of its ends it is what a power cut at that moment leaves.
 *
 * replay goes on from FROM (0: the beginning) to the first end at which LIST was not
 * empty and prints where that is and the size of LIST; nothing if there is none.
 */
#include "crash.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define END		UINT32_MAX

struct entry {
	uint32_t disk;		/* END: where is the size of LIST */
	uint32_t unused;
	uint64_t where;		/* sector */
};

static FILE *log_file;
static const char *list;

/* ---- record ---- */

static void write_log(const void *data, size_t bytes)
{
	if (fwrite(data, bytes, 1, log_file) != 1)
		die("the log cannot be written: %s", strerror(errno));
}

static void record_sector(const struct disk *d, uint64_t sector, const void *data)
{
	struct entry e = { .disk = d - disks, .where = sector };
	struct stat st;

	if (!data) {
		e.disk = END;
		e.where = stat(list, &st) ? 0 : st.st_size;
	}
	write_log(&e, sizeof(e));
	if (data)
		write_log(data, SECTOR);
}

static void record(char **mib)
{
	unsigned int nr = 0, i;
	sigset_t signals;
	int signal;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	for (; *mib && nr < NR_DISKS; mib++)
		disks[nr++].mib = atoi(*mib);
	disk_record = record_sector;
	disks_create(0);
	for (i = 0; i < nr; i++) {
		/* A slow disk lets the other disks go ahead. */
		disks[i].delay_us = i == nr - 1 ? 2000 : 200;
		disk_on(&disks[i]);
		puts(disk_path(&disks[i]));
	}
	fflush(stdout);
	sigwait(&signals, &signal);
	disks_destroy();
	if (fclose(log_file))
		die("the log cannot be written: %s", strerror(errno));
}

/* ---- replay ---- */

static bool read_log(void *data, size_t bytes)
{
	return fread(data, bytes, 1, log_file) == 1;
}

static void replay(const char *from, char **targets)
{
	unsigned char data[SECTOR];
	unsigned int nr, i;
	int fd[NR_DISKS];
	struct entry e;

	for (nr = 0; nr < NR_DISKS && targets[nr]; nr++) {
		fd[nr] = open(targets[nr], O_WRONLY | O_CLOEXEC);
		if (fd[nr] < 0)
			die("%s: %s", targets[nr], strerror(errno));
	}
	if (fseeko(log_file, strtoull(from, NULL, 10), SEEK_SET))
		die("%s is nowhere in the log", from);
	while (read_log(&e, sizeof(e))) {
		if (e.disk == END) {
			if (!e.where)
				continue;
			printf("%lld %llu\n", (long long)ftello(log_file), (unsigned long long)e.where);
			break;
		}
		if (e.disk >= nr || !read_log(data, sizeof(data)))
			die("the log is damaged");
		if (pwrite(fd[e.disk], data, SECTOR, e.where * SECTOR) != SECTOR)
			die("%s: %s", targets[e.disk], strerror(errno));
	}
	for (i = 0; i < nr; i++)
		if (fsync(fd[i]))
			die("%s: %s", targets[i], strerror(errno));
}

int main(int argc, char **argv)
{
	bool records = argc > 4 && !strcmp(argv[1], "record");

	if (!records && (argc < 5 || strcmp(argv[1], "replay"))) {
		fprintf(stderr, "usage: flushlog record LOG LIST MIB... | replay LOG FROM TARGET...\n");
		return 2;
	}
	log_file = fopen(argv[2], records ? "we" : "re");
	if (!log_file)
		die("%s: %s", argv[2], strerror(errno));
	list = argv[3];
	if (records)
		record(argv + 4);
	else
		replay(argv[3], argv + 4);
	return 0;
}
