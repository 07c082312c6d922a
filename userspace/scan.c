// SPDX-License-Identifier: GPL-2.0-only
#include "scan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "signature.h"
#include "size.h"
#include "util.h"

/* "LVM-", and the UUIDs of the volume group and of the volume without their hyphens */
#define VOLUME_UUID_LEN	(4 + 32 + 32)

/*
 * A leg of a mirror and its like carry what the volume above them carries, and are there
 * before it.  LVM adds to the UUID of most of them; names like those of the others it lets
 * nobody use.
 */
static bool is_part_of_volume(dev_t dev, const char *uuid)
{
	static const char *const reserved[] = {
		"/pvmove", "_cdata", "_corig", "_cvol", "_iorig", "_mimage", "_rimage", "_tdata", "_vdata",
		"_vorigin", "_wcorig",
	};
	char *dm_name, *name;
	unsigned int i;
	bool part;

	if (!uuid || strncmp(uuid, "LVM-", 4))
		return false;
	dm_name = device_attribute(dev, "dm/name");
	name = dm_name ? lv_name_from_dm(dm_name) : NULL;
	part = strlen(uuid) > VOLUME_UUID_LEN;
	for (i = 0; name && i < sizeof(reserved) / sizeof(*reserved); i++)
		part |= strstr(strchr(name, '/'), reserved[i]) != NULL;
	free(name);
	free(dm_name);
	return part;
}

/* Devices that are never members or must not be read. */
static bool worth_reading(dev_t dev)
{
	char *uuid = device_attribute(dev, "dm/uuid");
	bool worth = true;

	/* That would make us wait, and a set that was left suspended waits for us. */
	if (device_waits(dev))
		worth = false;
	/* A set is no member of a set. */
	if (uuid && !strncmp(uuid, "TIER-", 5))
		worth = false;
	if (is_part_of_volume(dev, uuid))
		worth = false;
	/* Floppy and CD-ROM drives spin up, or hang, for nothing. */
	if (major(dev) == 2 || major(dev) == 11)
		worth = false;
	free(uuid);
	return worth;
}

/*
 * A leg of an array that keeps its metadata at the end begins with what the array begins
 * with, and must not be taken for it while the array is not put together.  It is larger:
 * within the size that the label knows it is what somebody has put on the set.
 */
static bool is_leg(const struct member *m)
{
	uint64_t own = m->kind == MEMBER_TIER ? m->label.size * SECTOR_SIZE : m->dev.size / 2;

	return (m->kind == MEMBER_METADATA || m->kind == MEMBER_TIER) && signatures_array(m->dev.path, own);
}

struct scan {
	struct member_list *list;
	bool all;
};

static int scan_device(void *context, dev_t dev)
{
	struct scan *scan = context;
	struct member_list *list = scan->list;
	struct device d;
	struct member m;

	if (!worth_reading(dev) || device_from_number(dev, &d))
		return 0;
	member_read(&d, &m);
	if (is_leg(&m))
		m.kind = MEMBER_NONE;
	device_free(&d);
	if (!scan->all && (m.kind == MEMBER_NONE || m.kind == MEMBER_UNREADABLE)) {
		member_free(&m);
		return 0;
	}
	list->member = xrealloc(list->member, list->nr + 1, sizeof(*list->member));
	list->member[list->nr++] = m;
	return 0;
}

static bool same_member(const struct member *a, const struct member *b)
{
	if (a->kind != b->kind || memcmp(member_set_uuid(a), member_set_uuid(b), TIER_UUID_SIZE))
		return false;
	return a->kind == MEMBER_METADATA ||
	       !memcmp(a->label.tier_uuid, b->label.tier_uuid, TIER_UUID_SIZE);
}

struct same_above {
	const struct member_list *list;
	const struct member *m;
};

static int is_same(void *context, dev_t holder)
{
	struct same_above *s = context;
	unsigned int i;

	for (i = 0; i < s->list->nr; i++)
		if (s->list->member[i].dev.dev == holder && same_member(s->m, &s->list->member[i]))
			return 1;
	return device_for_each_holder(holder, is_same, s);
}

static bool shown_above(const struct member_list *list, const struct member *m)
{
	struct same_above s = { .list = list, .m = m };

	if (m->kind != MEMBER_METADATA && m->kind != MEMBER_TIER)
		return false;
	return device_for_each_holder(m->dev.dev, is_same, &s);
}

static int by_device(const void *a, const void *b)
{
	dev_t x = ((const struct member *)a)->dev.dev, y = ((const struct member *)b)->dev.dev;

	return x < y ? -1 : x > y;
}

void members_scan(struct member_list *list, bool all)
{
	struct scan scan = { .list = list, .all = all };
	unsigned int i, kept = 0;
	bool *above;

	memset(list, 0, sizeof(*list));
	devices_for_each(scan_device, &scan);
	if (!list->nr)
		return;

	qsort(list->member, list->nr, sizeof(*list->member), by_device);
	above = xcalloc(list->nr, sizeof(*above));
	for (i = 0; i < list->nr; i++)
		above[i] = shown_above(list, &list->member[i]);
	for (i = 0; i < list->nr; i++) {
		if (above[i])
			member_free(&list->member[i]);
		else
			list->member[kept++] = list->member[i];
	}
	list->nr = kept;
	free(above);
}

void members_free(struct member_list *list)
{
	while (list->nr)
		member_free(&list->member[--list->nr]);
	free(list->member);
	list->member = NULL;
}
