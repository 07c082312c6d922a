// SPDX-License-Identifier: GPL-2.0-only
#include "format/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "dm-tier/metadata/space.h"

#define PIECE_BLOCKS	1024

/* Blocks are written one after the other, in large pieces. */
struct build {
	int fd;
	u64 nr_blocks;
	u64 next;		/* block to be written next */
	unsigned int filled;	/* blocks in piece, which end at next */
	u8 *piece;
	int r;			/* the first error */
};

u64 md_build_needs(u64 nr_chunks)
{
	return tier_md_blocks_needed(nr_chunks);
}

bool md_build_fits(u64 nr_chunks)
{
	return nr_chunks <= TIER_MAX_CHUNKS && md_build_needs(nr_chunks) <= MD_MAX_BLOCKS;
}

static void flush(struct build *b)
{
	if (!b->r && b->filled)
		b->r = write_fully(b->fd, (b->next - b->filled) * MD_BLOCK, b->piece,
				   (size_t)b->filled * MD_BLOCK);
	b->filled = 0;
}

/* A zeroed block, which the caller fills and seals for b->next before done(). */
static void *fresh(struct build *b)
{
	u8 *block;

	if (b->filled == PIECE_BLOCKS)
		flush(b);
	block = b->piece + (size_t)b->filled * MD_BLOCK;
	memset(block, 0, MD_BLOCK);
	return block;
}

static void done(struct build *b)
{
	if (b->next >= b->nr_blocks && !b->r)
		b->r = -ENOSPC;
	b->next++;
	b->filled++;
}

/*
 * Trees
 */

/* The entries of a level of a tree, in order of key. */
struct entries {
	size_t nr;
	u64 *key;
	u8 *value;
	u32 value_size;
};

static void entries_init(struct entries *e, size_t room, u32 value_size)
{
	*e = (struct entries){ .value_size = value_size };
	e->key = xcalloc(room, sizeof(*e->key));
	e->value = xcalloc(room, value_size);
}

static void entries_add(struct entries *e, u64 key, const void *value)
{
	e->key[e->nr] = key;
	memcpy(e->value + e->nr++ * e->value_size, value, e->value_size);
}

static void entries_free(struct entries *e)
{
	free(e->key);
	free(e->value);
}

static void write_node(struct build *b, const struct entries *e, size_t first, u32 nr, u32 flags)
{
	struct md_btree_node *n = fresh(b);
	u32 i;

	n->flags = cpu_to_le32(flags);
	n->nr_entries = cpu_to_le32(nr);
	n->max_entries = cpu_to_le32(md_node_max(e->value_size));
	n->value_size = cpu_to_le32(e->value_size);
	for (i = 0; i < nr; i++)
		n->keys[i] = cpu_to_le64(e->key[first + i]);
	if (nr)
		memcpy((void *)md_node_value(n, 0), e->value + first * e->value_size,
		       (size_t)nr * e->value_size);
	md_seal_node(n, b->next);
	done(b);
}

/* Shares the entries out evenly: no node is nearly empty. */
static void write_level(struct build *b, const struct entries *e, struct entries *above, u32 flags)
{
	u64 nodes = DIV_ROUND_UP_ULL(e->nr, md_node_max(e->value_size)), i;
	size_t first = 0;

	entries_init(above, nodes, sizeof(__le64));
	for (i = 0; i < nodes; i++) {
		size_t end = e->nr * (i + 1) / nodes;
		__le64 block = cpu_to_le64(b->next);

		entries_add(above, e->key[first], &block);
		write_node(b, e, first, end - first, flags);
		first = end;
	}
}

/* Frees the entries; returns the root's block. */
static u64 write_tree(struct build *b, struct entries *e)
{
	u32 flags = MD_BTREE_LEAF;
	struct entries above;

	while (e->nr > md_node_max(e->value_size)) {
		write_level(b, e, &above, flags);
		entries_free(e);
		*e = above;
		flags = MD_BTREE_INTERNAL;
	}
	write_node(b, e, 0, e->nr, flags);
	entries_free(e);
	return b->next - 1;
}

/*
 * Arrays
 */

/* Writes the mapping, or heat (values of 4 bytes). */
static u64 write_array(struct build *b, const struct md_content *c, u32 value_size)
{
	u32 per_block = md_array_max(value_size), j;
	u64 nr_blocks = DIV_ROUND_UP_ULL(c->info.nr_chunks, per_block), i;
	struct entries e;

	entries_init(&e, nr_blocks, sizeof(__le64));
	for (i = 0; i < nr_blocks; i++) {
		u64 first = i * per_block, left = c->info.nr_chunks - first;
		u32 nr = left < per_block ? left : per_block;
		struct md_array_block *a = fresh(b);
		__le64 block = cpu_to_le64(b->next);

		a->max_entries = cpu_to_le32(per_block);
		a->nr_entries = cpu_to_le32(nr);
		a->value_size = cpu_to_le32(value_size);
		for (j = 0; j < nr; j++) {
			__le64 value = cpu_to_le64(value_size == sizeof(value) ? c->mapping[first + j] :
						   c->heat[first + j]);

			/* The low bytes come first. */
			memcpy(a->values + j * value_size, &value, value_size);
		}
		md_seal_array(a, b->next);
		done(b);
		entries_add(&e, i, &block);
	}
	return write_tree(b, &e);
}

