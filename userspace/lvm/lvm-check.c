// SPDX-License-Identifier: GPL-2.0-only
#include "lvm/lvm-check.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "block/device.h"

/* LVM refuses a VG/LV with more characters, with the endings of inner volumes. */
#define LVM_NAME_MAX	125
/* The kernel's limit on a dm device's name, DM_NAME_LEN with the NUL. */
#define DM_NAME_MAX	127
/* The most metadata that LVM writes about one more volume with our tags, without its name. */
#define VOLUME_BYTES	1024
#define LEGS		4	/* inner volumes of a mirror of two */
#define TAGS_BYTES	256

enum step_kind { STEP_RENAME, STEP_MAKE, STEP_PLACEHOLDER, STEP_REMOVE, STEP_RESIZE, STEP_CHANGE };

struct lvm_step {
	enum step_kind kind;
	char *vg, *lv;
	char *to;		/* STEP_RENAME: new name; STEP_PLACEHOLDER: of the volume which makes way */
	bool mirrored;
	uint64_t size;		/* bytes */
};

struct volume {
	char *vg, *lv, *parent, *origin, *attributes, *vg_attributes, *tags, *vg_tags;
	uint64_t max, count;	/* volumes that the group may have (0: any number), and has */
	uint64_t room;		/* bytes for LVM's own metadata */
	bool hidden;
};

struct volumes {
	unsigned int nr;
	struct volume *v;
	char *config;
};

static struct lvm_step *add_step(struct lvm_steps *s, enum step_kind kind, const char *vg, const char *lv)
{
	struct lvm_step *step;

	s->step = xrealloc(s->step, s->nr + 1, sizeof(*s->step));
	step = &s->step[s->nr++];
	*step = (struct lvm_step){ .kind = kind, .vg = xstrdup(vg), .lv = xstrdup(lv) };
	return step;
}

void lvm_steps_rename(struct lvm_steps *s, const char *vg, const char *lv, const char *to)
{
	add_step(s, STEP_RENAME, vg, lv)->to = xstrdup(to);
}

void lvm_steps_make(struct lvm_steps *s, const char *vg, const char *lv, bool mirrored)
{
	add_step(s, STEP_MAKE, vg, lv)->mirrored = mirrored;
}

void lvm_steps_placeholder(struct lvm_steps *s, const char *vg, const char *lv, const char *torig)
{
	add_step(s, STEP_PLACEHOLDER, vg, lv)->to = xstrdup(torig);
}

void lvm_steps_remove(struct lvm_steps *s, const char *vg, const char *lv)
{
	add_step(s, STEP_REMOVE, vg, lv);
}

void lvm_steps_resize(struct lvm_steps *s, const char *vg, const char *lv, uint64_t size)
{
	add_step(s, STEP_RESIZE, vg, lv)->size = size;
}

void lvm_steps_change(struct lvm_steps *s, const char *vg, const char *lv)
{
	add_step(s, STEP_CHANGE, vg, lv);
}

void lvm_steps_release(struct lvm_steps *s, const struct lvm_part *p)
{
	char *old = lvm_tag(p, "name");

	if (lvm_has_role(p, LVM_ROLE_PLACEHOLDER))
		lvm_steps_remove(s, p->vg, p->lv);
	else if (old && strcmp(old, p->lv))
		lvm_steps_rename(s, p->vg, p->lv, old);
	else
		lvm_steps_change(s, p->vg, p->lv);
	free(old);
}

static void free_steps(struct lvm_steps *s)
{
	while (s->nr) {
		struct lvm_step *step = &s->step[--s->nr];

		free(step->vg);
		free(step->lv);
		free(step->to);
	}
	free(s->step);
	s->step = NULL;
}

/* LVM's volumes and groups */

static void free_volumes(struct volumes *all)
{
	while (all->nr) {
		struct volume *v = &all->v[--all->nr];

		free(v->vg);
		free(v->lv);
		free(v->parent);
		free(v->origin);
		free(v->attributes);
		free(v->vg_attributes);
		free(v->tags);
		free(v->vg_tags);
	}
	free(all->v);
	free(all->config);
}

/* Hidden volumes are in brackets. */
static char *bare_name(const char *name)
{
	size_t len = strlen(name);

	return *name == '[' && len > 1 ? xstrndup(name + 1, len - 2) : xstrdup(name);
}

