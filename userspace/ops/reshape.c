// SPDX-License-Identifier: GPL-2.0-only
#include "ops/reshape.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/step.h"
#include "base/util.h"
#include "dm-tier/metadata/space.h"
#include "format/metadata.h"
#include "lvm/lvm-check.h"
#include "lvm/lvm-part.h"
#include "ops/mirrored.h"
#include "ops/parts.h"
#include "ops/wait.h"
#include "set/candidate.h"
#include "set/find.h"
#include "set/lock.h"
#include "set/message.h"
#include "set/reserved.h"
#include "set/tier.h"
#include "set/wipe.h"

/* Another program may open a device that has just become free. */
#define FREE_TRIES	30
#define FREE_MS		100

/*
 * Tables
 */

void reshape_table(const struct set *s, struct table *t)
{
	const struct status *st = &s->status;
	unsigned int i;

	memset(t, 0, sizeof(*t));
	t->metadata = xstrdup(s->table.metadata);
	t->chunk_sectors = s->table.chunk_sectors;
	t->policy = xstrdup(s->table.policy);
	for (i = 0; i < s->table.nr_tiers; i++)
		t->tier[t->nr_tiers++] = xstrdup(s->table.tier[i]);
	strings_add_all(&t->features, &st->features);
	for (i = 0; i < s->table.core.nr + s->table.policy_args.nr; i++) {
		bool core = i < s->table.core.nr;
		const struct pair *p = core ? &s->table.core.pair[i] :
				       &s->table.policy_args.pair[i - s->table.core.nr];
		const char *now = status_tunable(st, p->key);

		if (now && !strcmp(now, p->value))
			pairs_add(core ? &t->core : &t->policy_args, p->key, p->value);
	}
}

/*
 * Changing the table
 */

/* Puts back a table, after the kernel failed to change to another one. */
static int put_back(const struct set *s, const char *params, uint64_t length, char **reason)
{
	int r = dm_load(s->dm.name, length, params, s->dm.read_only, reason);

	return r ? r : dm_resume(s->dm.name, reason);
}

static int load_and_resume(const struct set *s, const char *params, uint64_t length, const char *what)
{
	char *reason, *worse = NULL;
	struct stillness before;
	int r;

	if (dm_load(s->dm.name, length, params, s->dm.read_only, &reason)) {
		err(s->ctx, ERR_KERNEL_REFUSED,
		    "%s: %s: the kernel refused it: %s. The set is as it was.", s->name, what, reason);
		free(reason);
		return -1;
	}
	step_reached(what, "loaded");
	/* A failure leaves the set suspended, and all devices that lie on it. */
	quiet_begin(s->ctx, &before);
	r = dm_resume(s->dm.name, &reason);
	if (r) {
		step_reached(what, "failed");
		put_back(s, s->dm.table, s->dm.length, &worse);
	}
	quiet_end(s->ctx, &before);
	if (!r)
		return 0;

	err(s->ctx, ERR_KERNEL_REFUSED, "%s: %s: the kernel could not do it: %s.", s->name, what, reason);
	if (worse)
		err(s->ctx, ERR_KERNEL_REFUSED,
		    "%s: cannot be put back: %s. It is suspended: I/O to it waits.", s->name, worse);
	free(worse);
	free(reason);
	return -1;
}

bool reshape_has_metadata(const struct set *s, bool drops)
{
	uint64_t entries = TIER_SMALL_BATCH;
	char *way_out;

	/* The pins to a tier are dropped with it. */
	if (drops && s->status.pinned > entries)
		entries = s->status.pinned;
	if (!s->status.held || !status_metadata_short(&s->status, entries))
		return true;
	way_out = set_is_dumped(s->hex) ? xstrdup("Wait until the dump or check that has it is done.") :
		  xasprintf("Release it: dmsetup message %s 0 release_metadata_snap", s->dm_name);
	err(s->ctx, ERR_NO_SPACE,
	    "%s: its metadata device has no room for that beside a metadata snapshot. %s", s->name,
	    way_out);
	free(way_out);
	return false;
}

