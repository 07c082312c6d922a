// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device-mapper target `tier`: 1 to 16 devices of different speed become
 * one, and the chunks that are hot live on the fast ones.  See dm-tier.rst.
 */
#include <linux/module.h>
#include <linux/sizes.h>

#include "cycle.h"
#include "deferred.h"
#include "kick.h"
#include "map.h"
#include "plan.h"
#include "policy.h"
#include "set.h"
#include "table.h"

#define MAX_DISCARD_SECTORS (16ULL * SZ_1G >> SECTOR_SHIFT)

/*
 * File systems and LUKS align their data to the optimal size and wipe or skip as much at the
 * beginning; readahead is twice the optimal size.  More than 1 MiB brings nothing.
 */
#define MAX_IO_OPT	SZ_1M

static void tier_dtr(struct dm_target *ti)
{
	struct tier_target *tt = ti->private;
	unsigned int i;

	tier_set_leave(tt);
	tier_policy_put(tt->policy);
	for (i = 0; i < tt->nr_tiers; i++)
		if (tt->devs[i])
			dm_put_device(ti, tt->devs[i]);
	if (tt->metadata)
		dm_put_device(ti, tt->metadata);
	kvfree(tt->args);
	kfree(tt);
}

static int check_plan(struct tier_target *tt, char **error)
{
	struct tier_plan *plan = kvzalloc(sizeof(*plan), GFP_KERNEL);
	unsigned int noio;
	int r;

	if (!plan) {
		*error = "Out of memory";
		return -ENOMEM;
	}
	/* Reclaim must not wait for this device: its resume needs the mutex. */
	noio = memalloc_noio_save();
	tier_plan_read_labels(tt, plan);
	mutex_lock(&tt->set->config);
	r = tier_plan_make(tt, plan) ? : tier_set_check_change(tt, plan);
	mutex_unlock(&tt->set->config);
	memalloc_noio_restore(noio);
	if (r)
		tier_reason(error, "%s", plan->reason);
	else
		tt->logical_block_size = plan->info.logical_block_size;
	kvfree(plan);
	return r;
}

static int tier_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct tier_target *tt = kzalloc(sizeof(*tt), GFP_KERNEL);
	int r;

	if (!tt) {
		ti->error = "Out of memory";
		return -ENOMEM;
	}
	ti->private = tt;
	tt->ti = ti;
	tt->md = dm_table_get_md(ti->table);
	INIT_LIST_HEAD(&tt->list);

	r = tier_table_parse(tt, argc, argv, &ti->error) ? : tier_set_join(tt, &ti->error) ? :
	    check_plan(tt, &ti->error) ? : dm_set_target_max_io_len(ti, tt->chunk_sectors);
	if (r) {
		tier_dtr(ti);
		return r;
	}

	ti->num_flush_bios = 1;
	ti->flush_supported = true;
	ti->num_discard_bios = 1;
	ti->discards_supported = true;
	/* An unmapped chunk reads as zeroes, but would not after its first write. */
	ti->num_write_zeroes_bios = !tt->features[TIER_FEATURE_SKIP_ZEROING];
	ti->accounts_remapped_io = true;
	ti->per_io_data_size = sizeof(struct tier_io);
	return 0;
}

static int map_flush(struct tier_set *set, struct bio *bio)
{
	/* Under another table writes may have been acknowledged that are not durable. */
	if (READ_ONCE(set->mode) == TIER_MODE_FAIL || (set->no_writes && tier_cycle_lost(set)))
		return DM_MAPIO_KILL;
	if (set->no_writes)
		bio_endio(bio);
	else
		tier_cycle_flush(set, bio);
	return DM_MAPIO_SUBMITTED;
}

/* The core does not split these at chunks. */
static void cut_at_chunk(struct tier_set *set, struct bio *bio)
{
	u32 offset = bio->bi_iter.bi_sector & (set->chunk_sectors - 1);
	u32 rest = set->chunk_sectors - offset;

	if (bio_sectors(bio) > rest)
		dm_accept_partial_bio(bio, rest);
}

static __always_inline int map_bio(struct tier_set *set, struct bio *bio, struct tier_io *io)
{
	enum tier_route route = tier_map_bio(set, bio, io);

	return likely(route == TIER_REMAPPED) ? DM_MAPIO_REMAPPED :
						tier_act(set, bio, io, route);
}

static int map_discard(struct tier_set *set, struct dm_target *ti, struct bio *bio)
{
	u32 mask = set->chunk_sectors - 1, whole = bio_sectors(bio);
	struct tier_io *io = tier_bio_io(bio);

	if (bio_end_sector(bio) != ti->len)
		whole &= ~mask;
	/* While everything goes back to one tier, chunks stay mapped. */
	io->discards_chunks = whole && !(bio->bi_iter.bi_sector & mask) && !READ_ONCE(set->home);
	if (!io->discards_chunks || set->no_writes || READ_ONCE(set->mode) == TIER_MODE_FAIL) {
		cut_at_chunk(set, bio);
		return map_bio(set, bio, io);
	}
	if (whole < bio_sectors(bio))
		dm_accept_partial_bio(bio, whole);
	io->left_out = false;
	io->first_left = tier_bio_chunk(set, bio);
	io->last_left = io->first_left + ((whole - 1) >> set->chunk_shift);
	return tier_defer_bio(set, bio);
}

