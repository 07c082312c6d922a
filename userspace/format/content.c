// SPDX-License-Identifier: GPL-2.0-only
#include "format/content.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "base/util.h"

#define LL(n)	((unsigned long long)(n))

static void *aligned_block(void)
{
	void *block;

	if (posix_memalign(&block, MD_BLOCK, MD_BLOCK))
		out_of_memory();
	return block;
}

bool md_image_open(struct md_image *image)
{
	void *block = aligned_block();
	const char *reason = "metadata superblock cannot be read";
	bool good = false;

	if (!image->src->nr_blocks)
		reason = "metadata device is too small";
	else if (!md_source_read(image->src, TIER_SUPERBLOCK_LOCATION, block))
		good = !tier_superblock_unpack(block, &image->info, &reason);
	if (good) {
		tier_superblock_unpack_roots(block, &image->roots);
		md_rules_superblock(block, image->p);
	} else {
		md_error(image->p, "superblock: %s", reason);
	}
	free(block);
	return good;
}

/* As a superblock, but sealed for its own block and without a space map. */
static bool unpack_held(struct md_image *snapshot, u8 *block, u64 number)
{
	const char *reason;

	if (tier_superblock_verify(block, number, &reason)) {
		md_error(snapshot->p, "superblock in block %llu: %s", LL(number), reason);
		return false;
	}
	tier_superblock_seal(block, TIER_SUPERBLOCK_LOCATION);
	if (tier_superblock_unpack(block, &snapshot->info, &reason)) {
		md_error(snapshot->p, "superblock in block %llu: %s", LL(number), reason);
		return false;
	}
	tier_superblock_unpack_roots(block, &snapshot->roots);
	md_rules_superblock(block, snapshot->p);
	if (!tier_all_zero(snapshot->roots.space_map, sizeof(snapshot->roots.space_map)))
		md_error(snapshot->p, "superblock in block %llu: has a space map", LL(number));
	return true;
}

bool md_image_snapshot(const struct md_image *image, struct md_image *snapshot)
{
	u64 number = image->info.held_root;
	u8 *block = aligned_block();
	bool good;

	*snapshot = (struct md_image){ .src = image->src, .counts = image->counts, .p = image->p };
	md_count(image->counts, number);
	if (md_source_read(image->src, number, block)) {
		md_error(image->p, "superblock in block %llu: cannot be read", LL(number));
		good = false;
	} else {
		good = unpack_held(snapshot, block, number);
	}
	free(block);
	return good;
}

/*
 * Small trees
 */

struct small {
	struct md_image *image;
	const char *what;
	bool whole;
	struct md_tiers *tiers;
	struct md_tunables *tunables;
	u8 seen[TIER_MAX_TUNABLES];
};

static void small_bad(void *context, const struct md_ref *ref, const char *why)
{
	struct small *s = context;

	md_error(s->image->p, "%s: node in block %llu is damaged: %s", s->what, LL(ref->block), why);
	s->image->broken = true;
	s->whole = false;
}

static void read_small(struct small *s, u64 root, u32 value_size,
		       void (*value)(void *context, u64 key, const void *value, bool fresh))
{
	struct md_tree tree = {
		.src = s->image->src,
		.counts = s->image->counts,
		.value_size = value_size,
		.end = UINT64_MAX,
		.value = value,
		.bad = small_bad,
		.context = s,
	};

	s->whole = true;
	md_tree_walk(&tree, root);
}

static void take_tier(void *context, u64 key, const void *value, bool fresh)
{
	const struct tier_record *record = value;
	struct small *s = context;
	struct md_tiers *tiers = s->tiers;

	(void)fresh;
	if (tiers->nr == TIER_MAX_TIERS) {
		md_error(s->image->p, "tiers: more than %u", TIER_MAX_TIERS);
		s->whole = false;
	} else if (tier_record_unpack(key, record, &tiers->tier[tiers->nr])) {
		md_error(s->image->p, "tiers: record of id %llu has impossible values", LL(key));
		s->whole = false;
	} else {
		tiers->nr++;
	}
}

static int by_id(const void *a, const void *b)
{
	return (int)((const struct tier_meta_tier *)a)->id - ((const struct tier_meta_tier *)b)->id;
}

bool md_image_tiers(struct md_image *image, struct md_tiers *tiers)
{
	struct small s = { .image = image, .what = "tiers", .tiers = tiers };

	tiers->nr = 0;
	read_small(&s, image->roots.tiers, sizeof(struct tier_record), take_tier);
	qsort(tiers->tier, tiers->nr, sizeof(*tiers->tier), by_id);
	return s.whole;
}

static void take_tunable(void *context, u64 key, const void *value, bool fresh)
{
	const struct tier_tunable_record *record = value;
	struct small *s = context;
	struct md_tunable *t;

	(void)fresh;
	if (key >= TIER_MAX_TUNABLES || !memchr(record->name, 0, sizeof(record->name))) {
		md_error(s->image->p, "tunables: record %llu has impossible values", LL(key));
		s->whole = false;
		return;
	}
	t = &s->tunables->tunable[key];
	memcpy(t->name, record->name, sizeof(t->name));
	t->value = le64_to_cpu(record->value);
	s->seen[key] = true;
}

