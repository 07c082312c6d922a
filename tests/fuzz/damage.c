// SPDX-License-Identifier: GPL-2.0-only
/* Random changes to an image of metadata; most of the time the checksums are corrected. */
#include "fuzz.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK		4096

#define KIND_SUPER	0x7e12a5c3
#define KIND_NODE	121107		/* of a btree */
#define KIND_ARRAY	595846735	/* a block of values */
#define KIND_BITMAP	240779		/* of the space map */
#define KIND_INDEX	160478		/* of the bitmaps of the space map */

/* The kinds of block, by the value that their checksum is mixed with. */
static const uint32_t kinds[] = {
	KIND_SUPER,
	KIND_NODE,
	KIND_ARRAY,
	KIND_BITMAP,
	KIND_INDEX,
};

static uint32_t crc_table[256];

static uint32_t checksum(const uint8_t *block, uint32_t xor)
{
	uint32_t crc = ~0U;
	unsigned int i, bit;

	if (!crc_table[1])
		for (i = 0; i < 256; i++) {
			crc_table[i] = i;
			for (bit = 0; bit < 8; bit++)
				crc_table[i] = crc_table[i] >> 1 ^
					       (crc_table[i] & 1 ? 0x82f63b78 : 0);
		}
	for (i = 4; i < BLOCK; i++)
		crc = crc >> 8 ^ crc_table[(crc ^ block[i]) & 0xff];
	return crc ^ xor;
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, 4);
}

struct block {
	uint32_t number;
	uint32_t kind;		/* of kinds[] */
};

static struct block *blocks;
static unsigned int nr_blocks;

unsigned int damage_blocks(void)
{
	return nr_blocks;
}

void damage_init(const uint8_t *image, size_t len)
{
	unsigned int i, k;
	uint32_t csum;

	blocks = calloc(len / BLOCK, sizeof(*blocks));
	if (!blocks)
		die("out of memory");
	for (i = 0; i < len / BLOCK; i++) {
		memcpy(&csum, image + i * BLOCK, 4);
		for (k = 0; csum && k < sizeof(kinds) / sizeof(kinds[0]); k++)
			if (le32toh(csum) == checksum(image + i * BLOCK, kinds[k]))
				blocks[nr_blocks++] = (struct block){ i, kinds[k] };
	}
	if (nr_blocks < 5)
		die("only %u blocks of metadata", nr_blocks);
}

static uint64_t odd_number(struct rng *r)
{
	static const uint64_t numbers[] = {
		0, 1, 2, 3, 7, 8, 126, 127, 252, 509, 510, 1018, 4096, 0xffff, 0x7fffffff,
		0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
		0xffffffffffffffff,
	};

	return rng_chance(r, 3) ? rng_below(r, 300) : PICK(r, numbers);
}

/* The entries of the mapping: a place, a tier, a pin, flags. */
static void damage_entry(struct rng *r, uint8_t *block)
{
	uint8_t *entry = block + 24 + 8 * rng_below(r, 60);
	uint8_t *other = block + 24 + 8 * rng_below(r, 60);

	switch (rng_below(r, 5)) {
	case 0:
		put64(entry, get64(other));
		break;
	case 1:
		put64(entry, get64(entry) ^ 1ULL << rng_below(r, 64));
		break;
	case 2:
		put64(entry, (get64(entry) & ~0xffffULL) | rng_below(r, 80));
		break;
	case 3:
		put64(entry, get64(entry) ^ 1ULL << 40);
		break;
	default:
		put64(entry, 1ULL << 56 | (uint64_t)rng_below(r, 3) << 40 | rng_below(r, 80));
	}
}

static void damage_block(struct rng *r, uint8_t *image, const struct block *b)
{
	uint8_t *block = image + (size_t)b->number * BLOCK;
	unsigned int at, other;

	switch (rng_below(r, 8)) {
	case 0:
		block[rng_below(r, BLOCK)] ^= 1 << rng_below(r, 8);
		break;
	case 1:
		put32(block + 4 * rng_below(r, BLOCK / 4), odd_number(r));
		break;
	case 2:
		put64(block + 8 * rng_below(r, BLOCK / 8), odd_number(r));
		break;
	case 3:		/* the header */
		put32(block + 4 + 4 * rng_below(r, 9), odd_number(r));
		break;
	case 4:		/* where superblock, nodes and space maps have important fields */
		put64(block + 8 * rng_below(r, 64), odd_number(r));
		break;
	case 5:		/* another block's content */
		other = blocks[rng_below(r, nr_blocks)].number;
		memmove(block + 24, image + (size_t)other * BLOCK + 24, BLOCK - 24);
		break;
	case 6:
		at = rng_below(r, BLOCK);
		memset(block + at, rng_chance(r, 2) ? 0 : 0xff, rng_below(r, BLOCK - at));
		break;
	default:
		if (b->kind == KIND_ARRAY)
			damage_entry(r, block);
		else
			block[4 + rng_below(r, 508)] ^= 1 << rng_below(r, 8);
	}
}

