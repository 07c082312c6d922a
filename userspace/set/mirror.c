// SPDX-License-Identifier: GPL-2.0-only
#include "set/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/size.h"
#include "base/step.h"
#include "base/util.h"
#include "dm/dm.h"
#include "set/lock.h"

/* The two slices of a tier; the first is dm-raid's own. */
enum slice { SLICE_RAID, SLICE_DATA, NR_SLICES };
static const char *const slice_word[NR_SLICES] = { "rmeta", "rimage" };

/* udev opens a device that was just made. */
#define CLOSE_TRIES	30
#define CLOSE_MS	100

/* dm-raid notes in a bitmap which regions are being written to. */
#define LEAST_REGION	1024ULL
#define REGIONS		64

#define COPY_BYTES	(1ULL << 20)

/* "transaction 17 of generation 3, last assembled 2026-11-29 10:00:00"; the caller frees. */
static char *leg_age(const struct mirror_leg *leg)
{
	const struct tier_meta_info *meta = &leg->look.meta;
	char when[TIME_TEXT];

	format_time(when, leg->look.info.used);
	if (!leg->look.readable)
		return xasprintf("cannot be read, and was last assembled %s", when);
	return xasprintf("transaction %llu of generation %llu, last assembled %s", (unsigned long long)meta->trans_id,
			 (unsigned long long)meta->generation, when);
}

static char *device_name(const char *set_hex)
{
	return xasprintf("tier-%s-meta", set_hex);
}

char *mirror_device_path(const char *set_hex)
{
	return xasprintf("/dev/mapper/tier-%s-meta", set_hex);
}

static char *device_uuid(const char *set_hex)
{
	return xasprintf(MIRROR_UUID_PREFIX "%s", set_hex);
}

static char *slice_name(const char *set_hex, enum slice slice, unsigned int id)
{
	return xasprintf("tier-%s-%s-%u", set_hex, slice_word[slice], id);
}

static char *slice_uuid(const char *set_hex, enum slice slice, unsigned int id)
{
	return xasprintf(SLICE_UUID_PREFIX "%s-%s-%u", set_hex, slice_word[slice], id);
}

static dev_t number_of(const char *name)
{
	char *path = xasprintf("/dev/mapper/%s", name);
	struct device d = { 0 };
	dev_t dev = 0;

	if (!device_from_name(path, &d))
		dev = d.dev;
	device_free(&d);
	free(path);
	return dev;
}

/* The table of a device that shows what lies there on the leg's tier; the caller frees. */
static char *linear_params(const struct mirror_leg *leg, uint64_t offset)
{
	return xasprintf("%u:%u %llu", major(leg->dev.dev), minor(leg->dev.dev), (unsigned long long)(leg->at + offset));
}

/* 0, or -errno with *reason set. */
static int make_slice(const char *set_hex, const struct mirror *m, const struct mirror_leg *leg, enum slice slice,
		      char **reason)
{
	uint64_t length = slice == SLICE_RAID ? LEG_RAID_SECTORS : m->size;
	char *name = slice_name(set_hex, slice, leg->id), *uuid = slice_uuid(set_hex, slice, leg->id);
	char *params = linear_params(leg, slice == SLICE_RAID ? LEG_RAID_AT : LEG_DATA_AT);
	char *there = dm_name_of_uuid(uuid);
	int r = 0;

	/* Left by a call that was killed. */
	if (there)
		r = dm_remove(there, reason);
	if (!r)
		r = dm_create_hidden(name, uuid, length, "linear", params, false, reason);
	free(there);
	free(params);
	free(uuid);
	free(name);
	return r;
}

static uint64_t region_size(uint64_t size)
{
	uint64_t region = LEAST_REGION;

	while (region * REGIONS < size)
		region *= 2;
	return region;
}

/* The table of dm-raid; a leg with rebuild[] is filled from the other. */
static char *raid_params(const char *set_hex, const struct mirror *m, bool in_sync, const bool rebuild[LEGS_MAX])
{
	struct text options = { 0 }, legs = { 0 };
	unsigned int i, words = 3;
	char *params;

	text_add(&options, "0 region_size %llu", (unsigned long long)region_size(m->size));
	if (in_sync) {
		text_add(&options, " nosync");
		words++;
	}
	for (i = 0; i < m->nr; i++) {
		const struct mirror_leg *leg = &m->leg[i];
		enum slice slice;

		if (leg->there && leg->look.info.flags & LEG_SLOW) {
			text_add(&options, " write_mostly %u", i);
			words += 2;
		}
		if (leg->there && rebuild[i]) {
			text_add(&options, " rebuild %u", i);
			words += 2;
		}
		for (slice = 0; slice < NR_SLICES; slice++) {
			char *name = slice_name(set_hex, slice, leg->id);
			dev_t dev = leg->there ? number_of(name) : 0;

			if (leg->there)
				text_add(&legs, " %u:%u", major(dev), minor(dev));
			else
				text_add(&legs, " -");
			free(name);
		}
	}
	params = xasprintf("raid1 %u %s %u%s", words, options.s, m->nr, legs.s);
	text_free(&options);
	text_free(&legs);
	return params;
}

