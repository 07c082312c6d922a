// SPDX-License-Identifier: GPL-2.0-only
#include "ops/convert.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/context.h"
#include "base/size.h"
#include "base/step.h"
#include "base/util.h"
#include "format/build.h"
#include "format/content.h"
#include "format/geometry.h"
#include "format/metadata.h"
#include "lvm/lvm-check.h"
#include "ops/label-area.h"
#include "ops/parts.h"
#include "ops/revert.h"
#include "set/bare.h"
#include "set/find.h"
#include "set/state.h"
#include "set/twin.h"
#include "set/volumes.h"
#include "set/wipe.h"

#define COPY_BYTES	(1ULL << 20)
#define GENERATION	1
/* The label is written to the very first sector of the old device. */
#define LABEL		0

void convert_arrange(struct conversion *c, uint64_t origin_size)
{
	c->length = origin_size / SECTOR_SIZE;
	c->nr_chunks = (c->length + c->chunk_sectors - 1) / c->chunk_sectors;
	c->first_place = tier_label_area(c->chunk_sectors) / c->chunk_sectors;
	c->displaced = c->first_place + !!(c->length % c->chunk_sectors);
}

/* Before the label */

static void fill_tier(struct tier_meta_tier *t, const struct conversion *c, unsigned int id)
{
	const struct device *d = id < c->nr_fast ? &c->fast[id] : &c->origin;

	t->id = t->rank = id;
	uuid_generate(t->uuid);
	t->size = d->size / SECTOR_SIZE;
	t->first_place = c->first_place;
	t->places = geometry_places(t->size, c->chunk_sectors, 0);
	t->generation = GENERATION;
	t->landing = 1;
	copy_string(t->last_seen, sizeof(t->last_seen), d->path + strlen("/dev/"));
}

/* The place on the first tier for the n-th chunk that cannot stay in its own place. */
static uint64_t refuge(const struct conversion *c, uint64_t n)
{
	return c->first_place + n;
}

static uint64_t displaced_chunk(const struct conversion *c, uint64_t n)
{
	return n < c->first_place ? n : c->nr_chunks - 1;
}

static u64 entry(uint64_t place, unsigned int id)
{
	return TIER_ENTRY_MAPPED | (u64)id << TIER_ENTRY_ID_SHIFT | place;
}

static void fill_content(struct md_content *m, const struct conversion *c)
{
	struct tier_meta_info info = {
		.state = TIER_STATE_CONVERTING,
		.flags = TIER_SB_CLEAN,
		.chunk_sectors = c->chunk_sectors,
		.nr_chunks = c->nr_chunks,
		.length = c->length,
		.generation = GENERATION,
		.next_generation = GENERATION,
		.trans_id = 1,
	};
	uint64_t places = 0, v;
	unsigned int i;

	memcpy(info.uuid, c->uuid, sizeof(info.uuid));
	copy_string(info.name, sizeof(info.name), c->dm_name);
	copy_string(info.policy, sizeof(info.policy), c->policy);
	info.logical_block_size = c->origin.logical_block;
	md_content_init(m, &info);
	m->tiers.nr = c->nr_fast + 1;
	for (i = 0; i < m->tiers.nr; i++) {
		fill_tier(&m->tiers.tier[i], c, i);
		places += m->tiers.tier[i].places;
	}
	m->info.reserve = geometry_reserve(places);
	for (v = c->first_place; v < c->nr_chunks; v++)
		m->mapping[v] = entry(v, c->nr_fast);
	for (v = 0; v < c->displaced; v++)
		m->mapping[displaced_chunk(c, v)] = entry(refuge(c, v), 0);
}

/* 0 or -errno. */
static int copy(int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t len, void *buf)
{
	uint64_t done = 0;
	int r = 0;

	while (!r && done < len) {
		size_t piece = len - done < COPY_BYTES ? len - done : COPY_BYTES;

		r = read_blocks(from, from_offset + done, buf, piece);
		if (!r)
			r = write_fully(to, to_offset + done, buf, piece);
		done += piece;
	}
	return r;
}

