// SPDX-License-Identifier: GPL-2.0-only
#include "format/repair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "format/check.h"
#include "format/orphans.h"
#include "format/state.h"

__attribute__((format(printf, 2, 3)))
static bool refuse(struct md_repair *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	free(r->refusal);
	r->refusal = xvasprintf(fmt, ap);
	va_end(ap);
	return false;
}

#define LL(n)	((unsigned long long)(n))

/*
 * Tiers: a record that is lost is made anew from the tier's label.
 */

/*
 * The record gets the set's generation, so the kernel calls an old copy, which lacks later
 * writes, stale. The kernel does the same with a tier that was only missing.
 */
static void tier_from_label(const struct tier_meta_info *info, const struct md_label_source *l,
			    unsigned int rank, struct tier_meta_tier *t)
{
	const struct tier_label_info *label = &l->label;
	const char *name = strrchr(l->name, '/');
	u64 all = label->size / info->chunk_sectors;

	*t = (struct tier_meta_tier){ .id = label->id, .rank = rank, .landing = 1 };
	memcpy(t->uuid, label->tier_uuid, sizeof(t->uuid));
	t->size = label->size;
	t->first_place = label->places_at / info->chunk_sectors;
	t->places = all > t->first_place ? all - t->first_place : 0;
	t->generation = info->generation;
	if (label->generation > info->generation)
		t->next_generation = info->next_generation;
	copy_string(t->last_seen, sizeof(t->last_seen), name ? name + 1 : l->name);
}

static int by_id(const void *a, const void *b)
{
	return (int)((const struct tier_meta_tier *)a)->id - ((const struct tier_meta_tier *)b)->id;
}

static bool refuse_newer(struct md_repair *r, const struct md_label_source *l, u64 generation)
{
	return refuse(r, "metadata stale: %s is of generation %llu, the metadata knows %llu", l->name,
		      LL(l->label.generation), LL(generation));
}

/* Checks a label; t is the tier's record, NULL if it is lost. */
static bool judge_label(struct md_repair *r, const struct md_label_source *l, const struct tier_meta_tier *t)
{
	const struct tier_meta_info *info = &r->content.info;
	u64 label = l->label.generation;

	if (memcmp(l->label.set_uuid, info->uuid, sizeof(info->uuid)))
		return refuse(r, "%s is a tier of another set", l->name);
	if (l->label.chunk_sectors != info->chunk_sectors)
		return refuse(r, "%s has chunks of another size", l->name);
	if (!t && label > info->next_generation)
		return refuse_newer(r, l, info->next_generation);
	if (!t && label < info->generation)
		md_error(r->p, "%s: was missing at the last activation or is an old copy: of generation %llu, the set of %llu. It counts as stale",
			 l->name, LL(label), LL(info->generation));
	if (!t)
		return true;
	if (memcmp(t->uuid, l->label.tier_uuid, sizeof(t->uuid)))
		return refuse(r, "%s is not the tier with id %u", l->name, t->id);
	if (tier_label_current(t->generation, t->next_generation, label))
		return true;
	if (label > t->generation)
		return refuse_newer(r, l, t->generation);
	md_minor(r->p, "%s: %s of generation %llu, the metadata knows %llu", l->name,
		 l->label.slot_lost ? "a label slot cannot be read; the other is" : "tier stale:", LL(label),
		 LL(t->generation));
	return true;
}

