/* SPDX-License-Identifier: GPL-2.0-only */
/* What was written to the tiers of an active set, and what their endurance leaves. */
#ifndef TIERCTL_WEAR_H
#define TIERCTL_WEAR_H

#include "set/set.h"

struct wear {
	uint64_t written;	/* bytes since the tier joined */
	/* Since the activation, or since endurance was set; 0 without endurance. */
	uint64_t used, allowed;	/* bytes written, and that might have been */
	double days_left;	/* of allowance; less than 0: so long the policy writes nothing there */
};

/* By rank, with a time limit. False: the kernel does not say. */
bool wear_query(const struct set *s, struct wear wear[TIER_MAX_TIERS]);

#endif
