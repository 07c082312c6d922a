/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Audits: did what the heat engine expected come true?
 *
 * An audit follows a few chunks for a part of a half-life and sums up the time that
 * their accesses would have saved.  Two questions are asked all the time, of a
 * sample, whether or not the moves in question were made:
 *
 * - A candidate is hotter than a victim now: is it in the time to come?  Where
 *   accesses are uniform, or bursts that never return, it is not, and moves
 *   must become dearer.
 * - Is a chunk that is written after a long silence, or for the first time, used
 *   enough to keep room for it on a fast tier?  Streams of writes are not.
 */
#ifndef DM_TIER_HEAT_AUDIT_H
#define DM_TIER_HEAT_AUDIT_H

#include "heat/port.h"

#define HEAT_SWAP_AUDITS	48
#define HEAT_NEWCOMER_AUDITS	64
#define HEAT_AUDITS		(HEAT_SWAP_AUDITS + HEAT_NEWCOMER_AUDITS)
#define HEAT_AUDIT_BUCKETS	1024

/* An audit takes that part of a half-life. */
#define HEAT_SWAP_PART		4
#define HEAT_NEWCOMER_PART	3

#define HEAT_NO_CHUNK		0xffffffffU	/* never a chunk, see TIER_MAX_CHUNKS */

/* Sums are heat with 8 fractional bits. */
struct heat_audit {
	u32 chunk;
	u32 victim;		/* HEAT_NO_CHUNK for a newcomer */
	s64 expected;		/* heat of chunk less heat of victim at the start; or the most */
	s64 earned;		/* by accesses to chunk less those to victim */
	u64 until;		/* access that ends it, 0 = not in use */
};

struct heat_audits {
	struct heat_audit audits[HEAT_AUDITS];
	u32 next;			/* looked at last */
	u8 buckets[HEAT_AUDIT_BUCKETS];	/* audited chunks by hash */

	/* Decaying sums over the swaps that came to an end. */
	s64 expected;
	s64 earned;
	u32 wariness;		/* factor on the cost of a move, 8 fractional bits */
	s64 newcomer;		/* decaying mean of what one earns */
};

#define HEAT_WARINESS_ONE	256

void heat_audits_init(struct heat_audits *t);

/* weight: of an access, heat with 16 fractional bits; now: accesses so far */
void heat_audits_access(struct heat_audits *t, u32 chunk, u64 weight, u64 now);

/* gap: heat of chunk less heat of victim; ignored if either is audited already */
void heat_audits_swap(struct heat_audits *t, u32 chunk, u32 victim, u32 gap,
		      u64 until);
/*
 * handicap: as weight, what the chunk must earn before it counts
 * most: heat that it may earn.  A chunk in use for good says nothing about the others,
 * and moves to the fast tier anyway: without a limit the first few, hot ones were
 * remembered for the rest of a trace of data that is written once.
 */
void heat_audits_newcomer(struct heat_audits *t, u32 chunk, u64 handicap, u32 most,
			  u64 until);

/* Heat that a newcomer earns while it is audited. */
u32 heat_audits_newcomer_heat(const struct heat_audits *t);

#endif /* DM_TIER_HEAT_AUDIT_H */
