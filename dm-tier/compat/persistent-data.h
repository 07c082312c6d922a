/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of dm-persistent-data's interface that dm-tier uses.  The library is
 * in every kernel and its symbols are exported, but its headers are not among
 * the ones that distributions ship, so they are declared here.
 *
 * Nothing checks a declaration against the module at link time: compat/check-abi
 * compares this file with the type information of real kernels.  The spelling
 * is that of 6.12 and later; on 6.1 the validators are not const, which makes
 * no difference to the binary interface.
 *
 * Unless noted, functions may sleep and return 0 or a negative errno.
 */
#ifndef TIER_COMPAT_PERSISTENT_DATA_H
#define TIER_COMPAT_PERSISTENT_DATA_H

#include <linux/build_bug.h>
#include <linux/types.h>

struct block_device;

/*
 * Block manager: cached blocks of one device.  A locked block stays in memory
 * until it is unlocked; one that was locked for writing is then written some
 * time later, after prepare_for_write.
 */
typedef u64 dm_block_t;

struct dm_block;
struct dm_block_manager;

struct dm_block_validator {
	const char *name;
	void (*prepare_for_write)(const struct dm_block_validator *v,
				  struct dm_block *b, size_t block_size);
	/* 0 if a block that was just read is good. */
	int (*check)(const struct dm_block_validator *v,
		     struct dm_block *b, size_t block_size);
};

dm_block_t dm_block_location(struct dm_block *b);
void *dm_block_data(struct dm_block *b);

/* block_size in bytes.  Returns ERR_PTR. */
struct dm_block_manager *
dm_block_manager_create(struct block_device *bdev, unsigned int block_size,
			unsigned int max_held_per_thread);
void dm_block_manager_destroy(struct dm_block_manager *bm);
/* Forgets every block; writes dirty ones first.  None may be locked. */
void dm_block_manager_reset(struct dm_block_manager *bm);

/* All users of a block must name the same validator. */
int dm_bm_read_lock(struct dm_block_manager *bm, dm_block_t b,
		    const struct dm_block_validator *v,
		    struct dm_block **result);
/* -EPERM if the block manager is read-only; so do the next two. */
int dm_bm_write_lock(struct dm_block_manager *bm, dm_block_t b,
		     const struct dm_block_validator *v,
		     struct dm_block **result);
/* Does not read the block: it starts as zeroes. */
int dm_bm_write_lock_zero(struct dm_block_manager *bm, dm_block_t b,
			  const struct dm_block_validator *v,
			  struct dm_block **result);
void dm_bm_unlock(struct dm_block *b);
/* Writes all dirty blocks and flushes the device. */
int dm_bm_flush(struct dm_block_manager *bm);

void dm_bm_set_read_only(struct dm_block_manager *bm);
void dm_bm_set_read_write(struct dm_block_manager *bm);

/*
 * Space map: reference counts of blocks.  Only the functions behind these
 * pointers are exported, in the object itself; the layout is the interface.
 */
typedef void (*dm_sm_threshold_fn)(void *context);

struct dm_space_map {
	void (*destroy)(struct dm_space_map *sm);
	int (*extend)(struct dm_space_map *sm, dm_block_t extra_blocks);
	int (*get_nr_blocks)(struct dm_space_map *sm, dm_block_t *count);
	/* Blocks freed in the open transaction are not free yet. */
	int (*get_nr_free)(struct dm_space_map *sm, dm_block_t *count);
	int (*get_count)(struct dm_space_map *sm, dm_block_t b,
			 u32 *result);
	int (*count_is_more_than_one)(struct dm_space_map *sm, dm_block_t b,
				      int *result);
	int (*set_count)(struct dm_space_map *sm, dm_block_t b, u32 count);
	int (*commit)(struct dm_space_map *sm);
	/* Of blocks b to e - 1. */
	int (*inc_blocks)(struct dm_space_map *sm, dm_block_t b, dm_block_t e);
	int (*dec_blocks)(struct dm_space_map *sm, dm_block_t b, dm_block_t e);
	int (*new_block)(struct dm_space_map *sm, dm_block_t *b);
	int (*root_size)(struct dm_space_map *sm, size_t *result);
	int (*copy_root)(struct dm_space_map *sm, void *copy_to_here_le,
			 size_t len);
	int (*register_threshold_callback)(struct dm_space_map *sm,
					   dm_block_t threshold,
					   dm_sm_threshold_fn fn,
					   void *context);
};

