// SPDX-License-Identifier: GPL-2.0-only
/* convert */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/context.h"
#include "base/size.h"
#include "base/step.h"
#include "base/util.h"
#include "block/device.h"
#include "block/filter.h"
#include "block/signature.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/dm.h"
#include "dm/table.h"
#include "format/build.h"
#include "format/geometry.h"
#include "lvm/lvm-check.h"
#include "lvm/lvm-part.h"
#include "lvm/lvm.h"
#include "ops/activate.h"
#include "ops/at-boot.h"
#include "ops/convert.h"
#include "set/candidate.h"
#include "set/find.h"
#include "set/lock.h"
#include "set/member.h"
#include "set/set.h"
#include "set/wipe.h"

/* A device that becomes a tier or holds the metadata. */
struct part {
	struct candidate c;		/* without dev, if the volume is still to be made */
	char *name;			/* owned; c.typed points here if the volume is to be made */
	bool make;
	bool volume;			/* a logical volume that was there before */
	struct lvm_part lvm;		/* if volume; points into a list of ours */
	struct lvm_parts list;
	int fd;				/* holds the device exclusively, or -1 */
};

struct request {
	const struct args *args;
	struct set_list sets;
	struct candidate origin;
	bool lv;
	struct lvm_parts volumes;	/* of the origin's group */
	const struct lvm_part *volume;	/* the origin */
	char *dm_name, *policy;
	unsigned int nr_fast;
	struct part fast[TIER_MAX_TIERS - 1];
	struct part meta;
	uint64_t fast_size;		/* bytes of the volume to make */
	struct lvm_volume fast_volume;
	struct lvm_metadata meta_volume;
	struct conversion c;
};

static int parse_arguments(struct request *q)
{
	const struct args *args = q->args;
	int code, r;

	if (args->given[OPT_ABORT])
		return 0;
	if (args->given[OPT_FAST_SIZE] != args->given[OPT_FAST_PV]) {
		err(q->args->ctx, ERR_USAGE, "convert: --fast-size and --fast-pv go together.");
		return EXIT_USAGE;
	}
	if (!args->given[OPT_FAST] && !args->given[OPT_FAST_SIZE]) {
		err(q->args->ctx, ERR_USAGE,
		    "convert: say what to put in front: --fast DEV, or --fast-size SIZE --fast-pv PV.");
		return EXIT_USAGE;
	}
	if (args->fast.nr >= TIER_MAX_TIERS) {
		err(q->args->ctx, ERR_USAGE, "convert: at most %u devices can be put in front.",
		    TIER_MAX_TIERS - 1);
		return EXIT_USAGE;
	}
	if (args->given[OPT_FAST_SIZE]) {
		r = parse_size(args->value[OPT_FAST_SIZE], &q->fast_size);
		if (r || !q->fast_size) {
			err(q->args->ctx, ERR_USAGE, "convert: --fast-size %s %s.", args->value[OPT_FAST_SIZE],
			    r ? size_error(r) : "is nothing");
			return EXIT_USAGE;
		}
	}
	code = parse_chunk_size(args, "convert", &q->c.chunk_sectors);
	if (!code)
		code = parse_policy(args, "convert", &q->policy);
	if (!code && args->given[OPT_NAME])
		code = check_name(q->args->ctx, args->value[OPT_NAME], "convert");
	return code;
}

/*
 * The origin
 */

/* The problem that LVM's attribute letters show. */
static const char *volume_problem(const struct lvm_part *p)
{
	const char *a = p->attributes, *g = p->vg_attributes;

	if (strlen(a) < 10)
		return "lvs describes it in an unknown way";
	if (lvm_group_problem(g))
		return lvm_group_problem(g);
	if (strchr("oOsS", a[0]))
		return "is a snapshot or has snapshots. Remove or merge them first";
	if (strchr("VtTe", a[0]))
		return "belongs to a thin pool. Copy it to an ordinary logical volume first";
	if (a[0] == 'C')
		return "is cached. Type: lvconvert --uncache it first";
	if (strchr("mM", a[0]))
		return "is an old mirror. Type: lvconvert --type raid1 it first";
	if (!strchr("-rR", a[0]))
		return "is of a kind that cannot be converted";
	if (a[2] >= 'A' && a[2] <= 'Z')
		return "is being moved by pvmove. Wait until that is done, or: pvmove --abort";
	if (a[1] != 'w')
		return "is read-only. Type: lvchange -prw it first";
	if (a[8] != '-')
		return "LVM says that it is not in good health (lvs -o lv_health_status)";
	return NULL;
}

static bool check_origin_volume(struct request *q)
{
	char *name = lv_name_from_dm(q->dm_name), *slash = name ? strchr(name, '/') : NULL;
	const char *problem;
	char *advice;

	if (slash) {
		*slash = '\0';
		if (lvm_list(q->args->ctx, name, &q->volumes)) {
			free(name);
			return false;
		}
		q->volume = lvm_find(&q->volumes, slash + 1);
	}
	free(name);
	if (!q->volume) {
		err(q->args->ctx, ERR_UNSUITABLE,
		    "%s: is an inner part of a logical volume. Name the volume itself.",
		    q->origin.typed);
		return false;
	}
	q->c.name = q->volume->name;
	problem = volume_problem(q->volume);
	if (problem) {
		err(q->args->ctx, ERR_UNSUITABLE, "%s: %s.", q->c.name, problem);
		return false;
	}
	if (q->volume->attributes[4] != 'a') {
		advice = lvm_activation_advice(q->args->ctx, q->volume);
		err(q->args->ctx, ERR_INACTIVE, "%s: is not active. First: %s", q->c.name, advice);
		free(advice);
		return false;
	}
	if (q->args->given[OPT_NAME]) {
		err(q->args->ctx, ERR_USAGE,
		    "%s: keeps its name; --name is for other devices than logical volumes.", q->c.name);
		return false;
	}
	if (strlen(q->dm_name) + strlen(LVM_REVERT_SUFFIX) >= TIER_NAME_SIZE) {
		err(q->args->ctx, ERR_UNSUITABLE,
		    "%s: its name is too long for %s behind it, which tierctl revert needs. Type: lvrename it first.",
		    q->c.name, LVM_REVERT_SUFFIX);
		return false;
	}
	return true;
}