static int copy_displaced(const struct conversion *c)
{
	uint64_t chunk = c->chunk_sectors * SECTOR_SIZE, end = c->length * SECTOR_SIZE, n;
	int fast = device_open(&c->fast[0], O_RDWR), r = fast < 0 ? fast : 0;
	/* Read past the cache, as buffers may be out of date. */
	int origin = device_open(&c->origin, O_RDONLY);
	void *buf = block_buffer(COPY_BYTES);

	c->ctx->changed = true;
	if (origin < 0)
		r = origin;
	for (n = 0; !r && n < c->displaced; n++) {
		uint64_t at = displaced_chunk(c, n) * chunk, to = refuge(c, n) * chunk;
		uint64_t len = at + chunk > end ? end - at : chunk;

		r = copy(origin, at, fast, to, len, buf);
		/* A set that grows shows the rest of its last chunk. */
		if (!r && len < chunk)
			r = zero_blocks(fast, to + len, chunk - len);
	}
	if (!r && fsync(fast))
		r = -errno;
	if (r)
		err(c->ctx, error_from(-r), "%s: the beginning of %s cannot be copied to it: %s.",
		    c->fast[0].name, c->name, strerror(-r));
	if (fast >= 0)
		close(fast);
	if (origin >= 0)
		close(origin);
	free(buf);
	return r;
}

/*
 * Writes a block of the device, which is written whole or not at all. A device that reports an
 * error may have written the label all the same, now or later: it gets its old block back. 1,
 * with the error said, if that failed, too.
 */
static int write_label(const struct conversion *c, const struct tier_meta_tier *t, const struct device *d)
{
	struct tier_label_info label = {
		.id = t->id,
		.size = t->size,
		.places_at = c->first_place * c->chunk_sectors,
		.chunk_sectors = c->chunk_sectors,
		.generation = GENERATION,
	};
	int fd = device_open(d, O_RDWR | O_DIRECT), r = fd < 0 ? fd : 0;
	void *slot = block_buffer(TIER_LABEL_SLOT_SIZE), *block = block_buffer(d->logical_block);
	void *old = block_buffer(d->logical_block);
	bool lost = false;

	memcpy(label.set_uuid, c->uuid, sizeof(label.set_uuid));
	memcpy(label.tier_uuid, t->uuid, sizeof(label.tier_uuid));
	copy_string(label.name, sizeof(label.name), c->dm_name);
	tier_label_pack(slot, &label);
	/* The rest of the block is still data of the old device. */
	if (!r)
		r = read_blocks(fd, LABEL, old, d->logical_block);
	if (!r) {
		memcpy(block, old, d->logical_block);
		memcpy(block, slot, TIER_LABEL_SIZE);
		r = write_durably(fd, LABEL, block, d->logical_block);
		lost = r && write_durably(fd, LABEL, old, d->logical_block);
	}
	if (fd >= 0)
		close(fd);
	free(slot);
	free(block);
	free(old);
	if (r)
		err(c->ctx, error_from(-r), "%s: cannot be labelled: %s.", d->name, strerror(-r));
	return lost ? 1 : r;
}

static int write_metadata(const struct conversion *c, const struct md_content *m)
{
	int fd = device_open(&c->meta, O_RDWR), r = fd;

	if (fd >= 0) {
		r = md_build(fd, c->meta.size / TIER_METADATA_BLOCK_SIZE, m);
		close(fd);
	}
	if (r < 0)
		err(c->ctx, error_from(-r), "%s: the metadata cannot be written: %s.", c->meta.name,
		    strerror(-r));
	return r < 0 ? r : 0;
}

/*
 * With the label the old device is a tier, and the rest of its label area must be cleared before
 * a program takes it for the old device. convert_finish() clears the rest after an interruption.
 */
