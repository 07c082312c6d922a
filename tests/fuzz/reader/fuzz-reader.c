// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reader, the check and the repair of metadata under libFuzzer. An input is an image without
 * the free blocks at its end. Most of the time the mutator corrects checksums and block numbers,
 * by the kind that the block had, so that the code behind these checks is reached. The first
 * input is a small set that is undamaged.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../content-raw.h"
#include "../fuzz.h"
#include "format/check.h"
#include "format/metadata.h"
#include "format/repair.h"
#include "../../unit/userspace/reseal.h"

#define BLOCK		TIER_METADATA_BLOCK_SIZE
/* The repair reads as many chunks as a superblock claims: seconds, if it claims a billion. */
#define MAX_CHUNKS	(1U << 20)

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* ---- making images ---- */

static struct {
	uint8_t *image;
	size_t size;		/* of the blocks in use */
	size_t whole;		/* number of blocks in the space map; zero behind size */
} base;

void die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	abort();
}

/* The contents of an undamaged set. */
static void make_base(void)
{
	struct md_content content;
	int fd;

	make_content(&content);
	fd = write_content(&content);
	md_content_free(&content);
	base.whole = lseek(fd, 0, SEEK_END);
	base.image = calloc(1, base.whole);
	if (!base.image || pread(fd, base.image, base.whole, 0) != (ssize_t)base.whole)
		die("no base\n");
	close(fd);
	for (base.size = base.whole; tier_all_zero(base.image + base.size - BLOCK, BLOCK);)
		base.size -= BLOCK;
}

/* Copies one of the first entries of a mapping block over another one. */
static void copy_entry(uint8_t *block)
{
	uint8_t *values = block + sizeof(struct md_array_block);

	memcpy(values + rand() % 60 * 8, values + rand() % 60 * 8, 8);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	uint8_t before[BLOCK] __attribute__((aligned(8)));
	size_t nr, block, was, n;

	if (max_size < base.size)
		return LLVMFuzzerMutate(data, size, max_size);
	if (size < base.size) {
		size = base.size;
		memcpy(data, base.image, size);
	}
	nr = size / BLOCK;
	srand(seed);
	for (n = 1 + rand() % 3; n; n--) {
		block = was = rand() % nr;
		memcpy(before, data + block * BLOCK, BLOCK);
		if (rand() % 20 == 0 && size + BLOCK <= max_size) {
			/* Adds a copy of a block. */
			memcpy(data + nr * BLOCK, before, BLOCK);
			block = nr++;
			size = nr * BLOCK;
		}
		/* The headers and the fields behind them matter most; sizes stay. */
		if (rand() % 8 == 0)
			copy_entry(data + block * BLOCK);
		else if (rand() % 2)
			LLVMFuzzerMutate(data + block * BLOCK, 64, 64);
		else
			LLVMFuzzerMutate(data + block * BLOCK, BLOCK, BLOCK);
		if (rand() % 16)
			reseal_as(data + block * BLOCK, before, was, block);
	}
	return size;
}

/* ---- reading them ---- */

static int entry_seen(void *context, u64 chunk, u64 entry)
{
	u64 *sum = context;

	*sum += chunk ^ entry;
	return 0;
}

/* Statistics of the code reached; printed at the end. */
static struct {
	unsigned long images, content, repaired, bitmaps, overflow, compared, orphans;
} seen;

static void say(void *context, const char *text)
{
	(void)context;
	seen.bitmaps += !strncmp(text, "space map: bitmap", 17);
	seen.overflow += strstr(text, "large count") || strstr(text, "space map: node");
	seen.compared += strstr(text, "are referenced") != NULL;
	seen.orphans += strstr(text, "below a damaged block") != NULL;
}

static void say_seen(void)
{
	printf("%lu images: the check was content with %lu; %lu repaired; lines about bitmaps %lu, large counts %lu, counts that differ %lu, what is left below damaged nodes %lu\n",
	       seen.images, seen.content, seen.repaired, seen.bitmaps, seen.overflow, seen.compared, seen.orphans);
}

/* If the check found no error: the tier id and place of each chunk. */
static u64 *place;
static size_t nr_places, room;

static void note_place(uint64_t chunk, uint64_t entry)
{
	(void)chunk;
	if (!(entry & TIER_ENTRY_MAPPED))
		return;
	if (nr_places == room) {
		room = room ? 2 * room : 4096;
		place = reallocarray(place, room, sizeof(*place));
		if (!place)
			die("out of memory\n");
	}
	place[nr_places++] = entry & (0xffULL << TIER_ENTRY_ID_SHIFT | TIER_ENTRY_PLACE_MASK);
}

static int by_number(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Without the library: two chunks on one place are never missed. */
static void check_content(const uint8_t *image, size_t size)
{
	size_t i;

	seen.content++;
	nr_places = 0;
	if (!raw_walk(image, size, note_place))
		die("the check is content with a mapping that cannot be read\n");
	if (nr_places)
		qsort(place, nr_places, sizeof(*place), by_number);
	for (i = 1; i < nr_places; i++)
		if (place[i] == place[i - 1])
			die("the check is content with two chunks on one place\n");
}

static void check_image(int fd, const uint8_t *data, size_t size)
{
	struct md_problems problems = { .say = say };
	struct md_check check = { 0 };
	struct md_repair repair = { .src = NULL };
	struct md_source src;

	if (md_source_init(&src, fd))
		return;
	md_check(&check, &src, &problems);
	md_problems_end(&problems);
	if (!problems.errors)
		check_content(data, size);
	repair.src = &src;
	repair.p = &problems;
	/* There must be a result, or a reason for the refusal. */
	if (md_repair(&repair))
		seen.repaired++;
	else if (!repair.refusal)
		abort();
	free(repair.refusal);
	md_content_free(&repair.content);
	md_source_free(&src);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	make_base();
	LLVMFuzzerTestOneInput(base.image, base.size);
	if (seen.content != 1)
		die("the check is not content with the base\n");
	atexit(say_seen);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tier_meta_tier tiers[TIER_MAX_TIERS];
	struct tier_meta_roots roots;
	struct tier_meta_info info;
	struct tier_label_info label;
	const char *reason = NULL;
	unsigned int nr;
	u64 sum = 0;
	int fd;

	if (size >= 2 * BLOCK && tier_label_choose(data, data + BLOCK, &label, &reason) && !reason)
		abort();
	seen.images++;
	fd = memfd_create("image", 0);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    (size < base.whole && ftruncate(fd, base.whole)))
		abort();
	/* An error without a reason is a fault, too. */
	if (!md_read_superblock(fd, &info, &roots, &reason)) {
		if (info.nr_chunks > MAX_CHUNKS) {
			close(fd);
			return 0;
		}
		reason = NULL;
		if (md_read_tiers(fd, &roots, tiers, &nr, &reason) && !reason)
			abort();
		reason = NULL;
		if (md_read_map(fd, &roots, info.nr_chunks, entry_seen, &sum, &reason) && !reason)
			abort();
	} else if (!reason) {
		abort();
	}
	check_image(fd, data, size);
	close(fd);
	return 0;
}
