/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the commands that change an active set. There is no journal: each command is a
 * series of steps that are recorded in the metadata, the labels or LVM's tags, so that the same
 * command, called again, sees how far the first call came.
 */
#ifndef TIERCTL_RESHAPE_H
#define TIERCTL_RESHAPE_H

#include "base/context.h"
#include "set/member.h"
#include "set/set.h"
#include "dm/table.h"

/*
 * As need_active(), for a set whose tiers may change now: complete, writable, not suspended.
 * Remains of an interrupted change in the kernel, a table that waits or does not work, are put
 * in order first. Takes lock_set().
 */
struct set *need_changeable(struct tier_context *ctx, struct set_list *list, const char *name);

/*
 * The live table in the form for loading it again: keys that a message has set since are left
 * out.
 */
void reshape_table(const struct set *s, struct table *t);

/*
 * Whether the metadata device has room for another table beside a snapshot, also for a table
 * that drops a tier; false with the error said. Without room the change would fail at its end,
 * and could not be undone.
 */
bool reshape_has_metadata(const struct set *s, bool drops);

/*
 * Makes the table the live one. what names the change in messages and steps. 0, or -1 with the
 * error said and the set unchanged. With --dry-run only prints the table.
 */
int reshape_reload(const struct set *s, const struct table *t, uint64_t length, const char *what);

/*
 * For a set that was a volume, whether the volume is found by its name. False with the error
 * said.
 */
bool reshape_has_origin(const struct set *s);
/*
 * Whether the tier may leave; the converted volume may not, as the set has its name. False with
 * the error said.
 */
bool reshape_may_go(const struct set *s, unsigned int rank);
/*
 * Whether LVM will do the steps of reshape_clean_device() for the volume. False with the error
 * said.
 */
bool reshape_may_release(const struct set *s, const struct device *d);

/*
 * Empties the tier on that device, whatever its rank is by now, and takes it out: evacuate,
 * wait, reload, wipe the label. May be called at any stage. again and back are the commands that
 * go on and that undo it. An exit code.
 */
int reshape_take_out(struct tier_context *ctx, const char *set_name, dev_t dev, bool background,
		     const char *again, const char *back);
/* The last steps: the label, and the logical volume if tierctl made it or renamed it. */
int reshape_clean_device(const struct set *s, const struct device *d);

/*
 * Whether the set fits on the tiers other than this one and those being emptied, and on
 * extra_places; false with the numbers said.
 */
bool check_room(struct set *s, unsigned int rank, uint64_t extra_places, const char *command);

#endif
