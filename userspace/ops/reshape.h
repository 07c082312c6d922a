/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the commands that change a live set share.  There is no journal: each of
 * them is a row of steps that the metadata, the labels or LVM's tags record as
 * they are done, so that the same command, called again, sees how far it came.
 */
#ifndef TIERCTL_RESHAPE_H
#define TIERCTL_RESHAPE_H

#include "base/context.h"
#include "set/member.h"
#include "set/set.h"
#include "dm/table.h"

/*
 * As need_active(), but of a set whose tiers may change now: complete, writable,
 * not suspended.  What a change that was cut short left in the kernel, a table
 * that waits or does not work, is put in order first.  Takes lock_set().
 */
struct set *need_changeable(struct tier_context *ctx, struct set_list *list, const char *name);

/* The live table as it has to be loaded again: what a message has set since is left out. */
void reshape_table(const struct set *s, struct table *t);

/*
 * Whether the metadata device has room for another table beside a snapshot, also for one
 * that drops a tier; false with the error said.  Without room the change would fail at its
 * end, and could not be undone.
 */
bool reshape_has_metadata(const struct set *s, bool drops);

/*
 * Makes the table the live one.  what names the change in messages and steps.
 * 0, or -1 with the error said and the set as it was.  With --dry-run only says
 * the table.
 */
int reshape_reload(const struct set *s, const struct table *t, uint64_t length, const char *what);

/* Of a set that was a volume, whether that is found by its name.  false with the error said. */
bool reshape_has_origin(const struct set *s);
/* Not the volume that was converted: the set has its name.  false with the error said. */
bool reshape_may_go(const struct set *s, unsigned int rank);
/* Whether LVM will do with the volume what reshape_clean_device() asks for.  false with the error said. */
bool reshape_may_release(const struct set *s, const struct device *d);

/*
 * Empties the tier on that device, whatever its rank is by now, and takes it out:
 * evacuate, wait, reload, wipe the label.  May be called at any stage of that.  again
 * and back are the commands that go on and undo it.  An exit code.
 */
int reshape_take_out(struct tier_context *ctx, const char *set_name, dev_t dev, bool background,
		     const char *again, const char *back);
/* The last steps: the label, and the logical volume if tierctl made it, or gave it a name. */
int reshape_clean_device(const struct set *s, const struct device *d);

/*
 * Whether the set fits on the tiers other than this one and those on their way
 * out, and on so many places besides; false with the figures said.
 */
bool check_room(struct set *s, unsigned int rank, uint64_t extra_places, const char *command);

#endif