static int make_raid(struct tier_context *ctx, const char *set_hex, const struct mirror *m, bool new_legs,
		     const bool rebuild[LEGS_MAX], char **reason)
{
	char *name = device_name(set_hex), *uuid = device_uuid(set_hex), *params;
	enum slice slice;
	unsigned int i;
	int r = 0;

	for (i = 0; i < m->nr; i++)
		for (slice = 0; m->leg[i].there && slice < NR_SLICES && !r; slice++)
			r = make_slice(set_hex, m, &m->leg[i], slice, reason);
	if (!r) {
		params = raid_params(set_hex, m, new_legs, rebuild);
		verbose(ctx, "table: 0 %llu raid %s", (unsigned long long)m->size, params);
		r = dm_create_hidden(name, uuid, m->size, "raid", params, false, reason);
		free(params);
	}
	free(uuid);
	free(name);
	return r;
}

static int make_linear(const char *set_hex, const struct mirror *m, unsigned int i, bool read_only, char **reason)
{
	char *name = device_name(set_hex), *uuid = device_uuid(set_hex);
	char *params = linear_params(&m->leg[i], LEG_DATA_AT);
	int r = dm_create_hidden(name, uuid, m->size, "linear", params, read_only, reason);

	free(params);
	free(uuid);
	free(name);
	return r;
}

struct removal {
	char *prefix;
	char **reason;
};

static int remove_slice(void *context, const char *name)
{
	const struct removal *r = context;

	return strncmp(name, r->prefix, strlen(r->prefix)) ? 0 : dm_remove(name, r->reason);
}

/* Also those whose tier is unknown by now. All their names begin so, and no others. */
static int remove_slices(const char *set_hex, char **reason)
{
	struct removal removal = { .prefix = xasprintf("tier-%s-r", set_hex), .reason = reason };
	int r;

	*reason = NULL;
	r = dm_for_each_name(remove_slice, &removal);
	if (r && !*reason)
		*reason = xstrdup(strerror(-r));
	free(removal.prefix);
	return r;
}

bool mirror_may_assemble(struct tier_context *ctx, const char *name, const struct mirror *m, bool degraded)
{
	unsigned int i = mirror_newest(m);
	const struct mirror_leg *leg;
	char *age, *other;
	bool may = false;

	if (i == LEGS_MAX) {
		err(ctx, ERR_DEGRADED, "%s: no leg of its metadata is there. Connect its devices.", name);
		return false;
	}
	leg = &m->leg[i];
	age = leg_age(leg);
	if (m->doubled) {
		err(ctx, ERR_AMBIGUOUS, "%s: two devices say that they have the same leg of its metadata. Take the copy away.",
		    name);
	} else if (m->split) {
		other = leg_age(&m->leg[!i]);
		err(ctx, ERR_AMBIGUOUS,
		    "%s: the legs of its metadata on %s (%s) and on %s (%s) were each used without the other. Disconnect the one that is not to count, and: tierctl activate --degraded %s",
		    name, leg->dev.name, age, m->leg[!i].dev.name, other, name);
		free(other);
	} else if (m->nr > 1 && !(leg->look.in_raid && leg->look.raid.whole)) {
		err(ctx, ERR_DEGRADED, "%s: the leg of its metadata on %s is not whole. Connect the other.", name, leg->dev.name);
	} else if (mirror_legs(m) == m->nr) {
		may = true;
	} else if (!degraded) {
		err(ctx, ERR_DEGRADED,
		    "%s: a leg of its metadata is missing. Connect its device, or go on with the one on %s (%s): tierctl activate --degraded %s",
		    name, leg->dev.name, age, name);
	} else {
		warn(ctx, "%s: goes on with the leg of its metadata on %s alone: %s.", name, leg->dev.name, age);
		may = true;
	}
	free(age);
	return may;
}

