// SPDX-License-Identifier: GPL-2.0-only
#include "format/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define LL(n)	((unsigned long long)(n))

bool md_knows_policy(const char *name)
{
	return !strcmp(name, "heat") || !strcmp(name, "static") || !strcmp(name, "default");
}

const struct tier_meta_tier *md_find_tier(const struct md_tiers *tiers, unsigned int id)
{
	unsigned int i;

	for (i = 0; i < tiers->nr; i++)
		if (tiers->tier[i].id == id)
			return &tiers->tier[i];
	return NULL;
}

u64 md_live_chunks(const struct tier_meta_info *info)
{
	return DIV_ROUND_UP_ULL(info->length, info->chunk_sectors);
}

static void rules_tier(const struct tier_meta_info *info, const struct tier_meta_tier *t,
		       struct md_problems *p)
{
	u64 all = t->size / info->chunk_sectors;

	if (!tier_first_place_valid(info, t->first_place))
		md_error(p, "tier id %u: first place is %llu, the label area ends at %llu", t->id,
			 LL(t->first_place), LL(tier_label_area(info->chunk_sectors) / info->chunk_sectors));
	if (!t->places || t->places > all || t->first_place > all - t->places)
		md_error(p, "tier id %u: %llu places from %llu on do not fit %llu sectors", t->id,
			 LL(t->places), LL(t->first_place), LL(t->size));
	if (t->generation > info->generation || t->next_generation > info->next_generation)
		md_error(p, "tier id %u: generation %llu, next %llu; those of the set are %llu and %llu", t->id,
			 LL(t->generation), LL(t->next_generation), LL(info->generation),
			 LL(info->next_generation));
	if (t->flags & ~TIER_RECORD_EVACUATE)
		md_error(p, "tier id %u: unknown flags 0x%x", t->id, t->flags);
}

void md_rules_tiers(const struct tier_meta_info *info, const struct md_tiers *tiers,
		    struct md_problems *p)
{
	u64 places = 0;
	unsigned int i, j;

	/* A format that was cut short has no records yet. */
	if (info->state == TIER_STATE_FORMATTING && !tiers->nr)
		return;
	if (!tiers->nr)
		md_error(p, "tiers: there are none");
	for (i = 0; i < tiers->nr; i++) {
		const struct tier_meta_tier *t = &tiers->tier[i];

		rules_tier(info, t, p);
		places += t->places;
		if (t->rank >= tiers->nr)
			md_error(p, "tier id %u: rank %u of %u tiers", t->id, t->rank, tiers->nr);
		for (j = 0; j < i; j++) {
			if (tiers->tier[j].rank == t->rank)
				md_error(p, "tier id %u: has rank %u, as id %u has", t->id, t->rank,
					 tiers->tier[j].id);
			if (!memcmp(tiers->tier[j].uuid, t->uuid, sizeof(t->uuid)))
				md_error(p, "tier id %u: has the uuid of id %u", t->id, tiers->tier[j].id);
		}
	}
	if (tiers->nr && (places < info->reserve || md_live_chunks(info) > places - info->reserve))
		md_error(p, "tiers: %llu places, of which %llu are the reserve, for %llu chunks", LL(places),
			 LL(info->reserve), LL(md_live_chunks(info)));
}

void md_rules_tunables(const struct md_tunables *tunables, struct md_problems *p)
{
	unsigned int i, j;

	for (i = 0; i < tunables->nr; i++) {
		const char *name = tunables->tunable[i].name;

		if (!*name)
			md_error(p, "tunable %u: has no name", i);
		for (j = 0; j < i; j++)
			if (!strcmp(tunables->tunable[j].name, name))
				md_error(p, "tunable %u: has the name of %u", i, j);
	}
}

void md_rules_superblock(const void *block, struct md_problems *p)
{
	const struct tier_superblock *sb = block;
	u32 flags = le32_to_cpu(sb->flags) & ~(TIER_SB_NEEDS_CHECK | TIER_SB_CLEAN | TIER_SB_PAUSED);

	if (md_has_survivor(le32_to_cpu(sb->state)))
		flags &= ~TIER_SB_HOME_MASK;
	if (flags)
		md_error(p, "superblock: unknown flags 0x%x", flags);
	if (!(sb->compat_flags & cpu_to_le32(TIER_COMPAT_OWNER)) &&
	    !tier_all_zero(sb->owner_machine, sizeof(*sb) - offsetof(struct tier_superblock, owner_machine)))
		md_error(p, "superblock: an owner without its feature");
	/* A newer version that this one may ignore has a bit for what it keeps there. */
	if (!((sb->compat_flags & cpu_to_le32(~TIER_FEATURES_COMPAT)) | sb->compat_ro_flags) &&
	    !tier_all_zero(sb + 1, TIER_METADATA_BLOCK_SIZE - sizeof(*sb)))
		md_error(p, "superblock: not zero after byte %zu", sizeof(*sb));
}

void md_places_init(struct md_places *places, const struct tier_meta_info *info,
		    const struct md_tiers *tiers)
{
	*places = (struct md_places){ .info = info, .tiers = tiers };
}

void md_places_free(struct md_places *places)
{
	md_taken_free(&places->taken);
	free(places->doubles.d);
}

static bool note_double(struct md_doubles *doubles, u64 chunk, u64 entry)
{
	if (doubles->nr == MD_PROBLEMS_SAID && !doubles->all)
		return false;
	if (doubles->nr == doubles->room) {
		doubles->room = doubles->room ? 2 * doubles->room : 16;
		doubles->d = xrealloc(doubles->d, doubles->room, sizeof(*doubles->d));
	}
	doubles->d[doubles->nr++] = (struct md_double){ .chunk = chunk, .entry = entry };
	return true;
}

