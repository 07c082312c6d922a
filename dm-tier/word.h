/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A chunk's word in core: a mapping entry (place, tier id, pin, MAPPED) plus
 * flags that live in memory only.
 */
#ifndef DM_TIER_WORD_H
#define DM_TIER_WORD_H

#include <linux/bits.h>
#include "format.h"

#define TIER_WORD_NEW		BIT_ULL(57)	/* allocated, not committed yet */
#define TIER_WORD_MOVING	BIT_ULL(58)	/* writes are guarded by a migration */
#define TIER_WORD_HELD		BIT_ULL(59)	/* writes wait; NEW: partial */
#define TIER_WORD_REASON_SHIFT	60		/* enum tier_reason: why it is there */
#define TIER_WORD_REASON_MASK	(0xfULL << TIER_WORD_REASON_SHIFT)

/* What of a word says where the chunk lies and who guards it. */
#define TIER_WORD_LOCATION_MASK (TIER_ENTRY_PLACE_MASK | 0xffULL << TIER_ENTRY_ID_SHIFT)
#define TIER_WORD_PIN_MASK	(0xffULL << TIER_ENTRY_PIN_SHIFT)

#define TIER_NO_PLACE		(~0ULL)

/* The numbers are known to the tracepoints and must fit 4 bits. */
enum tier_reason {
	TIER_REASON_UNMAPPED,
	TIER_REASON_LOADED,	/* as the metadata said at activation */
	TIER_REASON_FIRST_WRITE,
	TIER_REASON_POLICY,
	TIER_REASON_MIGRATE,
	TIER_REASON_PIN,
	TIER_REASON_EVACUATE,
	TIER_REASON_HOME,
	TIER_REASON_MAKE_ROOM,
};

static inline u64 tier_word(u64 place, u8 id)
{
	return place | (u64)id << TIER_ENTRY_ID_SHIFT | TIER_ENTRY_MAPPED;
}

static inline u64 tier_word_place(u64 word)
{
	return word & TIER_ENTRY_PLACE_MASK;
}

static inline u8 tier_word_id(u64 word)
{
	return word >> TIER_ENTRY_ID_SHIFT;
}

/* The chunk is new, and parts of it were neither written nor zeroed yet. */
static inline bool tier_word_partial(u64 word)
{
	return (word & (TIER_WORD_NEW | TIER_WORD_HELD)) == (TIER_WORD_NEW | TIER_WORD_HELD);
}

/* Writes to the chunk wait for its discard; it is mapped still. */
static inline bool tier_word_discarding(u64 word)
{
	return (word & (TIER_ENTRY_MAPPED | TIER_WORD_NEW | TIER_WORD_MOVING | TIER_WORD_HELD)) ==
	       (TIER_ENTRY_MAPPED | TIER_WORD_HELD);
}

/* The chunk is not mapped any more, but its place is not free yet. */
static inline bool tier_word_discarded(u64 word)
{
	return (word & (TIER_ENTRY_MAPPED | TIER_WORD_HELD)) == TIER_WORD_HELD;
}

/* Tier id + 1, or 0. */
static inline u8 tier_word_pin(u64 word)
{
	return word >> TIER_ENTRY_PIN_SHIFT;
}

static inline u64 tier_pin_bits(unsigned int pin)
{
	return (u64)pin << TIER_ENTRY_PIN_SHIFT;
}

static inline u64 tier_reason_bits(enum tier_reason reason)
{
	return (u64)reason << TIER_WORD_REASON_SHIFT;
}

#endif /* DM_TIER_WORD_H */
