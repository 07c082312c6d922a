// SPDX-License-Identifier: GPL-2.0-only
#include "set/volumes.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "lvm/lvm-check.h"
#include "lvm/lvm-part.h"
#include "lvm/lvm.h"

struct look {
	struct report *r;
	const struct lvm_parts *all;
	const struct lvm_part *origin, *placeholder;
	char *old;			/* the converted volume's old name, now the set's */
};

char *volumes_tag_command(const struct set *s, const char **name)
{
	int rank = set_origin(s);
	char *old, *command;

	*name = rank < 0 ? "" : s->tier[rank].dev.name;
	if (!strchr(*name, '/'))
		return NULL;
	old = xstrdup(strchr(*name, '/') + 1);
	old[strlen(old) - strlen(LVM_ORIGIN_SUFFIX)] = '\0';
	command = lvm_tag_command(s->ctx, *name, s->hex, LVM_ROLE_ORIGIN, old);
	free(old);
	return command;
}

static bool of_set(const struct lvm_part *p, const struct set *s)
{
	char *set = lvm_tag(p, "set");
	bool is = set && !strcmp(set, s->hex);

	free(set);
	return is;
}

static const struct lvm_part *find_volume(const struct lvm_parts *all, const char *vg, const char *lv)
{
	unsigned int i;

	for (i = 0; i < all->nr; i++)
		if (!strcmp(all->part[i].vg, vg) && !strcmp(all->part[i].lv, lv))
			return &all->part[i];
	return NULL;
}

/* The report may have a stronger entry about that device already. */
static bool is_told(const struct report *r, const char *code, const char *device)
{
	unsigned int i;

	for (i = 0; i < r->nr_attention; i++)
		if (r->attention[i].device && !strcmp(r->attention[i].device, device) &&
		    !strcmp(r->attention[i].code, code))
			return true;
	return false;
}

/*
 * The letters of lvs: the second says whether the volume can be written, the fifth whether it is
 * active.
 */
static void look_at_state(struct report *r, const struct lvm_part *p)
{
	char *dm_name, *advice;

	if (strlen(p->attributes) < 5)
		return;
	if (lvm_has_role(p, LVM_ROLE_PLACEHOLDER)) {
		if (p->attributes[4] == 'a')
			report_attention(r, "placeholder_active", p->name,
					 "%s is active, which keeps the set from getting its name: lvchange -an %s",
					 p->name, p->name);
		return;
	}
	if (p->attributes[4] == 's' && !is_told(r, "part_suspended", p->name)) {
		dm_name = dm_name_from_lv(p->name);
		report_attention(r, "part_suspended", p->name, "%s is suspended, I/O to it waits: dmsetup resume %s",
				 p->name, dm_name);
		free(dm_name);
	} else if (p->attributes[4] != 'a' && p->attributes[4] != 's') {
		advice = lvm_activation_advice(r->set->ctx, p);
		report_attention(r, "part_inactive", p->name, "%s is a part of it and not active: %s", p->name, advice);
		free(advice);
	}
	if (p->attributes[1] == 'r' && !is_told(r, "part_read_only", p->name))
		report_attention(r, "part_read_only", p->name, "%s is a part of it and was made read-only: lvchange -prw %s",
				 p->name, p->name);
}

/* revert finds the converted volume by its tags. */
static void look_for_lost_tags(struct report *r)
{
	const char *name;
	char *command = volumes_tag_command(r->set, &name);

	if (command)
		report_attention(r, "tags_lost", name, "%s has lost its tags, by which tierctl revert finds it: %s", name,
				 command);
	free(command);
}

static void look_at_origin(const struct look *l)
{
	const struct lvm_part *o = l->origin;
	const struct set *s = l->r->set;
	char *want = xasprintf("%s%s", l->old, LVM_ORIGIN_SUFFIX);
	char *both = xasprintf("%s/%s", o->vg, l->old), *dm_name = dm_name_from_lv(both);

	if (strcmp(o->lv, want))
		report_attention(l->r, "part_renamed", o->name,
				 "%s is what %s was made of, and has to be called %s: lvrename %s %s %s", o->name, s->name,
				 want, o->vg, o->lv, want);
	/* The group was renamed; LVM does not know that the set has its name, too. */
	if (s->active && s->lv && strcmp(s->dm_name, dm_name))
		report_attention(l->r, "group_renamed", both, "its volume group is called %s now: dmsetup rename %s %s",
				 o->vg, s->dm_name, dm_name);
	free(dm_name);
	free(both);
	free(want);
}

static void look_at_size(const struct look *l)
{
	const struct lvm_part *p = l->placeholder;
	const struct set *s = l->r->set;
	uint64_t size = s->length * SECTOR_SIZE;
	bool more = p->size > lvm_whole_extents(p, size);
	char a[SIZE_TEXT], b[SIZE_TEXT];

	if (p->size == lvm_whole_extents(p, size))
		return;
	report_attention(l->r, more ? "placeholder_extended" : "placeholder_reduced", p->name,
			 "LVM was told to %s %s to %s, but the set is %s as before: tierctl resize --size %llus %s",
			 more ? "extend" : "reduce", p->name, format_size(a, p->size), format_size(b, size),
			 (unsigned long long)(more ? p->size / SECTOR_SIZE : s->length), s->name);
}

