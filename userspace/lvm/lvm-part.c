// SPDX-License-Identifier: GPL-2.0-only
#include "lvm/lvm-part.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "block/device.h"

static void part_free(struct lvm_part *p)
{
	free(p->vg);
	free(p->lv);
	free(p->name);
	free(p->attributes);
	free(p->vg_attributes);
	free(p->tags);
	free(p->vg_tags);
	free(p->origin);
}

void lvm_parts_free(struct lvm_parts *list)
{
	while (list->nr)
		part_free(&list->part[--list->nr]);
	free(list->part);
	list->part = NULL;
}

static void add_part(struct lvm_parts *list, const struct json_object *rows, size_t row)
{
	const char *vg = lvm_field(rows, row, "vg_name"), *lv = lvm_field(rows, row, "lv_name");
	uint64_t size, extent;

	if (!lvm_number(rows, row, "lv_size", &size) || !lvm_number(rows, row, "vg_extent_size", &extent))
		return;
	list->part = xrealloc(list->part, list->nr + 1, sizeof(*list->part));
	list->part[list->nr++] = (struct lvm_part){
		.vg = xstrdup(vg), .lv = xstrdup(lv), .name = xasprintf("%s/%s", vg, lv),
		.attributes = xstrdup(lvm_field(rows, row, "lv_attr")),
		.vg_attributes = xstrdup(lvm_field(rows, row, "vg_attr")),
		.tags = xstrdup(lvm_field(rows, row, "lv_tags")), .vg_tags = xstrdup(lvm_field(rows, row, "vg_tags")),
		.origin = xstrdup(lvm_field(rows, row, "origin")), .size = size, .extent = extent,
	};
}

static int list_within(struct tier_context *ctx, const char *what, struct lvm_parts *list, int ms)
{
	const char *const argv[] = {
		"lvs", "-o", "vg_name,lv_name,lv_attr,vg_attr,lv_tags,lv_size,vg_extent_size,vg_tags,origin", what, NULL
	};
	struct json_object *rows = lvm_report(ctx, argv, ms);
	size_t i;

	memset(list, 0, sizeof(*list));
	if (!rows)
		return -1;
	for (i = 0; i < json_object_array_length(rows); i++)
		add_part(list, rows, i);
	json_object_put(rows);
	return 0;
}

int lvm_list(struct tier_context *ctx, const char *what, struct lvm_parts *list)
{
	return list_within(ctx, what, list, -1);
}

int lvm_list_all(struct tier_context *ctx, struct lvm_parts *list)
{
	return list_within(ctx, NULL, list, LVM_LOOK_MS);
}

/*
 * Each role has one volume, except the fast tiers; volumes made for the set have names of their
 * own.
 */
static bool same_part(const struct lvm_part *a, const struct lvm_part *b)
{
	char *role = lvm_tag(a, "role"), *x = lvm_tag(a, "name"), *y = lvm_tag(b, "name");
	bool same = role && lvm_has_role(b, role) &&
		    (strcmp(role, LVM_ROLE_FAST) || (!x && !y && !strcmp(a->lv, b->lv)));

	free(role);
	free(x);
	free(y);
	return same;
}

/* vgimportclone copies tags: the parts of a copied set must not be touched. */
static bool has_copies(struct tier_context *ctx, const struct lvm_parts *list, const char *set_hex)
{
	unsigned int i, j;

	for (i = 0; i < list->nr; i++) {
		for (j = 0; j < i; j++) {
			if (!same_part(&list->part[i], &list->part[j]))
				continue;
			err(ctx, ERR_AMBIGUOUS,
			    "%s, %s: have the same tags of a tiered set, so one is a copy. Take that one's away: lvchange --deltag " LVM_TAG ".set=%s VG/LV",
			    list->part[j].name, list->part[i].name, set_hex);
			return true;
		}
	}
	return false;
}

static int list_set_within(struct tier_context *ctx, const char *set_hex, struct lvm_parts *list, int ms)
{
	char *tag = xasprintf("@" LVM_TAG ".set=%s", set_hex);
	int r = list_within(ctx, tag, list, ms);

	free(tag);
	if (!r && has_copies(ctx, list, set_hex)) {
		lvm_parts_free(list);
		r = -1;
	}
	return r;
}

int lvm_list_set(struct tier_context *ctx, const char *set_hex, struct lvm_parts *list)
{
	return list_set_within(ctx, set_hex, list, -1);
}