static void add_volume(struct volumes *all, const struct json_object *rows, size_t row)
{
	const char *lv = lvm_field(rows, row, "lv_name");
	uint64_t max, count, room;

	if (!lvm_number(rows, row, "max_lv", &max) || !lvm_number(rows, row, "lv_count", &count) ||
	    !lvm_number(rows, row, "vg_mda_free", &room))
		return;
	all->v = xrealloc(all->v, all->nr + 1, sizeof(*all->v));
	all->v[all->nr++] = (struct volume){
		.vg = xstrdup(lvm_field(rows, row, "vg_name")), .lv = bare_name(lv),
		.parent = bare_name(lvm_field(rows, row, "lv_parent")), .origin = bare_name(lvm_field(rows, row, "origin")),
		.attributes = xstrdup(lvm_field(rows, row, "lv_attr")),
		.vg_attributes = xstrdup(lvm_field(rows, row, "vg_attr")),
		.tags = xstrdup(lvm_field(rows, row, "lv_tags")), .vg_tags = xstrdup(lvm_field(rows, row, "vg_tags")),
		.max = max, .count = count, .room = room, .hidden = *lv == '[',
	};
}

/* All volumes of the groups that the steps are in. */
static int list_volumes(const struct lvm_steps *s, struct volumes *all)
{
	const char *argv[] = {
		"lvs", "-a", "-o",
		"vg_name,lv_name,lv_parent,origin,lv_attr,vg_attr,lv_tags,vg_tags,max_lv,lv_count,vg_mda_free", NULL, NULL
	};
	static const char *const config[] = { "lvmconfig", NULL };
	struct json_object *rows;
	unsigned int i, k;
	size_t row;

	memset(all, 0, sizeof(*all));
	for (i = 0; i < s->nr; i++) {
		for (k = 0; k < i && strcmp(s->step[k].vg, s->step[i].vg); k++)
			;
		if (k < i)
			continue;
		argv[4] = s->step[i].vg;
		rows = lvm_report(s->ctx, argv, -1);
		if (!rows)
			return -1;
		for (row = 0; row < json_object_array_length(rows); row++)
			add_volume(all, rows, row);
		json_object_put(rows);
	}
	return lvm_run(s->ctx, config, &all->config);
}

static const struct volume *find(const struct volumes *all, const char *vg, const char *lv)
{
	unsigned int i;

	for (i = 0; i < all->nr; i++)
		if (!strcmp(all->v[i].vg, vg) && (!lv || !strcmp(all->v[i].lv, lv)))
			return &all->v[i];
	return NULL;
}

/*
 * A mirror has legs. The legs have hidden volumes themselves if they are checked for integrity.
 */
static bool is_inside(const struct volumes *all, const struct volume *v, const char *lv)
{
	unsigned int depth;

	for (depth = 0; v && v->hidden && *v->parent && depth < 8; depth++) {
		if (!strcmp(v->parent, lv))
			return true;
		v = find(all, v->vg, v->parent);
	}
	return false;
}

/*
 * Names
 */

/*
 * Endings that LVM adds to the name of a dm device: for a volume with snapshots; for a mirror's
 * leg, when the mirror is taken apart.
 */
#define LAYER_REAL	"-real"
#define LAYER_MISSING	"-missing_0_0"

/* By how many characters VG/LV is too long, with the suffix of an inner volume and the layer. */
static size_t excess(const char *vg, const char *lv, const char *suffix, const char *layer)
{
	char *name = xasprintf("%s/%s%s", vg, lv, suffix), *dm_name = dm_name_from_lv(name);
	size_t len = strlen(name), dm_len = strlen(dm_name) + strlen(layer);
	size_t much = len > LVM_NAME_MAX ? len - LVM_NAME_MAX : 0;

	if (dm_len > DM_NAME_MAX && dm_len - DM_NAME_MAX > much)
		much = dm_len - DM_NAME_MAX;
	free(name);
	free(dm_name);
	return much;
}