static bool check_origin_use(const struct request *q)
{
	const struct candidate *o = &q->origin;
	char *usage, *point;

	point = device_mount_point(o->dev.dev);
	if (point) {
		err(q->args->ctx, ERR_IN_USE,
		    "%s: mounted on %s. Type: umount %s, this command again, mount %s.", q->c.name,
		    point, point, point);
		free(point);
		return false;
	}
	usage = device_usage(&o->dev);
	if (usage)
		err(q->args->ctx, ERR_IN_USE, "%s: %s. Close it first.", q->c.name, usage);
	free(usage);
	return !usage;
}

static bool check_plain_device(const struct request *q)
{
	char *table = signatures_find(q->origin.dev.path, &(int){ 0 });
	bool parted = table && strstr(table, "partition table");

	if (parted)
		err(q->args->ctx, ERR_UNSUITABLE, "%s: has partitions. Name the one to convert.", q->c.name);
	free(table);
	return !parted;
}

static bool check_origin_content(const struct request *q)
{
	const struct device *d = &q->origin.dev;
	char *found, *hidden, size[SIZE_TEXT];
	struct member m;
	uint64_t at;
	int error;

	member_read(d, &m);
	if (m.kind != MEMBER_NONE)
		err(q->args->ctx, ERR_IN_USE, "%s: %s.", q->c.name,
		    m.kind == MEMBER_UNREADABLE ? m.reason : "is a part of a tiered set");
	member_free(&m);
	if (m.kind != MEMBER_NONE)
		return false;
	found = signatures_beyond(d->path, q->c.first_place * q->c.chunk_sectors * SECTOR_SIZE, &at, &error);
	if (error) {
		err(q->args->ctx, ERR_IO, "%s: cannot be read.", q->c.name);
		return false;
	}
	if (found) {
		err(q->args->ctx, ERR_UNSUITABLE,
		    "%s: carries %s behind its first %s, where a label does not cover it, so that the converted device " "would be taken for it. This cannot be converted.",
		    q->c.name, found,
		    format_size(size, q->c.first_place * q->c.chunk_sectors * SECTOR_SIZE));
		free(found);
		return false;
	}
	found = signatures_find(d->path, &error);
	if (found && strstr(found, "LVM2_member") && lvm_looks_into_sets(q->args->ctx)) {
		err(q->args->ctx, ERR_UNSUITABLE,
		    "%s: is a physical volume itself. Keep LVM from the tiered device first: in lvm.conf, " "global_filter = [ \"r|/dev/disk/by-id/dm-uuid-TIER-.*|\" ]",
		    q->c.name);
		free(found);
		return false;
	}
	/* A physical volume within the device counts as its contents. */
	hidden = filter_reason(d->dev, NULL);
	if (hidden && !q->args->ctx->force &&
	    !(found && strstr(found, "LVM2_member") && strstr(hidden, "LVM2_member"))) {
		err(q->args->ctx, ERR_NEEDS_FORCE,
		    "%s: is %s. Convert what is made of it; if udev is wrong: udevadm trigger %s, or repeat with --force.",
		    q->c.name, hidden, d->path);
		free(hidden);
		free(found);
		return false;
	}
	free(hidden);
	free(found);
	return q->lv || check_plain_device(q);
}

static bool check_origin(struct request *q)
{
	char a[SIZE_TEXT], b[SIZE_TEXT];

	if (!q->c.chunk_sectors)
		q->c.chunk_sectors = geometry_chunk_sectors(q->origin.dev.size / SECTOR_SIZE);
	convert_arrange(&q->c, q->origin.dev.size);
	if (q->c.nr_chunks <= q->c.displaced) {
		err(q->args->ctx, ERR_UNSUITABLE,
		    "%s: is too small (%s) for chunks of %s. Use a smaller --chunksize.", q->c.name,
		    format_size(a, q->origin.dev.size),
		    format_size(b, q->c.chunk_sectors * SECTOR_SIZE));
		return false;
	}
	if (!md_build_fits(q->c.nr_chunks)) {
		err(q->args->ctx, ERR_UNSUITABLE,
		    "%s: metadata cannot hold %llu chunks. Use a larger --chunksize.", q->c.name,
		    (unsigned long long)q->c.nr_chunks);
		return false;
	}
	if (q->args->given[OPT_AT_BOOT])
		return candidate_suitable(&q->origin, &q->sets, 0) && check_origin_content(q) &&
		       at_boot_possible(q->args->ctx, q->c.name, q->origin.dev.dev);
	return check_origin_use(q) && candidate_usable(&q->origin, &q->sets, 0) && check_origin_content(q);
}

/* The fast devices, and the metadata */