static int commit(const struct conversion *c, const struct tier_meta_tier *t)
{
	sigset_t before;
	int r;

	hold_signals(&before);
	r = write_label(c, t, &c->origin);
	if (!r) {
		step_reached("convert", "committed");
		if (!label_area_zero(&c->origin, c->chunk_sectors, 0, 0))
			step_reached("convert", "cleared");
	}
	release_signals(&before);
	return r;
}

int convert_check_twins(const struct conversion *c)
{
	unsigned int i, k;
	int r = twins_refuse(c->ctx, &c->meta, &c->origin);

	for (i = 0; !r && i < c->nr_fast; i++) {
		r = twins_refuse(c->ctx, &c->fast[i], &c->origin) ? : twins_refuse(c->ctx, &c->fast[i], &c->meta);
		for (k = 0; !r && k < i; k++)
			r = twins_refuse(c->ctx, &c->fast[i], &c->fast[k]);
	}
	return r;
}

int convert_write(const struct conversion *c)
{
	struct md_content m;
	unsigned int i;
	int r;

	fill_content(&m, c);
	r = write_metadata(c, &m);
	if (!r) {
		step_reached("convert", "metadata");
		r = copy_displaced(c);
	}
	if (!r) {
		step_reached("convert", "copied");
		/*
		 * The kernel does this for a tier that joins; here the tiers have joined
		 * already.
		 */
		for (i = 0; !r && i < c->nr_fast; i++)
			r = label_area_clear(c->ctx, &c->fast[i], c->chunk_sectors, LABEL) ||
			    write_label(c, &m.tiers.tier[i], &c->fast[i]) ? -EIO : 0;
	}
	if (!r) {
		step_reached("convert", "labelled");
		r = commit(c, &m.tiers.tier[c->nr_fast]);
	}
	md_content_free(&m);
	return r < 0 ? -1 : r;
}

/* After the label */

bool convert_unfinished(const struct set *s)
{
	return !s->active && s->have_info && s->info.state == TIER_STATE_CONVERTING && s->nr_tiers;
}

bool convert_committed(const struct set *s)
{
	return s->tier[s->nr_tiers - 1].present;
}

bool convert_unused(const struct set *s)
{
	return !s->active && s->have_info && s->info.state == TIER_STATE_LIVE && s->info.generation == GENERATION &&
	       s->have_records && s->nr_tiers && convert_committed(s);
}

static char *part_name(const struct lvm_part *p, const char *old, const char *origin)
{
	if (lvm_has_role(p, LVM_ROLE_ORIGIN))
		return xasprintf("%s%s", old, LVM_ORIGIN_SUFFIX);
	if (lvm_has_role(p, LVM_ROLE_METADATA))
		return xasprintf("%s%s", origin, LVM_METADATA_SUFFIX);
	return xasprintf("%s%s", old, LVM_FAST_SUFFIX);
}

/*
 * Parts with a tag of their old name existed before. The set is known by the origin's name; the
 * other names do not matter.
 */
static int rename_parts(struct tier_context *ctx, const struct lvm_parts *parts, const char *origin)
{
	unsigned int i;
	int r = 0;

	for (i = 0; !r && i < parts->nr; i++) {
		const struct lvm_part *p = &parts->part[i];
		bool is_origin = lvm_has_role(p, LVM_ROLE_ORIGIN);
		char *old = lvm_tag(p, "name"), *new = old ? part_name(p, old, origin) : NULL;

		if (old && !strcmp(p->lv, old) && strcmp(old, new)) {
			r = lvm_rename(ctx, p->vg, old, new);
			if (!r)
				step_reached("convert", is_origin ? "renamed" : "renamed-part");
			else if (!is_origin)
				warn(ctx,
				     "%s: keeps its name, which does no harm. To give it the usual name: lvrename %s %s %s",
				     p->name, p->vg, old, new);
			r = is_origin ? r : 0;
		}
		free(old);
		free(new);
	}
	return r;
}

