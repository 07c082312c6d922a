/* SPDX-License-Identifier: GPL-2.0-only */
/* The members of tiered sets among the block devices. */
#ifndef TIERCTL_SCAN_H
#define TIERCTL_SCAN_H

#include "base/context.h"
#include "set/member.h"

/* The members among the block devices of the machine. */
struct member_list {
	unsigned int nr;
	struct member *member;
};

/*
 * Reads every device that could be a member; with all, keeps the others in the list, too. A
 * device below another device with the same data (a path of a multipath device, a mirror's leg)
 * is left out, and so are the inner volumes of LVM. A device that filter.h gives a reason
 * against stays in the list, with that reason, if no other device carries the same. A device
 * that does not answer in time (see aside.h) counts as unreadable; a warning says so, once.
 */
void members_scan(struct tier_context *ctx, struct member_list *list, bool all);

/* The same without devices that filter.h knows to be no part of the set. */
void members_scan_for(struct tier_context *ctx, struct member_list *list, const char *set_hex);

/* Adds a device, which the list then owns; members_look() reads the devices of such a list. */
void members_add(struct member_list *list, struct device *d);
void members_look(struct tier_context *ctx, struct member_list *list);
void members_free(struct member_list *list);

#endif
