// SPDX-License-Identifier: GPL-2.0-only
#include "ops/mirrored.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/context.h"
#include "base/size.h"
#include "base/step.h"
#include "base/util.h"
#include "dm/dm.h"
#include "format/build.h"
#include "format/geometry.h"
#include "ops/label-area.h"
#include "set/tier.h"
#include "set/twin.h"
#include "set/wipe.h"

#define GENERATION	1

/* The first tier that shares no disk with the fastest; the next one if all do. */
static unsigned int other_tier(const struct mirrored_set *m)
{
	unsigned int i;

	for (i = 1; i < m->nr_tiers; i++)
		if (!devices_share_disk(m->tier[0]->dev, m->tier[i]->dev))
			return i;
	return 1;
}

void mirrored_arrange(struct mirrored_set *m, unsigned int nr)
{
	uint64_t at = tier_label_area(m->chunk_sectors), end = m->first_place * m->chunk_sectors;
	unsigned int i;

	m->mirror.nr = nr;
	m->mirror.generation = GENERATION;
	m->mirror.size = (end - at - LEG_DATA_AT) / TIER_METADATA_BLOCK_SECTORS * TIER_METADATA_BLOCK_SECTORS;
	for (i = 0; i < nr; i++) {
		struct mirror_leg *leg = &m->mirror.leg[i];

		leg->there = true;
		leg->id = i ? other_tier(m) : 0;
		leg->at = at;
		device_copy(&leg->dev, m->tier[leg->id]);
	}
}

static void fill_tier(const struct mirrored_set *m, struct tier_meta_tier *t, unsigned int rank)
{
	const struct device *d = m->tier[rank];

	t->id = t->rank = rank;
	uuid_generate(t->uuid);
	t->size = d->size / SECTOR_SIZE;
	t->first_place = m->first_place;
	t->places = geometry_places(t->size, m->chunk_sectors, m->first_place);
	t->generation = GENERATION;
	t->landing = TIER_LANDS_ALL;
	copy_string(t->last_seen, sizeof(t->last_seen), d->path + strlen("/dev/"));
}

static void fill_content(const struct mirrored_set *m, struct md_content *content)
{
	struct tier_meta_info info = {
		.state = TIER_STATE_LIVE,
		.flags = TIER_SB_CLEAN,
		.incompat_flags = TIER_INCOMPAT_ROOM,
		.chunk_sectors = m->chunk_sectors,
		.nr_chunks = (m->length + m->chunk_sectors - 1) / m->chunk_sectors,
		.length = m->length,
		.generation = GENERATION,
		.next_generation = GENERATION,
		.trans_id = 1,
	};
	uint64_t places = 0;
	unsigned int i;

	memcpy(info.uuid, m->uuid, sizeof(info.uuid));
	copy_string(info.name, sizeof(info.name), m->name);
	copy_string(info.policy, sizeof(info.policy), m->policy);
	for (i = 0; i < m->nr_tiers; i++)
		if (m->tier[i]->logical_block > info.logical_block_size)
			info.logical_block_size = m->tier[i]->logical_block;
	md_content_init(content, &info);
	content->tiers.nr = m->nr_tiers;
	for (i = 0; i < m->nr_tiers; i++) {
		fill_tier(m, &content->tiers.tier[i], i);
		places += content->tiers.tier[i].places;
	}
	content->info.reserve = geometry_reserve(places);
}

