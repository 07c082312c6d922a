/* SPDX-License-Identifier: GPL-2.0-only */
/* Saves all that can be read of damaged metadata. */
#ifndef TIER_LIB_REPAIR_H
#define TIER_LIB_REPAIR_H

#include "format/content.h"

struct md_label_source {
	const char *name;		/* of the device */
	struct tier_label_info label;
};

struct md_repair {
	struct md_source *src;
	struct md_problems *p;		/* all errors, which are all reported */
	/* Labels on the tiers, fastest first; none: in the order of the metadata. */
	unsigned int nr_labels;
	const struct md_label_source *labels;
	/*
	 * Chunks on tiers with neither a record nor a label are given up; otherwise the repair
	 * is refused.
	 */
	bool lose_tiers;

	u64 given_up;			/* number of these chunks */
	struct md_content content;	/* the result, if it could be saved */
	char *refusal;			/* the reason, otherwise; the caller frees */
};

/* False with refusal set. */
bool md_repair(struct md_repair *r);

#endif