/* A snapshot of the empty volume that keeps the name. */
static void look_for_snapshot(const struct look *l)
{
	const struct lvm_part *p = l->placeholder, *snapshot = lvm_find_snapshot(l->all, p);

	if (snapshot)
		report_attention(l->r, "placeholder_snapshot", snapshot->name,
				 "%s is a snapshot of the empty volume that keeps the name %s for it, and holds nothing of it: lvremove %s",
				 snapshot->name, p->name, snapshot->name);
}

/* While a volume has the set's name, LVM gives the name to no other volume. */
static void look_at_placeholder(const struct look *l)
{
	const struct lvm_part *p = l->placeholder, *o = l->origin, *by_name = find_volume(l->all, o->vg, l->old);
	const struct set *s = l->r->set;
	char *name = xasprintf("%s/%s", o->vg, l->old), *command;

	if (by_name && by_name != p && by_name != o) {
		report_attention(l->r, "name_taken", name,
				 "%s is no part of it, but has its name, which it cannot keep: lvrename %s %s OTHER", name,
				 o->vg, l->old);
	} else if (p && strcmp(p->lv, l->old)) {
		report_attention(l->r, "placeholder_renamed", p->name,
				 "%s is the volume that keeps the name %s for it: lvrename %s %s %s", p->name, name,
				 p->vg, p->lv, l->old);
	} else if (!p) {
		command = lvm_placeholder_command(l->r->set->ctx, o->vg, l->old,
						  lvm_whole_extents(o, s->length * SECTOR_SIZE), s->hex);
		report_attention(l->r, "placeholder_missing", name,
				 "the volume that keeps the name %s for it is gone: %s", name, command);
		free(command);
	}
	if (p) {
		look_at_size(l);
		look_for_snapshot(l);
	}
	free(name);
}

static void look_at(struct report *r, const struct lvm_parts *all)
{
	struct look l = { .r = r, .all = all };
	const struct set *s = r->set;
	unsigned int i;

	for (i = 0; i < all->nr; i++) {
		const struct lvm_part *p = &all->part[i];

		if (!of_set(p, s))
			continue;
		look_at_state(r, p);
		if (lvm_has_role(p, LVM_ROLE_ORIGIN))
			l.origin = p;
		if (lvm_has_role(p, LVM_ROLE_PLACEHOLDER))
			l.placeholder = p;
	}
	/* convert and revert change the names meanwhile. */
	if (s->have_info && s->info.state != TIER_STATE_LIVE)
		return;
	if (l.origin)
		l.old = lvm_tag(l.origin, "name");
	if (l.old) {
		look_at_origin(&l);
		look_at_placeholder(&l);
	} else if (s->lv) {
		look_for_lost_tags(r);
	}
	free(l.old);
}

/* LVM lets another machine take over a group whose volumes are in use here. */
static void look_at_owner(struct report *r)
{
	const struct set *s = r->set;
	char *text = volumes_foreign(s);

	if (text && s->active)
		report_attention(r, "group_foreign", NULL,
				 "its volume group was given to another machine (vgs --foreign -o +systemid): tierctl deactivate %s",
				 s->name);
	else if (text)
		report_attention(r, "group_foreign", NULL, "%s", text);
	free(text);
}

void reports_look_at_volumes(struct report *reports, unsigned int nr)
{
	bool asked = false, known = false;
	struct lvm_parts all = { 0 };
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct set *s = reports[i].set;

		/* LVM reads all devices, and would wait for a suspended one. */
		if (s->dm.suspended || (!s->lv && !set_has_volumes(s)) || !lvm_installed())
			continue;
		if (!asked)
			known = !lvm_list_all(reports->set->ctx, &all);
		asked = true;
		if (known)
			look_at(&reports[i], &all);
		look_at_owner(&reports[i]);
	}
	lvm_parts_free(&all);
}

bool set_has_volumes(const struct set *s)
{
	bool has = false;
	unsigned int i;

	for (i = 0; i <= s->nr_tiers && !has; i++) {
		const struct device *d = i < s->nr_tiers ? &s->tier[i].dev : &s->meta_dev;
		has = d->path && device_is_volume(d->dev);
	}
	return has;
}

char *volumes_foreign(const struct set *s)
{
	struct strings groups = { 0 };
	unsigned int i;
	char *text;

	for (i = 0; i <= s->nr_tiers; i++) {
		const struct device *d = i < s->nr_tiers ? &s->tier[i].dev : &s->meta_dev;
		char *vg = d->path && device_is_volume(d->dev) && *d->name != '/' ?
			   xstrndup(d->name, strcspn(d->name, "/")) : NULL;

		if (vg)
			strings_add(&groups, vg);
		free(vg);
	}
	text = groups.nr ? lvm_foreign_group(s->ctx, &groups) : NULL;
	strings_free(&groups);
	return text;
}
