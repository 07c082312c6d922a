// SPDX-License-Identifier: GPL-2.0-only
#include "set/set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/suggest.h"
#include "base/util.h"
#include "base/within.h"
#include "block/signature.h"
#include "dm-tier/metadata/space.h"
#include "format/geometry.h"
#include "format/metadata.h"
#include "format/rules.h"
#include "lvm/lvm-part.h"
#include "lvm/lvm.h"

/* A metadata device that needs longer for a few blocks counts as hanging. */
#define READ_MS		3000
/* A status that takes longer waits for a device. */
#define STATUS_MS	3000

static void free_tiers(struct set *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++) {
		device_free(&s->tier[i].dev);
		free(s->tier[i].foreign);
		free(s->tier[i].back);
		free(s->tier[i].hidden);
	}
	s->nr_tiers = 0;
}

static void set_free(struct set *s)
{
	free_tiers(s);
	while (s->nr_stray)
		device_free(&s->stray[--s->nr_stray]);
	free(s->stray);
	free(s->name);
	free(s->dm_name);
	dm_device_free(&s->dm);
	table_free(&s->table);
	status_free(&s->status);
	device_free(&s->meta_dev);
	free(s->meta_back);
	free(s->meta_hidden);
	free(s->problem);
	mirror_free(&s->mirror);
}

void sets_free(struct set_list *list)
{
	while (list->nr)
		set_free(&list->set[--list->nr]);
	free(list->set);
	list->set = NULL;
}

static struct set *new_set(struct set_list *list)
{
	struct set *s;

	list->set = xrealloc(list->set, list->nr + 1, sizeof(*list->set));
	s = &list->set[list->nr++];
	memset(s, 0, sizeof(*s));
	s->ctx = list->ctx;
	return s;
}

static struct set_tier *new_tier(struct set *s)
{
	struct set_tier *t = &s->tier[s->nr_tiers++];

	memset(t, 0, sizeof(*t));
	t->id = -1;
	t->state = '-';
	return t;
}

static int is_holder(void *context, dev_t holder)
{
	return holder == *(dev_t *)context;
}

/*
 * A device in an active set's table. A disk that was unplugged is gone while the set still holds
 * it. Its number may by now belong to another disk, or to itself plugged in again, which the set
 * does not hold.
 */
static bool find_held(struct set *s, const char *name, struct device *d)
{
	if (device_from_name(name, d))
		return false;
	if (device_for_each_holder(d->dev, is_holder, &s->dm.dev))
		return true;
	device_free(d);
	return false;
}

/* An active set's devices, from its table. */
static void tiers_from_table(struct set *s)
{
	unsigned int i;

	s->have_meta = find_held(s, s->table.metadata, &s->meta_dev);
	for (i = 0; i < s->table.nr_tiers; i++) {
		struct set_tier *t = new_tier(s);

		if (!strcmp(s->table.tier[i], "-") || !find_held(s, s->table.tier[i], &t->dev))
			continue;
		t->present = true;
		t->state = 'A';
		t->size = t->dev.size;
	}
}

static void tiers_from_status(struct set *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers && i < s->status.nr_tiers; i++) {
		s->tier[i].id = s->status.tier[i].id;
		s->tier[i].state = s->status.tier[i].state;
		s->tier[i].places = s->status.tier[i].places;
	}
}

static int refresh(struct set *s, bool wait)
{
	struct status status;
	char *line;
	int r;

	r = dm_status(s->dm.name, wait ? 0 : STATUS_MS, &line);
	if (r)
		return r;
	r = status_parse(line, &status);
	if (r) {
		err(s->ctx, ERR_UNSUPPORTED, "%s: cannot make sense of its status line: %s", s->name, line);
	} else {
		status_free(&s->status);
		s->status = status;
		tiers_from_status(s);
	}
	free(line);
	return r;
}

int set_refresh(struct set *s)
{
	return refresh(s, true);
}

int set_look(struct set *s)
{
	int r = refresh(s, false);

	if (r == -ETIMEDOUT) {
		status_free(&s->status);
		s->status.kind = STATUS_WAITS;
	}
	return r;
}

/* The data read from the metadata. */
struct content {
	struct tier_meta_info info;
	struct tier_meta_roots roots;
	struct tier_meta_tier records[TIER_MAX_TIERS];
	unsigned int nr;		/* of records */
};

static int read_superblock(void *context, void *result)
{
	struct content *c = result;
	const char *reason;
	int fd = device_open(context, O_RDONLY), r;

	if (fd < 0)
		return fd;
	r = md_read_superblock(fd, &c->info, &c->roots, &reason);
	close(fd);
	return r;
}

static int read_all(void *context, void *result)
{
	struct content *c = result;
	const char *reason;
	int r = read_superblock(context, result), fd;

	if (r)
		return r;
	fd = device_open(context, O_RDONLY);
	if (fd < 0)
		return fd;
	r = md_read_tiers(fd, &c->roots, c->records, &c->nr, &reason);
	close(fd);
	return r;
}

/*
 * The metadata device of an active set may be suspended, or hang: it is read in a process of its
 * own, and not again if that process did not end.
 */
