/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What LVM and device-mapper are to do after the commit point of a command, where they must not
 * refuse it any more.  So a command lists these steps before it changes anything, and is refused
 * itself if one of them would be: by what is known of names, groups and lvm.conf, and by LVM's
 * own --test.
 */
#ifndef TIERCTL_LVM_CHECK_H
#define TIERCTL_LVM_CHECK_H

#include "base/context.h"
#include "lvm/lvm-part.h"

struct lvm_step;

struct lvm_steps {
	struct tier_context *ctx;
	const char *set;	/* whose, for messages */
	bool back;		/* volumes get back the names that they had */
	bool by_option;		/* of what is made --name chooses the name */
	unsigned int nr;
	struct lvm_step *step;
};

void lvm_steps_rename(struct lvm_steps *s, const char *vg, const char *lv, const char *to);
void lvm_steps_make(struct lvm_steps *s, const char *vg, const char *lv, bool mirrored);
/* The volume that keeps the name "lv" while the one that has it now is called "torig". */
void lvm_steps_placeholder(struct lvm_steps *s, const char *vg, const char *lv, const char *torig);
/* One that is in no use. */
void lvm_steps_remove(struct lvm_steps *s, const char *vg, const char *lv);
void lvm_steps_resize(struct lvm_steps *s, const char *vg, const char *lv, uint64_t size);
/* Tags, or that it is removed when it has come out of use. */
void lvm_steps_change(struct lvm_steps *s, const char *vg, const char *lv);
/* What parts_release() does to a part. */
void lvm_steps_release(struct lvm_steps *s, const struct lvm_part *p);

/* Whether all of them can be done; false with the error said.  Frees them. */
bool lvm_steps_possible(struct lvm_steps *s);

/*
 * All that is done with the volumes of a set that goes back to being none.  origin is the one
 * that was converted (VG/LV), whose tags may be out of LVM's sight, or NULL.  As above.
 */
bool lvm_may_release(struct tier_context *ctx, const char *set_hex, const char *set_name, const char *origin);

/* What lvm_fit_placeholder() does.  As above. */
bool lvm_may_fit_placeholder(struct tier_context *ctx, const char *set_hex, const char *set_name,
			     uint64_t size);

/* What keeps LVM from changing anything in a group with such letters (vg_attr); NULL if nothing does. */
const char *lvm_group_problem(const char *vg_attributes);

/* How a volume that is not active gets active: what to do and to type.  The caller frees. */
char *lvm_activation_advice(struct tier_context *ctx, const struct lvm_part *p);

#endif
