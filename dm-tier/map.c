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
#include "map.h"

#include <linux/hash.h>
#include <linux/log2.h>

#include "flush.h"
#include "health.h"
#include "kick.h"

/* An access that begins within so many sectors of another's end continues it. */
#define STREAM_GAP	256

/* After so many samples within so many ns, a CPU takes half as many. */
#define BURST_SAMPLES	64
#define BURST_NS	(NSEC_PER_SEC / 4)

static enum tier_route end_bio(struct bio *bio, blk_status_t status)
{
	bio->bi_status = status;
	bio_endio(bio);
	return TIER_ENDED;
}

static enum tier_route map_unmapped(struct tier_set *set, struct bio *bio)
{
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		zero_fill_bio(bio);
		return end_bio(bio, BLK_STS_OK);
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		return end_bio(bio, BLK_STS_OK);
	default:
		return tier_set_frozen(set) ? TIER_KILL : TIER_FIRST;
	}
}

bool tier_left(struct tier_set *set, struct bio *bio, blk_status_t status)
{
	struct tier_io *io = tier_bio_io(bio);
	struct tier_guard *guard = io->guard;
	struct tier *t = io->tier;
	bool write = op_is_write(bio_op(bio));

	if (!t)
		return false;
	if (write)
		tier_mark_unflushed(t);
	/* A failed readahead says nothing of the tier: a suspended dm device fails it. */
	if (unlikely(status) && !(bio->bi_opf & REQ_RAHEAD) && !tier_rejected(t, bio, status))
		tier_note_error(t, write && bio_op(bio) != REQ_OP_DISCARD, status);
	if (unlikely(io->sampled) && !status) {
		enum tier_class class = io->sampled - 1;
		u64 ns = ktime_get_ns() - io->start_ns;

		/* Not by `+=`: an interrupt may end another bio in between. */
		this_cpu_add(t->stats->sampled_ns[class], ns);
		this_cpu_add(t->stats->busy_ns, ns * io->stands_for);
		this_cpu_add(t->stats->sampled[class], io->pieces);
	}
	io->tier = NULL;
	io->guard = NULL;
	tier_srcu_leave(&t->readers, io->srcu_idx);
	return unlikely(guard) && guard->write_ended(set, guard, bio, status);
}

/*
 * A FUA write to a chunk that is not committed yet: after a power cut the data can be reached
 * only if the chunk is committed, so the bio waits for the commit.
 */
static void fua_endio(struct bio *bio)
{
	struct tier_set *set = tier_bio_io(bio)->owner;
	struct tier *t = tier_bio_io(bio)->tier;

	tier_unhook_bio(bio);
	/* It has no guard. */
	tier_left(set, bio, bio->bi_status);
	if (bio->bi_status)
		bio_endio(bio);
	else
		tier_flush_births(t, bio);
}

/*
 * A device that turned out not to know discards gets no more of them.  The error stays here:
 * device-mapper would stop discards of the whole set, though other tiers know them.
 */
