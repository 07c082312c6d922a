// SPDX-License-Identifier: GPL-2.0-only
#include "format/orphans.h"

#include <stdlib.h>
#include <string.h>

#include "format/spacemap.h"

struct search {
	struct md_refs *orphans;
	const struct md_counts *said, *counts;
};

static bool is_orphan(const struct search *s, u64 block)
{
	return block < s->said->nr && s->said->count[block] && !s->counts->count[block];
}

static void look_at(void *context, const struct md_ref *ref, const void *data)
{
	const struct md_btree_node *n = data;
	struct search *s = context;
	u32 i;

	if (!n || md_judge_node(n, ref->block, sizeof(__le64)) ||
	    le32_to_cpu(n->flags) != MD_BTREE_LEAF)
		return;
	for (i = 0; i < le32_to_cpu(n->nr_entries); i++) {
		struct md_ref orphan = { .first = md_node_key(n, i) };
		__le64 number;

		memcpy(&number, md_node_value(n, i), sizeof(number));
		orphan.block = le64_to_cpu(number);
		if (is_orphan(s, orphan.block))
			md_refs_add(s->orphans, &orphan);
	}
}

static int by_key(const void *a, const void *b)
{
	const struct md_ref *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static void search(struct search *s, struct md_source *src)
{
	struct md_refs blocks = { 0 };
	u64 b;

	for (b = 0; b < s->said->nr; b++)
		if (is_orphan(s, b))
			md_refs_add(&blocks, &(struct md_ref){ .block = b });
	md_source_read_all(src, &blocks, look_at, s);
	md_refs_free(&blocks);
	if (s->orphans->nr)
		qsort(s->orphans->ref, s->orphans->nr, sizeof(*s->orphans->ref), by_key);
}

void md_orphans_find(struct md_refs *orphans, const struct md_image *image)
{
	struct md_problems silent = { 0 };
	struct md_image copy = *image;
	struct md_counts counts, said = { 0 };
	struct search s = { .orphans = orphans, .said = &said, .counts = &counts };
	struct md_tiers tiers;
	struct md_tunables tunables;

	if (image->info.held_root)
		return;
	copy.p = &silent;
	copy.counts = &counts;
	md_counts_init(&counts, image->src->nr_blocks < MD_MAX_BLOCKS ? image->src->nr_blocks : MD_MAX_BLOCKS);
	md_count(&counts, TIER_SUPERBLOCK_LOCATION);
	md_image_tiers(&copy, &tiers);
	md_image_tunables(&copy, &tunables);
	md_image_mapping(&copy, NULL, NULL);
	md_image_heat(&copy, NULL);
	if (copy.broken && md_spacemap_read(image->src, image->roots.space_map, &counts, &said, &silent))
		search(&s, image->src);
	md_counts_free(&said);
	md_counts_free(&counts);
}
