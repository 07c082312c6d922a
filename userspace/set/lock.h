/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Only one tierctl at a time changes a set: its table, its tiers, the contents of its devices. A
 * command that only waits, until a tier is empty for example, lets others change the set
 * meanwhile. revert does not, as no other change goes together with it. The lock ends with the
 * process.
 */
#ifndef TIERCTL_LOCK_H
#define TIERCTL_LOCK_H

#include <stdbool.h>

#include "base/context.h"

/* The name of this command, for the messages of commands that wait for it. */
void lock_as(const char *command);

/*
 * Waits for a while, then returns false with the error said, which names the holder. Returns at
 * once if this process has the lock already, and for a dry run. A lock on another set is
 * released.
 */
bool lock_set(struct tier_context *ctx, const char *hex, const char *name);
/* The same without waiting, and without a message. */
bool lock_set_now(struct tier_context *ctx, const char *hex);
/*
 * Locks the set of that name, active or, with scan, inactive; true also if there is none. Read
 * the state of the set after that.
 */
bool lock_named(struct tier_context *ctx, const char *name, bool scan);
void unlock_set(void);

/* For set_lock(): the metadata is read through a snapshot. */
#define LOCK_SNAPSHOT	"snapshot"

/* A set's device is being made, and has no table yet. */
#define LOCK_DEVICE	"device"

/*
 * Takes such a lock on the set, until the descriptor is closed. -1 without wait: another process
 * has it; with wait: no lock can be made.
 */
int set_lock(const char *hex, const char *what, bool wait);
/* The same, but gives up after ms: -1, with EWOULDBLOCK in errno if another process has it. */
int lock_within(const char *hex, const char *what, unsigned int ms);

/*
 * Such a lock, unless another process has it for longer than an activation takes: then false, with
 * the error said. *lock is -1 if no lock can be made.
 */
bool lock_in_time(struct tier_context *ctx, const char *hex, const char *name, const char *what, int *lock);

/* Whether a dump or a check of the set runs: a metadata snapshot then belongs to it. */
bool set_is_dumped(const char *hex);

#endif
