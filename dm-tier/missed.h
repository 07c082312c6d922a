/* SPDX-License-Identifier: GPL-2.0-only */
/* Why chunks were not moved lately. */
#ifndef DM_TIER_MISSED_H
#define DM_TIER_MISSED_H

#include "core.h"

/* Why a chunk was not moved lately, a word of dm-tier.rst, or NULL. */
const char *__tier_missed(struct tier_set *set, u32 chunk);
void __tier_note_missed(struct tier_set *set, u32 chunk, const char *why);
/* The chunk begins to move: forgets what was noted. */
void __tier_forget_missed(struct tier_set *set, u32 chunk);
/* Forgets all notes; takes set->lock. */
void tier_forget_all_missed(struct tier_set *set);

/*
 * The last copy of a chunk met an I/O error, and only a message starts another one.  False:
 * there is no memory for the note, so the move is tried again.  Any context.
 */
bool tier_note_copy_failed(struct tier_set *set, u32 chunk);
bool tier_copy_failed(struct tier_set *set, u32 chunk);
/* Takes such a note away; whether there was one.  Any context. */
bool tier_forget_copy_failed(struct tier_set *set, u32 chunk);

#endif /* DM_TIER_MISSED_H */
