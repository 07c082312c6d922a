/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Logical volumes made to be tiers. They are made with their tags, so that a volume left by an
 * interrupted command is found again.
 */
#ifndef TIERCTL_LVM_H
#define TIERCTL_LVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

#define LVM_TAG	"dm-tier"

/*
 * Runs a command; 0, or -1 with the error said. The caller frees *output, unless output is NULL.
 */
int lvm_run(struct tier_context *ctx, const char *const *argv, char **output);
/* As lvm_run(), but says no error: *why is the reason, which the caller frees. */
int lvm_try(struct tier_context *ctx, const char *const *argv, char **why);
/* For callers that only report: a disk that hangs must not block them. */
#define LVM_LOOK_MS	30000
/*
 * Runs lvs, pvs or vgs, of which argv has what is asked for; sizes are bytes.  The array of its rows,
 * for json_object_put(), or NULL with the error said.  It has failed when it says nothing for so
 * many milliseconds, unless these are negative.
 */
struct json_object;
struct json_object *lvm_report(struct tier_context *ctx, const char *const *argv, int ms);
/* The same without a word. */
struct json_object *lvm_report_quietly(struct tier_context *ctx, const char *const *argv, int ms);
/* A field of such a row, "" if there is none; and as a number, false if it is none. */
const char *lvm_field(const struct json_object *rows, size_t row, const char *name);
bool lvm_number(const struct json_object *rows, size_t row, const char *name, uint64_t *n);
/* The reason of a failure, from all output of an LVM command; the caller frees. */
char *lvm_reason(const char *output);
/* The words joined by blanks; the caller frees. */
char *lvm_command(const char *const *argv);
/* As lvm_run() for a command that changes something: with --dry-run it is only printed. */
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
 * Checks what lvcreate needs: the volume group of the physical volume, and room. Rounds the size
 * up to whole extents. False with the error said, which names the wanted group.
 */
bool lvm_plan(struct tier_context *ctx, const char *pv, const char *vg, uint64_t size,
	      const char *set_name, const char *lv, struct lvm_volume *v);

/* With --dry-run these print the command. 0, or -1 with the error said. */
int lvm_create(struct tier_context *ctx, const struct lvm_volume *v, const char *pv, const char *set_hex);
/* By VG/LV. */
int lvm_remove(struct tier_context *ctx, const char *name);

#endif
