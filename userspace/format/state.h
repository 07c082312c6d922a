/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of a set's states, in dumps and in udev's properties. */
#ifndef TIER_LIB_STATE_H
#define TIER_LIB_STATE_H

#include "dm-tier/format-code.h"

/* One of TIER_STATE_*, which every superblock that was accepted has. */
const char *md_state_name(u32 state);

#endif
