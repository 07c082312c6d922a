/* SPDX-License-Identifier: GPL-2.0-only */
/* The members of tiered sets among the block devices. */
#ifndef TIERCTL_SCAN_H
#define TIERCTL_SCAN_H

#include "base/context.h"
#include "set/member.h"

/* All members among the block devices of the machine. */
struct member_list {
	unsigned int nr;
	struct member *member;
};

/*
 * Reads every device that could be one; with all, keeps those that are not.
 * A device below another one that carries the same (a path of a multipath
 * device, a mirror's leg) is left out, and so is what LVM makes a volume of.
 * What filter.h has a reason against stays in the list, with that reason, if
 * nothing else carries the same.  A device that does not answer in time (see
 * aside.h) is unreadable; a warning says so, once.
 */
void members_scan(struct tier_context *ctx, struct member_list *list, bool all);

/* The same without those that filter.h knows to be no part of the set. */
void members_scan_for(struct tier_context *ctx, struct member_list *list, const char *set_hex);

/* Adds a device, which now is the list's; members_look() then reads those of such a list. */
void members_add(struct member_list *list, struct device *d);
void members_look(struct tier_context *ctx, struct member_list *list);
void members_free(struct member_list *list);

#endif