static int read_metadata(struct set *s, int (*fn)(void *device, void *content), struct content *c)
{
	int r;

	s->have_info = false;
	if (!s->have_meta)
		return -ENOENT;
	if (s->meta_hangs || (s->active && device_waits(s->meta_dev.dev)))
		return -EAGAIN;
	r = s->active ? run_within(READ_MS, fn, &s->meta_dev, c, sizeof(*c)) : fn(&s->meta_dev, c);
	s->meta_hangs = r == -ETIMEDOUT;
	if (r)
		return r;
	s->have_info = true;
	s->info = c->info;
	s->roots = c->roots;
	return 0;
}

int set_read_info(struct set *s)
{
	struct content c;

	return s->have_info ? 0 : read_metadata(s, read_superblock, &c);
}

int set_read_records(struct set *s, struct tier_meta_tier records[TIER_MAX_TIERS], unsigned int *nr)
{
	const struct device *d;
	const char *reason;
	struct content c;
	int fd, r, tries;

	if (!s->active && !s->have_meta && s->have_info) {
		fd = set_open_metadata(s, &d);
		r = fd < 0 ? fd : md_read_tiers(fd, &s->roots, records, nr, &reason);
		if (fd >= 0)
			close(fd);
		return r;
	}
	/* The set is active, so a commit may come in between. */
	for (tries = 0; tries < 5; tries++) {
		r = read_metadata(s, read_all, &c);
		if (r)
			continue;
		memcpy(records, c.records, sizeof(c.records));
		*nr = c.nr;
		break;
	}
	return r;
}

char *set_resume_command(const struct set *s)
{
	struct set now = *s;

	now.have_info = false;
	if (!set_read_info(&now) && md_has_survivor(now.info.state))
		return xasprintf("tierctl revert %s", s->name);
	/*
	 * A change failed and was not undone: every command that changes the set undoes it
	 * first.
	 */
	if (s->have_table && s->status.kind == STATUS_ERROR)
		return xasprintf("tierctl resize --abort %s", s->name);
	return xasprintf("dmsetup resume %s", s->dm_name);
}

static void set_uuid(struct set *s, const u8 *uuid)
{
	memcpy(s->uuid, uuid, sizeof(s->uuid));
	uuid_to_hex(s->hex, s->uuid);
}

/* A device made by dmsetup may have a UUID without the set's. */
static void active_identity(struct set *s)
{
	u8 uuid[TIER_UUID_SIZE] = { 0 };
	size_t len = strlen(s->dm.uuid);

	if (!strncmp(s->dm.uuid, DM_UUID_PREFIX, strlen(DM_UUID_PREFIX)) &&
	    uuid_from_text(s->dm.uuid, uuid))
		set_uuid(s, uuid);
	else if (!set_read_info(s))
		set_uuid(s, s->info.uuid);
	else
		set_uuid(s, uuid);

	s->dm_name = xstrdup(s->dm.name);
	s->lv = len > 3 && !strcmp(s->dm.uuid + len - 3, "-lv");
	if (s->lv)
		s->name = lv_name_from_dm(s->dm.name);
	if (!s->name)
		s->name = xstrdup(s->dm.name);
}

/* Facts about missing tiers that the table does not have. */
static void missing_from_metadata(struct set *s)
{
	struct tier_meta_tier records[TIER_MAX_TIERS];
	unsigned int i, nr;

	if (!set_missing(s) || set_read_records(s, records, &nr))
		return;
	for (i = 0; i < nr; i++) {
		struct set_tier *t = &s->tier[records[i].rank];

		if (records[i].rank >= s->nr_tiers || t->present)
			continue;
		copy_string(t->last_seen, sizeof(t->last_seen), records[i].last_seen);
		make_printable(t->last_seen);
		t->size = records[i].size * SECTOR_SIZE;
	}
}

static int add_active(void *context, struct dm_device *d)
{
	struct set *s = new_set(context);

	s->active = true;
	s->dm = *d;
	s->length = d->length;
	if (d->table && !table_parse(d->table, &s->table)) {
		s->have_table = true;
		s->chunk_sectors = s->table.chunk_sectors;
		tiers_from_table(s);
	}
	active_identity(s);
	s->status.kind = STATUS_ERROR;
	if (s->have_table)
		set_look(s);
	missing_from_metadata(s);
	return 0;
}

static struct set *find_uuid(const struct set_list *list, const u8 *uuid)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		if (!memcmp(list->set[i].uuid, uuid, TIER_UUID_SIZE))
			return &list->set[i];
	return NULL;
}

__attribute__((format(printf, 2, 3)))
static void add_problem(struct set *s, const char *fmt, ...)
{
	va_list ap;

	if (s->problem)
		return;
	va_start(ap, fmt);
	s->problem = xvasprintf(fmt, ap);
	va_end(ap);
}

char *metadata_age(const struct tier_meta_info *info)
{
	return xasprintf("generation %llu, transaction %llu", (unsigned long long)info->generation,
			 (unsigned long long)info->trans_id);
}

static char *label_age(u64 generation)
{
	return xasprintf("generation %llu", (unsigned long long)generation);
}

/*
 * One of two devices is a copy, and nobody can say which. Report this first, as nothing that
 * convert or revert left can be finished before. Frees the ages.
 */
