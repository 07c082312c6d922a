// SPDX-License-Identifier: GPL-2.0-only
#include "set/health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/size.h"
#include "base/util.h"
#include "dm/dm.h"
#include "dm/layer.h"
#include "format/geometry.h"
#include "set/hint.h"

/* The most levels that device-mapper itself allows. */
#define DEPTH_MAX	16
/* The unit in which dm-bufio reads and writes the metadata. */
#define METADATA_BLOCK	4096

const char *problem_word(enum problem_kind kind)
{
	static const char *const words[NR_PROBLEMS] = {
		[PROBLEM_MISSING] = "missing",
		[PROBLEM_REDUCED] = "reduced",
		[PROBLEM_SUSPENDED] = "suspended",
		[PROBLEM_ERROR] = "error",
		[PROBLEM_DEGRADED] = "degraded",
		[PROBLEM_READ_ONLY] = "read_only",
		[PROBLEM_BLOCKS] = "blocks",
	};

	return words[kind];
}

const char *problem_phrase(enum problem_kind kind)
{
	switch (kind) {
	case PROBLEM_ERROR:
		return "errors";
	case PROBLEM_READ_ONLY:
		return "read-only";
	case PROBLEM_BLOCKS:
		return "larger blocks";
	default:
		return problem_word(kind);
	}
}

bool health_has(const struct health *h, enum problem_kind kind)
{
	unsigned int i;

	for (i = 0; i < h->nr; i++)
		if (h->problem[i].kind == kind)
			return true;
	return false;
}

void health_free(struct health *h)
{
	while (h->nr) {
		h->nr--;
		free(h->problem[h->nr].device);
		free(h->problem[h->nr].text);
	}
}

/* The walk from the device of a tier, or of the metadata, downwards. */
struct look {
	struct set *s;
	int rank;
	const struct device *top;
	struct health *h;
	unsigned int depth;
	/* Not all devices below are needed: an array, or a target that is not followed. */
	bool opaque;
	dev_t array;
};

__attribute__((format(printf, 4, 5)))
static void add(struct look *l, enum problem_kind kind, const char *device, const char *fmt, ...)
{
	struct problem *p;
	va_list ap;

	if (health_has(l->h, kind))
		return;
	p = &l->h->problem[l->h->nr++];
	p->kind = kind;
	p->device = device ? xstrdup(device) : NULL;
	va_start(ap, fmt);
	p->text = xvasprintf(fmt, ap);
	va_end(ap);
}

/* "vg/a (tier 1)", "/dev/sdb (below tier 1, vg/a)"; the caller frees. */
static char *describe_position(const struct look *l, const struct device *d)
{
	char *part = l->rank < 0 ? xstrdup("the metadata") : xasprintf("tier %d", l->rank);
	char *text;

	if (d->dev == l->top->dev)
		text = xasprintf("%s (%s)", d->name, part);
	else
		text = xasprintf("%s (below %s, %s)", d->name, part, l->top->name);
	free(part);
	return text;
}

static int is_holder(void *context, dev_t holder)
{
	return holder == *(dev_t *)context;
}

/* The number of a removed disk may belong to another disk by now. */
static bool is_gone(dev_t leg, dev_t holder)
{
	return !device_for_each_holder(leg, is_holder, &holder);
}

static void look_at_blocks(struct look *l, const struct device *d)
{
	const char *what = l->rank < 0 ? "metadata" : "set";
	unsigned int have = METADATA_BLOCK;
	char *name;

	if (l->rank >= 0)
		have = device_attribute_number(l->s->dm.dev, "queue/logical_block_size");
	if (!l->s->active || !have || d->logical_block <= have)
		return;
	name = describe_position(l, d);
	if (l->rank < 0)
		add(l, PROBLEM_BLOCKS, d->name,
		    "%s has logical blocks of %u bytes now, and the %s is read and written in %u: give it back a device with such blocks",
		    name, d->logical_block, what, have);
	else
		add(l, PROBLEM_BLOCKS, d->name,
		    "%s has logical blocks of %u bytes now, and the %s has %u, so that smaller I/O fails. Give it back a device with such blocks, or: tierctl replace %s %d OTHER",
		    name, d->logical_block, what, have, l->s->name, l->rank);
	free(name);
}