/* Whether a volume still has the set's name, and LVM does not know that it is the origin. */
static int tags_lost(const struct set *s)
{
	bool lost = false;
	unsigned int i;
	char *command;

	for (i = 0; i < s->nr_tiers && !lost; i++) {
		const struct device *d = &s->tier[i].dev;
		char *name = device_is_volume(d->dev) ? device_attribute(d->dev, "dm/name") : NULL;
		const char *old = strchr(d->name, '/');

		lost = name && old && !strcmp(name, s->dm_name);
		free(name);
		if (!lost)
			continue;
		command = lvm_tag_command(s->ctx, d->name, s->hex, LVM_ROLE_ORIGIN, old + 1);
		err(s->ctx, ERR_LVM_REFUSED,
		    "%s: %s has lost its tags, by which it would make way for the set. Type: %s",
		    s->name, d->name, command);
		free(command);
	}
	return lost ? -1 : 0;
}

/* Without a placeholder LVM may give the name away; then status says what to do. */
static void make_placeholder(struct tier_context *ctx, const struct lvm_part *origin, const char *name,
			     const char *set_hex)
{
	char *command;

	if (!lvm_create_placeholder(ctx, origin->vg, name, origin->size, set_hex)) {
		step_reached("convert", "placeholder");
		return;
	}
	command = lvm_placeholder_command(ctx, origin->vg, name, origin->size, set_hex);
	warn(ctx, "%s/%s: LVM has no volume that keeps the name for the set. When LVM can make one: %s",
	     origin->vg, name, command);
	free(command);
}

static int arrange_volumes(const struct set *s)
{
	const struct lvm_part *origin;
	struct lvm_parts parts;
	char *name = NULL;
	int r = lvm_list_set(s->ctx, s->hex, &parts);

	origin = r ? NULL : lvm_find_role(&parts, LVM_ROLE_ORIGIN);
	if (origin)
		name = lvm_tag(origin, "name");
	if (name) {
		r = rename_parts(s->ctx, &parts, name);
		if (!r && !lvm_find_role(&parts, LVM_ROLE_PLACEHOLDER))
			make_placeholder(s->ctx, origin, name, s->hex);
	} else if (!r) {
		r = tags_lost(s);
	}
	lvm_parts_free(&parts);
	free(name);
	return r;
}

void convert_say_ways(struct tier_context *ctx, const char *name)
{
	err(ctx, ERR_UNFINISHED,
	    "%s: its data is safe, but it is not complete yet. To go on, once the cause is gone: tierctl activate %s. To go back: tierctl convert --abort %s",
	    name, name, name);
}

int convert_finish(struct tier_context *ctx, const char *set_hex)
{
	int code = EXIT_FAILED, r;
	struct set_list list;
	struct set *s;

	sets_load(ctx, &list, true);
	s = sets_find_hex(&list, set_hex);
	if (!s || !s->have_meta || set_missing(s)) {
		err(ctx, ERR_DEGRADED, "%s: its conversion cannot go on, devices are missing.",
		    s ? s->name : set_hex);
	} else if (!convert_unfinished(s)) {
		/* Another process was faster. */
		code = EXIT_DONE;
	} else if (!set_parts_known(s)) {
		code = EXIT_FAILED;
	} else {
		r = label_area_clear_tier(s, &s->tier[s->nr_tiers - 1].dev, "convert");
		if (!r && (!set_has_volumes(s) || !arrange_volumes(s)) && !set_write_state(s, TIER_STATE_LIVE, 0)) {
			step_reached("convert", "live");
			code = EXIT_DONE;
		} else if (r != -ESTALE) {
			convert_say_ways(ctx, s->name);
		}
	}
	sets_free(&list);
	return code;
}

/* Going back */

static int wipe_parts(const struct set *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++) {
		if (!s->tier[i].present)
			continue;
		if (s->ctx->dry_run)
			say(s->ctx, "Would wipe the label on %s.", s->tier[i].dev.name);
		else if (wipe_labels(s->ctx, &s->tier[i].dev, s->uuid))
			return -1;
	}
	if (s->ctx->dry_run)
		say(s->ctx, "Would wipe the metadata on %s.", s->meta_dev.name);
	else if (wipe_superblock(s->ctx, &s->meta_dev, s->uuid))
		return -1;
	return 0;
}

