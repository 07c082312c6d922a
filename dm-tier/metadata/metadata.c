// SPDX-License-Identifier: GPL-2.0-only
/*
 * The metadata's life cycle: format, open, commit, abort, close; superblock, space left, growth
 * and the metadata snapshot.
 */
#include "metadata/internal.h"

#include <linux/delay.h>

/* A cursor holds a path and a block, the change of an entry two paths. */
#define MAX_CONCURRENT_LOCKS 8

/* Growth of the device is adopted in steps of at least this many blocks. */
#define MIN_GROWTH 16

/* When a block manager cannot be made. */
#define BM_TRIES 20
#define BM_WAIT_MS 50

static const char no_memory[] = "no memory for the metadata";

/* ---- superblock ---- */

static void sb_prepare_for_write(const struct dm_block_validator *v,
				 struct dm_block *b, size_t block_size)
{
	tier_superblock_seal(dm_block_data(b), dm_block_location(b));
}

static int sb_check(const struct dm_block_validator *v, struct dm_block *b, size_t block_size)
{
	const char *reason;
	int r;

	r = tier_superblock_verify(dm_block_data(b), dm_block_location(b), &reason);
	if (r)
		DMERR_LIMIT("block %llu: %s", (unsigned long long)dm_block_location(b), reason);
	return r;
}

static const struct dm_block_validator sb_validator = {
	.name = "tier superblock",
	.prepare_for_write = sb_prepare_for_write,
	.check = sb_check,
};

static u64 device_blocks(struct block_device *bdev)
{
	return min_t(u64, bdev_nr_sectors(bdev) / TIER_METADATA_BLOCK_SECTORS,
		     DM_SM_METADATA_MAX_BLOCKS);
}

int tier_metadata_read_superblock(struct block_device *bdev, struct tier_meta_info *info,
				  const char **reason)
{
	void *block;
	int r;

	if (!device_blocks(bdev))
		return tier_refuse(reason, -EINVAL, "metadata device is too small");
	if (bdev_logical_block_size(bdev) > TIER_METADATA_BLOCK_SIZE)
		return tier_refuse(reason, -EINVAL,
				   "metadata device has a logical block size above 4096");

	block = tier_md_read_block(bdev, TIER_SUPERBLOCK_LOCATION);
	if (block == ERR_PTR(-ENOMEM))
		return tier_refuse(reason, -ENOMEM, "no memory to read the metadata superblock");
	if (IS_ERR(block))
		return tier_refuse(reason, -EIO, "metadata superblock cannot be read");
	r = tier_superblock_unpack(block, info, reason);
	kfree(block);
	return r;
}

/* ---- locking ---- */

void tier_md_lock(struct tier_metadata *md)
{
	down_write(&md->lock);
	md->noio = memalloc_noio_save();
}

int tier_md_unlock(struct tier_metadata *md, int r)
{
	memalloc_noio_restore(md->noio);
	up_write(&md->lock);
	return r;
}

static int __writable(struct tier_metadata *md)
{
	if (md->failed)
		return -EIO;
	if (md->read_only)
		return -EROFS;
	return md->doomed ? -EIO : 0;
}

/* fn with the lock held, if the metadata may be changed. */
static int change(struct tier_metadata *md, int (*fn)(struct tier_metadata *md))
{
	tier_md_lock(md);
	return tier_md_unlock(md, __writable(md) ? : fn(md));
}

/*
 * Space
 *
 * What an open transaction can use is what was free at the last commit, less
 * what it has used: blocks it frees stay as they are until it is committed.
 */

/* The arithmetic is that of the tools. */
static_assert(sizeof(struct array_block) == TIER_ARRAY_HEAD_SIZE);
static_assert(DM_SM_METADATA_BITMAP_BLOCKS == TIER_BITMAP_BLOCKS);
static_assert(DM_SM_METADATA_MAX_BLOCKS == TIER_METADATA_MAX_BLOCKS);

u64 __tier_md_free(struct tier_metadata *md)
{
	dm_block_t nr;

	return md->sm->get_nr_free(md->sm, &nr) ? 0 : nr;
}

