// SPDX-License-Identifier: GPL-2.0-only
/* Making the device of a set. */
#include "ops/activate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "format/metadata.h"
#include "format/pd.h"
#include "lvm/lvm-check.h"
#include "ops/check.h"
#include "ops/convert.h"
#include "ops/revert.h"
#include "ops/schedule.h"
#include "set/find.h"
#include "set/fit.h"
#include "set/hint.h"
#include "set/lock.h"
#include "set/mirror.h"
#include "set/owner.h"
#include "set/reserved.h"
#include "set/volumes.h"
#include "set/wipe.h"

static void say_lacking(struct set *s)
{
	uint64_t used[TIER_MAX_TIERS] = { 0 }, mapped, pinned, lost = 0;
	bool counted = set_count_chunks(s, used, &mapped, &pinned), hinted = false;
	struct text which = { 0 };
	char size[SIZE_TEXT], *foreign;
	bool volume = false;
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++) {
		const struct set_tier *t = &s->tier[i];
		char *numbers = set_tier_age(t), *hint = relabel_hint(s, i);

		if (!t->present || t->stale) {
			text_add(&which, "%stier %u", which.len ? ", " : "", i);
			lost += used[i] * s->chunk_sectors * SECTOR_SIZE;
		}
		if (t->stale)
			text_add(&which, " (%s) %s %s", t->dev.name, t->slot_lost ? "which" : "stale, it", numbers);
		else if (hint)
			text_add(&which, " is missing, or has lost its label: %s", hint);
		else if (!t->present && *t->last_seen)
			text_add(&which, " (last seen as /dev/%s) missing", t->last_seen);
		else if (!t->present)
			text_add(&which, " missing");
		hinted |= hint != NULL;
		volume |= !t->present && !strncmp(t->last_seen, "dm-", 3);
		free(hint);
		free(numbers);
	}
	/* LVM does not activate another machine's volumes. */
	foreign = volume ? lvm_foreign_group(s->ctx, NULL) : NULL;
	err(s->ctx, ERR_DEGRADED, "%s: %s%s %s, or: tierctl activate --degraded %s (%s%sunreadable).%s%s", s->name,
	    which.s, hinted ? "; else connect" : ". Connect", set_stale(s) ? "what is current" : "it", s->name,
	    counted ? format_size(size, lost) : "its data is ", counted ? " " : "", foreign ? " Also, " : "", foreign ?: "");
	free(foreign);
	text_free(&which);
}

bool activate_metadata_stale(const struct set *s)
{
	unsigned int i;
	char *numbers;

	for (i = 0; i < s->nr_tiers; i++) {
		const struct set_tier *t = &s->tier[i];

		if (!t->stale || t->label_generation < t->generation)
			continue;
		numbers = set_tier_age(t);
		err(s->ctx, ERR_STALE,
		    "%s: metadata stale: tier %u (%s) %s. Connect the current metadata device.", s->name,
		    i, t->dev.name, numbers);
		free(numbers);
		return true;
	}
	return false;
}

/* With --degraded a stale tier, an old copy of itself, counts as missing. */
static void leave_out_stale(struct set *s)
{
	unsigned int i;
	char *numbers;

	for (i = 0; i < s->nr_tiers; i++) {
		struct set_tier *t = &s->tier[i];

		if (!t->stale)
			continue;
		numbers = set_tier_age(t);
		warn(s->ctx, "%s: tier %u (%s) is %sleft out: it %s.", s->name, i, t->dev.name,
		     t->slot_lost ? "" : "stale and ", numbers);
		free(numbers);
		t->present = t->stale = false;
		t->state = '-';
	}
}

/*
 * The next label would overwrite other data beside a tier's label: the disk may be used for
 * something else by now.
 */
