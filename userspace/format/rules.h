/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules for the contents of metadata: superblock, tiers, tunables, entries of the mapping. The
 * same rules apply to metadata that is checked, repaired or restored.
 */
#ifndef TIER_LIB_RULES_H
#define TIER_LIB_RULES_H

#include "format/pd.h"
#include "format/problems.h"
#include "format/taken.h"

struct md_tiers {
	unsigned int nr;
	struct tier_meta_tier tier[TIER_MAX_TIERS];	/* in order of id */
};

struct md_tunable {
	char name[TIER_TUNABLE_NAME_SIZE];
	u64 value;
};

struct md_tunables {
	unsigned int nr;
	struct md_tunable tunable[TIER_MAX_TUNABLES];
};

/* NULL if there is none. */
const struct tier_meta_tier *md_find_tier(const struct md_tiers *tiers, unsigned int id);

/* Rank 0 is the fastest; a contradiction to the records is an error. */
void md_rules_tiers(const struct tier_meta_info *info, const struct md_tiers *tiers,
		    struct md_problems *p);
void md_rules_tunables(const struct md_tunables *tunables, struct md_problems *p);

/* Whether this version has a policy of that name. */
bool md_knows_policy(const char *name);

/* Whether the flags name the tier that takes the set's place, or has taken it. */
static inline bool md_has_survivor(u32 state)
{
	return state == TIER_STATE_REVERTING || state == TIER_STATE_RETIRED;
}

/* The id of that tier, in such a state. */
static inline unsigned int md_survivor(const struct tier_meta_info *info)
{
	return (info->flags & TIER_SB_HOME_MASK) >> TIER_SB_HOME_SHIFT;
}

/* Checks bits and bytes that must be zero in an otherwise good superblock. */
void md_rules_superblock(const void *block, struct md_problems *p);

/* Chunks that the length covers; the array may have more, none of them mapped. */
u64 md_live_chunks(const struct tier_meta_info *info);

/* A chunk whose place belongs to another chunk. */
struct md_double {
	u64 chunk, entry;
	bool found;
	u64 keeper;	/* the chunk that has the place, if found */
};

/* As many doubles as there are lines for. */
struct md_doubles {
	bool all;	/* there are lines for all */
	bool sorted;	/* by place */
	size_t nr, room;
	struct md_double *d;
};

/* The taken places. */
struct md_places {
	const struct tier_meta_info *info;
	const struct md_tiers *tiers;
	struct md_doubles doubles;
	struct md_taken taken;
};

void md_places_init(struct md_places *places, const struct tier_meta_info *info,
		    const struct md_tiers *tiers);
void md_places_free(struct md_places *places);

enum md_entry_verdict {
	MD_ENTRY_GOOD,
	MD_ENTRY_PIN,		/* the pin is ignored, the rest is good */
	MD_ENTRY_BAD,
	MD_ENTRY_DOUBLE,	/* bad, and added to doubles */
};

#define MD_WHY	96
/*
 * Takes the place of a good entry. Otherwise fills in why, unless the entry is added to doubles.
 */
enum md_entry_verdict md_places_take(struct md_places *places, u64 chunk, u64 entry, char why[MD_WHY]);

/*
 * Called for each entry, in the same order, after all were checked: finds the keepers of the
 * places.
 */
void md_doubles_look(struct md_places *places, u64 chunk, u64 entry);
void md_doubles_tell(struct md_doubles *doubles, struct md_problems *p);

static inline unsigned int md_entry_id(u64 entry)
{
	return entry >> TIER_ENTRY_ID_SHIFT & 0xff;
}

/* Tier id + 1, 0 for none. */
static inline unsigned int md_entry_pin(u64 entry)
{
	return entry >> TIER_ENTRY_PIN_SHIFT & 0xff;
}

#define MD_ENTRY_PIN_MASK	(0xffULL << TIER_ENTRY_PIN_SHIFT)

#endif
