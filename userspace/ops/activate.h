/* SPDX-License-Identifier: GPL-2.0-only */
/* Making the device of a set. */
#ifndef TIERCTL_ACTIVATE_H
#define TIERCTL_ACTIVATE_H

#include "base/context.h"
#include "base/words.h"
#include "set/set.h"

struct activation {
	const char *name;		/* of the device; NULL: the one it had */
	bool read_only;
	bool degraded;
	bool automatic;			/* in silence, unless a complete set cannot be activated */
	bool unchecked;			/* without a look at the metadata */
	bool named;			/* by the user */
	struct strings features;
};

/* Of one that convert or revert left half-done, the rest of that comes first.  An exit code. */
int activate_or_finish(struct set *s, const struct activation *how);

/* The set that the device is a member of, or that has the name; all sets.  An exit code. */
int activate_auto_named(struct tier_context *ctx, const char *name, const struct activation *how);
int activate_auto_all(struct tier_context *ctx, const struct activation *how);

/* The worse of two exit codes: failed, then degraded, then done. */
int worse_exit_code(int a, int b);

/* Makes the device of an inactive set, as tierctl activate does.  An exit code. */
int activate_uuid(struct tier_context *ctx, const char *set_hex);

/* An activation that was killed leaves its device without a table: the set is not active. */
bool activate_has_remains(const struct set *s);

/* Takes that away and calls fn with the set as it is then, for that command.  An exit code. */
int activate_without_remains(const struct set *before, const char *command,
			     int (*fn)(void *context, struct set *s), void *context);

/* A label is from the metadata's future, so the metadata is an old copy; with the error said. */
bool activate_metadata_stale(const struct set *s);

#endif