static bool keep_off(struct set *s, bool degraded)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++) {
		struct set_tier *t = &s->tier[i];

		if (!t->foreign || t->stale)
			continue;
		if (!degraded) {
			err(s->ctx, ERR_NEEDS_FORCE,
			    "%s: tier %u (%s) carries %s beside its label. If it is the set's all the same: tierctl activate --force %s, which writes over that; to leave it out: tierctl activate --degraded %s",
			    s->name, i, t->dev.name, t->foreign, s->name, s->name);
			return false;
		}
		warn(s->ctx, "%s: tier %u (%s) is left out: it carries %s beside its label.", s->name, i,
		     t->dev.name, t->foreign);
		t->present = false;
		t->state = '-';
	}
	return true;
}

static bool agree_to_hidden(const struct set *s, const char *part, const struct device *d, const char *hidden)
{
	if (s->ctx->force)
		return s->ctx->dry_run || ask(s->ctx, "Use %s, which is %s, as the %s of %s?", d->name,
					      hidden, part, s->name);
	err(s->ctx, ERR_NEEDS_FORCE,
	    "%s: %s (%s) is %s. What is made of it (the map, the array) is found by itself when it is there; if udev is wrong: udevadm trigger %s, or tierctl activate --force %s",
	    s->name, part, d->name, hidden, d->path, s->name);
	return false;
}

/*
 * A path of multipath or a leg of an array carries the same data as the map or the array, which
 * the set should use.
 */
static bool agree_to_all_hidden(struct set *s, const struct activation *options)
{
	unsigned int i;

	if (s->have_meta && s->meta_hidden && !agree_to_hidden(s, "metadata device", &s->meta_dev, s->meta_hidden))
		return false;
	for (i = 0; i < s->nr_tiers; i++) {
		struct set_tier *t = &s->tier[i];
		char part[16];

		if (!t->present || !t->hidden)
			continue;
		snprintf(part, sizeof(part), "tier %u", i);
		if (options->degraded && !s->ctx->force) {
			warn(s->ctx, "%s: %s (%s) is left out: it is %s.", s->name, part, t->dev.name,
			     t->hidden);
			t->present = false;
			t->state = '-';
		} else if (!agree_to_hidden(s, part, &t->dev, t->hidden)) {
			return false;
		}
	}
	return true;
}

/* With --force, for the tiers that are left. */
static bool agree_to_write_over(const struct set *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].present && s->tier[i].foreign &&
		    !ask(s->ctx, "Write over %s, which %s carries beside its label?", s->tier[i].foreign,
			 s->tier[i].dev.name))
			return false;
	return true;
}

/* The kernel only writes the label; other data behind it would be found each time. */
static bool write_over(const struct set *s)
{
	uint64_t end = tier_label_area(s->chunk_sectors) * SECTOR_SIZE;
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].present && s->tier[i].foreign &&
		    wipe_behind_labels(s->ctx, &s->tier[i].dev, s->uuid, end))
			return false;
	return true;
}

/* Why a tier cannot be used as it is now; the caller frees. */
static char *unfit_tier(const struct set *s, unsigned int rank, bool writes)
{
	const struct set_tier *t = &s->tier[rank];

	return fit_kind(&t->dev, writes) ?: fit_blocks(&t->dev, s->name, s->info.logical_block_size) ?:
	       fit_size(&t->dev, t->size);
}

/* In bytes, from its space map. */
static uint64_t metadata_size(const struct set *s)
{
	struct md_space_map_root root;

	memcpy(&root, s->roots.space_map, sizeof(root));
	return le64_to_cpu(root.nr_blocks) * TIER_METADATA_BLOCK_SIZE;
}