static bool check_tags(struct tier_context *ctx, const char *name, struct lvm_parts *list)
{
	lvm_parts_free(list);
	if (lvm_list(ctx, name, list))
		return false;
	if (list->nr != 1) {
		err(ctx, ERR_NOT_FOUND, "%s: LVM does not know it.", name);
		return false;
	}
	if (strstr(list->part[0].tags, LVM_TAG ".set=")) {
		err(ctx, ERR_IN_USE,
		    "%s: has the tags of a tiered set. Remove them first: lvchange --deltag", name);
		return false;
	}
	return true;
}

static bool check_part(struct request *q, struct part *p, bool metadata)
{
	const struct device *d = &p->c.dev;
	unsigned int i;

	if (!candidate_find(q->args->ctx, &p->c))
		return false;
	if (d->dev == q->origin.dev.dev || device_overlaps(d, &q->origin.dev)) {
		err(q->args->ctx, ERR_UNSUITABLE, "%s: is the device to be converted itself.", p->c.typed);
		return false;
	}
	for (i = 0; i < q->nr_fast; i++) {
		if (&q->fast[i] == p || !q->fast[i].c.dev.path)
			continue;
		if (q->fast[i].c.dev.dev == d->dev || device_overlaps(&q->fast[i].c.dev, d)) {
			err(q->args->ctx, ERR_USAGE, "%s: is listed twice.", p->c.typed);
			return false;
		}
	}
	if (!metadata && !candidate_blocks_fit(q->args->ctx, &p->c, q->c.name, q->origin.dev.logical_block,
					       ", so it cannot stand in for it"))
		return false;
	if (!candidate_usable(&p->c, &q->sets, q->origin.dev.dev) ||
	    !candidate_look_inside(q->args->ctx, &p->c, metadata))
		return false;
	p->volume = q->lv && device_is_volume(d->dev);
	if (!p->volume)
		return true;
	if (!check_tags(q->args->ctx, d->name, &p->list))
		return false;
	p->lvm = p->list.part[0];
	return true;
}

static bool check_fast(struct request *q)
{
	uint64_t size = 0, places, need = q->c.displaced + 1;
	char a[SIZE_TEXT], b[SIZE_TEXT];
	unsigned int i;

	q->nr_fast = q->fast_size ? 1 : q->args->fast.nr;
	if (q->fast_size) {
		struct part *p = &q->fast[0];

		if (!q->lv) {
			err(q->args->ctx, ERR_UNSUITABLE,
			    "%s: is no logical volume. Name a device to put in front: --fast DEV",
			    q->c.name);
			return false;
		}
		if (!candidate_pv_apart(q->args->ctx, q->args->value[OPT_FAST_PV], q->origin.dev.dev) ||
		    !lvm_plan(q->args->ctx, q->args->value[OPT_FAST_PV], q->volume->vg, q->fast_size,
			      q->volume->lv, NULL, &q->fast_volume))
			return false;
		if (strcmp(q->fast_volume.vg, q->volume->vg)) {
			err(q->args->ctx, ERR_UNSUITABLE,
			    "%s: belongs to the volume group %s, not to %s.",
			    q->args->value[OPT_FAST_PV], q->fast_volume.vg, q->volume->vg);
			return false;
		}
		p->make = true;
		p->name = lvm_name(&q->fast_volume);
		p->c.typed = p->name;
		size = q->fast_volume.size;
	}
	for (i = 0; !q->fast_size && i < q->nr_fast; i++) {
		q->fast[i].c.typed = q->args->fast.s[i];
		if (!check_part(q, &q->fast[i], false))
			return false;
		if (!geometry_places(q->fast[i].c.dev.size / SECTOR_SIZE, q->c.chunk_sectors, 0)) {
			err(q->args->ctx, ERR_UNSUITABLE,
			    "%s: is too small (%s) for a chunk of %s beside the label.",
			    q->fast[i].c.typed, format_size(a, q->fast[i].c.dev.size),
			    format_size(b, q->c.chunk_sectors * SECTOR_SIZE));
			return false;
		}
	}
	if (!q->fast_size)
		size = q->fast[0].c.dev.size;
	/* Chunks that are copied in any case, and the set's reserve. */
	places = geometry_places(size / SECTOR_SIZE, q->c.chunk_sectors, 0);
	need = q->c.displaced + geometry_reserve(places + q->c.nr_chunks);
	if (places >= need)
		return true;
	err(q->args->ctx, ERR_UNSUITABLE, "%s: is too small (%s): it takes at least %s in front.",
	    q->fast[0].c.typed, format_size(a, size),
	    format_size(b, (need + q->c.first_place) * q->c.chunk_sectors * SECTOR_SIZE));
	return false;
}

static uint64_t all_places(const struct request *q)
{
	uint64_t places = q->c.nr_chunks;
	unsigned int i;

	for (i = 0; i < q->nr_fast; i++)
		places += geometry_places((q->fast[i].make ? q->fast_volume.size : q->fast[i].c.dev.size) / SECTOR_SIZE,
				      q->c.chunk_sectors, 0);
	return places;
}

