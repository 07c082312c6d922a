// SPDX-License-Identifier: GPL-2.0-only
#include "format/pd.h"

#include <string.h>

static_assert(sizeof(struct md_btree_node) == 32);
static_assert(sizeof(struct md_array_block) == 24);
static_assert(sizeof(struct md_index_block) == MD_BLOCK);
static_assert(sizeof(struct md_bitmap_block) == MD_BLOCK);

/* The checksum is the first field of every kind and covers all that follows it. */
static u32 csum(const void *block, u32 xor)
{
	return tier_checksum((const u8 *)block + sizeof(__le32), MD_BLOCK - sizeof(__le32), xor);
}

static const char *judge(const void *block, u64 written_for, u64 number, u32 xor)
{
	__le32 found;

	memcpy(&found, block, sizeof(found));
	if (le32_to_cpu(found) != csum(block, xor))
		return "checksum";
	return written_for == number ? NULL : "it belongs to another block";
}

static void seal(void *block, u32 xor)
{
	__le32 sum = cpu_to_le32(csum(block, xor));

	memcpy(block, &sum, sizeof(sum));
}

const char *md_judge_node(const struct md_btree_node *n, u64 block, u32 value_size)
{
	const char *why = judge(n, le64_to_cpu(n->blocknr), block, MD_BTREE_CSUM_XOR);
	u32 flags = le32_to_cpu(n->flags);

	if (why)
		return why;
	if (flags != MD_BTREE_INTERNAL && flags != MD_BTREE_LEAF)
		return "neither leaf nor internal";
	if (flags == MD_BTREE_INTERNAL)
		value_size = sizeof(__le64);
	if (le32_to_cpu(n->value_size) != value_size)
		return "size of its values";
	if (le32_to_cpu(n->max_entries) != md_node_max(value_size) ||
	    le32_to_cpu(n->nr_entries) > md_node_max(value_size))
		return "number of its entries";
	return NULL;
}

const char *md_judge_array(const struct md_array_block *a, u64 block, u32 value_size)
{
	const char *why = judge(a, le64_to_cpu(a->blocknr), block, MD_ARRAY_CSUM_XOR);

	if (why)
		return why;
	if (le32_to_cpu(a->value_size) != value_size)
		return "size of its values";
	if (le32_to_cpu(a->max_entries) != md_array_max(value_size) ||
	    le32_to_cpu(a->nr_entries) > md_array_max(value_size))
		return "number of its entries";
	return NULL;
}

const char *md_judge_index(const struct md_index_block *x, u64 block)
{
	return judge(x, le64_to_cpu(x->blocknr), block, MD_INDEX_CSUM_XOR);
}

const char *md_judge_bitmap(const struct md_bitmap_block *b, u64 block)
{
	return judge(b, le64_to_cpu(b->blocknr), block, MD_BITMAP_CSUM_XOR);
}

void md_seal_node(struct md_btree_node *n, u64 block)
{
	n->blocknr = cpu_to_le64(block);
	seal(n, MD_BTREE_CSUM_XOR);
}

void md_seal_array(struct md_array_block *a, u64 block)
{
	a->blocknr = cpu_to_le64(block);
	seal(a, MD_ARRAY_CSUM_XOR);
}

void md_seal_index(struct md_index_block *x, u64 block)
{
	x->blocknr = cpu_to_le64(block);
	seal(x, MD_INDEX_CSUM_XOR);
}

void md_seal_bitmap(struct md_bitmap_block *b, u64 block)
{
	b->blocknr = cpu_to_le64(block);
	seal(b, MD_BITMAP_CSUM_XOR);
}

/* The high bit of a count comes first. */
unsigned int md_bitmap_get(const struct md_bitmap_block *b, unsigned int i)
{
	unsigned int pair = b->bits[i / 4] >> i % 4 * 2 & 3;

	return (pair & 1) << 1 | pair >> 1;
}

void md_bitmap_set(struct md_bitmap_block *b, unsigned int i, unsigned int count)
{
	unsigned int shift = i % 4 * 2;
	unsigned int pair = (count & 1) << 1 | (count >> 1 & 1);

	b->bits[i / 4] = (b->bits[i / 4] & ~(3U << shift)) | pair << shift;
}