/* Numbers that are missing are closed up: only the names matter. */
bool md_image_tunables(struct md_image *image, struct md_tunables *tunables)
{
	struct small s = { .image = image, .what = "tunables", .tunables = tunables };
	unsigned int i, nr = 0, last = 0;

	read_small(&s, image->roots.tunables, sizeof(struct tier_tunable_record), take_tunable);
	for (i = 0; i < TIER_MAX_TUNABLES; i++)
		if (s.seen[i]) {
			tunables->tunable[nr++] = tunables->tunable[i];
			last = i + 1;
		}
	tunables->nr = nr;
	if (s.whole && (nr != last || nr != image->roots.nr_tunables)) {
		md_error(image->p, "tunables: %u records, numbered to %u, the superblock says %u", nr, last,
			 image->roots.nr_tunables);
		s.whole = false;
	}
	return s.whole;
}

/*
 * Arrays
 */

/* Chunks first to end - 1 cannot be read. */
struct loss {
	u64 first, end;
	u64 blocks, block;	/* number of damaged blocks, and the first of them; none: 0 */
	const char *why;
};

struct scan {
	struct md_image *image;
	struct md_places *places;
	u64 *entries;
	u32 *heat;
	struct loss *lost;
	size_t nr_lost, room;
};

/* Blocks are not read in the order of their chunks. */
static void note_lost(void *context, u64 first, u64 end, u64 block, const char *why)
{
	struct scan *s = context;

	s->image->broken = true;
	if (s->nr_lost == s->room) {
		s->room = s->room ? 2 * s->room : 16;
		s->lost = xrealloc(s->lost, s->room, sizeof(*s->lost));
	}
	s->lost[s->nr_lost++] = (struct loss){
		.first = first, .end = end, .blocks = !!block, .block = block, .why = why,
	};
}

