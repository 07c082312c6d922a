// SPDX-License-Identifier: GPL-2.0-only
/* revert */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/progress.h"
#include "base/ranges.h"
#include "base/size.h"
#include "base/step.h"
#include "base/util.h"
#include "block/device.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/dm.h"
#include "dm/status.h"
#include "dm/table.h"
#include "format/geometry.h"
#include "lvm/lvm-check.h"
#include "lvm/lvm-part.h"
#include "lvm/lvm.h"
#include "ops/activate.h"
#include "ops/convert.h"
#include "ops/parts.h"
#include "ops/reshape.h"
#include "ops/revert.h"
#include "set/find.h"
#include "set/heat.h"
#include "set/lock.h"
#include "set/member.h"
#include "set/message.h"
#include "set/set.h"
#include "set/tier.h"
#include "set/volumes.h"

#define POLL_MS		250
/* The last moves may have begun before the check. */
#define ROUNDS		20
/* Gives up if no chunk has moved for so long. */
#define STUCK_MS	30000

struct reversion {
	struct set_list list;
	struct set *s;
	unsigned int rank;
	struct own_places own_places;
	char *again;			/* the command that goes on */
};

static bool choose_tier(const struct args *args, struct reversion *v)
{
	unsigned int i;
	int origin = set_origin(v->s);

	if (!reshape_has_origin(v->s))
		return false;
	v->rank = origin < 0 ? v->s->nr_tiers - 1 : (unsigned int)origin;
	if (!args->given[OPT_TIER])
		return true;
	if (!parse_rank(v->s, args->value[OPT_TIER], &i))
		return false;
	if (v->s->lv && i != v->rank) {
		err(args->ctx, ERR_UNSUITABLE, "%s: can only go back to %s, whose name it has.",
		    v->s->name, v->s->tier[v->rank].dev.name);
		return false;
	}
	v->rank = i;
	return true;
}

static bool check_tier(const struct reversion *v)
{
	const struct set_tier *t = &v->s->tier[v->rank];
	char a[SIZE_TEXT], b[SIZE_TEXT];

	if (t->state != 'A') {
		err(v->s->ctx, ERR_BUSY, "%s: %s is %s. First: tierctl admit %s %u", v->s->name, t->dev.name,
		    t->state == 'E' ? "being emptied" : "failing", v->s->name, v->rank);
		return false;
	}
	if (v->s->length * SECTOR_SIZE > t->dev.size && !device_is_volume(t->dev.dev)) {
		err(v->s->ctx, ERR_UNSUITABLE,
		    "%s: is larger (%s) than %s (%s). It needs a device of that size as a tier.",
		    v->s->name, format_size(a, v->s->length * SECTOR_SIZE), t->dev.name,
		    format_size(b, t->dev.size));
		return false;
	}
	return true;
}

/*
 * A `tierctl wait` or `remove` in another shell would take the tier out in the middle of the
 * revert.
 */
static bool check_others(const struct reversion *v)
{
	const struct set *s = v->s;
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++) {
		if (s->tier[i].state != 'E' || !s->status.tier[i].used)
			continue;
		err(v->s->ctx, ERR_BUSY,
		    "%s: tier %u (%s) is being emptied. First: tierctl wait --evacuated %u %s, or: tierctl admit %s %u",
		    s->name, i, s->tier[i].dev.name, i, s->name, s->name, i);
		return false;
	}
	return true;
}

/* Checks the device's name for the time when the volume has its own name again. */
static bool check_device_name(const struct set *s)
{
	char *away = xasprintf("%s%s", s->dm_name, LVM_REVERT_SUFFIX);
	bool taken = dm_name_exists(away);

	if (taken)
		err(s->ctx, ERR_EXISTS,
		    "%s: another device has the name %s, which this one is to get. Rename that first: dmsetup rename %s OTHER",
		    s->name, away, away);
	free(away);
	return !taken;
}