static int write_header(struct tier_context *ctx, const struct mirror_leg *leg)
{
	int fd = device_open(&leg->dev, O_RDWR), r = fd < 0 ? fd : 0;
	void *block = block_buffer(LEG_HEADER_SIZE);
	struct leg_info info = leg->look.info;

	info.used = time(NULL);
	leg_pack(block, &info);
	if (!r)
		r = write_durably(fd, leg->at * SECTOR_SIZE, block, LEG_HEADER_SIZE);
	if (fd >= 0)
		close(fd);
	free(block);
	if (r)
		err(ctx, error_from(-r), "%s: the header of the leg on it cannot be written: %s.", leg->dev.name, strerror(-r));
	return r;
}

/* dm-raid would take what it finds there. */
static int forget_raid(struct tier_context *ctx, const struct mirror_leg *leg)
{
	int fd = device_open(&leg->dev, O_RDWR), r = fd < 0 ? fd : 0;

	if (!r)
		r = zero_blocks(fd, (leg->at + LEG_RAID_AT) * SECTOR_SIZE, LEG_RAID_SECTORS * SECTOR_SIZE);
	if (fd >= 0)
		close(fd);
	if (r)
		err(ctx, error_from(-r), "%s: room for the metadata cannot be made: %s.", leg->dev.name, strerror(-r));
	return r;
}

/* Of legs that belong together from now on; others that come back later are out of date. */
static u64 new_tag(void)
{
	uuid_t random;
	u64 tag;

	uuid_generate(random);
	memcpy(&tag, random, sizeof(tag));
	return tag;
}

/*
 * What the legs say before dm-raid gets them: dm-raid neither compares legs nor, after a crash,
 * syncs them, so one that is not known to be the same as the newest is filled from that. The newest
 * gets its header first: with it alone the others are out of date.
 */
static int prepare(struct tier_context *ctx, const char *name, struct mirror *m, bool degraded, bool rebuild[LEGS_MAX])
{
	unsigned int i, newest = mirror_newest(m);
	bool same = mirror_in_sync(m), changed = mirror_legs(m) < m->nr;
	const struct leg_raid *raid = &m->leg[newest].look.raid;
	int r;

	/*
	 * The metadata was to grow, and this was cut short before the set could take the size. dm-raid
	 * could not grow and fill a leg at once.
	 */
	if (m->nr > 1 && m->leg[newest].look.in_raid && raid->size && raid->size < m->size)
		m->size = raid->size;
	for (i = 0; i < m->nr; i++)
		changed |= m->leg[i].out;
again:
	if (changed) {
		m->generation++;
		m->tag = new_tag();
	}
	for (i = 0; i < m->nr; i++) {
		m->leg[i].look.info.generation = m->generation;
		m->leg[i].look.info.tag = m->tag;
		m->leg[i].look.info.size = m->size;
	}
	r = write_header(ctx, &m->leg[newest]);
	step_reached("mirror", "header");
	for (i = 0; i < m->nr && !r; i++) {
		if (i == newest || !m->leg[i].there)
			continue;
		rebuild[i] = !same;
		r = (rebuild[i] ? forget_raid(ctx, &m->leg[i]) : 0) ? : write_header(ctx, &m->leg[i]);
		if (!r)
			continue;
		if (!degraded) {
			err(ctx, ERR_DEGRADED, "%s: a leg of its metadata cannot be written. To go on without it: tierctl activate --degraded %s",
			    name, name);
			return r;
		}
		m->leg[i].there = false;
		changed = true;
		goto again;
	}
	return r;
}

/*
 * Between the first look at the legs and the lock somebody may have used them, and a device that a
 * killed call left may have counted events until it was removed.
 */
static bool look_again(struct tier_context *ctx, const char *name, struct mirror *m)
{
	unsigned int i, newest = mirror_newest(m);
	bool same = true;

	for (i = 0; i < m->nr; i++) {
		struct member_leg *was = &m->leg[i].look;
		struct member now;

		if (!m->leg[i].there)
			continue;
		member_read(&m->leg[i].dev, &now);
		same &= now.kind == MEMBER_TIER && now.leg.there && now.leg.info.generation == was->info.generation &&
			now.leg.info.tag == was->info.tag && now.leg.readable == was->readable &&
			now.leg.meta.generation == was->meta.generation && now.leg.meta.trans_id == was->meta.trans_id &&
			!memcmp(&now.leg.meta.owner, &was->meta.owner, sizeof(was->meta.owner));
		*was = now.leg;
		member_free(&now);
	}
	same &= mirror_newest(m) == newest;
	if (!same)
		err(ctx, ERR_CHANGED, "%s: was changed by somebody else meanwhile. Try again.", name);
	return same;
}

