// SPDX-License-Identifier: GPL-2.0-only
/* add */
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/context.h"
#include "base/size.h"
#include "base/step.h"
#include "base/util.h"
#include "block/device.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/table.h"
#include "format/geometry.h"
#include "lvm/lvm-check.h"
#include "lvm/lvm-part.h"
#include "lvm/lvm.h"
#include "ops/reshape.h"
#include "set/candidate.h"
#include "set/member.h"
#include "set/reserved.h"
#include "set/set.h"
#include "set/tier.h"
#include "set/wipe.h"

struct addition {
	struct set_list list;
	struct set *s;
	unsigned int rank;
	struct candidate new;	/* without dev, if the volume is still to be made */
	bool leftover;		/* the device carries a label that is worth nothing */
	uint64_t size;		/* bytes, of a volume to make */
	bool have_volume;	/* the volume is there already */
	struct lvm_volume volume;
};

static int parse_arguments(const struct args *args, struct addition *a)
{
	bool lvm = args->given[OPT_PV] || args->given[OPT_SIZE];
	int r;

	if (args->given[OPT_PV] != args->given[OPT_SIZE]) {
		err(args->ctx, ERR_USAGE, "add: --size and --pv go together.");
		return EXIT_USAGE;
	}
	if (lvm == (args->nr > 1)) {
		err(args->ctx, ERR_USAGE, "add: say what to add: DEV, or --size SIZE --pv PV.");
		return EXIT_USAGE;
	}
	if (args->given[OPT_NAME] && !lvm) {
		err(args->ctx, ERR_USAGE, "add: --name is for the logical volume of --size and --pv.");
		return EXIT_USAGE;
	}
	if (!lvm) {
		a->new.typed = args->word[1];
		return 0;
	}
	r = parse_size(args->value[OPT_SIZE], &a->size);
	if (r || !a->size) {
		err(args->ctx, ERR_USAGE, "add: --size %s %s.", args->value[OPT_SIZE],
		    r ? size_error(r) : "is nothing");
		return EXIT_USAGE;
	}
	return 0;
}

static bool choose_rank(const struct args *args, struct addition *a)
{
	const char *text = args->value[OPT_AT];
	uint64_t n;

	a->rank = a->s->nr_tiers;
	if (!args->given[OPT_AT])
		return true;
	if (parse_number(text, &n) || n > a->s->nr_tiers) {
		err(args->ctx, ERR_USAGE, "%s: --at %s: a tier can be added at 0 to %u.", a->s->name,
		    text, a->s->nr_tiers);
		return false;
	}
	a->rank = n;
	return true;
}

static bool takes_another(const struct set *s)
{
	if (s->nr_tiers < TIER_MAX_TIERS)
		return reshape_has_metadata(s, false);
	err(s->ctx, ERR_NO_SPACE, "%s: has %u tiers, and more cannot be.", s->name, s->nr_tiers);
	return false;
}

static bool check_size(const struct addition *a, const char *name, uint64_t size)
{
	char x[SIZE_TEXT], y[SIZE_TEXT];

	if (set_joining_places(a->s, size))
		return true;
	err(a->s->ctx, ERR_UNSUITABLE, "%s: is too small (%s) for a chunk of %s beside the label.", name,
	    format_size(x, size), format_size(y, a->s->chunk_sectors * SECTOR_SIZE));
	return false;
}

/* All reasons against a device, before anything is changed. */
static bool check_device(struct addition *a)
{
	struct candidate *d = &a->new;
	struct member m;

	if (!candidate_usable(d, &a->list, a->s->dm.dev) || !check_size(a, d->typed, d->dev.size))
		return false;
	if (!candidate_blocks_fit(a->s->ctx, d, a->s->name, a->s->info.logical_block_size, "; it cannot join"))
		return false;
	member_read(&d->dev, &m);
	a->leftover = candidate_is_leftover(a->s, &m);
	member_free(&m);
	return a->leftover || candidate_look_inside(a->s->ctx, d, false);
}

