/* SPDX-License-Identifier: GPL-2.0-only */
/* Heat on its way from and to the metadata; see saver.c. */
#ifndef DM_TIER_SAVER_H
#define DM_TIER_SAVER_H

#include "core.h"

/*
 * An activation: memory for the heat of nr_chunks, which set->info has at least.  Heat that is in
 * memory stays; the first blocks are read if they have not been.  Suspended, no policy.
 */
int tier_saver_begin(struct tier_set *set, u64 nr_chunks);
/* Forgets all heat. */
void tier_saver_end(struct tier_set *set);

/* Begins to read, or to save what changes, unless it has begun.  Of the mover. */
void tier_saver_watch(struct tier_set *set);
/* Whether a part of the heat has not been read yet, so that hot chunks may look cold. */
bool tier_saver_reads(struct tier_set *set);
/* Whether something is being read or saved; hibernation waits on set->idle_wait. */
bool tier_saver_busy(struct tier_set *set);
/* Saves now what has changed, but a bounded number of blocks at most. */
void tier_saver_save(struct tier_set *set);

#endif /* DM_TIER_SAVER_H */