static bool is_open(const char *name);

/* A device that was made by a call that was killed is not trusted. */
static int remove_left(const char *set_hex, bool *in_use, char **reason)
{
	char *name = device_name(set_hex);
	int r = 0;

	*in_use = false;
	if (dm_name_exists(name)) {
		*in_use = is_open(name);
		if (!*in_use)
			r = dm_remove(name, reason);
	}
	if (!r && !*in_use)
		r = remove_slices(set_hex, reason);
	free(name);
	return r;
}

static void say_in_use(struct tier_context *ctx, const char *set_hex, const char *name)
{
	char *path = mirror_device_path(set_hex);

	err(ctx, ERR_IN_USE, "%s: the device of its metadata, %s, is in use. Close it first.", name, path);
	free(path);
}

static int assemble(struct tier_context *ctx, const char *set_hex, const char *name, const struct mirror *m,
		    bool new_legs, bool degraded, bool read_only)
{
	bool rebuild[LEGS_MAX] = { false }, in_use;
	char *reason = NULL, *more = NULL;
	struct mirror now = *m;
	int r = remove_left(set_hex, &in_use, &reason);

	if (!r && in_use) {
		say_in_use(ctx, set_hex, name);
		return -1;
	}
	if (!r && !new_legs && !look_again(ctx, name, &now))
		return -1;
	if (!r && !read_only && !new_legs && prepare(ctx, name, &now, degraded, rebuild))
		return -1;
	if (!r && (read_only || m->nr == 1))
		r = make_linear(set_hex, m, mirror_newest(m), read_only, &reason);
	else if (!r)
		r = make_raid(ctx, set_hex, &now, new_legs, rebuild, &reason);
	if (!r)
		return 0;
	err(ctx, ERR_KERNEL_REFUSED, "%s: the metadata on its tiers cannot be assembled: %s.", name, reason);
	free(reason);
	if (remove_slices(set_hex, &more))
		free(more);
	return -1;
}

int mirror_assemble(struct tier_context *ctx, const char *set_hex, const char *name, const struct mirror *m,
		    bool degraded, bool read_only)
{
	return assemble(ctx, set_hex, name, m, false, degraded, read_only);
}

int mirror_assemble_new(struct tier_context *ctx, const char *set_hex, const char *name, const struct mirror *m)
{
	return assemble(ctx, set_hex, name, m, true, false, false);
}

static int is_holder(void *unused, dev_t holder)
{
	(void)unused;
	(void)holder;
	return 1;
}

/* udev may have the device open for a moment; a set, or a user, keeps it open. */
static bool is_open(const char *name)
{
	int tries;

	for (tries = 0; dm_open_count(name) > 0; tries++) {
		if (tries == CLOSE_TRIES || device_for_each_holder(number_of(name), is_holder, NULL))
			return true;
		sleep_ms(CLOSE_MS);
	}
	return false;
}

int mirror_release(struct tier_context *ctx, const char *set_hex, const char *name)
{
	char *reason = NULL;
	bool in_use;
	int r = remove_left(set_hex, &in_use, &reason);

	if (r) {
		err(ctx, ERR_KERNEL_REFUSED, "%s: the device of the metadata on its tiers cannot be removed: %s.", name, reason);
		free(reason);
	} else if (in_use) {
		say_in_use(ctx, set_hex, name);
	}
	return r || in_use ? -1 : 0;
}

int mirror_drop_slices(struct tier_context *ctx, const char *set_hex, const char *name, unsigned int id)
{
	char *reason = NULL;
	enum slice slice;
	int r = 0;

	for (slice = 0; slice < NR_SLICES && !r; slice++) {
		char *old = slice_name(set_hex, slice, id);

		if (dm_name_exists(old))
			r = dm_remove(old, &reason);
		if (r)
			err(ctx, ERR_KERNEL_REFUSED, "%s: %s cannot be removed: %s.", name, old, reason);
		free(old);
	}
	free(reason);
	return r ? -1 : 0;
}

int mirror_release_alone(struct tier_context *ctx, const char *set_hex, const char *name)
{
	int lock, r;

	if (!lock_in_time(ctx, set_hex, name, LOCK_DEVICE, &lock))
		return -1;
	r = mirror_release(ctx, set_hex, name);
	if (lock >= 0)
		close(lock);
	return r;
}

