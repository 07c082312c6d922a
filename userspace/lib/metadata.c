// SPDX-License-Identifier: GPL-2.0-only
#include "metadata.h"

#include <stdlib.h>
#include <unistd.h>

#define BLOCK		TIER_METADATA_BLOCK_SIZE
/* 2^32 entries need four levels of nodes with room for 126 children. */
#define DEPTH_MAX	8

/* A block as read, for O_DIRECT too. */
static void *read_block(int fd, u64 block, const char **reason)
{
	void *buf;
	ssize_t n;

	if (block > (u64)INT64_MAX / BLOCK) {
		*reason = "metadata is damaged (impossible block number)";
		return NULL;
	}
	if (posix_memalign(&buf, BLOCK, BLOCK)) {
		*reason = "out of memory";
		return NULL;
	}
	do {
		n = pread(fd, buf, BLOCK, block * BLOCK);
	} while (n < 0 && errno == EINTR);
	if (n == BLOCK)
		return buf;
	*reason = "metadata cannot be read";
	free(buf);
	return NULL;
}

static bool csum_good(const void *block, u32 xor)
{
	u32 want = le32_to_cpu(*(const __le32 *)block);

	return tier_checksum((const u8 *)block + sizeof(__le32), BLOCK - sizeof(__le32), xor) == want;
}

int md_read_superblock(int fd, struct tier_meta_info *info, struct tier_meta_roots *roots,
		       const char **reason)
{
	void *block = read_block(fd, TIER_SUPERBLOCK_LOCATION, reason);
	int r;

	if (!block)
		return -EIO;
	r = tier_superblock_unpack(block, info, reason);
	if (!r)
		tier_superblock_unpack_roots(block, roots);
	free(block);
	return r;
}

struct walk {
	int fd;
	u32 value_size;
	u64 next_key;		/* keys below it have been seen */
	int (*fn)(struct walk *w, u64 key, const void *value);
	void *context;
	const char **reason;
};

static bool node_good(const struct md_btree_node *n, u64 block, u32 leaf_value_size)
{
	u32 flags = le32_to_cpu(n->flags);
	u32 max = le32_to_cpu(n->max_entries);
	u32 value_size = le32_to_cpu(n->value_size);

	if (!csum_good(n, MD_BTREE_CSUM_XOR) || le64_to_cpu(n->blocknr) != block)
		return false;
	if (flags != MD_BTREE_INTERNAL && flags != MD_BTREE_LEAF)
		return false;
	if (value_size != (flags == MD_BTREE_LEAF ? leaf_value_size : sizeof(__le64)))
		return false;
	return max <= (BLOCK - sizeof(*n)) / (sizeof(__le64) + value_size) &&
	       le32_to_cpu(n->nr_entries) <= max;
}

static int walk_node(struct walk *w, u64 block, unsigned int depth);

static int walk_entry(struct walk *w, const struct md_btree_node *n, u32 i, unsigned int depth)
{
	const u8 *values = (const u8 *)&n->keys[le32_to_cpu(n->max_entries)];
	const u8 *value = values + (size_t)i * le32_to_cpu(n->value_size);
	u64 key = le64_to_cpu(n->keys[i]);
	__le64 child;

	if (le32_to_cpu(n->flags) == MD_BTREE_INTERNAL) {
		memcpy(&child, value, sizeof(child));
		return walk_node(w, le64_to_cpu(child), depth + 1);
	}
	/* Ascending keys: no leaf is visited twice, however the nodes point. */
	if (key < w->next_key || key == UINT64_MAX) {
		*w->reason = "metadata is damaged (order of keys)";
		return -EILSEQ;
	}
	w->next_key = key + 1;
	return w->fn(w, key, value);
}

