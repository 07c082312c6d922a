// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reader, the check and the repair of metadata under libFuzzer.  An input is an image;
 * the mutator makes checksums and block numbers right again most of the time,
 * so that what lies behind them is reached.  The first input is a small set.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "metadata.h"
#include "repair.h"

#define BLOCK		TIER_METADATA_BLOCK_SIZE
#define NR_CHUNKS	100
#define BASE_BLOCKS	7
/* The repair goes through all that a superblock claims: seconds, if it is a billion. */
#define MAX_CHUNKS	(1U << 20)

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- making images ---- */

static void seal(uint8_t *image, size_t nr)
{
	uint8_t *block = image + nr * BLOCK;
	struct md_btree_node *node = (void *)block;
	struct md_array_block *array = (void *)block;
	u32 flags = le32_to_cpu(node->flags);

	if (!nr) {
		tier_superblock_seal(block, 0);
	} else if (flags == MD_BTREE_INTERNAL || flags == MD_BTREE_LEAF) {
		node->blocknr = cpu_to_le64(nr);
		node->csum = cpu_to_le32(tier_checksum(block + 4, BLOCK - 4, MD_BTREE_CSUM_XOR));
	} else {
		array->blocknr = cpu_to_le64(nr);
		array->csum = cpu_to_le32(tier_checksum(block + 4, BLOCK - 4, MD_ARRAY_CSUM_XOR));
	}
}

/* A leaf with entries 0 to nr - 1; returns where the values are. */
static void *make_leaf(uint8_t *block, u32 value_size, u32 nr)
{
	struct md_btree_node *node = (void *)block;
	u32 max = (BLOCK - sizeof(*node)) / (sizeof(__le64) + value_size) / 3 * 3;
	u32 i;

	node->flags = cpu_to_le32(MD_BTREE_LEAF);
	node->nr_entries = cpu_to_le32(nr);
	node->max_entries = cpu_to_le32(max);
	node->value_size = cpu_to_le32(value_size);
	for (i = 0; i < nr; i++)
		node->keys[i] = cpu_to_le64(i);
	return &node->keys[max];
}

static void *make_array(uint8_t *image, size_t root, size_t block, u32 value_size)
{
	struct md_array_block *array = (void *)(image + block * BLOCK);
	__le64 *value = make_leaf(image + root * BLOCK, sizeof(__le64), 1);

	*value = cpu_to_le64(block);
	array->max_entries = cpu_to_le32((BLOCK - sizeof(*array)) / value_size);
	array->nr_entries = cpu_to_le32(NR_CHUNKS);
	array->value_size = cpu_to_le32(value_size);
	return array->values;
}

static size_t make_base(uint8_t *image, size_t max_size)
{
	struct tier_meta_info info = {
		.state = TIER_STATE_LIVE, .logical_block_size = 512, .chunk_sectors = 128,
		.nr_chunks = NR_CHUNKS, .length = NR_CHUNKS * 128, .reserve = 2,
		.generation = 1, .next_generation = 1, .trans_id = 9,
		.name = "base", .policy = "heat", .uuid = "base",
	};
	struct tier_meta_roots roots = {
		.mapping = 1, .heat = 3, .tiers = 5, .tunables = 6, .nr_tunables = 1,
	};
	struct tier_meta_tier tier = {
		.size = 16384, .first_place = 16, .places = 112, .generation = 1, .landing = 1,
	};
	struct tier_tunable_record tunable = { .name = "latency_guard", .value = cpu_to_le64(1) };
	struct tier_record *records;
	__le64 entry;
	uint8_t *map;
	u32 i;

	if (max_size < BASE_BLOCKS * BLOCK)
		return 0;
	memset(image, 0, BASE_BLOCKS * BLOCK);
	tier_superblock_pack(image, &info, &roots);
	map = make_array(image, 1, 2, sizeof(__le64));
	for (i = 0; i < NR_CHUNKS; i += 2) {
		entry = cpu_to_le64(TIER_ENTRY_MAPPED | (u64)(i & 1) << TIER_ENTRY_ID_SHIFT |
				    (16 + i));
		memcpy(map + i * sizeof(entry), &entry, sizeof(entry));
	}
	make_array(image, 3, 4, sizeof(__le32));
	records = make_leaf(image + 5 * BLOCK, sizeof(*records), 2);
	for (i = 0; i < 2; i++) {
		struct tier_record record;

		tier.id = i;
		tier.rank = i;
		tier.uuid[0] = i + 1;
		tier_record_pack(&record, &tier);
		memcpy(&records[i], &record, sizeof(record));
	}
	memcpy(make_leaf(image + 6 * BLOCK, sizeof(tunable), 1), &tunable, sizeof(tunable));
	for (i = 0; i < BASE_BLOCKS; i++)
		seal(image, i);
	return BASE_BLOCKS * BLOCK;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	size_t nr, block, n;

	if (size < BASE_BLOCKS * BLOCK) {
		size = make_base(data, max_size);
		if (!size)
			return LLVMFuzzerMutate(data, 0, max_size);
	}
	nr = size / BLOCK;
	srand(seed);
	for (n = 1 + rand() % 3; n; n--) {
		block = rand() % nr;
		if (rand() % 20 == 0 && size + BLOCK <= max_size) {
			/* One more, a copy. */
			memcpy(data + size, data + block * BLOCK, BLOCK);
			block = nr++;
			size += BLOCK;
		}
		/* The headers and what comes after them count most; sizes stay. */
		if (rand() % 2)
			LLVMFuzzerMutate(data + block * BLOCK, 64, 64);
		else
			LLVMFuzzerMutate(data + block * BLOCK, BLOCK, BLOCK);
		if (rand() % 16)
			seal(data, block);
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

static void say(void *context, const char *text)
{
	*(size_t *)context += strlen(text);
}

static void check_image(int fd)
{
	size_t said = 0;
	struct md_problems problems = { .say = say, .context = &said };
	struct md_check check = { 0 };
	struct md_repair repair = { .src = NULL };
	struct md_source src;

	if (md_source_init(&src, fd))
		return;
	md_check(&check, &src, &problems);
	md_problems_end(&problems);
	repair.src = &src;
	repair.p = &problems;
	/* Either there is a result or a reason why not. */
	if (!md_repair(&repair) && !repair.refusal)
		abort();
	free(repair.refusal);
	md_content_free(&repair.content);
	md_source_free(&src);
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
	fd = memfd_create("image", 0);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
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
	check_image(fd);
	close(fd);
	return 0;
}