static int write_label(const struct mirrored_set *m, const struct tier_meta_tier *t)
{
	struct tier_label_info label = {
		.id = t->id, .size = t->size, .places_at = m->first_place * m->chunk_sectors,
		.chunk_sectors = m->chunk_sectors, .generation = GENERATION,
	};
	const struct device *d = m->tier[t->rank];
	void *slot = block_buffer(TIER_LABEL_SLOT_SIZE);
	int fd, r;

	memcpy(label.set_uuid, m->uuid, sizeof(label.set_uuid));
	memcpy(label.tier_uuid, t->uuid, sizeof(label.tier_uuid));
	copy_string(label.name, sizeof(label.name), m->name);
	tier_label_pack(slot, &label);
	r = label_area_clear(m->ctx, d, m->chunk_sectors, 0);
	if (!r) {
		fd = device_open(d, O_RDWR);
		r = fd < 0 ? fd : write_durably(fd, 0, slot, TIER_LABEL_SLOT_SIZE);
		if (fd >= 0)
			close(fd);
		if (r)
			err(m->ctx, error_from(-r), "%s: cannot be labelled: %s.", d->name, strerror(-r));
	}
	free(slot);
	return r;
}

static int write_metadata(const struct mirrored_set *m, const struct md_content *content)
{
	char *path = mirror_device_path(m->hex);
	int fd = open(path, O_RDWR | O_EXCL | O_CLOEXEC), r = fd < 0 ? -errno : 0;

	if (fd >= 0) {
		r = md_build(fd, m->mirror.size / TIER_METADATA_BLOCK_SECTORS, content);
		close(fd);
	}
	if (r < 0)
		err(m->ctx, error_from(-r), "%s: the metadata cannot be written: %s.", m->name, strerror(-r));
	free(path);
	return r < 0 ? r : 0;
}

/* With two names for one disk, data written by one name would be lost by the other. */
static int check_twins(const struct mirrored_set *m)
{
	unsigned int i, k;
	int r = 0;

	for (i = 0; i < m->nr_tiers; i++)
		for (k = 0; k < i && !r; k++)
			r = twins_refuse(m->ctx, m->tier[i], m->tier[k]);
	return r;
}

int mirrored_write(const struct mirrored_set *m)
{
	struct mirror legs = m->mirror;
	struct md_content content;
	unsigned int i;
	int r;

	fill_content(m, &content);
	for (i = 0; i < legs.nr; i++)
		mirror_set_leg(&legs, i, m->uuid, content.tiers.tier[legs.leg[i].id].uuid, i);
	r = check_twins(m) ? : mirror_format(m->ctx, &legs);
	step_reached("create", "legs");
	/* The metadata comes last: labels without it are no set. */
	for (i = 0; !r && i < m->nr_tiers; i++)
		r = write_label(m, &content.tiers.tier[i]);
	if (!r)
		r = mirror_assemble_new(m->ctx, m->hex, m->name, &legs);
	step_reached("create", "assembled");
	if (!r)
		r = write_metadata(m, &content);
	step_reached("create", "metadata");
	md_content_free(&content);
	return r ? -1 : 0;
}

void mirrored_undo(const struct mirrored_set *m)
{
	unsigned int i;

	mirror_release(m->ctx, m->hex, m->name);
	for (i = 0; i < m->mirror.nr; i++)
		mirror_wipe_leg(m->ctx, &m->mirror.leg[i].dev, m->uuid);
	for (i = 0; i < m->nr_tiers; i++)
		wipe_labels(m->ctx, m->tier[i], m->uuid);
}

/* A tier that leaves */

/* Whether the live metadata device is made of it; slices that a killed call left do not count. */
static bool is_under(const struct set *s, unsigned int rank)
{
	return device_stands_on(s->meta_dev.dev, s->tier[rank].dev.dev);
}

static bool has_room(const struct set *s, unsigned int rank, uint64_t sectors, struct member *tier)
{
	uint64_t at = tier_label_area(s->chunk_sectors);

	if (!s->tier[rank].present || s->tier[rank].state != 'A' || is_under(s, rank))
		return false;
	member_read(&s->tier[rank].dev, tier);
	if (tier->kind == MEMBER_TIER && tier->label.places_at >= at + LEG_DATA_AT + sectors)
		return true;
	member_free(tier);
	return false;
}

/* The fastest tier that can take a leg of that size; one on another disk than the other leg is better. */
static int find_destination(const struct set *s, unsigned int leaving, uint64_t sectors, const struct device *other,
			    struct member *tier)
{
	int apart;
	unsigned int i;