static bool writes(const struct set *s)
{
	return !s->active || !(s->dm.read_only || strings_have(&s->status.features, "read_only"));
}

/* The way to make it writable depends on who made it read-only. */
static char *how_to_write(const struct device *d, const char *dm_name)
{
	char *level = device_attribute(d->dev, "md/level"), *text;

	if (device_is_volume(d->dev))
		text = xasprintf("lvchange -prw %s", d->name);
	else if (dm_name)
		text = xasprintf("dmsetup table --showkeys %s | dmsetup reload %s && dmsetup resume %s", dm_name, dm_name,
				 dm_name);
	else if (level)
		text = xasprintf("mdadm --readwrite %s", d->name);
	else
		text = xasprintf("blockdev --setrw %s", d->name);
	free(level);
	return text;
}

/* An array has one disk less; any other device has an error. */
static void add_lost(struct look *l, const struct device *d, const char *dm_name, const char *why)
{
	struct device array;
	char *name;

	if (l->opaque && !l->array)
		return;
	if (!l->array) {
		name = describe_position(l, d);
		if (device_is_volume(d->dev))
			add(l, PROBLEM_ERROR, d->name, "%s %s, I/O to it fails: lvchange --refresh %s", name, why, d->name);
		else
			add(l, PROBLEM_ERROR, d->name,
			    "%s %s, I/O to it fails: dmsetup reload %s, with the table that it had, and dmsetup resume %s",
			    name, why, dm_name, dm_name);
		free(name);
	} else if (!device_from_number(l->array, &array)) {
		name = describe_position(l, &array);
		if (device_is_volume(array.dev))
			add(l, PROBLEM_DEGRADED, array.name,
			    "%s has lost a leg: %s %s. When that is mended: lvchange --refresh %s, or to go on with another one: lvconvert --repair %s",
			    name, d->name, why, array.name, array.name);
		else
			add(l, PROBLEM_DEGRADED, array.name, "%s has lost a leg: %s %s", name, d->name, why);
		free(name);
		device_free(&array);
	}
}

/* The number of letters, in the health of a raid or mirror target, for a lost leg. */
static unsigned int count_lost(const char *letters, const char *good)
{
	unsigned int lost = 0;

	for (; *letters; letters++)
		lost += !strchr(good, *letters);
	return lost;
}

/* A leg that is being rebuilt does not count yet; during the first "resync" all legs do. */
static void judge_raid(struct look *l, const struct device *d, const char *params)
{
	char type[32] = "", letters[256] = "", ratio[48] = "", action[32] = "", *name;
	unsigned int nr = 0, lost, filled;

	if (sscanf(params, "%31s %u %255s %47s %31s", type, &nr, letters, ratio, action) < 3)
		return;
	lost = count_lost(letters, "Aa");
	filled = strcmp(action, "recover") ? 0 : count_lost(letters, "A") - lost;
	if (!lost && !filled)
		return;
	name = describe_position(l, d);
	if (!lost)
		add(l, PROBLEM_DEGRADED, d->name,
		    "%s has %u of %u legs until the other is filled: lvs -o name,copy_percent tells how far it is",
		    name, nr - filled, nr);
	else if (device_is_volume(d->dev))
		add(l, PROBLEM_DEGRADED, d->name,
		    "%s has lost %u of %u legs. When the disk is back: lvchange --refresh %s, or to go on with another one: lvconvert --repair %s",
		    name, lost, nr, d->name, d->name);
	else if (mirror_is_device(d->dev))
		add(l, PROBLEM_DEGRADED, d->name,
		    "the metadata on its tiers has lost %u of %u legs. Once the cause is gone: tierctl deactivate %s && tierctl activate %s, or take out that tier; the kernel log tells which",
		    lost, nr, l->s->name, l->s->name);
	else
		add(l, PROBLEM_DEGRADED, d->name, "%s has lost %u of %u legs: dmsetup status %s tells which", name, lost, nr,
		    d->name);
	free(name);
}

