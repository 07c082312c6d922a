// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trees: empty ones, other sizes; walks through them, which trust nothing that the disk
 * says; and the census of the blocks that they use.
 */
#include "metadata/internal.h"

#include "blockio.h"

void *tier_md_read_block(struct block_device *bdev, u64 b)
{
	void *data = kmalloc(TIER_METADATA_BLOCK_SIZE, GFP_NOIO);
	int r = data ? tier_blockio(bdev, REQ_OP_READ, b * TIER_METADATA_BLOCK_SECTORS, data) :
		       -ENOMEM;

	if (!r)
		return data;
	kfree(data);
	return ERR_PTR(r);
}

static void init_btree(struct dm_btree_info *info, struct dm_transaction_manager *tm, u32 size)
{
	*info = (struct dm_btree_info){ .tm = tm, .levels = 1, .value_type.size = size };
}

void tier_md_init_infos(struct tier_metadata *md)
{
	struct dm_btree_value_type entry = { .size = sizeof(__le64) };
	struct dm_btree_value_type heat = { .size = sizeof(__le32) };

	dm_array_info_init(&md->mapping_info, md->tm, &entry);
	dm_array_info_init(&md->heat_info, md->tm, &heat);
	init_btree(&md->tiers_info, md->tm, sizeof(struct tier_record));
	init_btree(&md->tunables_info, md->tm, sizeof(struct tier_tunable_record));
}

/* What is new is all zeroes. */
static int __resize_array(struct dm_array_info *info, u64 *root, u32 old_size, u32 new_size)
{
	u32 per_block = tier_md_per_block(info->value_type.size);
	u64 last = new_size / per_block;
	const __le64 zero = 0;
	int r;

	r = dm_array_resize(info, *root, old_size, new_size, &zero, root);
	/* The library forgets the last block of an array that now ends where it begins. */
	if (!r && new_size < old_size && !(new_size % per_block) && old_size / per_block == last) {
		r = dm_btree_remove(&info->btree_info, *root, &last, root);
		/* Another version of it may not. */
		if (r == -ENODATA)
			r = 0;
	}
	return r;
}

int __tier_md_resize(struct tier_metadata *md, u32 old, u32 nr_chunks)
{
	int r = __resize_array(&md->mapping_info, &md->roots.mapping, old, nr_chunks) ? :
		__resize_array(&md->heat_info, &md->roots.heat, old, nr_chunks);

	if (!r)
		md->info.nr_chunks = nr_chunks;
	return r;
}

int __tier_md_create_content(struct tier_metadata *md)
{
	return dm_array_empty(&md->mapping_info, &md->roots.mapping) ? :
	       dm_array_empty(&md->heat_info, &md->roots.heat) ? :
	       __tier_md_resize(md, 0, md->info.nr_chunks) ? :
	       dm_btree_empty(&md->tiers_info, &md->roots.tiers) ? :
	       dm_btree_empty(&md->tunables_info, &md->roots.tunables);
}

/* ---- census ---- */

/*
 * A census of the blocks in use: each is met once on a walk, and its count in the space
 * map covers that.
 */
struct tier_census {
	struct tier_metadata *md;
	dm_block_t nr;			/* of blocks */
	unsigned long *met;		/* a bit for each of them */
	bool met_again;			/* the block `again`, or the block lies behind the end */
	dm_block_t again;
	/* Those of the trees that are to stay, when the ones that are walked are to go, or NULL. */
	const unsigned long *live;
	bool shared[DM_BTREE_CURSOR_MAX_DEPTH];	/* by level, of the nodes above a block */
};

/* c: all zeroes.  c->met is to be freed, also on error. */
static int __begin_census(struct tier_metadata *md, struct tier_census *c)
{
	int r = md->sm->get_nr_blocks(md->sm, &c->nr);

	c->md = md;
	if (r)
		return r;
	c->met = vzalloc(BITS_TO_LONGS(c->nr) * sizeof(long));
	return c->met ? 0 : -ENOMEM;
}