static bool check_metadata(struct request *q)
{
	uint64_t min = geometry_metadata_min(q->c.nr_chunks), good = geometry_metadata_good(all_places(q));
	char a[SIZE_TEXT], b[SIZE_TEXT], *lv;
	struct part *p = &q->meta;
	bool fine;

	if (q->args->given[OPT_METADATA]) {
		p->c.typed = q->args->value[OPT_METADATA];
		if (!check_part(q, p, true))
			return false;
		if (p->c.dev.size < min)
			err(q->args->ctx, ERR_UNSUITABLE,
			    "%s: is too small (%s) for the metadata of %llu chunks. Give it %s.",
			    p->c.typed, format_size(a, p->c.dev.size),
			    (unsigned long long)q->c.nr_chunks, format_size(b, good));
		return p->c.dev.size >= min;
	}
	if (!q->lv) {
		err(q->args->ctx, ERR_UNSUITABLE,
		    "%s: is no logical volume. Name a device for the metadata: --metadata DEV",
		    q->c.name);
		return false;
	}
	/* Room for as much again, so that tiers can be added. */
	lv = xasprintf("%s%s", q->volume->lv, LVM_METADATA_SUFFIX);
	fine = lvm_plan_metadata(q->args->ctx, q->volume->vg, lv,
				 geometry_metadata_good(2 * all_places(q)), q->volume->extent,
				 q->fast_size ? q->args->value[OPT_FAST_PV] : NULL, q->fast_volume.size,
				 &q->meta_volume);
	free(lv);
	if (!fine)
		return false;
	p->make = true;
	p->name = lvm_name(&q->meta_volume.volume);
	p->c.typed = p->name;
	return true;
}

static void add_part_step(struct lvm_steps *steps, const struct part *p, const struct lvm_volume *made, bool mirrored,
			  char *name)
{
	if (p->make)
		lvm_steps_make(steps, made->vg, made->lv, mirrored);
	else if (p->volume && strcmp(p->lvm.lv, name))
		lvm_steps_rename(steps, p->lvm.vg, p->lvm.lv, name);
	else if (p->volume)
		lvm_steps_change(steps, p->lvm.vg, p->lvm.lv);
	free(name);
}

/* Steps of LVM after the commit point are checked before anything is changed. */
static bool check_volumes(const struct request *q)
{
	struct lvm_steps steps = { .ctx = q->args->ctx, .set = q->c.name };
	char *torig;
	unsigned int i;

	if (!q->lv)
		return true;
	torig = xasprintf("%s%s", q->volume->lv, LVM_ORIGIN_SUFFIX);
	lvm_steps_rename(&steps, q->volume->vg, q->volume->lv, torig);
	lvm_steps_placeholder(&steps, q->volume->vg, q->volume->lv, torig);
	for (i = 0; i < q->nr_fast; i++)
		add_part_step(&steps, &q->fast[i], &q->fast_volume, false, q->fast[i].volume ?
			      xasprintf("%s%s", q->fast[i].lvm.lv, LVM_FAST_SUFFIX) : NULL);
	add_part_step(&steps, &q->meta, &q->meta_volume.volume, q->meta_volume.pv[1],
		      xasprintf("%s%s", q->volume->lv, LVM_METADATA_SUFFIX));
	free(torig);
	return lvm_steps_possible(&steps);
}

/* Carrying it out */

static uint64_t part_size(const struct part *p, uint64_t planned)
{
	return p->make ? planned : p->c.dev.size;
}

static void say_plan(const struct request *q)
{
	char a[SIZE_TEXT], b[SIZE_TEXT];
	unsigned int i;

	say(q->args->ctx, "%s: %s, chunk %s%s, converted in place", q->c.name,
	    format_size(a, q->origin.dev.size), format_size(b, q->c.chunk_sectors * SECTOR_SIZE),
	    chunk_size_note(q->args, q->c.chunk_sectors));
	for (i = 0; i < q->nr_fast; i++)
		say(q->args->ctx, "  tier %u  %s  %s%s", i, q->fast[i].c.typed,
		    format_size(a, part_size(&q->fast[i], q->fast_volume.size)), q->fast[i].make ? "  (new)" : "");
	say(q->args->ctx, "  tier %u  %s%s  %s  (with all data)", i, q->c.name, q->lv ? LVM_ORIGIN_SUFFIX : "",
	    format_size(a, q->origin.dev.size));
	say(q->args->ctx, "  meta    %s  %s%s", q->meta.c.typed,
	    format_size(a, part_size(&q->meta, q->meta_volume.volume.size)),
	    !q->meta.make ? "" : q->meta_volume.pv[1] ? "  (new, mirrored)" : "  (new)");
}

static void warn_of_loss(const struct request *q)
{
	if (q->meta.make ? !q->meta_volume.pv[1] : !device_is_mirrored(q->meta.c.dev.dev))
		warn(q->args->ctx,
		     "if %s is lost, so is the whole set: keep the metadata on a mirror. A dump of it: tierctl dump %s -o FILE",
		     q->meta.c.typed, q->c.name);
}

static bool agree_to_wipe(struct request *q)
{
	struct text what = { 0 };
	unsigned int i;
	bool yes = true;

	for (i = 0; i <= q->nr_fast; i++) {
		const struct part *p = i < q->nr_fast ? &q->fast[i] : &q->meta;

		if (p->c.carries)
			text_add(&what, "%s%s (%s)", what.len ? ", " : "", p->c.typed, p->c.carries);
	}
	if (what.len && q->args->ctx->dry_run)
		say(q->args->ctx, "Would wipe %s.", what.s);
	else if (what.len)
		yes = ask(q->args->ctx, "Wipe %s?", what.s);
	text_free(&what);
	return yes;
}

static char *table_device(const struct part *p)
{
	if (!p->c.dev.path)
		return xasprintf("/dev/%s", p->c.typed);
	return xasprintf("%u:%u", major(p->c.dev.dev), minor(p->c.dev.dev));
}