static u64 __total_blocks(struct tier_metadata *md)
{
	dm_block_t nr;

	return md->sm->get_nr_blocks(md->sm, &nr) ? DM_SM_METADATA_MAX_BLOCKS : nr;
}

u64 __tier_md_commit_room(struct tier_metadata *md)
{
	return tier_md_commit_room(__total_blocks(md));
}

static bool __has_room(struct tier_metadata *md, u64 nr_entries)
{
	return __tier_md_free(md) >= tier_md_room_needed(md->info.nr_chunks, nr_entries,
							 __total_blocks(md));
}

bool tier_metadata_has_room(struct tier_metadata *md, u64 nr_entries)
{
	bool has_room;

	down_read(&md->lock);
	has_room = !__writable(md) && __has_room(md, nr_entries);
	up_read(&md->lock);
	return has_room;
}

void tier_metadata_drop_cache(struct tier_metadata *md)
{
	down_write(&md->lock);
	if (!md->failed)
		dm_block_manager_reset(md->bm);
	md->warm = false;
	up_write(&md->lock);
}

int tier_metadata_get_space(struct tier_metadata *md, u64 *free, u64 *total)
{
	int r = -EIO;

	down_read(&md->lock);
	if (!md->failed)
		r = md->sm->get_nr_free(md->sm, free) ? : md->sm->get_nr_blocks(md->sm, total);
	up_read(&md->lock);
	return r;
}

/* ---- changes ---- */

/*
 * Reads every bitmap of the space map into the cache.  The library loses track of a locked
 * block, which is fatal later, if it cannot read a bitmap in the middle of a change.  Nor does
 * it bear counts that are less than what is in use: the first time, all is counted.
 */
static int __warm(struct tier_metadata *md)
{
	dm_block_t b = 0, nr = 0;
	u32 count;
	int r;

	r = md->counted ? md->sm->get_nr_blocks(md->sm, &nr) : __tier_md_take_census(md);
	for (; !r && b < nr; b += DM_SM_METADATA_BITMAP_BLOCKS) {
		r = md->sm->get_count(md->sm, b, &count);
		cond_resched();
	}
	md->warm = !r;
	md->counted |= !r;
	return r;
}

int tier_md_begin_change(struct tier_metadata *md, u64 nr_entries)
{
	int r;

	tier_md_lock(md);
	r = __writable(md);
	if (!r && nr_entries && !__has_room(md, nr_entries))
		r = -ENOSPC;
	if (!r && !md->warm)
		r = __warm(md);
	return r ? tier_md_unlock(md, r) : 0;
}

static int __end(struct tier_metadata *md, int r)
{
	if (r) {
		DMERR_LIMIT("%pg: change failed: %d", md->bdev, r);
		md->doomed = true;
	} else {
		md->changed = true;
	}
	return r;
}

int tier_md_end_change(struct tier_metadata *md, int r)
{
	return tier_md_unlock(md, __end(md, r));
}

/* ---- opening ---- */

static void __close_tm(struct tier_metadata *md)
{
	if (md->sm)
		md->sm->destroy(md->sm);
	dm_tm_destroy(md->tm);
	md->sm = NULL;
	md->tm = NULL;
}

/* Opens what the superblock on disk describes. */
static int __open_tm(struct tier_metadata *md, const char **reason)
{
	struct disk_sm_root root;
	struct dm_block *sblock;
	int r;

	r = dm_bm_read_lock(md->bm, TIER_SUPERBLOCK_LOCATION, &sb_validator, &sblock);
	if (r)
		return tier_refuse(reason, r, "metadata superblock cannot be read");
	r = tier_superblock_unpack(dm_block_data(sblock), &md->info, reason);
	if (!r)
		tier_superblock_unpack_roots(dm_block_data(sblock), &md->roots);
	dm_bm_unlock(sblock);
	if (r)
		return r;
	root = tier_md_sm_root(md);
	if (!root.nr_blocks)
		return tier_refuse(reason, -EILSEQ, "metadata has a space map of nothing");
	/* The library would only find out when it reads beyond the end. */
	if (le64_to_cpu(root.nr_blocks) > device_blocks(md->bdev))
		return tier_refuse(reason, -EINVAL, "metadata device is smaller than its metadata");

	r = dm_tm_open_with_sm(md->bm, TIER_SUPERBLOCK_LOCATION, md->roots.space_map,
			       sizeof(md->roots.space_map), &md->tm, &md->sm);
	if (r) {
		md->tm = NULL;
		md->sm = NULL;
		return tier_refuse(reason, r, "space map of the metadata cannot be read");
	}

	tier_md_init_infos(md);
	md->changed = false;
	md->warm = false;
	md->doomed = false;
	md->attempted = 0;
	return 0;
}

