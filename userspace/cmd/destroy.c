// SPDX-License-Identifier: GPL-2.0-only
/* destroy */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/step.h"
#include "base/util.h"
#include "block/device.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/dm.h"
#include "lvm/lvm-check.h"
#include "lvm/lvm-part.h"
#include "lvm/lvm.h"
#include "ops/activate.h"
#include "ops/convert.h"
#include "ops/mirrored.h"
#include "ops/parts.h"
#include "ops/revert.h"
#include "ops/schedule.h"
#include "set/find.h"
#include "set/lock.h"
#include "set/member.h"
#include "set/mirror.h"
#include "set/owner.h"
#include "set/reserved.h"
#include "set/reserved.h"
#include "set/scan.h"
#include "set/set.h"
#include "set/twin.h"
#include "set/wipe.h"

/* Prints all parts of the set that are here; the metadata last. */
static void say_what_goes(const struct set *s)
{
	const char *would = s->ctx->dry_run ? "Would wipe" : "Wipe";
	unsigned int i;

	if (s->active)
		say(s->ctx, "%s the device /dev/mapper/%s", s->ctx->dry_run ? "Would remove" : "Remove",
		    s->dm_name);
	for (i = 0; i < s->nr_tiers; i++) {
		if (s->tier[i].present)
			say(s->ctx, "%s the label of tier %u on %s", would, i, s->tier[i].dev.name);
		else
			say(s->ctx, "  (tier %u is missing and keeps its label)", i);
	}
	for (i = 0; i < s->nr_stray; i++) {
		char *what = wipe_would_lose(s->ctx, &s->stray[i]);

		if (what)
			say(s->ctx, "  (%s carries %s, too, and stays as it is)", s->stray[i].name, what);
		else
			say(s->ctx, "%s what is left of it on %s", would, s->stray[i].name);
		free(what);
	}
	if (s->mirror.nr || set_mirror_assembled(s))
		say(s->ctx, "%s the metadata on the tiers", would);
	else if (s->have_meta)
		say(s->ctx, "%s the metadata on %s", would, s->meta_dev.name);
}

static bool is_free(struct tier_context *ctx, const char *name, const struct device *d)
{
	char *usage = device_usage(d);
	bool none = !usage;

	if (usage)
		err(ctx, ERR_IN_USE, "%s: %s. Free it first.", name, usage);
	free(usage);
	return none;
}

static bool carries_nothing_else(struct tier_context *ctx, const char *name, const struct device *d)
{
	char *what = wipe_would_lose(ctx, d);
	bool nothing = !what;

	if (what)
		err(ctx, ERR_NEEDS_FORCE, "%s: carries %s, too. To lose that, repeat with --force.",
		    name, what);
	free(what);
	return nothing;
}

/*
 * A device in use must be found before anything is changed. Data that was begun on an unused
 * device must not be lost without a question either.
 */
static bool check_members(const struct set *s)
{
	bool good = s->ctx->force ||
		    owner_not_elsewhere(s, "To destroy it all the same, repeat with --force.");
	unsigned int i;

	/* The set itself holds the devices while it is active. */
	for (i = 0; !s->active && i <= s->nr_tiers + s->nr_stray; i++) {
		const struct device *d = !i ? &s->meta_dev : i <= s->nr_tiers ? &s->tier[i - 1].dev :
					 &s->stray[i - 1 - s->nr_tiers];

		if (d->path)
			good &= is_free(s->ctx, d->name, d) && (i > s->nr_tiers ||
					carries_nothing_else(s->ctx, d->name, d));
	}
	return good;
}