/* Prints the steps that follow when the volumes are there. */
static void say_rest(struct request *q)
{
	struct table t = { .chunk_sectors = q->c.chunk_sectors, .policy = xstrdup(q->policy) };
	char *new = xasprintf("%s%s", q->lv ? q->volume->lv : "", LVM_ORIGIN_SUFFIX), *params;
	char size[SIZE_TEXT];
	unsigned int i;

	t.metadata = table_device(&q->meta);
	for (i = 0; i < q->nr_fast; i++)
		t.tier[t.nr_tiers++] = table_device(&q->fast[i]);
	t.tier[t.nr_tiers++] = xasprintf("%u:%u", major(q->origin.dev.dev), minor(q->origin.dev.dev));
	params = table_build(&t);
	say(q->args->ctx,
	    "Would write the metadata to %s, copy the first %s of %s to %s, and label the tiers.",
	    q->meta.c.typed, format_size(size, q->c.first_place * q->c.chunk_sectors * SECTOR_SIZE),
	    q->c.name, q->fast[0].c.typed);
	if (q->lv)
		lvm_rename(q->args->ctx, q->volume->vg, q->volume->lv, new);
	for (i = 0; i < q->nr_fast; i++) {
		if (q->fast[i].volume) {
			char *to = xasprintf("%s%s", q->fast[i].lvm.lv, LVM_FAST_SUFFIX);

			lvm_rename(q->args->ctx, q->fast[i].lvm.vg, q->fast[i].lvm.lv, to);
			free(to);
		}
	}
	if (q->meta.volume) {
		char *to = xasprintf("%s%s", q->volume->lv, LVM_METADATA_SUFFIX);

		if (strcmp(q->meta.lvm.lv, to))
			lvm_rename(q->args->ctx, q->meta.lvm.vg, q->meta.lvm.lv, to);
		free(to);
	}
	if (q->lv)
		lvm_create_placeholder(q->args->ctx, q->volume->vg, q->volume->lv, q->volume->size, q->c.hex);
	say(q->args->ctx, "Would create %s with the table:\n0 %llu tier %s", q->dm_name,
	    (unsigned long long)q->c.length, params);
	free(params);
	free(new);
	table_free(&t);
}

/*
 * The devices are held from here until the origin has its label, as they have the only copy of
 * the label area. All are checked once more, as another command may have been faster.
 */

static int hold(struct tier_context *ctx, const struct device *d, const char *name)
{
	int fd = device_open(d, O_RDWR | O_EXCL);

	if (fd < 0)
		err(ctx, error_from(-fd), "%s: cannot be had alone: %s.", name, strerror(-fd));
	return fd;
}

static bool hold_part(struct tier_context *ctx, struct part *p, bool metadata)
{
	struct lvm_parts list = { 0 };
	bool good;

	p->fd = hold(ctx, &p->c.dev, p->c.typed);
	if (p->fd < 0 || p->make)
		return p->fd >= 0;
	good = candidate_unchanged(ctx, &p->c, metadata) &&
	       (!p->volume || check_tags(ctx, p->c.dev.name, &list));
	lvm_parts_free(&list);
	return good;
}

static bool hold_all(struct request *q, int *origin)
{
	struct lvm_parts list = { 0 };
	unsigned int i;
	bool good;

	*origin = hold(q->args->ctx, &q->origin.dev, q->c.name);
	good = *origin >= 0 && candidate_same(q->args->ctx, &q->origin) && check_origin_content(q) &&
	       (!q->lv || check_tags(q->args->ctx, q->c.name, &list));
	lvm_parts_free(&list);
	for (i = 0; good && i < q->nr_fast; i++)
		good = q->fast[i].make || hold_part(q->args->ctx, &q->fast[i], false);
	return good && (q->meta.make || hold_part(q->args->ctx, &q->meta, true));
}

static void let_go(struct request *q)
{
	unsigned int i;

	for (i = 0; i <= q->nr_fast; i++) {
		struct part *p = i < q->nr_fast ? &q->fast[i] : &q->meta;

		if (p->fd >= 0)
			close(p->fd);
		p->fd = -1;
	}
}

/* Makes the volumes, which have their tags from the start. */
static int make_parts(struct request *q)
{
	unsigned int i;

	if (q->lv && lvm_tag_part(q->args->ctx, q->c.name, q->c.hex, LVM_ROLE_ORIGIN, q->volume->lv))
		return -1;
	step_reached("convert", "tagged");
	for (i = 0; i < q->nr_fast; i++) {
		struct part *p = &q->fast[i];

		if (p->make && lvm_create(q->args->ctx, &q->fast_volume, q->args->value[OPT_FAST_PV], q->c.hex))
			return -1;
		if (p->volume && lvm_tag_part(q->args->ctx, p->lvm.name, q->c.hex, LVM_ROLE_FAST, p->lvm.lv))
			return -1;
	}
	step_reached("convert", "fast");
	if (q->meta.make && lvm_create_metadata(q->args->ctx, &q->meta_volume, q->c.hex))
		return -1;
	if (q->meta.volume &&
	    lvm_tag_part(q->args->ctx, q->meta.lvm.name, q->c.hex, LVM_ROLE_METADATA, q->meta.lvm.lv))
		return -1;
	step_reached("convert", "volumes");
	return 0;
}

static int have_part(struct tier_context *ctx, struct part *p, struct device *d)
{
	if (p->make && (!candidate_find_made(ctx, &p->c) || !hold_part(ctx, p, false)))
		return -1;
	*d = p->c.dev;
	return 0;
}

/* Old data may have left a signature in places that LVM does not check. */
static int wipe_part(struct tier_context *ctx, const struct part *p)
{
	return p->make || p->c.carries ? wipe_all_of(ctx, &p->c.dev, p->fd, MEMBER_HEAD) : 0;
}