/* For the volume and all volumes inside it, which are renamed with it. */
static size_t longest_excess(const struct volumes *all, const struct lvm_step *step, const char *new)
{
	const struct volume *now = find(all, step->vg, step->lv);
	bool layered = step->kind == STEP_RENAME && now && strchr("oO", *now->attributes);
	size_t most = excess(step->vg, new, "", layered ? LAYER_REAL : ""), much, len = strlen(step->lv);
	unsigned int i;

	if (step->mirrored)
		most = excess(step->vg, new, "_rimage_0", LAYER_MISSING);

	for (i = 0; step->kind == STEP_RENAME && i < all->nr; i++) {
		const struct volume *v = &all->v[i];

		if (strcmp(v->vg, step->vg) || strncmp(v->lv, step->lv, len) || !is_inside(all, v, step->lv))
			continue;
		much = excess(step->vg, new, v->lv + len, LAYER_MISSING);
		if (much > most)
			most = much;
	}
	return most;
}

static bool check_length(const struct lvm_steps *s, const struct volumes *all, const struct lvm_step *step,
			 const char *new)
{
	size_t much = longest_excess(all, step, new);
	bool own = !strncmp(new, step->lv, strlen(step->lv)) && step->kind == STEP_RENAME;
	char *shorten;

	if (!much)
		return true;
	/* The old name */
	if (own)
		shorten = xasprintf("lvrename %s/%s SHORTER", step->vg, step->lv);
	else
		shorten = s->by_option ? xstrdup("--name SHORTER") : xasprintf("lvrename %s SHORTER", s->set);
	err(s->ctx, ERR_LVM_REFUSED,
	    "%s/%s: %s %s, and that is %zu characters too long for LVM or device-mapper%s. First: %s",
	    step->vg, step->lv,
	    step->kind == STEP_MAKE ? "would be made for" : "would get another name for", s->set, much,
	    step->kind == STEP_RENAME ? ", with what is put behind it" : "", shorten);
	free(shorten);
	return false;
}

/* A name may be free later: another step renames or removes its volume. */
static bool makes_way(const struct lvm_steps *s, const char *vg, const char *lv)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		if ((s->step[i].kind == STEP_RENAME || s->step[i].kind == STEP_REMOVE) && !strcmp(s->step[i].vg, vg) &&
		    !strcmp(s->step[i].lv, lv))
			return true;
	return false;
}

static bool check_taken(const struct lvm_steps *s, const struct volumes *all, const struct lvm_step *step,
			const char *new)
{
	if (!find(all, step->vg, new) || makes_way(s, step->vg, new))
		return true;
	if (s->back)
		err(s->ctx, ERR_EXISTS,
		    "%s/%s: is another volume by now, and %s/%s is to have that name back. Rename it first: lvrename %s %s OTHER",
		    step->vg, new, step->vg, step->lv, step->vg, new);
	else
		err(s->ctx, ERR_EXISTS,
		    "%s/%s: exists, and is the name that a part of %s would get. Rename it first.",
		    step->vg, new, s->set);
	return false;
}

/*
 * lvm.conf
 */

/* The words of a setting, from its bracket on; NULL if it is not set.  The caller frees. */
static char *setting(const char *config, const char *key)
{
	size_t len = strlen(key);
	const char *line;

	for (line = config; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		const char *text = line + strspn(line, " \t");

		if (!strncmp(text, key, len) && text[len] == '=')
			return xstrndup(text + len + 1, strcspn(text + len + 1, "\n"));
	}
	return NULL;
}

static bool has_word(const char *words, const char *word)
{
	char *quoted = xasprintf("\"%s\"", word);
	bool has = strstr(words, quoted);

	free(quoted);
	return has;
}

/* Our own tags count only if the volume is to have them. */
static bool has_tag(const char *words, const char *tags, bool ours)
{
	char *copy = xstrdup(tags), *tag, *save;
	bool has = ours && has_word(words, "@" LVM_TAG);

	for (tag = strtok_r(copy, ",", &save); tag && !has; tag = strtok_r(NULL, ",", &save)) {
		char *word = xasprintf("@%s", tag);

		has = (ours || strncmp(tag, LVM_TAG, strlen(LVM_TAG))) && has_word(words, word);
		free(word);
	}
	free(copy);
	return has;
}

/* Whether the setting matches the volume: by group, name or tag. */
static bool covers(const char *words, const char *vg, const char *lv, const char *tags, const char *vg_tags, bool ours)
{
	char *name = xasprintf("%s/%s", vg, lv);
	bool does = has_word(words, vg) || has_word(words, name) || has_tag(words, tags, ours) ||
		    has_tag(words, vg_tags, false);

	free(name);
	return does;
}

