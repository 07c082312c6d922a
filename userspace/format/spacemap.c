// SPDX-License-Identifier: GPL-2.0-only
#include "format/spacemap.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define LL(n)	((unsigned long long)(n))

void md_counts_init(struct md_counts *counts, u64 nr)
{
	counts->nr = nr;
	counts->count = xcalloc(nr, sizeof(*counts->count));
}

void md_counts_free(struct md_counts *counts)
{
	free(counts->count);
	memset(counts, 0, sizeof(*counts));
}

struct sm_read {
	struct md_source *src;
	struct md_counts *counts;
	struct md_counts *said;
	struct md_problems *p;
	struct md_refs bitmaps;
	struct md_index_block index;
	u64 nr_allocated;
	bool whole;
};

static void take_overflow(void *context, u64 block, const void *value, bool fresh)
{
	struct sm_read *sm = context;
	__le32 count;

	(void)fresh;
	memcpy(&count, value, sizeof(count));
	if (sm->said->count[block] != MD_COUNT_OVERFLOW || le32_to_cpu(count) < MD_COUNT_OVERFLOW)
		md_error(sm->p, "space map: block %llu has a large count of %u and a small one of %u",
			 LL(block), le32_to_cpu(count), sm->said->count[block]);
	/* Marks blocks whose count was read. */
	sm->said->count[block] = le32_to_cpu(count) | 0x80000000U;
}

static void overflow_bad(void *context, const struct md_ref *ref, const char *why)
{
	struct sm_read *sm = context;

	md_error(sm->p, "space map: node in block %llu is damaged: %s", LL(ref->block), why);
	sm->whole = false;
}

/* Counts above 2 are in a separate tree. */
static void read_overflow(struct sm_read *sm, u64 root)
{
	struct md_tree tree = {
		.src = sm->src,
		.counts = sm->counts,
		.value_size = sizeof(__le32),
		.end = sm->said->nr,
		.value = take_overflow,
		.bad = overflow_bad,
		.context = sm,
	};
	u64 b;

	md_tree_walk(&tree, root);
	for (b = 0; b < sm->said->nr; b++) {
		if (sm->said->count[b] == MD_COUNT_OVERFLOW && sm->whole)
			md_error(sm->p, "space map: block %llu has no large count", LL(b));
		sm->said->count[b] &= 0x7fffffffU;
	}
}

static void judge_index_entry(struct sm_read *sm, u64 i, u64 blocks, u64 used, u64 all_used_below)
{
	const struct md_index_entry *e = &sm->index.entry[i];
	u64 nr_free = le32_to_cpu(e->nr_free);

	/* The last bitmap may or may not count the blocks past the end. */
	if (nr_free != MD_BITMAP_BLOCKS - used && nr_free != blocks - used)
		md_error(sm->p, "space map: index says %llu free blocks in bitmap %llu, it has %llu",
			 LL(nr_free), LL(i), LL(blocks - used));
	if (le32_to_cpu(e->none_free_before) > all_used_below)
		md_error(sm->p, "space map: bitmap %llu has free blocks that are never looked for", LL(i));
}

static void take_bitmap(void *context, const struct md_ref *ref, const void *data)
{
	struct sm_read *sm = context;
	const struct md_bitmap_block *b = data;
	u64 first = ref->first * MD_BITMAP_BLOCKS, used = 0, all_used = 0, beyond = 0;
	u64 i, blocks = sm->said->nr - first;
	const char *why = "cannot be read";

	if (b)
		why = md_judge_bitmap(b, ref->block);
	if (why) {
		md_error(sm->p, "space map: bitmap in block %llu is damaged: %s", LL(ref->block), why);
		sm->whole = false;
		return;
	}
	if (blocks > MD_BITMAP_BLOCKS)
		blocks = MD_BITMAP_BLOCKS;
	for (i = 0; i < blocks; i++) {
		unsigned int count = md_bitmap_get(b, i);

		sm->said->count[first + i] = count;
		if (count && all_used == i)
			all_used++;
		used += !!count;
	}
	for (; i < MD_BITMAP_BLOCKS; i++)
		beyond += !!md_bitmap_get(b, i);
	if (beyond)
		md_error(sm->p, "space map: counts %llu blocks past the end", LL(beyond));
	judge_index_entry(sm, ref->first, blocks, used, all_used);
	sm->nr_allocated += used;
}

