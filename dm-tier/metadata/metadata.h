/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The metadata of a set, on dm-persistent-data.  The only user of that library; knows nothing of
 * bios on tiers, policies or migration.
 *
 * Changes gather in the open transaction until tier_metadata_commit().  Every function may sleep
 * and takes the metadata's own lock, unless noted.  A callback runs under that lock: it must not
 * call back into the metadata.
 *
 * Errors of a change: -EINVAL, -EROFS and -ENOSPC leave everything as it was.  Any other error
 * dooms the open transaction: changes and commits give -EIO until tier_metadata_abort().
 */
#ifndef DM_TIER_METADATA_H
#define DM_TIER_METADATA_H

#include <linux/blkdev.h>
#include "format-code.h"
#include "metadata/space.h"

struct tier_metadata;

/*
 * Reads block 0 without opening the metadata: tier_superblock_unpack().  Also -EIO, and -EINVAL
 * for a device that cannot hold metadata; *reason is in words for ti->error.
 */
int tier_metadata_read_superblock(struct block_device *bdev, struct tier_meta_info *info,
				  const char **reason);

/* Opens existing metadata for reading.  Returns ERR_PTR and sets *reason. */
struct tier_metadata *tier_metadata_open(struct block_device *bdev, const char **reason);

/* Where it lies. */
struct block_device *tier_metadata_bdev(const struct tier_metadata *md);
/* Whether bdev has the superblock that was opened, and so all else is the same. */
bool tier_metadata_unchanged(struct tier_metadata *md, struct block_device *bdev);

/*
 * Lets open metadata be written, whose features allow it.  That itself writes nothing; the first
 * commit clears TIER_SB_CLEAN.
 */
void tier_metadata_set_writable(struct tier_metadata *md);

/*
 * Formats a device: writes and commits a superblock with the fields of info (state, uuid, name
 * and so on; trans_id 0) and an all-unmapped mapping of info->nr_chunks.  The device has
 * tier_md_blocks_needed() blocks for these; one that is not blank is refused.
 */
struct tier_metadata *tier_metadata_format(struct block_device *bdev,
					   const struct tier_meta_info *info, const char **reason);

/* Drops what is not committed.  md: may be NULL. */
void tier_metadata_close(struct tier_metadata *md);

/*
 * The cached fields; *info is copied.  set_info takes effect at the next commit;
 * it leaves nr_chunks, trans_id, held_root, the owner, feature words and all flags but
 * TIER_SB_PAUSED as they are, and does nothing where a change would fail.
 */
void tier_metadata_get_info(struct tier_metadata *md, struct tier_meta_info *info);
void tier_metadata_set_info(struct tier_metadata *md, const struct tier_meta_info *info);
/* Whose set it is from the next commit on; the owner's trans_id does not count. */
void tier_metadata_set_owner(struct tier_metadata *md, const struct tier_owner *owner);

struct tier_meta_tiers {
	unsigned int nr;
	struct tier_meta_tier tier[TIER_MAX_TIERS];
};

/* In order of id. */
int tier_metadata_load_tiers(struct tier_metadata *md, struct tier_meta_tiers *tiers);
int tier_metadata_set_tier(struct tier_metadata *md, const struct tier_meta_tier *t);
/* The wear alone of a tier that has a record. */
int tier_metadata_set_wear(struct tier_metadata *md, u8 id, u32 wear);
/* -ENODATA: no such tier; nothing changed. */
int tier_metadata_remove_tier(struct tier_metadata *md, u8 id);

/* Tunables by name; get leaves *value as it is if there is none, set adds an unknown name. */
int tier_metadata_get_tunable(struct tier_metadata *md, const char *name, u64 *value);
int tier_metadata_set_tunable(struct tier_metadata *md, const char *name, u64 value);

/*
 * Calls fn for the entries of all chunks from 0 to nr_chunks - 1, mapped or not, some hundred at
 * a time; rejects entries with reserved bits set (-EILSEQ).
 */