static int wipe_set(const struct set *s)
{
	bool assembled = set_mirror_assembled(s), mirrored = s->mirror.nr || assembled;
	unsigned int i;

	/* Its device keeps the tiers from being wiped. */
	if (mirror_release_alone(s->ctx, s->hex, s->name))
		return EXIT_FAILED;
	/* A leg is found by the label of its tier, so it goes before. */
	for (i = 0; i < s->nr_tiers && mirrored; i++)
		if (s->tier[i].present && mirror_wipe_leg(s->ctx, &s->tier[i].dev, s->uuid))
			return EXIT_FAILED;
	for (i = 0; i < s->nr_stray && mirrored; i++) {
		char *what = wipe_would_lose(s->ctx, &s->stray[i]);

		if (!what && mirror_wipe_leg(s->ctx, &s->stray[i], s->uuid))
			return EXIT_FAILED;
		free(what);
	}
	step_reached("destroy", "legs");
	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].present && wipe_labels(s->ctx, &s->tier[i].dev, s->uuid))
			return EXIT_FAILED;
	for (i = 0; i < s->nr_stray; i++)
		if (wipe_stray(s->ctx, &s->stray[i], s->uuid))
			return EXIT_FAILED;
	step_reached("destroy", "labels");
	/* Without its metadata the schedule could not be found. */
	schedule_forget(s->ctx, s->hex);
	if (s->have_meta && !assembled && wipe_superblock(s->ctx, &s->meta_dev, s->uuid))
		return EXIT_FAILED;
	step_reached("destroy", "metadata");
	return EXIT_DONE;
}

/*
 * A killed call may have wiped all tiers that show this, so LVM is asked, but only for a name of
 * that form.
 */
static bool was_volume(const struct set *s)
{
	char *name = s->dm_name ? lv_name_from_dm(s->dm_name) : NULL;
	struct lvm_parts parts = { 0 };
	bool was = name;
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		was |= s->tier[i].present && set_volume_is_origin(&s->tier[i].dev);
	was = was && lvm_installed() && !lvm_list_set(s->ctx, s->hex, &parts) &&
	      lvm_find_role(&parts, LVM_ROLE_ORIGIN);
	lvm_parts_free(&parts);
	free(name);
	return was;
}

/* LVM is called only if a device is a logical volume; a wiped device may be one. */
static bool has_volumes(const struct set *s)
{
	bool has = false, missing = false;
	struct lvm_parts parts = { 0 };
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++) {
		missing |= !s->tier[i].present;
		has |= s->tier[i].present && device_is_volume(s->tier[i].dev.dev);
	}
	for (i = 0; i < s->nr_stray; i++)
		has |= device_is_volume(s->stray[i].dev);
	if (!has && missing && lvm_installed() && !lvm_look_for_set(s->ctx, s->hex, &parts))
		has = parts.nr;
	lvm_parts_free(&parts);
	return has && lvm_installed();
}

static void say_rest(struct tier_context *ctx, const char *hex, const char *name)
{
	char *command = convert_rest_command(ctx, hex, name, "destroy");

	err(ctx, ERR_UNFINISHED, "%s: not all parts are gone. To go on, once the cause is gone: %s", name,
	    command);
	free(command);
}

static int destroy_set(void *unused, struct set *s)
{
	bool volumes;
	char *reason;
	int code, origin;

	/* A killed activation leaves no active set: destroy the set on the devices. */
	if (activate_has_remains(s))
		return activate_without_remains(s, "destroy", destroy_set, unused);
	if (s->active && !check_closed(s, "destroy"))
		return EXIT_FAILED;
	/* A device of its metadata that a killed call left would count as a user of the tiers. */
	if (!s->active && !s->ctx->dry_run && mirror_release_alone(s->ctx, s->hex, s->name))
		return EXIT_FAILED;
	volumes = s->lv || was_volume(s);
	origin = s->lv ? set_origin(s) : -1;
	if (!check_members(s) || ((volumes || has_volumes(s)) &&
				  !lvm_may_release(s->ctx, s->hex, s->name,
						   origin < 0 ? NULL : s->tier[origin].dev.name)))
		return EXIT_FAILED;
	say_what_goes(s);
	if (s->ctx->dry_run)
		return EXIT_DONE;
	if (!ask(s->ctx, "Destroy %s? What is in it is lost.", s->name))
		return EXIT_FAILED;

	/* The last commit would wait for ever if it were suspended. */
	if (s->active && mirrored_go_on(s))
		return EXIT_FAILED;
	if (s->active && dm_remove(s->dm_name, &reason)) {
		err(s->ctx, ERR_KERNEL_REFUSED, "%s: cannot be deactivated: %s.", s->name, reason);
		free(reason);
		return EXIT_FAILED;
	}
	code = wipe_set(s);
	if (!code)
		reserved_drop(s);
	/* The converted volume gets its name back; volumes made for the set are removed. */
	if (!code && volumes)
		code = revert_finish(s->ctx, s->hex);
	else if (!code && has_volumes(s) && parts_release_all(s->ctx, s->hex, 0))
		code = EXIT_FAILED;
	if (!code)
		say(s->ctx, "%s: destroyed.", s->name);
	else
		say_rest(s->ctx, s->hex, s->name);
	return code;
}