/* Mapped, tier and place. */
static u64 mapped_place(u64 entry)
{
	return entry & (TIER_ENTRY_MAPPED | 0xffULL << TIER_ENTRY_ID_SHIFT | TIER_ENTRY_PLACE_MASK);
}

static int by_chunk(const void *a, const void *b)
{
	const struct md_double *x = a, *y = b;

	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

static int by_place(const void *a, const void *b)
{
	u64 x = mapped_place(((const struct md_double *)a)->entry), y = mapped_place(((const struct md_double *)b)->entry);

	return x == y ? by_chunk(a, b) : x < y ? -1 : 1;
}

/* The index of the first element that is not before this entry and chunk. */
static size_t find_double(const struct md_doubles *doubles, u64 entry, u64 chunk)
{
	const struct md_double sought = { .entry = entry, .chunk = chunk };
	size_t low = 0, high = doubles->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_place(&doubles->d[middle], &sought) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void sort_by_place(struct md_doubles *doubles)
{
	if (!doubles->sorted)
		qsort(doubles->d, doubles->nr, sizeof(*doubles->d), by_place);
	doubles->sorted = true;
}

/* The keeper of a place is stored in the first element of that place. */
void md_doubles_look(struct md_places *places, u64 chunk, u64 entry)
{
	struct md_doubles *doubles = &places->doubles;
	struct md_double *d;
	size_t i;

	if (!doubles->nr || chunk >= md_live_chunks(places->info) || entry & ~TIER_ENTRY_DISK_MASK)
		return;
	sort_by_place(doubles);
	i = find_double(doubles, entry, 0);
	if (i == doubles->nr || mapped_place(doubles->d[i].entry) != mapped_place(entry) || doubles->d[i].found)
		return;
	d = &doubles->d[i];
	i = find_double(doubles, entry, chunk);
	/* Is this chunk one of the doubles itself? */
	if (i < doubles->nr && doubles->d[i].chunk == chunk)
		return;
	d->found = true;
	d->keeper = chunk;
}

void md_doubles_tell(struct md_doubles *doubles, struct md_problems *p)
{
	char keeper[32];
	size_t i;

	if (!doubles->nr)
		return;
	sort_by_place(doubles);
	for (i = 1; i < doubles->nr; i++)
		if (mapped_place(doubles->d[i].entry) == mapped_place(doubles->d[i - 1].entry)) {
			doubles->d[i].found = doubles->d[i - 1].found;
			doubles->d[i].keeper = doubles->d[i - 1].keeper;
		}
	qsort(doubles->d, doubles->nr, sizeof(*doubles->d), by_chunk);
	doubles->sorted = false;
	for (i = 0; i < doubles->nr; i++) {
		snprintf(keeper, sizeof(keeper), "chunk %llu", LL(doubles->d[i].keeper));
		md_error(p, "chunk %llu: claims place %llu of tier id %u, which %s keeps; one of the two is wrong",
			 LL(doubles->d[i].chunk), LL(doubles->d[i].entry & TIER_ENTRY_PLACE_MASK),
			 md_entry_id(doubles->d[i].entry), doubles->d[i].found ? keeper : "another chunk");
	}
}

static enum md_entry_verdict judge_mapped(struct md_places *places, u64 chunk, u64 entry, char why[MD_WHY])
{
	const struct tier_meta_tier *t = md_find_tier(places->tiers, md_entry_id(entry));
	u64 place = entry & TIER_ENTRY_PLACE_MASK;

	if (chunk >= md_live_chunks(places->info)) {
		snprintf(why, MD_WHY, "mapped, but past the end");
	} else if (!t) {
		snprintf(why, MD_WHY, "mapped to tier id %u, which is not there", md_entry_id(entry));
	} else if (place < t->first_place || place - t->first_place >= t->places) {
		snprintf(why, MD_WHY, "mapped to place %llu of tier id %u, which has places %llu to %llu",
			 LL(place), t->id, LL(t->first_place), LL(t->first_place + t->places - 1));
	} else if (md_take(&places->taken, mapped_place(entry))) {
		return MD_ENTRY_GOOD;
	} else if (note_double(&places->doubles, chunk, entry)) {
		return MD_ENTRY_DOUBLE;
	} else {
		snprintf(why, MD_WHY, "claims place %llu of tier id %u, which another chunk keeps", LL(place),
			 t->id);
	}
	return MD_ENTRY_BAD;
}

enum md_entry_verdict md_places_take(struct md_places *places, u64 chunk, u64 entry, char why[MD_WHY])
{
	enum md_entry_verdict verdict = MD_ENTRY_GOOD;
	unsigned int pin = md_entry_pin(entry);

	if (entry & ~TIER_ENTRY_DISK_MASK) {
		snprintf(why, MD_WHY, "reserved bits are set (0x%llx)", LL(entry));
		return MD_ENTRY_BAD;
	}
	if (entry & TIER_ENTRY_MAPPED) {
		verdict = judge_mapped(places, chunk, entry, why);
		if (verdict != MD_ENTRY_GOOD)
			return verdict;
	} else if (entry & ~MD_ENTRY_PIN_MASK) {
		snprintf(why, MD_WHY, "not mapped, but not zero (0x%llx)", LL(entry));
		return MD_ENTRY_BAD;
	}
	if (pin && !md_find_tier(places->tiers, pin - 1)) {
		snprintf(why, MD_WHY, "pinned to tier id %u, which is not there", pin - 1);
		return MD_ENTRY_PIN;
	}
	return MD_ENTRY_GOOD;
}