void tier_md_free_census(struct tier_metadata *md)
{
	if (md->census)
		vfree(md->census->met);
	kfree(md->census);
	md->census = NULL;
}

static int refuse_block(struct tier_census *c, dm_block_t b, u32 count)
{
	DMERR_LIMIT("%pg: block %llu is in use more often than its count of %u says",
		    c->md->bdev, b, count);
	return -EILSEQ;
}

/*
 * What is met twice would be counted down twice; what counts as free would be used for
 * something else, and the library leaves a block locked that it cannot count down.
 *
 * Of the live trees all counts are looked at in the end, by __judge_index().  They may be wrong
 * if nothing is to be written, so that until then it is only noted that a block is met again.
 */
static int __meet(struct tier_census *c, dm_block_t b, bool shared, u32 *count)
{
	bool again = b >= c->nr || test_and_set_bit(b, c->met);
	int r = 0;

	*count = 0;
	if (!c->live) {
		c->again = again ? b : c->again;
		c->met_again |= again;
		return 0;
	}
	if (b < c->nr)
		r = c->md->sm->get_count(c->md->sm, b, count);
	if (r && r != -ENODATA)
		return r;
	/* Below a node that stays, too, nothing is counted down. */
	again |= !shared && *count < 2 && b < c->nr && test_bit(b, c->live);
	return r || again || !*count ? refuse_block(c, b, *count) : 0;
}

static int __meet_block(struct tier_census *c, dm_block_t b)
{
	u32 count;

	return __meet(c, b, false, &count);
}

/*
 * Of the blocks from first to end, those in use are added to *used.  -EILSEQ if one that was met
 * is not in use; if the index knows of less free ones than there are, or passes by one: the
 * library would run out of blocks in the midst of a change, for which there was room.
 *
 * The metadata and its snapshot are all that refers to blocks.  The library keeps larger counts
 * in a tree, and stops the kernel if one is not there when it is changed.
 */
static int __judge_index(struct tier_census *c, const struct disk_index_entry *e,
			 dm_block_t first, dm_block_t end, u64 *used)
{
	u32 nr_free = le32_to_cpu(e->nr_free), none_free = le32_to_cpu(e->none_free_before);
	u32 count = 0, taken = 0, all_taken = 0;
	dm_block_t b;
	int r;

	for (b = first; b < end; b++) {
		r = c->md->sm->get_count(c->md->sm, b, &count);
		if (r == -ENODATA || count > 2) {
			DMERR_LIMIT("%pg: the count of block %llu is damaged", c->md->bdev, b);
			return -EILSEQ;
		}
		if (r)
			return r;
		if (test_bit(b, c->met) && (!count || (c->met_again && c->again == b)))
			return refuse_block(c, b, count);
		taken += !!count;
		all_taken += count && all_taken == b - first;
		cond_resched();
	}
	*used += taken;
	/* The last bitmap may count what lies behind the end as free. */
	if (nr_free >= end - first - taken && nr_free <= DM_SM_METADATA_BITMAP_BLOCKS - taken &&
	    none_free <= all_taken)
		return 0;
	DMERR_LIMIT("%pg: the space map's index is wrong about the blocks from %llu on",
		    c->md->bdev, first);
	return -EILSEQ;
}

static dm_block_t bitmap_begin(unsigned int i)
{
	return (dm_block_t)i * DM_SM_METADATA_BITMAP_BLOCKS;
}