int reshape_reload(const struct set *s, const struct table *t, uint64_t length, const char *what)
{
	char *params;
	int r = -1;

	if (!reshape_has_metadata(s, t->nr_tiers < s->nr_tiers))
		return r;
	params = table_build(t);
	verbose(s->ctx, "table: 0 %llu tier %s", (unsigned long long)length, params);
	if (s->ctx->dry_run) {
		say(s->ctx, "Would load the table:\n0 %llu tier %s", (unsigned long long)length, params);
		free(params);
		return 0;
	}
	if (set_unchanged(s))
		r = load_and_resume(s, params, length, what);
	free(params);
	if (!r)
		step_reached(what, "done");
	return r;
}

/* Putting a set in order */

/* NULL also if two devices have a label of this tier: one is a copy. */
static const struct member *member_of(const struct member_list *list, const u8 *tier_uuid)
{
	const struct member *found = NULL;
	unsigned int i;

	for (i = 0; i < list->nr; i++) {
		if (list->member[i].kind != MEMBER_TIER ||
		    memcmp(list->member[i].label.tier_uuid, tier_uuid, TIER_UUID_SIZE))
			continue;
		if (found)
			return NULL;
		found = &list->member[i];
	}
	return found;
}

/*
 * A table that was loaded and never made the live one holds its devices and keeps a tier from
 * being admitted. The live table is loaded in its place. It is not cleared: dm-ima of 6.1, and
 * maybe later, then has two pointers to one buffer; a rename frees it, and the next load frees
 * it again. False with the error said.
 */
static bool forget_loaded(const struct set *s)
{
	if (!s->dm.table_waits || s->ctx->dry_run)
		return true;
	if (!set_unchanged(s) || load_and_resume(s, s->dm.table, s->dm.length, "forget"))
		return false;
	say(s->ctx, "%s: a table that was loaded and not used is forgotten.", s->name);
	return true;
}

/* The table that belongs to the metadata and the labels. */
static bool table_from_records(struct set *s, struct table *t)
{
	struct tier_meta_tier records[TIER_MAX_TIERS];
	struct member_list members;
	unsigned int i, nr;
	bool good = true;

	memset(t, 0, sizeof(*t));
	if (set_read_records(s, records, &nr))
		return false;
	members_scan(s->ctx, &members, false);
	t->metadata = xstrdup(s->table.metadata);
	t->chunk_sectors = s->info.chunk_sectors;
	t->policy = xstrdup(*s->info.policy ? s->info.policy : "default");
	/* The parts of the table that do not depend on the list of tiers. */
	strings_add_all(&t->features, &s->table.features);
	t->nr_tiers = nr;
	for (i = 0; i < nr; i++) {
		const struct member *m = member_of(&members, records[i].uuid);

		if (!m || records[i].rank >= nr || t->tier[records[i].rank]) {
			good = false;
			break;
		}
		t->tier[records[i].rank] = xasprintf("%u:%u", major(m->dev.dev), minor(m->dev.dev));
	}
	members_free(&members);
	return good;
}

/*
 * The kernel suspends the device before it changes the tiers. If the change fails and the
 * command is killed before it can put the old table back, the device stays suspended, with a
 * table that does not work.
 */
static bool needs_mending(const struct set *s)
{
	return s && s->active && s->have_table && s->dm.suspended && s->status.kind != STATUS_OK &&
	       s->status.kind != STATUS_WAITS;
}

static int load_records(struct set *s)
{
	struct stillness before;
	char *params, *reason;
	struct table t;
	int r = -1;

	if (table_from_records(s, &t)) {
		params = table_build(&t);
		verbose(s->ctx, "table: 0 %llu tier %s", (unsigned long long)s->info.length, params);
		quiet_begin(s->ctx, &before);
		r = put_back(s, params, s->info.length, &reason);
		quiet_end(s->ctx, &before);
		if (r) {
			err(s->ctx, ERR_KERNEL_REFUSED, "%s: cannot be put back: %s.", s->name, reason);
			free(reason);
		}
		free(params);
	} else {
		err(s->ctx, ERR_DAMAGED,
		    "%s: is suspended, its table does not work, and its metadata or devices cannot be read.",
		    s->name);
	}
	table_free(&t);
	return r;
}

struct set *need_changeable(struct tier_context *ctx, struct set_list *list, const char *name)
{
	char *full, *resume;
	struct set *s;

