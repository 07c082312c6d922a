// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damaged metadata: an image of a set's metadata with random changes, whose
 * checksums are made right again more often than not, is activated, read,
 * written and taken down.  The kernel may refuse it, or give errors, but must
 * not show the data of one chunk as another's: two chunks on one place.
 *
 * The images were taken from a set each of whose chunks was written by tierio
 * with seed 1 and never moved, so that the first sector of each place says
 * whose it is.
 */
#include "fuzz.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK		4096
#define CHUNK		65536
#define MAX_CHUNKS	1024
#define WRITTEN_AT	4096	/* of each chunk, in the second round */
#define WRITTEN_SEED	7

/* What kinds of block there are, by what their checksum is mixed with. */
static const uint32_t kinds[] = {
	0x7e12a5c3,	/* superblock */
	121107,		/* btree node */
	595846735,	/* array block */
	240779,		/* bitmap of the space map */
	160478,		/* index of the space map */
};
#define KIND_ARRAY 595846735

static uint32_t crc_table[256];

static uint32_t checksum(const uint8_t *block, uint32_t xor)
{
	uint32_t crc = ~0U;
	unsigned int i, bit;

	if (!crc_table[1])
		for (i = 0; i < 256; i++) {
			crc_table[i] = i;
			for (bit = 0; bit < 8; bit++)
				crc_table[i] = crc_table[i] >> 1 ^
					       (crc_table[i] & 1 ? 0x82f63b78 : 0);
		}
	for (i = 4; i < BLOCK; i++)
		crc = crc >> 8 ^ crc_table[(crc ^ block[i]) & 0xff];
	return crc ^ xor;
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, 4);
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return le64toh(v);
}

static void put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, 8);
}

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

/* ---- damage ---- */

struct block {
	uint32_t number;
	uint32_t kind;		/* of kinds[] */
};

static struct block *blocks;
static unsigned int nr_blocks;

static void find_blocks(const struct image *meta)
{
	unsigned int i, k;
	uint32_t csum;

	blocks = calloc(meta->len / BLOCK, sizeof(*blocks));
	if (!blocks)
		die("out of memory");
	for (i = 0; i < meta->len / BLOCK; i++) {
		memcpy(&csum, meta->good + i * BLOCK, 4);
		for (k = 0; csum && k < sizeof(kinds) / sizeof(kinds[0]); k++)
			if (le32toh(csum) == checksum(meta->good + i * BLOCK, kinds[k]))
				blocks[nr_blocks++] = (struct block){ i, kinds[k] };
	}
	if (nr_blocks < 5)
		die("%s: only %u metadata blocks", meta->path, nr_blocks);
}

static uint64_t odd_number(struct rng *r)
{
	static const uint64_t numbers[] = {
		0, 1, 2, 3, 7, 8, 126, 127, 252, 509, 510, 1018, 4096, 0xffff, 0x7fffffff,
		0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
		0xffffffffffffffff,
	};

	return rng_chance(r, 3) ? rng_below(r, 300) : PICK(r, numbers);
}

/* The entries of the mapping: a place, a tier, a pin, flags. */
static void damage_entry(struct rng *r, uint8_t *block)
{
	uint8_t *entry = block + 24 + 8 * rng_below(r, 60);
	uint8_t *other = block + 24 + 8 * rng_below(r, 60);

	switch (rng_below(r, 5)) {
	case 0:
		put64(entry, get64(other));
		break;
	case 1:
		put64(entry, get64(entry) ^ 1ULL << rng_below(r, 64));
		break;
	case 2:
		put64(entry, (get64(entry) & ~0xffffULL) | rng_below(r, 80));
		break;
	case 3:
		put64(entry, get64(entry) ^ 1ULL << 40);
		break;
	default:
		put64(entry, 1ULL << 56 | (uint64_t)rng_below(r, 3) << 40 | rng_below(r, 80));
	}
}