static int write_set(struct request *q)
{
	unsigned int i;

	if (make_parts(q))
		return -1;
	for (i = 0; i < q->nr_fast; i++)
		if (have_part(q->args->ctx, &q->fast[i], &q->c.fast[i]))
			return -1;
	if (have_part(q->args->ctx, &q->meta, &q->c.meta))
		return -1;
	q->c.nr_fast = q->nr_fast;
	q->c.origin = q->origin.dev;
	if (convert_check_twins(&q->c))
		return -1;
	for (i = 0; i < q->nr_fast; i++)
		if (wipe_part(q->args->ctx, &q->fast[i]))
			return -1;
	if (wipe_part(q->args->ctx, &q->meta))
		return -1;
	q->c.dm_name = q->dm_name;
	q->c.policy = q->policy;
	return convert_write(&q->c);
}

/* Only the device is missing. Returns an exit code. */
static int activate(struct tier_context *ctx, const char *set_hex, const char *name)
{
	int code = activate_uuid(ctx, set_hex);
	const struct set *s;
	struct set_list list;

	if (code != EXIT_FAILED)
		return code;
	/* The kernel may have used the set by now. */
	sets_load(ctx, &list, true);
	s = sets_find_hex(&list, set_hex);
	if (s && (convert_unused(s) || convert_unfinished(s)))
		convert_say_ways(ctx, name);
	sets_free(&list);
	return code;
}

static int convert_origin(struct request *q)
{
	const char *name = q->c.name, *set = q->lv ? name : q->dm_name;
	bool held;
	int fd, r;

	/* Meanwhile a question may have waited for its answer. */
	if (!check_origin_use(q))
		return EXIT_FAILED;
	step_reached("convert", "checked");
	held = hold_all(q, &fd) && lock_set(q->args->ctx, q->c.hex, name);
	if (held)
		context_set(q->args->ctx, q->c.hex, set);
	r = held ? write_set(q) : -1;
	let_go(q);
	if (fd >= 0)
		close(fd);
	if (!held)
		return EXIT_FAILED;
	if (r > 0) {
		err(q->args->ctx, ERR_IO,
		    "%s: nobody can say whether it has that label now. Make %s work again. Then undo the conversion: tierctl convert --abort %s",
		    name, name, set);
		return EXIT_FAILED;
	}
	if (r) {
		if (!convert_undo(q->args->ctx, q->c.hex, name, &q->origin.dev, ORIGIN_KNOWN))
			say(q->args->ctx, "%s: is as it was.", name);
		return EXIT_FAILED;
	}
	r = convert_finish(q->args->ctx, q->c.hex);
	return r ? r : activate(q->args->ctx, q->c.hex, set);
}

/*
 * At boot nobody is there to ask, and the names of disks may be others: /dev/sdb may be another disk
 * than today.
 */
static bool names_last(const struct request *q)
{
	const char *pv = q->args->value[OPT_FAST_PV];
	unsigned int i;

	for (i = 0; i <= q->nr_fast; i++) {
		const struct part *p = i < q->nr_fast ? &q->fast[i] : &q->meta;

		if (p->make)
			continue;
		if (p->c.carries) {
			err(q->args->ctx, ERR_NEEDS_FORCE, "%s: carries %s, and nobody is asked at boot. First: wipefs -a %s",
			    p->c.typed, p->c.carries, p->c.dev.path);
			return false;
		}
		if (!p->volume && strncmp(p->c.typed, "/dev/disk/by-", 13)) {
			err(q->args->ctx, ERR_UNSUITABLE,
			    "%s: may be another disk when the machine boots. Name it by a link in /dev/disk/by-id.",
			    p->c.typed);
			return false;
		}
	}
	if (pv && strncmp(pv, "/dev/disk/by-", 13) && strncmp(pv, "/dev/md", 7) && strncmp(pv, "/dev/mapper/", 12)) {
		err(q->args->ctx, ERR_UNSUITABLE,
		    "%s: may be another disk when the machine boots. Name it by a link in /dev/disk/by-id.", pv);
		return false;
	}
	return true;
}

/* This command, for the initramfs, which finds the volume by its UUID. An exit code. */
static int order(struct request *q)
{
	static const struct {
		enum option_id id;
		const char *name;
	} with_value[] = {
		{ OPT_FAST_SIZE, "--fast-size" }, { OPT_FAST_PV, "--fast-pv" }, { OPT_METADATA, "--metadata" },
		{ OPT_CHUNKSIZE, "--chunksize" }, { OPT_POLICY, "--policy" },
	};
	const struct args *args = q->args;
	struct strings words = { 0 };
	char *word;
	unsigned int i;
	int code;

	for (i = 0; i < sizeof(with_value) / sizeof(*with_value); i++) {
		if (!args->given[with_value[i].id])
			continue;
		word = xasprintf("%s=%s", with_value[i].name, args->value[with_value[i].id]);
		strings_add(&words, word);
		free(word);
	}
	for (i = 0; i < args->fast.nr; i++) {
		word = xasprintf("--fast=%s", args->fast.s[i]);
		strings_add(&words, word);
		free(word);
	}
	code = at_boot_order(args->ctx, q->c.name, &words);
	strings_free(&words);
	return code;
}