	memset(list, 0, sizeof(*list));
	if (!lock_named(ctx, name, false))
		return NULL;
	sets_load(ctx, list, false);
	s = sets_find(list, name);
	if (s && !ctx->dry_run && mirrored_go_on(s))
		return NULL;
	if (needs_mending(s) && !ctx->dry_run) {
		full = xstrdup(s->dm.name);
		if (!load_records(s))
			say(ctx,
			    "%s: a failed change had left it suspended; it works again.",
			    s->name);
		sets_free(list);
		s = need_active(ctx, list, full);
		free(full);
	} else {
		sets_free(list);
		s = need_active(ctx, list, name);
	}
	if (!s)
		return NULL;
	if (s->dm.suspended) {
		resume = set_resume_command(s);
		err(ctx, ERR_UNFINISHED, "%s: is suspended. Type: %s", s->name, resume);
		free(resume);
		return NULL;
	}
	if (set_missing(s))
		err(ctx, ERR_DEGRADED,
		    "%s: a tier is missing. Its tiers stay as they are until it is back.", s->name);
	else if (s->status.needs_check)
		err(ctx, ERR_DAMAGED, "%s: its metadata needs a check first.", s->name);
	else if (s->status.read_only)
		err(ctx, ERR_READ_ONLY, "%s: is read-only.", s->name);
	else if (s->status.nr_tiers != s->nr_tiers || set_read_info(s))
		err(ctx, ERR_IO, "%s: its metadata cannot be read.", s->name);
	else if (!mirrored_settle(s) && forget_loaded(s))
		return s;
	return NULL;
}

/*
 * Taking a tier out
 */

