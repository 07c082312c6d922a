/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the parts of the metadata: metadata.c opens, commits and aborts; content.c reads and
 * changes what is stored; snap.c makes the metadata snapshot and adopts growth; trees.c makes
 * the trees, goes through them and judges them.
 *
 * Functions with two leading underscores want the lock held, for writing unless noted.
 */
#ifndef DM_TIER_METADATA_INTERNAL_H
#define DM_TIER_METADATA_INTERNAL_H

#include <linux/device-mapper.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat/persistent-data.h"
#include "metadata/metadata.h"

#define DM_MSG_PREFIX "tier metadata"

struct tier_metadata {
	struct block_device *bdev;
	struct dm_block_manager *bm;	/* lives from open to close */

	/* Protects all that follows, and the trees behind the roots. */
	struct rw_semaphore lock;
	unsigned int noio;		/* the write-locker's allocation scope */

	/* Replaced by an abort; NULL after a failed one. */
	struct dm_transaction_manager *tm;
	struct dm_space_map *sm;
	struct dm_array_info mapping_info, heat_info;
	struct dm_btree_info tiers_info, tunables_info;

	/* Of the open transaction. */
	struct tier_meta_info info;
	struct tier_meta_roots roots;
	bool changed;			/* there is something to commit */
	bool warm;			/* see __tier_md_warm() */
	bool counted;			/* likewise, once for all */

	/*
	 * A change or a commit failed halfway: what is in memory may be
	 * inconsistent, so that it is never committed.  Ends with an abort.
	 */
	bool doomed;
	bool failed;			/* an abort failed: only close is left */
	bool read_only;

	/* The superblock on disk, and the one of the last failed commit. */
	struct tier_superblock committed, attempted;
	bool was_attempted;
};

/* Where the space map lies on disk. */
static inline struct disk_sm_root tier_md_sm_root(const struct tier_metadata *md)
{
	struct disk_sm_root root;

	memcpy(&root, md->roots.space_map, sizeof(root));
	return root;
}

/* For writing.  Memory is not reclaimed by I/O that could wait for the set. */
void tier_md_lock(struct tier_metadata *md);
/* Returns r. */
int tier_md_unlock(struct tier_metadata *md, int r);
/* fn with the lock held, if the metadata may be changed. */
int tier_md_change(struct tier_metadata *md, int (*fn)(struct tier_metadata *md));

/*
 * Begins a change that costs no more than nr_entries changed mapping entries
 * of metadata space; 0 if the caller knows that there is room: on success the
 * lock is held for writing until tier_md_end_change().  Otherwise nothing was
 * started: -EROFS, -EIO in a doomed transaction, -ENOSPC.
 */
int tier_md_begin_change(struct tier_metadata *md, u64 nr_entries);

/* r: how the change went.  An error dooms the transaction.  Returns r. */
int tier_md_end_change(struct tier_metadata *md, int r);

/*
 * The steps of a change, for those that commit by themselves: may there be one
 * (0, -EROFS, -EIO), is there room (__tier_md_has_room()), read what the
 * library must not fail to read in the middle, change, note how that went.
 */
int __tier_md_writable(struct tier_metadata *md);	/* lock held */
int __tier_md_warm(struct tier_metadata *md);
int __tier_md_end(struct tier_metadata *md, int r);

int __tier_md_commit(struct tier_metadata *md, bool clean);
bool __tier_md_must_commit(struct tier_metadata *md, bool clean);

/* Also of the copy of a superblock that is the root of a metadata snapshot. */
extern const struct dm_block_validator tier_md_sb_validator;

/* 4 KiB blocks of a device that the space map can count. */
u64 tier_md_device_blocks(struct block_device *bdev);

/* As tier_metadata_has_room().  Lock held. */
bool __tier_md_has_room(struct tier_metadata *md, u64 nr_entries);

/* Blocks that can be used before the next commit.  Lock held. */
u64 __tier_md_free(struct tier_metadata *md);

/* Blocks that a commit may use; never touched by a change.  Lock held. */
u64 __tier_md_commit_room(struct tier_metadata *md);

/* Fills in the infos for md->tm. */
void tier_md_init_infos(struct tier_metadata *md);

/*
 * Walks.  -EILSEQ: there is something that the library would stumble over.  What fn
 * returns ends a walk unless it is 0.  Lock held, for reading if there is no census.
 */
union tier_md_small_value {
	struct tier_record tier;
	struct tier_tunable_record tunable;
};

/*
 * A census of the blocks in use: each is met once on a walk, and its count in the space
 * map covers that.
 */
struct tier_md_census {
	struct tier_metadata *md;
	dm_block_t nr;			/* of blocks */
	unsigned long *met;		/* a bit for each of them */
	/* Those of the trees that are to stay, when the ones that are walked are to go, or NULL. */
	const unsigned long *live;
	bool shared[DM_BTREE_CURSOR_MAX_DEPTH];	/* by level, of the nodes above a block */
};

/* End it also if begin fails. */
int __tier_md_census_begin(struct tier_metadata *md, struct tier_md_census *c);
void tier_md_census_end(struct tier_md_census *c);
/* -EILSEQ, with a line in the log, if a block is met again or counts as free. */
int __tier_md_meet(struct tier_md_census *c, dm_block_t b);
int __tier_md_meet_trees(struct tier_md_census *c, const struct tier_meta_roots *roots,
			 u64 nr_chunks);
/* All that must not be counted down by mistake and can be taken for a part of a tree. */
int __tier_md_meet_live(struct tier_md_census *c);
/* Before any count is looked up: none is in the tree of those above 2.  c: may be NULL. */
int __tier_md_no_large_counts(struct tier_metadata *md, struct tier_md_census *c);
/* Of all that is in use but a metadata snapshot.  Nothing was changed yet. */
int __tier_md_take_census(struct tier_metadata *md);

/*
 * Before any walk of the trees behind these roots: where the library would look before a
 * walk can.  Reads the disk, so that nothing there may have been changed since the commit.
 */
int __tier_md_judge_nodes(struct tier_metadata *md, const struct tier_meta_roots *roots);

/* Calls fn for up to max values in order of key.  c, fn: may be NULL. */
int __tier_md_walk_btree(const struct dm_btree_info *info, u64 root, unsigned int max,
			 struct tier_md_census *c,
			 int (*fn)(void *context, u64 key, const union tier_md_small_value *value),
			 void *context);
/*
 * Calls fn for the values from first, where a block begins, to end - 1; nr is
 * the size of the array.
 */
int __tier_md_walk_array(struct dm_array_info *info, u64 root, u64 nr, u64 first, u64 end,
			 struct tier_md_census *c,
			 int (*fn)(void *context, u32 index, u64 value), void *context);
/* The blocks and nodes alone.  c: may be NULL. */
int __tier_md_check_array(struct dm_array_info *info, u64 root, u64 nr, struct tier_md_census *c);

/* Resizes mapping and heat; what is new is all zeroes. */
int __tier_md_resize(struct tier_metadata *md, u32 old, u32 nr_chunks);
/* Creates the empty trees and arrays of a set of info.nr_chunks. */
int __tier_md_create_content(struct tier_metadata *md);

#endif /* DM_TIER_METADATA_INTERNAL_H */
