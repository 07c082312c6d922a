// SPDX-License-Identifier: GPL-2.0-only
/* The metadata snapshot that tools read, and growth of the metadata device. */
#include "metadata/internal.h"

/* Growth of the device is adopted in steps of at least this many blocks. */
#define MIN_GROWTH 16

/*
 * Metadata snapshot: a copy of the superblock, and a reference on each root in
 * it that keeps the blocks below from being reused.
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
	    dm_tm_shadow_block(md->tm, TIER_SUPERBLOCK_LOCATION, &tier_md_sb_validator,
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
	int r = 0;

	if (md->info.held_root)
		return -EBUSY;
	if (!__tier_md_has_room(md, 0))
		return -ENOSPC;
	if (__tier_md_must_commit(md, false))
		r = __tier_md_commit(md, false);
	if (!r && !__tier_md_has_room(md, 0))
		r = -ENOSPC;
	return r ? : __tier_md_warm(md) ? :
	       __tier_md_end(md, __hold_superblock(md) ? : __inc_roots(md)) ? :
	       __tier_md_commit(md, false);
}

int tier_metadata_reserve_snap(struct tier_metadata *md)
{
	return tier_md_change(md, __reserve_snap);
}

static int __read_held(struct tier_metadata *md, struct tier_meta_roots *held, u64 *nr_chunks)
{
	const struct tier_superblock *sb;
	struct dm_block *copy;
	int r;

	r = dm_tm_read_lock(md->tm, md->info.held_root, &tier_md_sb_validator, &copy);
	if (r)
		return r;
	sb = dm_block_data(copy);
	tier_superblock_unpack_roots(sb, held);
	*nr_chunks = le64_to_cpu(sb->nr_chunks);
	dm_tm_unlock(md->tm, copy);
	return 0;
}

/* Nothing that the live trees have is counted down to nothing, and no block twice. */
static int __meet_held(struct tier_metadata *md, const struct tier_meta_roots *held, u64 nr_chunks)
{
	struct tier_md_census live, c = { 0 };
	int r;

	r = __tier_md_census_begin(md, &live) ? : __tier_md_meet_live(&live) ? :
	    __tier_md_census_begin(md, &c);
	c.live = live.met;
	r = r ? : __tier_md_meet(&c, md->info.held_root) ? :
		  __tier_md_meet_trees(&c, held, nr_chunks);
	tier_md_census_end(&c);
	tier_md_census_end(&live);
	return r;
}

/*
 * The trees of a snapshot are not looked at when the set is activated, and the library
 * counts down whatever they name.
 */
static int __judge_held(struct tier_metadata *md, struct tier_meta_roots *held)
{
	u64 nr_chunks;
	int r;

	r = __read_held(md, held, &nr_chunks) ? : __tier_md_judge_nodes(md, held) ? :
	    __meet_held(md, held, nr_chunks);
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
	return __tier_md_warm(md) ? : __judge_held(md, &held) ? :
	       __tier_md_end(md, __drop_held(md, &held)) ? : __tier_md_commit(md, false);
}

int tier_metadata_release_snap(struct tier_metadata *md)
{
	return tier_md_change(md, __release_snap);
}

/* ---- growth of the metadata device ---- */

static int __adopt_size(struct tier_metadata *md)
{
	u64 size = tier_md_device_blocks(md->bdev);
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
	return __tier_md_warm(md) ? :
	       __tier_md_end(md, md->sm->extend(md->sm, size - old)) ? :
	       __tier_md_commit(md, false);
}

int tier_metadata_adopt_size(struct tier_metadata *md)
{
	return tier_md_change(md, __adopt_size);
}