/* --force does not help here: I/O would go wrong. */
static bool fits(struct set *s, bool writes, bool degraded)
{
	char *text = s->mirror.nr ? NULL : fit_kind(&s->meta_dev, writes) ?: fit_size(&s->meta_dev, metadata_size(s));
	unsigned int i;
	bool protected;

	if (text) {
		protected = writes && s->meta_dev.read_only;
		err(s->ctx, ERR_UNSUITABLE, "%s: its metadata device (%s) %s.%s%s", s->name,
		    s->meta_dev.name, text,
		    protected ? " To have a look: tierctl activate --read-only " : "",
		    protected ? s->name : "");
		free(text);
		return false;
	}
	for (i = 0; i < s->nr_tiers; i++) {
		struct set_tier *t = &s->tier[i];

		text = t->present && !t->stale ? unfit_tier(s, i, writes) : NULL;
		if (!text)
			continue;
		if (degraded) {
			warn(s->ctx, "%s: tier %u (%s) is left out: it %s.", s->name, i, t->dev.name, text);
			t->present = false;
			t->state = '-';
		} else {
			protected = writes && t->dev.read_only;
			err(s->ctx, ERR_UNSUITABLE,
			    "%s: tier %u (%s) %s. Make it what it was; to leave it out: tierctl activate --degraded %s%s%s",
			    s->name, i, t->dev.name, text, s->name,
			    protected ? "; to have a look: tierctl activate --read-only " : "",
			    protected ? s->name : "");
		}
		free(text);
		if (!degraded)
			return false;
	}
	return true;
}

static void warn_of_slow(const struct set *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].present)
			fit_warn(s->ctx, s->tier[i].dev.name, &s->tier[i].dev);
}

/*
 * Whether convert or revert was interrupted and can go on. A call by --auto waits until
 * everything that has to be cleaned up is there: nobody would come back for the rest.
 */
static bool interrupted_set(const struct set *s, const struct activation *options)
{
	if (s->doubled)
		return false;
	if (convert_unfinished(s))
		return !set_missing(s);
	return revert_unfinished(s) && (!options->automatic || !revert_lacks_tier(s));
}

/*
 * Readers do not matter, as at boot. A virtual machine holds no device exclusively, and the set
 * may be active in it.
 */
static bool members_unused(const struct set *s, bool read_only)
{
	unsigned int i;
	char *usage;

	for (i = s->mirror.nr ? 1 : 0; i <= s->nr_tiers; i++) {
		const struct device *d = i ? &s->tier[i - 1].dev : &s->meta_dev;

		if (i && !s->tier[i - 1].present)
			continue;
		usage = read_only ? device_held(d) : device_written(d);
		if (usage) {
			err(s->ctx, ERR_IN_USE, "%s: %s is %s. Free it first.", s->name, d->name, usage);
			free(usage);
			return false;
		}
	}
	return true;
}

/* A tier that is left out is not written to, so neither is its leg. */
static bool keep_legs(struct set *s)
{
	if (set_keep_legs(s))
		return mirror_may_assemble(s->ctx, s->name, &s->mirror, true);
	err(s->ctx, ERR_DEGRADED, "%s: its latest metadata lies on a tier that cannot be used as it is.", s->name);
	return false;
}

bool activate_may_own(const struct set *s)
{
	char *advice = xasprintf("If that machine is off, or cut off from these devices for good: tierctl activate --take-over %s",
				 s->name);
	bool may = owner_not_elsewhere(s, advice);

	free(advice);
	return may;
}

/* LVM does not activate its volumes, but they may have been active before. */
static bool in_foreign_group(const struct set *s)
{
	char *text = volumes_foreign(s);
	bool foreign = text;

	if (text)
		err(s->ctx, ERR_ELSEWHERE, "%s: %s", s->name, text);
	free(text);
	return foreign;
}