/* Finds a volume that an earlier call made, or would have used. */
static bool find_volume(const struct args *args, struct addition *a)
{
	const char *name = args->given[OPT_NAME] ? args->value[OPT_NAME] : NULL;
	struct lvm_parts made;
	unsigned int i;
	struct device d;

	if (lvm_list_fast(args->ctx, a->s->hex, &made))
		return false;
	for (i = 0; i < made.nr && !a->have_volume; i++) {
		const struct lvm_part *p = &made.part[i];
		bool tier;

		if (!lvm_was_made(p) || device_from_name(p->name, &d))
			continue;
		tier = set_rank_of_device(a->s, d.dev) >= 0;
		/*
		 * A volume of that name is the right one; without a name, a volume of that size
		 * that is no tier yet.
		 */
		if (name ? !strcmp(name, p->lv) : !tier && p->size == lvm_whole_extents(p, a->size)) {
			a->have_volume = true;
			a->volume.vg = xstrdup(p->vg);
			a->volume.lv = xstrdup(p->lv);
			a->volume.size = p->size;
		}
		device_free(&d);
	}
	lvm_parts_free(&made);
	return true;
}

static void say_order(const struct addition *a, const char *name, uint64_t size)
{
	char text[SIZE_TEXT];
	unsigned int i, old = 0;

	for (i = 0; i <= a->s->nr_tiers; i++) {
		bool new = i == a->rank;
		const struct set_tier *t = new ? NULL : &a->s->tier[old++];

		say(a->s->ctx, "  tier %u  %s  %s%s%s", i, new ? name : t->dev.name,
		    format_size(text, new ? size : t->size), new ? "  (new)" : "",
		    !i ? "  (fastest)" : i == a->s->nr_tiers ? "  (slowest)" : "");
	}
}

static bool agree(const struct args *args, const struct addition *a)
{
	if (a->new.carries) {
		if (args->ctx->dry_run)
			say(args->ctx, "Would wipe %s (%s).", a->new.typed, a->new.carries);
		else if (!ask(args->ctx, "Wipe %s (%s)?", a->new.typed, a->new.carries))
			return false;
	}
	return args->given[OPT_AT] || args->ctx->dry_run ||
	       ask(args->ctx, "Add it in this order to %s?", a->s->name);
}

static int load_table(struct addition *a, const char *device)
{
	char text[SIZE_TEXT];
	struct table t;
	int r;

	reshape_table(a->s, &t);
	table_insert(&t, a->rank, device);
	r = reshape_reload(a->s, &t, a->s->dm.length, "add");
	table_free(&t);
	if (!r && !a->s->ctx->dry_run)
		say(a->s->ctx,
		    "%s: tier %u added. The set is as large as before (%s); to use all of it: tierctl resize %s",
		    a->s->name, a->rank, format_size(text, a->s->dm.length * SECTOR_SIZE), a->s->name);
	return r ? EXIT_FAILED : EXIT_DONE;
}

static int add_device(const struct args *args, struct addition *a)
{
	int code = EXIT_FAILED, rank;
	char *number;

	rank = set_rank_of_device(a->s, a->new.dev.dev);
	if (rank >= 0 && (!args->given[OPT_AT] || rank == (int)a->rank)) {
		say(args->ctx, "%s: %s is tier %d of it.", a->s->name, a->new.dev.name, rank);
		return EXIT_DONE;
	}
	if (!takes_another(a->s) || !check_device(a))
		return EXIT_FAILED;
	say_order(a, a->new.dev.name, a->new.dev.size);
	if (!agree(args, a) || !reserved_join(a->s, &a->new.dev))
		return EXIT_FAILED;
	if (a->leftover && args->ctx->dry_run)
		say(args->ctx, "Would wipe the old label on %s.", a->new.dev.name);
	if (args->ctx->dry_run || !(a->leftover ? wipe_labels(args->ctx, &a->new.dev, a->s->uuid) :
				    wipe_candidate(args->ctx, &a->new, a->s->chunk_sectors))) {
		step_reached("add", "wiped");
		number = xasprintf("%u:%u", major(a->new.dev.dev), minor(a->new.dev.dev));
		code = load_table(a, number);
		free(number);
	}
	if (code && !args->ctx->dry_run)
		reserved_drop_disk(a->s, &a->new.dev);
	return code;
}

/* Volumes are named after the converted volume, if there is one. */
static const char *name_for_parts(const struct set *s)
{
	const char *slash = s->lv ? strrchr(s->name, '/') : NULL;

	return slash ? slash + 1 : s->dm_name;
}

static bool check_volume(const struct addition *a)
{
	struct lvm_steps steps = { .ctx = a->s->ctx, .set = a->s->name, .by_option = true };

	lvm_steps_make(&steps, a->volume.vg, a->volume.lv, false);
	return lvm_steps_possible(&steps);
}

