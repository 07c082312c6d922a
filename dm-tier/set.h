/* SPDX-License-Identifier: GPL-2.0-only */
/* The life of a set; see set.c.  Process context throughout. */
#ifndef DM_TIER_SET_H
#define DM_TIER_SET_H

#include "core.h"

struct tier_plan;

extern struct mutex tier_registry_lock;

/* From module init and exit. */
int tier_set_init(void);
void tier_set_exit(void);

/* tier_registry_lock held for these four.  -EBUSY: the metadata is of another device's set. */
struct tier_set *tier_set_get(struct mapped_device *md, dev_t metadata);
void tier_set_put(struct tier_set *set);
/* -EBUSY and *error if a device of the target is used by another set. */
int tier_set_claim(struct tier_target *tt, char **error);
void tier_set_unclaim(struct tier_target *tt);
/* Before a target goes: the set must not refer to it any more. */
void tier_set_unbind(struct tier_target *tt);
/* Whether a plan that was made may follow the table that is there; plan->reason. */
int tier_set_check_change(struct tier_target *tt, struct tier_plan *plan);
/* Whether a loaded table leaves this tier out. */
bool tier_set_being_dropped(struct tier_set *set, const struct tier *t);

int tier_set_preresume(struct tier_target *tt);
void tier_set_resume(struct tier_target *tt);
void tier_set_presuspend(struct tier_target *tt);
void tier_set_presuspend_undo(struct tier_target *tt);
void tier_set_postsuspend(struct tier_target *tt);

/* Lets a full set write again if there is room now. */
void tier_set_leave_full(struct tier_set *set);

#endif /* DM_TIER_SET_H */