static void note_double(struct set *s, const char *part, const struct device *a, char *a_age,
			const struct device *b, char *b_age)
{
	s->doubled = true;
	free(s->problem);
	s->problem = xasprintf("two devices say that they are its %s: %s (%s) and %s (%s)", part, a->name, a_age,
			       b->name, b_age);
	free(a_age);
	free(b_age);
}

/*
 * The best of several devices is the set's. Returns whether it is better than all others: it is
 * not if two are equal.
 */
static bool stands_out(int better, bool doubled, bool stood_out)
{
	return better > 0 || (better < 0 && (!doubled || stood_out));
}

static void add_stray(struct set *s, const struct device *d)
{
	s->stray = xrealloc(s->stray, s->nr_stray + 1, sizeof(*s->stray));
	device_copy(&s->stray[s->nr_stray++], d);
}

static const char *state_problem(u32 state)
{
	switch (state) {
	case TIER_STATE_LIVE:
		return NULL;
	case TIER_STATE_FORMATTING:
		return "its creation was interrupted, nothing is in it yet";
	case TIER_STATE_RETIRED:
		return "it was taken apart, these are its remains";
	case TIER_STATE_REVERTING:
		return "its way back to one device was interrupted";
	default:
		return "its conversion was interrupted";
	}
}

static void copy_reason(char **to, const char *from)
{
	free(*to);
	*to = from ? xstrdup(from) : NULL;
}

/* What a superblock says, of a metadata device or of a leg. */
static void use_superblock(struct set *s, const struct tier_meta_info *info, const struct tier_meta_roots *roots)
{
	const char *problem = state_problem(info->state);

	s->have_info = true;
	s->info = *info;
	s->roots = *roots;
	s->length = info->length;
	s->chunk_sectors = info->chunk_sectors;
	free(s->dm_name);
	s->dm_name = xstrdup(info->name);
	if (problem)
		add_problem(s, "%s", problem);
}

static void use_metadata(struct set *s, const struct member *m)
{
	/* As in use_label() */
	if (s->have_meta && s->meta_hidden && m->hidden)
		return;
	if (s->have_meta) {
		int better = metadata_compare(&m->meta, &s->info);

		note_double(s, "metadata", &s->meta_dev, metadata_age(&s->info), &m->dev, metadata_age(&m->meta));
		s->meta_newest = stands_out(better, s->meta_doubled, s->meta_newest);
		s->meta_doubled = true;
		/* Both devices are wiped with the set. */
		add_stray(s, better > 0 ? &s->meta_dev : &m->dev);
		if (better <= 0)
			return;
		device_free(&s->meta_dev);
	}
	s->have_meta = true;
	device_copy(&s->meta_dev, &m->dev);
	copy_reason(&s->meta_hidden, m->hidden);
	use_superblock(s, &m->meta, &m->roots);
}

/* Metadata without a device: what the newest of its legs says. */
static void use_leg(struct set *s)
{
	unsigned int newest = mirror_newest(&s->mirror);
	const struct member_leg *leg = newest < LEGS_MAX ? &s->mirror.leg[newest].look : NULL;

	if (leg && leg->readable)
		use_superblock(s, &leg->meta, &leg->roots);
	else
		add_problem(s, "the metadata on its tiers is damaged");
}

/* A leg counts on a tier of the set that is no old copy. */
static bool is_usable(void *context, const struct mirror_leg *leg)
{
	const struct set *s = context;
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].present && s->tier[i].dev.dev == leg->dev.dev)
			return !s->tier[i].stale;
	return false;
}

const struct device *set_metadata(const struct set *s, uint64_t *at)
{
	unsigned int newest = s->have_meta ? LEGS_MAX : mirror_newest(&s->mirror);

	*at = newest < LEGS_MAX ? (s->mirror.leg[newest].at + LEG_DATA_AT) * SECTOR_SIZE : 0;
	return newest < LEGS_MAX ? &s->mirror.leg[newest].dev : s->have_meta ? &s->meta_dev : NULL;
}

int set_open_metadata(const struct set *s, const struct device **d)
{
	uint64_t at;
	int fd;

	*d = set_metadata(s, &at);
	if (!*d)
		return -ENOENT;
	fd = device_open(*d, O_RDONLY);
	if (fd >= 0 && lseek(fd, at, SEEK_SET) < 0) {
		close(fd);
		fd = -errno;
	}
	return fd;
}