/* Checks everything that only the user can decide or mend: false, with the error said. */
static bool can_activate(struct set *s, const struct activation *options)
{
	bool writes = !options->read_only;

	if (convert_unfinished(s) && !convert_committed(s)) {
		err(s->ctx, ERR_UNFINISHED,
		    "%s: its conversion was interrupted before anything was changed, unless the device that was to be converted is missing. To clean up: tierctl convert --abort %s%s",
		    s->name, s->lv ? "" : "DEV --name ", s->name);
		return false;
	}
	if (s->problem) {
		bool finish = options->read_only && interrupted_set(s, options);

		err(s->ctx, s->doubled ? ERR_AMBIGUOUS : s->have_meta ? ERR_DAMAGED : ERR_DEGRADED,
		    "%s: cannot be activated: %s.%s%s", s->name, s->problem,
		    s->doubled ? " Take one of them away, or wipe it: tierctl destroy DEV" :
		    s->info.state == TIER_STATE_FORMATTING ? " To make the devices free: tierctl destroy " :
		    finish ? " To finish that writes, so not with --read-only: tierctl activate " : "",
		    !s->doubled && (s->info.state == TIER_STATE_FORMATTING || finish) ? s->name : "");
		return false;
	}
	if (in_foreign_group(s) || (!options->take_over && !activate_may_own(s)))
		return false;
	if (options->reserve && !reserved_may_take(s, options->take_over))
		return false;
	/* A leg on a stale tier does not count, and the tier is what matters then. */
	if (s->mirror.nr && !options->degraded && (s->mirror.split || !set_stale(s)) &&
	    !mirror_may_assemble(s->ctx, s->name, &s->mirror, false))
		return false;
	if (activate_metadata_stale(s) || !fits(s, writes, options->degraded))
		return false;
	if (writes && !s->ctx->force && !keep_off(s, options->degraded))
		return false;
	if ((set_missing(s) || set_stale(s)) && !options->degraded) {
		say_lacking(s);
		return false;
	}
	leave_out_stale(s);
	if (s->mirror.nr && options->degraded && !keep_legs(s))
		return false;
	warn_of_slow(s);
	return !writes || s->ctx->dry_run || agree_to_write_over(s);
}

static char *build_table(const struct set *s, const struct strings *features)
{
	struct table t = { .chunk_sectors = s->chunk_sectors, .nr_tiers = s->nr_tiers };
	char *params;
	unsigned int i;

	t.metadata = s->have_meta ? xasprintf("%u:%u", major(s->meta_dev.dev), minor(s->meta_dev.dev)) :
		     mirror_device_path(s->hex);
	for (i = 0; i < s->nr_tiers; i++)
		t.tier[i] = s->tier[i].present ?
			xasprintf("%u:%u", major(s->tier[i].dev.dev), minor(s->tier[i].dev.dev)) : xstrdup("-");
	strings_add_all(&t.features, features);
	t.policy = xstrdup(*s->info.policy ? s->info.policy : "default");
	params = table_build(&t);
	table_free(&t);
	return params;
}

/* Another process, started by udev for example, may have been faster. */
static bool active_by_now(const struct set *s)
{
	struct set_list list;
	bool active = false;
	unsigned int i;

	sets_load(s->ctx, &list, false);
	for (i = 0; i < list.nr; i++)
		active |= list.set[i].dm.table && !memcmp(list.set[i].uuid, s->uuid, sizeof(s->uuid));
	sets_free(&list);
	return active;
}

#define NOT_AUTO	"/etc/dm-tier/not-auto"

static int make_device(const struct set *s, const char *name, const char *uuid,
		       const struct activation *options)
{
	char *params = build_table(s, &options->features), *reason;
	int code;

	verbose(s->ctx, "table: 0 %llu tier %s", (unsigned long long)s->length, params);
	if (s->ctx->dry_run) {
		say(s->ctx, "Would activate %s with the table:\n0 %llu tier %s", name,
		    (unsigned long long)s->length, params);
		code = EXIT_DONE;
	} else if (!options->read_only && !s->mirror.nr && !write_over(s)) {
		code = EXIT_FAILED;
	} else if (dm_create(name, uuid, s->length, params, options->read_only, &reason)) {
		err(s->ctx, ERR_KERNEL_REFUSED, "%s: the kernel refused it: %s.", s->name, reason);
		free(reason);
		code = EXIT_FAILED;
	} else {
		if (!s->lv)
			context_set(s->ctx, s->hex, name);
		say(s->ctx, "%s: active as /dev/mapper/%s%s.", s->name, name,
		    set_missing(s) ? ", degraded" : "");
		code = set_missing(s) ? EXIT_ATTENTION : EXIT_DONE;
		if (!options->read_only && !strings_have(&options->features, "paused"))
			schedule_follow(s->ctx, s->hex);
	}
	free(params);
	return code;
}