int lvm_look_for_set(struct tier_context *ctx, const char *set_hex, struct lvm_parts *list)
{
	return list_set_within(ctx, set_hex, list, LVM_LOOK_MS);
}

int lvm_list_fast(struct tier_context *ctx, const char *set_hex, struct lvm_parts *list)
{
	unsigned int i, n = 0;
	int r;

	memset(list, 0, sizeof(*list));
	r = lvm_installed() ? lvm_list_set(ctx, set_hex, list) : 0;
	for (i = 0; i < list->nr; i++) {
		if (lvm_has_role(&list->part[i], LVM_ROLE_FAST))
			list->part[n++] = list->part[i];
		else
			part_free(&list->part[i]);
	}
	list->nr = n;
	return r;
}

static bool has_tag(const struct lvm_part *p, const char *key)
{
	char *value = lvm_tag(p, key);
	bool has = value;

	free(value);
	return has;
}

bool lvm_was_made(const struct lvm_part *p)
{
	return !has_tag(p, "name");
}

bool lvm_is_device(const struct lvm_part *p, dev_t dev)
{
	struct device d;
	bool same;

	if (!dev || device_from_name(p->name, &d))
		return false;
	same = d.dev == dev;
	device_free(&d);
	return same;
}

bool lvm_is_home(const struct lvm_part *p)
{
	return has_tag(p, "home");
}

const struct lvm_part *lvm_find(const struct lvm_parts *list, const char *lv)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		if (!strcmp(list->part[i].lv, lv))
			return &list->part[i];
	return NULL;
}

char *lvm_tag(const struct lvm_part *p, const char *key)
{
	char *begin = xasprintf(LVM_TAG ".%s=", key), *value = NULL;
	const char *tag = p->tags;

	while (tag && !value) {
		const char *end = strchrnul(tag, ',');

		if (!strncmp(tag, begin, strlen(begin)))
			value = xstrndup(tag + strlen(begin), end - tag - strlen(begin));
		tag = *end ? end + 1 : NULL;
	}
	free(begin);
	return value;
}

bool lvm_has_role(const struct lvm_part *p, const char *role)
{
	char *is = lvm_tag(p, "role");
	bool same = is && !strcmp(is, role);

	free(is);
	return same;
}

const struct lvm_part *lvm_find_role(const struct lvm_parts *list, const char *role)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		if (lvm_has_role(&list->part[i], role))
			return &list->part[i];
	return NULL;
}

/* Runs the command, or prints it; with command, only returns it there. */
static int change_or_tell(struct tier_context *ctx, const char *const *argv, char **command)
{
	if (!command)
		return lvm_change(ctx, argv);
	*command = lvm_command(argv);
	return 0;
}

static int tag_part(struct tier_context *ctx, const char *name, const char *set_hex, const char *role,
		    const char *old_name, char **command)
{
	char *set = xasprintf(LVM_TAG ".set=%s", set_hex);
	char *role_tag = xasprintf(LVM_TAG ".role=%s", role);
	char *name_tag = xasprintf(LVM_TAG ".name=%s", old_name);
	const char *const argv[] = {
		"lvchange", "--addtag", LVM_TAG, "--addtag", set, "--addtag", role_tag,
		"--addtag", name_tag, name, NULL
	};
	int r = change_or_tell(ctx, argv, command);

	free(set);
	free(role_tag);
	free(name_tag);
	return r;
}

int lvm_tag_part(struct tier_context *ctx, const char *name, const char *set_hex, const char *role,
		 const char *old_name)
{
	return tag_part(ctx, name, set_hex, role, old_name, NULL);
}

char *lvm_tag_command(struct tier_context *ctx, const char *name, const char *set_hex, const char *role,
		      const char *old_name)
{
	char *command;

	tag_part(ctx, name, set_hex, role, old_name, &command);
	return command;
}

int lvm_untag_part(struct tier_context *ctx, const struct lvm_part *p)
{
	const char *argv[24] = { "lvchange" };
	char *tags = xstrdup(p->tags), *tag, *save;
	unsigned int n = 1;
	int r = 0;

	for (tag = strtok_r(tags, ",", &save); tag && n < 20; tag = strtok_r(NULL, ",", &save)) {
		if (strcmp(tag, LVM_TAG) && strncmp(tag, LVM_TAG ".", strlen(LVM_TAG ".")))
			continue;
		argv[n++] = "--deltag";
		argv[n++] = tag;
	}
	argv[n] = p->name;
	if (n > 1)
		r = lvm_change(ctx, argv);
	free(tags);
	return r;
}

