/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * LVM and device-mapper must not refuse a step after the commit point of a command. So a command
 * lists these steps before it changes anything, and is refused itself if one of the steps would
 * be: by the rules for names, groups and lvm.conf, and by LVM's own --test.
 */
#ifndef TIERCTL_LVM_CHECK_H
#define TIERCTL_LVM_CHECK_H

#include "base/context.h"
#include "base/words.h"
#include "lvm/lvm-part.h"

struct lvm_step;

struct lvm_steps {
	struct tier_context *ctx;
	const char *set;	/* the set, for messages */
	bool back;		/* volumes get their old names back */
	bool by_option;		/* --name chooses the name of a new volume */
	unsigned int nr;
	struct lvm_step *step;
};

void lvm_steps_rename(struct lvm_steps *s, const char *vg, const char *lv, const char *to);
void lvm_steps_make(struct lvm_steps *s, const char *vg, const char *lv, bool mirrored);
/*
 * The volume that keeps the name "lv" while the volume that has this name now is called "torig".
 */
void lvm_steps_placeholder(struct lvm_steps *s, const char *vg, const char *lv, const char *torig);
/* A volume that is not in use. */
void lvm_steps_remove(struct lvm_steps *s, const char *vg, const char *lv);
void lvm_steps_resize(struct lvm_steps *s, const char *vg, const char *lv, uint64_t size);
/* Changes tags, or removes the volume when it is no longer in use. */
void lvm_steps_change(struct lvm_steps *s, const char *vg, const char *lv);
/* The steps of parts_release() for a part. */
void lvm_steps_release(struct lvm_steps *s, const struct lvm_part *p);

/* Whether all steps can be done; false with the error said. Frees them. */
bool lvm_steps_possible(struct lvm_steps *s);

/*
 * All steps with the volumes of a set that is taken apart. origin is the converted volume
 * (VG/LV), whose tags LVM may not see, or NULL. As above.
 */
bool lvm_may_release(struct tier_context *ctx, const char *set_hex, const char *set_name, const char *origin);

/* The steps of lvm_fit_placeholder(). As above. */
bool lvm_may_fit_placeholder(struct tier_context *ctx, const char *set_hex, const char *set_name,
			     uint64_t size);

/* Why LVM cannot change anything in a group with these letters (vg_attr); NULL if it can. */
const char *lvm_group_problem(const char *vg_attributes);

/*
 * Which of these groups, or of all for NULL, belongs to another machine by its system ID, in words, with the
 * command that takes it over; NULL if none does, or LVM does not answer. The caller frees.
 */
char *lvm_foreign_group(struct tier_context *ctx, const struct strings *groups);

/* How to activate an inactive volume: an explanation and a command. The caller frees. */
char *lvm_activation_advice(struct tier_context *ctx, const struct lvm_part *p);

#endif