/* <#legs> <leg>{#legs} <synced>/<regions> 1 <letter a leg> ... */
static void judge_mirror(struct look *l, const struct device *d, const char *params)
{
	unsigned int i, nr, lost;
	const char *letters = NULL;
	struct words w;
	char *name;

	words_init(&w, params);
	nr = words_count(&w, 64);
	for (i = 0; i < nr + 3; i++)
		letters = words_next(&w);
	lost = letters ? count_lost(letters, "A") : 0;
	if (lost) {
		name = describe_position(l, d);
		add(l, PROBLEM_DEGRADED, d->name, "%s has lost %u of %u legs: lvconvert --repair %s", name, lost, nr, d->name);
		free(name);
	}
	words_free(&w);
}

static void skip_counted(struct words *w)
{
	unsigned int nr = words_count(w, 64);

	while (nr--)
		words_next(w);
}

/*
 * Two counted lists, <#groups> <next group>, then for each group <state>, a counted list, <#paths> <#arguments>
 * and for each path <device> <A or F> <failures> and those arguments
 */
static void judge_paths(struct look *l, const struct device *d, const char *table, const char *params)
{
	unsigned int groups, nr, lost = 0, all = 0, arguments, i;
	struct words w;
	char *name;

	words_init(&w, params);
	skip_counted(&w);
	skip_counted(&w);
	groups = words_count(&w, 1024);
	words_next(&w);
	while (groups-- && !w.failed) {
		words_next(&w);
		skip_counted(&w);
		nr = words_count(&w, 1024);
		arguments = words_count(&w, 64);
		for (; nr-- && !w.failed; all++) {
			words_next(&w);
			lost += !strcmp(words_next(&w) ?: "A", "F");
			for (i = 0; i <= arguments; i++)
				words_next(&w);
		}
	}
	name = describe_position(l, d);
	if (!w.failed && all && lost == all)
		add(l, PROBLEM_DEGRADED, d->name, "%s has lost all of its %u paths, I/O to it %s: multipath -ll %s",
		    name, all, strstr(table, "queue_if_no_path") ? "waits for one" : "fails", d->name);
	else if (!w.failed && lost)
		add(l, PROBLEM_DEGRADED, d->name, "%s has lost %u of %u paths: multipath -ll %s", name, lost, all, d->name);
	free(name);
	words_free(&w);
}

/* By its table and its status */
static void judge_array(struct look *l, const struct device *d, const char *table)
{
	struct dm_line *lines;
	unsigned int i, nr;

	if (dm_status_lines(d->dev, &lines, &nr))
		return;
	for (i = 0; i < nr; i++) {
		if (!strcmp(lines[i].type, "raid"))
			judge_raid(l, d, lines[i].params);
		if (!strcmp(lines[i].type, "mirror"))
			judge_mirror(l, d, lines[i].params);
		if (!strcmp(lines[i].type, "multipath"))
			judge_paths(l, d, table, lines[i].params);
	}
	dm_lines_free(lines, nr);
}

/* A line of the table says what happens to I/O, and which devices are below. */
static void look_at_line(struct look *l, const struct device *d, const char *dm_name, const struct dm_line *line)
{
	struct layer layer;
	unsigned int i;

	if (!strcmp(line->type, "error")) {
		add_lost(l, d, dm_name, "has a table of \"error\"");
		return;
	}
	if (!strcmp(line->type, "raid") || !strcmp(line->type, "mirror") || !strcmp(line->type, "multipath")) {
		if (!l->opaque)
			judge_array(l, d, line->params);
		if (!l->opaque && strcmp(line->type, "multipath"))
			l->array = d->dev;
		l->opaque = true;
		return;
	}
	layer_parse(line->start, line->length, line->type, line->params, &layer);
	if (!layer.followed && strcmp(line->type, "zero"))
		l->opaque = true;
	for (i = 0; i < layer.nr_legs; i++)
		if (layer.followed && is_gone(layer.leg[i].dev, d->dev))
			add_lost(l, d, dm_name, "is on a disk that is gone");
	layer_free(&layer);
}

