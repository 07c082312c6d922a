// SPDX-License-Identifier: GPL-2.0-only
#include "set/scan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "block/aside.h"
#include "block/filter.h"
#include "block/signature.h"
#include "dm/dm.h"

/* "LVM-", and the UUIDs of the volume group and of the volume without their hyphens */
#define VOLUME_UUID_LEN	(4 + 32 + 32)

/*
 * A leg of a mirror, for example, carries the same data as the volume above it, and appears
 * before it. LVM adds an ending to the UUID of most inner volumes; the names of the others are
 * reserved.
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

/* Devices that tierctl makes of tiers: a set, its metadata, slices. */
static bool is_of_set(const char *uuid)
{
	static const char *const prefix[] = { DM_UUID_PREFIX, MIRROR_UUID_PREFIX, SLICE_UUID_PREFIX };
	unsigned int i;

	for (i = 0; uuid && i < sizeof(prefix) / sizeof(*prefix); i++)
		if (!strncmp(uuid, prefix[i], strlen(prefix[i])))
			return true;
	return false;
}

/* Devices that are never members or must not be read. */
static bool worth_reading(dev_t dev)
{
	char *uuid = device_attribute(dev, "dm/uuid");
	bool worth = true;

	/* Reading it would make us wait, and a set that was left suspended waits for us. */
	if (device_waits(dev))
		worth = false;
	/* A set cannot be a member of a set; metadata on the tiers is found by its legs. */
	if (is_of_set(uuid))
		worth = false;
	if (is_part_of_volume(dev, uuid))
		worth = false;
	/* Floppy and CD-ROM drives spin up, or hang. */
	if (major(dev) == 2 || major(dev) == 11)
		worth = false;
	free(uuid);
	return worth;
}

/*
 * A leg of an array with metadata at the end begins with the same data as the array, and must
 * not be taken for it while the array is not assembled. The metadata of the array lies behind
 * the size in the label; array metadata within that size belongs to an array that lies on the
 * set.
 */
static bool is_leg(const struct member *m)
{
	uint64_t own = m->kind == MEMBER_TIER ? m->label.size * SECTOR_SIZE : m->dev.size / 2;

	return (m->kind == MEMBER_METADATA || m->kind == MEMBER_TIER) && signatures_array(m->dev.path, own);
}

/* These two functions run in processes of their own. */
static void look(const struct device *dev, void *result)
{
	struct member *m = result;
	char *carries;
	uint64_t at;
	int error;

	member_look(dev, m);
	if (m->kind != MEMBER_TIER)
		return;
	carries = signatures_beyond(dev->path, m->label.places_at * SECTOR_SIZE, &at, &error);
	m->array_within = carries && at < m->label.size * SECTOR_SIZE;
	free(carries);
}

static void look_but_at_legs(const struct device *dev, void *result)
{
	struct member *m = result;

	look(dev, m);
	if (is_leg(m))
		m->kind = MEMBER_NONE;
}

/* Each device is reported once. */
static void complain_of_late(struct tier_context *ctx, const struct member *m)
{
	static dev_t *said;
	static unsigned int nr;
	unsigned int i;

	for (i = 0; i < nr && said[i] != m->dev.dev; i++)
		;
	if (i < nr)
		return;
	said = xrealloc(said, nr + 1, sizeof(*said));
	said[nr++] = m->dev.dev;
	warn(ctx, "%s: does not answer within %u s, and is left out.", m->dev.name, ASIDE_MS / 1000);
}

static void look_at_all(struct tier_context *ctx, struct member_list *list,
			void (*fn)(const struct device *dev, void *result))
{
	struct reading *r = xcalloc(list->nr, sizeof(*r));
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		r[i] = (struct reading){ .dev = &list->member[i].dev, .result = &list->member[i] };
	read_aside(r, list->nr, sizeof(struct member), fn);
	for (i = 0; i < list->nr; i++) {
		struct member *m = &list->member[i];

		if (r[i].late) {
			m->kind = MEMBER_UNREADABLE;
			m->reason = "does not answer";
		}
		if (m->kind != MEMBER_NONE)
			m->hidden = filter_reason(m->dev.dev, &m->hidden_by_type);
		/* A pool or an array that lies on the set, and ends with its last chunk. */
		if (m->hidden_by_type && m->array_within) {
			free(m->hidden);
			m->hidden = NULL;
		}
		if (r[i].late && !m->hidden)
			complain_of_late(ctx, m);
	}
	free(r);
}

