// SPDX-License-Identifier: GPL-2.0-only
#include "ops/relabel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/step.h"
#include "base/util.h"
#include "ops/activate.h"
#include "set/candidate.h"
#include "set/evidence.h"
#include "set/lock.h"
#include "set/owner.h"
#include "set/tier.h"

/* A label that the metadata cannot explain belongs to a tier that joined later. */
static bool stray_is_newer(const struct set *s)
{
	bool newer = false;
	struct member m;
	unsigned int i;

	for (i = 0; !newer && i < s->nr_stray; i++) {
		member_read(&s->stray[i], &m);
		newer = m.kind == MEMBER_TIER && m.label.generation > s->info.next_generation;
		if (newer)
			err(s->ctx, ERR_STALE,
			    "%s: metadata stale: %s has a label of generation %llu, the metadata knows %llu. Connect the current metadata device.",
			    s->name, s->stray[i].name, (unsigned long long)m.label.generation,
			    (unsigned long long)s->info.next_generation);
		member_free(&m);
	}
	return newer;
}

/*
 * The metadata belongs to the set, and is as new as all labels that are left: false with the
 * error said.
 */
static bool metadata_tells(const struct set *s)
{
	if (s->active)
		err(s->ctx, ERR_ACTIVE,
		    "%s: is active. A label is written while it is not: tierctl deactivate %s", s->name,
		    s->name);
	else if (s->problem)
		err(s->ctx, ERR_DAMAGED, "%s: %s. No label is written meanwhile.", s->name, s->problem);
	else if (!s->have_records || tier_features_read_only(s->info.compat_ro_flags))
		err(s->ctx, ERR_UNSUPPORTED,
		    "%s: its metadata is of a newer version, and cannot be used.", s->name);
	else
		return owner_not_elsewhere(s, "No label is written meanwhile.") &&
		       !activate_metadata_stale(s) && !stray_is_newer(s);
	return false;
}

/* The missing tier of that rank: false with the error said. */
static bool find_rank(const struct set *s, const char *text, unsigned int *rank)
{
	const struct set_tier *t;
	char *age;

	if (!parse_rank(s, text, rank))
		return false;
	t = &s->tier[*rank];
	age = set_tier_age(t);
	if (t->stale)
		err(s->ctx, ERR_STALE, "%s: tier %u (%s) %s. Nothing is written to an old copy.",
		    s->name, *rank, t->dev.name, age);
	else if (t->present)
		err(s->ctx, ERR_EXISTS, "%s: tier %u is there, as %s, and has its label.", s->name,
		    *rank, t->dev.name);
	free(age);
	return !t->present;
}

/* A device that is part of another tier's disk, or the reverse, cannot be that tier. */
static bool apart_from(struct tier_context *ctx, const struct candidate *c, const struct device *part,
		       const char *what, const char *set)
{
	if (!part->path || (!device_overlaps(&c->dev, part) && !device_stands_on(c->dev.dev, part->dev) &&
			    !device_stands_on(part->dev, c->dev.dev)))
		return true;
	err(ctx, ERR_IN_USE, "%s: shares its disk with %s, which is %s of %s.", c->typed, part->name,
	    what, set);
	return false;
}

static bool apart_from_all(const struct candidate *c, const struct set_list *sets)
{
	unsigned int i, j;

	for (i = 0; i < sets->nr; i++) {
		const struct set *s = &sets->set[i];

		if (s->have_meta && !apart_from(sets->ctx, c, &s->meta_dev, "the metadata", s->name))
			return false;
		for (j = 0; j < s->nr_tiers; j++)
			if (s->tier[j].present && !apart_from(sets->ctx, c, &s->tier[j].dev, "a tier", s->name))
				return false;
	}
	return true;
}

/* A damaged label may still name its owner; a label of another tier, or a newer label, counts. */
static bool slot_contradicts(const struct set *s, const struct set_tier *t, const struct tier_label *label)
{
	if (label->magic != cpu_to_le64(TIER_LABEL_MAGIC))
		return false;
	return memcmp(label->set_uuid, s->uuid, sizeof(label->set_uuid)) ||
	       memcmp(label->tier_uuid, t->uuid, sizeof(label->tier_uuid)) ||
	       !tier_label_current(t->generation, t->next_generation, le64_to_cpu(label->generation));
}