static void look_at_md(struct look *l, const struct device *d)
{
	uint64_t lacking = device_attribute_number(d->dev, "md/degraded");
	uint64_t disks = device_attribute_number(d->dev, "md/raid_disks");
	char *action = device_attribute(d->dev, "md/sync_action");
	char *name = describe_position(l, d);

	if (lacking && action && !strcmp(action, "recover"))
		add(l, PROBLEM_DEGRADED, d->name,
		    "%s has %llu of %llu disks until the other is filled: mdadm --detail %s tells how far it is", name,
		    (unsigned long long)(disks - lacking), (unsigned long long)disks, d->name);
	else if (lacking)
		add(l, PROBLEM_DEGRADED, d->name, "%s has lost %llu of %llu disks: mdadm --manage %s --add DISK", name,
		    (unsigned long long)lacking, (unsigned long long)disks, d->name);
	l->array = d->dev;
	l->opaque = true;
	free(action);
	free(name);
}

static int look_at(void *context, dev_t dev);

static void look_at_device(struct look *l, const struct device *d)
{
	char *dm_name = device_attribute(d->dev, "dm/name"), *level = device_attribute(d->dev, "md/level");
	char *name = describe_position(l, d), *how;
	bool moved = device_uuid_begins(d->dev, MIRROR_UUID_PREFIX);
	struct dm_line *lines;
	unsigned int i, nr;

	/* What a killed move of the metadata left is put in order by tierctl. */
	if (device_attribute_number(d->dev, "dm/suspended"))
		add(l, PROBLEM_SUSPENDED, d->name, "%s is suspended, I/O to it waits: %s %s", name,
		    moved ? "tierctl resize --abort" : "dmsetup resume", moved ? l->s->name : dm_name);
	if (!l->opaque && d->read_only && writes(l->s)) {
		how = how_to_write(d, dm_name);
		add(l, PROBLEM_READ_ONLY, d->name, "%s is read-only: %s", name, how);
		free(how);
	}
	/* The device below may have larger blocks: a loop device takes any. */
	if (d->dev == l->top->dev)
		look_at_blocks(l, d);
	if (dm_name && !dm_table_lines(d->dev, &lines, &nr)) {
		for (i = 0; i < nr; i++)
			look_at_line(l, d, dm_name, &lines[i]);
		dm_lines_free(lines, nr);
	}
	if (level && !l->opaque)
		look_at_md(l, d);
	device_for_each_under(d->dev, look_at, l);
	free(name);
	free(level);
	free(dm_name);
}

static int look_at(void *context, dev_t dev)
{
	struct look *l = context;
	bool opaque = l->opaque;
	dev_t array = l->array;
	struct device d;

	if (l->depth == DEPTH_MAX || device_from_number(dev, &d))
		return 0;
	l->depth++;
	look_at_device(l, &d);
	l->depth--;
	/* The other lines do not belong to it. */
	l->opaque = opaque;
	l->array = array;
	device_free(&d);
	return 0;
}

static char *how_to_enlarge(const struct device *d, uint64_t size)
{
	if (device_is_volume(d->dev))
		return xasprintf("lvextend -L %llus %s", (unsigned long long)(size / SECTOR_SIZE), d->name);
	return xstrdup("give it back what it had");
}

/* The size in bytes that a tier had when the set read it last, which it must still have. */
static uint64_t tier_needs(struct set *s, unsigned int rank)
{
	struct tier_meta_tier records[TIER_MAX_TIERS];
	const struct set_tier *t = &s->tier[rank];
	unsigned int i, nr;

	if (!s->active)
		return t->size;
	if (!set_read_records(s, records, &nr))
		for (i = 0; i < nr; i++)
			if (records[i].id == t->id)
				return records[i].size * SECTOR_SIZE;
	return (t->places * s->chunk_sectors + (t->first_place ? t->first_place * s->chunk_sectors :
		tier_label_area(s->chunk_sectors))) * SECTOR_SIZE;
}