void members_look(struct tier_context *ctx, struct member_list *list)
{
	look_at_all(ctx, list, look);
}

void members_add(struct member_list *list, struct device *d)
{
	list->member = xrealloc(list->member, list->nr + 1, sizeof(*list->member));
	/* All bytes are set, as the reading process hands over all of them. */
	memset(&list->member[list->nr], 0, sizeof(*list->member));
	list->member[list->nr++].dev = *d;
}

struct scan {
	struct member_list *list;
	const char *set_hex;	/* NULL: all sets */
};

static int add_device(void *context, dev_t dev)
{
	struct scan *scan = context;
	struct device d;

	if ((!scan->set_hex || filter_may_be_of(dev, scan->set_hex)) && worth_reading(dev) &&
	    !device_from_number(dev, &d))
		members_add(scan->list, &d);
	return 0;
}

static void drop(struct member_list *list, bool (*unwanted)(const struct member_list *list, const struct member *m))
{
	bool *gone = xcalloc(list->nr, sizeof(*gone));
	unsigned int i, kept = 0;

	for (i = 0; i < list->nr; i++)
		gone[i] = unwanted(list, &list->member[i]);
	for (i = 0; i < list->nr; i++) {
		if (gone[i])
			member_free(&list->member[i]);
		else
			list->member[kept++] = list->member[i];
	}
	list->nr = kept;
	free(gone);
}

static bool is_part(const struct member *m)
{
	return m->kind == MEMBER_METADATA || m->kind == MEMBER_TIER;
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
	const struct member *unreadable;
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

	return is_part(m) && device_for_each_holder(m->dev.dev, is_same, &s);
}

static int is_unreadable(void *context, dev_t holder)
{
	char *uuid = device_attribute(holder, "dm/uuid");
	bool other = is_of_set(uuid);
	struct same_above *s = context;
	unsigned int i;

	free(uuid);
	/* A device that lies on a set carries no parts of that set, and neither does its metadata. */
	if (other)
		return 0;
	for (i = 0; i < s->list->nr; i++) {
		if (s->list->member[i].dev.dev == holder && s->list->member[i].kind == MEMBER_UNREADABLE) {
			s->unreadable = &s->list->member[i];
			return 1;
		}
	}
	return device_for_each_holder(holder, is_unreadable, s);
}

/* A device above that cannot be read may carry the same. */
static void hide_below_unreadable(struct member_list *list)
{
	struct same_above s = { .list = list };
	unsigned int i;

	for (i = 0; i < list->nr; i++) {
		struct member *m = &list->member[i];

		if (is_part(m) && !m->hidden && device_for_each_holder(m->dev.dev, is_unreadable, &s))
			m->hidden = xasprintf("below %s, which %s", s.unreadable->dev.name, s.unreadable->reason);
	}
}

/* The multipath map is there, but need not be made of this path. */
static bool shown_elsewhere(const struct member_list *list, const struct member *m)
{
	unsigned int i;

	for (i = 0; m->hidden && is_part(m) && i < list->nr; i++)
		if (!list->member[i].hidden && same_member(m, &list->member[i]))
			return true;
	return false;
}

static bool is_of_no_set(const struct member_list *list, const struct member *m)
{
	(void)list;
	return m->kind == MEMBER_NONE || m->kind == MEMBER_UNREADABLE;
}

static int by_device(const void *a, const void *b)
{
	dev_t x = ((const struct member *)a)->dev.dev, y = ((const struct member *)b)->dev.dev;

	return x < y ? -1 : x > y;
}

static void scan(struct tier_context *ctx, struct member_list *list, const char *set_hex, bool all)
{
	struct scan which = { .list = list, .set_hex = set_hex };

	memset(list, 0, sizeof(*list));
	devices_for_each(add_device, &which);
	if (!list->nr)
		return;
	look_at_all(ctx, list, look_but_at_legs);
	hide_below_unreadable(list);
	if (!all)
		drop(list, is_of_no_set);
	qsort(list->member, list->nr, sizeof(*list->member), by_device);
	drop(list, shown_above);
	drop(list, shown_elsewhere);
}

void members_scan(struct tier_context *ctx, struct member_list *list, bool all)
{
	scan(ctx, list, NULL, all);
}

void members_scan_for(struct tier_context *ctx, struct member_list *list, const char *set_hex)
{
	scan(ctx, list, set_hex, false);
}

void members_free(struct member_list *list)
{
	while (list->nr)
		member_free(&list->member[--list->nr]);
	free(list->member);
	list->member = NULL;
}