/* The last steps of LVM are checked before anything is changed. */
static bool check_volumes(const struct reversion *v)
{
	const struct lvm_part *origin;
	char *command, *old = NULL;
	struct lvm_parts parts;
	const char *name;

	if (!v->s->lv)
		return !set_has_volumes(v->s) || !lvm_installed() || lvm_may_release(v->s->ctx,
					v->s->hex, v->s->name, NULL);
	if (!check_device_name(v->s) ||
	    !lvm_may_release(v->s->ctx, v->s->hex, v->s->name, v->s->tier[v->rank].dev.name) ||
	    lvm_list_set(v->s->ctx, v->s->hex, &parts))
		return false;
	origin = lvm_find_role(&parts, LVM_ROLE_ORIGIN);
	if (origin)
		old = lvm_tag(origin, "name");
	if (!old) {
		command = volumes_tag_command(v->s, &name);
		err(v->s->ctx, ERR_LVM_REFUSED,
		    "%s: %s has lost its tags, by which it gets its name back. Type: %s", v->s->name,
		    name, command);
		free(command);
	}
	lvm_parts_free(&parts);
	free(old);
	return old;
}

static void set_own_places(struct reversion *v, uint64_t first, uint64_t places)
{
	/* A small set may lie completely in the label area. */
	v->own_places.first = first < v->s->status.chunks ? first : v->s->status.chunks;
	v->own_places.end = first + places < v->s->status.chunks ? first + places : v->s->status.chunks;
}

static bool read_own_places(struct reversion *v)
{
	struct tier_meta_tier records[TIER_MAX_TIERS];
	unsigned int i, nr;

	if (set_read_records(v->s, records, &nr)) {
		err(v->s->ctx, ERR_IO, "%s: its metadata cannot be read.", v->s->name);
		return false;
	}
	for (i = 0; i < nr; i++) {
		if (records[i].id != v->s->tier[v->rank].id)
			continue;
		/* The data would be written over what lies there. */
		if (records[i].first_place * v->s->chunk_sectors > tier_label_area(v->s->chunk_sectors)) {
			err(v->s->ctx, ERR_UNSUITABLE,
			    "%s: %s has room for something else before its places, so that it cannot take the set's place. Name another tier.",
			    v->s->name, v->s->tier[v->rank].dev.name);
			return false;
		}
		set_own_places(v, records[i].first_place, records[i].places);
	}
	return true;
}

/* All chunks but a short last one have their own places. */
static bool all_have_own_places(const struct reversion *v)
{
	return v->own_places.end + 1 >= v->s->status.chunks;
}

/* Makes the set take over the tier's present size. */
static bool adopt_room(struct reversion *v)
{
	struct table t;
	int r;

	reshape_table(v->s, &t);
	r = reshape_reload(v->s, &t, v->s->length, "revert");
	if (!r && !v->s->ctx->dry_run) {
		free(v->s->dm.table);
		v->s->dm.table = table_build(&t);
	}
	table_free(&t);
	if (r)
		return false;
	if (v->s->ctx->dry_run) {
		set_own_places(v, v->own_places.first, geometry_places(v->s->length, v->s->chunk_sectors, 0));
		return true;
	}
	if (!read_own_places(v))
		return false;
	if (!all_have_own_places(v))
		err(v->s->ctx, ERR_NO_SPACE, "%s: does not fit on %s.", v->s->name,
		    v->s->tier[v->rank].dev.name);
	return all_have_own_places(v);
}

/*
 * If the set is larger than the volume, the volume is extended. The sizes show how far an
 * earlier call came.
 */