/* If the records are whole their ranks are kept, else the order of the labels counts. */
static bool add_tiers(struct md_repair *r, struct md_tiers *tiers, bool whole)
{
	unsigned int i, j;

	for (i = 0; i < r->nr_labels; i++) {
		const struct md_label_source *l = &r->labels[i];
		struct tier_meta_tier *t = (void *)md_find_tier(tiers, l->label.id);

		for (j = 0; j < i; j++)
			if (r->labels[j].label.id == l->label.id)
				return refuse(r, "%s and %s both are tier id %u", r->labels[j].name, l->name,
					      l->label.id);
		if (!judge_label(r, l, t))
			return false;
		if (!t && whole)
			return refuse(r, "%s is no tier of this set now", l->name);
		if (!t && tiers->nr == TIER_MAX_TIERS)
			return refuse(r, "there are more than %u tiers", TIER_MAX_TIERS);
		if (!t) {
			t = &tiers->tier[tiers->nr++];
			tier_from_label(&r->content.info, l, i, t);
			md_error(r->p, "tiers: record of id %u was made from the label on %s; its endurance, reserve, landing, latency, watermark, quiet, residence, wear and evacuation are lost: if it was being emptied, have it evacuated again",
				 t->id, l->name);
		}
		if (!whole)
			t->rank = i;
	}
	if (!whole && tiers->nr != r->nr_labels)
		return refuse(r, "%u tiers were named, but the metadata has %u", r->nr_labels, tiers->nr);
	qsort(tiers->tier, tiers->nr, sizeof(*tiers->tier), by_id);
	return true;
}

static void at_least(u64 *to, u64 n)
{
	if (n > *to)
		*to = n;
}

static bool repair_tiers(struct md_repair *r, struct md_image *image, bool *whole)
{
	struct md_tiers *tiers = &r->content.tiers;
	unsigned int i;

	*whole = md_image_tiers(image, tiers);
	if (!*whole && !r->nr_labels)
		return refuse(r, "records of tiers are lost. Name all tiers, fastest first: --tiers DEV...");
	for (i = 0; i < tiers->nr; i++) {
		at_least(&r->content.info.generation, tiers->tier[i].generation);
		at_least(&r->content.info.next_generation, tiers->tier[i].next_generation);
	}
	at_least(&r->content.info.next_generation, r->content.info.generation);
	return add_tiers(r, tiers, *whole);
}

/*
 * With all records lost, a tier without a name cannot be known: its chunks are given up, or the
 * repair is refused.
 */
static bool give_up_unnamed(struct md_repair *r)
{
	u64 i;

	for (i = 0; i < r->content.info.nr_chunks; i++) {
		u64 entry = r->content.mapping[i];

		if (!(entry & TIER_ENTRY_MAPPED) || entry & ~TIER_ENTRY_DISK_MASK ||
		    md_find_tier(&r->content.tiers, md_entry_id(entry)))
			continue;
		r->given_up++;
		if (!r->lose_tiers)
			return refuse(r, "chunk %llu, for one, is on a tier with id %u, which has lost its record and was not named. Name all tiers; if it is gone for good, --force gives up what was on it",
				      LL(i), md_entry_id(entry));
	}
	return true;
}

/* A damaged superblock was read as having all features. */
static void find_features(struct md_repair *r)
{
	u64 least = tier_label_area(r->content.info.chunk_sectors) / r->content.info.chunk_sectors;
	unsigned int i;

	r->content.info.incompat_flags = 0;
	for (i = 0; i < r->content.tiers.nr; i++)
		if (r->content.tiers.tier[i].first_place > least)
			r->content.info.incompat_flags = TIER_INCOMPAT_ROOM;
}

/* Flags in the superblock that an administrator has set. */
static u32 lasting_flags(u32 state)
{
	return TIER_SB_PAUSED | (md_has_survivor(state) ? TIER_SB_HOME_MASK : 0);
}

/*
 * The superblock is damaged, but not gone: if all trees, all places and all counts of references
 * agree with each other to the last block, its roots are right.
 */
