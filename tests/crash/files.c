// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that were fsynced must be there after a crash.
 *
 *   files write DIR LIST [DEVICE]	until killed: write files, and note in LIST each
 *					that is durable; with DEVICE, each is followed by
 *					a FLUSH of that device
 *   files check DIR LIST		all that LIST names are there, with their content
 *
 * A line of LIST is "NUMBER VERSION"; the last one of a number counts.  A
 * file may be of the version after the one noted, which was being written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILES		400
#define SIZE_MAX_BYTES	(96U << 10)

static uint64_t state;
static unsigned char buffer[SIZE_MAX_BYTES], found[SIZE_MAX_BYTES + 1];

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "files: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t next(uint64_t *x)
{
	uint64_t z = *x += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	return z ^ z >> 27;
}

static unsigned int size_of(unsigned int number, unsigned int version)
{
	uint64_t seed = (uint64_t)number << 32 | version;

	return 1 + next(&seed) % (next(&seed) % 4 ? 8192 : SIZE_MAX_BYTES);
}

static void fill(unsigned int number, unsigned int version, unsigned int size)
{
	uint64_t seed = (uint64_t)number << 32 | version;
	unsigned int i;

	for (i = 0; i < size; i++) {
		if (i % 64 == 0)
			next(&seed);
		buffer[i] = (seed >> (i % 8 * 8)) + i;
	}
}

/* The first version is written in place, later versions replace the file by rename. */
static void write_file(int dir, unsigned int number, unsigned int version)
{
	unsigned int size = size_of(number, version);
	char name[32], temporary[32];
	int fd;

	snprintf(name, sizeof(name), "f%u", number);
	snprintf(temporary, sizeof(temporary), "t%u", number);
	fill(number, version, size);
	fd = openat(dir, version ? temporary : name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, buffer, size) != (ssize_t)size || fsync(fd))
		die(name);
	close(fd);
	if (version && renameat(dir, temporary, dir, name))
		die(name);
	if (fsync(dir))
		die("fsync of the directory");
}

static void write_files(int dir, const char *list, const char *device)
{
	static unsigned int versions[FILES];
	int fd = open(list, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	int flushed = device ? open(device, O_RDONLY | O_CLOEXEC) : -1;
	unsigned int number;
	char line[64];

	if (fd < 0)
		die(list);
	if (device && flushed < 0)
		die(device);
	for (;;) {
		number = next(&state) % FILES;
		write_file(dir, number, versions[number]);
		if (device && fsync(flushed))
			die(device);
		snprintf(line, sizeof(line), "%u %u\n", number, versions[number]++);
		if (write(fd, line, strlen(line)) != (ssize_t)strlen(line))
			die(list);
	}
}

static bool is_version(ssize_t size, unsigned int number, unsigned int version)
{
	if (size != (ssize_t)size_of(number, version))
		return false;
	fill(number, version, size);
	return !memcmp(found, buffer, size);
}

static unsigned int check_files(int dir, const char *list)
{
	static unsigned int noted[FILES];	/* version + 1 */
	unsigned int number, version, i, bad = 0, seen = 0;
	FILE *f = fopen(list, "r");

	if (!f)
		die(list);
	while (fscanf(f, "%u %u", &number, &version) == 2)
		if (number < FILES)
			noted[number] = version + 1;
	fclose(f);
	for (i = 0; i < FILES; i++) {
		char name[32];
		ssize_t n;
		int fd;

		if (!noted[i])
			continue;
		seen++;
		snprintf(name, sizeof(name), "f%u", i);
		fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, found, sizeof(found));
		if (n < 0 || (!is_version(n, i, noted[i] - 1) && !is_version(n, i, noted[i]))) {
			fprintf(stderr, "files: %s is not of version %u: %s\n", name, noted[i] - 1,
				n < 0 ? strerror(errno) : "other content");
			bad++;
		}
		if (fd >= 0)
			close(fd);
	}
	printf("%u files, %u bad\n", seen, bad);
	return bad || !seen;
}

int main(int argc, char **argv)
{
	bool check = argc == 4 && !strcmp(argv[1], "check");
	int dir;

	if (!check && (argc < 4 || argc > 5 || strcmp(argv[1], "write"))) {
		fprintf(stderr, "usage: files write DIR LIST [DEVICE] | check DIR LIST\n");
		return 2;
	}
	dir = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		die(argv[2]);
	if (check)
		return check_files(dir, argv[3]);
	state = time(NULL) ^ (uint64_t)getpid() << 32;
	write_files(dir, argv[3], argv[4]);
	return 1;
}
