/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the parts of the metadata: dm-tier-metadata.c opens, commits and
 * aborts; dm-tier-metadata-content.c reads and changes what is stored;
 * dm-tier-metadata-snap.c makes the metadata snapshot and adopts growth.
 *
 * Functions with two leading underscores want the lock held, for writing unless
 * noted.
 */
#ifndef DM_TIER_METADATA_INTERNAL_H
#define DM_TIER_METADATA_INTERNAL_H

#include <linux/rwsem.h>

#include "compat/persistent-data.h"
#include "dm-tier-metadata.h"

struct tier_metadata {
	struct block_device *bdev;
	struct dm_block_manager *bm;	/* lives from open to close */

	/* Protects all that follows, and the trees behind the roots. */
	struct rw_semaphore lock;
	unsigned int noio;		/* the write-locker's allocation scope */

	/* Replaced by an abort; NULL after a failed one. */
	struct dm_transaction_manager *tm;
	struct dm_space_map *sm;
	struct dm_array_info mapping_info;
	struct dm_array_info heat_info;
	struct dm_btree_info tiers_info;
	struct dm_btree_info tunables_info;

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
	struct tier_superblock committed;
	struct tier_superblock attempted;
	bool was_attempted;
};

/* For writing.  Memory is not reclaimed by I/O that could wait for the set. */
void tier_md_lock(struct tier_metadata *md);
void tier_md_unlock(struct tier_metadata *md);

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

/* Creates the empty trees and arrays of a set of info.nr_chunks. */
int __tier_md_create_content(struct tier_metadata *md);

#endif /* DM_TIER_METADATA_INTERNAL_H */