static int convert(struct request *q)
{
	char *version = NULL, *reason;
	uuid_t random;

	if (!q->args->ctx->dry_run && dm_tier_target(&version, &reason)) {
		err(q->args->ctx, ERR_KERNEL_REFUSED, "%s.", reason);
		free(reason);
		return EXIT_FAILED;
	}
	free(version);
	if (!check_origin(q) || !check_fast(q) || !check_metadata(q) || !check_volumes(q))
		return EXIT_FAILED;
	if (!q->lv && dm_name_exists(q->dm_name)) {
		err(q->args->ctx, ERR_EXISTS, "%s: a device of that name exists. Choose another.", q->dm_name);
		return EXIT_FAILED;
	}
	uuid_generate(random);
	memcpy(q->c.uuid, random, sizeof(q->c.uuid));
	uuid_to_hex(q->c.hex, q->c.uuid);
	say_plan(q);
	warn_of_loss(q);
	if (q->args->given[OPT_AT_BOOT])
		return names_last(q) ? order(q) : EXIT_FAILED;
	if (!agree_to_wipe(q))
		return EXIT_FAILED;
	if (!q->args->ctx->dry_run)
		return convert_origin(q);
	make_parts(q);
	say_rest(q);
	return EXIT_DONE;
}

/*
 * Calls that were cut short
 */

/*
 * Whether the argument is the device that the set was made of: with --name the set was found by
 * its name, whatever device is to be converted. -ENOENT, -ENOTBLK, -EIO.
 */
static int compare_origin(const struct request *q, const struct set *s, bool *same)
{
	struct device d;
	int r;

	*same = true;
	if (!q->args->given[OPT_NAME])
		return 0;
	r = device_from_name(q->args->word[0], &d);
	*same = !r && d.dev == s->tier[s->nr_tiers - 1].dev.dev;
	if (!r)
		device_free(&d);
	return r;
}

/* Whether an earlier call of this command made the set, and only the device is missing. */
static bool is_not_activated(const struct request *q, const struct set *s)
{
	bool remains = activate_has_remains(s), same = false;
	struct device d;
	struct member m;

	if (s->dm.table || !(s->lv || q->args->given[OPT_NAME]))
		return false;
	if (!remains)
		return s->have_info && s->info.state == TIER_STATE_LIVE && s->nr_tiers &&
		       !compare_origin(q, s, &same) && same;
	/* Without a table the device does not show what it is made of. */
	if (!q->args->given[OPT_NAME])
		return true;
	if (!device_from_name(q->args->word[0], &d)) {
		member_read(&d, &m);
		same = m.kind == MEMBER_TIER && !memcmp(m.label.set_uuid, s->uuid, TIER_UUID_SIZE);
		member_free(&m);
		device_free(&d);
	}
	return same;
}

static bool is_its_conversion(const struct request *q, const struct set *s)
{
	bool same;
	int r = compare_origin(q, s, &same);

	if (r)
		device_not_found(s->ctx, q->args->word[0], r);
	else if (!same)
		err(s->ctx, ERR_UNFINISHED,
		    "%s: its conversion, of %s, was interrupted, so %s needs another name. To let it go on: tierctl activate %s",
		    s->name, s->tier[s->nr_tiers - 1].dev.name, q->args->word[0], s->name);
	return same;
}

/* -1: the earlier call was undone; else an exit code. */
static int earlier_call(struct request *q, const char *set_hex, const char *name, const struct set *s)
{
	int code;

	if (!lock_set(q->args->ctx, set_hex, name))
		return EXIT_FAILED;
	if (s && convert_committed(s)) {
		if (!is_its_conversion(q, s))
			return EXIT_FAILED;
		if (!q->args->given[OPT_ABORT]) {
			say(q->args->ctx, "%s: its conversion was interrupted and goes on.", name);
			if (q->args->ctx->dry_run)
				return EXIT_DONE;
			code = convert_finish(q->args->ctx, set_hex);
			return code ? code : activate(q->args->ctx, set_hex, name);
		}
	}
	/* The argument may be the set's name, which stands for the device. */
	if (!q->origin.dev.path)
		device_from_name(q->args->word[0], &q->origin.dev);
	code = convert_undo(q->args->ctx, set_hex, name, q->origin.dev.path ? &q->origin.dev : NULL,
			    q->args->given[OPT_ABORT] ? ORIGIN_NAMED : ORIGIN_GUESSED);
	if (!code)
		say(q->args->ctx, "%s: what an interrupted call left %s.", name,
		    q->args->ctx->dry_run ? "would be cleaned up" : "is cleaned up");
	return code ? code : -1;
}

/*
 * Before its label is written, a device does not show that it is half-way into a set: the user
 * has to name it.
 */
static bool others_unfinished(const struct request *q)
{
	unsigned int i, nr = 0;

	for (i = 0; i < q->sets.nr; i++) {
		const struct set *s = &q->sets.set[i];
		bool unfinished = convert_unfinished(s), labelled = (unfinished && convert_committed(s)) || convert_unused(s);

		if (labelled && s->tier[s->nr_tiers - 1].dev.dev == q->origin.dev.dev)
			err(q->args->ctx, ERR_EXISTS,
			    "%s: is a part of %s by now. To undo its conversion: tierctl convert --abort %s",
			    q->args->word[0], s->name, s->name);
		else if (unfinished && !labelled)
			err(q->args->ctx, ERR_NOT_FOUND,
			    "%s: nothing to undo of that name. Was it for %s? Then: tierctl convert --abort %s --name %s",
			    q->args->word[0], s->name, q->args->word[0], s->name);
		else
			continue;
		nr++;
	}
	return nr;
}

