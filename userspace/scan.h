/* SPDX-License-Identifier: GPL-2.0-only */
/* The members of tiered sets among the block devices. */
#ifndef TIERCTL_SCAN_H
#define TIERCTL_SCAN_H

#include "member.h"

/* All members among the block devices of the machine. */
struct member_list {
	unsigned int nr;
	struct member *member;
};

/*
 * Reads every device that could be one; with all, keeps those that are not.
 * A device below another one that carries the same (a path of a multipath
 * device, a mirror's leg) is left out, and so is what LVM makes a volume of.
 */
void members_scan(struct member_list *list, bool all);
void members_free(struct member_list *list);

#endif