static u64 write_tiers(struct build *b, const struct md_content *c)
{
	struct tier_record record;
	struct entries e;
	unsigned int i;

	entries_init(&e, c->tiers.nr, sizeof(record));
	for (i = 0; i < c->tiers.nr; i++) {
		tier_record_pack(&record, &c->tiers.tier[i]);
		entries_add(&e, c->tiers.tier[i].id, &record);
	}
	return write_tree(b, &e);
}

static u64 write_tunables(struct build *b, const struct md_content *c)
{
	struct tier_tunable_record record;
	struct entries e;
	unsigned int i;

	entries_init(&e, c->tunables.nr, sizeof(record));
	for (i = 0; i < c->tunables.nr; i++) {
		memcpy(record.name, c->tunables.tunable[i].name, sizeof(record.name));
		record.value = cpu_to_le64(c->tunables.tunable[i].value);
		entries_add(&e, i, &record);
	}
	return write_tree(b, &e);
}

/*
 * Space map: every block below the last that is written is in use, once.
 */

static u32 used_of(u64 used, u64 bitmap)
{
	u64 first = bitmap * MD_BITMAP_BLOCKS;

	if (used <= first)
		return 0;
	return used - first < MD_BITMAP_BLOCKS ? used - first : MD_BITMAP_BLOCKS;
}

static void write_space_map(struct build *b, u8 root[TIER_SPACE_MAP_ROOT_SIZE])
{
	u64 bitmaps = DIV_ROUND_UP_ULL(b->nr_blocks, MD_BITMAP_BLOCKS), first = b->next, i;
	u64 used = first + bitmaps + 2;	/* and the index, and the tree of large counts */
	struct md_space_map_root r = {
		.nr_blocks = cpu_to_le64(b->nr_blocks),
		.nr_allocated = cpu_to_le64(used),
	};
	struct md_index_block *index;
	struct entries none;
	u32 j;

	for (i = 0; i < bitmaps; i++) {
		struct md_bitmap_block *bitmap = fresh(b);

		for (j = 0; j < used_of(used, i); j++)
			md_bitmap_set(bitmap, j, 1);
		md_seal_bitmap(bitmap, b->next);
		done(b);
	}
	r.index = cpu_to_le64(b->next);
	index = fresh(b);
	for (i = 0; i < bitmaps; i++) {
		index->entry[i].blocknr = cpu_to_le64(first + i);
		index->entry[i].nr_free = cpu_to_le32(MD_BITMAP_BLOCKS - used_of(used, i));
		index->entry[i].none_free_before = cpu_to_le32(used_of(used, i));
	}
	md_seal_index(index, b->next);
	done(b);

	entries_init(&none, 0, sizeof(__le32));
	r.overflow = cpu_to_le64(write_tree(b, &none));
	memset(root, 0, TIER_SPACE_MAP_ROOT_SIZE);
	memcpy(root, &r, sizeof(r));
}

static void write_blocks(struct build *b, const struct md_content *c, struct tier_meta_roots *roots)
{
	roots->mapping = write_array(b, c, sizeof(__le64));
	roots->heat = write_array(b, c, sizeof(__le32));
	roots->tiers = write_tiers(b, c);
	roots->tunables = write_tunables(b, c);
	roots->nr_tunables = c->tunables.nr;
	write_space_map(b, roots->space_map);
	flush(b);
}

/* Writes block 0 and all before it to stable storage. */
static int write_block0(struct build *b)
{
	b->r = fsync(b->fd) ? -errno : write_fully(b->fd, 0, b->piece, MD_BLOCK);
	if (!b->r && fsync(b->fd))
		b->r = -errno;
	return b->r;
}

int md_build(int fd, u64 nr_blocks, const struct md_content *c)
{
	struct tier_meta_info info = c->info;
	struct tier_meta_roots roots = { 0 };
	struct build b = { .fd = fd, .nr_blocks = nr_blocks, .next = 1 };

	if (b.nr_blocks > MD_MAX_BLOCKS)
		b.nr_blocks = MD_MAX_BLOCKS;
	if (b.nr_blocks < md_build_needs(info.nr_chunks))
		return -ENOSPC;
	if (posix_memalign((void **)&b.piece, MD_BLOCK, (size_t)PIECE_BLOCKS * MD_BLOCK))
		out_of_memory();
	memset(b.piece, 0, MD_BLOCK);
	if (!write_block0(&b))
		write_blocks(&b, c, &roots);
	if (!b.r) {
		info.held_root = 0;
		/* Nothing is built of what is not known. */
		info.compat_flags &= TIER_FEATURES_COMPAT;
		memset(b.piece, 0, MD_BLOCK);
		tier_superblock_pack(b.piece, &info, &roots);
		tier_superblock_seal(b.piece, TIER_SUPERBLOCK_LOCATION);
		b.r = write_block0(&b);
	}
	free(b.piece);
	return b.r;
}
