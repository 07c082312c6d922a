/* SPDX-License-Identifier: GPL-2.0-only */
/* Does a table fit the devices; makes it so.  See plan.c.  Process context throughout. */
#ifndef DM_TIER_PLAN_H
#define DM_TIER_PLAN_H

#include "core.h"
#include "metadata/metadata.h"

struct tier_plan {
	struct {
		int error;	/* of tier_label_choose(); -ENODATA: blank */
		const char *reason;
		struct tier_label_info info;
	} label[TIER_MAX_TIERS];	/* by rank, as found */
	bool format;
	bool changes_list;	/* a tier joins, goes or changes rank */
	bool grows;		/* some tier does */
	bool joining[TIER_MAX_TIERS];
	u8 label_slot[TIER_MAX_TIERS];	/* not the one to be written first */
	bool grown[TIER_MAX_TIERS];
	bool unlabelled[TIER_MAX_TIERS];	/* its label could not be written anew */
	struct tier_meta_tier tiers[TIER_MAX_TIERS];	/* by rank, as they shall be */
	bool known[256];	/* ids of the set before */
	u64 capacity, reserve;	/* chunks */
	struct tier_meta_info info;	/* as found, if not format */
	struct tier_meta_tiers found;	/* the tiers as the running set or the metadata know them */
	bool used[TIER_MAX_TIERS];	/* of those found: chunks lie on it */
	u64 whole_chunks;		/* chunks that the new length keeps whole */
	bool mapped_above;		/* a chunk beyond those is mapped */
	char reason[160];	/* why it was refused */
};

/* Whether a tier of this id is among the first nr of the plan. */
bool tier_plan_has(const struct tier_plan *plan, unsigned int nr, u8 id);
/* The first step of a plan, without any lock: a tier may be slow to answer. */
void tier_plan_read_labels(struct tier_target *tt, struct tier_plan *plan);
/* Reads only.  Fills *plan; on error plan->reason is one clear line. */
int tier_plan_make(struct tier_target *tt, struct tier_plan *plan);
/* The same for the table in force: whether I/O still reaches what it is meant for. */
int tier_plan_recheck(struct tier_target *tt, struct tier_plan *plan);
/* Writes: formats the set, or bumps the generation and changes the list. */
int tier_plan_format(struct tier_target *tt, struct tier_plan *plan);
int tier_plan_join(struct tier_set *set, struct tier_target *tt, struct tier_plan *plan);
/*
 * What the last plan has read of a set that was not active: its metadata, open, to be closed by
 * the caller, and the entries of nr_chunks (NULL: none were read), to be freed with vfree().
 */
struct tier_metadata *tier_plan_take_metadata(struct tier_set *set);
u64 *tier_plan_take_map(struct tier_set *set, u64 *nr_chunks);
void tier_plan_forget(struct tier_set *set);
/* What no device of a set may be, whenever it is looked at; *why goes behind its name. */
int tier_device_unfit(const struct tier_target *tt, struct block_device *bdev, const char **why);

#endif /* DM_TIER_PLAN_H */