int lvm_remove_made(struct tier_context *ctx, const struct lvm_part *p)
{
	if (!strchr("oO", *p->attributes))
		return lvm_remove(ctx, p->name);
	warn(ctx,
	     "%s: was made for the set, but has snapshots, so it stays. To remove it and them: lvremove %s",
	     p->name, p->name);
	return lvm_untag_part(ctx, p);
}

int lvm_mark_home(struct tier_context *ctx, const struct lvm_part *p, bool survivor)
{
	const char *const argv[] = { "lvchange", survivor ? "--addtag" : "--deltag", LVM_TAG ".home=1", p->name, NULL };

	return lvm_change(ctx, argv);
}

/* At each place that gives a volume its name back, another volume may have the name by then. */
static void say_if_taken(struct tier_context *ctx, const char *vg, const char *lv)
{
	char *name = xasprintf("%s/%s", vg, lv), *why = NULL;
	const char *const argv[] = { "lvs", name, NULL };

	if (!lvm_try(ctx, argv, &why))
		err(ctx, ERR_EXISTS,
		    "%s: is another volume. Rename it, and then the same command again: lvrename %s %s OTHER",
		    name, vg, lv);
	free(why);
	free(name);
}

int lvm_rename(struct tier_context *ctx, const char *vg, const char *from, const char *to)
{
	const char *const argv[] = { "lvrename", vg, from, to, NULL };
	int r = lvm_change(ctx, argv);

	if (r)
		say_if_taken(ctx, vg, to);
	return r;
}

const struct lvm_part *lvm_find_snapshot(const struct lvm_parts *list, const struct lvm_part *p)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		if (!strcmp(list->part[i].vg, p->vg) && !strcmp(list->part[i].origin, p->lv))
			return &list->part[i];
	return NULL;
}

int lvm_remove_placeholder(struct tier_context *ctx, const struct lvm_part *p)
{
	const struct lvm_part *snapshot;
	struct lvm_parts list;
	bool has;

	if (lvm_list(ctx, p->vg, &list))
		return -1;
	snapshot = lvm_find_snapshot(&list, p);
	has = snapshot;
	if (has)
		err(ctx, ERR_IN_USE,
		    "%s: is a snapshot of the empty volume %s, which is to go, and would go with it. Remove it first: lvremove %s",
		    snapshot->name, p->name, snapshot->name);
	lvm_parts_free(&list);
	return has ? -1 : lvm_remove(ctx, p->name);
}

static int placeholder(struct tier_context *ctx, const char *vg, const char *lv, uint64_t size,
		       const char *set_hex, char **command)
{
	char *length = xasprintf("%llub", (unsigned long long)size);
	char *set = xasprintf(LVM_TAG ".set=%s", set_hex);
	const char *const argv[] = {
		"lvcreate", "-y", "--type", "error", "-an", "-ky", "-Zn", "-Wn", "--setautoactivation", "n",
		"-L", length, "-n", lv, "--addtag", LVM_TAG, "--addtag", set, "--addtag",
		LVM_TAG ".role=" LVM_ROLE_PLACEHOLDER, vg, NULL
	};
	int r = change_or_tell(ctx, argv, command);

	free(length);
	free(set);
	return r;
}

int lvm_create_placeholder(struct tier_context *ctx, const char *vg, const char *lv, uint64_t size,
			   const char *set_hex)
{
	return placeholder(ctx, vg, lv, size, set_hex, NULL);
}

char *lvm_placeholder_command(struct tier_context *ctx, const char *vg, const char *lv, uint64_t size,
			      const char *set_hex)
{
	char *command;

	placeholder(ctx, vg, lv, size, set_hex, &command);
	return command;
}

uint64_t lvm_whole_extents(const struct lvm_part *p, uint64_t size)
{
	return p->extent ? (size + p->extent - 1) / p->extent * p->extent : size;
}

int lvm_fit_placeholder(struct tier_context *ctx, const char *set_hex, uint64_t size)
{
	const struct lvm_part *p;
	struct lvm_parts parts;
	char *length;
	int r = lvm_list_set(ctx, set_hex, &parts);

	p = r ? NULL : lvm_find_role(&parts, LVM_ROLE_PLACEHOLDER);
	if (p && p->size != lvm_whole_extents(p, size)) {
		const char *argv[] = { "lvresize", "-y", "-f", "-L", NULL, p->name, NULL };

		argv[4] = length = xasprintf("%llub", (unsigned long long)lvm_whole_extents(p, size));
		r = lvm_change(ctx, argv);
		free(length);
	}
	lvm_parts_free(&parts);
	return r;
}

