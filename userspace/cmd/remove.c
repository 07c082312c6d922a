// SPDX-License-Identifier: GPL-2.0-only
/* remove, replace */
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "block/device.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/table.h"
#include "format/geometry.h"
#include "lvm/lvm-part.h"
#include "lvm/lvm.h"
#include "ops/reshape.h"
#include "set/candidate.h"
#include "set/member.h"
#include "set/message.h"
#include "set/reserved.h"
#include "set/scan.h"
#include "set/set.h"
#include "set/tier.h"
#include "set/wipe.h"

static int clean(struct set *s, const struct device *d)
{
	int code = reshape_clean_device(s, d);

	if (!code && !s->ctx->dry_run)
		say(s->ctx, "%s: %s is out of it and free.", s->name, d->name);
	return code;
}

/*
 * Whether the device is a volume made for the set, or given to it, that is none of its tiers;
 * -1: LVM cannot tell.
 */
static int is_fast(const struct set *s, const struct device *d, bool *made)
{
	struct lvm_parts fast;
	bool found = false;
	unsigned int i;

	if (set_rank_of_device(s, d->dev) >= 0 || !device_is_volume(d->dev))
		return false;
	if (lvm_list_fast(s->ctx, s->hex, &fast))
		return -1;
	for (i = 0; i < fast.nr && !found; i++) {
		found = !strcmp(fast.part[i].name, d->name);
		*made = lvm_was_made(&fast.part[i]);
	}
	lvm_parts_free(&fast);
	return found;
}

/*
 * Finishes a call that was interrupted after the tier had left: -1 if d is no such device, else
 * an exit code.
 */
static int finish_device(struct set *s, const struct device *d)
{
	struct member m;
	bool left, made;
	char *foreign;
	int fast;

	member_read(d, &m);
	left = candidate_is_leftover(s, &m);
	member_free(&m);
	if (left)
		return clean(s, d);
	fast = is_fast(s, d, &made);
	if (fast <= 0)
		return fast ? EXIT_FAILED : -1;
	foreign = candidate_foreign(s, d);
	if (!foreign)
		return clean(s, d);
	if (made)
		err(s->ctx, ERR_UNSUITABLE,
		    "%s: is none of the tiers of %s, but carries %s, so it stays. To remove it: lvremove %s",
		    d->name, s->name, foreign, d->name);
	else
		err(s->ctx, ERR_UNSUITABLE,
		    "%s: is none of the tiers of %s, but carries %s, so it stays. To remove it from %s: lvchange --deltag " LVM_TAG ".set=%s %s",
		    d->name, s->name, foreign, s->name, s->hex, d->name);
	free(foreign);
	return EXIT_FAILED;
}

/* A volume that somebody else uses by now is no remains of a removal. */
static int finish_volume(struct set *s, const struct lvm_part *p, const struct device *d)
{
	char *usage = device_usage(d);
	char *foreign = usage ? NULL : candidate_foreign(s, d);
	bool free_now = !usage && !foreign;

	if (!free_now)
		warn(s->ctx, "%s: was %s for %s, and stays: %s%s. To remove it from %s: lvchange --deltag "
		     LVM_TAG ".set=%s %s", d->name, lvm_was_made(p) ? "made" : "given", s->name, usage ? "" : "carries ", usage ? usage : foreign,
		     s->name, s->hex, d->name);
	free(usage);
	free(foreign);
	return free_now ? clean(s, d) : -1;
}

/* The device may be a copy of a former tier, which somebody keeps. */
static bool agreed(const struct set *s, const struct member *m)
{
	return s->ctx->dry_run ||
	       ask(s->ctx,
		   "%s: %s was tier id %u of it (generation %llu) and has its label still; to take out another tier name its device. Wipe that label?",
		   s->name, m->dev.name, m->label.id, (unsigned long long)m->label.generation);
}

/* Finishes devices that still have a label. As clean(), -1 if there is none. */
static int finish_tiers(struct set *s)
{
	struct member_list members;
	unsigned int i;
	int code = -1;

	members_scan(s->ctx, &members, false);
	for (i = 0; i < members.nr && code <= 0; i++) {
		const struct member *m = &members.member[i];

		if (candidate_is_leftover(s, m))
			code = agreed(s, m) ? clean(s, &m->dev) : EXIT_FAILED;
	}
	members_free(&members);
	return code;
}

/*
 * When the tier is out, its rank belongs to another tier. So a rank is not taken literally while
 * a removal is unfinished. code is the result of finish_tiers().
 */
