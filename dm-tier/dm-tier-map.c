// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hot path: from a bio to the tier and place of its chunk.
 *
 * A chunk that is mapped and not moving costs one read of its word and one
 * SRCU reader of its tier, entered here and left in end_io.  What a reader's
 * word said stays true of the device until the reader has left: a migration
 * sets MOVING and then waits for the readers, and an abandoned place is freed
 * only after its readers are gone.  So no lock and no shared cache line is
 * written.
 */
#include <linux/ktime.h>

#include "dm-tier.h"

/* Statuses that do not tell of the request only. */
static bool blames_device(blk_status_t status)
{
	return status != BLK_STS_OK && status != BLK_STS_NOTSUPP && status != BLK_STS_AGAIN &&
	       status != BLK_STS_INVAL;
}

bool tier_rejected(struct tier *t, struct bio *bio, blk_status_t status)
{
	switch (bio_op(bio)) {
	case REQ_OP_WRITE_ZEROES:
		return !bdev_write_zeroes_sectors(t->bdev);
	case REQ_OP_DISCARD:
		/* A dm device may offer them still when the disk below has none any more. */
		return !bdev_max_discard_sectors(t->bdev) || status == BLK_STS_NOTSUPP ||
		       status == BLK_STS_TARGET;
	default:
		return false;
	}
}

void tier_note_error(struct tier *t, bool write, blk_status_t status)
{
	bool event = false;

	if (!blames_device(status))
		return;
	atomic64_inc(&t->errors);
	if (write && !test_and_set_bit(TIER_FLAG_WRITE_FAILED, &t->flags))
		event = true;
	if (!test_and_set_bit(TIER_FLAG_ERRORS, &t->flags))
		event = true;
	if (event) {
		DMERR_LIMIT("%s: tier %u (%pg): %s error; see the status",
			    dm_device_name(t->set->md), t->rec.rank, t->bdev,
			    write ? "write" : "I/O");
		tier_set_event(t->set);
	}
}

/*
 * Pairs with the exchange in send_flush(): a write that ended before the mark
 * is taken off is covered by the flush sent after that.
 */
void tier_mark_unflushed(struct tier *t)
{
	if (READ_ONCE(t->unflushed) != TIER_UNFLUSHED)
		WRITE_ONCE(t->unflushed, TIER_UNFLUSHED);
}

static int end_bio(struct bio *bio, blk_status_t status)
{
	bio->bi_status = status;
	bio_endio(bio);
	return DM_MAPIO_SUBMITTED;
}

static int would_block(struct bio *bio)
{
	bio_wouldblock_error(bio);
	return DM_MAPIO_SUBMITTED;
}

static int map_unmapped(struct tier_set *set, struct bio *bio)
{
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		zero_fill_bio(bio);
		return end_bio(bio, BLK_STS_OK);
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		return end_bio(bio, BLK_STS_OK);
	default:
		if (tier_set_frozen(set))
			return DM_MAPIO_KILL;
		if (tier_wants_again(set, bio))
			return would_block(bio);
		return tier_defer_bio(set, bio);
	}
}

/* The I/O has left the device: everything but completing the bio. */
static void leave_tier(struct tier_set *set, struct bio *bio, blk_status_t status)
{
	struct tier_io *io = tier_bio_io(bio);
	struct tier *t = io->tier;
	bool write = op_is_write(bio_op(bio));

	if (!t)
		return;
	if (write)
		tier_mark_unflushed(t);
	/* Readahead may fail at any time: a dm device that is suspended refuses it. */
	if (unlikely(status) && !(bio->bi_opf & REQ_RAHEAD) && !tier_rejected(t, bio, status))
		tier_note_error(t, write && bio_op(bio) != REQ_OP_DISCARD, status);
	if (io->migration)
		tier_guarded_write_end(set, io);
	if (unlikely(io->sampled)) {
		/* Not by `+=`, as another bio may end in an interrupt. */
		this_cpu_add(t->stats->sampled_ns, ktime_get_ns() - io->start_ns);
		this_cpu_inc(t->stats->sampled);
	}
	tier_srcu_leave(&t->readers, io->srcu_idx);
	io->tier = NULL;
}

int tier_end_io(struct tier_set *set, struct bio *bio, blk_status_t *error)
{
	leave_tier(set, bio, *error);
	return DM_ENDIO_DONE;
}

/*
 * FUA to a chunk that is not committed yet: the data is not reachable after a
 * power cut until the chunk is, so the bio waits for that.
 */
static void fua_endio(struct bio *bio)
{
	struct tier_set *set = tier_bio_io(bio)->owner;
	struct tier *t = tier_bio_io(bio)->tier;

	tier_unhook_bio(bio);
	leave_tier(set, bio, bio->bi_status);
	if (bio->bi_status)
		bio_endio(bio);
	else
		tier_flush_births(t, bio);
}

/*
 * A device that turned out not to know discards is from then on one that none are
 * passed down to.  The other tiers may: device-mapper, if it heard of this, would
 * take discards from the whole set.
 */
static void discard_endio(struct bio *bio)
{
	struct tier_set *set = tier_bio_io(bio)->owner;
	struct tier *t = tier_bio_io(bio)->tier;

	tier_unhook_bio(bio);
	leave_tier(set, bio, bio->bi_status);
	if (bio->bi_status && tier_rejected(t, bio, bio->bi_status))
		bio->bi_status = BLK_STS_OK;
	bio_endio(bio);
}

