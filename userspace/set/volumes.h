/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What LVM's own commands have done to the parts of a set that was a logical
 * volume: it lets them be renamed, reduced or removed as if they were nobody's.
 */
#ifndef TIERCTL_VOLUMES_H
#define TIERCTL_VOLUMES_H

#include "set/report.h"

/* Adds to what needs attention. */
void reports_look_at_volumes(struct report *reports, unsigned int nr);

/*
 * The command that gives the volume that was converted its tags back, and *name, which it
 * has; NULL if none of the tiers is that.  The caller frees the command.
 */
char *volumes_tag_command(const struct set *s, const char **name);

/* Whether one of its devices is a logical volume. */
bool set_has_volumes(const struct set *s);

#endif