/* Meets the bitmaps, the last blocks that are in use; then all has been met. */
static int __judge_bitmaps(struct tier_census *c, const struct disk_metadata_index *index,
			   u64 allocated)
{
	unsigned int i, nr = DIV_ROUND_UP_ULL(c->nr, DM_SM_METADATA_BITMAP_BLOCKS);
	u64 used = 0;
	int r = 0;

	nr = min_t(unsigned int, nr, ARRAY_SIZE(index->index));
	for (i = 0; !r && i < nr; i++)
		r = __meet_block(c, le64_to_cpu(index->index[i].blocknr));
	if (!r && c->met_again && c->again >= c->nr)
		r = refuse_block(c, c->again, 0);
	for (i = 0; !r && i < nr; i++)
		r = __judge_index(c, &index->index[i], bitmap_begin(i),
				  min(c->nr, bitmap_begin(i + 1)), &used);
	if (!r && used != allocated) {
		DMERR_LIMIT("%pg: %llu blocks are in use, the space map says %llu",
			    c->md->bdev, used, allocated);
		r = -EILSEQ;
	}
	return r;
}

/* Of the space map on disk, which the library has judged; nothing was changed yet. */
static int __judge_space_map(struct tier_census *c)
{
	struct disk_sm_root root = tier_md_sm_root(c->md);
	u64 b = le64_to_cpu(root.bitmap_root);
	void *index;
	int r;

	r = __meet_block(c, b);
	if (r)
		return r;
	index = tier_md_read_block(c->md->bdev, b);
	if (IS_ERR(index))
		return PTR_ERR(index);
	r = __judge_bitmaps(c, index, le64_to_cpu(root.nr_allocated));
	kfree(index);
	return r;
}

/* ---- nodes ---- */

/*
 * The library takes the size of a node's values from the tree's user, and where
 * they lie from the node: if these differ, it reads and writes past the block.  How many
 * there is room for it takes from the node when it divides that: of one half may be empty,
 * which it then looks into, and stops the kernel when that has failed.
 */
static bool node_is_sound(const struct node_header *node, bool leaf, u32 value_size)
{
	u32 size = leaf ? value_size : sizeof(__le64);
	u32 max = (TIER_METADATA_BLOCK_SIZE - sizeof(*node)) / (sizeof(__le64) + size);

	return le32_to_cpu(node->value_size) == size &&
	       le32_to_cpu(node->max_entries) == rounddown(max, 3);
}

static bool is_sealed(const struct node_header *node, u64 b)
{
	u32 sum = tier_checksum(&node->flags, TIER_METADATA_BLOCK_SIZE - sizeof(node->csum),
				BTREE_CSUM_XOR);

	return le64_to_cpu(node->blocknr) == b && le32_to_cpu(node->csum) == sum;
}

static int __judge_nodes(struct tier_census *c, u64 b, u32 value_size, unsigned int depth)
{
	struct node_header *node;
	const __le64 *value;
	u32 i, nr;
	bool leaf;
	int r = 0;

	/* What is met again has been judged; all else that is wrong the walks will find. */
	if (depth == DM_BTREE_CURSOR_MAX_DEPTH || b >= c->nr || test_and_set_bit(b, c->met))
		return 0;
	node = tier_md_read_block(c->md->bdev, b);
	if (IS_ERR(node))
		return node == ERR_PTR(-ENOMEM) ? -ENOMEM : 0;
	leaf = le32_to_cpu(node->flags) & LEAF_NODE;
	value = (const __le64 *)(node + 1) + le32_to_cpu(node->max_entries);
	nr = min(le32_to_cpu(node->nr_entries), le32_to_cpu(node->max_entries));
	if (!is_sealed(node, b)) {
		nr = 0;
	} else if (!node_is_sound(node, leaf, value_size)) {
		DMERR_LIMIT("%pg: block %llu is no node of this tree", c->md->bdev, b);
		r = -EILSEQ;
	}
	for (i = 0; !r && !leaf && i < nr; i++)
		r = __judge_nodes(c, le64_to_cpu(value[i]), value_size, depth + 1);
	kfree(node);
	return r;
}