/* An inactive volume cannot be read. */
static bool has_no_label(const struct lvm_part *p)
{
	struct member m;
	struct device d;
	bool none;

	if (device_from_name(p->name, &d))
		return false;
	member_read(&d, &m);
	none = m.kind == MEMBER_NONE;
	member_free(&m);
	device_free(&d);
	return none;
}

/*
 * The converted volume, under its present name, has no label any more, or, if there was none,
 * the volumes that were made; and no other volume has a label.
 */
static bool is_taken_apart(const struct set_list *sets, const char *set_hex)
{
	const struct lvm_part *origin;
	struct lvm_parts parts;
	unsigned int i;
	bool apart;

	if (sets_find_hex(sets, set_hex) || lvm_list_set(sets->ctx, set_hex, &parts))
		return false;
	origin = lvm_find_role(&parts, LVM_ROLE_ORIGIN);
	apart = origin ? has_no_label(origin) : parts.nr;
	for (i = 0; !origin && apart && i < parts.nr; i++)
		apart = has_no_label(&parts.part[i]);
	lvm_parts_free(&parts);
	return apart;
}

/*
 * Only the names and tags of volumes are left of a destroyed set: does the rest. -1: name is no
 * such volume, else an exit code.
 */
static int finish_volumes(const struct set_list *sets, const char *name)
{
	struct lvm_parts all;
	char *hex = NULL;
	unsigned int i;
	int code = -1;

	if (*name == '/' || !strchr(name, '/') || !lvm_installed() || lvm_list_all(sets->ctx, &all))
		return -1;
	for (i = 0; i < all.nr && !hex; i++)
		if (!strcmp(all.part[i].name, name))
			hex = lvm_tag(&all.part[i], "set");
	lvm_parts_free(&all);
	if (hex && is_taken_apart(sets, hex)) {
		say(sets->ctx,
		    "%s: was taken apart. What is left: names and tags of logical volumes, and those made for it.",
		    name);
		if (sets->ctx->dry_run)
			code = EXIT_DONE;
		else
			code = ask(sets->ctx, "Finish that?") && lock_set(sets->ctx, hex,
				   name) ? revert_finish(sets->ctx, hex) : EXIT_FAILED;
		if (!code && !sets->ctx->dry_run)
			say(sets->ctx, "%s: destroyed.", name);
		else if (!sets->ctx->dry_run)
			say_rest(sets->ctx, hex, name);
	}
	free(hex);
	return code;
}

/*
 * A device that may hold damaged metadata of a set, and why; NULL if there is none. The caller
 * frees.
 */
static char *damaged_metadata(struct tier_context *ctx)
{
	struct member_list members = { 0 };
	char *text = NULL;
	unsigned int i;

	members_scan(ctx, &members, true);
	for (i = 0; i < members.nr && !text; i++) {
		const struct member *m = &members.member[i];

		if (m->kind == MEMBER_UNREADABLE)
			text = xasprintf("on %s, which cannot be read", m->dev.name);
		else if (m->kind == MEMBER_DAMAGED && !m->is_label)
			text = xasprintf("what is damaged on %s", m->dev.name);
	}
	members_free(&members);
	return text;
}

/*
 * Data that a set would lose with this device; NULL for none. The caller frees. *whole: the
 * whole set can be named instead.
 */