static bool check_activation(const struct lvm_steps *s, const struct volumes *all, const struct lvm_step *step,
			     const char *new)
{
	static const struct {
		const char *key;
		bool lacks;		/* volumes without a match are inactive; else: with a match read-only */
	} keys[] = {
		{ "volume_list", true }, { "auto_activation_volume_list", true }, { "read_only_volume_list", false },
	};
	const struct volume *now = find(all, step->vg, step->lv), *other = find(all, step->vg, NULL);
	const char *vg_tags = other ? other->vg_tags : "", *tags = now ? now->tags : "";
	bool good = true, has;
	unsigned int i;

	for (i = 0; good && i < sizeof(keys) / sizeof(*keys); i++) {
		char *words = setting(all->config, keys[i].key);

		/* "@*" depends on the tags of the host. What holds for the present name may hold on. */
		has = words && covers(words, step->vg, new, tags, vg_tags, !s->back);
		good = !words || has_word(words, "@*") || keys[i].lacks == has ||
		       (now && has == covers(words, step->vg, step->lv, tags, vg_tags, true));
		if (!good && keys[i].lacks)
			err(s->ctx, ERR_LVM_REFUSED,
			    "%s/%s: is to be called %s for %s, and activation/%s in lvm.conf has no such volume, so LVM would not activate it. Add \"%s/%s\" there first.",
			    step->vg, step->lv, new, s->set, keys[i].key, step->vg, new);
		else if (!good)
			err(s->ctx, ERR_LVM_REFUSED,
			    "%s/%s: is to be called %s for %s, and by activation/%s in lvm.conf LVM would make it read-only. Take it out there first.",
			    step->vg, step->lv, new, s->set, keys[i].key);
		free(words);
	}
	return good;
}

/*
 * Groups
 */

const char *lvm_group_problem(const char *g)
{
	if (strlen(g) < 6)
		return "lvs describes it in an unknown way";
	if (g[2] == 'x')
		return "its volume group is exported. Type: vgimport it first";
	if (g[3] == 'p')
		return "a physical volume of its group is missing. Connect it, or give it up (vgreduce --removemissing), first";
	if (g[5] == 's' || g[5] == 'c')
		return "its volume group is shared between machines, which a set cannot be";
	if (g[0] != 'w')
		return "its volume group is read-only (lvs -o vg_permissions). Make it writable first";
	return NULL;
}

static bool check_group(const struct lvm_steps *s, const struct volumes *all, const char *vg)
{
	const struct volume *v = find(all, vg, NULL);
	const char *problem = v ? lvm_group_problem(v->vg_attributes) : NULL;
	uint64_t made = 0, bytes = 0;
	unsigned int i;

	/*
	 * An empty group where a volume is to be made: LVM itself refuses that, before the
	 * commit point.
	 */
	if (!v)
		return true;
	for (i = 0; i < s->nr; i++) {
		const struct lvm_step *step = &s->step[i];
		bool more = step->kind == STEP_MAKE || step->kind == STEP_PLACEHOLDER;

		if (strcmp(step->vg, vg))
			continue;
		if (problem) {
			err(s->ctx, ERR_LVM_REFUSED, "%s/%s: %s.", vg, step->lv, problem);
			return false;
		}
		made += more;
		bytes += more ? (VOLUME_BYTES + strlen(step->lv)) * (step->mirrored ? 1 + LEGS : 1) : TAGS_BYTES;
	}
	if (v->max && v->count + made > v->max) {
		err(s->ctx, ERR_NO_SPACE,
		    "%s: its group %s may have %llu volumes, and would have %llu. Type: vgchange -l %llu %s",
		    s->set, vg, (unsigned long long)v->max, (unsigned long long)(v->count + made),
		    (unsigned long long)(v->count + made), vg);
		return false;
	}
	/* Going back removes more than it adds. */
	if (!s->back && v->room < bytes) {
		err(s->ctx, ERR_NO_SPACE,
		    "%s: LVM has %llu bytes left for its own metadata of the group %s, and may need %llu. Remove volumes or tags there, or add a physical volume with room for it (pvcreate --metadatasize 1m) and keep it off the others (pvchange --metadataignore y).",
		    s->set, (unsigned long long)v->room, vg, (unsigned long long)bytes);
		return false;
	}
	return true;
}

