/* SPDX-License-Identifier: GPL-2.0-only */
/* Making the device of a set. */
#ifndef TIERCTL_ACTIVATE_H
#define TIERCTL_ACTIVATE_H

#include "base/context.h"
#include "base/words.h"
#include "set/set.h"

struct activation {
	const char *name;		/* of the device; NULL: its old name */
	bool read_only;
	bool degraded;
	bool automatic;			/* silent, unless a complete set cannot be activated */
	bool unchecked;			/* without a check of the metadata */
	bool take_over;			/* from another machine */
	bool reserve;			/* the disks, for this machine alone */
	bool named;			/* by the user */
	struct strings features;
};

/* If convert or revert left the set half-done, finishes that first. An exit code. */
int activate_or_finish(struct set *s, const struct activation *options);

/* The set that the device belongs to, or that has the name; NULL: all sets. An exit code. */
int activate_auto_named(struct tier_context *ctx, const char *name, const struct activation *options);
int activate_auto_all(struct tier_context *ctx, const struct activation *options);

/* The worse of two exit codes: failed, then degraded, then done. */
int worse_exit_code(int a, int b);

/* Makes the device of an inactive set, as tierctl activate does.  An exit code. */
int activate_uuid(struct tier_context *ctx, const char *set_hex);

/*
 * Two machines that write to one set destroy it: whether none but this one uses the inactive set.
 * False with the error said.
 */
bool activate_may_own(const struct set *s);

/* A killed activation leaves a device without a table: the set is not active. */
bool activate_has_remains(const struct set *s);

/* Removes such a device and calls fn with the inactive set, for that command. An exit code. */
int activate_without_remains(const struct set *before, const char *command,
			     int (*fn)(void *context, struct set *s), void *context);

/* A label is newer than the metadata, so the metadata is an old copy; with the error said. */
bool activate_metadata_stale(const struct set *s);

#endif