/* Metadata that lies on the tiers gets its device. */
static bool bring_metadata(struct set *s, const struct activation *options)
{
	char *path;
	int r;

	if (!s->mirror.nr || s->ctx->dry_run)
		return true;
	/* Its slices hold the tiers. */
	if (!options->read_only && !write_over(s))
		return false;
	if (mirror_assemble(s->ctx, s->hex, s->name, &s->mirror, options->degraded, options->read_only))
		return false;
	path = mirror_device_path(s->hex);
	r = device_from_name(path, &s->meta_dev);
	if (r)
		device_not_found(s->ctx, path, r);
	else
		s->have_meta = true;
	free(path);
	return !r;
}

/* A machine that was shut out may have committed just before. */
static bool look_again(struct set *s)
{
	int fd = device_open(&s->meta_dev, O_RDONLY), r = fd;
	struct tier_meta_roots roots;
	struct tier_meta_info info;
	const char *reason = "cannot be opened";

	if (fd >= 0) {
		r = md_read_superblock(fd, &info, &roots, &reason);
		close(fd);
	}
	if (!r && (info.generation != s->info.generation || info.state != s->info.state)) {
		reason = "was changed meanwhile. Try again";
		r = -ESTALE;
	}
	if (r) {
		err(s->ctx, r == -ESTALE ? ERR_CHANGED : ERR_IO, "%s: the metadata %s (%s).", s->name, reason,
		    s->meta_dev.name);
		return false;
	}
	s->info = info;
	s->roots = roots;
	return true;
}

static int claim_and_make(struct set *s, const char *name, const char *uuid, const struct activation *options)
{
	struct tier_meta_info claim;
	int code;

	/* Nothing is written to a set that the check refuses. */
	if ((!options->unchecked && !check_before_activation(s)) || !owner_claim(s, &claim))
		return EXIT_FAILED;
	code = make_device(s, name, uuid, options);
	if (code == EXIT_FAILED)
		owner_unclaim(s, &claim);
	return code;
}

/* No other tierctl activates the set meanwhile; one that udev started may have been faster. */
static int activate_alone(struct set *s, const char *name, const struct activation *options)
{
	char *uuid = xasprintf("%s%s%s", DM_UUID_PREFIX, s->hex, s->lv ? "-lv" : "");
	char *there = dm_name_of_uuid(uuid), *version = NULL, *reason;
	bool reserved = false, shut_out = false;
	int code;

	if (there && active_by_now(s)) {
		say(s->ctx, "%s: is active already.", s->name);
		code = EXIT_DONE;
	} else if (dm_name_exists(name)) {
		err(s->ctx, ERR_EXISTS, "%s: another device has the name %s. %s%s", s->name, name,
		    s->lv ? "How to free it: tierctl status " : "Choose one: tierctl activate --name NAME ",
		    s->lv ? s->name : s->hex);
		code = EXIT_FAILED;
	} else if (!members_unused(s, options->read_only)) {
		code = EXIT_FAILED;
	} else if (!s->ctx->dry_run && dm_tier_target(&version, &reason)) {
		err(s->ctx, ERR_KERNEL_REFUSED, "%s: %s.", s->name, reason);
		free(reason);
		code = EXIT_FAILED;
	} else if (options->reserve && !s->ctx->dry_run &&
		   !(reserved = reserved_take(s, options->take_over, &shut_out))) {
		code = EXIT_FAILED;
	} else if (!bring_metadata(s, options) || (shut_out && !look_again(s))) {
		code = EXIT_FAILED;
	} else if (options->read_only || s->ctx->dry_run) {
		code = make_device(s, name, uuid, options);
	} else {
		code = claim_and_make(s, name, uuid, options);
	}
	if (code == EXIT_FAILED && set_mirror_assembled(s))
		mirror_release(s->ctx, s->hex, s->name);
	if (code == EXIT_FAILED && shut_out)
		warn(s->ctx, "%s: its disks stay reserved, as another machine was shut out. To end that: tierctl deactivate %s",
		     s->name, s->name);
	else if (code == EXIT_FAILED && reserved)
		reserved_drop(s);
	free(version);
	free(there);
	free(uuid);
	return code;
}