/* The tiers in the metadata's records, by rank. */
static void read_records(struct set *s)
{
	struct tier_meta_tier records[TIER_MAX_TIERS];
	const char *reason = "cannot be opened";
	const struct device *d;
	unsigned int i, nr = 0;
	int fd = set_open_metadata(s, &d);
	int r = fd;

	if (fd >= 0) {
		r = md_read_tiers(fd, &s->roots, records, &nr, &reason);
		close(fd);
	}
	if (r) {
		add_problem(s, "%s: %s", d->name, reason);
		return;
	}
	for (i = 0; i < nr; i++)
		new_tier(s);
	for (i = 0; i < nr; i++) {
		struct set_tier *t = &s->tier[records[i].rank];

		if (records[i].rank >= nr || t->id >= 0) {
			add_problem(s, "%s: metadata is damaged (ranks of tiers)", d->name);
			return;
		}
		if (!tier_first_place_valid(&s->info, records[i].first_place)) {
			add_problem(s, "%s: metadata is damaged (places of tiers)", d->name);
			return;
		}
		t->id = records[i].id;
		memcpy(t->uuid, records[i].uuid, sizeof(t->uuid));
		copy_string(t->last_seen, sizeof(t->last_seen), records[i].last_seen);
		make_printable(t->last_seen);
		t->size = records[i].size * SECTOR_SIZE;
		t->first_place = records[i].first_place;
		t->places = records[i].places;
		t->endurance = records[i].endurance;
		t->generation = records[i].generation;
		t->next_generation = records[i].next_generation;
		t->state = records[i].flags & TIER_RECORD_EVACUATE ? 'E' : 'A';
	}
	s->have_records = true;
}

/* Rank of the label's tier by the metadata, or -1. */
static int record_of(const struct set *s, const struct tier_label_info *label)
{
	unsigned int i;

	for (i = 0; s->have_records && i < s->nr_tiers; i++)
		if (!memcmp(s->tier[i].uuid, label->tier_uuid, sizeof(label->tier_uuid)))
			return i;
	return -1;
}

char *set_tier_age(const struct set_tier *t)
{
	return xasprintf("%s generation %llu, the metadata knows %llu",
			 t->slot_lost ? "has a label slot that cannot be read, and in the other one" : "is of",
			 (unsigned long long)t->label_generation, (unsigned long long)t->generation);
}

static void use_label(struct set *s, const struct member *m)
{
	int rank = record_of(s, &m->label), better, error;
	struct set_tier *t;
	bool stale;
	char *part;

	if (rank < 0) {
		add_stray(s, &m->dev);
		return;
	}
	t = &s->tier[rank];
	/* Two paths without their map: either tells what is wrong. */
	if (t->present && t->hidden && m->hidden)
		return;
	stale = !tier_label_current(t->generation, t->next_generation, m->label.generation);
	if (t->present) {
		/* The device that fits the metadata, else the newest. */
		better = compare_numbers(!stale, !t->stale) ? :
			 compare_numbers(m->label.generation, t->label_generation);
		part = xasprintf("tier %d", rank);
		note_double(s, part, &t->dev, label_age(t->label_generation), &m->dev, label_age(m->label.generation));
		free(part);
		t->newest = stands_out(better, t->doubled, t->newest);
		t->doubled = true;
		add_stray(s, better > 0 ? &t->dev : &m->dev);
		if (better <= 0)
			return;
		device_free(&t->dev);
	}
	t->present = true;
	device_copy(&t->dev, &m->dev);
	/* The tier that an interrupted revert goes back to begins with the set's own data. */
	copy_reason(&t->hidden, m->hidden_by_type && s->info.state == TIER_STATE_REVERTING ? NULL : m->hidden);
	t->label_generation = m->label.generation;
	t->stale = stale;
	t->slot_lost = stale && m->label.slot_lost && m->label.generation < t->generation;
	/*
	 * A tier that is being converted, or reverted, has data there. A valid label does not
	 * contradict this: a partition table may leave the label of the second slot.
	 */
	free(t->foreign);
	t->foreign = NULL;
	if (s->info.state == TIER_STATE_LIVE)
		t->foreign = signatures_within(m->dev.path, TIER_LABEL_AREA_MIN * SECTOR_SIZE, &error);
}

/*
 * On the tier that an unfinished revert goes back to, data beside the label may look like
 * metadata or another label.
 */
static void use_covered_label(struct set *s, const struct member_list *members)
{
	int survivor = s->have_records && s->info.state == TIER_STATE_REVERTING ?
		   set_rank_with(s, md_survivor(&s->info)) : -1;
	unsigned int i;

	if (survivor < 0 || s->tier[survivor].present)
		return;
	for (i = 0; i < members->nr; i++) {
		struct member m = members->member[i];
		int fd;

		if (m.kind != MEMBER_DAMAGED && m.kind != MEMBER_METADATA)
			continue;
		fd = device_open(&m.dev, O_RDONLY);
		if (fd < 0)
			continue;
		if (member_find_label(fd, s->uuid, &m.label) > 0 && record_of(s, &m.label) == survivor)
			use_label(s, &m);
		close(fd);
	}
}

/* Whether a member belongs to an active set, so is no part of an inactive one. */
static bool of_active(const struct set_list *list, const struct member *m)
{
	const struct set *s = find_uuid(list, member_set_uuid(m));

	return s && s->active;
}

/* The dm name of a logical volume, NULL if the device is none; the caller frees. */
static char *volume_name(const struct device *d)
{
	return device_is_volume(d->dev) ? device_attribute(d->dev, "dm/name") : NULL;
}

static bool ends_as_origin(const char *name)
{
	size_t len = strlen(name), end = strlen(LVM_ORIGIN_SUFFIX);

	return len > end && !strcmp(name + len - end, LVM_ORIGIN_SUFFIX);
}