static bool make_room(struct reversion *v)
{
	const struct set_tier *t = &v->s->tier[v->rank];
	uint64_t size = v->s->length * SECTOR_SIZE;
	char a[SIZE_TEXT], b[SIZE_TEXT];

	if (size > t->dev.size) {
		if (!reshape_has_metadata(v->s, false))
			return false;
		format_size(a, size);
		format_size(b, t->dev.size);
		if (v->s->ctx->dry_run)
			say(v->s->ctx, "%s: is larger (%s) than %s (%s).", v->s->name, a, t->dev.name, b);
		else if (!ask(v->s->ctx, "%s: is larger (%s) than %s (%s). Run lvextend -L %llus %s?", v->s->name, a, t->dev.name, b, (unsigned long long)v->s->length, t->dev.name))
			return false;
		if (lvm_extend(v->s->ctx, t->dev.name, v->s->length))
			return false;
		step_reached("revert", "extended");
	}
	return read_own_places(v) && (all_have_own_places(v) || adopt_room(v));
}

/* Moving all chunks to their own places */

/* A set that was converted goes back to its origin, which nothing removes by mistake. */
static int mark_home(const struct set *s, dev_t survivor)
{
	return s->lv || !set_has_volumes(s) ? 0 : parts_mark_home(s->ctx, s->hex, survivor);
}

static int ask_back(struct reversion *v)
{
	uint64_t count = v->own_places.end - v->own_places.first;

	if (send_message(v->s, "revert %u", v->rank))
		return EXIT_FAILED;
	if (!count || !send_message(v->s, "migrate %llu %llu %u home", (unsigned long long)v->own_places.first,
				    (unsigned long long)count, v->rank))
		return EXIT_DONE;
	send_message(v->s, "revert off");
	return EXIT_FAILED;
}

/* Longer if the bandwidth allows less than a chunk a second. */
static uint64_t stuck_after(const struct set *s)
{
	const char *limit = status_tunable(&s->status, "migration_bandwidth");
	uint64_t kib, chunk_kib = s->chunk_sectors / 2;

	if (!limit || parse_number(limit, &kib) || !kib)
		return STUCK_MS;
	return STUCK_MS + 2000 * chunk_kib / kib;
}

static int wait_until_back(struct reversion *v)
{
	struct ranges chunks = { 0 };
	uint64_t total = v->own_places.end - v->own_places.first, best = 0, since = now_ms();
	struct progress progress;
	struct heat_bucket sum;
	char *what = xasprintf("%s: back to tier %u", v->s->name, v->rank);
	int code = EXIT_DONE;

	ranges_add(&chunks, v->own_places.first, total);
	progress_start(v->s->ctx, &progress);
	detach_on_interrupt();
	for (;;) {
		if (set_refresh(v->s) || v->s->status.kind != STATUS_OK || heat_sum(v->s, &chunks, &sum)) {
			err(v->s->ctx, ERR_FAILED, "%s: is gone, or has failed.", v->s->name);
			code = EXIT_FAILED;
			break;
		}
		progress_bar(&progress, what, sum.on_rank[v->rank], total);
		if (sum.on_rank[v->rank] > best || v->s->status.in_flight) {
			best = sum.on_rank[v->rank];
			since = now_ms();
		}
		if (sum.on_rank[v->rank] == total && !v->s->status.in_flight)
			break;
		if (now_ms() - since > stuck_after(v->s)) {
			err(v->s->ctx, ERR_UNFINISHED,
			    "%s: %llu of %llu chunks do not move back; tierctl explain and the kernel log say why. " "Try again, or: tierctl revert --abort %s",
			    v->s->name, (unsigned long long)(total - sum.on_rank[v->rank]),
			    (unsigned long long)total, v->s->name);
			code = EXIT_FAILED;
			break;
		}
		if (interrupted) {
			warn(v->s->ctx, "%s: detached, the chunks go on moving. To go on: %s",
			     v->s->name, v->again);
			code = EXIT_DETACHED;
			break;
		}
		sleep_ms(POLL_MS);
	}
	progress_end(&progress);
	free(what);
	ranges_free(&chunks);
	return code;
}