static bool read_index(struct sm_read *sm, u64 block)
{
	const char *why = "cannot be read";
	void *data;
	u64 i;

	md_count(sm->counts, block);
	if (posix_memalign(&data, MD_BLOCK, MD_BLOCK))
		out_of_memory();
	if (!md_source_read(sm->src, block, data)) {
		why = md_judge_index(data, block);
		memcpy(&sm->index, data, sizeof(sm->index));
	}
	free(data);
	if (why) {
		md_error(sm->p, "space map: index in block %llu is damaged: %s", LL(block), why);
		return false;
	}
	for (i = 0; i < DIV_ROUND_UP_ULL(sm->said->nr, MD_BITMAP_BLOCKS); i++) {
		struct md_ref ref = {
			.block = le64_to_cpu(sm->index.entry[i].blocknr), .first = i, .end = i + 1,
		};

		md_count(sm->counts, ref.block);
		md_refs_add(&sm->bitmaps, &ref);
	}
	return true;
}

bool md_spacemap_read(struct md_source *src, const u8 root[TIER_SPACE_MAP_ROOT_SIZE],
		      struct md_counts *counts, struct md_counts *said, struct md_problems *p)
{
	struct sm_read sm = { .src = src, .counts = counts, .said = said, .p = p, .whole = true };
	struct md_space_map_root r;
	u64 nr;

	memcpy(&r, root, sizeof(r));
	nr = le64_to_cpu(r.nr_blocks);
	memset(said, 0, sizeof(*said));
	if (!nr || nr > MD_MAX_BLOCKS) {
		md_error(p, "space map: for %llu blocks, which is impossible", LL(nr));
		return false;
	}
	if (nr > src->nr_blocks) {
		md_error(p, "space map: for %llu blocks, but the device has %llu", LL(nr),
			 LL(src->nr_blocks));
		return false;
	}
	if (!tier_all_zero(root + sizeof(r), TIER_SPACE_MAP_ROOT_SIZE - sizeof(r)))
		md_error(p, "superblock: not zero after the root of the space map");

	md_counts_init(said, nr);
	if (!read_index(&sm, le64_to_cpu(r.index)))
		return false;
	md_source_read_all(src, &sm.bitmaps, take_bitmap, &sm);
	md_refs_free(&sm.bitmaps);
	if (sm.whole && sm.nr_allocated != le64_to_cpu(r.nr_allocated))
		md_error(p, "space map: root says %llu blocks are in use, the bitmaps %llu",
			 LL(le64_to_cpu(r.nr_allocated)), LL(sm.nr_allocated));
	read_overflow(&sm, le64_to_cpu(r.overflow));
	return sm.whole;
}

static void tell_difference(u64 first, u64 last, u32 is, u32 should, struct md_problems *p)
{
	if (is < should)
		md_error(p, "space map: blocks %llu to %llu have count %u, but are referenced %u times",
			 LL(first), LL(last), is, should);
	else
		md_minor(p, "space map: blocks %llu to %llu have count %u, but are referenced %u times; space is lost",
			 LL(first), LL(last), is, should);
}

/* One line for a run of blocks with the same difference. */
void md_spacemap_compare(const struct md_counts *said, const struct md_counts *counted,
			 struct md_problems *p)
{
	u64 b, first;

	for (b = 0; b < counted->nr; b++) {
		u32 is = b < said->nr ? said->count[b] : 0, should = counted->count[b];

		if (is == should)
			continue;
		first = b;
		while (b + 1 < counted->nr && counted->count[b + 1] == should &&
		       (b + 1 < said->nr ? said->count[b + 1] : 0) == is)
			b++;
		tell_difference(first, b, is, should, p);
	}
}