	for (apart = 1; apart >= 0; apart--)
		for (i = 0; i < s->nr_tiers; i++) {
			if (i == leaving ||
			    (apart && other && devices_share_disk(s->tier[i].dev.dev, other->dev)))
				continue;
			if (has_room(s, i, sectors, tier))
				return i;
		}
	return -1;
}

/* The legs of an active set: those that its metadata device is made of, whatever their headers say. */
static void read_legs(const struct set *s, struct mirror *m)
{
	unsigned int i;

	memset(m, 0, sizeof(*m));
	for (i = 0; i < s->nr_tiers; i++) {
		struct member tier;

		if (!s->tier[i].present || !is_under(s, i))
			continue;
		member_read(&s->tier[i].dev, &tier);
		if (tier.kind == MEMBER_TIER && tier.leg.there)
			mirror_put(m, &tier);
		member_free(&tier);
	}
	/* A header may be ahead of it. */
	m->size = s->meta_dev.size / SECTOR_SIZE;
}

static int leg_on(const struct mirror *m, dev_t dev)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++)
		if (m->leg[i].there && m->leg[i].dev.dev == dev)
			return i;
	return -1;
}

static int legs_unreadable(const struct set *s)
{
	err(s->ctx, ERR_IO, "%s: the legs of its metadata cannot be read.", s->name);
	return -1;
}

static const char *share_of(const struct mirror *m)
{
	return m->nr > 1 ? "a half" : "all";
}

static int stay(const struct set *s, const struct mirror *m, unsigned int rank, const char *why)
{
	const char *name = s->tier[rank].dev.name;

	warn(s->ctx, "%s: %s of its metadata stays on tier %u (%s): %s. When that has changed: tierctl evacuate %s %s",
	     s->name, share_of(m), rank, name, why, s->name, name);
	return 0;
}

/* To a tier with room for so many sectors. */
static int leave(const struct set *s, struct mirror *m, unsigned int rank, uint64_t sectors, bool may_stay)
{
	int i = leg_on(m, s->tier[rank].dev.dev), to, other_rank, r;
	const struct device *other;
	struct mirror_leg leg;
	struct member tier;

	if (i < 0)
		return may_stay ? stay(s, m, rank, "its legs cannot be read") : legs_unreadable(s);
	if (may_stay && set_missing(s))
		return stay(s, m, rank, "a tier is missing");
	if (may_stay && !mirror_may_move(NULL, s->hex, s->name, m, i))
		return stay(s, m, rank, "the other half is not whole, or this one is being filled");
	if (!mirror_may_move(s->ctx, s->hex, s->name, m, i))
		return -1;
	other = m->nr > 1 && m->leg[!i].there ? &m->leg[!i].dev : NULL;
	to = find_destination(s, rank, sectors, other, &tier);
	if (to < 0 && may_stay)
		return stay(s, m, rank, "no other tier can take it");
	if (to < 0) {
		err(s->ctx, ERR_NO_SPACE,
		    "%s: %s of its metadata lies on tier %u (%s), and no other tier can take it. Add one first: tierctl add %s DEV",
		    s->name, share_of(m), rank, s->tier[rank].dev.name, s->name);
		return -1;
	}
	if (s->ctx->dry_run) {
		say(s->ctx, "Would move the metadata on tier %u (%s) to tier %d (%s).", rank, s->tier[rank].dev.name, to,
		    s->tier[to].dev.name);
		member_free(&tier);
		return 0;
	}
	if (other && devices_share_disk(tier.dev.dev, other->dev))
		warn(s->ctx, "%s and %s are on one disk: if it is lost, so is the whole set.", tier.dev.name, other->name);
	leg = (struct mirror_leg){
		.there = true, .id = tier.label.id, .at = tier_label_area(s->chunk_sectors),
	};
	device_copy(&leg.dev, &tier.dev);
	other_rank = other ? set_rank_of_device(s, other->dev) : -1;
	leg.look.info = m->leg[i].look.info;
	leg.look.info.size = m->size;
	leg.look.info.flags = other && other_rank < to ? LEG_SLOW : 0;
	memcpy(leg.look.info.tier_uuid, tier.label.tier_uuid, TIER_UUID_SIZE);
	r = mirror_move_leg(s->ctx, s->hex, s->name, m, i, &leg);
	if (!r)
		say(s->ctx, "%s: the metadata on %s has moved to %s.", s->name, s->tier[rank].dev.name, s->tier[to].dev.name);
	device_free(&leg.dev);
	member_free(&tier);
	return r;
}