/* By LVM's rule: the machine's own system ID, and the others that lvm.conf allows. */
static bool is_own_id(struct tier_context *ctx, const char *id, char **own)
{
	static const char *const ask[] = { "lvm", "systemid", NULL }, *const config[] = { "lvmconfig", NULL };
	static const char before[] = "system ID: ";
	char *said = NULL, *others = NULL;
	const char *at;
	bool is;

	*own = NULL;
	if (!lvm_run(ctx, ask, &said) && (at = strstr(said, before)))
		*own = xstrndup(at + strlen(before), strcspn(at + strlen(before), "\n"));
	free(said);
	said = NULL;
	if (!lvm_run(ctx, config, &said))
		others = setting(said, "extra_system_ids");
	is = !*own || !strcmp(*own, id) || (others && has_word(others, id));
	free(others);
	free(said);
	return is;
}

char *lvm_foreign_group(struct tier_context *ctx, const struct strings *groups)
{
	/* Without LVM's locks, which an activation must not wait for. */
	static const char *const vgs[] = {
		"vgs", "--readonly", "--foreign", "--shared", "-o", "vg_name,vg_systemid", NULL
	};
	struct json_object *rows = lvm_installed() ? lvm_report_quietly(ctx, vgs, LVM_LOOK_MS) : NULL;
	char *text = NULL, *own;
	size_t i;

	for (i = 0; rows && !text && i < json_object_array_length(rows); i++) {
		const char *vg = lvm_field(rows, i, "vg_name"), *id = lvm_field(rows, i, "vg_systemid");

		if (!*id || (groups && !strings_have(groups, vg)))
			continue;
		if (!is_own_id(ctx, id, &own))
			text = xasprintf("the volume group %s belongs to another machine, with the system ID %s. If that machine is off, or has let go of it: vgchange --config 'local/extra_system_ids=[\"%s\"]' --systemid \"%s\" %s && vgchange -ay %s",
					 vg, id, id, own, vg, vg);
		free(own);
	}
	json_object_put(rows);
	return text;
}

/*
 * Each step
 */

/* LVM would remove the snapshots with the volume. */
static bool check_snapshots(const struct lvm_steps *s, const struct volumes *all, const struct lvm_step *step)
{
	unsigned int i;

	for (i = 0; i < all->nr; i++) {
		const struct volume *v = &all->v[i];

		if (strcmp(v->vg, step->vg) || strcmp(v->origin, step->lv))
			continue;
		err(s->ctx, ERR_IN_USE,
		    "%s/%s: is a snapshot of the empty volume that keeps the name of %s, so it holds nothing of that, and would go with it. Remove it first: lvremove %s/%s",
		    v->vg, v->lv, s->set, v->vg, v->lv);
		return false;
	}
	return true;
}

static bool check_step(const struct lvm_steps *s, const struct volumes *all, const struct lvm_step *step)
{
	switch (step->kind) {
	case STEP_RENAME:
		return check_length(s, all, step, step->to) && check_taken(s, all, step, step->to) &&
		       check_activation(s, all, step, step->to);
	case STEP_MAKE:
		return check_length(s, all, step, step->lv) && check_taken(s, all, step, step->lv) &&
		       check_activation(s, all, step, step->lv);
	case STEP_REMOVE:
		return check_snapshots(s, all, step);
	default:
		return true;
	}
}

/* Any other reason: LVM tries the step, and writes nothing. */
static bool try_step(const struct lvm_steps *s, unsigned int n)
{
	const struct lvm_step *step = &s->step[n];
	char *name = xasprintf("%s/%s", step->vg, step->lv), *size = xasprintf("%llub", (unsigned long long)step->size);
	const char *const rename[] = { "lvrename", "--test", step->vg, step->lv, step->to, NULL };
	/* Under the name that the volume still has now. */
	const char *const placeholder[] = {
		"lvcreate", "--test", "-y", "--type", "error", "-an", "-ky", "-Zn", "-Wn", "--setautoactivation", "n",
		"-l", "1", "-n", step->to, "--addtag", LVM_TAG, step->vg, NULL
	};
	const char *const remove[] = { "lvremove", "--test", "-y", name, NULL };
	const char *const resize[] = { "lvresize", "--test", "-y", "-f", "-L", size, name, NULL };
	const char *const change[] = { "lvchange", "--test", "--addtag", LVM_TAG ".test", name, NULL };
	const char *const *argv = step->kind == STEP_RENAME ? rename : step->kind == STEP_PLACEHOLDER ? placeholder :
				  step->kind == STEP_REMOVE ? remove : step->kind == STEP_RESIZE ? resize : change;
	char *why = NULL, *command;
	unsigned int i;
	int r = 0;

	/* The volume that has the name makes way before, which LVM's trial does not know. */
	if (step->kind == STEP_RENAME && s->back)
		argv = change;
	/* If LVM can change the group for one volume, it can for others. */
	for (i = 0; i < n && strcmp(s->step[i].vg, step->vg); i++)
		;
	if (argv != change || i == n)
		r = lvm_try(s->ctx, argv, &why);
	if (r) {
		command = lvm_command(argv);
		err(s->ctx, ERR_LVM_REFUSED,
		    "%s: LVM would not do its part: %s. Nothing was changed. First make this work: %s",
		    s->set, why, command);
		free(command);
	}
	free(why);
	free(size);
	free(name);
	return !r;
}