static int finish_volumes(struct set *s, int code)
{
	struct lvm_parts fast;
	unsigned int i;
	struct device d;

	if (lvm_list_fast(s->ctx, s->hex, &fast))
		return EXIT_FAILED;
	for (i = 0; i < fast.nr && code <= 0; i++) {
		if (device_from_name(fast.part[i].name, &d))
			continue;
		if (set_rank_of_device(s, d.dev) < 0) {
			int r = finish_volume(s, &fast.part[i], &d);

			code = r < 0 ? code : r;
		}
		device_free(&d);
	}
	lvm_parts_free(&fast);
	return code;
}

static int no_such_tier(const struct set *s, const char *word)
{
	err(s->ctx, ERR_NOT_FOUND, "%s: %s is none of its tiers. tierctl status %s names them.", s->name,
	    word, s->name);
	return EXIT_FAILED;
}

static int admit(struct set *s, unsigned int rank)
{
	if (send_message(s, "admit %u", rank))
		return EXIT_FAILED;
	if (!s->ctx->dry_run)
		say(s->ctx, "%s: tier %u stays, and is in use again.", s->name, rank);
	return EXIT_DONE;
}

static int undo_remove(struct set *s, const char *word)
{
	int rank = set_rank_of_word(s, word);

	if (rank < 0)
		return no_such_tier(s, word);
	if (s->tier[rank].state != 'E') {
		say(s->ctx, "%s: tier %d is not on its way out.", s->name, rank);
		return EXIT_DONE;
	}
	return admit(s, rank);
}

/* Fills in *tier, and returns EXIT_DONE, if there is a tier to take out. */
static int start_remove(const struct args *args, struct set *s, struct device *tier)
{
	const char *word = args->word[1];
	struct device d;
	int rank, tiers, code = -1;
	uint64_t n;

	if (!parse_number(word, &n)) {
		tiers = finish_tiers(s);
		code = finish_volumes(s, tiers);
		if (code == EXIT_DONE && tiers == EXIT_DONE) {
			say(args->ctx,
			    "%s: this finished an earlier call that was interrupted. To take out tier %s, call again.",
			    s->name, word);
		} else if (code == EXIT_DONE) {
			/*
			 * An add may have left such a volume as well, and then this tier was
			 * meant.
			 */
			err(args->ctx, ERR_UNFINISHED,
			    "%s: only a volume that an earlier call left was removed. To take out tier %s, call again.",
			    s->name, word);
			code = EXIT_FAILED;
		}
	}
	if (code < 0) {
		rank = set_rank_of_word(s, word);
		if (rank >= 0) {
			device_copy(tier, &s->tier[rank].dev);
			return EXIT_DONE;
		}
		if (parse_number(word, &n) && !device_from_name(word, &d)) {
			code = finish_device(s, &d);
			device_free(&d);
		}
	}
	return code < 0 ? no_such_tier(s, word) : code;
}

int cmd_remove(const struct args *args)
{
	struct set_list list;
	struct set *s = need_changeable(args->ctx, &list, args->word[0]);
	int code = EXIT_FAILED;
	struct device tier = { 0 };
	char *again, *back;

	if (s && args->given[OPT_ABORT])
		code = undo_remove(s, args->word[1]);
	else if (s)
		code = start_remove(args, s, &tier);
	sets_free(&list);
	if (code || !tier.name)
		return code;
	/* By then the rank may belong to another tier. */
	again = xasprintf("tierctl remove %s %s", args->word[0], tier.name);
	back = xasprintf("tierctl remove --abort %s %s", args->word[0], tier.name);
	code = reshape_take_out(args->ctx, args->word[0], tier.dev, args->given[OPT_BACKGROUND], again, back);
	free(again);
	free(back);
	device_free(&tier);
	return code;
}

/*
 * replace: the new device becomes the tier right behind the old one. So the old tier keeps its
 * rank until it is out, and an evacuation, which prefers the next slower tier, fills the new
 * one.
 */

struct replacement {
	struct set_list list;
	struct set *s;
	const char *old_word;
	int old;		/* rank or -1 */
	struct candidate new;
	int new_rank;		/* or -1 */
	bool leftover;
};

static bool check_new(struct replacement *r)
{
	struct candidate *d = &r->new;
	uint64_t places;
	char a[SIZE_TEXT], b[SIZE_TEXT];
	struct member m;

	if (!candidate_usable(d, &r->list, r->s->dm.dev))
		return false;
	places = set_joining_places(r->s, d->dev.size);
	if (!places) {
		err(r->s->ctx, ERR_UNSUITABLE,
		    "%s: is too small (%s) for a chunk of %s beside the label.", d->typed,
		    format_size(a, d->dev.size), format_size(b, r->s->chunk_sectors * SECTOR_SIZE));
		return false;
	}
	if (!candidate_blocks_fit(r->s->ctx, d, r->s->name, r->s->info.logical_block_size, "; it cannot join"))
		return false;
	if (r->s->nr_tiers == TIER_MAX_TIERS) {
		err(r->s->ctx, ERR_NO_SPACE,
		    "%s: has %u tiers, and more cannot be, not even for a while.", r->s->name,
		    r->s->nr_tiers);
		return false;
	}
	if (!check_room(r->s, r->old, places, "replace") || !reshape_has_metadata(r->s, true) ||
	    !reshape_may_release(r->s, &r->s->tier[r->old].dev))
		return false;
	member_read(&d->dev, &m);
	r->leftover = candidate_is_leftover(r->s, &m);
	member_free(&m);
	return r->leftover || candidate_look_inside(r->s->ctx, d, false);
}