int mirrored_leave(const struct set *s, unsigned int rank, bool may_stay)
{
	struct mirror m;
	int r;

	if (!set_mirror_assembled(s) || !s->tier[rank].present)
		return 0;
	/*
	 * A move that was killed, or is over, may have left its slices and its header. They stay as long
	 * as one of the other legs may be missing.
	 */
	if (!is_under(s, rank))
		return s->ctx->dry_run || set_missing(s) ? 0 : mirror_drop_slices(s->ctx, s->hex, s->name, s->tier[rank].id) ? :
		       mirror_wipe_leg(s->ctx, &s->tier[rank].dev, s->uuid);
	read_legs(s, &m);
	r = leave(s, &m, rank, m.size, may_stay);
	mirror_free(&m);
	return r;
}

/* Metadata that becomes larger */

/* What each of so many legs can have where there is the most room; *nr: how many can have so many sectors. */
static uint64_t most_room(const struct set *s, const struct mirror *m, uint64_t sectors, unsigned int *nr)
{
	uint64_t most[LEGS_MAX + 1] = { 0 }, at = tier_label_area(s->chunk_sectors) + LEG_DATA_AT;
	unsigned int i, k;

	*nr = 0;
	for (i = 0; i < s->nr_tiers; i++) {
		int leg = leg_on(m, s->tier[i].dev.dev);
		uint64_t room = leg >= 0 ? m->leg[leg].room : 0;
		struct member tier;

		if (leg < 0 && has_room(s, i, 0, &tier)) {
			room = tier.label.places_at - at;
			member_free(&tier);
		}
		*nr += room >= sectors;
		for (k = m->nr; k > 0 && most[k - 1] < room; k--)
			most[k] = most[k - 1];
		most[k] = room;
	}
	return most[m->nr - 1];
}

static bool find_room(const struct set *s, const struct mirror *m, uint64_t sectors)
{
	unsigned int nr;
	uint64_t chunks = geometry_chunks_of_metadata(most_room(s, m, sectors, &nr));
	char size[SIZE_TEXT];

	if (nr >= m->nr)
		return true;
	err(s->ctx, ERR_NO_SPACE,
	    "%s: the room for its metadata on its tiers is enough for %s at most (%llus). A tier that joins now gets more, but for a small one: add %s (tierctl add %s DEV), or remove and add again, then resize.",
	    s->name, format_size(size, chunks * s->chunk_sectors * SECTOR_SIZE), (unsigned long long)(chunks * s->chunk_sectors),
	    m->nr - nr > 1 ? "two" : "one", s->name);
	return false;
}

/* Each step leaves legs that can be assembled, and the set as it was. */
static int grow(const struct set *s, struct mirror *m, uint64_t sectors)
{
	char from[SIZE_TEXT], to[SIZE_TEXT];
	uint64_t size = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		if (m->leg[i].room >= sectors)
			continue;
		if (leave(s, m, set_rank_of_device(s, m->leg[i].dev.dev), sectors, false))
			return -1;
		mirror_free(m);
		read_legs(s, m);
		if (!m->nr || mirror_legs(m) < m->nr)
			return legs_unreadable(s);
	}
	for (i = 0; i < m->nr; i++)
		if (m->leg[i].room < size)
			size = m->leg[i].room;
	size -= size % TIER_METADATA_BLOCK_SECTORS;
	format_size(from, m->size * SECTOR_SIZE);
	if (mirror_grow(s->ctx, s->hex, s->name, m, size) || mirror_note_size(s->ctx, s->hex, s->name, m, size))
		return -1;
	step_reached("grow", "noted");
	say(s->ctx, "%s: the device of its metadata has grown from %s to %s.", s->name, from, format_size(to, size * SECTOR_SIZE));
	return 0;
}

