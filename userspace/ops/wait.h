/* SPDX-License-Identifier: GPL-2.0-only */
/* Waiting for migrations to end. */
#ifndef TIERCTL_WAIT_H
#define TIERCTL_WAIT_H

#include "base/ranges.h"
#include "set/set.h"

/*
 * Waits until that tier is empty, with a bar if there is a terminal.  rank < 0: until nothing
 * moves.  timeout_ms 0: for ever.  An exit code.
 */
int wait_for(struct set *s, int rank, uint64_t timeout_ms);

/* Waits until all of the chunks that are mapped lie on the tier, with a bar likewise. */
int wait_for_chunks(struct set *s, const struct ranges *chunks, unsigned int rank);

#endif
