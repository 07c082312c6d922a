/* SPDX-License-Identifier: GPL-2.0-only */
/* First writes; see birth.c. */
#ifndef DM_TIER_BIRTH_H
#define DM_TIER_BIRTH_H

#include "map.h"

/*
 * A write of an unmapped chunk.  TIER_ENDED: it was completed or put aside; TIER_AGAIN: it
 * finds its way by the map.  Any context of a map function, and the io work.
 */
enum tier_route tier_first_write(struct tier_set *set, struct bio *bio, struct tier_io *io);
/*
 * I/O of a chunk that is not whole yet; likewise.  May cut a read short, for which the bio has
 * to come from the map function.
 */
enum tier_route tier_map_partial(struct tier_set *set, struct bio *bio, struct tier_io *io);

/* Waits until chunks are whole; fn: any context, without a lock.  status: zeroing failed. */
struct tier_birth_wait {
	struct list_head list;
	u64 up_to;
	blk_status_t status;
	void (*fn)(struct tier_birth_wait *wait, blk_status_t status);
};

/*
 * Has what no write has covered zeroed in the chunks of a tier that are not whole yet.  True:
 * there are some, and wait->fn is called when they are.  tier_complete_births() does most of
 * it before, if there are many, without a long hold of the lock; any context.
 */
bool __tier_complete_births(struct tier *t, struct tier_birth_wait *wait);
void tier_complete_births(struct tier_set *set);
/* Whether chunks of a tier are being completed. */
bool __tier_births_completing(struct tier *t);
/* Completes, flushes and commits a new chunk of that tier, without waiting. */
void __tier_commit_chunk(struct tier_set *set, struct tier *t, u32 chunk);
/* Completes, flushes and commits all new chunks, without waiting.  Any context. */
void tier_commit_births(struct tier_set *set);
/* A first write that waited for its turn, and whose turn it is, or NULL. */
struct bio *tier_next_crowded(struct tier_set *set);
/* First writes that wait for a tier that hangs may find another one.  True if some wait. */
bool tier_release_crowded(struct tier_set *set);
/*
 * Puts an unmapped chunk, which reads as zeroes, onto that place, as zeroes.  0: begun;
 * -ENOENT: it is mapped; -EAGAIN, -ENOMEM: not now; -ENOSPC: the place is taken.
 */
int tier_materialise(struct tier_set *set, u32 chunk, struct tier *t, u64 place);
/* Gives up the births of a tier; suspended. */
void tier_drop_births(struct tier *t);

#endif /* DM_TIER_BIRTH_H */