/* Where it lies on disk: root, and the index of its bitmaps, which is one block. */
struct disk_sm_root {
	__le64 nr_blocks;
	__le64 nr_allocated;
	__le64 bitmap_root;
	__le64 ref_count_root;
} __packed __aligned(8);

struct disk_index_entry {
	__le64 blocknr;
	__le32 nr_free;
	__le32 none_free_before;
} __packed __aligned(8);

struct disk_metadata_index {
	__le32 csum;
	__le32 padding;
	__le64 blocknr;
	struct disk_index_entry index[255];
} __packed __aligned(8);

/* Blocks of 4 KiB that one bitmap of the space map, and all of them, count. */
#define DM_SM_METADATA_BITMAP_BLOCKS	((4096 - 16) * 4)
#define DM_SM_METADATA_MAX_BLOCKS	(255 * DM_SM_METADATA_BITMAP_BLOCKS)

/*
 * Transaction manager: blocks of the last commit stay as they are on disk until
 * the next one.
 */
struct dm_transaction_manager;

int dm_tm_create_with_sm(struct dm_block_manager *bm, dm_block_t sb_location,
			 struct dm_transaction_manager **tm,
			 struct dm_space_map **sm);
int dm_tm_open_with_sm(struct dm_block_manager *bm, dm_block_t sb_location,
		       void *sm_root, size_t root_len,
		       struct dm_transaction_manager **tm,
		       struct dm_space_map **sm);
void dm_tm_destroy(struct dm_transaction_manager *tm);

/* Writes and flushes all but the superblock, */
int dm_tm_pre_commit(struct dm_transaction_manager *tm);
/* then the superblock, which is handed over locked for writing. */
int dm_tm_commit(struct dm_transaction_manager *tm, struct dm_block *root);

/* A writable copy of orig, which loses a reference; the caller unlocks it. */
int dm_tm_shadow_block(struct dm_transaction_manager *tm, dm_block_t orig,
		       const struct dm_block_validator *v,
		       struct dm_block **result, int *inc_children);
int dm_tm_read_lock(struct dm_transaction_manager *tm, dm_block_t b,
		    const struct dm_block_validator *v,
		    struct dm_block **blk);
void dm_tm_unlock(struct dm_transaction_manager *tm, struct dm_block *b);

/*
 * B-trees of 64-bit keys and values of a fixed size, little-endian.
 */
struct dm_btree_value_type {
	void *context;
	u32 size;
	void (*inc)(void *context, const void *value, unsigned int count);
	void (*dec)(void *context, const void *value, unsigned int count);
	int (*equal)(void *context, const void *value1, const void *value2);
};

struct dm_btree_info {
	struct dm_transaction_manager *tm;
	unsigned int levels;
	struct dm_btree_value_type value_type;
};

int dm_btree_empty(struct dm_btree_info *info, dm_block_t *root);
int dm_btree_del(struct dm_btree_info *info, dm_block_t root);
/* -ENODATA: no such key. */
int dm_btree_lookup(struct dm_btree_info *info, dm_block_t root,
		    u64 *keys, void *value_le);
int dm_btree_insert(struct dm_btree_info *info, dm_block_t root,
		    u64 *keys, void *value, dm_block_t *new_root);
int dm_btree_remove(struct dm_btree_info *info, dm_block_t root,
		    u64 *keys, dm_block_t *new_root);

#define LEAF_NODE	2		/* of flags */

/* csum is tier_checksum() of all that follows it, with this. */
#define BTREE_CSUM_XOR	121107

/* Head of a node, as it is on disk. */
struct node_header {
	__le32 csum;
	__le32 flags;
	__le64 blocknr;
	__le32 nr_entries;
	__le32 max_entries;
	__le32 value_size;
	__le32 padding;
} __packed;