/* An active set that was activated without. */
static int reserve_active(const struct set *s, const struct activation *options)
{
	bool shut_out;

	if (!reserved_may_take(s, options->take_over))
		return EXIT_FAILED;
	if (!s->ctx->dry_run && !reserved_take(s, options->take_over, &shut_out))
		return EXIT_FAILED;
	say(s->ctx, s->ctx->dry_run ? "Would reserve the disks of %s." : "%s: its disks are reserved.", s->name);
	return EXIT_DONE;
}

static int activate(struct set *s, const struct activation *options)
{
	const char *name = options->name ? options->name : s->dm_name;
	int lock, code;

	context_set(s->ctx, s->hex, s->name);
	if (s->active) {
		if (options->reserve)
			return reserve_active(s, options);
		say(s->ctx, "%s: is active already.", s->name);
		return EXIT_DONE;
	}
	if (!can_activate(s, options))
		return EXIT_FAILED;
	if (!name || !is_name(name)) {
		err(s->ctx, ERR_USAGE, "%s: needs a name for its device: --name NAME", s->name);
		return EXIT_FAILED;
	}
	/* The name of a converted set identifies its volumes, so it cannot change. */
	if (s->lv && strcmp(name, s->dm_name)) {
		err(s->ctx, ERR_USAGE,
		    "%s: was a logical volume, and keeps the name %s until tierctl revert. Activate it without --name.",
		    s->name, s->dm_name);
		return EXIT_FAILED;
	}

	if (!lock_in_time(s->ctx, s->hex, s->name, LOCK_DEVICE, &lock))
		return EXIT_FAILED;
	code = activate_alone(s, name, options);
	if (lock >= 0)
		close(lock);
	return code;
}

/* The worse_exit_code of two exit codes: failed, then degraded, then done. */
int worse_exit_code(int a, int b)
{
	if (a == EXIT_FAILED || b == EXIT_FAILED)
		return EXIT_FAILED;
	return a > b ? a : b;
}

bool activate_has_remains(const struct set *s)
{
	return s->active && !s->dm.table;
}

static const char *remains_phrase(const struct set *s)
{
	return s->dm.wiped ? "a table of \"error\"" : "no table";
}

/* An activation that is still running has the lock. */
static bool remove_remains(const struct set *before, const char *command)
{
	struct set_list list;
	const struct set *s;
	bool good = true;
	char *reason;
	int lock;

	if (!lock_in_time(before->ctx, before->hex, before->name, LOCK_DEVICE, &lock))
		return false;
	sets_load(before->ctx, &list, false);
	s = sets_find(&list, before->hex);
	if (s && activate_has_remains(s)) {
		good = check_closed(s, command);
		if (good && dm_remove(s->dm.name, &reason)) {
			err(before->ctx, ERR_KERNEL_REFUSED, "%s: has %s and cannot be removed: %s.",
			    s->name, remains_phrase(s), reason);
			free(reason);
			good = false;
		}
	}
	sets_free(&list);
	if (lock >= 0)
		close(lock);
	return good;
}

/* The device was being made, or its members are away. */
static int say_nothing_left(const struct set *before, const char *command)
{
	bool done = !strcmp(command, "destroy");

	char *text = xasprintf("%s: nothing of it is on any device that is seen; /dev/mapper/%s, which had %s, is removed.",
			       before->name, before->dm.name, remains_phrase(before));

	if (done)
		warn(before->ctx, "%s", text);
	else
		err(before->ctx, ERR_DEGRADED, "%s", text);
	free(text);
	return done ? EXIT_DONE : EXIT_FAILED;
}