char *convert_rest_command(struct tier_context *ctx, const char *set_hex, const char *name, const char *command)
{
	const struct lvm_part *origin = NULL;
	struct lvm_parts parts = { 0 };
	struct set_list list;
	char *rest;

	sets_load(ctx, &list, true);
	if (!sets_find_hex(&list, set_hex) && lvm_installed() && !lvm_list_set(ctx, set_hex, &parts))
		origin = lvm_find_role(&parts, LVM_ROLE_ORIGIN);
	/* The set is gone; its volumes lead to the rest. */
	if (!origin && parts.nr)
		rest = xasprintf("tierctl destroy %s", parts.part[0].name);
	else
		rest = xasprintf("tierctl %s %s", command, origin ? origin->name : name);
	lvm_parts_free(&parts);
	sets_free(&list);
	return rest;
}

/* The volume that LVM's tags name, present or not. -1: unknown. */
static int tagged_origin(struct tier_context *ctx, const char *set_hex, char **name)
{
	const struct lvm_part *origin;
	struct lvm_parts parts = { 0 };
	int r = lvm_installed() ? lvm_list_set(ctx, set_hex, &parts) : 0;

	*name = NULL;
	origin = r ? NULL : lvm_find_role(&parts, LVM_ROLE_ORIGIN);
	if (origin)
		*name = xstrdup(origin->name);
	lvm_parts_free(&parts);
	return r;
}

/* Nobody can say how far the conversion of an inactive volume came. */
static void say_inactive(struct tier_context *ctx, const char *name, const char *volume)
{
	struct lvm_parts list = { 0 };
	char *advice = !lvm_list(ctx, volume, &list) && list.nr ? lvm_activation_advice(ctx, &list.part[0]) :
		       xasprintf("lvchange -ay %s", volume);

	err(ctx, ERR_INACTIVE,
	    "%s: %s, which was to be converted, is not active, so nobody can say how far that came. First: %s",
	    name, volume, advice);
	free(advice);
	lvm_parts_free(&list);
}

static bool any_present(const struct set *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].present)
			return true;
	return false;
}

/*
 * Finds the device that was to be converted: false, with the error said, if it is not there or
 * cannot be read. A missing label can mean that the device is missing.
 */
static bool find_origin(struct tier_context *ctx, const struct set *s, const char *set_hex, const char *name,
			const struct device *typed, enum convert_origin sure, struct device *d)
{
	const struct set_tier *t = s && s->have_records && s->nr_tiers ? &s->tier[s->nr_tiers - 1] : NULL;
	bool found = false, fits = typed && (!t || sure == ORIGIN_KNOWN || t->size <= typed->size);
	char *volume, *path = NULL;

	if (tagged_origin(ctx, set_hex, &volume))
		return false;
	if (volume) {
		found = !device_from_name(volume, d);
		if (!found)
			say_inactive(ctx, name, volume);
	} else if (fits && (!t || sure == ORIGIN_KNOWN || bare_begins_as(s, typed))) {
		device_copy(d, typed);
		found = true;
	} else if (fits && sure == ORIGIN_NAMED) {
		found = ctx->dry_run ||
			ask(ctx, any_present(s) ?
			    "%s: %s does not begin with what is kept of the device that was to be converted (then /dev/%s). Is it that device, so that this can go?" :
			    "%s: no tier is there, so nothing tells whether %s is the device that was to be converted (then /dev/%s). Is it that device, so that this can go?",
			    name, typed->name, t->last_seen);
		if (found)
			device_copy(d, typed);
	} else if (t) {
		/* The old name may belong to another device now. */
		path = xasprintf("/dev/%s", t->last_seen);
		found = !device_from_name(path, d);
		if (found && (d->size != t->size || !bare_begins_as(s, d))) {
			device_free(d);
			found = false;
		}
		if (!found)
			err(ctx, ERR_DEGRADED,
			    "%s: the device that was to be converted (then %s) is not seen, so nobody can say how far that came. Connect it. If it is there without a label, nothing was changed: tierctl convert --abort DEV --name %s",
			    name, path, name);
	} else {
		err(ctx, ERR_DEGRADED, "%s: the device that was to be converted is not known.", name);
	}
	free(path);
	free(volume);
	return found;
}

