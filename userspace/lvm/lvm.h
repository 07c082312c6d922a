/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Logical volumes made to be tiers.  Their tags say so from the moment they
 * exist, so that one which an interrupted command left is found again.
 */
#ifndef TIERCTL_LVM_H
#define TIERCTL_LVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

#define LVM_TAG	"dm-tier"

/* Runs a command; 0 or -1 with the error said.  *output, if wanted, is for the caller to free. */
int lvm_run(struct tier_context *ctx, const char *const *argv, char **output);
/* As lvm_run(), but says nothing: *why is the reason, for the caller to free. */
int lvm_try(struct tier_context *ctx, const char *const *argv, char **why);
/*
 * Runs lvs or pvs, of which argv has what is asked for; sizes are bytes.  The array of its rows,
 * for json_object_put(), or NULL with the error said.  It has failed when it says nothing for so
 * many milliseconds, unless these are negative.
 */
struct json_object;
struct json_object *lvm_report(struct tier_context *ctx, const char *const *argv, int ms);
/* A field of such a row, "" if there is none; and as a number, false if it is none. */
const char *lvm_field(const struct json_object *rows, size_t row, const char *name);
bool lvm_number(const struct json_object *rows, size_t row, const char *name, uint64_t *n);
/* Why a command of LVM failed, of all that it said; the caller frees. */
char *lvm_reason(const char *output);
/* The words with blanks between; the caller frees. */
char *lvm_command(const char *const *argv);
/* As lvm_run() for one that changes something: with --dry-run says the command. */
int lvm_change(struct tier_context *ctx, const char *const *argv);
bool lvm_installed(void);

struct lvm_volume {
	char *vg;
	char *lv;
	uint64_t size;		/* bytes */
};
void lvm_volume_free(struct lvm_volume *v);

/* "VG/LV"; the caller frees. */
char *lvm_name(const struct lvm_volume *v);

/* A device has many names. */
bool same_device(const char *a, const char *b);

/*
 * What lvcreate would need: the volume group of the physical volume, and room.
 * Rounds the size up to whole extents.  false with the error said, which names the
 * group that is wanted.
 */
bool lvm_plan(struct tier_context *ctx, const char *pv, const char *vg, uint64_t size,
	      const char *set_name, const char *lv, struct lvm_volume *v);

/* With --dry-run these say the command.  0 or -1 with the error said. */
int lvm_create(struct tier_context *ctx, const struct lvm_volume *v, const char *pv, const char *set_hex);
/* By VG/LV. */
int lvm_remove(struct tier_context *ctx, const char *name);

#endif