static char *what_needs_it(const struct set *s, const struct role *role, const struct member *m, bool *whole)
{
	const struct set_tier *t = role->tier >= 0 ? &s->tier[role->tier] : NULL;
	bool is_main = s->have_meta && s->meta_dev.dev == m->dev.dev;
	char *damaged, *text;

	*whole = false;
	if (!set_has_metadata(s) && s->active)
		return xasprintf("may be a part of %s, which is active", s->name);
	if (!set_has_metadata(s)) {
		damaged = damaged_metadata(s->ctx);
		text = damaged ? xasprintf("is a tier of %s, whose metadata may be %s: tierctl repair needs both",
					   s->name, damaged) : NULL;
		free(damaged);
		return text;
	}
	if (t && s->active && !t->present)
		return xasprintf("is tier %d of %s, which is active without it", role->tier, s->name);
	*whole = (is_main && !s->meta_doubled) || (t && !t->doubled);
	if (*whole)
		return t ? xasprintf("is tier %d of %s", role->tier, s->name) :
			   xasprintf("is the metadata of %s", s->name);
	if ((is_main && s->meta_newest) || (t && t->newest))
		return t ? xasprintf("is the newest of those that say they are tier %d of %s", role->tier, s->name) :
			   xasprintf("is the newest of those that say they are the metadata of %s", s->name);
	if (role->newer)
		return xasprintf("is a part of %s, and newer than what the set goes by", s->name);
	if (m->kind == MEMBER_TIER && !t && !strcmp(role->state, "inactive"))
		return xasprintf("is a tier of %s, whose metadata cannot be read, so it may still be needed", s->name);
	return NULL;
}

static bool same_part(const struct member *a, const struct member *b)
{
	if (a->kind != b->kind || (a->kind != MEMBER_METADATA && a->kind != MEMBER_TIER))
		return false;
	return !memcmp(member_set_uuid(a), member_set_uuid(b), TIER_UUID_SIZE) &&
	       (a->kind == MEMBER_METADATA ||
		!memcmp(a->label.tier_uuid, b->label.tier_uuid, sizeof(a->label.tier_uuid)));
}

/* One of two copies may be wiped as long as the other stays. */
static bool one_stays(const struct args *args, const struct member *m, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr && !args->ctx->force; i++) {
		if (!same_part(&m[i], &m[nr]))
			continue;
		err(args->ctx, ERR_AMBIGUOUS,
		    "%s, %s: say that they are the same part of a set. Name one of them, or repeat with --force.",
		    args->word[i], args->word[nr]);
		return false;
	}
	return true;
}

/* A device may be wiped alone only if no set depends on it. */
static bool is_remains(const struct set_list *sets, const char *typed, const struct device *d,
		       const struct member *m)
{
	struct role role;
	bool whole = false, refused;
	char *text;

	if (m->kind == MEMBER_NONE || m->kind == MEMBER_UNREADABLE) {
		err(sets->ctx, ERR_UNSUITABLE, "%s: %s.", typed,
		    m->reason ? m->reason : "is no device of a tiered set");
		return false;
	}
	role_of(m, sets, &role);
	if (role.set)
		context_set(sets->ctx, role.set->hex, role.set->name);
	text = role.set ? what_needs_it(role.set, &role, m, &whole) : NULL;
	refused = text && (whole || !sets->ctx->force);
	if (refused && whole)
		err(sets->ctx, ERR_IN_USE, "%s: %s. Name %s.", typed, text, role.set->name);
	else if (refused)
		err(sets->ctx, ERR_NEEDS_FORCE, "%s: %s. To wipe it all the same, repeat with --force.",
		    typed, text);
	free(text);
	return !refused && carries_nothing_else(sets->ctx, typed, d) && is_free(sets->ctx, typed, d);
}

static bool is_active(const struct set_list *sets, const struct member *m)
{
	struct role role;

	role_of(m, sets, &role);
	return role.set && role.set->active;
}

/*
 * Of two names for one disk neither may be wiped as a copy. To see that, the beginning of the
 * copy is changed for a moment, which must not be done while the set is active.
 */