void tier_hook_bio(struct bio *bio, bio_end_io_t *fn, void *owner)
{
	struct tier_io *io = tier_bio_io(bio);

	io->end_io = bio->bi_end_io;
	io->owner = owner;
	bio->bi_end_io = fn;
}

void tier_unhook_bio(struct bio *bio)
{
	bio->bi_end_io = tier_bio_io(bio)->end_io;
}

static void point_at(struct tier_set *set, struct bio *bio, struct tier *t, u64 place)
{
	sector_t offset = bio->bi_iter.bi_sector & (set->chunk_sectors - 1);

	bio_set_dev(bio, t->bdev);
	bio->bi_iter.bi_sector = tier_place_sector(set, place) + offset;
	if (op_is_write(bio_op(bio)))
		this_cpu_inc(t->stats->writes);
	else
		this_cpu_inc(t->stats->reads);
}

/*
 * Submitting blocks when a device has no request left.  What the set's works
 * have to submit goes through a work of each tier, so that a device that hangs
 * holds up nobody else's.
 */
static void do_outbox(struct work_struct *work)
{
	struct tier *t = container_of(work, struct tier, outbox_work);
	struct bio_list bios;
	struct bio *bio;

	spin_lock_irq(&t->set->lock);
	bios = t->outbox;
	bio_list_init(&t->outbox);
	spin_unlock_irq(&t->set->lock);
	while ((bio = bio_list_pop(&bios)))
		dm_submit_bio_remap(bio, NULL);
}

static void post(struct tier_set *set, struct tier *t, struct bio *bio)
{
	spin_lock_irq(&set->lock);
	bio_list_add(&t->outbox, bio);
	spin_unlock_irq(&set->lock);
	queue_work(set->wq, &t->outbox_work);
}

void tier_submit_to(struct tier_set *set, struct bio *bio, struct tier *t, u64 place)
{
	point_at(set, bio, t, place);
	post(set, t, bio);
}

int tier_map_bio(struct tier_set *set, struct bio *bio, struct tier_io *io)
{
	u32 chunk = tier_bio_chunk(set, bio);
	bool write = op_is_write(bio_op(bio));
	u64 word = tier_get_word(set, chunk);
	struct tier *t;
	u64 now;

	if (unlikely(READ_ONCE(set->mode) == TIER_MODE_FAIL ||
		     (write && set->no_writes)))
		return DM_MAPIO_KILL;
again:
	io->migration = NULL;
	if (!(word & TIER_ENTRY_MAPPED))
		return map_unmapped(set, bio);

	t = set->by_id[tier_word_id(word)];
	if (unlikely(!tier_present(t)))
		return DM_MAPIO_KILL;

	if (unlikely(bio_op(bio) == REQ_OP_DISCARD) &&
	    (!set->discard_passdown || !bdev_max_discard_sectors(t->bdev)))
		return end_bio(bio, BLK_STS_OK);

	if (unlikely(write && (word & (TIER_WORD_MOVING | TIER_WORD_HELD)))) {
		bool retry;

		if (tier_guard_write(set, bio, &word, &retry))
			return DM_MAPIO_SUBMITTED;
		if (retry)
			goto again;
		/* The guard's word counts, not the one read before it. */
		t = set->by_id[tier_word_id(word)];
	}

	io->srcu_idx = tier_srcu_enter(&t->readers);
	now = tier_get_word(set, chunk);
	if (unlikely(!io->migration &&
		     ((now ^ word) & (TIER_WORD_LOCATION_MASK | TIER_ENTRY_MAPPED |
				      TIER_WORD_NEW | TIER_WORD_MOVING | TIER_WORD_HELD)))) {
		tier_srcu_leave(&t->readers, io->srcu_idx);
		word = now;
		goto again;
	}
	/*
	 * The mode is set before a move that nobody knows the outcome of lets go of its
	 * word: who has read that word sees the mode.  A guarded write keeps the move.
	 */
	smp_rmb();
	if (unlikely(write && !io->migration && READ_ONCE(set->mode) == TIER_MODE_FAIL)) {
		tier_srcu_leave(&t->readers, io->srcu_idx);
		return DM_MAPIO_KILL;
	}
	io->tier = t;
	if (unlikely(io->sampled))
		io->start_ns = ktime_get_ns();
	if (unlikely(write && (word & TIER_WORD_NEW) && (bio->bi_opf & REQ_FUA)))
		tier_hook_bio(bio, fua_endio, set);
	else if (unlikely(bio_op(bio) == REQ_OP_DISCARD))
		tier_hook_bio(bio, discard_endio, set);
	point_at(set, bio, t, tier_word_place(word));
	return DM_MAPIO_REMAPPED;
}

void tier_remap_bio(struct tier_set *set, struct bio *bio)
{
	struct tier_io *io = tier_bio_io(bio);

	switch (tier_map_bio(set, bio, io)) {
	case DM_MAPIO_REMAPPED:
		post(set, io->tier, bio);
		break;
	case DM_MAPIO_KILL:
		bio_io_error(bio);
		break;
	}
}

void tier_remap_bios(struct tier_set *set, struct bio_list *bios)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios)))
		tier_remap_bio(set, bio);
}

void tier_map_init_tier(struct tier *t)
{
	bio_list_init(&t->outbox);
	bio_list_init(&t->crowded);
	INIT_WORK(&t->outbox_work, do_outbox);
}