bool set_volume_is_origin(const struct device *d)
{
	char *name = volume_name(d);
	bool is = name && ends_as_origin(name);

	free(name);
	return is;
}

static bool is_called(const struct device *d, const char *want)
{
	char *name = volume_name(d);
	bool is = name && !strcmp(name, want);

	free(name);
	return is;
}

static int tier_called(const struct set *s, const char *name)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].present && is_called(&s->tier[i].dev, name))
			return i;
	return -1;
}

/* The conversion was interrupted before the volume had a label. */
static void name_after_unlabelled(struct set *s)
{
	char *name = s->dm_name ? lv_name_from_dm(s->dm_name) : NULL;
	struct device d;

	if (name && !device_from_name(name, &d)) {
		s->lv = is_called(&d, s->dm_name);
		device_free(&d);
	}
	free(name);
}

static bool has_volume(const struct set *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].present && device_is_volume(s->tier[i].dev.dev))
			return true;
	return false;
}

/*
 * The volume has another name by now, or is not active: its tags tell its old name. LVM may take
 * long, or for ever if a device is suspended. So LVM is asked only for a set on a volume, if the
 * set's name or a volume's has such a form, and with a time limit.
 */
static void name_after_tags(struct set *s)
{
	const struct lvm_part *origin = NULL;
	struct lvm_parts parts = { 0 };
	char *old = NULL, *both;

	if (has_volume(s) && lvm_installed() && !lvm_look_for_set(s->ctx, s->hex, &parts))
		origin = lvm_find_role(&parts, LVM_ROLE_ORIGIN);
	if (origin)
		old = lvm_tag(origin, "name");
	if (old) {
		both = xasprintf("%s/%s", origin->vg, old);
		s->lv = true;
		free(s->dm_name);
		s->dm_name = dm_name_from_lv(both);
		free(both);
	}
	free(old);
	lvm_parts_free(&parts);
}

/*
 * The device of a set that was a logical volume has the volume's name, VG-LV. The volume itself
 * is VG-LV_torig, or still VG-LV if the conversion was interrupted. If no volume has that name,
 * the volume group may have been renamed: tags tell, or a single tier with that ending.
 */
static void name_after_volume(struct set *s)
{
	char *origin = s->dm_name ? xasprintf("%s" LVM_ORIGIN_SUFFIX, s->dm_name) : NULL;
	char *name = s->dm_name ? lv_name_from_dm(s->dm_name) : NULL;
	unsigned int i, nr = 0, rank = 0;

	s->lv = origin && (tier_called(s, s->dm_name) >= 0 || tier_called(s, origin) >= 0);
	for (i = 0; !s->lv && i < s->nr_tiers; i++)
		if (s->tier[i].present && set_volume_is_origin(&s->tier[i].dev)) {
			rank = i;
			nr++;
		}
	if (!s->lv && (nr || (name && s->have_info && s->info.state == TIER_STATE_LIVE)))
		name_after_tags(s);
	if (nr == 1 && name && !s->lv) {
		free(s->dm_name);
		s->dm_name = volume_name(&s->tier[rank].dev);
		s->dm_name[strlen(s->dm_name) - strlen(LVM_ORIGIN_SUFFIX)] = '\0';
		s->lv = true;
	}
	free(origin);
	free(name);
}

static void finish_inactive(struct set *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (!s->tier[i].present)
			s->tier[i].state = '-';
	name_after_volume(s);
	if (s->have_meta && s->mirror.nr) {
		free(s->problem);
		s->problem = xasprintf("its metadata lies on %s and on its tiers", s->meta_dev.name);
		s->doubled = true;
	}
	if (!s->have_meta && !s->mirror.nr)
		add_problem(s, "its metadata device is missing, or its superblock was overwritten");
	if (!s->lv && s->have_info && s->info.state == TIER_STATE_CONVERTING)
		name_after_unlabelled(s);
	if (s->lv)
		s->name = lv_name_from_dm(s->dm_name);
	if (!s->name)
		s->name = xstrdup(s->dm_name && *s->dm_name ? s->dm_name : s->hex);
}

int sets_load_members(struct tier_context *ctx, struct set_list *list, const struct member_list *members)
{
	unsigned int i, active;
	int r;

	memset(list, 0, sizeof(*list));
	list->ctx = ctx;
	r = dm_for_each_set(add_active, list);
	if (r)
		err(ctx, ERR_KERNEL_REFUSED, "cannot ask device-mapper which sets are active: %s.",
		    strerror(-r));
	active = list->nr;

	/* Metadata first: it decides which labels count. */
	for (i = 0; i < members->nr; i++) {
		const struct member *m = &members->member[i];
		struct set *s;

		if ((m->kind != MEMBER_METADATA && m->kind != MEMBER_TIER) || of_active(list, m))
			continue;
		s = find_uuid(list, member_set_uuid(m));
		if (!s) {
			s = new_set(list);
			set_uuid(s, member_set_uuid(m));
			if (m->kind == MEMBER_TIER)
				s->dm_name = xstrdup(m->label.name);
		}
		if (m->kind == MEMBER_METADATA)
			use_metadata(s, m);
		else if (!s->chunk_sectors)
			s->chunk_sectors = m->label.chunk_sectors;
		if (m->kind == MEMBER_TIER)
			mirror_add(&s->mirror, m);
	}
	for (i = active; i < list->nr; i++) {
		if (!list->set[i].have_meta && list->set[i].mirror.nr)
			use_leg(&list->set[i]);
		if (list->set[i].have_info)
			read_records(&list->set[i]);
	}
	for (i = 0; i < members->nr; i++) {
		const struct member *m = &members->member[i];

		if (m->kind == MEMBER_TIER && !of_active(list, m))
			use_label(find_uuid(list, member_set_uuid(m)), m);
	}
	for (i = active; i < list->nr; i++) {
		use_covered_label(&list->set[i], members);
		if (list->set[i].have_records)
			mirror_settle(&list->set[i].mirror, is_usable, &list->set[i]);
	}
	for (i = active; i < list->nr; i++)
		finish_inactive(&list->set[i]);
	return r;
}

