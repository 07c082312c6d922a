/* SPDX-License-Identifier: GPL-2.0-only */
/* Discard of whole chunks; see discard.c. */
#ifndef DM_TIER_DISCARD_H
#define DM_TIER_DISCARD_H

#include "core.h"

enum tier_discard {
	TIER_DISCARD_TAKEN,
	TIER_DISCARD_MOVING,	/* the chunk moves: the move is to be cancelled before */
	TIER_DISCARD_NO_MEMORY,	/* it was deferred, to be tried again once there is some */
};

/* From the io work. */
enum tier_discard tier_discard_chunk(struct tier_set *set, struct bio *bio);
/* Passes down, or ends, what no reader knows any more; of the io work. */
void tier_pass_down_unmapped(struct tier_set *set);

#endif /* DM_TIER_DISCARD_H */