static bool trust_superblock(struct md_repair *r, u8 *block)
{
	struct md_problems silent = { 0 };
	struct tier_superblock *sb = (void *)block;
	struct md_check check = { 0 };
	const struct tier_label_info *label = r->nr_labels ? &r->labels[0].label : NULL;

	sb->magic = cpu_to_le64(TIER_SUPERBLOCK_MAGIC);
	sb->version = cpu_to_le32(TIER_FORMAT_VERSION);
	sb->incompat_flags = cpu_to_le32(TIER_FEATURES_INCOMPAT);
	sb->compat_ro_flags &= cpu_to_le32(TIER_FEATURES_COMPAT_RO);
	sb->metadata_block_size = cpu_to_le32(TIER_METADATA_BLOCK_SECTORS);
	sb->flags &= cpu_to_le32(TIER_SB_NEEDS_CHECK | TIER_SB_CLEAN | lasting_flags(le32_to_cpu(sb->state)));
	/* Nothing confirms who the owner was. */
	sb->compat_flags &= cpu_to_le32(~TIER_COMPAT_OWNER);
	memset(sb->owner_machine, 0, MD_BLOCK - offsetof(struct tier_superblock, owner_machine));
	/* Labels have a checksum of their own. */
	if (label) {
		memcpy(sb->uuid, label->set_uuid, sizeof(sb->uuid));
		memcpy(sb->name, label->name, sizeof(sb->name));
		sb->chunk_sectors = cpu_to_le64(label->chunk_sectors);
	}
	tier_superblock_seal(block, TIER_SUPERBLOCK_LOCATION);
	r->src->superblock = block;
	md_check(&check, r->src, &silent);
	return check.have_info && !silent.errors && !silent.minor;
}

/*
 * Reports fields that nothing else confirms; features: those that only allow reading, from the
 * damaged superblock.
 */
static void tell_doubts(struct md_repair *r, const struct tier_meta_info *info, u32 features)
{
	char policy[TIER_POLICY_NAME_SIZE], survivor[16] = "";

	copy_string(policy, sizeof(policy), info->policy);
	make_printable(policy);
	if (md_has_survivor(info->state))
		snprintf(survivor, sizeof(survivor), ", home %u", md_survivor(info));
	md_error(r->p, "superblock: its roots are right; this may not be: %sstate %s%s, length %llu sectors, reserve %llu, generation %llu, next %llu, transaction %llu, block size %u, policy %s%s, paused %u, compat 0x%x, compat_ro 0x%x%s",
		 r->nr_labels ? "" : "uuid, name, ", md_state_name(info->state), survivor, LL(info->length),
		 LL(info->reserve), LL(info->generation), LL(info->next_generation), LL(info->trans_id),
		 info->logical_block_size, policy,
		 md_knows_policy(info->policy) ? "" : " (unknown, and default from now on)",
		 !!(info->flags & TIER_SB_PAUSED), info->compat_flags, features,
		 features == info->compat_ro_flags ? "" : " (what is unknown of it is cleared; a newer version may have set it)");
}

/* At least one of the tiers present at an activation gets the new generation. */
static void doubt_generation(struct md_repair *r)
{
	u64 newest = 0;
	unsigned int i;

	for (i = 0; i < r->content.tiers.nr; i++)
		at_least(&newest, r->content.tiers.tier[i].generation);
	if (newest < r->content.info.generation)
		md_error(r->p, "superblock: generation %llu, but no tier has one above %llu",
			 LL(r->content.info.generation), LL(newest));
}

/* A set that was taken apart has no label on the device that took its place. */
static bool survivor_has_label(const struct md_repair *r, const struct tier_meta_info *info)
{
	unsigned int i;

	for (i = 0; i < r->nr_labels; i++)
		if (r->labels[i].label.id == md_survivor(info) &&
		    !memcmp(r->labels[i].label.set_uuid, info->uuid, sizeof(info->uuid)))
			return true;
	return false;
}