static int walk_node(struct walk *w, u64 block, unsigned int depth)
{
	struct md_btree_node *n;
	int r = 0;
	u32 i;

	if (depth > DEPTH_MAX) {
		*w->reason = "metadata is damaged (a tree without end)";
		return -EILSEQ;
	}
	n = read_block(w->fd, block, w->reason);
	if (!n)
		return -EIO;
	if (!node_good(n, block, w->value_size)) {
		*w->reason = "metadata is damaged (tree node)";
		r = -EILSEQ;
	} else if (depth && !n->nr_entries) {
		/* Only the root may be empty; others could be walked for ever. */
		*w->reason = "metadata is damaged (empty tree node)";
		r = -EILSEQ;
	} else {
		for (i = 0; i < le32_to_cpu(n->nr_entries) && !r; i++)
			r = walk_entry(w, n, i, depth);
	}
	free(n);
	return r;
}

struct tier_list {
	struct tier_meta_tier *tiers;
	unsigned int nr;
};

static int add_tier(struct walk *w, u64 key, const void *value)
{
	struct tier_list *list = w->context;

	if (list->nr == TIER_MAX_TIERS || tier_record_unpack(key, value, &list->tiers[list->nr])) {
		*w->reason = "metadata is damaged (tier record)";
		return -EILSEQ;
	}
	list->nr++;
	return 0;
}

int md_read_tiers(int fd, const struct tier_meta_roots *roots,
		  struct tier_meta_tier tiers[TIER_MAX_TIERS], unsigned int *nr, const char **reason)
{
	struct tier_list list = { .tiers = tiers };
	struct walk w = {
		.fd = fd,
		.value_size = sizeof(struct tier_record),
		.fn = add_tier,
		.context = &list,
		.reason = reason,
	};
	int r = walk_node(&w, roots->tiers, 0);

	*nr = r ? 0 : list.nr;
	return r;
}

struct map_walk {
	u64 nr_chunks;
	u64 next;
	int (*fn)(void *context, u64 chunk, u64 entry);
	void *context;
};

static bool array_block_good(const struct md_array_block *a, u64 block)
{
	return csum_good(a, MD_ARRAY_CSUM_XOR) && le64_to_cpu(a->blocknr) == block &&
	       le32_to_cpu(a->value_size) == sizeof(__le64) &&
	       le32_to_cpu(a->max_entries) == (BLOCK - sizeof(*a)) / sizeof(__le64) &&
	       le32_to_cpu(a->nr_entries) <= le32_to_cpu(a->max_entries);
}

/* A value of an array's btree is the number of a block of entries. */
static int read_entries(struct walk *w, u64 key, const void *value)
{
	struct map_walk *m = w->context;
	struct md_array_block *a;
	__le64 number, entry;
	int r = 0;
	u32 i;

	(void)key;
	memcpy(&number, value, sizeof(number));
	a = read_block(w->fd, le64_to_cpu(number), w->reason);
	if (!a)
		return -EIO;
	if (!array_block_good(a, le64_to_cpu(number))) {
		*w->reason = "metadata is damaged (mapping)";
		r = -EILSEQ;
	} else {
		for (i = 0; i < le32_to_cpu(a->nr_entries) && m->next < m->nr_chunks && !r; i++) {
			memcpy(&entry, a->values + i * sizeof(entry), sizeof(entry));
			r = m->fn(m->context, m->next++, le64_to_cpu(entry));
		}
	}
	free(a);
	return r;
}

int md_read_map(int fd, const struct tier_meta_roots *roots, u64 nr_chunks,
		int (*fn)(void *context, u64 chunk, u64 entry), void *context, const char **reason)
{
	struct map_walk m = { .nr_chunks = nr_chunks, .fn = fn, .context = context };
	struct walk w = {
		.fd = fd,
		.value_size = sizeof(__le64),
		.fn = read_entries,
		.context = &m,
		.reason = reason,
	};
	int r = walk_node(&w, roots->mapping, 0);

	if (!r && m.next != nr_chunks) {
		*reason = "metadata is damaged (mapping is too short)";
		r = -EILSEQ;
	}
	return r;
}
