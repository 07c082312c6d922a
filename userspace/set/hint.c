// SPDX-License-Identifier: GPL-2.0-only
#include "set/hint.h"

#include <stdlib.h>

#include "base/context.h"
#include "base/util.h"
#include "lvm/lvm-part.h"
#include "set/scan.h"

/*
 * Finds the device by name and size. The name may be another device's by now, so this is only a
 * hint. The kernel's name of a logical volume changes; the name of a converted volume tells
 * more.
 */
static bool find_by_name(const struct set *s, const struct set_tier *t, struct device *d)
{
	char *names[] = {
		xasprintf("/dev/%s", t->last_seen),
		xasprintf("/dev/mapper/%s" LVM_ORIGIN_SUFFIX, s->dm_name ?: ""),
	};
	bool found = false;
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!found && !device_from_name(names[i], d)) {
			found = d->size == t->size;
			if (!found)
				device_free(d);
		}
		free(names[i]);
	}
	return found;
}

char *relabel_hint(const struct set *s, unsigned int rank)
{
	const struct set_tier *t = &s->tier[rank];
	char *hint = NULL;
	struct member_list list = { 0 };
	const struct member *m;
	struct device d;

	if (t->present || !t->size || s->problem || !find_by_name(s, t, &d))
		return NULL;
	if (s->active) {
		/* The device is not read: the tier may be missing because the device hangs. */
		hint = xasprintf("%s has its size and last name; to have it back, or to learn what is wrong with it: tierctl deactivate %s && tierctl activate %s",
				 d.name, s->name, s->name);
		device_free(&d);
	} else if (device_waits(d.dev)) {
		device_free(&d);
	} else {
		/* From here on the list owns the device. */
		members_add(&list, &d);
		members_look(s->ctx, &list);
		m = &list.member[0];
		if (m->kind == MEMBER_NONE || (m->kind == MEMBER_DAMAGED && m->is_label && !m->is_whole))
			hint = xasprintf("%s has its size and last name, but %s; if that is the tier: tierctl repair --label %u %s %s",
					 m->dev.name, m->kind == MEMBER_NONE ? "no label" : "a damaged label", rank,
					 m->dev.name, s->name);
		members_free(&list);
	}
	return hint;
}