/* What is on the tiers */

void mirror_set_leg(struct mirror *m, unsigned int i, const u8 *set_uuid, const u8 *tier_uuid, bool slow)
{
	struct leg_info *info = &m->leg[i].look.info;

	memcpy(info->set_uuid, set_uuid, sizeof(info->set_uuid));
	memcpy(info->tier_uuid, tier_uuid, sizeof(info->tier_uuid));
	info->index = i;
	info->nr = m->nr;
	info->flags = slow ? LEG_SLOW : 0;
	info->generation = m->generation;
	info->tag = m->tag;
	info->size = m->size;
}

static int format_leg(const struct mirror *m, unsigned int i)
{
	const struct mirror_leg *leg = &m->leg[i];
	void *block = block_buffer(LEG_HEADER_SIZE);
	int fd = device_open(&leg->dev, O_RDWR | O_EXCL), r = fd < 0 ? fd : 0;

	leg_pack(block, &leg->look.info);
	if (!r)
		r = zero_blocks(fd, leg->at * SECTOR_SIZE, (LEG_DATA_AT + m->size) * SECTOR_SIZE);
	if (!r)
		r = write_durably(fd, leg->at * SECTOR_SIZE, block, LEG_HEADER_SIZE);
	if (fd >= 0)
		close(fd);
	free(block);
	return r;
}

int mirror_format(struct tier_context *ctx, const struct mirror *m)
{
	unsigned int i;
	int r = 0;

	ctx->changed = true;
	for (i = 0; i < m->nr && !r; i++) {
		r = format_leg(m, i);
		if (r)
			err(ctx, error_from(-r), "%s: room for the metadata cannot be made: %s.", m->leg[i].dev.name,
			    strerror(-r));
	}
	return r ? -1 : 0;
}

int mirror_wipe_leg(struct tier_context *ctx, const struct device *tier, const u8 *set_uuid)
{
	int fd = device_open(tier, O_RDWR), r = fd < 0 ? fd : 0;
	struct member m;

	member_read(tier, &m);
	if (m.kind == MEMBER_TIER && m.leg.there && !memcmp(m.leg.info.set_uuid, set_uuid, TIER_UUID_SIZE)) {
		uint64_t at = tier_label_area(m.label.chunk_sectors) * SECTOR_SIZE;

		ctx->changed = true;
		if (!r && m.leg.readable)
			r = zero_blocks(fd, at + LEG_DATA_AT * SECTOR_SIZE, TIER_METADATA_BLOCK_SIZE);
		if (!r)
			r = zero_blocks(fd, at, LEG_HEADER_SIZE);
		if (r)
			err(ctx, error_from(-r), "%s: the leg of the metadata on it cannot be wiped: %s.", tier->name, strerror(-r));
	} else {
		r = 0;
	}
	member_free(&m);
	if (fd >= 0)
		close(fd);
	return r;
}

#define LETTERS	16

/*
 * What dm-raid says: for each leg a letter, A, a (being filled) or D (dropped out), and what it does.
 * False, and no letter, if that is unknown.
 */
static bool raid_state(const char *device, char letters[LETTERS], bool *idle)
{
	struct dm_line *lines;
	char action[32];
	unsigned int nr;
	bool known;

	known = !dm_status_lines(number_of(device), &lines, &nr) && nr &&
		sscanf(lines[0].params, "%*s %*u %15s %*s %31s", letters, action) == 2;
	dm_lines_free(lines, nr);
	if (!known)
		*letters = '\0';
	*idle = known && !strcmp(action, "idle");
	return known;
}

/* Which letter dm-raid has for the leg; 0: unknown. */
static char letter_of(const char *set_hex, unsigned int i)
{
	char *device = device_name(set_hex), letters[LETTERS];
	bool idle;

	raid_state(device, letters, &idle);
	free(device);
	return i < strlen(letters) ? letters[i] : '\0';
}

/* 1: all legs are whole; 0: not yet; -1: one has dropped out. */
static int legs_whole(const char *device)
{
	char letters[LETTERS];
	bool idle;

	if (!raid_state(device, letters, &idle) || strchr(letters, 'D'))
		return -1;
	return idle && !letters[strspn(letters, "A")];
}

