// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damaged metadata for the tools of user space: the check, the repair and the dump.
 *
 *   fuzztools N SEED
 *
 * N images, damaged as those for the kernel are.  None may crash the tools or keep
 * them for long.  What the check is content with has no two chunks on one place,
 * and no place that its tier does not have, which is looked for here by other means.
 * What the repair saves passes the check; what the check passes, a dump and its
 * restoration keep.
 *
 * Ends with status 1 at the first thing that must not be, having said which seed
 * shows it.  The n-th image of seed S is the first of seed S + n.
 */
#include "fuzz.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "build.h"
#include "check.h"
#include "record.h"
#include "repair.h"
#include "../unit/same-content.h"

#define NR_CHUNKS	1100
#define PLACES		800
#define FIRST_PLACE	16
#define NR_TIERS	2
/* The tools go through all that a superblock claims: seconds, if it is a billion. */
#define MAX_CHUNKS	(1U << 20)
#define SECONDS		20	/* for one image */

static uint64_t seed;

void die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fprintf(stderr, "fuzztools: seed %" PRIu64 ": ", seed);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

/* ---- a set ---- */

static void make_content(struct md_content *c)
{
	struct tier_meta_info info = {
		.name = "fuzz", .policy = "heat", .state = TIER_STATE_LIVE,
		.logical_block_size = 512, .chunk_sectors = 128, .nr_chunks = NR_CHUNKS,
		.length = NR_CHUNKS * 128, .reserve = 12, .generation = 3, .next_generation = 3,
		.trans_id = 7,
	};
	unsigned int i;

	memset(info.uuid, 0xab, sizeof(info.uuid));
	md_content_init(c, &info);
	for (i = 0; i < NR_TIERS; i++) {
		struct tier_meta_tier *t = &c->tiers.tier[i];

		*t = (struct tier_meta_tier){
			.id = i, .rank = i, .size = (FIRST_PLACE + PLACES) * 128,
			.first_place = FIRST_PLACE, .places = PLACES, .generation = 3, .landing = 1,
		};
		memset(t->uuid, 0x10 + i, sizeof(t->uuid));
	}
	c->tiers.nr = NR_TIERS;
	snprintf(c->tunables.tunable[0].name, TIER_TUNABLE_NAME_SIZE, "latency_guard");
	c->tunables.tunable[0].value = 1;
	c->tunables.nr = 1;
	for (i = 0; i < NR_CHUNKS; i++) {
		if (i % 11)
			c->mapping[i] = TIER_ENTRY_MAPPED | (u64)(i & 1) << TIER_ENTRY_ID_SHIFT |
					(FIRST_PLACE + i / 2);
		if (i % 100 < 3)
			c->mapping[i] |= 1ULL << TIER_ENTRY_PIN_SHIFT;
		c->heat[i] = i * 65537;
	}
}

/* A file in memory; the caller closes it. */
static int write_content(const struct md_content *c)
{
	u64 blocks = md_build_needs(c->info.nr_chunks);
	int fd = memfd_create("metadata", 0);

	if (fd < 0 || ftruncate(fd, blocks * MD_BLOCK))
		die("no memory for a file");
	if (md_build(fd, blocks, c))
		die("what was read cannot be written");
	return fd;
}

static void check_fd(int fd, struct md_problems *p, struct md_check *check)
{
	struct md_source src;

	*p = (struct md_problems){ 0 };
	*check = (struct md_check){ 0 };
	if (md_source_init(&src, fd))
		die("no size");
	md_check(check, &src, p);
	md_source_free(&src);
}

/* ---- the mapping, read by other means ---- */

static const uint8_t *raw;
static uint64_t raw_blocks;
static uint32_t shown_by[256][1024];	/* chunk + 1, by tier id and place */
static bool doubled, misplaced;