/* Chunks that lie in their own places on the origin. */
static struct own_places own_places_of(const struct set *s)
{
	const struct set_tier *t = &s->tier[s->nr_tiers - 1];
	uint64_t first = tier_label_area(s->chunk_sectors) / s->chunk_sectors, end = first + t->places;

	return (struct own_places){
		.first = first < s->info.nr_chunks ? first : s->info.nr_chunks,
		.end = end < s->info.nr_chunks ? end : s->info.nr_chunks,
	};
}

/*
 * Gives the names back, then removes the label. The caller holds the origin, so that nobody
 * activates the set.
 */
static int take_label_back(struct set *s, const struct own_places *own_places)
{
	char *no_device = NULL;
	int r = 0;

	/* From here on the state is converting, so the conversion can go on, or be undone. */
	if (s->info.state != TIER_STATE_CONVERTING)
		r = set_write_state(s, TIER_STATE_CONVERTING, 0);
	if (!r && lvm_installed())
		r = revert_names(s->ctx, s->hex, &no_device);
	if (!r) {
		step_reached("convert-abort", "named");
		r = revert_unused(s, s->nr_tiers - 1, own_places, true);
	}
	if (r)
		err(s->ctx, ERR_UNFINISHED,
		    "%s: cannot be undone yet. Once the cause is gone: tierctl convert --abort %s. To go on instead: tierctl activate %s",
		    s->name, s->name, s->name);
	return r;
}

/* Turns a set that nobody has used back into the origin. 0, or an error, said. */
static int take_back(struct set *s)
{
	struct set_tier *t = &s->tier[s->nr_tiers - 1];
	struct own_places own_places = own_places_of(s);
	char *no_device = NULL;
	uint64_t label;
	int fd, r = -ESTALE;

	/*
	 * If the metadata is of another time, its copy of the label area is older than the
	 * origin.
	 */
	if (set_stale(s))
		err(s->ctx, ERR_STALE,
		    "%s: its devices and its metadata are not of one time, so nothing is undone with them. Which: tierctl status %s",
		    s->name, s->name);
	else
		r = label_area_untouched(s, &t->dev, "convert", &label);
	if (!r)
		r = revert_unused(s, s->nr_tiers - 1, &own_places, false);
	if (r == -EAGAIN)
		err(s->ctx, ERR_INACTIVE,
		    "%s: chunks of it have moved. Type: tierctl activate %s, then: tierctl revert %s",
		    s->name, s->name, s->name);
	if (!r && s->ctx->dry_run) {
		say(s->ctx, "Would write the old beginning of %s back, over its label.", t->dev.name);
		if (lvm_installed())
			revert_names(s->ctx, s->hex, &no_device);
	} else if (!r) {
		fd = device_open(&t->dev, O_RDONLY | O_EXCL);
		r = fd < 0 ? fd : take_label_back(s, &own_places);
		if (fd < 0)
			err(s->ctx, error_from(-fd), "%s: cannot be had alone: %s.", t->dev.name,
			    strerror(-fd));
		else
			close(fd);
	}
	/* Like a set whose conversion never came to the origin's label. */
	if (!r) {
		s->info.state = TIER_STATE_CONVERTING;
		t->present = false;
	}
	return r;
}