static int wait_until_whole(struct tier_context *ctx, const char *device, const char *name)
{
	int whole;

	do {
		whole = legs_whole(device);
		if (!whole)
			sleep_ms(CLOSE_MS);
	} while (!whole && !interrupted);
	if (whole > 0)
		return 0;
	if (!whole)
		err(ctx, ERR_UNFINISHED, "%s: the new leg of its metadata is being filled. The same command again goes on.", name);
	else
		err(ctx, ERR_IO, "%s: the new leg of its metadata has errors. The metadata goes on with one leg; the kernel log says why.",
		    name);
	return -1;
}

/* The table of the metadata device of legs that are there, none of which is to be filled. */
static int load_whole(struct tier_context *ctx, const char *set_hex, const char *device, const struct mirror *m, char **reason)
{
	const char *type = m->nr > 1 ? "raid" : "linear";
	bool none[LEGS_MAX] = { false };
	char *params = m->nr > 1 ? raid_params(set_hex, m, false, none) : linear_params(&m->leg[0], LEG_DATA_AT);
	int r;

	verbose(ctx, "table: 0 %llu %s %s", (unsigned long long)m->size, type, params);
	r = dm_load_target(device, m->size, type, params, reason);
	free(params);
	return r;
}

static void say_stuck(struct tier_context *ctx, const char *name, const char *device, const char *reason)
{
	err(ctx, ERR_KERNEL_REFUSED, "%s: %s cannot go on: %s. I/O to the set waits. Once the cause is gone: tierctl resize --abort %s",
	    name, device, reason, name);
}

/*
 * A resume that fails leaves the device suspended, and with it the set; the table may be the new one
 * by then, and of no use. Loads that of before; false, with the error said, if that fails, too.
 */
static bool put_back(struct tier_context *ctx, const char *set_hex, const char *name, const char *device, const struct mirror *m)
{
	char *worse = NULL;
	bool works = !load_whole(ctx, set_hex, device, m, &worse) && !dm_resume_hidden(device, &worse);

	if (!works)
		say_stuck(ctx, name, device, worse);
	free(worse);
	return works;
}

int mirror_keep_legs(struct tier_context *ctx, struct mirror *m)
{
	bool kept = false;
	unsigned int i;

	m->generation++;
	m->tag = new_tag();
	for (i = 0; i < m->nr; i++) {
		m->leg[i].look.info.generation = m->generation;
		m->leg[i].look.info.tag = m->tag;
		kept |= m->leg[i].there && !write_header(ctx, &m->leg[i]);
	}
	return kept ? 0 : -EIO;
}

/*
 * From the moment that the other leg has its new header, the old leg is out of date: what it has
 * will soon be old. If it stays after all, both get the next generation: the other may drop out
 * before the next activation.
 */
static int change_legs(struct tier_context *ctx, const char *set_hex, const char *name, const char *device, struct mirror *m,
		       unsigned int i, const struct mirror_leg *from, char **reason)
{
	struct mirror_leg to = m->leg[i];
	struct stillness before;
	bool back = true;
	int r;

	r = write_header(ctx, &m->leg[!i]);
	step_reached("leg", "other");
	if (!r)
		r = write_header(ctx, &to);
	step_reached("leg", "header");
	quiet_begin(ctx, &before);
	if (!r)
		r = dm_resume_hidden(device, reason);
	if (r) {
		m->leg[i] = *from;
		m->leg[!i].look.info.flags = from->look.info.flags & LEG_SLOW ? 0 : LEG_SLOW;
		back = put_back(ctx, set_hex, name, device, m);
	}
	quiet_end(ctx, &before);
	if (r && back && !mirror_keep_legs(ctx, m))
		mirror_wipe_leg(ctx, &to.dev, to.look.info.set_uuid);
	return r;
}

/*
 * All that can be refused is tried before the legs get their new headers. The new leg has no
 * superblock of dm-raid at first, so whoever assembles fills it.
 */
static int move_mirrored(struct tier_context *ctx, const char *set_hex, const char *name, struct mirror *m, unsigned int i,
			 const struct mirror_leg *from)
{
	char *device = device_name(set_hex), *reason = NULL, *params;
	const char *to = m->leg[i].dev.name;
	bool rebuild[LEGS_MAX] = { false };
	enum slice slice;
	int r = forget_raid(ctx, &m->leg[i]);

	for (slice = 0; slice < NR_SLICES && !r; slice++)
		r = make_slice(set_hex, m, &m->leg[i], slice, &reason);
	if (!r) {
		rebuild[i] = true;
		params = raid_params(set_hex, m, false, rebuild);
		verbose(ctx, "table: 0 %llu raid %s", (unsigned long long)m->size, params);
		r = dm_load_target(device, m->size, "raid", params, &reason);
		free(params);
	}
	/* It may have dropped out meanwhile: then the old leg is the only good one. */
	if (!r && letter_of(set_hex, !i) != 'A')
		r = -EIO;
	if (!r)
		r = change_legs(ctx, set_hex, name, device, m, i, from, &reason);
	if (r) {
		err(ctx, ERR_KERNEL_REFUSED, "%s: the leg of its metadata cannot move to %s: %s.", name, to,
		    reason ? reason : strerror(r < 0 ? -r : r));
		free(reason);
	} else {
		step_reached("leg", "loaded");
		r = wait_until_whole(ctx, device, name);
	}
	free(device);
	return r;
}

