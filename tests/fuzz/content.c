// SPDX-License-Identifier: GPL-2.0-only
/* A set whose metadata is damaged, and a reader of its mapping that does not use the library. */
#include "content-raw.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/build.h"
#include "fuzz.h"

void make_content(struct md_content *c)
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

int write_content(const struct md_content *c)
{
	u64 blocks = md_build_needs(c->info.nr_chunks);
	int fd = memfd_create("metadata", 0);

	if (fd < 0 || ftruncate(fd, blocks * MD_BLOCK))
		die("no memory for a file");
	if (md_build(fd, blocks, c))
		die("what was read cannot be written");
	return fd;
}

/* ---- the mapping, read without the library ---- */

struct raw {
	const uint8_t *image;
	uint64_t blocks;
	void (*note)(uint64_t chunk, uint64_t entry);
};

static uint64_t get(const uint8_t *p, unsigned int bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

/* Byte by byte as dm-tier.rst describes it; false if the mapping cannot be read. */
static bool walk(const struct raw *raw, uint64_t block, unsigned int depth, uint64_t nr_chunks)
{
	uint64_t flags, nr, max, key, child, i, j;
	const uint8_t *node;

	if (!block || block >= raw->blocks || depth > 8)
		return false;
	node = raw->image + block * MD_BLOCK;
	flags = get(node + 4, 4);
	nr = get(node + 16, 4);
	max = get(node + 20, 4);
	if (nr > max || max > 252)
		return false;
	for (i = 0; i < nr; i++) {
		key = get(node + 32 + 8 * i, 8);
		child = get(node + 32 + 8 * max + 8 * i, 8);
		if (flags == MD_BTREE_INTERNAL) {
			if (!walk(raw, child, depth + 1, nr_chunks))
				return false;
			continue;
		}
		if (!child || child >= raw->blocks || key > nr_chunks / 509)
			return false;
		for (j = 0; j < 509 && key * 509 + j < nr_chunks; j++)
			raw->note(key * 509 + j, get(raw->image + child * MD_BLOCK + 24 + 8 * j, 8));
	}
	return true;
}

bool raw_walk(const uint8_t *image, size_t len, void (*note)(uint64_t chunk, uint64_t entry))
{
	const struct tier_superblock *sb = (const void *)image;
	struct raw raw = { .image = image, .blocks = len / MD_BLOCK, .note = note };

	return walk(&raw, le64_to_cpu(sb->mapping_root), 0, le64_to_cpu(sb->nr_chunks));
}
