/* SPDX-License-Identifier: GPL-2.0-only */
/* One migration, from start to end; see migrate.c. */
#ifndef DM_TIER_MIGRATE_H
#define DM_TIER_MIGRATE_H

#include "map.h"

struct tier_move;
struct tier_request;

/*
 * Starts to move a chunk.  place: TIER_NO_PLACE for any.  request: that it is part of, or NULL.
 * proposal: of the policy, which is told the end, or NULL.  0, or -EAGAIN if the chunk cannot be
 * moved now, -ENOSPC, -ENOMEM, -ENXIO if a tier is not usable, -ENOENT if there is nothing to move.
 */
int tier_migrate(struct tier_set *set, u32 chunk, struct tier *to, u64 place,
		 enum tier_reason reason, struct tier_request *request,
		 const struct tier_move *proposal);

/*
 * A write to a chunk that moves.  TIER_REMAPPED; TIER_ENDED: it was completed, or is sent on when
 * the move is over; TIER_AGAIN: the chunk does not move any more.  Any context.
 */
enum tier_route tier_guard_write(struct tier_set *set, struct bio *bio);
/* Ends a migration early and keeps the bio until it has ended; false: there is none. */
bool tier_cancel_migration(struct tier_set *set, u32 chunk, struct bio *bio);
void tier_cancel_migrations(struct tier_set *set);
/*
 * Looks for moves that hang: they do not count for migration_depth, and those that hold writes
 * back are given up.  To be called every second or so while chunks move.
 */
void tier_watch_migrations(struct tier_set *set);
/*
 * Whether one move more may begin, and would not take the place of a first write.  *ahead: of
 * how many sectors the copy has not begun.
 */
bool tier_may_migrate(struct tier_set *set, u64 *ahead);
/* Chunks that are being copied, or whose move hangs; 1 at least while a move is under way. */
unsigned int __tier_in_flight(struct tier_set *set);
/* Whether moves are under way that no pace holds back. */
bool tier_moves_unpaced(struct tier_set *set);
/* Whether a move between the two hung when the moves were looked at last. */
bool tier_pair_hangs(struct tier_set *set, const struct tier *from, const struct tier *to);
/* Whether a place of this tier is about to become free, as far as devices answer. */
bool tier_departures(const struct tier *t);

#endif /* DM_TIER_MIGRATE_H */