static int copy_leg(const struct mirror_leg *from, const struct mirror_leg *to, uint64_t sectors)
{
	int in = device_open(&from->dev, O_RDONLY), out = device_open(&to->dev, O_RDWR | O_DIRECT), r = in < 0 ? in : out < 0 ? out : 0;
	uint64_t bytes = sectors * SECTOR_SIZE, done;
	void *piece = block_buffer(COPY_BYTES);

	for (done = 0; done < bytes && !r; done += COPY_BYTES) {
		size_t len = bytes - done < COPY_BYTES ? bytes - done : COPY_BYTES;

		r = read_blocks(in, (from->at + LEG_DATA_AT) * SECTOR_SIZE + done, piece, len) ? :
		    write_fully(out, (to->at + LEG_DATA_AT) * SECTOR_SIZE + done, piece, len);
	}
	if (!r && fsync(out))
		r = -errno;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	free(piece);
	return r;
}

/*
 * What changes the metadata waits meanwhile, and what waits for that. So nothing here may need
 * memory or the terminal until it goes on. mirrored_go_on() undoes this if it is killed.
 */
static int move_single(struct tier_context *ctx, const char *set_hex, const char *name, const struct mirror_leg *from,
		       struct mirror *m)
{
	const struct mirror_leg *to = &m->leg[0];
	char *device = device_name(set_hex), *reason = NULL, *worse = NULL;
	char *params = linear_params(to, LEG_DATA_AT);
	struct stillness before;
	int r;

	quiet_begin(ctx, &before);
	r = dm_suspend(device, &reason);
	if (!r) {
		r = copy_leg(from, to, m->size) ? : write_header(ctx, to);
		step_reached("leg", "copied");
		if (!r)
			r = dm_load_target(device, m->size, "linear", params, &reason);
		step_reached("leg", "waits");
		/* The new one must not count if the old one goes on. */
		if (r && mirror_wipe_leg(ctx, &to->dev, to->look.info.set_uuid))
			warn(ctx, "%s: has a leg that is out of date. Wipe it before the set is activated again.", to->dev.name);
		if (dm_resume_hidden(device, &worse))
			r = -EIO;
	}
	quiet_end(ctx, &before);
	if (worse)
		say_stuck(ctx, name, device, worse);
	else if (r)
		err(ctx, ERR_KERNEL_REFUSED, "%s: its metadata cannot move to %s: %s.", name, to->dev.name,
		    reason ? reason : strerror(-r));
	free(worse);
	free(params);
	free(reason);
	free(device);
	return r;
}

bool mirror_may_move(struct tier_context *ctx, const char *set_hex, const char *name, const struct mirror *m, unsigned int i)
{
	const struct mirror_leg *other = &m->leg[!i];
	char letter, own;

	if (m->nr == 1)
		return true;
	letter = other->there ? letter_of(set_hex, !i) : 'D';
	own = letter_of(set_hex, i);
	if (letter == 'A' && own != 'a')
		return true;
	if (!ctx)
		return false;
	if (letter == 'a' || own == 'a')
		err(ctx, ERR_BUSY, "%s: a leg of its metadata is being filled. Try again when tierctl status says no more of it.", name);
	else
		err(ctx, ERR_DEGRADED,
		    "%s: the other leg of its metadata, on %s, has dropped out, so this is the only good one. Once the cause is gone: tierctl deactivate %s && tierctl activate %s",
		    name, other->there ? other->dev.name : "a device that is missing", name, name);
	return false;
}