static void note_entry(uint64_t chunk, uint64_t entry)
{
	uint64_t place = entry & TIER_ENTRY_PLACE_MASK;
	unsigned int id = entry >> TIER_ENTRY_ID_SHIFT & 0xff;

	if (!(entry & TIER_ENTRY_MAPPED))
		return;
	if (id >= NR_TIERS || place < FIRST_PLACE || place >= FIRST_PLACE + PLACES) {
		misplaced = true;
		return;
	}
	if (shown_by[id][place])
		doubled = true;
	shown_by[id][place] = chunk + 1;
}

static uint64_t get(const uint8_t *p, unsigned int bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

/* Byte by byte as dm-tier.rst has it; false if there is no way through. */
static bool walk(uint64_t block, unsigned int depth, uint64_t nr_chunks)
{
	uint64_t flags, nr, max, key, child, i, j;
	const uint8_t *node;

	if (!block || block >= raw_blocks || depth > 8)
		return false;
	node = raw + block * MD_BLOCK;
	flags = get(node + 4, 4);
	nr = get(node + 16, 4);
	max = get(node + 20, 4);
	if (nr > max || max > 252)
		return false;
	for (i = 0; i < nr; i++) {
		key = get(node + 32 + 8 * i, 8);
		child = get(node + 32 + 8 * max + 8 * i, 8);
		if (flags == MD_BTREE_INTERNAL) {
			if (!walk(child, depth + 1, nr_chunks))
				return false;
			continue;
		}
		if (!child || child >= raw_blocks || key > nr_chunks / 509)
			return false;
		for (j = 0; j < 509 && key * 509 + j < nr_chunks; j++)
			note_entry(key * 509 + j, get(raw + child * MD_BLOCK + 24 + 8 * j, 8));
	}
	return true;
}

/* Whether the whole mapping could be read, with what is wrong in doubled and misplaced. */
static bool read_raw(const uint8_t *image, size_t len)
{
	const struct tier_superblock *sb = (const void *)image;

	raw = image;
	raw_blocks = len / MD_BLOCK;
	memset(shown_by, 0, sizeof(shown_by));
	doubled = false;
	misplaced = false;
	return walk(le64_to_cpu(sb->mapping_root), 0, le64_to_cpu(sb->nr_chunks));
}

/* ---- what the tools make of an image ---- */

static unsigned int sound, damaged, nr_doubled, saved, refused;

/* What is behind the end of a name counts for nothing and is not kept. */
static void tidy(char *name, size_t size)
{
	size_t len = strnlen(name, size);

	memset(name + len, 0, size - len);
}

/* What a dump of c makes when it is restored is c. */
static void check_dump(struct md_content *c, bool json)
{
	struct md_content again = { 0 };
	struct md_undump u = { .content = &again };
	size_t len;
	char *text;
	FILE *f = open_memstream(&text, &len);
	unsigned int i;

	if (!f)
		die("out of memory");
	tidy(c->info.name, sizeof(c->info.name));
	tidy(c->info.policy, sizeof(c->info.policy));
	for (i = 0; i < c->tiers.nr; i++)
		tidy(c->tiers.tier[i].last_seen, sizeof(c->tiers.tier[i].last_seen));
	for (i = 0; i < c->tunables.nr; i++)
		tidy(c->tunables.tunable[i].name, sizeof(c->tunables.tunable[i].name));
	if (json)
		md_write_json(c, f);
	else
		md_write_xml(c, f);
	fclose(f);
	f = fmemopen(text, len, "r");
	if (!f)
		die("out of memory");
	if (!(json ? md_parse_json(f, &u) : md_parse_xml(f, &u)))
		die("the dump is refused: %s", u.error);
	if (!same_content(c, &again))
		die("the dump is not what was dumped");
	fclose(f);
	free(text);
	md_content_free(&again);
}

static void check_sound(int fd, const uint8_t *image, size_t len)
{
	struct md_problems p = { 0 };
	struct md_source src;
	struct md_image md = { .src = &src, .p = &p };
	struct md_content c;

	if (!read_raw(image, len))
		die("the check is content with a mapping that cannot be read");
	if (doubled)
		die("the check is content with two chunks on one place");
	if (misplaced)
		die("the check is content with a place that is not there");
	if (md_source_init(&src, fd) || !md_image_open(&md))
		die("the check is content with a superblock that cannot be read");
	md_content_read(&c, &md);
	if (p.errors)
		die("the dump finds errors where the check does not");
	c.info.held_root = 0;
	check_dump(&c, seed & 1);
	md_content_free(&c);
	md_source_free(&src);
}

static void check_repair(int fd)
{
	struct md_problems p = { 0 };
	struct md_source src;
	struct md_repair r = { .src = &src, .p = &p };
	struct md_check check;
	uint8_t *image;
	off_t len;
	int out;

	if (md_source_init(&src, fd))
		die("no size");
	if (!md_repair(&r)) {
		if (!r.refusal)
			die("the repair fails without a reason");
		refused++;
		free(r.refusal);
		md_content_free(&r.content);
		md_source_free(&src);
		return;
	}
	saved++;
	out = write_content(&r.content);
	check_fd(out, &p, &check);
	if (p.errors || p.minor)
		die("what was saved has errors");
	len = lseek(out, 0, SEEK_END);
	image = mmap(NULL, len, PROT_READ, MAP_PRIVATE, out, 0);
	if (image == MAP_FAILED)
		die("out of memory");
	if (!read_raw(image, len) || doubled || misplaced)
		die("what was saved has two chunks on one place, or a place that is not there");
	munmap(image, len);
	close(out);
	md_content_free(&r.content);
	md_source_free(&src);
}

static void try_image(int fd, const uint8_t *image, size_t len)
{
	const struct tier_superblock *sb = (const void *)image;
	struct md_problems p;
	struct md_check check;

	if (pwrite(fd, image, len, 0) != (ssize_t)len)
		die("cannot write the image");
	alarm(SECONDS);
	check_fd(fd, &p, &check);
	if (p.errors)
		damaged++;
	else
		sound++;
	if (read_raw(image, len))
		nr_doubled += doubled;
	if (!p.errors)
		check_sound(fd, image, len);
	if (le64_to_cpu(sb->nr_chunks) <= MAX_CHUNKS)
		check_repair(fd);
	alarm(0);
}

int main(int argc, char **argv)
{
	struct md_content content;
	uint64_t n, first, i;
	uint8_t *good, *bad;
	size_t len;
	int fd;

	if (argc != 3) {
		fputs("usage: fuzztools N SEED\n", stderr);
		return 2;
	}
	n = strtoull(argv[1], NULL, 10);
	first = strtoull(argv[2], NULL, 10);
	make_content(&content);
	fd = write_content(&content);
	len = lseek(fd, 0, SEEK_END);
	if (posix_memalign((void **)&good, MD_BLOCK, len) || posix_memalign((void **)&bad, MD_BLOCK, len))
		die("out of memory");
	if (pread(fd, good, len, 0) != (ssize_t)len)
		die("cannot read the image");
	damage_init(good, len);
	try_image(fd, good, len);
	if (!sound || !saved || doubled)
		die("the image is damaged before it is");
	for (i = 0; i < n; i++) {
		struct rng rng = { .state = first + i };

		seed = first + i;
		/* As the kernel's images begin. */
		rng_chance(&rng, 2);
		damage(&rng, good, bad, len);
		try_image(fd, bad, len);
	}
	md_content_free(&content);
	free(good);
	free(bad);
	close(fd);
	printf("%" PRIu64 " images of %u blocks for the tools: %u sound, %u damaged, %u of them with two chunks on one place; %u saved, %u refused\n",
	       n, damage_blocks(), sound - 1, damaged, nr_doubled, saved - 1, refused);
	/* Few images say nothing. */
	return n >= 1000 && !(sound > 1 && nr_doubled && saved > 1 && refused);
}