/* The rest of a dry run, as the set has not changed. */
static int say_way_out(struct set *s, struct table *t, unsigned int rank)
{
	send_message(s, "evacuate %u", rank);
	say(s->ctx, "Would wait until tier %u is empty.", rank);
	table_drop(t, rank);
	reshape_reload(s, t, s->dm.length, "drop");
	return reshape_clean_device(s, &s->tier[rank].dev);
}

static int add_new(struct replacement *r)
{
	struct candidate *d = &r->new;
	struct table t;
	char *number;
	int failed;

	if (!check_new(r))
		return EXIT_FAILED;
	if (d->carries && r->s->ctx->dry_run)
		say(r->s->ctx, "Would wipe %s (%s).", d->typed, d->carries);
	if (d->carries && !r->s->ctx->dry_run && !ask(r->s->ctx, "Wipe %s (%s)?", d->typed, d->carries))
		return EXIT_FAILED;
	if (!reserved_join(r->s, &d->dev))
		return EXIT_FAILED;
	if (!r->s->ctx->dry_run && (r->leftover ? wipe_labels(r->s->ctx, &d->dev, r->s->uuid) :
				    wipe_candidate(r->s->ctx, d, r->s->chunk_sectors))) {
		reserved_drop_disk(r->s, &d->dev);
		return EXIT_FAILED;
	}
	number = xasprintf("%u:%u", major(d->dev.dev), minor(d->dev.dev));
	reshape_table(r->s, &t);
	table_insert(&t, r->old + 1, number);
	failed = reshape_reload(r->s, &t, r->s->dm.length, "add");
	if (failed && !r->s->ctx->dry_run)
		reserved_drop_disk(r->s, &d->dev);
	if (!failed && r->s->ctx->dry_run) {
		say_way_out(r->s, &t, r->old);
	} else if (!failed) {
		say(r->s->ctx, "%s: %s added as tier %d, which becomes %d.", r->s->name, d->dev.name,
		    r->old + 1, r->old);
	}
	table_free(&t);
	free(number);
	return failed ? EXIT_FAILED : EXIT_DONE;
}

/*
 * A tier that is being emptied, or -1. Its old name may by now belong to another device, or to
 * none, so this tier may be the one that is meant.
 */
static int emptied(const struct set *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].state == 'E')
			return i;
	return -1;
}

/*
 * The old device is no tier, or has the rank of the new one: does the last steps, if any are
 * left.
 */
static int finish_replace(struct replacement *r)
{
	struct set *s = r->s;
	struct device d;
	int code, rank;
	uint64_t n;

	if (!parse_number(r->old_word, &n)) {
		code = finish_volumes(s, finish_tiers(s));
	} else if (device_from_name(r->old_word, &d)) {
		code = -1;
	} else {
		code = finish_device(s, &d);
		device_free(&d);
	}
	rank = code < 0 ? emptied(s) : -1;
	if (rank >= 0) {
		const char *old = s->tier[rank].dev.name;
		bool in_front = rank + 1 == r->new_rank;

		err(r->s->ctx, ERR_BUSY,
		    "%s: tier %d (%s) is being emptied, and %s is no name of it. If that is the one: tierctl %s %s %s%s%s",
		    s->name, rank, old, r->old_word, in_front ? "replace" : "remove", s->name, old,
		    in_front ? " " : "", in_front ? r->new.typed : "");
		return EXIT_FAILED;
	}
	if (code <= 0)
		say(r->s->ctx, "%s: %s is tier %d of it, in the place of the old one.", s->name,
		    r->new.dev.name, r->new_rank);
	return code < 0 ? EXIT_DONE : code;
}

/* 0: the old tier can be emptied now; -1: nothing is left to do. */
static int start_replace(struct replacement *r)
{
	struct set *s = r->s;

	if (r->old >= 0 && r->old != r->new_rank && !reshape_may_go(s, r->old))
		return EXIT_FAILED;
	if (r->new_rank < 0) {
		if (r->old < 0)
			return no_such_tier(s, r->old_word);
		return add_new(r);
	}
	if (r->old < 0 || r->old == r->new_rank) {
		int code = finish_replace(r);

		return code ? code : -1;
	}
	if (r->new_rank != r->old + 1) {
		const char *old = s->tier[r->old].dev.name;

		err(r->s->ctx, ERR_EXISTS,
		    "%s: %s is tier %d of it already. To take %s out: tierctl remove %s %s", s->name,
		    r->new.typed, r->new_rank, old, s->name, old);
		return EXIT_FAILED;
	}
	say(r->s->ctx, "%s: %s is tier %d already; going on.", s->name, r->new.dev.name, r->new_rank);
	/* An --abort was interrupted. */
	return s->tier[r->new_rank].state == 'E' ? admit(s, r->new_rank) : EXIT_DONE;
}

