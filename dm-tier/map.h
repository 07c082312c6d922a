/* SPDX-License-Identifier: GPL-2.0-only */
/* The hot path: from a bio to the tier and place of its chunk; see map.c. */
#ifndef DM_TIER_MAP_H
#define DM_TIER_MAP_H

#include "core.h"

/* What is to become of a bio; the caller of tier_map_bio() acts on it. */
enum tier_route {
	TIER_REMAPPED,	/* it points at its place; io->tier's SRCU is held until tier_left() */
	TIER_KILL,	/* to be failed */
	TIER_ENDED,	/* it was completed */
	TIER_DEFER,	/* a first write, for the io work */
	TIER_GUARD,	/* a write to a chunk that moves: see migrate.h */
};

/* Looks a bio up that lies within one chunk; any context that a map function runs in. */
enum tier_route tier_map_bio(struct tier_set *set, struct bio *bio, struct tier_io *io);
/* Points a write at the place of that word; guard hears of its end.  Any context. */
enum tier_route tier_map_guarded(struct tier_set *set, struct bio *bio, u64 word,
				 struct tier_guard *guard);
/* The I/O has left the device: all but completing the bio. */
void tier_left(struct tier_set *set, struct bio *bio, blk_status_t status);

/* Another end of a bio, with its owner in struct tier_io, until it is unhooked. */
void tier_hook_bio(struct bio *bio, bio_end_io_t *fn, void *owner);
void tier_unhook_bio(struct bio *bio);

extern const struct tier_room tier_outbox_room;

/* Submits what was remapped to this tier from a work of the tier.  Process context. */
void tier_post(struct tier *t, struct bio *bio);
/* The same for a place past the map; the caller guards the place. */
void tier_submit_to(struct tier_set *set, struct bio *bio, struct tier *t, u64 place);

#endif /* DM_TIER_MAP_H */