static int add_volume(const struct args *args, struct addition *a)
{
	const char *lv_name_wanted = args->given[OPT_NAME] ? args->value[OPT_NAME] : NULL;
	char *name = NULL, *path;
	int code = EXIT_FAILED;

	if (!find_volume(args, a))
		return EXIT_FAILED;
	if (a->have_volume) {
		name = lvm_name(&a->volume);
		a->new.typed = name;
		if (candidate_find_made(args->ctx, &a->new))
			code = add_device(args, a);
		goto out;
	}
	if (!takes_another(a->s) || !check_size(a, "add", a->size) || !reserved_join(a->s, NULL) ||
	    !candidate_pv_apart(args->ctx, args->value[OPT_PV], a->s->dm.dev) ||
	    !lvm_plan(args->ctx, args->value[OPT_PV], "VG", a->size, name_for_parts(a->s), lv_name_wanted, &a->volume) ||
	    !check_volume(a))
		goto out;
	name = lvm_name(&a->volume);
	a->new.typed = name;
	say_order(a, name, a->volume.size);
	if (!agree(args, a) || lvm_create(args->ctx, &a->volume, args->value[OPT_PV], a->s->hex))
		goto out;
	step_reached("add", "volume");
	if (args->ctx->dry_run) {
		path = xasprintf("/dev/%s", name);
		code = load_table(a, path);
		free(path);
		goto out;
	}
	/* Old data may have left a label in places that LVM does not check. */
	if (candidate_find_made(args->ctx, &a->new) && !wipe_all(args->ctx, &a->new.dev, a->s->chunk_sectors) && check_device(a)) {
		path = xasprintf("%u:%u", major(a->new.dev.dev), minor(a->new.dev.dev));
		code = load_table(a, path);
		free(path);
	}
	if (code)
		warn(args->ctx, "%s: %s stays. To remove it: the same command with --abort", a->s->name, name);
out:
	a->new.typed = NULL;
	free(name);
	return code;
}

/* Removes the remains of an interrupted call: a label, a volume. */
static int undo(const struct args *args, struct addition *a)
{
	struct set *s = a->s;
	char *name = NULL, *foreign = NULL;
	int rank = -1, code = EXIT_DONE;
	struct member m;

	if (args->nr < 2) {
		if (!find_volume(args, a))
			return EXIT_FAILED;
		if (!a->have_volume) {
			say(args->ctx, "%s: nothing to undo.", s->name);
			return EXIT_DONE;
		}
		name = lvm_name(&a->volume);
		a->new.typed = name;
	}
	if (!(name ? candidate_find_made(args->ctx, &a->new) : candidate_find(args->ctx, &a->new))) {
		code = EXIT_FAILED;
	} else {
		rank = set_rank_of_device(s, a->new.dev.dev);
		member_read(&a->new.dev, &m);
		if (name && rank < 0)
			foreign = candidate_foreign(s, &a->new.dev);
		if (rank >= 0) {
			err(args->ctx, ERR_EXISTS,
			    "%s: %s is tier %d of it by now. To take it out: tierctl remove %s %s",
			    s->name, a->new.dev.name, rank, s->name, a->new.dev.name);
			code = EXIT_FAILED;
		} else if (foreign) {
			err(args->ctx, ERR_UNSUITABLE,
			    "%s: carries %s, so it stays. To remove it: lvremove %s", name, foreign,
			    name);
			code = EXIT_FAILED;
		} else if (name || candidate_is_leftover(s, &m)) {
			code = reshape_clean_device(s, &a->new.dev);
			if (!code && !args->ctx->dry_run)
				say(args->ctx, "%s: %s is no part of it.", s->name, a->new.dev.name);
		} else {
			say(args->ctx, "%s: nothing to undo.", s->name);
		}
		member_free(&m);
	}
	a->new.typed = NULL;
	free(name);
	free(foreign);
	return code;
}

int cmd_add(const struct args *args)
{
	struct addition a = { 0 };
	int code = parse_arguments(args, &a);

	if (code)
		return code;
	code = EXIT_FAILED;
	a.s = need_changeable(args->ctx, &a.list, args->word[0]);
	if (!a.s || !choose_rank(args, &a))
		goto out;
	if (args->given[OPT_ABORT])
		code = undo(args, &a);
	else if (args->nr < 2)
		code = add_volume(args, &a);
	else if (candidate_find(args->ctx, &a.new))
		code = add_device(args, &a);
out:
	candidate_free(&a.new);
	lvm_volume_free(&a.volume);
	sets_free(&a.list);
	return code;
}