/* Whether the origin is unchanged; false with the error said. */
static bool origin_unchanged(struct tier_context *ctx, const struct set *s, const char *set_hex,
			     const char *name, const struct device *typed, enum convert_origin sure)
{
	struct device d;
	struct member m;
	bool unchanged;

	if (!find_origin(ctx, s, set_hex, name, typed, sure, &d))
		return false;
	member_read(&d, &m);
	unchanged = m.kind == MEMBER_NONE;
	if (m.kind == MEMBER_UNREADABLE)
		err(ctx, ERR_IO, "%s: %s.", d.name, m.reason);
	else if (!unchanged)
		err(ctx, ERR_DEGRADED,
		    "%s: %s is labelled as a part of a tiered set, whose other parts are not all seen. Connect them.",
		    name, d.name);
	member_free(&m);
	device_free(&d);
	return unchanged;
}

/*
 * Whether the volumes have names of a set without labels and metadata: a destroy was
 * interrupted. convert gives these names only after the label.
 */
static bool only_names_left(struct tier_context *ctx, const struct set *s, const char *set_hex)
{
	const struct lvm_part *origin;
	struct lvm_parts parts = { 0 };
	char *old, *new = NULL;
	bool left = false;

	if (s || !lvm_installed() || lvm_list_set(ctx, set_hex, &parts))
		return false;
	origin = lvm_find_role(&parts, LVM_ROLE_ORIGIN);
	old = origin ? lvm_tag(origin, "name") : NULL;
	if (old) {
		new = xasprintf("%s%s", old, LVM_ORIGIN_SUFFIX);
		left = !strcmp(origin->lv, new) || lvm_find_role(&parts, LVM_ROLE_PLACEHOLDER);
	}
	free(old);
	free(new);
	lvm_parts_free(&parts);
	return left;
}

static int give_back(struct tier_context *ctx, const char *set_hex, const char *name, enum convert_origin sure)
{
	if (sure != ORIGIN_NAMED) {
		err(ctx, ERR_UNFINISHED,
		    "%s: is what is left of a set that was destroyed. First: tierctl destroy %s", name,
		    name);
		return EXIT_FAILED;
	}
	return ctx->dry_run ? EXIT_DONE : revert_finish(ctx, set_hex);
}

/* Without a label, only a volume can be found by the name of the set. */
static void say_not_undone(struct tier_context *ctx, const struct set *s, const char *name, const struct device *origin)
{
	bool named = s && !s->lv && origin && origin->path;

	err(ctx, ERR_UNFINISHED,
	    "%s: not all is undone. To do the rest, once the cause is gone: tierctl convert --abort %s%s%s",
	    name, named ? origin->name : name, named ? " --name " : "", named ? name : "");
}

int convert_undo(struct tier_context *ctx, const char *set_hex, const char *name,
		 const struct device *origin, enum convert_origin sure)
{
	bool labelled, unchanged = false;
	int code = EXIT_FAILED;
	struct set_list list;
	struct set *s;

	sets_load(ctx, &list, true);
	s = sets_find_hex(&list, set_hex);
	labelled = s && s->have_meta && (convert_unused(s) || (convert_unfinished(s) && convert_committed(s)));
	if (s && !convert_unfinished(s) && s->have_meta && !labelled)
		err(ctx, ERR_UNSUITABLE, "%s: its conversion is done.", name);
	else if (s && !set_parts_known(s))
		code = EXIT_FAILED;
	else if (labelled)
		unchanged = !take_back(s) &&
			    (ctx->dry_run || origin_unchanged(ctx, s, set_hex, name, &s->tier[s->nr_tiers - 1].dev,
							      ORIGIN_KNOWN));
	else
		unchanged = origin_unchanged(ctx, s, set_hex, name, origin, sure);

	if (unchanged && only_names_left(ctx, s, set_hex))
		code = give_back(ctx, set_hex, name, sure);
	else if (unchanged && (!s || !s->have_meta || !wipe_parts(s)) &&
		 (!lvm_installed() || !parts_release_all(ctx, set_hex, 0)))
		code = EXIT_DONE;
	else if (unchanged)
		say_not_undone(ctx, s, name, labelled ? &s->tier[s->nr_tiers - 1].dev : origin);
	sets_free(&list);
	return code;
}