/*
 * dm-bufio makes a slab cache for each of its users.  While one that looks alike is
 * being destroyed, its name in sysfs is still taken and kmem_cache_create() fails,
 * with a trace in the log; that is over in a moment.  Sets keep out of each other's
 * way by the mutex, other users of dm-bufio do not know of it.
 */
static DEFINE_MUTEX(bm_mutex);

static struct dm_block_manager *make_block_manager(struct block_device *bdev)
{
	struct dm_block_manager *bm;
	unsigned int tries;

	for (tries = 1;; tries++) {
		mutex_lock(&bm_mutex);
		bm = dm_block_manager_create(bdev, TIER_METADATA_BLOCK_SIZE, MAX_CONCURRENT_LOCKS);
		mutex_unlock(&bm_mutex);
		if (!IS_ERR(bm) || PTR_ERR(bm) != -ENOMEM || tries == BM_TRIES)
			return bm;
		msleep(BM_WAIT_MS);
	}
}

static struct tier_metadata *alloc_metadata(struct block_device *bdev, const char **reason)
{
	struct tier_metadata *md = kzalloc(sizeof(*md), GFP_KERNEL);
	struct dm_block_manager *bm = md ? make_block_manager(bdev) : ERR_PTR(-ENOMEM);

	if (IS_ERR(bm)) {
		kfree(md);
		*reason = no_memory;
		return ERR_CAST(bm);
	}
	md->bdev = bdev;
	md->bm = bm;
	init_rwsem(&md->lock);
	return md;
}

void tier_metadata_close(struct tier_metadata *md)
{
	if (!md)
		return;
	tier_md_free_census(md);
	__close_tm(md);
	mutex_lock(&bm_mutex);
	dm_block_manager_destroy(md->bm);
	mutex_unlock(&bm_mutex);
	kfree(md);
}

struct tier_metadata *tier_metadata_open(struct block_device *bdev, const char **reason)
{
	struct tier_meta_info info;
	struct tier_metadata *md;
	int r;

	/* Judge block 0 before the library sees the device. */
	r = tier_metadata_read_superblock(bdev, &info, reason);
	if (r)
		return ERR_PTR(r);
	md = alloc_metadata(bdev, reason);
	if (IS_ERR(md))
		return md;

	md->read_only = true;
	dm_bm_set_read_only(md->bm);
	r = __open_tm(md, reason);
	if (!r) {
		r = __tier_md_judge_nodes(md, &md->roots);
		*reason = r == -ENOMEM ? no_memory : "trees of the metadata are damaged";
	}
	if (r) {
		tier_metadata_close(md);
		return ERR_PTR(r);
	}
	return md;
}

struct block_device *tier_metadata_bdev(const struct tier_metadata *md)
{
	return md->bdev;
}

bool tier_metadata_unchanged(struct tier_metadata *md, struct block_device *bdev)
{
	void *block = tier_md_read_block(bdev, TIER_SUPERBLOCK_LOCATION);
	struct tier_meta_roots roots = { };
	struct tier_meta_info info;
	const char *reason;
	bool same;

	if (IS_ERR(block))
		return false;
	same = !tier_superblock_unpack(block, &info, &reason);
	tier_superblock_unpack_roots(block, &roots);
	kfree(block);
	/* A disk that came back may be another one by the same number. */
	return same && md->bdev == bdev && !memcmp(&info, &md->info, sizeof(info)) &&
	       !memcmp(&roots, &md->roots, sizeof(roots));
}

/* ---- committing ---- */