int mirror_move_leg(struct tier_context *ctx, const char *set_hex, const char *name, struct mirror *m, unsigned int i,
		    const struct mirror_leg *to)
{
	struct mirror_leg from = m->leg[i], *other = m->nr > 1 ? &m->leg[!i] : NULL;
	int lock, r;

	if (!lock_in_time(ctx, set_hex, name, LOCK_DEVICE, &lock))
		return -1;
	ctx->changed = true;
	m->generation++;
	m->tag = new_tag();
	m->leg[i] = *to;
	m->leg[i].look.info.generation = m->generation;
	m->leg[i].look.info.tag = m->tag;
	if (other) {
		other->look.info.generation = m->generation;
		other->look.info.tag = m->tag;
		other->look.info.flags = to->look.info.flags & LEG_SLOW ? 0 : LEG_SLOW;
		r = move_mirrored(ctx, set_hex, name, m, i, &from);
	} else {
		r = move_single(ctx, set_hex, name, &from, m);
	}
	if (!r)
		r = mirror_wipe_leg(ctx, &from.dev, from.look.info.set_uuid);
	if (!r && other)
		r = mirror_drop_slices(ctx, set_hex, name, from.id);
	m->leg[i] = from;
	if (lock >= 0)
		close(lock);
	return r ? -1 : 0;
}

static int make_slices_larger(const char *set_hex, const struct mirror *m, char **reason)
{
	unsigned int i;
	int r = 0;

	for (i = 0; i < m->nr && !r; i++) {
		char *slice = slice_name(set_hex, SLICE_DATA, m->leg[i].id), *params = linear_params(&m->leg[i], LEG_DATA_AT);

		r = dm_load_target(slice, m->size, "linear", params, reason) ? : dm_resume_hidden(slice, reason);
		free(params);
		free(slice);
	}
	return r;
}

static int make_larger(struct tier_context *ctx, const char *set_hex, const char *name, struct mirror *m, uint64_t from)
{
	char *device = device_name(set_hex), *reason = NULL;
	struct stillness before;
	int r = m->nr > 1 ? make_slices_larger(set_hex, m, &reason) : 0;

	step_reached("grow", "slices");
	if (!r)
		r = load_whole(ctx, set_hex, device, m, &reason);
	if (!r) {
		quiet_begin(ctx, &before);
		r = dm_resume_hidden(device, &reason);
		if (r) {
			m->size = from;
			put_back(ctx, set_hex, name, device, m);
		}
		quiet_end(ctx, &before);
	}
	if (r)
		err(ctx, ERR_KERNEL_REFUSED, "%s: its metadata cannot grow: %s.", name, reason);
	free(reason);
	free(device);
	return r;
}

/* The headers come first: a leg that has less in dm-raid's superblock has that size. */
int mirror_grow(struct tier_context *ctx, const char *set_hex, const char *name, struct mirror *m, uint64_t size)
{
	uint64_t from = m->size;
	int lock, r = 0;
	unsigned int i;

	if (!lock_in_time(ctx, set_hex, name, LOCK_DEVICE, &lock))
		return -1;
	ctx->changed = true;
	m->size = size;
	for (i = 0; i < m->nr && !r; i++) {
		m->leg[i].look.info.size = size;
		r = write_header(ctx, &m->leg[i]);
		step_reached("grow", i ? "other" : "header");
	}
	if (!r)
		r = make_larger(ctx, set_hex, name, m, from);
	step_reached("grow", "larger");
	if (lock >= 0)
		close(lock);
	return r ? -1 : 0;
}

static bool has_noted(struct mirror *m, uint64_t size)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		struct member now;

		if (!m->leg[i].there)
			continue;
		member_read(&m->leg[i].dev, &now);
		m->leg[i].look = now.leg;
		member_free(&now);
	}
	return mirror_has_noted(m, size);
}

int mirror_note_size(struct tier_context *ctx, const char *set_hex, const char *name, struct mirror *m, uint64_t size)
{
	char *device, *reason = NULL, *worse = NULL;
	struct stillness before;
	int r;

	if (m->nr == 1 || has_noted(m, size))
		return 0;
	device = device_name(set_hex);
	/* A suspend writes it. */
	quiet_begin(ctx, &before);
	r = dm_suspend(device, &reason);
	if (!r)
		r = dm_resume_hidden(device, &worse);
	quiet_end(ctx, &before);
	if (worse)
		say_stuck(ctx, name, device, worse);
	else if (!r && !has_noted(m, size))
		r = -EIO;
	if (r && !worse)
		err(ctx, ERR_IO, "%s: the size of its metadata cannot be noted: %s. To have it in order: tierctl deactivate %s && tierctl activate %s",
		    name, reason ? reason : "a leg does not have it", name, name);
	free(worse);
	free(reason);
	free(device);
	return r ? -1 : 0;
}