#define DM_BTREE_CURSOR_MAX_DEPTH	16

struct cursor_node {
	struct dm_block *b;
	unsigned int index;
};

struct dm_btree_cursor {
	struct dm_btree_info *info;
	dm_block_t root;
	bool prefetch_leaves;
	unsigned int depth;
	struct cursor_node nodes[DM_BTREE_CURSOR_MAX_DEPTH];
};

/* A failed begin may leave nodes locked: end the cursor all the same. */
int dm_btree_cursor_begin(struct dm_btree_info *info, dm_block_t root,
			  bool prefetch_leaves, struct dm_btree_cursor *c);
void dm_btree_cursor_end(struct dm_btree_cursor *c);
int dm_btree_cursor_next(struct dm_btree_cursor *c);
int dm_btree_cursor_get_value(struct dm_btree_cursor *c, u64 *key,
			      void *value_le);

/*
 * Arrays: a B-tree of blocks packed with values.  The caller remembers the
 * size.  A size or root that does not fit the array on disk can stop the
 * kernel in dm_array_resize().
 */
struct dm_array_info {
	struct dm_transaction_manager *tm;
	struct dm_btree_value_type value_type;
	struct dm_btree_info btree_info;
};

void dm_array_info_init(struct dm_array_info *info,
			struct dm_transaction_manager *tm,
			struct dm_btree_value_type *vt);
int dm_array_empty(struct dm_array_info *info, dm_block_t *root);
/* fn gives each value, little-endian. */
int dm_array_new(struct dm_array_info *info, dm_block_t *root, u32 size,
		 int (*fn)(u32 index, void *value_le, void *context), void *context);
int dm_array_resize(struct dm_array_info *info, dm_block_t root,
		    u32 old_size, u32 new_size,
		    const void *value, dm_block_t *new_root);
int dm_array_del(struct dm_array_info *info, dm_block_t root);
int dm_array_get_value(struct dm_array_info *info, dm_block_t root,
		       u32 index, void *value_le);
int dm_array_set_value(struct dm_array_info *info, dm_block_t root,
		       u32 index, const void *value, dm_block_t *new_root);

/* As BTREE_CSUM_XOR, of a block of values. */
#define ARRAY_CSUM_XOR	595846735

/* Head of a block of values, as it is on disk. */
struct array_block {
	__le32 csum;
	__le32 max_entries;
	__le32 nr_entries;
	__le32 value_size;
	__le64 blocknr;
} __packed;

struct dm_array_cursor {
	struct dm_array_info *info;
	struct dm_btree_cursor cursor;
	struct dm_block *block;
	struct array_block *ab;
	unsigned int index;		/* within block */
};

int dm_array_cursor_begin(struct dm_array_info *info, dm_block_t root,
			  struct dm_array_cursor *c);
void dm_array_cursor_end(struct dm_array_cursor *c);
int dm_array_cursor_next(struct dm_array_cursor *c);
int dm_array_cursor_skip(struct dm_array_cursor *c, u32 count);
/* *value_le points into the block and is good until the cursor moves. */
void dm_array_cursor_get_value(struct dm_array_cursor *c, void **value_le);

static_assert(sizeof(struct node_header) == 32);
static_assert(sizeof(struct array_block) == 24);
static_assert(sizeof(struct disk_sm_root) == 32);
static_assert(sizeof(struct disk_metadata_index) == 4096);
#ifdef CONFIG_64BIT
static_assert(sizeof(struct dm_block_validator) == 24);
static_assert(sizeof(struct dm_space_map) == 112);
static_assert(sizeof(struct dm_btree_value_type) == 40);
static_assert(sizeof(struct dm_btree_info) == 56);
static_assert(sizeof(struct dm_btree_cursor) == 280);
static_assert(sizeof(struct dm_array_info) == 104);
static_assert(sizeof(struct dm_array_cursor) == 312);
#endif

#endif /* TIER_COMPAT_PERSISTENT_DATA_H */