/* first: block 0 holds no superblock yet. */
static int __write_superblock(struct tier_metadata *md, const struct tier_meta_info *next,
			      bool first)
{
	struct dm_block *sblock;
	int r;

	/* A superblock that could not be opened again must not get there. */
	if (!tier_meta_info_valid(next))
		return -EINVAL;

	/* All blocks but the superblock are on stable storage after this. */
	r = dm_tm_pre_commit(md->tm) ? :
	    md->sm->copy_root(md->sm, md->roots.space_map, sizeof(md->roots.space_map)) ? :
	    (first ? dm_bm_write_lock_zero : dm_bm_write_lock)(md->bm, TIER_SUPERBLOCK_LOCATION,
								&sb_validator, &sblock);
	if (r)
		return r;

	tier_superblock_pack(dm_block_data(sblock), next, &md->roots);
	md->attempted = next->trans_id;
	r = dm_tm_commit(md->tm, sblock);
	if (r)
		return r;

	md->attempted = 0;
	md->info = *next;
	md->changed = false;
	md->warm = false;
	return 0;
}

static int __commit(struct tier_metadata *md, bool clean)
{
	struct tier_meta_info next = md->info;
	int r;

	tier_meta_info_count(&next);
	next.flags = (next.flags & ~TIER_SB_CLEAN) | (clean ? TIER_SB_CLEAN : 0);
	r = __write_superblock(md, &next, false);
	if (r) {
		DMERR_LIMIT("%pg: commit failed: %d", md->bdev, r);
		md->doomed = true;
	}
	return r;
}

static bool __must_commit(struct tier_metadata *md, bool clean)
{
	return md->changed || clean != !!(md->info.flags & TIER_SB_CLEAN);
}

int tier_metadata_commit(struct tier_metadata *md, bool clean)
{
	int r;

	tier_md_lock(md);
	r = __writable(md);
	if (!r && __must_commit(md, clean))
		r = __commit(md, clean);
	return tier_md_unlock(md, r);
}

struct tier_metadata *tier_metadata_format(struct block_device *bdev,
					   const struct tier_meta_info *info, const char **reason)
{
	struct tier_meta_info found;
	struct tier_metadata *md;
	int r;

	/* Once more, just before it is written over. */
	r = tier_metadata_read_superblock(bdev, &found, reason) ? :
	    tier_refuse(reason, -EEXIST, "metadata device is formatted already");
	if (r != -ENODATA)
		return ERR_PTR(r);

	md = alloc_metadata(bdev, reason);
	if (IS_ERR(md))
		return md;

	md->info = *info;
	r = dm_tm_create_with_sm(md->bm, TIER_SUPERBLOCK_LOCATION, &md->tm, &md->sm);
	if (r) {
		md->tm = NULL;
		md->sm = NULL;
	} else {
		tier_md_init_infos(md);
		r = __tier_md_create_content(md) ? :
		    __write_superblock(md, info, true);
	}
	if (!r)
		return md;
	*reason = "metadata device cannot be formatted";
	tier_metadata_close(md);
	return ERR_PTR(r);
}

/* ---- after a failed commit ---- */

/* trans_id tells any two commits apart. */
enum tier_verdict tier_metadata_verdict(struct tier_metadata *md)
{
	enum tier_verdict verdict = TIER_VERDICT_UNKNOWN;
	struct tier_meta_info found;
	const char *reason;

	if (tier_metadata_read_superblock(md->bdev, &found, &reason))
		return verdict;
	down_read(&md->lock);
	if (!memcmp(found.uuid, md->info.uuid, sizeof(found.uuid)))
		verdict = found.trans_id == md->info.trans_id ? TIER_VERDICT_OLD :
			  found.trans_id == md->attempted ? TIER_VERDICT_NEW : verdict;
	up_read(&md->lock);
	return verdict;
}

bool tier_metadata_doomed(struct tier_metadata *md)
{
	return READ_ONCE(md->doomed);
}

int tier_metadata_abort(struct tier_metadata *md)
{
	const char *reason;
	int r = -EIO;

	tier_md_lock(md);
	if (md->failed)
		return tier_md_unlock(md, r);
	tier_md_free_census(md);
	__close_tm(md);
	dm_block_manager_reset(md->bm);
	r = __open_tm(md, &reason);
	if (r)
		DMERR("%pg: abort failed: %s", md->bdev, reason);
	md->failed = r;
	return tier_md_unlock(md, r);
}