int activate_without_remains(const struct set *before, const char *command,
			     int (*fn)(void *context, struct set *s), void *context)
{
	int code = EXIT_FAILED;
	struct set_list list;
	struct set *s;

	if (before->ctx->dry_run) {
		say(before->ctx, "Would remove /dev/mapper/%s, which has %s, and %s %s.",
		    before->dm.name, remains_phrase(before), command, before->name);
		return EXIT_DONE;
	}
	if (!remove_remains(before, command))
		return EXIT_FAILED;
	sets_load(before->ctx, &list, true);
	s = sets_find_hex(&list, before->hex);
	if (s)
		code = fn(context, s);
	else
		code = say_nothing_left(before, command);
	sets_free(&list);
	return code;
}

static int activate_anew(void *context, struct set *s)
{
	return activate_or_finish(s, context);
}

static int activate_afresh(const struct set *before, const struct activation *options)
{
	return activate_without_remains(before, "activate", activate_anew, (void *)options);
}

int activate_uuid(struct tier_context *ctx, const char *set_hex)
{
	struct activation options = { 0 };
	struct set_list list;
	int code = EXIT_FAILED;
	struct set *s;

	sets_load(ctx, &list, true);
	s = sets_find_hex(&list, set_hex);
	if (s)
		code = activate_has_remains(s) ? activate_afresh(s, &options) : activate(s, &options);
	sets_free(&list);
	return code;
}

static bool complete(const struct set *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].foreign)
			return false;
	return !s->problem && !set_missing(s) && !set_stale(s) && mirror_legs(&s->mirror) == s->mirror.nr;
}

static bool has_hidden(const struct set *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].hidden)
			return true;
	return s->meta_hidden;
}

/* Whether the file has a line with the set's name or UUID. */
static bool is_listed(const struct set *s, const char *path)
{
	FILE *f = fopen(path, "re");
	bool found = false;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	if (!f)
		return false;
	while (!found && (len = getline(&line, &size, f)) > 0) {
		line[strcspn(line, " \t\n#")] = '\0';
		found = *line && (!strcmp(line, s->name) || !strcmp(line, s->hex));
	}
	free(line);
	fclose(f);
	return found;
}

/* A cluster activates it, for example; an initramfs may be for some sets only. */
static bool left_to_others(const struct set *s)
{
	bool not_auto = is_listed(s, NOT_AUTO);
	struct stat st;

	if (not_auto)
		verbose(s->ctx, "%s: is listed in %s", s->name, NOT_AUTO);
	return not_auto || (!stat(IN_INITRAMFS, &st) && st.st_size && !is_listed(s, IN_INITRAMFS));
}

/* With --auto without messages, unless a complete set cannot be activated. */
static int activate_if_meant(struct set *s, const struct activation *options)
{
	if (options->automatic &&
	    (s->active || !(complete(s) || (!s->problem && options->degraded))))
		return EXIT_DONE;
	return activate(s, options);
}

/* Finishes what convert or revert left half-done; true if the set has changed. */
static bool finish(const struct set *s)
{
	if (convert_unfinished(s))
		return !convert_finish(s->ctx, s->hex);
	if (revert_committed(s))
		return !revert_finish(s->ctx, s->hex);
	return !set_missing(s) && !revert_take_back(s);
}