static int bring_back(struct reversion *v)
{
	unsigned int round;
	int code, r;

	for (round = 0; round < ROUNDS; round++) {
		code = ask_back(v);
		if (!code && !round)
			step_reached("revert", "begun");
		if (!code)
			code = wait_until_back(v);
		if (code)
			return code;
		if (!round)
			step_reached("revert", "home");
		r = revert_cut_over(v->s, v->rank, &v->own_places);
		if (!r)
			return EXIT_DONE;
		if (r != -EAGAIN)
			break;
		sleep_ms(POLL_MS);
	}
	if (round == ROUNDS)
		err(v->s->ctx, ERR_IO,
		    "%s: chunks do not stay in their own places, or first writes cannot be made durable; the kernel log says more.",
		    v->s->name);
	send_message(v->s, "revert off");
	return EXIT_FAILED;
}

/*
 * The command
 */

static void say_plan(const struct reversion *v)
{
	const struct set *s = v->s;
	struct lvm_parts parts = { 0 };
	char *away;
	unsigned int i;

	say(v->s->ctx,
	    "Would wait until all chunks are in their own places, suspend %s, and write %llu chunk%s to %s, over its label.",
	    s->name, (unsigned long long)(v->own_places.first + s->status.chunks - v->own_places.end),
	    v->own_places.first + s->status.chunks - v->own_places.end == 1 ? "" : "s", s->tier[v->rank].dev.name);
	say(v->s->ctx, "Would load the table:\n0 %llu linear %s 0", (unsigned long long)s->length,
	    s->table.tier[v->rank]);
	if (s->lv) {
		away = xasprintf("%s%s", s->dm_name, LVM_REVERT_SUFFIX);
		say(v->s->ctx, "Would rename /dev/mapper/%s to /dev/mapper/%s.", s->dm_name, away);
		free(away);
		if (!lvm_list_set(v->s->ctx, s->hex, &parts)) {
			const struct lvm_part *name = lvm_find_role(&parts, LVM_ROLE_PLACEHOLDER);
			const struct lvm_part *origin = lvm_find_role(&parts, LVM_ROLE_ORIGIN);
			char *old = origin ? lvm_tag(origin, "name") : NULL;

			if (name)
				lvm_remove(v->s->ctx, name->name);
			if (old)
				lvm_rename(v->s->ctx, origin->vg, origin->lv, old);
			free(old);
		}
		lvm_parts_free(&parts);
	}
	for (i = 0; i < s->nr_tiers; i++)
		if (i != v->rank)
			say(v->s->ctx, "Would wipe the label on %s.", s->tier[i].dev.name);
	say(v->s->ctx, "Would wipe the metadata on %s.", s->meta_dev.name);
	if (set_has_volumes(s))
		parts_release_all(v->s->ctx, s->hex, s->lv ? 0 : s->tier[v->rank].dev.dev);
}

/* Says how to find the set: by its metadata, or by the tags of its volumes. */
static void say_rest(struct tier_context *ctx, const char *hex, const char *name)
{
	char *command = convert_rest_command(ctx, hex, name, "revert");

	err(ctx, ERR_UNFINISHED,
	    "%s: all its data is back on the device, but not all is cleaned up. To go on, once the cause is gone: %s",
	    name, command);
	free(command);
}

static int done(struct tier_context *ctx, const char *hex, const char *name)
{
	int code = revert_finish(ctx, hex);

	if (code)
		say_rest(ctx, hex, name);
	else
		say(ctx, "%s: is no tiered set any more.", name);
	return code;
}