/* Whether the beginning of the device allows it to be the tier: false with the error said. */
static bool may_be_tier(const struct candidate *c, const struct set *s, unsigned int rank, const u8 *head)
{
	char *carries = NULL;
	bool good = false;
	struct member m;
	unsigned int i;

	member_read(&c->dev, &m);
	if (m.kind == MEMBER_TIER || m.kind == MEMBER_METADATA || (m.kind == MEMBER_DAMAGED && (!m.is_label || m.is_whole)))
		carries = candidate_describe(&m);
	if (carries)
		err(s->ctx, ERR_UNSUITABLE, "%s: carries %s, and stays as it is.", c->typed, carries);
	else if (m.kind == MEMBER_UNREADABLE)
		err(s->ctx, ERR_IO, "%s: %s.", c->typed, m.reason);
	else
		good = true;
	for (i = 0; good && !s->ctx->force && i < TIER_LABEL_SLOTS; i++) {
		good = !slot_contradicts(s, &s->tier[rank], (const void *)(head + i * TIER_LABEL_SLOT_SIZE));
		if (!good)
			err(s->ctx, ERR_NEEDS_FORCE,
			    "%s: its label is damaged, but seems to be another tier's, or a newer one than the metadata knows. If it is tier %u of %s all the same, repeat with --force.",
			    c->typed, rank, s->name);
	}
	free(carries);
	member_free(&m);
	return good;
}

static bool fits(const struct candidate *c, const struct set *s, unsigned int rank)
{
	const struct set_tier *t = &s->tier[rank];
	char a[SIZE_TEXT], b[SIZE_TEXT];

	if (c->dev.size < t->size)
		err(s->ctx, ERR_UNSUITABLE, "%s: has %s, tier %u of %s had %s.", c->typed,
		    format_size(a, c->dev.size), rank, s->name, format_size(b, t->size));
	else if (c->dev.logical_block > s->info.logical_block_size)
		err(s->ctx, ERR_UNSUITABLE, "%s: has blocks of %u bytes, the set of %u.", c->typed,
		    c->dev.logical_block, s->info.logical_block_size);
	else
		return true;
	return false;
}

static bool read_head(struct tier_context *ctx, const struct device *d, u8 *head)
{
	int fd = device_open(d, O_RDONLY), r = fd;

	if (fd >= 0) {
		r = read_blocks(fd, 0, head, MEMBER_HEAD);
		close(fd);
	}
	if (r)
		err(ctx, error_from(-r), "%s: cannot be read: %s.", d->name, strerror(-r));
	return !r;
}

/* Shows the evidence, and asks. */
static bool agreed(const struct candidate *c, const struct set *s, unsigned int rank)
{
	unsigned int i, others = 0;
	struct evidence e;
	bool may = false;

	if (!evidence_gather(&e, s, rank, &c->dev))
		return false;
	say(s->ctx, "%s as tier %u of %s:", c->dev.name, rank, s->name);
	for (i = 0; i < e.nr; i++)
		say(s->ctx, "  %s%s", e.item[i].against ? "against: " : "for:     ", e.item[i].text);
	for (i = 0; i < s->nr_tiers; i++)
		others += s->tier[i].present;
	if (!others)
		say(s->ctx, "  against: no other tier is there to say that the metadata is current");
	if (e.doubt && !s->ctx->force)
		err(s->ctx, ERR_NEEDS_FORCE,
		    "%s: %s. If it is tier %u of %s all the same, repeat with --force.", c->typed,
		    e.doubt, rank, s->name);
	else if (s->ctx->dry_run)
		say(s->ctx,
		    "Would write the label of tier %u of %s to %s, and zeroes to the rest of its label area.",
		    rank, s->name, c->dev.name);
	else
		may = ask(s->ctx, "Write the label of tier %u of %s to %s?", rank, s->name, c->dev.name);
	if (s->ctx->dry_run && !(e.doubt && !s->ctx->force))
		may = true;
	evidence_free(&e);
	return may;
}

/*
 * Writes both slots, as an activation does, with the recorded generation: any other would be
 * older than the metadata accepts, or newer than the metadata.
 */