static int finish_and_activate(const struct set *interrupted, const struct activation *options)
{
	bool automatic = options->automatic, finished = false;
	int code = EXIT_DONE;
	struct set_list list;
	struct set *s;

	/* A set that another command works on is left to that command. */
	if (automatic && !lock_set_now(interrupted->ctx, interrupted->hex)) {
		verbose(interrupted->ctx, "%s: another tierctl is at it", interrupted->name);
		return EXIT_DONE;
	}
	if (!lock_set(interrupted->ctx, interrupted->hex, interrupted->name))
		return EXIT_FAILED;
	/* The state after that */
	sets_load(interrupted->ctx, &list, true);
	s = sets_find_hex(&list, interrupted->hex);
	if (s && interrupted_set(s, options) && !options->take_over && !activate_may_own(s)) {
		sets_free(&list);
		unlock_set();
		return EXIT_FAILED;
	}
	if (s && interrupted_set(s, options) && options->reserve) {
		err(s->ctx, ERR_UNFINISHED, "%s: what was interrupted is finished first, without --reserve: tierctl activate %s",
		    s->name, s->name);
		sets_free(&list);
		unlock_set();
		return EXIT_FAILED;
	}
	if (s && interrupted_set(s, options) && finish(s)) {
		finished = true;
		sets_free(&list);
		sets_load(interrupted->ctx, &list, true);
		s = sets_find_hex(&list, interrupted->hex);
	}
	/* A stray that carries other data, too, has kept its label. */
	if (finished && (!s || !s->have_meta)) {
		say(interrupted->ctx, "%s: is no tiered set any more.", interrupted->name);
	} else if (s) {
		code = activate_if_meant(s, options);
	} else if (!automatic && options->named) {
		sets_need(&list, interrupted->name);
		code = EXIT_FAILED;
	}
	sets_free(&list);
	unlock_set();
	return code;
}

int activate_or_finish(struct set *s, const struct activation *options)
{
	/* As far as --auto can know, the table was wiped on purpose. */
	if (options->automatic && (s->dm.wiped || left_to_others(s)))
		return EXIT_DONE;
	if (activate_has_remains(s))
		return activate_afresh(s, options);
	if (!s->active && has_hidden(s)) {
		/* The event of these devices, or of the device made of them, comes later. */
		if (options->automatic)
			return EXIT_DONE;
		if (!agree_to_all_hidden(s, options))
			return EXIT_FAILED;
	}
	if (!interrupted_set(s, options) || options->read_only)
		return activate_if_meant(s, options);
	if (!s->ctx->dry_run)
		return finish_and_activate(s, options);
	/* A dry run does not finish this, so the resulting set is unknown here. */
	say(s->ctx, "Would finish what convert or revert left of %s, and activate what is a set.", s->name);
	return EXIT_DONE;
}

/*
 * The members of a set appear all at once, and each of them calls: a second call waits and finds
 * the set active.
 */
static int auto_activate(struct tier_context *ctx, const u8 *uuid, const struct activation *options)
{
	struct set_list list;
	char hex[UUID_HEX];
	int code = EXIT_DONE, lock;
	struct set *s;

	uuid_to_hex(hex, uuid);
	if (!lock_in_time(ctx, hex, hex, "activate", &lock))
		return EXIT_FAILED;
	/* A hanging device of another set must not delay a complete set. */
	sets_load_for(ctx, &list, hex);
	s = sets_find(&list, hex);
	if (!s || !complete(s)) {
		sets_free(&list);
		sets_load(ctx, &list, true);
		s = sets_find(&list, hex);
	}
	if (s)
		code = activate_or_finish(s, options);
	sets_free(&list);
	if (lock >= 0)
		close(lock);
	return code;
}

int activate_auto_named(struct tier_context *ctx, const char *name, const struct activation *options)
{
	int code = EXIT_DONE;
	struct set_list list;
	struct device d;
	struct member m;
	struct set *s;

	if (!device_from_name(name, &d)) {
		/*
		 * Without a time limit: the device belongs to this set, and nobody comes back
		 * for a slow device.
		 */
		member_read(&d, &m);
		device_free(&d);
		if (m.kind == MEMBER_METADATA || m.kind == MEMBER_TIER)
			code = auto_activate(ctx, member_set_uuid(&m), options);
		member_free(&m);
		return code;
	}
	sets_load(ctx, &list, true);
	s = sets_need(&list, name);
	code = s ? auto_activate(ctx, s->uuid, options) : EXIT_FAILED;
	sets_free(&list);
	return code;
}

int activate_auto_all(struct tier_context *ctx, const struct activation *options)
{
	int code = EXIT_DONE;
	struct set_list list;
	unsigned int i;

	sets_load(ctx, &list, true);
	for (i = 0; i < list.nr; i++)
		code = worse_exit_code(code, auto_activate(ctx, list.set[i].uuid, options));
	sets_free(&list);
	return code;
}