int lvm_extend(struct tier_context *ctx, const char *name, uint64_t sectors)
{
	char *length = xasprintf("%llus", (unsigned long long)sectors);
	const char *const argv[] = { "lvextend", "-L", length, name, NULL };
	int r = lvm_change(ctx, argv);

	free(length);
	return r;
}

/*
 * Metadata
 */

bool lvm_plan_metadata(struct tier_context *ctx, const char *vg, const char *lv, uint64_t size, uint64_t extent,
		       const char *first, uint64_t first_taken, struct lvm_metadata *m)
{
	char *select = xasprintf("vg_name=%s", vg), text[SIZE_TEXT];
	/* Physical volumes with the most room come first. */
	const char *const argv[] = { "pvs", "-O", "-pv_free", "-o", "pv_name,pv_free", "-S", select, NULL };
	struct json_object *rows = lvm_report(ctx, argv, -1);
	uint64_t need, room;
	unsigned int n = 0;
	size_t i;

	memset(m, 0, sizeof(*m));
	free(select);
	if (!rows)
		return false;
	size = (size + extent - 1) / extent * extent;
	/* A leg of a mirror has an extent of its own metadata. */
	need = size + extent;
	for (i = 0; i < json_object_array_length(rows); i++) {
		const char *pv = lvm_field(rows, i, "pv_name");
		bool is_first = first && same_device(pv, first);

		if (!lvm_number(rows, i, "pv_free", &room))
			continue;
		if (room < need + (is_first ? first_taken : 0))
			continue;
		if (is_first) {
			free(m->pv[1]);
			m->pv[1] = m->pv[0];
			m->pv[0] = xstrdup(first);
			n = m->pv[1] ? 2 : 1;
		} else if (n < 2) {
			m->pv[n++] = xstrdup(pv);
		}
	}
	json_object_put(rows);
	if (!n) {
		err(ctx, ERR_NO_SPACE,
		    "%s: no physical volume has %s free for the metadata. Type: vgextend %s DEV, or give --metadata.",
		    vg, format_size(text, need), vg);
		return false;
	}
	m->volume.vg = xstrdup(vg);
	m->volume.lv = xstrdup(lv);
	m->volume.size = size;
	return true;
}

int lvm_create_metadata(struct tier_context *ctx, const struct lvm_metadata *m, const char *set_hex)
{
	char *size = xasprintf("%llub", (unsigned long long)m->volume.size);
	char *set = xasprintf(LVM_TAG ".set=%s", set_hex);
	const char *argv[32] = {
		"lvcreate", "-y", "-Wy", "-Zy", "-L", size, "-n", m->volume.lv, "--addtag", LVM_TAG,
		"--addtag", set, "--addtag", LVM_TAG ".role=" LVM_ROLE_METADATA,
	};
	unsigned int n = 14;
	int r;

	if (m->pv[1]) {
		argv[n++] = "--type";
		argv[n++] = "raid1";
		argv[n++] = "-m1";
	}
	argv[n++] = m->volume.vg;
	argv[n++] = m->pv[0];
	argv[n++] = m->pv[1];
	r = lvm_change(ctx, argv);
	free(size);
	free(set);
	return r;
}

void lvm_metadata_free(struct lvm_metadata *m)
{
	lvm_volume_free(&m->volume);
	free(m->pv[0]);
	free(m->pv[1]);
	memset(m, 0, sizeof(*m));
}

bool lvm_looks_into_sets(struct tier_context *ctx)
{
	const char *const argv[] = { "lvmconfig", NULL };
	char *output = NULL, *filter;
	bool filtered;

	if (lvm_run(ctx, argv, &output))
		return true;
	filter = strstr(output, "global_filter=");
	if (filter)
		*strchrnul(filter, '\n') = '\0';
	/* A device has many names, and LVM takes it if any of them is accepted. */
	filtered = filter && strstr(filter, "dm-uuid-TIER-") && !strstr(filter, "\"a|.*|") &&
		   !strstr(filter, "\"a/.*/");
	free(output);
	return !filtered;
}