static int write_label(int fd, const struct set *s, const struct set_tier *t)
{
	struct tier_label_info label = {
		.id = t->id,
		.size = t->size / SECTOR_SIZE,
		.places_at = t->first_place * s->chunk_sectors,
		.chunk_sectors = s->chunk_sectors,
		.generation = t->generation,
	};
	void *slot = block_buffer(TIER_LABEL_SLOT_SIZE);
	int i, r;

	memcpy(label.set_uuid, s->uuid, sizeof(label.set_uuid));
	memcpy(label.tier_uuid, t->uuid, sizeof(label.tier_uuid));
	copy_string(label.name, sizeof(label.name), s->info.name);
	tier_label_pack(slot, &label);
	s->ctx->changed = true;
	r = zero_blocks(fd, 0, tier_label_area(s->chunk_sectors) * SECTOR_SIZE);
	step_reached("label", "zeroed");
	for (i = TIER_LABEL_SLOTS - 1; !r && i >= 0; i--) {
		r = write_durably(fd, i * TIER_LABEL_SLOT_SIZE, slot, TIER_LABEL_SLOT_SIZE);
		step_reached("label", i ? "second" : "first");
	}
	free(slot);
	return r;
}

/* While the question waited for its answer, the name may have been given to another device. */
static bool write_to(const struct candidate *c, const struct set *s, unsigned int rank, const u8 *head)
{
	u8 *now = block_buffer(MEMBER_HEAD);
	int fd, r;
	bool good;

	step_reached("label", "agreed");
	fd = device_open(&c->dev, O_RDWR | O_EXCL);
	if (fd < 0)
		err(s->ctx, error_from(-fd), "%s: cannot be opened for writing: %s.", c->typed, strerror(-fd));
	good = fd >= 0 && candidate_same(s->ctx, c) && read_head(s->ctx, &c->dev, now);
	if (good && memcmp(now, head, MEMBER_HEAD)) {
		err(s->ctx, ERR_CHANGED,
		    "%s: is not what it was any more, and stays as it is. Try again.", c->typed);
		good = false;
	}
	r = good ? write_label(fd, s, &s->tier[rank]) : 0;
	if (r)
		err(s->ctx, error_from(-r),
		    "%s: cannot be written: %s. The label is written when this is repeated.", c->typed,
		    strerror(-r));
	/* Not every device has partitions. */
	else if (good && ioctl(fd, BLKRRPART) < 0)
		verbose(s->ctx, "%s: partitions were not read again", c->typed);
	if (fd >= 0)
		close(fd);
	free(now);
	return good && !r;
}

/* Nobody uses the device, and reading it does not hang: false with the error said. */
static bool is_free(struct tier_context *ctx, const struct candidate *c)
{
	struct set_list active;
	bool is = !device_waits(c->dev.dev);

	if (!is) {
		err(ctx, ERR_UNREACHABLE, "%s: I/O to it waits: it is suspended, or a device below it.",
		    c->typed);
		return false;
	}
	sets_load(ctx, &active, false);
	is = candidate_usable(c, &active, 0);
	sets_free(&active);
	return is;
}

static bool relabel_tier(const struct set_list *list, const struct set *s, const char *text, struct candidate *c)
{
	u8 *head = block_buffer(MEMBER_HEAD);
	unsigned int rank;
	bool good;

	good = metadata_tells(s) && find_rank(s, text, &rank) && is_free(list->ctx, c) &&
	       read_head(list->ctx, &c->dev, head) && may_be_tier(c, s, rank, head) && apart_from_all(c,
			 list) &&
	       fits(c, s, rank) && agreed(c, s, rank);
	if (good && !list->ctx->dry_run) {
		good = write_to(c, s, rank, head);
		if (good)
			say(list->ctx,
			    "%s: has the label of tier %u of %s again. To go on: tierctl activate %s",
			    c->typed, rank, s->name, s->name);
	}
	free(head);
	return good;
}

int relabel(struct tier_context *ctx, const char *rank, const char *dev, const char *set)
{
	struct candidate c = { .typed = dev };
	struct set_list list = { 0 };
	const struct set *s = NULL;
	bool good = lock_named(ctx, set, true);

	if (good) {
		sets_load(ctx, &list, true);
		s = sets_need(&list, set);
	}
	good = s && candidate_find(ctx, &c) && relabel_tier(&list, s, rank, &c);
	candidate_free(&c);
	sets_free(&list);
	unlock_set();
	return good ? EXIT_DONE : EXIT_FAILED;
}