int tier_metadata_load_map(struct tier_metadata *md,
			   int (*fn)(void *context, u32 first, u32 nr, const __le64 *entries),
			   void *context);
/*
 * entry: see TIER_ENTRY_*; only TIER_ENTRY_DISK_MASK bits may be set.  The caller
 * has asked for room for its whole batch, and keeps others from changing anything
 * since: tier_metadata_has_room().
 */
int tier_metadata_set_entry(struct tier_metadata *md, u32 chunk, u64 entry);
/* The same for the pin alone: the tier's id + 1, or 0. */
int tier_metadata_set_pin(struct tier_metadata *md, u32 chunk, u8 pin);
/* Grows (new chunks unmapped) or shrinks mapping and heat. */
int tier_metadata_resize(struct tier_metadata *md, u64 nr_chunks);

/*
 * The TIER_HEAT_PER_BLOCK values of a block of heat; zeroes behind the last chunk.  Takes no
 * notice of what was written since the activation.
 */
int tier_metadata_read_heat(struct tier_metadata *md, u32 block, u32 *values);
#define TIER_HEAT_BATCH 64
/*
 * Writes up to TIER_HEAT_BATCH blocks, which are in order; heat has the values of all.  Old
 * blocks are not read.  An error of finding them leaves all as it was.
 */
int tier_metadata_write_heat(struct tier_metadata *md, const u32 *list, unsigned int nr,
			     const u32 *heat);

/*
 * Whether the open transaction has room for nr_entries more calls of set_entry and set_pin, and
 * the commit.  Conservative.  Other calls that change something check for themselves: -ENOSPC.
 */
bool tier_metadata_has_room(struct tier_metadata *md, u64 nr_entries);

/*
 * Commits.  clean: set TIER_SB_CLEAN in this commit (a later one clears it).  Returns at once
 * when nothing changed since the last commit and clean does not change the flag either.  On
 * failure the superblock may or may not have reached the disk: ask tier_metadata_verdict(), then
 * tier_metadata_abort().
 */
int tier_metadata_commit(struct tier_metadata *md, bool clean);

enum tier_verdict {
	TIER_VERDICT_OLD,	/* the failed commit is not on disk */
	TIER_VERDICT_NEW,	/* it is, whole */
	TIER_VERDICT_UNKNOWN,	/* the superblock cannot be read */
};

/* Reads the superblock back with a bio of its own, past every cache. */
enum tier_verdict tier_metadata_verdict(struct tier_metadata *md);
/* A change failed half-way, so that the open transaction can only be aborted. */
bool tier_metadata_doomed(struct tier_metadata *md);
/* Returns to what is on disk, as thin pools do.  On error only close is left. */
int tier_metadata_abort(struct tier_metadata *md);
/*
 * Sets TIER_SB_NEEDS_CHECK in the superblock on disk, and flushes it: all that
 * is committed is on stable storage then, even if the commit's flush had
 * failed.  A doomed transaction is to be aborted before.
 */
int tier_metadata_set_needs_check(struct tier_metadata *md);
/* From here on nothing is written: changes and commits give -EROFS. */
void tier_metadata_set_read_only(struct tier_metadata *md);

/* A consistent copy for tools: commits, then records it in the superblock and commits again. */
int tier_metadata_reserve_snap(struct tier_metadata *md);	/* -EBUSY: there is one */
/* -EINVAL: there is none; -EILSEQ: it is damaged.  Nothing was changed. */
int tier_metadata_release_snap(struct tier_metadata *md);

/* Counts of 4 KiB blocks. */
int tier_metadata_get_space(struct tier_metadata *md, u64 *free, u64 *total);
/*
 * Gives the memory of cached blocks back, after a commit: what was read at
 * activation is not needed again soon.
 */
void tier_metadata_drop_cache(struct tier_metadata *md);
/* Adopts a metadata device that has grown, and commits; -EINVAL if it has shrunk. */
int tier_metadata_adopt_size(struct tier_metadata *md);

#endif /* DM_TIER_METADATA_H */
