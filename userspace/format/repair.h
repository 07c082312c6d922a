/* SPDX-License-Identifier: GPL-2.0-only */
/* Saves what can be read of damaged metadata. */
#ifndef TIER_LIB_REPAIR_H
#define TIER_LIB_REPAIR_H

#include "format/content.h"

struct md_label_source {
	const char *name;		/* of the device */
	struct tier_label_info label;
};

struct md_repair {
	struct md_source *src;
	struct md_problems *p;		/* what is found to be wrong: all of it is told */
	/* Labels on the tiers, fastest first; none: as the metadata says. */
	unsigned int nr_labels;
	const struct md_label_source *labels;
	/* Gives up what lies on tiers that have neither a record nor a label, or refuses. */
	bool lose_tiers;

	u64 given_up;			/* chunks, so */
	struct md_content content;	/* the result, if it could be saved */
	char *refusal;			/* why it could not; the caller frees */
};

/* False with refusal set. */
bool md_repair(struct md_repair *r);

#endif