int sets_load(struct tier_context *ctx, struct set_list *list, bool scan)
{
	struct member_list members = { 0 };
	int r;

	if (scan)
		members_scan(ctx, &members, false);
	r = sets_load_members(ctx, list, &members);
	members_free(&members);
	return r;
}

void set_look_for_missing(struct set *s, const struct member_list *members)
{
	unsigned int i;
	int rank;

	for (i = 0; i < members->nr; i++) {
		const struct member *m = &members->member[i];

		if ((m->kind != MEMBER_METADATA && m->kind != MEMBER_TIER) ||
		    memcmp(member_set_uuid(m), s->uuid, sizeof(s->uuid)))
			continue;
		rank = m->kind == MEMBER_TIER ? set_rank_with(s, m->label.id) : -1;
		if (rank >= 0 && !s->tier[rank].present && !s->tier[rank].back)
			s->tier[rank].back = xstrdup(m->dev.name);
		if (m->kind == MEMBER_METADATA && !s->have_meta && !s->meta_back)
			s->meta_back = xstrdup(m->dev.name);
	}
}

int sets_load_for(struct tier_context *ctx, struct set_list *list, const char *set_hex)
{
	struct member_list members;
	int r;

	members_scan_for(ctx, &members, set_hex);
	r = sets_load_members(ctx, list, &members);
	members_free(&members);
	return r;
}

static bool is_named(const struct set *s, const char *name)
{
	return !strcmp(s->name, name) || (s->dm_name && !strcmp(s->dm_name, name));
}

struct set *sets_find(const struct set_list *list, const char *name)
{
	u8 uuid[TIER_UUID_SIZE] = { 0 };
	/* Between two steps of convert or revert, only VG-LV may have the name. */
	char *as_dm = dm_name_from_lv(name);
	struct set *found = NULL;
	struct device d;
	unsigned int i;

	for (i = 0; i < list->nr && !found; i++)
		if (is_named(&list->set[i], name) ||
		    (list->set[i].dm_name && strchr(name, '/') && !strcmp(list->set[i].dm_name, as_dm)))
			found = &list->set[i];
	free(as_dm);
	if (found)
		return found;
	if (!device_from_name(name, &d)) {
		dev_t dev = d.dev;

		device_free(&d);
		for (i = 0; i < list->nr; i++)
			if (list->set[i].active && list->set[i].dm.dev == dev)
				return &list->set[i];
		return NULL;
	}
	return uuid_from_text(name, uuid) ? find_uuid(list, uuid) : NULL;
}

char *sets_role(const struct set_list *list, dev_t dev, const struct set **owner)
{
	unsigned int i, rank;

	for (i = 0; i < list->nr; i++) {
		const struct set *s = &list->set[i];

		*owner = s;
		if (s->have_meta && s->meta_dev.dev == dev)
			return xasprintf("the metadata of %s", s->name);
		for (rank = 0; rank < s->nr_tiers; rank++)
			if (s->tier[rank].present && s->tier[rank].dev.dev == dev)
				return xasprintf("tier %u of %s", rank, s->name);
	}
	*owner = NULL;
	return NULL;
}

/*
 * A label of the set on a device that the set does not use: a tier that an active set goes on
 * without, a former tier, or a copy. The metadata tells which, if it can be read and is not
 * itself an old copy.
 */
static void role_of_label(const struct set *s, const struct tier_label_info *label, struct role *role)
{
	struct tier_meta_tier records[TIER_MAX_TIERS];
	struct set now = *s;
	unsigned int i, nr;

	role->state = "inactive";
	if (device_waits(s->meta_dev.dev) || set_read_records(&now, records, &nr))
		return;
	for (i = 0; i < nr; i++) {
		const struct tier_meta_tier *r = &records[i];

		if (memcmp(r->uuid, label->tier_uuid, sizeof(r->uuid)))
			continue;
		if (r->rank < s->nr_tiers && s->tier[r->rank].present) {
			role->state = "duplicate";
			role->newer = label->generation > (s->active ? r->generation :
							   s->tier[r->rank].label_generation);
			return;
		}
		role->tier = r->rank;
		if (!tier_label_current(r->generation, r->next_generation, label->generation))
			role->state = "stale";
		return;
	}
	role->newer = label->generation > now.info.next_generation;
	role->state = role->newer ? "stale" : "unused";
}