/*
 * In one direction or, with --abort, the other. By then the rank of the old tier may belong to
 * another tier.
 */
static int take_out(const struct args *args, dev_t dev, const char *old, bool abort)
{
	const char *const *w = args->word;
	char *there = xasprintf("tierctl replace %s %s %s", w[0], old, w[2]);
	char *back = xasprintf("tierctl replace --abort %s %s %s", w[0], old, w[2]);
	int code = reshape_take_out(args->ctx, w[0], dev, args->given[OPT_BACKGROUND], abort ? back : there,
				    abort ? there : back);

	free(there);
	free(back);
	return code;
}

/* Backwards: the old tier is used again, the new tier is emptied and taken out. */
static int undo_replace(const struct args *args, struct replacement *r)
{
	struct set *s = r->s;
	int code = EXIT_DONE, rank;
	struct member m;
	struct table t;
	uint64_t n;
	bool left;

	if (r->new_rank < 0) {
		member_read(&r->new.dev, &m);
		left = candidate_is_leftover(s, &m);
		member_free(&m);
		if (left)
			return reshape_clean_device(s, &r->new.dev);
		rank = emptied(s);
		if (rank >= 0) {
			const char *old = s->tier[rank].dev.name;

			err(args->ctx, ERR_BUSY,
			    "%s: %s is none of its tiers, but tier %d (%s) is being emptied. To stop that: tierctl remove --abort %s %s",
			    s->name, r->new.typed, rank, old, s->name, old);
			return EXIT_FAILED;
		}
		say(args->ctx, "%s: nothing to undo.", s->name);
		return EXIT_DONE;
	}
	if (r->old < 0 || r->old + 1 != r->new_rank) {
		bool number = !parse_number(r->old_word, &n);

		/* The rank belongs to the new tier by now. */
		err(args->ctx, ERR_EXISTS,
		    "%s: %s%s has been replaced by %s. To go back: tierctl replace %s %s %s", s->name,
		    number ? "tier " : "", r->old_word, r->new.typed, s->name, r->new.typed,
		    number ? "DEV, which is the old device" : r->old_word);
		return EXIT_FAILED;
	}
	if (s->tier[r->old].state == 'E') {
		code = admit(s, r->old);
		if (!code && args->ctx->dry_run) {
			reshape_table(s, &t);
			code = say_way_out(s, &t, r->new_rank);
			table_free(&t);
			return code;
		}
	} else if (s->tier[r->new_rank].state != 'E' && !args->ctx->dry_run &&
		   /* The call may have been interrupted before either tier was being emptied. */
		   !ask(args->ctx,
			"%s: no replacement is under way. Empty tier %d (%s) and take it out all the same?",
			s->name, r->new_rank, r->new.dev.name)) {
		code = EXIT_FAILED;
	}
	if (code)
		return code;
	return take_out(args, r->new.dev.dev, s->tier[r->old].dev.name, true);
}

/* A rank may mean a device that an earlier call has put there. */
static bool differ(const struct replacement *r)
{
	struct device old;
	bool same;

	if (device_from_name(r->old_word, &old))
		return true;
	same = old.dev == r->new.dev.dev;
	device_free(&old);
	if (same)
		err(r->s->ctx, ERR_USAGE, "%s: cannot be put in its own place.", r->new.typed);
	return !same;
}

int cmd_replace(const struct args *args)
{
	struct replacement r = { .old_word = args->word[1], .new.typed = args->word[2] };
	int code = EXIT_FAILED;
	struct device old = { 0 };

	r.s = need_changeable(args->ctx, &r.list, args->word[0]);
	if (r.s && candidate_find(args->ctx, &r.new) && differ(&r)) {
		r.old = set_rank_of_word(r.s, r.old_word);
		r.new_rank = set_rank_of_device(r.s, r.new.dev.dev);
		code = args->given[OPT_ABORT] ? undo_replace(args, &r) : start_replace(&r);
		if (!code && !args->given[OPT_ABORT] && (!args->ctx->dry_run || r.new_rank >= 0))
			device_copy(&old, &r.s->tier[r.old].dev);
	}
	candidate_free(&r.new);
	sets_free(&r.list);
	if (!code && old.name)
		code = take_out(args, old.dev, old.name, false);
	device_free(&old);
	return code < 0 ? EXIT_DONE : code;
}
