/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes that LVM's own commands have made to the parts of a converted volume: LVM renames,
 * reduces and removes them like any volume.
 */
#ifndef TIERCTL_VOLUMES_H
#define TIERCTL_VOLUMES_H

#include "set/report.h"

/* Adds entries to attention. */
void reports_look_at_volumes(struct report *reports, unsigned int nr);

/*
 * The command that gives the converted volume its tags back, and *name, its present name; NULL
 * if none of the tiers is that volume. The caller frees the command.
 */
char *volumes_tag_command(const struct set *s, const char **name);

/* Whether one of the set's devices is a logical volume. */
bool set_has_volumes(const struct set *s);

/*
 * Whether the group of one of its devices belongs to another machine (lvm_foreign_group()). The caller frees.
 */
char *volumes_foreign(const struct set *s);

#endif