/* Metadata of the set on a device that the set does not use. */
static void role_of_metadata(const struct set *s, const struct tier_meta_info *info, struct role *role)
{
	struct set now = *s;

	role->state = "duplicate";
	role->newer = device_waits(s->meta_dev.dev) || set_read_info(&now) || metadata_compare(info, &now.info) > 0;
}

static void find_role(const struct member *m, const struct set_list *sets, struct role *role)
{
	const struct set *s;
	unsigned int i;

	memset(role, 0, sizeof(*role));
	role->tier = -1;
	if (m->kind != MEMBER_METADATA && m->kind != MEMBER_TIER) {
		role->role = m->kind == MEMBER_DAMAGED ? "damaged" :
			     m->kind == MEMBER_UNREADABLE ? "unreadable" : "other";
		return;
	}
	role->role = m->kind == MEMBER_METADATA ? "metadata" : "tier";
	s = role->set = find_uuid(sets, member_set_uuid(m));
	if (!s)
		return;
	if (s->have_meta && s->meta_dev.dev == m->dev.dev) {
		role->state = s->active ? "active" : "inactive";
		return;
	}
	for (i = 0; i < s->nr_tiers; i++) {
		if (!s->tier[i].present || s->tier[i].dev.dev != m->dev.dev)
			continue;
		role->tier = i;
		role->state = s->tier[i].stale ? "stale" : s->active ? "active" : "inactive";
		return;
	}
	/*
	 * It belongs to the set, but the set does not use it; without metadata the reason is
	 * unknown.
	 */
	if (!set_has_metadata(s))
		role->state = "inactive";
	else if (m->kind == MEMBER_TIER)
		role_of_label(s, &m->label, role);
	else
		role_of_metadata(s, &m->meta, role);
}

void role_of(const struct member *m, const struct set_list *sets, struct role *role)
{
	find_role(m, sets, role);
	/* If a set uses the hidden device, its state counts. */
	if (m->hidden && role->state && strcmp(role->state, "active"))
		role->state = "hidden";
}

/* The active set that a file or a directory lies on directly, NULL if there is none. */
static const struct set *set_below(const struct set_list *list, const char *path)
{
	struct stat st;
	unsigned int i;

	for (i = 0; i < list->nr && !stat(path, &st); i++)
		if (list->set[i].active && list->set[i].dm.dev == st.st_dev)
			return &list->set[i];
	return NULL;
}

bool sets_alone(const struct set_list *list, const struct set *s, const char *name)
{
	const struct set *other = NULL;
	unsigned int i;

	for (i = 0; i < list->nr && !other; i++)
		if (&list->set[i] != s && is_named(&list->set[i], name))
			other = &list->set[i];
	if (other)
		err(list->ctx, ERR_AMBIGUOUS,
		    "%s: two sets have this name. Name it by UUID: %s%s or %s.", name, s->hex,
		    s->active ? " (active)" : "", other->hex);
	return !other;
}

struct set *sets_need(const struct set_list *list, const char *name)
{
	struct set *s = sets_find(list, name);
	const struct set *owner;
	struct suggestion g;
	struct device d;
	unsigned int i;
	char *role, *meant;

	if (s) {
		/* Of two sets with that name the active set is meant. */
		if (!s->active && !sets_alone(list, s, name))
			return NULL;
		context_set(list->ctx, s->hex, s->name);
		return s;
	}
	if (!device_from_name(name, &d)) {
		role = sets_role(list, d.dev, &owner);
		if (role)
			err(list->ctx, ERR_NOT_FOUND, "%s: is %s. Name %s.", name, role, owner->name);
		else
			err(list->ctx, ERR_NOT_FOUND, "%s: is no tiered set. tierctl list names them.", name);
		free(role);
		device_free(&d);
	} else if (set_below(list, name)) {
		err(list->ctx, ERR_NOT_FOUND, "%s: lies on %s. Name %s.", name,
		    set_below(list, name)->name, set_below(list, name)->name);
	} else {
		suggestion_init(&g, name);
		for (i = 0; i < list->nr; i++)
			suggestion_offer(&g, list->set[i].name);
		meant = suggestion_text(&g, "");
		err(list->ctx, ERR_NOT_FOUND, "%s: no such set.%s tierctl list names them.", name, meant);
		free(meant);
	}
	return NULL;
}

/* The group was renamed, and the device not yet. */
static int tagged_origin(const struct set *s)
{
	const struct lvm_part *origin = NULL;
	struct lvm_parts parts = { 0 };
	char *name = NULL;
	int rank = -1;

	if (lvm_installed() && !lvm_list_set(s->ctx, s->hex, &parts))
		origin = lvm_find_role(&parts, LVM_ROLE_ORIGIN);
	if (origin && ends_as_origin(origin->lv)) {
		name = dm_name_from_lv(origin->name);
		rank = tier_called(s, name);
	}
	free(name);
	lvm_parts_free(&parts);
	return rank;
}

int set_origin(const struct set *s)
{
	char *name;
	int rank;

	if (!s->lv)
		return -1;
	name = xasprintf("%s" LVM_ORIGIN_SUFFIX, s->dm_name);
	rank = tier_called(s, name);
	free(name);
	return rank < 0 ? tagged_origin(s) : rank;
}