static void wait_until_free(const struct device *d)
{
	int tries, fd;

	for (tries = 0; tries < FREE_TRIES; tries++) {
		fd = open(d->path, O_RDWR | O_EXCL | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
		if (fd >= 0 || errno != EBUSY)
			return;
		sleep_ms(FREE_MS);
	}
}

/* A volume that was made for the set is removed; another gets its old name back. */
static int release_volume(struct tier_context *ctx, const struct lvm_part *p)
{
	char *old = lvm_tag(p, "name");
	int r = old ? parts_release(ctx, p) : lvm_remove_made(ctx, p);

	if (!r && old && !ctx->dry_run)
		say(ctx, "%s: is called %s/%s again.", p->name, p->vg, old);
	free(old);
	return r;
}

bool reshape_may_release(const struct set *s, const struct device *d)
{
	struct lvm_steps steps = { .ctx = s->ctx, .set = s->name, .back = true };
	struct lvm_parts fast;
	unsigned int i;

	/* LVM is called only for a logical volume. */
	if (!device_is_volume(d->dev))
		return true;
	if (lvm_list_fast(s->ctx, s->hex, &fast))
		return false;
	for (i = 0; i < fast.nr; i++)
		if (lvm_is_device(&fast.part[i], d->dev))
			lvm_steps_release(&steps, &fast.part[i]);
	lvm_parts_free(&fast);
	return lvm_steps_possible(&steps);
}

int reshape_clean_device(const struct set *s, const struct device *d)
{
	struct lvm_parts fast;
	int code = EXIT_DONE;
	struct member m;
	unsigned int i;
	char *what;

	member_read(d, &m);
	if (m.kind == MEMBER_TIER && memcmp(m.label.set_uuid, s->uuid, TIER_UUID_SIZE)) {
		what = candidate_describe(&m);
		err(s->ctx, ERR_CHANGED, "%s: carries %s by now, and stays as it is.", d->name, what);
		free(what);
		code = EXIT_FAILED;
	} else if (m.kind == MEMBER_TIER && s->ctx->dry_run) {
		say(s->ctx, "Would wipe the label on %s.", d->name);
	} else if (m.kind == MEMBER_TIER) {
		wait_until_free(d);
		if (wipe_labels(s->ctx, d, s->uuid))
			code = EXIT_FAILED;
		else
			reserved_drop_disk(s, d);
	} else if (m.kind == MEMBER_UNREADABLE || m.kind == MEMBER_DAMAGED) {
		err(s->ctx, ERR_IO,
		    "%s: its label cannot be wiped: %s. When it can be read: tierctl destroy %s",
		    d->name, m.reason, d->name);
		code = EXIT_FAILED;
	}
	member_free(&m);
	step_reached("clean", "wiped");
	/* LVM is called only for a logical volume. */
	if (code || !device_is_volume(d->dev))
		return code;
	if (lvm_list_fast(s->ctx, s->hex, &fast))
		return EXIT_FAILED;
	for (i = 0; i < fast.nr && !code; i++)
		/* It may have been renamed since. */
		if (lvm_is_device(&fast.part[i], d->dev))
			code = release_volume(s->ctx, &fast.part[i]) ? EXIT_FAILED : EXIT_DONE;
	lvm_parts_free(&fast);
	step_reached("clean", "done");
	return code;
}

/* Another tier may get its id one day, so the kernel drops pins to it. */
static void say_lost_pins(struct set *s, const struct device *d, unsigned long long before)
{
	unsigned long long lost;

	if (set_refresh(s) || s->status.pinned >= before)
		return;
	lost = before - s->status.pinned;
	warn(s->ctx,
	     "%s: %llu chunk%s pinned to %s and %s so no more. To pin the same files to another tier: tierctl pin FILE --tier RANK",
	     s->name, lost, lost == 1 ? " was" : "s were", d->name, lost == 1 ? "is" : "are");
}

static int drop_tier(struct tier_context *ctx, const char *set_name, const struct device *d,
		     const char *again, const char *back)
{
	struct set_list list;
	struct set *s = need_changeable(ctx, &list, set_name);
	int rank = s ? set_rank_of_device(s, d->dev) : -1, code = EXIT_FAILED;
	struct table t;

	if (s && rank < 0) {
		err(ctx, ERR_CHANGED, "%s: %s is no tier of it any more.", s->name, d->name);
	} else if (s && reshape_may_release(s, d)) {
		reshape_table(s, &t);
		table_drop(&t, rank);
		if (reshape_reload(s, &t, s->dm.length, "drop")) {
			err(ctx, ERR_UNFINISHED,
			    "%s: %s is empty and stays closed. To take it out, once the cause is gone: %s. To go back: %s",
			    s->name, d->name, again, back);
		} else {
			say_lost_pins(s, d, s->status.pinned);
			code = reshape_clean_device(s, d);
			if (code)
				err(ctx, ERR_UNFINISHED,
				    "%s: %s is out of it, but not all that was to be done with it is. Once the cause is gone: tierctl remove %s %s",
				    s->name, d->name, s->name, d->name);
		}
		table_free(&t);
		if (!code && !ctx->dry_run)
			say(ctx, "%s: %s is out of it and free.", s->name, d->name);
	}
	sets_free(&list);
	return code;
}

static void say_work(const struct set *s, unsigned int rank)
{
	const char *limit = status_tunable(&s->status, "migration_bandwidth");
	uint64_t kib = 0, left = s->status.tier[rank].used * s->chunk_sectors * SECTOR_SIZE, seconds;
	char size[SIZE_TEXT], speed[SIZE_TEXT];

	if (!left)
		return;
	if (limit)
		parse_number(limit, &kib);
	seconds = kib ? left / 1024 / kib : 0;
	if (!kib)
		say(s->ctx, "%s: %s to move off tier %u, as fast as the devices can.", s->name,
		    format_size(size, left), rank);
	else if (seconds < 120)
		say(s->ctx, "%s: %s to move off tier %u, about %llu s at %s/s.", s->name,
		    format_size(size, left), rank, (unsigned long long)seconds + 1,
		    format_size(speed, kib * 1024));
	else
		say(s->ctx, "%s: %s to move off tier %u, about %llu min at %s/s.", s->name,
		    format_size(size, left), rank, (unsigned long long)seconds / 60 + 1,
		    format_size(speed, kib * 1024));
}

/* LVM allows the volume to be renamed; its tags identify it. */
static void say_no_origin(const struct set *s)
{
	const struct lvm_part *origin;
	struct lvm_parts parts;
	char *old;

	if (lvm_list_set(s->ctx, s->hex, &parts))
		return;
	origin = lvm_find_role(&parts, LVM_ROLE_ORIGIN);
	old = origin ? lvm_tag(origin, "name") : NULL;
	if (old)
		err(s->ctx, ERR_LVM_REFUSED,
		    "%s: %s is what it was made of, and has to be called %s%s: lvrename %s %s %s%s",
		    s->name, origin->name, old, LVM_ORIGIN_SUFFIX, origin->vg, origin->lv, old,
		    LVM_ORIGIN_SUFFIX);
	else
		err(s->ctx, ERR_NOT_FOUND,
		    "%s: none of its tiers is the logical volume whose name it has (_torig).", s->name);
	free(old);
	lvm_parts_free(&parts);
}

bool reshape_has_origin(const struct set *s)
{
	bool has = !s->lv || set_origin(s) >= 0;

	if (!has)
		say_no_origin(s);
	return has;
}

bool reshape_may_go(const struct set *s, unsigned int rank)
{
	if (!reshape_has_origin(s))
		return false;
	if ((int)rank != set_origin(s))
		return true;
	err(s->ctx, ERR_UNSUITABLE,
	    "%s: is what %s was made of, and cannot be taken out. To move it: pvmove. To go back to it: tierctl revert %s",
	    s->tier[rank].dev.name, s->name, s->name);
	return false;
}

int reshape_take_out(struct tier_context *ctx, const char *set_name, dev_t dev, bool background,
		     const char *again, const char *back)
{
	struct set_list list;
	struct set *s = need_changeable(ctx, &list, set_name);
	int rank = s ? set_rank_of_device(s, dev) : -1, code = EXIT_FAILED;
	struct device d = { 0 };
	struct table t;

	if (s && rank < 0)
		err(ctx, ERR_CHANGED,
		    "%s: its tiers were changed by somebody else meanwhile. Try again.", s->name);
	if (rank < 0 || !reshape_may_go(s, rank) || !reshape_has_metadata(s, true) || !check_room(s, rank, 0, "remove"))
		goto out;
	device_copy(&d, &s->tier[rank].dev);
	if (!reshape_may_release(s, &d))
		goto out;
	if (mirrored_leave(s, rank, false))
		goto out;
	if (s->status.pinned)
		warn(ctx, "%s: %llu chunk%s pinned; what is pinned to %s will not be when it is out.", s->name,
		     (unsigned long long)s->status.pinned, s->status.pinned == 1 ? " is" : "s are", d.name);
	if (ctx->dry_run) {
		say_work(s, rank);
		send_message(s, "evacuate %d", rank);
		say(ctx, "Would wait until tier %d is empty.", rank);
		reshape_table(s, &t);
		table_drop(&t, rank);
		reshape_reload(s, &t, s->dm.length, "drop");
		table_free(&t);
		code = reshape_clean_device(s, &d);
		goto out;
	}
	/*
	 * Sent again if the tier is being emptied already: chunks that could not be moved are
	 * tried again.
	 */
	if (send_message(s, "evacuate %d", rank))
		goto out;
	step_reached("evacuate", "begun");
	say_work(s, rank);
	if (background) {
		say(ctx, "%s: tier %d is being emptied. Then, and to see how far it is: %s", s->name,
		    rank, again);
		code = EXIT_DONE;
		goto out;
	}
	unlock_set();
	code = wait_for(s, rank, 0);
	if (code == EXIT_DETACHED)
		warn(ctx, "%s: to finish: %s. To go back: %s", s->name, again, back);
	if (!code) {
		step_reached("evacuate", "done");
		sets_free(&list);
		code = drop_tier(ctx, set_name, &d, again, back);
		device_free(&d);
		return code;
	}
out:
	device_free(&d);
	sets_free(&list);
	return code;
}

bool check_room(struct set *s, unsigned int rank, uint64_t extra_places, const char *command)
{
	uint64_t chunk = s->chunk_sectors * SECTOR_SIZE, elsewhere = extra_places, need = s->status.chunks;
	char a[SIZE_TEXT], b[SIZE_TEXT], c[SIZE_TEXT], d[SIZE_TEXT];
	unsigned int i;

	/* A reserve is kept free for moving. */
	if (!set_read_info(s))
		need += s->info.reserve;
	for (i = 0; i < s->status.nr_tiers; i++)
		if (i != rank && s->tier[i].present && s->tier[i].state != 'E')
			elsewhere += s->status.tier[i].places;
	if (elsewhere >= need || s->tier[rank].state == 'E')
		return true;
	err(s->ctx, ERR_NO_SPACE,
	    "%s: %s tier %u: %s to move; the set needs %s, its other tiers have %s. Add %s first, or make the set smaller: tierctl resize --size SIZE %s",
	    s->name, command, rank, format_size(d, s->status.tier[rank].used * chunk),
	    format_size(a, need * chunk), format_size(b, elsewhere * chunk),
	    format_size(c, (need - elsewhere) * chunk), s->name);
	return false;
}
