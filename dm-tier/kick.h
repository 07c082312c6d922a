/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wakes the works of a set: puts bios aside for them, and tells them of changes that they
 * wait for.  No function here sleeps.
 */
#ifndef DM_TIER_KICK_H
#define DM_TIER_KICK_H

#include "core.h"

/*
 * Whether a bio that would have to wait ends with BLK_STS_AGAIN instead: the submitter set
 * REQ_NOWAIT, and repeats the bio from a context that may wait.  A polled bio is repeated
 * with the same flag, by a work of device-mapper, and on 6.1 by a worker of io_uring, whose
 * bio has lost REQ_POLLED if the device cannot be polled.  Kernel threads and these workers
 * are the tasks that have a worker_private.
 *
 * A part of a split bio does not end with BLK_STS_AGAIN: while another part is in flight, the
 * error reaches io_uring (6.1, 6.12) in an interrupt, and io_uring passes it to the program.
 * Bios are split at chunks and at max_sectors.  So a bio counts as a part if it is as long as
 * max_sectors, ends at the end of its chunk, or does not begin with its first page.
 */
static inline bool tier_wants_again(const struct tier_set *set, const struct bio *bio)
{
	return (bio->bi_opf & (REQ_NOWAIT | REQ_POLLED)) == REQ_NOWAIT &&
	       !current->worker_private && !tier_bio_is_rest(bio) &&
	       bio_sectors(bio) < queue_max_sectors(dm_disk(set->md)->queue) &&
	       (bio_end_sector(bio) & (set->chunk_sectors - 1));
}

/*
 * Lists a bio that a work will submit.  The work may wait, and nobody polls the queue that the
 * bio will be in.  Whoever polls for the bio itself still sees that it has ended.
 */
static inline void tier_put_aside(struct bio_list *list, struct bio *bio)
{
	bio_clear_polled(bio);
	bio->bi_opf &= ~REQ_NOWAIT;
	bio_list_add(list, bio);
}

/* The io work takes a bio that cannot be mapped at once.  DM_MAPIO_SUBMITTED.  Any context. */
int tier_defer_bio(struct tier_set *set, struct bio *bio);
/* The io work looks up these bios, which were held back; empties the list. */
void __tier_defer_bios(struct tier_set *set, struct bio_list *bios);
/* The io work tries again the bios that had to wait for memory. */
void __tier_retry_deferred(struct tier_set *set);
/* The io work tries again the first writes that found no place. */
void __tier_wake_starved(struct tier_set *set);

/* What a suspend waits for has ended.  The set may be freed once the lock is released. */
static inline void __tier_wake_idle(struct tier_set *set)
{
	lockdep_assert_held(&set->lock);
	/* A suspend that is not in the queue yet looks at the set afterwards, with the lock. */
	if (waitqueue_active(&set->idle_wait))
		wake_up(&set->idle_wait);
}

/*
 * A work of the tier submits the bio.  The bio points at the tier or, if it is the set's own,
 * at no device: the work points it at the tier.  Any context.
 */
void tier_post(struct tier *t, struct bio *bio);

/* The mover looks for moves at once.  Any context. */
void tier_kick_mover(struct tier_set *set);
/*
 * The mover looks within a second at what waits for a device or memory, also while the set is
 * suspended.
 */
void tier_watch_stalls(struct tier_set *set);
/* New chunks are completed and committed a second after this, unless a FLUSH comes before. */
void __tier_arm_commit_timer(struct tier_set *set);
/* The mover is to look for chunks that lie where a pin or an evacuation does not want them. */
void __tier_mark_astray(struct tier_set *set);

/* Whether a pin or an evacuation wants the chunk elsewhere, also if it cannot go there now. */
static inline bool tier_word_astray(struct tier_set *set, u64 word)
{
	unsigned int pin = tier_word_pin(word), id = tier_word_id(word);

	if (!(word & TIER_ENTRY_MAPPED))
		return false;
	return (pin && pin - 1 != id) ||
	       (READ_ONCE(set->by_id[id]->rec.flags) & TIER_RECORD_EVACUATE);
}

/*
 * The tier or the pin of the chunk has changed.  The mover looks only at groups of chunks whose
 * bit is set: it clears the bit, and sets it again if one of the chunks is astray.
 */
static inline void __tier_note_astray(struct tier_set *set, u32 chunk)
{
	if (tier_word_astray(set, set->map[chunk]))
		__set_bit(chunk >> TIER_GROUP_SHIFT, set->astray_groups);
}

/* A pin or a request that kept chunks in their tier may have ended. */
void __tier_chunks_may_go(struct tier_set *set);

#endif /* DM_TIER_KICK_H */