static void seal_block(uint8_t *image, const struct block *b)
{
	uint8_t *block = image + (size_t)b->number * BLOCK;

	put32(block, checksum(block, b->kind));
}

/* ---- changes that are known to be dangerous ---- */

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return le32toh(v);
}

static bool is_leaf(const uint8_t *block)
{
	return get32(block + 4) == 2;
}

/* A value of 8 bytes. */
static uint8_t *value_at(uint8_t *leaf, unsigned int i)
{
	return leaf + 32 + 8 * get32(leaf + 20) + 8 * i;
}

static const struct block *block_at(uint64_t number)
{
	unsigned int n;

	for (n = 0; n < nr_blocks; n++)
		if (blocks[n].number == number)
			return &blocks[n];
	die("block %" PRIu64 " is none of the metadata's", number);
}

static const struct block *index_of(const uint8_t *image)
{
	return block_at(get64(image + 64 + 16));
}

/* The bitmap of the space map that counts the first blocks. */
static const struct block *bitmap_of(const uint8_t *image)
{
	const struct block *b = block_at(get64(image + (size_t)index_of(image)->number * BLOCK + 16));

	if (b->kind != KIND_BITMAP)
		die("the space map has no bitmap");
	return b;
}

/* The two bits with the count of a block. */
static uint8_t *count_of(uint8_t *image, const struct block *b, uint8_t *mask)
{
	*mask = 3 << (b->number % 4 * 2);
	return image + (size_t)bitmap_of(image)->number * BLOCK + 16 + b->number / 4;
}

static bool in_use(uint8_t *image, const struct block *b)
{
	uint8_t mask, *count = count_of(image, b, &mask);

	return *count & mask;
}

/* A leaf marked as no leaf; a bitmap with counts above 2, which must be looked up elsewhere. */
static bool mistake(uint8_t *image, const struct block *b)
{
	uint8_t *block = image + (size_t)b->number * BLOCK;

	if (b->kind == KIND_NODE)
		block[4] ^= 3;
	else if (b->kind == KIND_BITMAP)
		memset(block + 16, 0xff, 4);
	else
		return false;
	seal_block(image, b);
	return true;
}

static bool reshape(uint8_t *image, const struct block *b, uint32_t value_size, uint32_t max,
		    uint32_t nr)
{
	uint8_t *block = image + (size_t)b->number * BLOCK;

	if (b->kind != KIND_NODE || !is_leaf(block))
		return false;
	put32(block + 16, nr);
	put32(block + 20, max);
	put32(block + 24, value_size);
	return true;
}

/* All values lie behind the block: the library reads beyond it. */
static bool values_outside(uint8_t *image, const struct block *b)
{
	if (!reshape(image, b, 0, 508, 508))
		return false;
	seal_block(image, b);
	return true;
}

/* The same in an inner node, whose children the library reads ahead. */
static bool blocks_outside(uint8_t *image, const struct block *b)
{
	if (!values_outside(image, b))
		return false;
	put32(image + (size_t)b->number * BLOCK + 4, 1);
	seal_block(image, b);
	return true;
}

/* A node that is full, and so is split when a value is added. */
static bool no_room(uint8_t *image, const struct block *b)
{
	uint8_t *block = image + (size_t)b->number * BLOCK, *values;
	uint32_t nr = get32(block + 16), size = get32(block + 24);

	if (b->kind != KIND_NODE || !nr || nr == get32(block + 20))
		return false;
	values = value_at(block, 0);
	memmove(block + 32 + 8 * nr, values, nr * size);
	put32(block + 20, nr);
	seal_block(image, b);
	return true;
}

/* Marks a free block as in use, once. */
static void take(uint8_t *image, const struct block *b)
{
	const struct block *index = index_of(image);
	uint8_t mask, *count = count_of(image, b, &mask);
	uint8_t *free = image + (size_t)index->number * BLOCK + 24;

	*count |= mask & 0xaa;
	seal_block(image, bitmap_of(image));
	put32(free, get32(free) - 1);
	seal_block(image, index);
	put64(image + 64 + 8, get64(image + 64 + 8) + 1);
	seal_block(image, block_at(0));
}

/* The same above a good leaf, which gets the place of a freed node. */
static bool no_room_above(uint8_t *image, const struct block *b)
{
	uint8_t *block = image + (size_t)b->number * BLOCK, *leaf;
	unsigned int i;

	if (b->kind != KIND_NODE || !is_leaf(block) || get32(block + 24) != 8)
		return false;
	for (i = 0; i < nr_blocks; i++)
		if (blocks[i].kind == KIND_NODE && !in_use(image, &blocks[i]))
			break;
	if (i == nr_blocks)
		return false;
	leaf = image + (size_t)blocks[i].number * BLOCK;
	memcpy(leaf, block, BLOCK);
	put64(leaf + 8, blocks[i].number);
	seal_block(image, &blocks[i]);
	take(image, &blocks[i]);
	put32(block + 4, 1);
	put32(block + 16, 1);
	put32(block + 20, 1);
	put32(block + 24, 8);
	put64(block + 32, 0);
	put64(value_at(block, 0), blocks[i].number);
	seal_block(image, b);
	return true;
}