int __tier_md_judge_nodes(struct tier_metadata *md, const struct tier_meta_roots *roots)
{
	struct disk_sm_root root = tier_md_sm_root(md);
	struct tier_census c = { };
	int r;

	r = __begin_census(md, &c) ? :
	    __judge_nodes(&c, le64_to_cpu(root.ref_count_root), sizeof(__le32), 0) ? :
	    __judge_nodes(&c, roots->mapping, sizeof(__le64), 0) ? :
	    __judge_nodes(&c, roots->heat, sizeof(__le64), 0) ? :
	    __judge_nodes(&c, roots->tiers, md->tiers_info.value_type.size, 0) ? :
	    __judge_nodes(&c, roots->tunables, md->tunables_info.value_type.size, 0);
	vfree(c.met);
	return r;
}

/* Judges the nodes that the cursor has just entered, if there are such.  c: may be NULL. */
static int __enter_nodes(const struct dm_btree_cursor *cursor, u32 value_size,
			 struct tier_census *c)
{
	unsigned int level = cursor->depth;
	bool shared;
	u32 count;
	int r;

	while (level && !cursor->nodes[level - 1].index)
		level--;
	for (; level < cursor->depth; level++) {
		if (!node_is_sound(dm_block_data(cursor->nodes[level].b),
				   level + 1 == cursor->depth, value_size))
			return -EILSEQ;
		if (!c)
			continue;
		shared = level && c->shared[level - 1];
		r = __meet(c, dm_block_location(cursor->nodes[level].b), shared, &count);
		if (r)
			return r;
		c->shared[level] = shared || count > 1;
	}
	return 0;
}

/* ---- trees ---- */

/* What dm_btree_cursor_get_value() copies; of a leaf that fits. */
static const void *leaf_value(const struct dm_btree_cursor *cursor)
{
	const struct cursor_node *node = &cursor->nodes[cursor->depth - 1];
	const struct node_header *leaf = dm_block_data(node->b);

	return (const u8 *)(leaf + 1) + le32_to_cpu(leaf->max_entries) * sizeof(__le64) +
	       node->index * le32_to_cpu(leaf->value_size);
}

/*
 * r: what the cursor ended with, after nr values.  Behind the last one it has left all
 * nodes.  A node that cannot be read (a medium error) gives -ENODATA as well: its parent,
 * if it has one, is still there.  Only a root may be a leaf that is empty.
 */
static int __end_btree(const struct dm_btree_cursor *cursor, int r, unsigned int nr,
		       u32 value_size, struct tier_census *c)
{
	const struct node_header *node;

	if (r != -ENODATA)
		return r;
	if (!cursor->depth)
		return nr ? 0 : -EIO;
	node = dm_block_data(cursor->nodes[cursor->depth - 1].b);
	if (!(le32_to_cpu(node->flags) & LEAF_NODE) || node->nr_entries)
		return -EIO;
	return cursor->depth == 1 ? __enter_nodes(cursor, value_size, c) : -EILSEQ;
}

int __tier_walk_btree(const struct dm_btree_info *info, u64 root, unsigned int max,
		      struct tier_census *c,
		      int (*fn)(void *context, u64 key, const void *value), void *context)
{
	u32 value_size = info->value_type.size;
	struct dm_btree_info nodes = *info;
	struct dm_btree_cursor cursor;
	unsigned int i = 0;
	u64 key, last = 0;
	__le64 ignored;
	int r;

	/*
	 * At a node that is no leaf the library's cursor stops the kernel, unless the
	 * tree's values have the size of a block's number.
	 */
	nodes.value_type.size = sizeof(ignored);
	r = dm_btree_cursor_begin(&nodes, root, false, &cursor);
	while (!r) {
		r = __enter_nodes(&cursor, value_size, c) ? :
		    dm_btree_cursor_get_value(&cursor, &key, &ignored);
		/* The order rules out a damaged tree that never ends. */
		if (!r && (i == max || (i && key <= last)))
			r = -EILSEQ;
		if (!r && fn)
			r = fn(context, key, leaf_value(&cursor));
		if (r)
			goto out;
		last = key;
		i++;
		r = dm_btree_cursor_next(&cursor);
	}
	r = __end_btree(&cursor, r, i, value_size, c);
out:
	dm_btree_cursor_end(&cursor);
	return r;
}