/* As earlier_call(), with --abort, for a set that is complete except for its device. */
static int undo_unused(void *context, struct set *s)
{
	if (convert_unused(s) || convert_unfinished(s))
		return earlier_call(context, s->hex, s->name, s);
	err(s->ctx, ERR_UNSUITABLE,
	    "%s: has been used as a tiered set. To turn it into what it was: %s%s%stierctl revert %s",
	    s->name, s->active ? "" : "tierctl activate ", s->active ? "" : s->name,
	    s->active ? "" : ", then: ", s->name);
	return EXIT_FAILED;
}

/* -1: there was no earlier call, or it was undone; else an exit code. */
static int go_on(struct request *q, bool *undone)
{
	struct set *s = sets_find(&q->sets, q->args->given[OPT_NAME] ? q->args->value[OPT_NAME] :
				  q->args->word[0]);
	char *hex, *name;
	int code = -1;

	*undone = false;
	if (s && convert_unfinished(s)) {
		hex = xstrdup(s->hex);
		name = xstrdup(s->name);
		code = earlier_call(q, hex, name, s);
		*undone = code < 0;
		free(name);
		free(hex);
	} else if (s && q->args->given[OPT_ABORT]) {
		code = activate_has_remains(s) ? activate_without_remains(s, "convert", undo_unused, q) :
		       undo_unused(q, s);
	} else if (s && is_not_activated(q, s)) {
		say(q->args->ctx, "%s: is a tiered set already, and %s.", s->name,
		    q->args->ctx->dry_run ? "would be activated" : "not active");
		code = s->ctx->dry_run ? EXIT_DONE :
		       lock_set(s->ctx, s->hex, s->name) ? activate_uuid(s->ctx, s->hex) : EXIT_FAILED;
		if (code == EXIT_FAILED && convert_unused(s))
			convert_say_ways(q->args->ctx, s->name);
	} else if (s) {
		err(q->args->ctx, ERR_EXISTS, "%s: is a tiered set already.", s->name);
		code = EXIT_FAILED;
	} else if (q->volume) {
		/* The earlier call got only as far as LVM's tags. */
		hex = lvm_tag(q->volume, "set");
		name = xstrdup(q->volume->name);
		if (hex)
			code = earlier_call(q, hex, name, NULL);
		else if (q->args->given[OPT_ABORT])
			say(q->args->ctx, "%s: nothing to undo.", name);
		*undone = hex && code < 0;
		free(name);
		free(hex);
	} else if (q->args->given[OPT_ABORT]) {
		if (others_unfinished(q))
			code = EXIT_FAILED;
		else
			say(q->args->ctx, "%s: nothing to undo.", q->args->word[0]);
	}
	return code;
}

static bool find_origin(struct request *q)
{
	const char *typed = q->args->word[0];

	q->origin.typed = q->c.name = typed;
	if (!candidate_find(q->args->ctx, &q->origin))
		return false;
	q->lv = device_is_volume(q->origin.dev.dev);
	if (q->lv)
		q->dm_name = device_attribute(q->origin.dev.dev, "dm/name");
	else if (q->args->given[OPT_NAME])
		q->dm_name = xstrdup(q->args->value[OPT_NAME]);
	if (q->dm_name)
		return !q->lv || check_origin_volume(q);
	if (!q->args->given[OPT_ABORT])
		err(q->args->ctx, ERR_USAGE,
		    "%s: is no logical volume, so the tiered device needs a name: --name NAME", typed);
	return q->args->given[OPT_ABORT];
}

static void part_free(struct part *p)
{
	candidate_free(&p->c);
	lvm_parts_free(&p->list);
	free(p->name);
}

/* Starts again, as the state has changed. */
static void forget(struct request *q)
{
	sets_free(&q->sets);
	candidate_free(&q->origin);
	lvm_parts_free(&q->volumes);
	q->volume = NULL;
	free(q->dm_name);
	q->dm_name = NULL;
}

static int look_and_convert(struct request *q)
{
	const char *set_name = q->args->given[OPT_NAME] ? q->args->value[OPT_NAME] : q->args->word[0];
	bool undone;
	int code;

	sets_load(q->args->ctx, &q->sets, true);
	if (!sets_find(&q->sets, set_name) && !find_origin(q))
		return EXIT_FAILED;
	code = go_on(q, &undone);
	if (code >= 0)
		return code;
	if (q->args->given[OPT_ABORT])
		return EXIT_DONE;
	if (!undone)
		return convert(q);
	if (q->args->ctx->dry_run && q->volume && strstr(q->volume->tags, LVM_TAG ".set="))
		return EXIT_DONE;
	forget(q);
	sets_load(q->args->ctx, &q->sets, true);
	if (sets_find(&q->sets, set_name) && q->args->ctx->dry_run)
		return EXIT_DONE;
	return find_origin(q) ? convert(q) : EXIT_FAILED;
}

int cmd_convert(const struct args *args)
{
	struct request q = { .args = args, .c.ctx = args->ctx };
	unsigned int i;
	int code;

	if (args->given[OPT_AT_BOOT] && args->given[OPT_ABORT])
		return at_boot_forget(args->ctx, args->word[0]);
	code = parse_arguments(&q);
	for (i = 0; i < TIER_MAX_TIERS - 1; i++)
		q.fast[i].fd = -1;
	q.meta.fd = -1;
	if (!code)
		code = look_and_convert(&q);
	for (i = 0; i < TIER_MAX_TIERS - 1; i++)
		part_free(&q.fast[i]);
	part_free(&q.meta);
	forget(&q);
	lvm_volume_free(&q.fast_volume);
	lvm_metadata_free(&q.meta_volume);
	free(q.policy);
	return code;
}
