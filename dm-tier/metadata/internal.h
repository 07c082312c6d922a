/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the parts of the metadata: metadata.c opens, commits and aborts; content.c reads and
 * changes what is stored; trees.c makes the trees, goes through them and judges them.
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
	bool warm;			/* see __warm() */
	bool counted;			/* likewise, once for all */
	struct tier_census *census;	/* until then: what the walk of the mapping has met */

	/*
	 * A change or a commit failed halfway: what is in memory may be
	 * inconsistent, so that it is never committed.  Ends with an abort.
	 */
	bool doomed;
	bool failed;			/* an abort failed: only close is left */
	bool read_only;

	u64 attempted;			/* trans_id of a failed commit, or 0 */
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

/*
 * Begins a change that costs no more than nr_entries changed mapping entries
 * of metadata space; 0 if the caller knows that there is room: on success the
 * lock is held for writing until tier_md_end_change().  Otherwise nothing was
 * started: -EROFS, -EIO in a doomed transaction, -ENOSPC.
 */
int tier_md_begin_change(struct tier_metadata *md, u64 nr_entries);
/* r: how the change went.  An error dooms the transaction.  Returns r. */
int tier_md_end_change(struct tier_metadata *md, int r);

/* Blocks that can be used before the next commit.  Lock held. */
u64 __tier_md_free(struct tier_metadata *md);
/* Blocks that a commit may use; never touched by a change.  Lock held. */
u64 __tier_md_commit_room(struct tier_metadata *md);

/* From kmalloc, past every cache; ERR_PTR(). */
void *tier_md_read_block(struct block_device *bdev, u64 b);

/* Fills in the infos for md->tm. */
void tier_md_init_infos(struct tier_metadata *md);
/* Creates the empty trees and arrays of a set of info.nr_chunks. */
int __tier_md_create_content(struct tier_metadata *md);
/* Resizes mapping and heat; what is new is all zeroes. */
int __tier_md_resize(struct tier_metadata *md, u32 old, u32 nr_chunks);

/*
 * What judges trees and counts gives -EILSEQ, with a line in the log, where there is something
 * that the library would stumble over.
 *
 * Before any walk of the trees behind these roots: where the library would look before a
 * walk can.  Reads the disk, so that nothing there may have been changed since the commit.
 */
int __tier_md_judge_nodes(struct tier_metadata *md, const struct tier_meta_roots *roots);
/*
 * Looks at the count of each block, and that it covers all that is in use but a metadata
 * snapshot.  Nothing was changed yet.  A walk of the mapping that was made before is a part.
 */
int __tier_md_take_census(struct tier_metadata *md);
void tier_md_free_census(struct tier_metadata *md);
/*
 * The trees of a metadata snapshot, whose nodes are judged first, may be dropped: nothing that
 * the live trees have is counted down to nothing, and no block twice.
 */
int __tier_md_judge_held(struct tier_metadata *md, const struct tier_meta_roots *held,
			 u64 nr_chunks);
struct tier_census;			/* of trees.c; NULL elsewhere */

/*
 * Walks, with the lock held for reading.  What fn returns ends a walk unless it is 0; fn may be
 * NULL.  The first one calls fn for up to max values in order of key, the other for the blocks
 * of an array of nr values: for each that begins with one from first to end - 1.
 */
int __tier_walk_btree(const struct dm_btree_info *info, u64 root, unsigned int max,
		      struct tier_census *c,
		      int (*fn)(void *context, u64 key, const void *value), void *context);
int __tier_walk_array(struct dm_array_info *info, u64 root, u64 nr, u64 first, u64 end,
		      struct tier_census *c,
		      int (*fn)(void *context, u64 index, u32 nr, const void *values),
		      void *context);

/* The whole mapping; the first time for the census, too.  Lock held for writing. */
int __tier_md_walk_mapping(struct tier_metadata *md,
			   int (*fn)(void *context, u64 index, u32 nr, const void *values),
			   void *context);

#endif /* DM_TIER_METADATA_INTERNAL_H */