/* ---- arrays ---- */

/*
 * If a parent's key is less than the child's first one, whoever looks for one between them
 * ends up in that child, in front of all it has; if it is greater, in the one before.
 * Either way the commit fails.
 */
static bool parents_lead_here(const struct dm_btree_cursor *cursor, u64 key)
{
	const struct cursor_node *node = &cursor->nodes[cursor->depth - 1];

	for (; node > cursor->nodes && !node->index; node--) {
		const struct node_header *parent = dm_block_data(node[-1].b);
		const __le64 *keys = (const __le64 *)(parent + 1);

		if (le64_to_cpu(keys[node[-1].index]) != key)
			return false;
	}
	return true;
}

/*
 * Whether the block the cursor just entered is the one that holds index, with
 * as many values of the right size as an array of nr has there.  Checking this
 * for every block finds any tree that the library would stumble over.
 */
static bool block_in_place(struct dm_array_cursor *cursor, u64 index, u64 nr)
{
	u32 size = cursor->info->value_type.size;
	u32 per_block = tier_md_per_block(size);
	__le64 block;
	u64 key;

	return le32_to_cpu(cursor->ab->value_size) == size &&
	       le32_to_cpu(cursor->ab->max_entries) == per_block &&
	       !dm_btree_cursor_get_value(&cursor->cursor, &key, &block) &&
	       parents_lead_here(&cursor->cursor, key) && key < nr && key * per_block == index &&
	       le32_to_cpu(cursor->ab->nr_entries) == min_t(u64, per_block, nr - index);
}

/* The block of index, and the nodes above it that are new. */
static int __enter_block(struct dm_array_cursor *cursor, u64 index, u64 nr,
			 struct tier_census *c)
{
	u32 count;
	int r;

	cond_resched();
	if (index >= nr)
		return -EILSEQ;
	r = __enter_nodes(&cursor->cursor, sizeof(__le64), c);
	if (r)
		return r;
	if (!block_in_place(cursor, index, nr))
		return -EILSEQ;
	return !c ? 0 : __meet(c, dm_block_location(cursor->block),
			       c->shared[cursor->cursor.depth - 1], &count);
}

/*
 * An array's cursor fetches ahead what a node names as soon as it has read that: from where
 * the node says that its values lie, before anybody could look at it.
 */
static int __begin_array(struct dm_array_info *info, u64 root, u64 nr,
			 struct dm_array_cursor *cursor)
{
	u32 per_block = tier_md_per_block(info->value_type.size);
	int r;

	r = __tier_walk_btree(&info->btree_info, root, DIV_ROUND_UP_ULL(nr, per_block), NULL, NULL,
			      NULL);
	if (r)
		return r;
	r = dm_array_cursor_begin(info, root, cursor);
	if (r) {
		dm_array_cursor_end(cursor);
		/* Which in older kernels leaves the root locked if that is an empty leaf. */
		dm_btree_cursor_end(&cursor->cursor);
	}
	return r == -ENODATA ? -EILSEQ : r;
}

int __tier_walk_array(struct dm_array_info *info, u64 root, u64 nr, u64 first, u64 end,
		      struct tier_census *c,
		      int (*fn)(void *context, u64 index, u32 nr, const void *values),
		      void *context)
{
	struct dm_array_cursor cursor;
	struct blk_plug plug;
	void *values;
	u64 i = 0;
	u32 here;
	int r;

	/* The cursor fetches each block ahead with a bio of its own; neighbours can be merged. */
	blk_start_plug(&plug);
	r = __begin_array(info, root, nr, &cursor);
	if (r)
		goto unplug;
	while (!r) {
		r = __enter_block(&cursor, i, nr, c);
		if (r || i >= end)
			goto out;
		here = le32_to_cpu(cursor.ab->nr_entries);
		if (fn && i >= first) {
			dm_array_cursor_get_value(&cursor, &values);
			r = fn(context, i, here, values);
			if (r)
				goto out;
		}
		i += here;
		/* Before 6.1.128 a skip over more than one block went astray. */
		r = dm_array_cursor_skip(&cursor, here - 1) ? : dm_array_cursor_next(&cursor);
	}
	if (r == -ENODATA)
		/* Not at an empty leaf, either, behind which there may be anything. */
		r = i == nr && !cursor.cursor.depth ? 0 : -EILSEQ;
out:
	dm_array_cursor_end(&cursor);
unplug:
	blk_finish_plug(&plug);
	return r;
}

