// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damaged metadata: an image of a set's metadata with random changes, most of the time with
 * correct checksums, is activated, read, written and removed. The kernel may refuse the image,
 * or give errors, but must not show the data of one chunk as another's: two chunks on one place.
 *
 * In the set of the images tierio wrote each chunk with seed 1, and no chunk moved. So the first
 * sector of each place names its chunk.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK		4096
#define CHUNK		65536
#define MAX_CHUNKS	1024
#define WRITTEN_AT	4096	/* of each chunk, in the second round */
#define WRITTEN_SEED	7

/* ---- images and the devices they go to ---- */

struct image {
	const char *path;
	int fd;
	size_t len;
	uint8_t *good, *bad;
};

static uint8_t *aligned(size_t len)
{
	void *p;

	if (posix_memalign(&p, BLOCK, len))
		die("out of memory");
	return p;
}

static void read_image(struct image *im, const char *file)
{
	struct stat st;
	int fd = open(file, O_RDONLY);

	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", file, strerror(errno));
	im->path = file;
	im->len = st.st_size / BLOCK * BLOCK;
	im->good = aligned(im->len);
	im->bad = aligned(im->len);
	if (read(fd, im->good, im->len) != (ssize_t)im->len)
		die("%s: %s", file, strerror(errno));
	close(fd);
}

static void open_device(struct image *im, const char *device)
{
	im->path = device;
	im->fd = open(device, O_RDWR | O_DIRECT);
	if (im->fd < 0)
		die("%s: %s", device, strerror(errno));
}

static void write_image(struct image *im, const uint8_t *data)
{
	if (pwrite(im->fd, data, im->len, 0) != (ssize_t)im->len)
		die("%s: %s", im->path, strerror(errno));
}

/* ---- what the set shows ---- */

static uint8_t *page;
static bool written[MAX_CHUNKS];
static unsigned int nr_chunks;

static void check_unique(int fd, uint64_t seed)
{
	static int shown_by[MAX_CHUNKS];
	uint64_t origin;
	unsigned int c;

	memset(shown_by, -1, sizeof(shown_by));
	for (c = 0; c < nr_chunks; c++) {
		if (pread(fd, page, BLOCK, (off_t)c * CHUNK) != BLOCK || get64(page) != 1)
			continue;
		origin = get64(page + 8) / (CHUNK / 512);
		if (origin >= MAX_CHUNKS)
			continue;
		if (shown_by[origin] >= 0)
			die("seed %" PRIu64 ": chunks %d and %u show the same place", seed,
			    shown_by[origin], c);
		shown_by[origin] = c;
	}
}

static void check_kept(int fd, uint64_t seed)
{
	unsigned int c;

	for (c = 0; c < nr_chunks; c++) {
		if (!written[c] ||
		    pread(fd, page, BLOCK, (off_t)c * CHUNK + WRITTEN_AT) != BLOCK)
			continue;
		if (get64(page) != WRITTEN_SEED || get64(page + 8) != c)
			die("seed %" PRIu64 ": chunk %u lost its write to chunk %" PRIu64, seed, c,
			    get64(page + 8));
	}
}

static void check_written(int fd, uint64_t seed)
{
	unsigned int c;

	memset(written, 0, sizeof(written));
	for (c = 0; c < nr_chunks; c++) {
		memset(page, 0x55, BLOCK);
		put64(page, WRITTEN_SEED);
		put64(page + 8, c);
		written[c] = pwrite(fd, page, BLOCK, (off_t)c * CHUNK + WRITTEN_AT) == BLOCK;
	}
	check_kept(fd, seed);
}

static unsigned int refused, failed_resume, served;

/* Makes every kind of change to the metadata; each may fail. */
static void make_changes(const char *name, int fd)
{
	static const char * const messages[] = {
		"release_metadata_snap", "pin 5 2 1", "migrate 8 4 1", "set migration_depth 3",
		"reserve_metadata_snap",
	};
	uint64_t range[2] = { 3 * CHUNK, CHUNK };
	unsigned int i;

	for (i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		dm_message(name, 0, messages[i]);
	ioctl(fd, BLKDISCARD, range);
}

/* True if the written data must be there from now on. */
static bool write_all(const char *name, int fd, uint64_t seed)
{
	bool kept;

	make_changes(name, fd);
	check_written(fd, seed);
	check_unique(fd, seed);
	kept = !fsync(fd);
	dm_message(name, 0, "release_metadata_snap");
	return kept;
}

static int open_set(const char *name)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/dev/mapper/%s", name);
	fd = open(path, O_RDWR | O_DIRECT);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	return fd;
}

