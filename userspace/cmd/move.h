/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the commands that move chunks. */
#ifndef TIERCTL_MOVE_H
#define TIERCTL_MOVE_H

#include "cmd/selection.h"

/*
 * Parses the chunks, and --tier. 0, or an exit code with the error said; call target_free() in
 * any case.
 */
int target_with_tier(const struct args *args, const char *command, struct target *t, unsigned int *id);
/*
 * The rank of a tier now: looking at files takes a while, and meanwhile add and remove may shift
 * ranks. False with the error said.
 */
bool rank_now(struct set *s, unsigned int id, unsigned int *rank);

/* Sends "MESSAGE FIRST COUNT REST" for each range.  0 or -errno, with the error said. */
int send_ranges(const struct set *s, const struct ranges *chunks, const char *message, const char *rest);

/* "1 chunk", "5 chunks" */
struct chunk_words {
	char text[32];
};
struct chunk_words count_chunks(const struct ranges *chunks);

#endif