/*
 * In half of these nodes the values are too small. The others name each block of values once,
 * also another array's.
 */
static bool values_too_small(uint8_t *image, const struct block *b)
{
	uint8_t *block = image + (size_t)b->number * BLOCK;
	unsigned int i;

	if (!reshape(image, b, 4, 338, 169))
		return false;
	for (i = 0; i < 169; i++)
		put64(value_at(block, i), i < nr_blocks && blocks[i].kind == KIND_ARRAY &&
		      in_use(image, &blocks[i]) ? blocks[i].number : ~0ULL);
	seal_block(image, b);
	return true;
}

static bool counted_as_free(uint8_t *image, const struct block *b)
{
	uint8_t mask, *count = count_of(image, b, &mask);

	*count &= ~mask;
	seal_block(image, bitmap_of(image));
	return true;
}

/*
 * A leaf of block numbers gets the numbers of the next leaf: one of the two may be a snapshot's.
 */
static bool same_values(uint8_t *image, const struct block *b)
{
	uint8_t *block = image + (size_t)b->number * BLOCK, *other;
	const struct block *o;
	unsigned int i;

	if (b->kind != KIND_NODE || !is_leaf(block) || get32(block + 24) != 8)
		return false;
	for (i = 1; i < nr_blocks; i++) {
		o = &blocks[(b - blocks + i) % nr_blocks];
		other = image + (size_t)o->number * BLOCK;
		if (o->kind != KIND_NODE || !is_leaf(other) || get32(other + 24) != 8 ||
		    !in_use(image, o) ||
		    get32(image + get64(value_at(other, 0)) * BLOCK + 12) !=
		    get32(image + get64(value_at(block, 0)) * BLOCK + 12))
			continue;
		put64(value_at(block, 0), get64(value_at(other, 0)));
		seal_block(image, b);
		return true;
	}
	return false;
}

/* Free blocks that are marked as used, so that they are missing when needed. */
static bool few_free(uint8_t *image, const struct block *b)
{
	uint8_t *block = image + (size_t)b->number * BLOCK;

	if (b->kind != KIND_INDEX)
		return false;
	put32(block + 24, 3);
	seal_block(image, b);
	return true;
}

static bool none_free_before(uint8_t *image, const struct block *b)
{
	uint8_t *block = image + (size_t)b->number * BLOCK;

	if (b->kind != KIND_INDEX)
		return false;
	put32(block + 28, 4 * (BLOCK - 16) - 1);
	seal_block(image, b);
	return true;
}

/* The root of the space map claims more blocks than there are. */
static bool few_allocated(uint8_t *image, const struct block *b)
{
	if (b->kind != KIND_SUPER)
		return false;
	put64(image + 64 + 8, 1);
	seal_block(image, b);
	return true;
}

/* A count that must be looked up in the tree of large counts, whose root points to itself. */
static bool endless_counts(uint8_t *image, const struct block *b)
{
	uint64_t root = get64(image + 64 + 24);
	uint8_t *block = image + root * BLOCK, mask, *count;
	const struct block *bitmap = bitmap_of(image);

	if (b->kind != KIND_NODE || b->number != root)
		return false;
	count = count_of(image, b, &mask);
	*count |= mask;
	seal_block(image, bitmap);
	put32(block + 4, 1);
	put32(block + 16, 1);
	put32(block + 20, 252);
	put32(block + 24, 8);
	put64(block + 32, 0);
	put64(value_at(block, 0), root);
	seal_block(image, b);
	return true;
}

static bool (*const known[])(uint8_t *image, const struct block *b) = {
	mistake, values_outside, blocks_outside, values_too_small, no_room, no_room_above,
	counted_as_free, same_values, few_free, none_free_before, few_allocated, endless_counts,
};

unsigned int damage_known_kinds(void)
{
	return sizeof(known) / sizeof(known[0]);
}

bool damage_known(unsigned int n, const uint8_t *good, uint8_t *bad, size_t len)
{
	const struct block *b = &blocks[n % nr_blocks];

	memcpy(bad, good, len);
	if (n / nr_blocks >= damage_known_kinds() || !in_use(bad, b))
		return false;
	return known[n / nr_blocks](bad, b);
}

void damage(struct rng *r, const uint8_t *good, uint8_t *bad, size_t len)
{
	unsigned int n = 1 + rng_below(r, rng_chance(r, 4) ? 12 : 3);
	bool seal = !rng_chance(r, 4);
	const struct block *b;

	memcpy(bad, good, len);
	while (n--) {
		/* The superblock is one block among many, and all others depend on it. */
		b = rng_chance(r, 6) ? &blocks[0] : &blocks[rng_below(r, nr_blocks)];
		damage_block(r, bad, b);
		if (seal)
			seal_block(bad, b);
	}
}