static void take_down(const char *name, uint64_t length, uint64_t seed)
{
	dm_clear(name);
	if (dm_load(name, "error", length, "") || dm_resume(name))
		die("seed %" PRIu64 ": the set cannot be taken down", seed);
}

/* The set was used, and reported no error. */
static void try_again(const char *name, const char *line, uint64_t length, uint64_t seed)
{
	int fd;

	if (dm_load(name, "tier", length, line) || dm_resume(name))
		die("seed %" PRIu64 ": the set is refused after it was written", seed);
	fd = open_set(name);
	check_kept(fd, seed);
	check_unique(fd, seed);
	close(fd);
	take_down(name, length, seed);
}

enum use {
	READ,
	WRITE,
	WORK,	/* the set is refused, or can be written */
};

static void try_image(const char *name, const char *line, uint64_t length, uint64_t seed,
		      enum use use)
{
	bool kept = false;
	int fd;

	if (dm_load(name, "tier", length, line)) {
		refused++;
		return;
	}
	if (dm_resume(name)) {
		failed_resume++;
	} else {
		served++;
		fd = open_set(name);
		check_unique(fd, seed);
		if (use != READ)
			kept = write_all(name, fd, seed);
		close(fd);
		if (use == WORK && !kept)
			die("known %" PRIu64 ": the set was served and is not any more", seed);
	}
	take_down(name, length, seed);
	if (kept)
		try_again(name, line, length, seed);
}

int damage_image(int argc, char **argv)
{
	struct rng rng;
	struct image meta;

	if (argc != 3)
		die("damage IMAGE seed|known N");
	rng.state = strtoull(argv[2], NULL, 10);
	read_image(&meta, argv[0]);
	damage_init(meta.good, meta.len);
	if (!strcmp(argv[1], "known")) {
		if (!damage_known(rng.state, meta.good, meta.bad, meta.len))
			die("there is none");
	} else {
		rng_chance(&rng, 2);	/* as fuzz_images() does */
		damage(&rng, meta.good, meta.bad, meta.len);
	}
	return fwrite(meta.bad, meta.len, 1, stdout) == 1 && !fflush(stdout) ? 0 : 1;
}

int fuzz_images(int argc, char **argv)
{
	uint64_t n, seed, length, known, i;
	struct image images[3];
	char line[1024];
	unsigned int k;

	if (argc != 10)
		die("images NAME N SEED LENGTH META TIER TIER META-IMAGE TIER-IMAGE TIER-IMAGE");
	n = strtoull(argv[1], NULL, 10);
	seed = strtoull(argv[2], NULL, 10);
	length = strtoull(argv[3], NULL, 10);
	nr_chunks = length * 512 / CHUNK;
	if (!nr_chunks || nr_chunks > MAX_CHUNKS)
		die("a length of 1 to %u chunks", MAX_CHUNKS);
	page = aligned(BLOCK);
	for (k = 0; k < 3; k++) {
		read_image(&images[k], argv[7 + k]);
		open_device(&images[k], argv[4 + k]);
	}
	damage_init(images[0].good, images[0].len);
	snprintf(line, sizeof(line), "%s 128 2 %s %s 0 0 static 0", argv[4], argv[5], argv[6]);

	known = damage_blocks() * damage_known_kinds();
	for (i = 0; i < known + n; i++) {
		uint64_t number = i < known ? i : seed + i - known;
		struct rng rng = { .state = number };
		enum use use = rng_chance(&rng, 2) ? WRITE : READ;

		if (i < known)
			use = WORK;
		if (i >= known)
			damage(&rng, images[0].good, images[0].bad, images[0].len);
		else if (!damage_known(i, images[0].good, images[0].bad, images[0].len))
			continue;
		write_image(&images[0], images[0].bad);
		write_image(&images[1], images[1].good);
		write_image(&images[2], images[2].good);
		/* The last line tells where a guest died or hung. */
		printf("%s %" PRIu64 "\r", i < known ? "known" : "seed", number);
		fflush(stdout);
		try_image(argv[0], line, length, number, use);
		if (kernel_tainted())
			die("seed %" PRIu64 ": the kernel has complained", number);
	}
	printf("%u images of %u blocks: %u refused, %u failed to start, %u served\n",
	       refused + failed_resume + served, damage_blocks(), refused, failed_resume, served);
	return refused && served ? 0 : 1;
}