static int tier_map(struct dm_target *ti, struct bio *bio)
{
	struct tier_target *tt = ti->private;
	struct tier_set *set = tt->set;
	struct tier_io *io = tier_bio_io(bio);

	io->tier = NULL;
	io->guard = NULL;
	io->discards_chunks = false;
	io->sampled = 0;

	switch (bio_op(bio)) {
	case REQ_OP_DISCARD:
		return map_discard(set, ti, bio);
	case REQ_OP_WRITE_ZEROES:
		cut_at_chunk(set, bio);
		break;
	default:
		if (bio->bi_opf & REQ_PREFLUSH)
			return map_flush(set, bio);
	}
	if (READ_ONCE(set->observing))
		tier_note_access(set, bio);
	return map_bio(set, bio, io);
}

static int tier_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct tier_target *tt = ti->private;

	return tier_left(tt->set, bio, *error) ? DM_ENDIO_INCOMPLETE : DM_ENDIO_DONE;
}

static int tier_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct tier_target *tt = ti->private;
	unsigned int i;
	int r = 0;

	for (i = 0; !r && i < tt->nr_tiers; i++)
		if (tt->devs[i])
			r = fn(ti, tt->devs[i], 0, round_down(bdev_nr_sectors(tt->devs[i]->bdev),
							      tt->chunk_sectors), data);
	return r;
}

/*
 * Whether the tiers' physical blocks begin at the same sectors.  Stacking also says misaligned
 * if block sizes do not divide each other.
 */
static bool blocks_lie_alike(const struct tier_target *tt, const struct queue_limits *limits)
{
	int offset, common = -1;
	unsigned int i;

	for (i = 0; i < tt->nr_tiers; i++) {
		if (!tt->devs[i] ||
		    bdev_physical_block_size(tt->devs[i]->bdev) <= limits->logical_block_size)
			continue;
		offset = bdev_alignment_offset(tt->devs[i]->bdev);
		if (offset < 0 || (common >= 0 && offset != common))
			return false;
		common = offset;
	}
	return true;
}

static void tier_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	struct tier_target *tt = ti->private;
	u32 chunk = tt->chunk_sectors << SECTOR_SHIFT;

	/* The block size of the set counts, as a missing tier may come back. */
	limits->logical_block_size = max(limits->logical_block_size, tt->logical_block_size);
	limits->physical_block_size = max(limits->physical_block_size, limits->logical_block_size);
	if ((tier_take_misaligned(limits) && !blocks_lie_alike(tt, limits)) ||
	    limits->alignment_offset & (limits->logical_block_size - 1)) {
		/* No larger blocks begin at the same sectors on all tiers. */
		limits->physical_block_size = limits->logical_block_size;
		limits->alignment_offset = 0;
		limits->io_min = 0;
	}
	limits->io_min = max(limits->io_min, limits->physical_block_size);
	if (chunk % limits->io_min)
		limits->io_min = limits->physical_block_size;
	limits->io_opt = min(chunk, max_t(u32, MAX_IO_OPT, limits->io_min));
	limits->discard_granularity = chunk;
	tier_limit_discards(limits, MAX_DISCARD_SECTORS);
}

static struct target_type tier_target_type = {
	.name = "tier",
	.features = DM_TARGET_SINGLETON | DM_TARGET_NOWAIT,
	.version = { 1, 0, 0 },
	.module = THIS_MODULE,
	.ctr = tier_ctr,
	.dtr = tier_dtr,
	.map = tier_map,
	.end_io = tier_end_io,
	.presuspend = tier_set_presuspend,
	.presuspend_undo = tier_set_presuspend_undo,
	.postsuspend = tier_set_postsuspend,
	.preresume = tier_set_preresume,
	.resume = tier_set_resume,
	.status = tier_status,
	.message = tier_message,
	.iterate_devices = tier_iterate_devices,
	.io_hints = tier_io_hints,
};

static int __init dm_tier_init(void)
{
	int r = tier_set_init();

	if (r)
		return r;
	r = dm_register_target(&tier_target_type);
	if (r)
		tier_set_exit();
	return r;
}

static void __exit dm_tier_exit(void)
{
	dm_unregister_target(&tier_target_type);
	tier_set_exit();
}

module_init(dm_tier_init);
module_exit(dm_tier_exit);

MODULE_DESCRIPTION(DM_NAME " tier target");
MODULE_LICENSE("GPL");
MODULE_ALIAS("dm-target-tier");