static int revert_active(const struct args *args, struct reversion *v)
{
	char *name = xstrdup(v->s->name), *hex = xstrdup(v->s->hex);
	char size[SIZE_TEXT];
	int code = EXIT_FAILED;

	if (!choose_tier(args, v))
		goto out;
	if (args->given[OPT_ABORT]) {
		code = send_message(v->s, "revert off") || mark_home(v->s, 0) ? EXIT_FAILED : EXIT_DONE;
		if (!code)
			say(args->ctx, "%s: stays a tiered set.", name);
		goto out;
	}
	if (!check_tier(v) || !check_others(v) || !check_volumes(v) || !make_room(v))
		goto out;
	v->again = args->given[OPT_TIER] ? xasprintf("tierctl revert %s --tier %u", name, v->rank) :
		   xasprintf("tierctl revert %s", name);
	say(args->ctx, "%s: all of it (%s) goes back to %s.", name,
	    format_size(size, v->s->length * SECTOR_SIZE), v->s->tier[v->rank].dev.name);
	if (mark_home(v->s, v->s->tier[v->rank].dev.dev))
		goto out;
	if (args->ctx->dry_run) {
		ask_back(v);
		say_plan(v);
		code = EXIT_DONE;
		goto out;
	}
	code = bring_back(v);
	if (!code)
		code = done(args->ctx, hex, name);
out:
	free(v->again);
	free(name);
	free(hex);
	return code;
}

/*
 * The tier in the metadata's record counts, whatever the slowest tier is; false with the error
 * said.
 */
static bool same_survivor(const struct args *args, struct reversion *v)
{
	int survivor = revert_survivor(v->s);
	unsigned int i;

	if (survivor < 0) {
		err(args->ctx, ERR_DAMAGED,
		    "%s: its metadata does not say which tier was to take its place.", v->s->name);
		return false;
	}
	v->rank = survivor;
	if (!args->given[OPT_TIER])
		return true;
	if (!parse_rank(v->s, args->value[OPT_TIER], &i))
		return false;
	if (i != v->rank)
		err(args->ctx, ERR_USAGE,
		    "%s: is on its way back to tier %u already. Type: tierctl revert %s --tier %u",
		    v->s->name, v->rank, v->s->name, v->rank);
	return i == v->rank;
}

static int resume(const struct set *s)
{
	char *reason;
	int r = dm_resume(s->dm.name, &reason);

	if (r) {
		err(s->ctx, ERR_KERNEL_REFUSED, "%s: cannot be resumed: %s.", s->name, reason);
		free(reason);
	}
	return r;
}

/* --abort after the tier has taken the set's place. */
static int too_late(struct tier_context *ctx, const char *name)
{
	err(ctx, ERR_UNFINISHED,
	    "%s: all of it is back, so that this can only go on. Type: tierctl revert %s", name, name);
	return EXIT_FAILED;
}

/*
 * A suspended set that no other command works on. 0: its tier has taken its place. -EAGAIN: it
 * is a working set, or must not be resumed by us.
 */
static int mend_held(const struct args *args, struct reversion *v, const char *name)
{
	sets_free(&v->list);
	sets_load(args->ctx, &v->list, false);
	v->s = sets_find(&v->list, name);
	if (!v->s || !v->s->active || !v->s->dm.suspended || !v->s->have_table)
		return -EAGAIN;
	switch (revert_stage(v->s)) {
	case REVERT_NONE:
		return -EAGAIN;
	case REVERT_BEFORE:
		return resume(v->s) ? -EIO : -EAGAIN;
	case REVERT_TAKEOVER:
		return same_survivor(args, v) ? revert_mend(v->s, v->rank) : -EINVAL;
	default:
		err(args->ctx, ERR_IO, "%s: its metadata cannot be read.", v->s->name);
		return -EIO;
	}
}

/*
 * Suspended, maybe by a call that was killed; a set whose table is being changed looks the same
 * for a moment. -1: read the state again.
 */
static int mend(const struct args *args, struct reversion *v, const char *name)
{
	char *hex = xstrdup(v->s->hex), *own_name = xstrdup(v->s->name);
	int code = EXIT_FAILED, r;

	if (args->ctx->dry_run) {
		r = revert_stage(v->s);
		if (r == REVERT_BEFORE || r == REVERT_TAKEOVER)
			say(args->ctx, "Would resume %s, which an interrupted call left suspended.", name);
		code = r == REVERT_BEFORE || r == REVERT_TAKEOVER ? EXIT_DONE : -1;
	} else if (set_unchanged(v->s)) {
		r = mend_held(args, v, name);
		if (!r)
			/* Held I/O goes on, whatever was asked for. */
			code = args->given[OPT_ABORT] ? too_late(args->ctx, own_name) :
			       done(args->ctx, hex, name);
		else if (r == -EAGAIN)
			code = -1;
	}
	free(own_name);
	free(hex);
	return code;
}