/* Before the places of a set with its metadata on its tiers is room, not the same on each. */
static bool learn_places(struct set *s)
{
	struct tier_meta_tier records[TIER_MAX_TIERS];
	unsigned int i, nr;

	if (!s->active || s->have_places ||
	    !(set_mirror_assembled(s) || (s->have_info && s->info.incompat_flags & TIER_INCOMPAT_ROOM)))
		return true;
	if (set_read_records(s, records, &nr))
		return false;
	for (i = 0; i < nr; i++) {
		int rank = set_rank_with(s, records[i].id);

		if (rank >= 0)
			s->tier[rank].first_place = records[i].first_place;
	}
	s->have_places = true;
	return true;
}

uint64_t set_joining_places(struct set *s, uint64_t bytes)
{
	uint64_t own = bytes / SECTOR_SIZE / s->chunk_sectors, all = own, least = UINT64_MAX;
	unsigned int i;

	if (!(s->info.incompat_flags & TIER_INCOMPAT_ROOM) || !learn_places(s))
		return geometry_places(bytes / SECTOR_SIZE, s->chunk_sectors, 0);
	for (i = 0; i < s->nr_tiers; i++) {
		if (s->tier[i].first_place < least)
			least = s->tier[i].first_place;
		all += s->tier[i].places;
	}
	return geometry_places(bytes / SECTOR_SIZE, s->chunk_sectors,
			       tier_md_joining_place(least, all, s->meta_dev.size / SECTOR_SIZE, own, s->chunk_sectors));
}

uint64_t set_tier_places(struct set *s, unsigned int rank)
{
	const struct set_tier *t = &s->tier[rank];

	/* The device may have changed, but nobody can tell. */
	if (!learn_places(s))
		return t->places;
	return geometry_places(t->dev.size / SECTOR_SIZE, s->chunk_sectors, t->first_place);
}

bool set_keep_legs(struct set *s)
{
	unsigned int newest = mirror_newest(&s->mirror);
	dev_t dev = newest < LEGS_MAX ? s->mirror.leg[newest].dev.dev : 0;

	mirror_settle(&s->mirror, is_usable, s);
	newest = mirror_newest(&s->mirror);
	return newest < LEGS_MAX && s->mirror.leg[newest].dev.dev == dev;
}

bool set_mirror_assembled(const struct set *s)
{
	return s->have_meta && mirror_is_device(s->meta_dev.dev);
}

unsigned int set_legs(const struct set *s, const struct device *legs[LEGS_MAX])
{
	bool assembled = set_mirror_assembled(s);
	unsigned int i, nr = 0;

	for (i = 0; i < s->mirror.nr && !assembled; i++)
		if (s->mirror.leg[i].there)
			legs[nr++] = &s->mirror.leg[i].dev;
	for (i = 0; i < s->nr_tiers && assembled && nr < LEGS_MAX; i++)
		if (s->tier[i].present && mirror_lies_on(s->tier[i].dev.dev))
			legs[nr++] = &s->tier[i].dev;
	return nr;
}

unsigned int set_missing(const struct set *s)
{
	unsigned int i, missing = 0;

	for (i = 0; i < s->nr_tiers; i++)
		missing += !s->tier[i].present;
	return missing;
}

unsigned int set_stale(const struct set *s)
{
	unsigned int i, stale = 0;

	for (i = 0; i < s->nr_tiers; i++)
		stale += s->tier[i].stale;
	return stale;
}

struct chunk_count {
	uint64_t by_id[TIER_MAX_ID + 2];
	uint64_t mapped, pinned;
};

static int count_chunk(void *context, u64 chunk, u64 entry)
{
	struct chunk_count *c = context;

	(void)chunk;
	if (entry & TIER_ENTRY_MAPPED) {
		c->by_id[md_entry_id(entry)]++;
		c->mapped++;
	}
	if (md_entry_pin(entry))
		c->pinned++;
	return 0;
}

bool set_count_chunks(struct set *s, uint64_t used[TIER_MAX_TIERS], uint64_t *mapped, uint64_t *pinned)
{
	struct chunk_count count = { 0 };
	const struct device *d;
	const char *reason;
	unsigned int i;
	int fd, r;

	if (!s->have_records)
		return false;
	fd = set_open_metadata(s, &d);
	if (fd < 0)
		return false;
	r = md_read_map(fd, &s->roots, s->info.nr_chunks, count_chunk, &count, &reason);
	close(fd);
	if (r)
		return false;
	for (i = 0; i < s->nr_tiers; i++)
		used[i] = count.by_id[s->tier[i].id];
	*mapped = count.mapped;
	*pinned = count.pinned;
	return true;
}

char *set_usage(const struct set *s)
{
	struct device d;
	char *text, *opener;

	if (device_from_number(s->dm.dev, &d))
		return xstrdup("in use");
	text = device_usage(&d);
	opener = text ? NULL : device_opener(d.dev, false);
	if (!text)
		text = opener ? xasprintf("open by %s", opener) : xstrdup("in use");
	free(opener);
	device_free(&d);
	return text;
}
