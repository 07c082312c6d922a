/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What wakes the works of a set: bios that are put aside for them, and changes that they
 * wait for.  Nothing here waits.
 */
#ifndef DM_TIER_KICK_H
#define DM_TIER_KICK_H

#include "core.h"

/*
 * Whether the submitter asked for BLK_STS_AGAIN where its bio would have to wait, and
 * can wait elsewhere.  A polled bio would be tried again with the same mark: by
 * device-mapper from a work, on 6.1 also by a worker of io_uring, whose bio has lost
 * REQ_POLLED where the device cannot be polled.  Threads of the kernel and those workers
 * are the tasks that have a worker_private.
 *
 * A part of a bio that was split, at a chunk or at what a tier takes at once, does not
 * hear of it either, nor does what looks like one: the first part is as long as may be, or
 * ends with its chunk; the others do not begin with the first page.  Where another part is
 * under way, the bio ends in an interrupt, from which io_uring (6.1, 6.12) tries nothing
 * again but hands the error to the program.
 */
static inline bool tier_wants_again(const struct tier_set *set, const struct bio *bio)
{
	return (bio->bi_opf & (REQ_NOWAIT | REQ_POLLED)) == REQ_NOWAIT &&
	       !current->worker_private && !tier_bio_is_rest(bio) &&
	       bio_sectors(bio) < queue_max_sectors(dm_disk(set->md)->queue) &&
	       (bio_end_sector(bio) & (set->chunk_sectors - 1));
}

/*
 * Lists a bio that a work will submit: the work may wait, and nobody polls the queue
 * that it will be in.  Who polls for the bio itself finds it ended all the same.
 */
static inline void tier_put_aside(struct bio_list *list, struct bio *bio)
{
	bio_clear_polled(bio);
	bio->bi_opf &= ~REQ_NOWAIT;
	bio_list_add(list, bio);
}

/* The io work takes a bio that cannot be mapped at once; DM_MAPIO_SUBMITTED.  Any context. */
int tier_defer_bio(struct tier_set *set, struct bio *bio);
/* Bios that were held back find their way by the map as it is now; empties the list. */
void __tier_defer_bios(struct tier_set *set, struct bio_list *bios);
/*
 * Memory has come back, or will not: the io work tries again what had to wait.
 * set->lock has been held since the wait began.
 */
void __tier_retry_deferred(struct tier_set *set);
/* First writes that found no place try again. */
void __tier_wake_starved(struct tier_set *set);

/* Something can be moved now, or is to be looked at.  Any context. */
void tier_kick_mover(struct tier_set *set);
/* The mover looks soon, also while the set is suspended, at what waits for a device or memory. */
void tier_watch_stalls(struct tier_set *set);
/* Chunks may lie where a pin or an evacuation does not want them.  Any context. */
void tier_mark_astray(struct tier_set *set);
/* A pin or a request that kept chunks where they are may have gone. */
void __tier_chunks_may_go(struct tier_set *set);

#endif /* DM_TIER_KICK_H */