int mirrored_grow(const struct set *s, uint64_t sectors)
{
	struct mirror m;
	unsigned int i;
	int r;

	read_legs(s, &m);
	r = m.nr && mirror_legs(&m) == m.nr ? 0 : legs_unreadable(s);
	for (i = 0; i < m.nr && !r; i++)
		r = mirror_may_move(s->ctx, s->hex, s->name, &m, i) ? 0 : -1;
	if (!r && !find_room(s, &m, sectors))
		r = -1;
	if (!r && s->ctx->dry_run)
		say(s->ctx, "Would make the device of its metadata larger, on tiers with more room.");
	else if (!r)
		r = grow(s, &m, sectors);
	mirror_free(&m);
	return r;
}

int mirrored_settle(const struct set *s)
{
	struct mirror m;
	int r = 0;

	if (!set_mirror_assembled(s) || s->ctx->dry_run)
		return 0;
	read_legs(s, &m);
	if (m.nr > 1)
		r = mirror_note_size(s->ctx, s->hex, s->name, &m, m.size);
	mirror_free(&m);
	return r;
}

/* The legs of the live table are those that count, not one on another tier that may be newer. */
static int keep_legs(const struct set *s)
{
	uint64_t generation;
	struct mirror m;
	unsigned int i;
	int r;

	read_legs(s, &m);
	generation = m.generation;
	for (i = 0; i < s->nr_tiers && m.nr; i++) {
		struct member tier;

		if (!s->tier[i].present || is_under(s, i))
			continue;
		member_read(&s->tier[i].dev, &tier);
		if (tier.kind == MEMBER_TIER && tier.leg.there && tier.leg.info.generation >= generation) {
			m.generation = tier.leg.info.generation;
			mirror_wipe_leg(s->ctx, &s->tier[i].dev, s->uuid);
		}
		member_free(&tier);
	}
	r = m.nr ? mirror_keep_legs(s->ctx, &m) : legs_unreadable(s);
	mirror_free(&m);
	return r;
}

int mirrored_go_on(const struct set *s)
{
	char *device, *reason = NULL;
	struct dm_line *lines = NULL;
	unsigned int nr = 0;
	bool suspended;
	int r;

	if (!set_mirror_assembled(s))
		return 0;
	device = device_attribute(s->meta_dev.dev, "dm/name");
	suspended = device_attribute_number(s->meta_dev.dev, "dm/suspended");
	if (!device || !(suspended || dm_table_waits(device))) {
		free(device);
		return 0;
	}
	/*
	 * In the place of the table that waits, whose devices would count as being under it. And dm-raid
	 * that could not begin would begin at the next resume without its bitmap, and without growing.
	 */
	r = dm_table_lines(s->meta_dev.dev, &lines, &nr);
	if (!r && nr)
		r = dm_load_target(device, lines->length, lines->type, lines->params, &reason);
	dm_lines_free(lines, nr);
	r = r ? : keep_legs(s) ? : dm_resume_hidden(device, &reason);
	if (r)
		err(s->ctx, ERR_KERNEL_REFUSED, "%s: its metadata device %s cannot go on: %s.", s->name,
		    s->meta_dev.name, reason ? reason : strerror(-r));
	else if (suspended)
		say(s->ctx, "%s: a move of its metadata that was killed had left it suspended; it works again.", s->name);
	free(reason);
	free(device);
	return r;
}
