/* SPDX-License-Identifier: GPL-2.0-only */
/* FLUSH bios of the set; see cycle.c. */
#ifndef DM_TIER_CYCLE_H
#define DM_TIER_CYCLE_H

#include "core.h"

/* Completes the bio once all that completed before it is durable and reachable. */
void tier_cycle_flush(struct tier_set *set, struct bio *bio);
bool __tier_cycle_running(struct tier_set *set);
/*
 * Whether something was acknowledged that is not durable, in a set that writes nothing now:
 * no cycle can promise it, and a FLUSH is to fail.
 */
bool tier_cycle_lost(struct tier_set *set);

#endif /* DM_TIER_CYCLE_H */
