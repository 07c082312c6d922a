/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One tierctl at a time changes a set: its table, its tiers, what its devices carry.  Who
 * only waits, for a tier to be empty for example, lets others at it meanwhile; revert, with
 * which no other change goes together, does not.  The lock ends with the process.
 */
#ifndef TIERCTL_LOCK_H
#define TIERCTL_LOCK_H

#include <stdbool.h>

#include "base/context.h"

/* The command that runs, for those that have to wait for it. */
void lock_as(const char *command);

/*
 * Waits for a while, then false with the error said, which names who has it.  At once if
 * it is ours already, and for a dry run.  One that was had of another set goes.
 */
bool lock_set(struct tier_context *ctx, const char *hex, const char *name);
/* The same without waiting, and in silence. */
bool lock_set_now(struct tier_context *ctx, const char *hex);
/*
 * Of the set of that name, active or, with scan, not; true also if there is none.  What is
 * known of it has to be read after that.
 */
bool lock_named(struct tier_context *ctx, const char *name, bool scan);
void unlock_set(void);

/* For set_lock(): the metadata is read through a snapshot. */
#define LOCK_SNAPSHOT	"snapshot"

/* A set's device is being made, which has no table before that is done. */
#define LOCK_DEVICE	"device"

/*
 * One process at a time does that to the set, until the descriptor is closed.  -1 without
 * wait: another one does; else there is nowhere to put a lock.
 */
int set_lock(const char *hex, const char *what, bool wait);
/*
 * The same that gives up after so long: -1, with EWOULDBLOCK in errno if another process
 * has it.
 */
int lock_within(const char *hex, const char *what, unsigned int ms);

/* Whether a dump or a check of it runs, whose metadata snapshot it is then. */
bool set_is_dumped(const char *hex);

#endif
