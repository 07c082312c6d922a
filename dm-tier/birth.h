/* SPDX-License-Identifier: GPL-2.0-only */
/* First writes; see birth.c. */
#ifndef DM_TIER_BIRTH_H
#define DM_TIER_BIRTH_H

#include "core.h"

extern const struct tier_set_room tier_birth_room;
extern const struct tier_room tier_landing_room;

enum tier_first_write {
	TIER_FIRST_TAKEN,
	TIER_NOT_FIRST,		/* it finds its way by the map */
	TIER_FIRST_NO_MEMORY,	/* it was deferred, to be tried again once there is some */
};

/*
 * A write of an unmapped chunk; the only caller is the io work.  It must not wait
 * for memory: the births that hold it end by way of the same work.
 */
enum tier_first_write tier_first_write(struct tier_set *set, struct bio *bio);
/*
 * Ends the births whose data is on the tier, of the io work: their writes are deferred, to
 * find their way by the map.
 */
void tier_bring_up_births(struct tier_set *set);
/* A first write that waited for its turn, and whose turn it is, or NULL. */
struct bio *tier_next_crowded(struct tier_set *set);
/* First writes that wait for a tier that hangs may find another one.  True if some wait. */
bool tier_release_crowded(struct tier_set *set);
/*
 * Puts an unmapped chunk, which reads as zeroes, onto that place, as zeroes.  0: begun;
 * -ENOENT: it is mapped; -EAGAIN, -ENOMEM: not now; -ENOSPC: the place is taken.
 */
int tier_materialise(struct tier_set *set, u32 chunk, struct tier *t, u64 place);
/*
 * A chunk has not been unmapped: it is as word says, unless a first write since then
 * has found it unmapped and takes it to another place.
 */
void __tier_undo_unmap(struct tier_set *set, u32 chunk, u64 word);
/* Gives up the births of a tier; suspended. */
void tier_drop_births(struct tier *t);

#endif /* DM_TIER_BIRTH_H */
