/* SPDX-License-Identifier: GPL-2.0-only */
/* The life of a set; see set.c.  Process context throughout. */
#ifndef DM_TIER_SET_H
#define DM_TIER_SET_H

#include "core.h"

struct tier_plan;

/* From module init and exit. */
int tier_set_init(void);
void tier_set_exit(void);

/* Finds or makes the set of a table; -EBUSY and *error if another set uses one of its devices. */
int tier_set_join(struct tier_target *tt, char **error);
/* The target goes, also if it could not join. */
void tier_set_leave(struct tier_target *tt);
/* Whether a plan that was made may follow the table that is there; plan->reason. */
int tier_set_check_change(struct tier_target *tt, struct tier_plan *plan);
/* Whether a loaded table leaves this tier out. */
bool tier_set_being_dropped(struct tier_set *set, const struct tier *t);

/* As a target's functions of these names. */
int tier_set_preresume(struct dm_target *ti);
void tier_set_resume(struct dm_target *ti);
void tier_set_presuspend(struct dm_target *ti);
void tier_set_presuspend_undo(struct dm_target *ti);
void tier_set_postsuspend(struct dm_target *ti);

/* Adopts a metadata device that has grown; lets a full set write again if there is room now. */
void tier_set_adopt_size(struct tier_set *set);

#endif /* DM_TIER_SET_H */