static int by_first(const void *a, const void *b)
{
	const struct loss *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static void tell_loss(struct md_problems *p, const char *array, const struct loss *l)
{
	u64 last = l->end - 1;

	if (l->blocks > 1)
		md_error(p, "%s: chunks %llu to %llu: %llu blocks are damaged, the first is block %llu: %s", array,
			 LL(l->first), LL(last), LL(l->blocks), LL(l->block), l->why);
	else if (l->blocks)
		md_error(p, "%s: chunks %llu to %llu: block %llu is damaged: %s", array, LL(l->first), LL(last),
			 LL(l->block), l->why);
	else
		md_error(p, "%s: chunks %llu to %llu: %s", array, LL(l->first), LL(last), l->why);
}

/* One line for neighbours with the same reason. */
static void tell_lost(struct scan *s, const char *array)
{
	size_t i, next;

	if (s->nr_lost)
		qsort(s->lost, s->nr_lost, sizeof(*s->lost), by_first);
	for (i = 0; i < s->nr_lost; i = next) {
		struct loss l = s->lost[i];

		for (next = i + 1; next < s->nr_lost; next++) {
			const struct loss *n = &s->lost[next];

			if (n->first != l.end || !n->blocks != !l.blocks || strcmp(n->why, l.why))
				break;
			l.end = n->end;
			l.blocks += n->blocks;
		}
		tell_loss(s->image->p, array, &l);
	}
	free(s->lost);
}

/* Neighbours that are reported in one line. */
struct same {
	u64 first, end;		/* none: equal */
	bool minor;
	char why[MD_WHY];
};

static void tell_same(struct same *same, struct md_problems *p)
{
	void (*tell)(struct md_problems *p, const char *fmt, ...) = same->minor ? md_minor : md_error;

	if (same->end == same->first + 1)
		tell(p, "chunk %llu: %s", LL(same->first), same->why);
	else if (same->end > same->first)
		tell(p, "chunks %llu to %llu: %s", LL(same->first), LL(same->end - 1), same->why);
	same->end = same->first;
}

/* Called in order of chunks. */
static void note_same(struct same *same, struct md_problems *p, u64 chunk, bool minor, const char *why)
{
	if (same->end != same->first && same->end == chunk && same->minor == minor && !strcmp(same->why, why)) {
		same->end++;
		return;
	}
	tell_same(same, p);
	*same = (struct same){ .first = chunk, .end = chunk + 1, .minor = minor };
	copy_string(same->why, sizeof(same->why), why);
}

/* Returns the entry without its bad parts; the last line stays pending in same. */
static u64 judge_entry(struct md_places *places, struct md_problems *p, struct same *same, u64 chunk, u64 entry)
{
	enum md_entry_verdict verdict;
	char why[MD_WHY];

	verdict = md_places_take(places, chunk, entry, why);
	if (verdict == MD_ENTRY_GOOD)
		return entry;
	if (verdict == MD_ENTRY_DOUBLE)
		return 0;
	note_same(same, p, chunk, verdict == MD_ENTRY_PIN, why);
	/* A pin to a tier that was removed. */
	return verdict == MD_ENTRY_PIN ? entry & ~MD_ENTRY_PIN_MASK : 0;
}

static void take_entries(void *context, u64 first, u32 nr, const void *values)
{
	struct scan *s = context;
	struct same same = { 0 };
	u32 i;

	for (i = 0; i < nr; i++) {
		__le64 value;
		u64 entry;

		memcpy(&value, (const u8 *)values + i * sizeof(value), sizeof(value));
		entry = le64_to_cpu(value);
		if (s->places && entry) {
			entry = judge_entry(s->places, s->image->p, &same, first + i, entry);
			/* Each of these is an error of its own. */
			tell_same(&same, s->image->p);
		}
		if (s->entries && entry)
			s->entries[first + i] = entry;
	}
}

static void look_for_doubles(void *context, u64 first, u32 nr, const void *values)
{
	struct scan *s = context;
	__le64 value;
	u32 i;

	for (i = 0; i < nr; i++) {
		memcpy(&value, (const u8 *)values + i * sizeof(value), sizeof(value));
		md_doubles_look(s->places, first + i, le64_to_cpu(value));
	}
}

static void nothing_lost(void *context, u64 first, u64 end, u64 block, const char *why)
{
	(void)context;
	(void)first;
	(void)end;
	(void)block;
	(void)why;
}

void md_image_mapping(struct md_image *image, struct md_places *places, u64 *store)
{
	struct scan scan = { .image = image, .places = places, .entries = store };
	struct md_array array = {
		.src = image->src,
		.counts = image->counts,
		.value_size = sizeof(__le64),
		.nr = image->info.nr_chunks,
		.values = take_entries,
		.lost = note_lost,
		.orphans = image->orphans,
		.context = &scan,
	};

	md_array_walk(&array, image->roots.mapping);
	tell_lost(&scan, "mapping");
	if (!places || !places->doubles.nr)
		return;
	/* A second pass, so that both chunks of a place are named. */
	array.counts = NULL;
	array.values = look_for_doubles;
	array.lost = nothing_lost;
	md_array_walk(&array, image->roots.mapping);
	md_doubles_tell(&places->doubles, image->p);
}

static void take_heat(void *context, u64 first, u32 nr, const void *values)
{
	struct scan *s = context;
	u32 i;

	if (!s->heat)
		return;
	for (i = 0; i < nr; i++) {
		__le32 value;

		memcpy(&value, (const u8 *)values + i * sizeof(value), sizeof(value));
		if (value)
			s->heat[first + i] = le32_to_cpu(value);
	}
}

void md_image_heat(struct md_image *image, u32 *store)
{
	struct scan scan = { .image = image, .heat = store };
	struct md_array array = {
		.src = image->src,
		.counts = image->counts,
		.value_size = sizeof(__le32),
		.nr = image->info.nr_chunks,
		.values = take_heat,
		.lost = note_lost,
		.orphans = image->orphans,
		.context = &scan,
	};

	md_array_walk(&array, image->roots.heat);
	tell_lost(&scan, "heat");
}

/*
 * Contents in memory. Pages that are never written cost nothing, and chunks that were never
 * written are zero.
 */

static void *zeroes(u64 len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	if (p == MAP_FAILED)
		out_of_memory();
	return p;
}

void md_content_init(struct md_content *c, const struct tier_meta_info *info)
{
	memset(c, 0, sizeof(*c));
	c->info = *info;
	c->mapping = zeroes(info->nr_chunks * sizeof(*c->mapping));
	c->heat = zeroes(info->nr_chunks * sizeof(*c->heat));
}

void md_content_free(struct md_content *c)
{
	if (c->mapping)
		munmap(c->mapping, c->info.nr_chunks * sizeof(*c->mapping));
	if (c->heat)
		munmap(c->heat, c->info.nr_chunks * sizeof(*c->heat));
	c->mapping = NULL;
	c->heat = NULL;
}

void md_content_read(struct md_content *c, struct md_image *image)
{
	md_content_init(c, &image->info);
	md_image_tiers(image, &c->tiers);
	md_image_tunables(image, &c->tunables);
	md_image_mapping(image, NULL, c->mapping);
	md_image_heat(image, c->heat);
}

void md_content_judge(struct md_content *c, struct md_problems *p)
{
	struct md_places places;
	struct same same = { 0 };
	u64 i;

	md_rules_tiers(&c->info, &c->tiers, p);
	md_rules_tunables(&c->tunables, p);
	md_places_init(&places, &c->info, &c->tiers);
	places.doubles.all = p->all;
	for (i = 0; i < c->info.nr_chunks; i++) {
		u64 entry = c->mapping[i], good;

		if (!entry)
			continue;
		good = judge_entry(&places, p, &same, i, entry);
		if (good != entry)
			c->mapping[i] = good;
	}
	tell_same(&same, p);
	for (i = 0; places.doubles.nr && i < c->info.nr_chunks; i++)
		if (c->mapping[i])
			md_doubles_look(&places, i, c->mapping[i]);
	md_doubles_tell(&places.doubles, p);
	md_places_free(&places);
}