/* Or returns false with the reason for the refusal. */
static bool open_damaged(struct md_repair *r, struct md_image *image, u8 *block)
{
	const struct tier_superblock *sb = (void *)block;
	bool newer;
	u32 features;
	const char *reason;

	if (!r->src->nr_blocks || md_source_read(r->src, TIER_SUPERBLOCK_LOCATION, block))
		return refuse(r, "the superblock cannot be read. Restore a dump, or use what is left of a mirror");
	/* A superblock that a newer version wrote. */
	if (!tier_superblock_verify(block, TIER_SUPERBLOCK_LOCATION, &reason) &&
	    tier_superblock_unpack(block, &image->info, &reason) == -EINVAL)
		return refuse(r, "%s; a newer version of this tool may know it", reason);
	newer = le32_to_cpu(sb->version) != TIER_FORMAT_VERSION ||
		le32_to_cpu(sb->incompat_flags) & ~TIER_FEATURES_INCOMPAT;
	features = le32_to_cpu(sb->compat_ro_flags);
	/*
	 * Labels identify the set, but nothing tells which of the trees on the device are
	 * current.
	 */
	if (!trust_superblock(r, block) || !md_image_open(image))
		return refuse(r, "without a superblock it cannot be known where the mapping is. Restore a dump, or use what is left of a mirror");
	if (newer)
		return refuse(r, "the superblock is damaged, and says that it is of another version or has unknown features. Restore a dump, or use what is left of a mirror");
	/* One flipped bit must not cause a format, or the end of the set. */
	if (image->info.state == TIER_STATE_FORMATTING ||
	    (image->info.state == TIER_STATE_RETIRED &&
	     (!r->nr_labels || survivor_has_label(r, &image->info))))
		image->info.state = TIER_STATE_LIVE;
	tell_doubts(r, &image->info, features);
	/* Any policy will do; with an unknown policy the set could not be activated. */
	if (!md_knows_policy(image->info.policy))
		copy_string(image->info.policy, sizeof(image->info.policy), "default");
	return true;
}

/* Removes names that are double or empty, which the kernel would not write. */
static void tidy_tunables(struct md_tunables *tunables)
{
	unsigned int i, j, nr = 0;

	for (i = 0; i < tunables->nr; i++) {
		struct md_tunable *t = &tunables->tunable[i];

		for (j = 0; j < nr; j++)
			if (!strcmp(tunables->tunable[j].name, t->name))
				break;
		if (*t->name && j == nr)
			tunables->tunable[nr++] = *t;
	}
	tunables->nr = nr;
}

static bool repair(struct md_repair *r, u8 *block)
{
	struct md_image image = { .src = r->src, .p = r->p };
	struct md_refs orphans = { 0 };
	struct md_problems rules = { .say = r->p->say, .context = r->p->context, .all = true };
	bool damaged, whole;

	r->refusal = NULL;
	r->given_up = 0;
	/* Only these messages tell which chunks read as zeroes. */
	r->p->all = true;
	memset(&r->content, 0, sizeof(r->content));
	damaged = !md_image_open(&image);
	if (damaged && !open_damaged(r, &image, block))
		return false;
	if (tier_features_read_only(image.info.compat_ro_flags))
		return refuse(r, "it has features that only allow this version to read it");
	md_content_init(&r->content, &image.info);
	if (!repair_tiers(r, &image, &whole))
		return false;
	if (damaged) {
		doubt_generation(r);
		find_features(r);
	}
	md_rules_tiers(&r->content.info, &r->content.tiers, &rules);
	if (rules.errors)
		return refuse(r, "the records of the tiers contradict each other%s",
			      whole ? "" : "; are all tiers named? Without one that is gone, the others must have places for all chunks");
	md_image_tunables(&image, &r->content.tunables);
	tidy_tunables(&r->content.tunables);
	md_orphans_find(&orphans, &image);
	image.orphans = &orphans;
	md_image_mapping(&image, NULL, r->content.mapping);
	md_image_heat(&image, r->content.heat);
	md_refs_free(&orphans);
	if (!whole && !give_up_unnamed(r))
		return false;
	md_content_judge(&r->content, r->p);
	/* The contents are checked before they are used. */
	r->content.info.flags &= lasting_flags(r->content.info.state);
	return true;
}

bool md_repair(struct md_repair *r)
{
	void *block;
	bool good;

	if (posix_memalign(&block, MD_BLOCK, MD_BLOCK))
		out_of_memory();
	good = repair(r, block);
	r->src->superblock = NULL;
	free(block);
	return good;
}
