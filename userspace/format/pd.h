/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Blocks of dm-persistent-data on disk: nodes of B-trees, blocks of arrays, the space map's
 * index and bitmaps.
 */
#ifndef TIER_LIB_PD_H
#define TIER_LIB_PD_H

#include "dm-tier/format-code.h"

#define MD_BLOCK		TIER_METADATA_BLOCK_SIZE

/* Keep checksums of different kinds of block apart. */
#define MD_BTREE_CSUM_XOR	121107U
#define MD_ARRAY_CSUM_XOR	595846735U
#define MD_INDEX_CSUM_XOR	160478U
#define MD_BITMAP_CSUM_XOR	240779U

#define MD_BTREE_INTERNAL	1U
#define MD_BTREE_LEAF		2U

struct md_btree_node {
	__le32 csum;
	__le32 flags;
	__le64 blocknr;
	__le32 nr_entries;
	__le32 max_entries;
	__le32 value_size;
	__le32 padding;
	__le64 keys[];		/* max_entries of them, then the values */
} __attribute__((packed));

struct md_array_block {
	__le32 csum;
	__le32 max_entries;
	__le32 nr_entries;
	__le32 value_size;
	__le64 blocknr;
	__u8 values[];
} __attribute__((packed));

/* The space map's root, at the beginning of the superblock's 128 bytes for it. */
struct md_space_map_root {
	__le64 nr_blocks;
	__le64 nr_allocated;
	__le64 index;		/* block of the index */
	__le64 overflow;	/* btree: block -> count, of counts above 2 */
};

#define MD_MAX_BITMAPS		255

struct md_index_entry {
	__le64 blocknr;
	__le32 nr_free;
	__le32 none_free_before;
};

struct md_index_block {
	__le32 csum;
	__le32 padding;
	__le64 blocknr;
	struct md_index_entry entry[MD_MAX_BITMAPS];
};

/* Two bits for each block: 0, 1, 2, or 3 for more. */
struct md_bitmap_block {
	__le32 csum;
	__le32 padding;
	__le64 blocknr;
	__u8 bits[MD_BLOCK - 16];
};

#define MD_BITMAP_BLOCKS	((u64)(MD_BLOCK - 16) * 4)	/* blocks of one bitmap */
#define MD_MAX_BLOCKS		(MD_MAX_BITMAPS * MD_BITMAP_BLOCKS)
#define MD_COUNT_OVERFLOW	3

/* Number of values in a block of an array, number of entries in a node. */
static inline u32 md_array_max(u32 value_size)
{
	return (MD_BLOCK - sizeof(struct md_array_block)) / value_size;
}

static inline u32 md_node_max(u32 value_size)
{
	return (MD_BLOCK - sizeof(struct md_btree_node)) / (sizeof(__le64) + value_size) / 3 * 3;
}

static inline u64 md_node_key(const struct md_btree_node *n, u32 i)
{
	return le64_to_cpu(n->keys[i]);
}

/* A value of a node that was checked. */
static inline const void *md_node_value(const struct md_btree_node *n, u32 i)
{
	return (const u8 *)&n->keys[le32_to_cpu(n->max_entries)] +
	       (size_t)i * le32_to_cpu(n->value_size);
}

/* The count in a bitmap for its block i. */
unsigned int md_bitmap_get(const struct md_bitmap_block *b, unsigned int i);
void md_bitmap_set(struct md_bitmap_block *b, unsigned int i, unsigned int count);

/*
 * Checks that the data read from block is of that kind and undamaged: NULL, or a few words about
 * the error. value_size is the size of a leaf's values, or of the array's.
 */
const char *md_judge_node(const struct md_btree_node *n, u64 block, u32 value_size);
const char *md_judge_array(const struct md_array_block *a, u64 block, u32 value_size);
const char *md_judge_index(const struct md_index_block *x, u64 block);
const char *md_judge_bitmap(const struct md_bitmap_block *b, u64 block);

/* Set the block's number and checksum. */
void md_seal_node(struct md_btree_node *n, u64 block);
void md_seal_array(struct md_array_block *a, u64 block);
void md_seal_index(struct md_index_block *x, u64 block);
void md_seal_bitmap(struct md_bitmap_block *b, u64 block);

#endif
