/* SPDX-License-Identifier: GPL-2.0-only */
/* The hot path: from a bio to the tier and place of its chunk; see map.c. */
#ifndef DM_TIER_MAP_H
#define DM_TIER_MAP_H

#include "core.h"

/* What has to happen to a bio; see tier_act(). */
enum tier_route {
	TIER_REMAPPED,	/* the bio points at its place; tier_left() releases io->tier's SRCU */
	TIER_KILL,	/* the bio has to fail */
	TIER_ENDED,	/* the bio was completed */
	TIER_AGAIN,	/* to be looked up once more */
	TIER_FIRST,	/* a first write: see birth.h */
	TIER_PARTIAL,	/* I/O of a chunk that is not whole yet: see birth.h */
	TIER_GUARD,	/* a write to a chunk that moves: see migrate.h */
};

/* Looks up the place of a bio that lies within one chunk; any context of a map function. */
enum tier_route tier_map_bio(struct tier_set *set, struct bio *bio, struct tier_io *io);
/* Points a write at the place of that word; guard is told when it has ended.  Any context. */
enum tier_route tier_map_guarded(struct tier_set *set, struct bio *bio, u64 word,
				 struct tier_guard *guard);
/* The same for I/O that has entered the readers of the tier; it may have a guard. */
enum tier_route tier_map_entered(struct tier_set *set, struct bio *bio, struct tier_io *io,
				 u64 word);
/*
 * The I/O has ended on the device: does everything but complete the bio.  True: a guard keeps
 * the bio, which may be completed at any time.
 */
bool tier_left(struct tier_set *set, struct bio *bio, blk_status_t status);

/* Replaces the end_io of a bio until it is unhooked; owner is kept in struct tier_io. */
void tier_hook_bio(struct bio *bio, bio_end_io_t *fn, void *owner);
void tier_unhook_bio(struct bio *bio);

#endif /* DM_TIER_MAP_H */