static int __set_needs_check(struct tier_metadata *md)
{
	struct tier_superblock *sb;
	struct dm_block *sblock;
	int r;

	r = dm_bm_write_lock(md->bm, TIER_SUPERBLOCK_LOCATION, &sb_validator, &sblock);
	if (r)
		return r;
	sb = dm_block_data(sblock);
	sb->flags |= cpu_to_le32(TIER_SB_NEEDS_CHECK);
	dm_bm_unlock(sblock);

	/* From here the block in memory may differ from the one on disk. */
	r = dm_bm_flush(md->bm);
	if (r) {
		md->doomed = true;
		return r;
	}
	md->info.flags |= TIER_SB_NEEDS_CHECK;
	return 0;
}

int tier_metadata_set_needs_check(struct tier_metadata *md)
{
	tier_md_lock(md);
	return tier_md_unlock(md, md->failed ? -EIO : md->read_only ? -EROFS :
			      __set_needs_check(md));
}

void tier_metadata_set_read_only(struct tier_metadata *md)
{
	tier_md_lock(md);
	md->read_only = true;
	dm_bm_set_read_only(md->bm);
	tier_md_unlock(md, 0);
}

void tier_metadata_set_writable(struct tier_metadata *md)
{
	tier_md_lock(md);
	md->read_only = false;
	dm_bm_set_read_write(md->bm);
	tier_md_unlock(md, 0);
}

/* ---- the superblock's plain fields ---- */

void tier_metadata_get_info(struct tier_metadata *md, struct tier_meta_info *info)
{
	down_read(&md->lock);
	*info = md->info;
	up_read(&md->lock);
}

void tier_metadata_set_info(struct tier_metadata *md, const struct tier_meta_info *info)
{
	struct tier_meta_info next = *info;

	tier_md_lock(md);
	/* These have functions of their own. */
	next.flags = (info->flags & TIER_SB_PAUSED) | (md->info.flags & ~TIER_SB_PAUSED);
	next.compat_flags = md->info.compat_flags;
	next.compat_ro_flags = md->info.compat_ro_flags;
	next.incompat_flags = md->info.incompat_flags;
	next.nr_chunks = md->info.nr_chunks;
	next.trans_id = md->info.trans_id;
	next.held_root = md->info.held_root;
	next.owner = md->info.owner;

	if (!__writable(md) && memcmp(&next, &md->info, sizeof(next))) {
		md->info = next;
		md->changed = true;
	}
	tier_md_unlock(md, 0);
}

void tier_metadata_set_owner(struct tier_metadata *md, const struct tier_owner *owner)
{
	tier_md_lock(md);
	if (!__writable(md)) {
		md->info.compat_flags |= TIER_COMPAT_OWNER;
		md->info.owner = *owner;
		md->info.owner.trans_id = md->info.trans_id;
		md->changed = true;
	}
	tier_md_unlock(md, 0);
}

/*
 * ---- the metadata snapshot ----
 *
 * A copy of the superblock, and a reference on each root in it that keeps the blocks below
 * from being reused.
 */

static int __inc_roots(struct tier_metadata *md)
{
	const u64 roots[] = { md->roots.mapping, md->roots.heat,
			      md->roots.tiers, md->roots.tunables };
	unsigned int i;
	int r = 0;

	for (i = 0; !r && i < ARRAY_SIZE(roots); i++)
		r = md->sm->inc_blocks(md->sm, roots[i], roots[i] + 1);
	return r;
}

static int __hold_superblock(struct tier_metadata *md)
{
	struct tier_superblock *sb;
	struct dm_block *copy;
	int r, inc;

	/* Shadowing takes a reference away that the superblock needs. */
	r = md->sm->inc_blocks(md->sm, TIER_SUPERBLOCK_LOCATION, TIER_SUPERBLOCK_LOCATION + 1) ? :
	    dm_tm_shadow_block(md->tm, TIER_SUPERBLOCK_LOCATION, &sb_validator,
			       &copy, &inc);
	if (r)
		return r;

	/* The space map goes on changing: it is no part of the snapshot. */
	sb = dm_block_data(copy);
	memset(sb->metadata_space_map_root, 0, sizeof(sb->metadata_space_map_root));
	md->info.held_root = dm_block_location(copy);
	dm_tm_unlock(md->tm, copy);
	return 0;
}

