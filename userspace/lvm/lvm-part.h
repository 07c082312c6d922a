/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Logical volumes that are parts of a set, or will be: LVM's report on them, their tags and
 * names.
 */
#ifndef TIERCTL_LVM_PART_H
#define TIERCTL_LVM_PART_H

#include <sys/types.h>

#include "base/context.h"
#include "lvm/lvm.h"

/* Values of the tag dm-tier.role= */
#define LVM_ROLE_ORIGIN		"torig"		/* the converted volume */
#define LVM_ROLE_FAST		"tvol"
#define LVM_ROLE_METADATA	"tiermeta"
#define LVM_ROLE_PLACEHOLDER	"name"		/* keeps the name while the device has it */

/* Endings of names. */
#define LVM_ORIGIN_SUFFIX	"_torig"
#define LVM_FAST_SUFFIX		"_tvol"
#define LVM_METADATA_SUFFIX	"_tiermeta"
/* Ending of the device's name when the set is taken apart and the device is still open. */
#define LVM_REVERT_SUFFIX	"_trevert"

struct lvm_part {
	char *vg, *lv;
	char *name;		/* vg/lv */
	char *attributes;	/* as lvs prints lv_attr */
	char *vg_attributes;
	char *tags, *vg_tags;	/* with commas between */
	char *origin;		/* of a snapshot: its LV */
	uint64_t size, extent;	/* bytes */
};

struct lvm_parts {
	unsigned int nr;
	struct lvm_part *part;
};

/* The volumes of a group, or "@tag", or "vg/lv". 0, or -1 with the error said. */
int lvm_list(struct tier_context *ctx, const char *what, struct lvm_parts *list);
/* The same for volumes tagged as parts of the set. */
int lvm_list_set(struct tier_context *ctx, const char *set_hex, struct lvm_parts *list);
/* The same, but gives up if LVM does not answer. */
int lvm_look_for_set(struct tier_context *ctx, const char *set_hex, struct lvm_parts *list);
/* Those of them that were made to be tiers, or given to convert for that; none without LVM. */
int lvm_list_fast(struct tier_context *ctx, const char *set_hex, struct lvm_parts *list);
/* False for volumes that existed before: their tags have their old name. */
bool lvm_was_made(const struct lvm_part *p);
/* Under any name that it may have by now. */
bool lvm_is_device(const struct lvm_part *p, dev_t dev);
/* All chunks of the set are moving to it (lvm_mark_home()). */
bool lvm_is_home(const struct lvm_part *p);
/* All volumes; gives up if LVM does not answer. */
int lvm_list_all(struct tier_context *ctx, struct lvm_parts *list);
void lvm_parts_free(struct lvm_parts *list);
/* NULL if there is none. */
const struct lvm_part *lvm_find(const struct lvm_parts *list, const char *lv);
const struct lvm_part *lvm_find_snapshot(const struct lvm_parts *list, const struct lvm_part *p);
const struct lvm_part *lvm_find_role(const struct lvm_parts *list, const char *role);

/* The value of the tag dm-tier.KEY=, NULL if it has none; the caller frees. */
char *lvm_tag(const struct lvm_part *p, const char *key);
bool lvm_has_role(const struct lvm_part *p, const char *role);

/* With --dry-run these print the command. 0, or -1 with the error said. */
int lvm_tag_part(struct tier_context *ctx, const char *name, const char *set_hex, const char *role,
		 const char *old_name);
int lvm_untag_part(struct tier_context *ctx, const struct lvm_part *p);
/*
 * Removes a volume that was made for the set. A volume with snapshots, which would be removed as
 * well, only loses its tags.
 */
int lvm_remove_made(struct tier_context *ctx, const struct lvm_part *p);
/* Removes the placeholder; not if it has a snapshot, which LVM would remove with it. */
int lvm_remove_placeholder(struct tier_context *ctx, const struct lvm_part *p);
/* Marks that a volume made for the set outlives the set, or does not. */
int lvm_mark_home(struct tier_context *ctx, const struct lvm_part *p, bool survivor);
int lvm_rename(struct tier_context *ctx, const char *vg, const char *from, const char *to);
int lvm_create_placeholder(struct tier_context *ctx, const char *vg, const char *lv, uint64_t size,
			   const char *set_hex);
/* Gives the set's placeholder, if there is one, that size in LVM's whole extents. */
int lvm_fit_placeholder(struct tier_context *ctx, const char *set_hex, uint64_t size);
/* Extends the volume to so many sectors. */
int lvm_extend(struct tier_context *ctx, const char *name, uint64_t sectors);

/* The commands as a user would type them; the caller frees. */
char *lvm_tag_command(struct tier_context *ctx, const char *name, const char *set_hex, const char *role,
		      const char *old_name);
char *lvm_placeholder_command(struct tier_context *ctx, const char *vg, const char *lv, uint64_t size,
			      const char *set_hex);

/* The size rounded up to the extents of the part's group. */
uint64_t lvm_whole_extents(const struct lvm_part *p, uint64_t size);

/*
 * A volume for metadata in the group: on the physical volume "first", unless NULL, and mirrored
 * on another physical volume if one has room.
 */
struct lvm_metadata {
	struct lvm_volume volume;
	char *pv[2];		/* [1] NULL: no mirror */
};
bool lvm_plan_metadata(struct tier_context *ctx, const char *vg, const char *lv, uint64_t size, uint64_t extent,
		       const char *first, uint64_t first_taken, struct lvm_metadata *m);
int lvm_create_metadata(struct tier_context *ctx, const struct lvm_metadata *m, const char *set_hex);
void lvm_metadata_free(struct lvm_metadata *m);

/* Whether lvm.conf lets LVM see volume groups that lie on tiered devices. */
bool lvm_looks_into_sets(struct tier_context *ctx);

#endif
