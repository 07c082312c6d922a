// SPDX-License-Identifier: GPL-2.0-only
#include "format/state.h"

static const char *const name[] = {
	[TIER_STATE_FORMATTING] = "formatting",
	[TIER_STATE_CONVERTING] = "converting",
	[TIER_STATE_LIVE] = "live",
	[TIER_STATE_REVERTING] = "reverting",
	[TIER_STATE_RETIRED] = "retired",
};

const char *md_state_name(u32 state)
{
	return name[state];
}