static void damage_block(struct rng *r, uint8_t *image, const struct block *b)
{
	uint8_t *block = image + (size_t)b->number * BLOCK;
	unsigned int at, other;

	switch (rng_below(r, 8)) {
	case 0:
		block[rng_below(r, BLOCK)] ^= 1 << rng_below(r, 8);
		break;
	case 1:
		put32(block + 4 * rng_below(r, BLOCK / 4), odd_number(r));
		break;
	case 2:
		put64(block + 8 * rng_below(r, BLOCK / 8), odd_number(r));
		break;
	case 3:		/* the header */
		put32(block + 4 + 4 * rng_below(r, 9), odd_number(r));
		break;
	case 4:		/* where superblock, nodes and space maps have what counts */
		put64(block + 8 * rng_below(r, 64), odd_number(r));
		break;
	case 5:		/* another block's content */
		other = blocks[rng_below(r, nr_blocks)].number;
		memmove(block + 24, image + (size_t)other * BLOCK + 24, BLOCK - 24);
		break;
	case 6:
		at = rng_below(r, BLOCK);
		memset(block + at, rng_chance(r, 2) ? 0 : 0xff, rng_below(r, BLOCK - at));
		break;
	default:
		if (b->kind == KIND_ARRAY)
			damage_entry(r, block);
		else
			block[4 + rng_below(r, 508)] ^= 1 << rng_below(r, 8);
	}
}

static void damage(struct rng *r, struct image *meta)
{
	unsigned int n = 1 + rng_below(r, rng_chance(r, 4) ? 12 : 3);
	bool seal = !rng_chance(r, 4);
	const struct block *b;

	memcpy(meta->bad, meta->good, meta->len);
	while (n--) {
		/* The superblock is one among many, and everything hangs on it. */
		b = rng_chance(r, 6) ? &blocks[0] : &blocks[rng_below(r, nr_blocks)];
		damage_block(r, meta->bad, b);
		if (seal)
			put32(meta->bad + (size_t)b->number * BLOCK,
			      checksum(meta->bad + (size_t)b->number * BLOCK, b->kind));
	}
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
	for (c = 0; c < nr_chunks; c++) {
		if (!written[c] ||
		    pread(fd, page, BLOCK, (off_t)c * CHUNK + WRITTEN_AT) != BLOCK)
			continue;
		if (get64(page) != WRITTEN_SEED || get64(page + 8) != c)
			die("seed %" PRIu64 ": chunk %u lost its write to chunk %" PRIu64, seed, c,
			    get64(page + 8));
	}
}

static unsigned int refused, failed_resume, served;

static void try_image(const char *name, const char *line, uint64_t length, uint64_t seed, bool wr)
{
	char path[300];
	int fd;

	if (dm_load(name, "tier", length, line)) {
		refused++;
		return;
	}
	if (dm_resume(name)) {
		failed_resume++;
	} else {
		served++;
		snprintf(path, sizeof(path), "/dev/mapper/%s", name);
		fd = open(path, O_RDWR | O_DIRECT);
		if (fd < 0)
			die("%s: %s", path, strerror(errno));
		check_unique(fd, seed);
		if (wr) {
			check_written(fd, seed);
			check_unique(fd, seed);
			fsync(fd);
		}
		close(fd);
	}
	dm_clear(name);
	if (dm_load(name, "error", length, "") || dm_resume(name))
		die("seed %" PRIu64 ": the set cannot be taken down", seed);
}

int damage_image(int argc, char **argv)
{
	struct rng rng;
	struct image meta;

	if (argc != 2)
		die("damage IMAGE SEED");
	rng.state = strtoull(argv[1], NULL, 10);
	read_image(&meta, argv[0]);
	find_blocks(&meta);
	rng_chance(&rng, 2);	/* as fuzz_images() does */
	damage(&rng, &meta);
	return fwrite(meta.bad, meta.len, 1, stdout) == 1 && !fflush(stdout) ? 0 : 1;
}

int fuzz_images(int argc, char **argv)
{
	uint64_t n, seed, length, i;
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
	find_blocks(&images[0]);
	snprintf(line, sizeof(line), "%s 128 2 %s %s 0 0 static 0", argv[4], argv[5], argv[6]);

	for (i = 0; i < n; i++) {
		struct rng rng = { .state = seed + i };
		bool wr = rng_chance(&rng, 2);

		damage(&rng, &images[0]);
		write_image(&images[0], images[0].bad);
		write_image(&images[1], images[1].good);
		write_image(&images[2], images[2].good);
		/* Where a guest that dies or hangs was. */
		printf("seed %" PRIu64 "\r", seed + i);
		fflush(stdout);
		try_image(argv[0], line, length, seed + i, wr);
		if (kernel_tainted())
			die("seed %" PRIu64 ": the kernel has complained", seed + i);
	}
	printf("%" PRIu64 " images of %u blocks: %u refused, %u failed to start, %u served\n", n,
	       nr_blocks, refused, failed_resume, served);
	return refused && served ? 0 : 1;
}