static bool is_copy(const struct set_list *sets, const struct member *m, const struct member *other)
{
	bool active = is_active(sets, other);
	int r = active ? twins_alike(&m->dev, &other->dev) : twins(sets->ctx, &m->dev, &other->dev);

	if (r < 0)
		err(sets->ctx, error_from(-r), "%s, %s: cannot be compared: %s.", m->dev.name,
		    other->dev.name, strerror(-r));
	else if (r && active)
		err(sets->ctx, ERR_IN_USE,
		    "%s: may be the same disk as %s, which is in use. Deactivate the set first, to find out.",
		    m->dev.name, other->dev.name);
	else if (r)
		err(sets->ctx, ERR_UNSUITABLE,
		    "%s: is the same disk as %s, and no copy of it. Nothing was wiped. Take one of the names away.",
		    m->dev.name, other->dev.name);
	return !r;
}

static bool have_no_twins(const struct set_list *sets, const struct member *m, unsigned int nr)
{
	struct member_list members = { 0 };
	bool none = true;
	unsigned int i, k;

	members_scan(sets->ctx, &members, false);
	for (k = 0; k < nr; k++)
		for (i = 0; i < members.nr && none; i++)
			if (members.member[i].dev.dev != m[k].dev.dev && same_part(&members.member[i], &m[k]))
				none = is_copy(sets, &m[k], &members.member[i]);
	members_free(&members);
	return none;
}

static int destroy_devices(const struct args *args, const struct set_list *sets)
{
	struct member *m = xcalloc(args->nr, sizeof(*m));
	struct text names = { 0 }, asked = { 0 };
	int code = EXIT_DONE;
	unsigned int i;

	for (i = 0; i < args->nr; i++) {
		struct device d;

		if (device_from_name(args->word[i], &d)) {
			err(args->ctx, ERR_NOT_FOUND, "%s: no such set or device.", args->word[i]);
			code = EXIT_FAILED;
			continue;
		}
		member_read(&d, &m[i]);
		if (!is_remains(sets, args->word[i], &d, &m[i]) || !one_stays(args, m, i))
			code = EXIT_FAILED;
		text_add(&names, "%s%s", names.len ? ", " : "", args->word[i]);
		text_add(&asked, "%s%s", asked.len ? ", " : "", args->word[i]);
		if (m[i].kind == MEMBER_DAMAGED)
			text_add(&asked, " (%s%s)", m[i].reason,
				 m[i].is_whole ? "" :
				 m[i].is_label ? "; tierctl repair --label writes that of a tier anew" :
				 "; tierctl repair may read it still");
		device_free(&d);
	}
	if (!code && args->ctx->dry_run)
		say(args->ctx, "Would wipe what is left of a set on %s.", names.s);
	else if (!code && !ask(args->ctx, "Wipe what is left of a set on %s?", asked.s))
		code = EXIT_FAILED;
	if (!code && !args->ctx->dry_run && !args->ctx->force && !have_no_twins(sets, m, args->nr))
		code = EXIT_FAILED;
	for (i = 0; i < args->nr; i++) {
		if (!code && !args->ctx->dry_run)
			code = wipe_labels(args->ctx, &m[i].dev,
					   member_set_uuid(&m[i])) ? EXIT_FAILED : EXIT_DONE;
		member_free(&m[i]);
	}
	if (!code && !args->ctx->dry_run)
		say(args->ctx, "Wiped %s.", names.s);
	free(m);
	text_free(&names);
	text_free(&asked);
	return code;
}

int cmd_destroy(const struct args *args)
{
	struct set_list list;
	struct device d;
	struct set *s;
	int code;

	if (!lock_named(args->ctx, args->word[0], true))
		return EXIT_FAILED;
	sets_load(args->ctx, &list, true);
	s = sets_find(&list, args->word[0]);
	if (s && args->nr > 1) {
		err(args->ctx, ERR_USAGE, "destroy: one set at a time.");
		code = EXIT_USAGE;
	} else if (s) {
		/* destroy is refused if two sets share the name: it must not guess. */
		code = sets_alone(&list, s, args->word[0]) ? destroy_set(NULL, s) : EXIT_FAILED;
	} else if (args->nr == 1 && (code = finish_volumes(&list, args->word[0])) >= 0) {
		/* the name was a set */
	} else if (!device_from_name(args->word[0], &d)) {
		device_free(&d);
		code = destroy_devices(args, &list);
	} else {
		sets_need(&list, args->word[0]);
		code = EXIT_FAILED;
	}
	sets_free(&list);
	return code;
}