/* The same for the metadata device; 0 if unknown. */
static uint64_t metadata_needs(const struct set *s)
{
	struct md_space_map_root root;

	if (s->active)
		return s->status.metadata_total * s->status.metadata_block * SECTOR_SIZE;
	if (!s->have_info)
		return 0;
	memcpy(&root, s->roots.space_map, sizeof(root));
	return le64toh(root.nr_blocks) * MD_BLOCK;
}

/* lvreduce shortens volumes in use. */
static void look_at_size(struct look *l)
{
	struct set *s = l->s;
	const struct set_tier *t = l->rank < 0 ? NULL : &s->tier[l->rank];
	const struct device *d = l->top;
	char a[SIZE_TEXT], b[SIZE_TEXT], *how;
	uint64_t need = t ? 0 : metadata_needs(s);

	if (t && t->places && (set_tier_places(s, l->rank) < t->places || (!s->active && d->size < t->size)))
		need = tier_needs(s, l->rank);
	if (d->size >= need)
		return;
	how = how_to_enlarge(d, need);
	format_size(a, d->size);
	format_size(b, need);
	if (t)
		add(l, PROBLEM_REDUCED, d->name,
		    "tier %d (%s) has been reduced to %s of %s; what lay behind is I/O errors or lost. Before anything else takes the room: %s",
		    l->rank, d->name, a, b, how);
	else
		add(l, PROBLEM_REDUCED, d->name,
		    "the metadata device %s has been reduced to %s of %s. Before anything else takes the room: %s",
		    d->name, a, b, how);
	free(how);
}

static void tell_missing(struct look *l)
{
	const struct set *s = l->s;
	const struct set_tier *t = l->rank < 0 ? NULL : &s->tier[l->rank];
	const char *back = t ? t->back : s->meta_back, *last = t ? t->last_seen : "";
	char *part = t ? xasprintf("tier %d", l->rank) : xstrdup("its metadata device");
	char *seen = *last ? xasprintf(" (last seen as /dev/%s)", last) : xstrdup("");
	char *hint = t && !back ? relabel_hint(s, l->rank) : NULL;

	if (back)
		add(l, PROBLEM_MISSING, NULL,
		    "%s%s is missing, and back as %s, which the set takes when it is activated: tierctl deactivate %s && tierctl activate %s",
		    part, seen, back, s->name, s->name);
	else if (hint)
		add(l, PROBLEM_MISSING, NULL, "%s is missing, or has lost its label: %s", part, hint);
	else if (t)
		add(l, PROBLEM_MISSING, NULL, "%s%s is missing", part, seen);
	else
		add(l, PROBLEM_MISSING, NULL,
		    "%s is gone, and the next change of the metadata ends in failure. When it is back: tierctl deactivate %s && tierctl activate %s",
		    part, s->name, s->name);
	free(hint);
	free(seen);
	free(part);
}

/*
 * A missing part of an inactive set may still be in its old place, and be unreadable because of
 * a problem.
 */
static void look_at_last_seen(struct look *l)
{
	char *path = xasprintf("/dev/%s", l->s->tier[l->rank].last_seen);
	struct device d;

	if (!device_from_name(path, &d)) {
		l->top = &d;
		if (device_waits(d.dev))
			look_at(l, d.dev);
		device_free(&d);
	}
	free(path);
}

void health_look(struct set *s, int rank, struct health *h)
{
	struct look l = { .s = s, .rank = rank, .h = h };

	memset(h, 0, sizeof(*h));
	if (rank < 0 ? s->have_meta : s->tier[rank].present) {
		l.top = rank < 0 ? &s->meta_dev : &s->tier[rank].dev;
		look_at_size(&l);
		look_at(&l, l.top->dev);
	} else if (rank >= 0 || (s->active && s->have_table)) {
		tell_missing(&l);
		if (!s->active && *s->tier[rank].last_seen)
			look_at_last_seen(&l);
	}
}