bool lvm_steps_possible(struct lvm_steps *s)
{
	struct volumes all = { 0 };
	bool good = !s->nr || !list_volumes(s, &all);
	unsigned int i, k;

	for (i = 0; good && i < s->nr; i++) {
		for (k = 0; k < i && strcmp(s->step[k].vg, s->step[i].vg); k++)
			;
		good = k < i || check_group(s, &all, s->step[i].vg);
	}
	for (i = 0; good && i < s->nr; i++)
		good = check_step(s, &all, &s->step[i]);
	for (i = 0; good && i < s->nr; i++)
		/* Volumes are made before the commit point, except the placeholder. */
		good = s->step[i].kind == STEP_MAKE || try_step(s, i);
	free_volumes(&all);
	free_steps(s);
	return good;
}

bool lvm_may_fit_placeholder(struct tier_context *ctx, const char *set_hex, const char *set_name, uint64_t size)
{
	struct lvm_steps steps = { .ctx = ctx, .set = set_name };
	const struct lvm_part *p;
	struct lvm_parts parts;

	if (lvm_list_set(ctx, set_hex, &parts))
		return false;
	p = lvm_find_role(&parts, LVM_ROLE_PLACEHOLDER);
	if (p && p->size != lvm_whole_extents(p, size))
		lvm_steps_resize(&steps, p->vg, p->lv, lvm_whole_extents(p, size));
	lvm_parts_free(&parts);
	return lvm_steps_possible(&steps);
}

bool lvm_may_release(struct tier_context *ctx, const char *set_hex, const char *set_name, const char *origin)
{
	struct lvm_steps steps = { .ctx = ctx, .set = set_name, .back = true };
	const char *slash = origin ? strchr(origin, '/') : NULL;
	struct lvm_parts parts;
	unsigned int i;
	char *vg;

	if (lvm_list_set(ctx, set_hex, &parts))
		return false;
	/* LVM reports a group with another machine's system ID only if the group is named. */
	if (slash && slash != origin) {
		vg = xstrndup(origin, slash - origin);
		lvm_steps_change(&steps, vg, slash + 1);
		free(vg);
	}
	for (i = 0; i < parts.nr; i++)
		lvm_steps_release(&steps, &parts.part[i]);
	lvm_parts_free(&parts);
	return lvm_steps_possible(&steps);
}

/*
 * Activation
 */

char *lvm_activation_advice(struct tier_context *ctx, const struct lvm_part *p)
{
	static const char *const config[] = { "lvmconfig", NULL };
	const char *a = p->attributes, *first = NULL;
	char *output = NULL, *words = NULL, *add = NULL, *advice;

	if (strlen(a) < 10 || strlen(p->vg_attributes) < 6)
		return xasprintf("lvchange -ay %s", p->name);
	if (!lvm_run(ctx, config, &output))
		words = setting(output, "volume_list");
	if (words && !has_word(words, "@*") && !covers(words, p->vg, p->lv, p->tags, p->vg_tags, true))
		add = xasprintf("add \"%s\" to activation/volume_list in lvm.conf, then ", p->name);
	/* A mirror works without one of its legs. */
	if (a[8] == 'p' && !strchr("rR", a[0]))
		first = "connect the physical volume that is missing, then ";
	advice = xasprintf("%s%s%slvchange -ay%s %s", first ? : "", p->vg_attributes[2] == 'x' ? "vgimport its group, then " : "",
			   add ? : "", a[9] == 'k' ? " -K" : "", p->name);
	free(add);
	free(words);
	free(output);
	return advice;
}
