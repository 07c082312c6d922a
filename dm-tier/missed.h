/* SPDX-License-Identifier: GPL-2.0-only */
/* Why chunks were not moved lately. */
#ifndef DM_TIER_MISSED_H
#define DM_TIER_MISSED_H

#include "core.h"

extern const struct tier_set_room tier_missed_room;

/* Why a chunk was not moved lately, a word of dm-tier.rst, or NULL. */
const char *__tier_missed(struct tier_set *set, u32 chunk);
void __tier_note_missed(struct tier_set *set, u32 chunk, const char *why);
/* It begins to move, or lies elsewhere: what was noted of it is over. */
void __tier_forget_missed(struct tier_set *set, u32 chunk);
/* All that was noted; takes set->lock. */
void tier_forget_all_missed(struct tier_set *set);

/*
 * The last copy of a chunk met an I/O error, so that another try waits for a message.
 * False if there is no memory to note it: then it is tried again.  Any context.
 */
bool tier_note_copy_failed(struct tier_set *set, u32 chunk);
bool tier_copy_failed(struct tier_set *set, u32 chunk);
/* Whether there was such a note, which is taken away.  Any context. */
bool tier_forget_copy_failed(struct tier_set *set, u32 chunk);

#endif /* DM_TIER_MISSED_H */