static int __reserve_snap(struct tier_metadata *md)
{
	int r;

	if (md->info.held_root)
		return -EBUSY;
	if (!__has_room(md, 0))
		return -ENOSPC;
	/* On a device that cannot be read, nobody could tell how a commit has ended. */
	r = __tier_walk_btree(&md->tiers_info, md->roots.tiers, TIER_MAX_TIERS, NULL, NULL, NULL);
	if (r)
		return r;
	if (__must_commit(md, false))
		r = __commit(md, false);
	if (!r && !__has_room(md, 0))
		r = -ENOSPC;
	return r ? : __warm(md) ? :
	       __end(md, __hold_superblock(md) ? : __inc_roots(md)) ? :
	       __commit(md, false);
}

int tier_metadata_reserve_snap(struct tier_metadata *md)
{
	return change(md, __reserve_snap);
}

static int __read_held(struct tier_metadata *md, struct tier_meta_roots *held, u64 *nr_chunks)
{
	const struct tier_superblock *sb;
	struct dm_block *copy;
	int r;

	r = dm_tm_read_lock(md->tm, md->info.held_root, &sb_validator, &copy);
	if (r)
		return r;
	sb = dm_block_data(copy);
	tier_superblock_unpack_roots(sb, held);
	*nr_chunks = le64_to_cpu(sb->nr_chunks);
	dm_tm_unlock(md->tm, copy);
	return 0;
}

/*
 * The trees of a snapshot are not looked at when the set is activated, and the library
 * counts down whatever they name.
 */
static int __judge_held(struct tier_metadata *md, struct tier_meta_roots *held)
{
	u64 nr_chunks;
	int r;

	r = __read_held(md, held, &nr_chunks) ? : __tier_md_judge_held(md, held, nr_chunks);
	if (!r || r == -ENOMEM || r == -EIO)
		return r;
	DMERR("%pg: the metadata snapshot is damaged and cannot be released", md->bdev);
	return -EILSEQ;
}

static int __drop_held(struct tier_metadata *md, const struct tier_meta_roots *held)
{
	int r;

	r = dm_array_del(&md->mapping_info, held->mapping) ? :
	    dm_array_del(&md->heat_info, held->heat) ? :
	    dm_btree_del(&md->tiers_info, held->tiers) ? :
	    dm_btree_del(&md->tunables_info, held->tunables) ? :
	    md->sm->dec_blocks(md->sm, md->info.held_root, md->info.held_root + 1);
	if (!r)
		md->info.held_root = 0;
	return r;
}

static int __release_snap(struct tier_metadata *md)
{
	struct tier_meta_roots held;

	if (!md->info.held_root)
		return -EINVAL;
	/* It gives space back: the last of the room is there for it. */
	if (__tier_md_free(md) < __tier_md_commit_room(md))
		return -ENOSPC;
	return __warm(md) ? : __judge_held(md, &held) ? :
	       __end(md, __drop_held(md, &held)) ? : __commit(md, false);
}

int tier_metadata_release_snap(struct tier_metadata *md)
{
	return change(md, __release_snap);
}

/* ---- growth of the metadata device ---- */

static int __adopt_size(struct tier_metadata *md)
{
	u64 size = device_blocks(md->bdev);
	dm_block_t old;
	int r;

	r = md->sm->get_nr_blocks(md->sm, &old);
	if (r)
		return r;
	if (size < old)
		return -EINVAL;
	/* The space map needs a few of the new blocks to describe them. */
	if (size < old + MIN_GROWTH)
		return 0;

	/* New blocks may be used once the space map that has them is on disk. */
	return __warm(md) ? :
	       __end(md, md->sm->extend(md->sm, size - old)) ? :
	       __commit(md, false);
}

int tier_metadata_adopt_size(struct tier_metadata *md)
{
	return change(md, __adopt_size);
}
