/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of a set that is not active, in its superblock. */
#ifndef TIERCTL_STATE_H
#define TIERCTL_STATE_H

#include "set/set.h"

/*
 * Writes the state, and the id of the tier that takes the set's place. 0 or -errno, with the
 * error said.
 */
int set_write_state(const struct set *s, u32 state, unsigned int survivor);

#endif
