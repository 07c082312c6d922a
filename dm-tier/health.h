/* SPDX-License-Identifier: GPL-2.0-only */
/* Errors of tiers, the mode of the set, and the event that tells user space of both. */
#ifndef DM_TIER_HEALTH_H
#define DM_TIER_HEALTH_H

#include "core.h"

void tier_health_init(struct tier_set *set);

/* Wakes who waits for an event of the device.  Any context. */
void tier_set_event(struct tier_set *set);

/* Lowers the mode; only tier_set_recover() raises it.  Process context. */
void tier_set_mode(struct tier_set *set, enum tier_mode mode, const char *why);
/* Raises the mode to rw: the metadata has room again, or the set is activated. */
void tier_set_recover(struct tier_set *set, const char *why);
/* Whether the set is ro for want of metadata space and nothing else. */
bool tier_set_full(struct tier_set *set);

/* The bio failed only because its device turned out not to know the command. */
bool tier_rejected(struct tier *t, struct bio *bio, blk_status_t status);
/* I/O to a tier failed.  After a failed write no chunk is placed there.  Any context. */
void tier_note_error(struct tier *t, bool write, blk_status_t status);

#endif /* DM_TIER_HEALTH_H */