static void discard_endio(struct bio *bio)
{
	struct tier_set *set = tier_bio_io(bio)->owner;
	struct tier *t = tier_bio_io(bio)->tier;

	tier_unhook_bio(bio);
	tier_left(set, bio, bio->bi_status);
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

/*
 * One access in how many is sampled.  sample_every follows the rate of the last seconds; after
 * a pause it is 1, and must not make each access of a burst dearer.  So the samples that a CPU
 * takes in a moment become rarer.
 */
static u32 sample_every(const struct tier *t, struct tier_stats *s, u64 now)
{
	unsigned int halved;

	if (now - s->burst_ns > BURST_NS) {
		s->burst_ns = now;
		s->burst = 0;
	}
	halved = min_t(unsigned int, s->burst++ / BURST_SAMPLES, ilog2(TIER_SAMPLE_EVERY));
	return min_t(u32, READ_ONCE(t->sample_every) << halved, TIER_SAMPLE_EVERY);
}

/*
 * Measures one access in so many: at random, or it would always be, say, the first of a batch.
 * Of the accesses just before it only the ends are noted.
 */
static noinline void sample(struct bio *bio, struct tier_io *io, struct tier *t)
{
	struct tier_stats *s = get_cpu_ptr(t->stats);
	bool stream = bio_sectors(bio) > TIER_PIECE_SECTORS;
	bool write = op_is_write(bio_op(bio));
	sector_t *ends = s->ends[write];
	unsigned int i;
	u32 every;

	for (i = 0; i < TIER_SAMPLE_STREAMS; i++)
		stream |= bio->bi_iter.bi_sector - ends[i] <= STREAM_GAP;
	ends[(write ? s->writes : s->reads) % TIER_SAMPLE_STREAMS] = bio_end_sector(bio);
	if (s->left[write] <= 0 && (bio_op(bio) == REQ_OP_READ || bio_op(bio) == REQ_OP_WRITE)) {
		io->start_ns = ktime_get_ns();
		io->sampled = 1 + 2 * write + stream;
		io->pieces = max(1U, DIV_ROUND_UP(bio_sectors(bio), TIER_PIECE_SECTORS));
		io->stands_for = max_t(u8, s->every[write], 1);
		every = sample_every(t, s, io->start_ns);
		s->every[write] = every;
		s->left[write] = 1 + every / 2 + every * hash_32(io->start_ns, 8) / 256;
	}
	put_cpu_ptr(t->stats);
}

static __always_inline void point_at(struct tier_set *set, struct bio *bio, struct tier_io *io,
				     struct tier *t, u64 place)
{
	sector_t offset = bio->bi_iter.bi_sector & (set->chunk_sectors - 1);
	bool write = op_is_write(bio_op(bio));

	bio_set_dev(bio, t->bdev);
	bio->bi_iter.bi_sector = tier_place_sector(set, place) + offset;
	if (write) {
		this_cpu_inc(t->stats->writes);
		tier_count_written(t, bio_op(bio) == REQ_OP_DISCARD ? 0 : bio_sectors(bio));
	} else {
		this_cpu_inc(t->stats->reads);
	}
	if (unlikely(this_cpu_dec_return(t->stats->left[write]) < TIER_SAMPLE_STREAMS))
		sample(bio, io, t);
}

/* Points the bio at its place.  The reader of the tier's SRCU stays until tier_left(). */
static __always_inline enum tier_route
send_to_place(struct tier_set *set, struct bio *bio, struct tier_io *io, struct tier *t, u64 word)
{
	io->tier = t;
	io->sampled = 0;
	if (unlikely(op_is_write(bio_op(bio)) && (word & TIER_WORD_NEW) && !io->guard &&
		     (bio->bi_opf & REQ_FUA)))
		tier_hook_bio(bio, fua_endio, set);
	else if (unlikely(bio_op(bio) == REQ_OP_DISCARD))
		tier_hook_bio(bio, discard_endio, set);
	point_at(set, bio, io, t, tier_word_place(word));
	return TIER_REMAPPED;
}

enum tier_route tier_map_bio(struct tier_set *set, struct bio *bio, struct tier_io *io)
{
	u32 chunk = tier_bio_chunk(set, bio);
	bool write = op_is_write(bio_op(bio));
	u64 word = tier_get_word(set, chunk);
	struct tier *t;
	u64 now;

	if (unlikely(READ_ONCE(set->mode) == TIER_MODE_FAIL ||
		     (write && set->no_writes)))
		return TIER_KILL;
again:
	if (!(word & TIER_ENTRY_MAPPED))
		return map_unmapped(set, bio);

	t = set->by_id[tier_word_id(word)];
	if (unlikely(!tier_present(t)))
		return TIER_KILL;

	if (unlikely(bio_op(bio) == REQ_OP_DISCARD) &&
	    (!set->discard_passdown || !bdev_max_discard_sectors(t->bdev)))
		return end_bio(bio, BLK_STS_OK);

	if (unlikely(word & (TIER_WORD_MOVING | TIER_WORD_HELD))) {
		if (tier_word_partial(word))
			return TIER_PARTIAL;
		if (write)
			return TIER_GUARD;
	}

	io->srcu_idx = tier_srcu_enter(&t->readers);
	now = tier_get_word(set, chunk);
	if (unlikely((now ^ word) & (TIER_WORD_LOCATION_MASK | TIER_ENTRY_MAPPED |
				     TIER_WORD_NEW | TIER_WORD_MOVING | TIER_WORD_HELD))) {
		tier_srcu_leave(&t->readers, io->srcu_idx);
		word = now;
		goto again;
	}
	/*
	 * If the outcome of a move is unknown, the mode falls before the word loses MOVING:
	 * whoever has read that word sees the mode.
	 */
	smp_rmb();
	if (unlikely(write && READ_ONCE(set->mode) == TIER_MODE_FAIL)) {
		tier_srcu_leave(&t->readers, io->srcu_idx);
		return TIER_KILL;
	}
	return send_to_place(set, bio, io, t, word);
}

enum tier_route tier_map_entered(struct tier_set *set, struct bio *bio, struct tier_io *io,
				 u64 word)
{
	return send_to_place(set, bio, io, set->by_id[tier_word_id(word)], word);
}

/* A guarded write keeps its move from ending, so the word and the mode need no second look. */
enum tier_route tier_map_guarded(struct tier_set *set, struct bio *bio, u64 word,
				 struct tier_guard *guard)
{
	struct tier_io *io = tier_bio_io(bio);

	io->guard = guard;
	io->srcu_idx = tier_srcu_enter(&set->by_id[tier_word_id(word)]->readers);
	return tier_map_entered(set, bio, io, word);
}