/* The tier has taken the set's place: does the rest. */
static int finish(const struct args *args, const char *hex, const char *name)
{
	if (args->given[OPT_ABORT])
		return too_late(args->ctx, name);
	if (!args->ctx->dry_run)
		return done(args->ctx, hex, name);
	say(args->ctx, "Would finish it.");
	return EXIT_DONE;
}

/* Only the volume's tags are left: it has no label, and no device belongs to the set. */
static int finish_volumes(const struct args *args, const struct set_list *list, const char *name)
{
	struct lvm_parts parts = { 0 };
	const struct lvm_part *survivor = NULL;
	struct device d;
	struct member m;
	char *hex = NULL;
	int code = -1;

	if (!lvm_installed() || device_from_name(name, &d))
		return -1;
	member_read(&d, &m);
	if (m.kind == MEMBER_NONE && strchr(d.name, '/') && *d.name != '/' &&
	    !lvm_list(args->ctx, d.name, &parts))
		survivor = lvm_find_role(&parts, LVM_ROLE_ORIGIN);
	if (!survivor && parts.nr && lvm_is_home(&parts.part[0]))
		survivor = &parts.part[0];
	if (survivor)
		hex = lvm_tag(survivor, "set");
	if (hex && !sets_find_hex(list, hex))
		code = lock_set(args->ctx, hex, name) ? finish(args, hex, name) : EXIT_FAILED;
	free(hex);
	member_free(&m);
	lvm_parts_free(&parts);
	device_free(&d);
	return code;
}

/* -1: the set is active and works. */
static int go_on(const struct args *args, struct reversion *v, const char *name)
{
	int code = -1;
	char *hex;

	if (!lock_named(args->ctx, name, true))
		return EXIT_FAILED;
	sets_load(args->ctx, &v->list, true);
	v->s = sets_find(&v->list, name);
	if (!v->s) {
		code = finish_volumes(args, &v->list, name);
		if (code < 0) {
			sets_need(&v->list, name);
			code = EXIT_FAILED;
		}
		return code;
	}
	if (!sets_need(&v->list, name))
		return EXIT_FAILED;
	if (v->s->active && v->s->dm.suspended && v->s->have_table)
		return mend(args, v, name);
	if (v->s->active)
		return -1;
	if (!activate_may_own(v->s))
		return EXIT_FAILED;
	if (revert_unfinished(v->s) && revert_committed(v->s))
		return finish(args, v->s->hex, name);
	if (!revert_unfinished(v->s)) {
		err(args->ctx, ERR_INACTIVE, "%s: not active. Type: tierctl activate %s", v->s->name,
		    v->s->name);
		return EXIT_FAILED;
	}
	if (args->ctx->dry_run) {
		say(args->ctx, "Would activate it, and %s.",
		    args->given[OPT_ABORT] ? "leave it a set" : "revert it anew");
		return EXIT_DONE;
	}
	if (revert_take_back(v->s))
		return EXIT_FAILED;
	hex = xstrdup(v->s->hex);
	code = activate_uuid(args->ctx, hex) ? EXIT_FAILED : -1;
	free(hex);
	return code;
}

int cmd_revert(const struct args *args)
{
	struct reversion v = { 0 };
	int code = go_on(args, &v, args->word[0]);

	if (code < 0) {
		sets_free(&v.list);
		v.s = need_changeable(args->ctx, &v.list, args->word[0]);
		code = v.s ? revert_active(args, &v) : EXIT_FAILED;
	}
	sets_free(&v.list);
	return code;
}