int __tier_md_walk_mapping(struct tier_metadata *md,
			   int (*fn)(void *context, u64 index, u32 nr, const void *values),
			   void *context)
{
	int r = 0;

	if (!md->counted) {
		tier_md_free_census(md);
		md->census = kzalloc(sizeof(*md->census), GFP_NOIO);
		r = md->census ? __begin_census(md, md->census) : -ENOMEM;
	}
	r = r ? : __tier_walk_array(&md->mapping_info, md->roots.mapping, md->info.nr_chunks, 0,
				    md->info.nr_chunks, md->census, fn, context);
	if (r)
		tier_md_free_census(md);
	return r;
}

/* ---- the blocks in use ---- */

static int __meet_array(struct tier_census *c, struct dm_array_info *info, u64 root, u64 nr)
{
	return __tier_walk_array(info, root, nr, 0, nr, c, NULL, NULL);
}

/* All but the mapping. */
static int __meet_trees(struct tier_census *c, const struct tier_meta_roots *roots, u64 nr_chunks)
{
	struct tier_metadata *md = c->md;

	return __meet_array(c, &md->heat_info, roots->heat, nr_chunks) ? :
	       __tier_walk_btree(&md->tiers_info, roots->tiers, TIER_MAX_TIERS, c, NULL, NULL) ? :
	       __tier_walk_btree(&md->tunables_info, roots->tunables, TIER_MAX_TUNABLES, c, NULL,
				 NULL);
}

/*
 * The space map's tree of large counts.  There are none, and where there is no empty leaf
 * the library may look for one for ever: to be called before any count is looked up.
 */
static int __no_large_counts(struct tier_metadata *md, struct tier_census *c)
{
	struct disk_sm_root root = tier_md_sm_root(md);
	struct dm_btree_info info;

	init_btree(&info, md->tm, sizeof(__le32));
	return __tier_walk_btree(&info, le64_to_cpu(root.ref_count_root), 0, c, NULL, NULL);
}

/* All but the mapping that must not be counted down by mistake and can be taken for a tree. */
static int __meet_live(struct tier_census *c)
{
	return __meet_block(c, TIER_SUPERBLOCK_LOCATION) ? : __no_large_counts(c->md, c) ? :
	       __meet_trees(c, &c->md->roots, c->md->info.nr_chunks);
}

int __tier_md_take_census(struct tier_metadata *md)
{
	int r;

	r = md->census ? 0 : __tier_md_walk_mapping(md, NULL, NULL);
	r = r ? : __meet_live(md->census) ? : __judge_space_map(md->census);
	tier_md_free_census(md);
	return r;
}

int __tier_md_judge_held(struct tier_metadata *md, const struct tier_meta_roots *held,
			 u64 nr_chunks)
{
	struct tier_census live = { }, c = { };
	int r;

	r = __tier_md_judge_nodes(md, held) ? : __begin_census(md, &live) ? :
	    __meet_array(&live, &md->mapping_info, md->roots.mapping, md->info.nr_chunks) ? :
	    __meet_live(&live) ? : __begin_census(md, &c);
	c.live = live.met;
	r = r ? : __meet_block(&c, md->info.held_root) ? :
	    __meet_array(&c, &md->mapping_info, held->mapping, nr_chunks) ? :
	    __meet_trees(&c, held, nr_chunks);
	vfree(c.met);
	vfree(live.met);
	return r;
}
