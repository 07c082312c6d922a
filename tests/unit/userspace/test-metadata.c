// SPDX-License-Identifier: GPL-2.0-only
/*
 * The metadata tools' library, on metadata that it wrote into memory: whole, with flipped bits,
 * and with flipped bits under correct checksums.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/build.h"
#include "format/check.h"
#include "format/metadata.h"
#include "format/record.h"
#include "format/repair.h"
#include "reseal.h"
#include "same-content.h"
#include "../tap.h"

#define NR_CHUNKS	3000
#define PLACES		2000
#define ROUNDS		2000

static unsigned int seed = 1;

static unsigned int dice(unsigned int sides)
{
	return rand_r(&seed) % sides;
}

static void make_content(struct md_content *c)
{
	struct tier_meta_info info = {
		.name = "a \\ \"b\" <&> \x01\xff", .policy = "heat", .state = TIER_STATE_LIVE,
		.logical_block_size = 512, .chunk_sectors = 2048, .nr_chunks = NR_CHUNKS,
		.length = NR_CHUNKS * 2048 - 5, .reserve = 31, .generation = 7, .next_generation = 8,
		.trans_id = 99, .flags = TIER_SB_PAUSED,
	};
	unsigned int i;

	memset(info.uuid, 0xab, sizeof(info.uuid));
	md_content_init(c, &info);
	for (i = 0; i < 2; i++) {
		struct tier_meta_tier *t = &c->tiers.tier[i];

		*t = (struct tier_meta_tier){
			.id = 3 * i, .rank = 1 - i, .size = (PLACES + 1) * 2048, .first_place = 1,
			.places = PLACES, .generation = 7, .next_generation = 8 * i, .landing = i, .endurance = 1000 * i,
			.latency = 8000 * i,
			.watermark = 5 * i,
			.quiet = 600 * i,
			.residence = 3600 * i,
		};
		memset(t->uuid, 0x10 + i, sizeof(t->uuid));
	}
	c->tiers.nr = 2;
	for (i = 0; i < 100; i++) {
		snprintf(c->tunables.tunable[i].name, TIER_TUNABLE_NAME_SIZE, "tunable%u", i);
		c->tunables.tunable[i].value = (u64)i << 40;
	}
	c->tunables.nr = 100;
	for (i = 0; i < NR_CHUNKS; i++) {
		if (i % 7 && i < 2 * PLACES)
			c->mapping[i] = TIER_ENTRY_MAPPED | (u64)(i % 2 * 3) << TIER_ENTRY_ID_SHIFT |
					(u64)(i / 2 + 1);
		if (i % 100 < 3)
			c->mapping[i] |= 1ULL << TIER_ENTRY_PIN_SHIFT;
		c->heat[i] = i / 10 * 65537;
	}
}

static int write_image(const struct md_content *c)
{
	u64 blocks = md_build_needs(c->info.nr_chunks) + 10;
	int fd = memfd_create("metadata", 0);

	if (fd < 0 || ftruncate(fd, blocks * MD_BLOCK) || md_build(fd, blocks, c))
		exit(1);
	return fd;
}

static unsigned int fsync_fails;	/* that one from now on, once; 0: none */

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
	if (fsync_fails && !--fsync_fails) {
		errno = EIO;
		return -1;
	}
	return __real_fsync(fd);
}

static void check_fd(int fd, struct md_problems *p)
{
	struct md_check check = { 0 };
	struct md_source src;

	*p = (struct md_problems){ 0 };
	if (md_source_init(&src, fd))
		exit(1);
	md_check(&check, &src, p);
	md_source_free(&src);
}

static bool is_good(int fd)
{
	struct md_problems p;

	check_fd(fd, &p);
	return !p.errors && !p.minor;
}

/* Each failed fsync is reported; the first one before anything is written. */
static void failing_fsync(const struct md_content *c)
{
	u64 blocks = md_build_needs(c->info.nr_chunks) + 10;
	bool told = true, kept = false;
	unsigned int n, left = 0;

	for (n = 0; !left; ) {
		int fd = write_image(c), r;

		fsync_fails = ++n;
		r = md_build(fd, blocks, c);
		left = fsync_fails;
		fsync_fails = 0;
		told &= r == (left ? 0 : -EIO);
		if (n == 1)
			kept = is_good(fd);
		close(fd);
	}
	ok(n == 5 && told, "a flush that fails is told");
	ok(kept, "what was there stays if it cannot be flushed");
}

static void round_trips(const struct md_content *c, int fd)
{
	struct md_problems p = { 0 };
	struct md_source src;
	struct md_image image = { .src = &src, .p = &p };
	struct md_content read = { 0 };

	ok(is_good(fd), "what was built is in order");
	md_source_init(&src, fd);
	ok(md_image_open(&image), "it has a superblock");
	md_content_read(&read, &image);
	ok(!p.errors && same_content(c, &read), "what is read is what was written");
	md_content_free(&read);
	md_source_free(&src);
}

static char *dump(const struct md_content *c, bool json, size_t *len)
{
	char *text;
	FILE *f = open_memstream(&text, len);

	if (!f)
		exit(1);
	if (json)
		md_write_json(c, f);
	else
		md_write_xml(c, f);
	fclose(f);
	return text;
}

static bool undump(struct md_content *c, char *text, size_t len, bool json)
{
	struct md_undump u = { .content = c };
	FILE *f = fmemopen(text, len, "r");
	bool good;

	memset(c, 0, sizeof(*c));
	good = json ? md_parse_json(f, &u) : md_parse_xml(f, &u);
	if (good == !!u.error)
		ok(false, "an error if and only if it failed");
	fclose(f);
	free(u.error);
	return good;
}

static void dumps(const struct md_content *c, bool json)
{
	const char *format = json ? "JSON" : "XML";
	size_t len, len2;
	char *text = dump(c, json, &len), *again;
	struct md_content read;
	unsigned int i, wrong = 0, taken = 0;

	ok(undump(&read, text, len, json) && same_content(c, &read), "%s, and back", format);
	again = dump(&read, json, &len2);
	ok(len == len2 && !memcmp(text, again, len), "%s is the same again", format);
	free(again);
	md_content_free(&read);

	for (i = 0; i < ROUNDS / 4; i++) {
		struct md_problems p = { 0 };
		size_t at = dice(dice(2) ? 1000 : len);
		char was = text[at];
		int fd;

		text[at] ^= 1 << dice(8);
		if (undump(&read, text, dice(10) ? len : dice(len) + 1, json)) {
			md_content_judge(&read, &p);
			if (!p.errors) {
				fd = write_image(&read);
				wrong += !is_good(fd);
				taken++;
				close(fd);
			}
		}
		md_content_free(&read);
		text[at] = was;
	}
	ok(!wrong, "%s with flipped bits: refused, or makes good metadata (%u times)", format, taken);
	free(text);
}

/* The losses that damage to a block may cause. */
struct harm {
	bool refused;		/* all of it */
	u64 first, end;		/* mapping of these chunks */
};

/*
 * Judged by where the blocks are: those of the mapping come first, the others are found by their
 * roots.
 */
static struct harm harm_of(const struct tier_meta_roots *roots, u64 number)
{
	u64 per_block = md_array_max(sizeof(u64)), blocks = DIV_ROUND_UP_ULL(NR_CHUNKS, per_block);
	struct harm harm = { 0 };

	if (number == TIER_SUPERBLOCK_LOCATION || number == roots->tiers) {
		harm.refused = true;
	} else if (number == roots->mapping) {
		/* A leaf: nothing else says to which chunks a block belongs. */
		harm.end = NR_CHUNKS;
	} else if (number <= blocks) {
		harm.first = (number - 1) * per_block;
		harm.end = harm.first + per_block;
	}
	return harm;
}

/*
 * The saved metadata obeys all rules, and equals the original except for the harm. NULL: any
 * loss is allowed.
 */
static bool repair_is_good(int fd, const struct md_content *original, const struct harm *harm)
{
	struct md_problems p = { 0 };
	struct md_source src;
	struct md_repair r = { .src = &src, .p = &p };
	bool good = true;
	int out;
	u64 i;

	md_source_init(&src, fd);
	if (md_repair(&r)) {
		out = write_image(&r.content);
		good = is_good(out);
		close(out);
		for (i = 0; harm && i < NR_CHUNKS && good; i++) {
			bool may_be_lost = i >= harm->first && i < harm->end;

			good = r.content.mapping[i] == original->mapping[i] ||
			       (may_be_lost && !r.content.mapping[i]);
		}
	} else {
		good = r.refusal && (!harm || harm->refused);
	}
	free(r.refusal);
	md_content_free(&r.content);
	md_source_free(&src);
	return good;
}

static void flipped_bits(const struct md_content *c, int fd)
{
	u64 used = 1;
	unsigned int i, unseen = 0, spoilt = 0, resealed_spoilt = 0, noticed = 0;
	struct md_problems p;
	u8 was[MD_BLOCK], block[MD_BLOCK];
	struct tier_meta_roots roots;
	struct tier_meta_info info;
	const char *reason;

	if (md_read_superblock(fd, &info, &roots, &reason))
		exit(1);
	/* Blocks are used one after the other. */
	while (pread(fd, was, MD_BLOCK, used * MD_BLOCK) == MD_BLOCK && !tier_all_zero(was, MD_BLOCK))
		used++;
	for (i = 0; i < ROUNDS; i++) {
		u64 number = dice(used);
		struct harm harm = harm_of(&roots, number);
		unsigned int byte = dice(dice(2) ? 256 : MD_BLOCK);

		if (pread(fd, was, MD_BLOCK, number * MD_BLOCK) != MD_BLOCK)
			exit(1);
		memcpy(block, was, MD_BLOCK);
		block[byte] ^= 1 << dice(8);
		if (pwrite(fd, block, MD_BLOCK, number * MD_BLOCK) != MD_BLOCK)
			exit(1);
		check_fd(fd, &p);
		unseen += !p.errors;
		spoilt += !repair_is_good(fd, c, &harm);

		if (!reseal(block, was, number))
			exit(1);
		if (pwrite(fd, block, MD_BLOCK, number * MD_BLOCK) != MD_BLOCK)
			exit(1);
		check_fd(fd, &p);
		noticed += p.errors || p.minor;
		resealed_spoilt += !repair_is_good(fd, NULL, NULL);
		if (pwrite(fd, was, MD_BLOCK, number * MD_BLOCK) != MD_BLOCK)
			exit(1);
	}
	ok(!unseen, "%u flipped bits in %llu blocks are noticed", ROUNDS, (unsigned long long)used);
	ok(!spoilt, "what is saved of these is all that is whole, and nothing is invented");
	ok(!resealed_spoilt, "so it is if the checksums agree (%u of %u noticed)", noticed, ROUNDS);
	ok(is_good(fd), "and it is in order again");
}

#define BIG	200000	/* chunks */

/* An array that has internal nodes. */
static void make_big(struct md_content *big)
{
	struct tier_meta_info info;
	struct md_content c;
	u64 i;

	make_content(&c);
	info = c.info;
	info.nr_chunks = BIG;
	info.length = BIG * 2048ULL;
	md_content_init(big, &info);
	big->tiers = c.tiers;
	for (i = 0; i < 3 * PLACES / 2; i++)
		big->mapping[i * 50] = TIER_ENTRY_MAPPED | (i % 2 * 3) << TIER_ENTRY_ID_SHIFT | (i / 2 + 1);
	big->tiers.tier[0].places = big->tiers.tier[1].places = BIG;
	big->tiers.tier[0].size = big->tiers.tier[1].size = (BIG + 1) * 2048ULL;
	md_content_free(&c);
}

/* The root of a large array is damaged: its leaves are still there. */
static void orphaned_leaves(void)
{
	struct md_problems p = { 0 };
	struct md_source src;
	struct md_image image = { .src = &src, .p = &p };
	struct md_repair r = { .src = &src, .p = &p };
	struct md_content big;
	int fd;

	make_big(&big);
	fd = write_image(&big);
	md_source_init(&src, fd);
	ok(md_image_open(&image) && is_good(fd), "a large array");
	if (pwrite(fd, "spoilt", 6, image.roots.mapping * MD_BLOCK + 100) != 6)
		exit(1);
	ok(!is_good(fd), "its root is damaged");
	ok(md_repair(&r) && !p.errors && !memcmp(r.content.mapping, big.mapping, BIG * sizeof(u64)),
	   "all of it is found again");
	md_content_free(&r.content);
	free(r.refusal);
	md_source_free(&src);
	close(fd);
	md_content_free(&big);
}

/* The losses that were named for a large array, and in how many lines. */
static struct {
	bool chunk[BIG];
	unsigned int lines, more;
} lost;

static void note_lost(void *context, const char *text)
{
	unsigned long long first, last;

	(void)context;
	if (sscanf(text, "mapping: chunks %llu to %llu: ", &first, &last) == 2) {
		lost.lines++;
		while (first <= last && last < BIG)
			lost.chunk[first++] = true;
	} else {
		lost.more++;
	}
}

/* More damaged blocks than a check has lines for: every second block, and two side by side. */
static void many_losses(void)
{
	unsigned int per_block = md_array_max(sizeof(u64)), i, wrong = 0;
	struct md_problems p = { .say = note_lost };
	struct md_check check = { 0 };
	struct md_source src;
	struct md_repair r = { .src = &src, .p = &p };
	struct md_content big;
	bool *gone = calloc(BIG, sizeof(*gone)), saved;
	int fd;

	make_big(&big);
	/* Each block holds data that can be lost. */
	for (i = 0; i < BIG; i++)
		big.mapping[i] |= 1ULL << TIER_ENTRY_PIN_SHIFT;
	fd = write_image(&big);
	for (i = 1; i <= 310; i += i < 309 ? 2 : 1) {
		/* The mapping is the first array that is written. */
		if (!gone || pwrite(fd, "spoilt", 6, (1 + i) * MD_BLOCK + 100) != 6)
			exit(1);
		memset(gone + i * per_block, true, per_block);
	}
	md_source_init(&src, fd);
	md_check(&check, &src, &p);
	md_problems_end(&p);
	ok(lost.lines == MD_PROBLEMS_SAID && lost.more == 1, "a check names %u of 155 lost ranges, and counts the rest",
	   lost.lines);

	memset(&lost, 0, sizeof(lost));
	p = (struct md_problems){ .say = note_lost };
	saved = md_repair(&r);
	md_problems_end(&p);
	ok(saved && lost.lines == 155 && !lost.more, "a repair names each (%u)", lost.lines);
	for (i = 0; saved && i < BIG; i++)
		wrong += lost.chunk[i] != gone[i] || r.content.mapping[i] != (gone[i] ? 0 : big.mapping[i]);
	ok(!wrong, "just the chunks that are lost, and keeps all others");
	md_content_free(&r.content);
	free(r.refusal);
	md_source_free(&src);
	free(gone);
	close(fd);
	md_content_free(&big);
}

/* Bits of the superblock flip: the repair saves all roots, or refuses. */
static void flipped_superblock(const struct md_content *c, int fd)
{
	unsigned int i, saved = 0, wrong = 0;
	u8 was[MD_BLOCK], block[MD_BLOCK];

	if (pread(fd, was, MD_BLOCK, 0) != MD_BLOCK)
		exit(1);
	for (i = 0; i < 200; i++) {
		struct md_problems p = { 0 };
		struct md_source src;
		struct md_repair r = { .src = &src, .p = &p };

		memcpy(block, was, MD_BLOCK);
		block[dice(sizeof(struct tier_superblock))] ^= 1 << dice(8);
		if (pwrite(fd, block, MD_BLOCK, 0) != MD_BLOCK)
			exit(1);
		md_source_init(&src, fd);
		if (md_repair(&r)) {
			saved++;
			/* The result can be activated for writing. */
			wrong += !p.errors || tier_features_read_only(r.content.info.compat_ro_flags) ||
				 r.content.info.incompat_flags ||
				 memcmp(r.content.mapping, c->mapping, NR_CHUNKS * sizeof(u64));
		} else {
			wrong += !r.refusal;
		}
		free(r.refusal);
		md_content_free(&r.content);
		md_source_free(&src);
	}
	if (pwrite(fd, was, MD_BLOCK, 0) != MD_BLOCK)
		exit(1);
	ok(!wrong && saved > 50, "a damaged superblock: %u of 200 saved, the others refused", saved);
}

/* Repairs the metadata in fd; returns the state in the result, or 0. */
static u32 repaired(int fd, u32 *flags)
{
	struct md_problems p = { 0 };
	struct md_source src;
	struct md_repair r = { .src = &src, .p = &p };
	u32 state = 0;

	md_source_init(&src, fd);
	if (md_repair(&r)) {
		state = r.content.info.state;
		*flags = r.content.info.flags;
	}
	free(r.refusal);
	md_content_free(&r.content);
	md_source_free(&src);
	return state;
}

/* Only the state and flags say which tier takes the set's place, or has taken it. */
static void way_back(u32 state)
{
	struct md_content c, read;
	const char *reason;
	bool json = false;
	u32 flags = 0;
	size_t len;
	char *text;
	int fd;

	make_content(&c);
	c.info.state = state;
	c.info.flags |= 3 << TIER_SB_HOME_SHIFT;
	do {
		text = dump(&c, json, &len);
		ok(undump(&read, text, len, json) && read.info.flags == c.info.flags,
		   "%s of a set on its way back has its home", json ? "JSON" : "XML");
		md_content_free(&read);
		free(text);
		json = !json;
	} while (json);
	fd = write_image(&c);
	ok(repaired(fd, &flags) == state && flags == c.info.flags, "and so has what is repaired");
	ok(!md_set_state(fd, state, 5, &reason) && repaired(fd, &flags) == state &&
	   (flags & TIER_SB_HOME_MASK) == 5 << TIER_SB_HOME_SHIFT, "and what is written");
	ok(!md_set_state(fd, TIER_STATE_LIVE, 5, &reason) && repaired(fd, &flags) == TIER_STATE_LIVE &&
	   !(flags & TIER_SB_HOME_MASK), "but not a set that works");
	close(fd);
	md_content_free(&c);
}

/* A set in this state would be formatted. */
static void flipped_state(int fd)
{
	struct tier_superblock *sb;
	u8 was[MD_BLOCK], block[MD_BLOCK];
	u32 flags;

	if (pread(fd, was, MD_BLOCK, 0) != MD_BLOCK)
		exit(1);
	memcpy(block, was, MD_BLOCK);
	sb = (void *)block;
	sb->state = cpu_to_le32(TIER_STATE_FORMATTING);
	if (pwrite(fd, block, MD_BLOCK, 0) != MD_BLOCK)
		exit(1);
	ok(repaired(fd, &flags) == TIER_STATE_LIVE, "a damaged superblock does not make a set one to be formatted");
	if (pwrite(fd, was, MD_BLOCK, 0) != MD_BLOCK)
		exit(1);
}

/* All messages. */
static char said[4096];

static void note(void *context, const char *text)
{
	(void)context;
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", text);
}

static struct md_label_source label_of(unsigned int i, u64 generation)
{
	struct md_label_source l = {
		.name = i ? "one" : "two",
		.label = {
			.name = "set", .id = 3 * i, .size = (PLACES + 1) * 2048, .places_at = 2048,
			.chunk_sectors = 2048, .generation = generation,
		},
	};

	memset(l.label.set_uuid, 0xab, sizeof(l.label.set_uuid));
	memset(l.label.tier_uuid, 0x10 + i, sizeof(l.label.tier_uuid));
	return l;
}

/* Repairs fd with these labels; a refusal is added to the messages. */
static bool repair_with(int fd, const struct md_label_source *labels, unsigned int nr, struct md_content *c)
{
	struct md_problems p = { .say = note };
	struct md_source src;
	struct md_repair r = { .src = &src, .p = &p, .nr_labels = nr, .labels = labels };
	bool good;
	int out;

	*said = '\0';
	md_source_init(&src, fd);
	good = md_repair(&r);
	if (good) {
		out = write_image(&r.content);
		good = is_good(out);
		close(out);
	} else {
		note(NULL, r.refusal);
	}
	*c = r.content;
	md_content_free(&r.content);
	free(r.refusal);
	md_source_free(&src);
	return good;
}

static bool current(const struct md_content *c, unsigned int i, u64 label)
{
	return tier_label_current(c->tiers.tier[i].generation, c->tiers.tier[i].next_generation, label);
}

/* The set has generation 7 and was changing to 8, as the label of tier id 3 may say already. */
static void labels_and_records(int fd, bool whole)
{
	const char *records = whole ? "whole" : "lost";
	struct md_label_source l[2];
	struct md_content c;
	struct row {
		u64 generation[2];
		bool saved;
		const char *says;
	} rows[] = {
		{ { 7, 7 }, true, "" },
		{ { 7, 8 }, true, "" },
		{ { 7, 9 }, false, "metadata stale: one is of generation 9" },
		{ { 8, 7 }, !whole, whole ? "metadata stale: two is of generation 8, the metadata knows 7" : "" },
		{ { 7, 5 }, true, whole ? "one: tier stale: of generation 5, the metadata knows 7" :
				  "one: was missing at the last activation or is an old copy: of generation 5, the set of 7" },
	}, *row;

	for (row = rows; row < rows + sizeof(rows) / sizeof(*rows); row++) {
		u64 a = row->generation[0], b = row->generation[1];
		bool saved;

		l[0] = label_of(0, a);
		l[1] = label_of(1, b);
		saved = repair_with(fd, l, 2, &c);
		ok(saved == row->saved && strstr(said, row->says), "labels %llu and %llu, records %s: %s",
		   (unsigned long long)a, (unsigned long long)b, records, row->saved ? "saved" : "refused");
		if (saved)
			ok(c.info.generation == 7 && c.info.next_generation == 8 &&
			   current(&c, 0, a) && current(&c, 1, b) == (b >= 7),
			   "they do not make the set newer, and an old one is stale");
	}
	l[0] = label_of(0, 7);
	l[1] = label_of(1, 7);
	ok(repair_with(fd, l, 1, &c) == whole, "one of two tiers, records %s", records);
	ok(!repair_with(fd, (struct md_label_source[]) { l[0], l[0] }, 2, &c) && strstr(said, "both are"),
	   "a tier named twice");
	l[1].label.chunk_sectors *= 2;
	ok(!repair_with(fd, l, 2, &c), "chunks of another size, records %s", records);
	l[1] = label_of(1, 7);
	l[1].label.set_uuid[3] ^= 1;
	ok(!repair_with(fd, l, 2, &c), "a tier of another set, records %s", records);
	if (!whole)
		return;
	l[1] = label_of(1, 7);
	l[1].label.tier_uuid[3] ^= 1;
	ok(!repair_with(fd, l, 2, &c), "another tier of that id");
	l[1] = label_of(1, 7);
	l[1].label.id = 4;
	ok(!repair_with(fd, l, 2, &c), "a tier that is none");
}

static u64 tiers_root(int fd)
{
	struct md_problems p = { 0 };
	struct md_source src;
	struct md_image image = { .src = &src, .p = &p };

	md_source_init(&src, fd);
	if (!md_image_open(&image))
		exit(1);
	md_source_free(&src);
	return image.roots.tiers;
}

static void flip(int fd, off_t at)
{
	u8 byte;

	if (pread(fd, &byte, 1, at) != 1)
		exit(1);
	byte ^= 0x5a;
	if (pwrite(fd, &byte, 1, at) != 1)
		exit(1);
}

static void labels(int fd)
{
	off_t at = tiers_root(fd) * MD_BLOCK + 2000;

	labels_and_records(fd, true);
	flip(fd, at);
	labels_and_records(fd, false);
	ok(strstr(said, "evacuation are lost"), "what a label does not say is named");
	flip(fd, at);
}

/* A field of the superblock has this value, with a correct checksum or without. */
static void superblock_says(int fd, bool sealed, size_t member, u64 value, bool saved, const char *says)
{
	struct md_label_source l = label_of(0, 8);
	u8 was[MD_BLOCK], block[MD_BLOCK];
	__le64 bytes = cpu_to_le64(value);
	struct md_content c;

	if (pread(fd, was, MD_BLOCK, 0) != MD_BLOCK)
		exit(1);
	memcpy(block, was, MD_BLOCK);
	memcpy(block + member, &bytes, sizeof(__le32));
	if (sealed)
		tier_superblock_seal(block, TIER_SUPERBLOCK_LOCATION);
	if (pwrite(fd, block, MD_BLOCK, 0) != MD_BLOCK)
		exit(1);
	ok(repair_with(fd, NULL, 0, &c) == saved && strstr(said, says), "a superblock %s: %s: %s",
	   sealed ? "that is whole" : "that is damaged", says, saved ? "saved" : "refused");
	ok(!saved || md_knows_policy(c.info.policy), "its policy is one that there is");
	if (!sealed)
		ok(!repair_with(fd, &l, 1, &c), "but not against a label");
	if (pwrite(fd, was, MD_BLOCK, 0) != MD_BLOCK)
		exit(1);
}

#define SAYS(member)	offsetof(struct tier_superblock, member)

static void superblocks(int fd)
{
	superblock_says(fd, true, SAYS(version), 2, false, "unknown format version");
	superblock_says(fd, true, SAYS(incompat_flags), 2, false, "unknown features");
	superblock_says(fd, true, SAYS(compat_ro_flags), 4, false, "only allow this version to read");
	superblock_says(fd, false, SAYS(version), 2, false, "of another version");
	superblock_says(fd, false, SAYS(incompat_flags), 2, false, "unknown features");
	superblock_says(fd, false, SAYS(compat_ro_flags), 4, true, "compat_ro 0x4 (what is unknown of it is cleared");
	superblock_says(fd, false, SAYS(compat_flags), 8, true, "compat 0x8");
	superblock_says(fd, false, SAYS(trans_id), 123, true, "transaction 123");
	superblock_says(fd, false, SAYS(next_generation), 99, true, "generation 7, next 99");
	superblock_says(fd, false, SAYS(generation), 8, true, "generation 8, but no tier has one above 7");
	superblock_says(fd, false, SAYS(policy_name), 0x01020365, true, "policy e___ (unknown, and default");
	superblock_says(fd, false, SAYS(flags), 0, true, "this may not be: uuid, name, state live, ");
}

static unsigned int named[NR_CHUNKS];

static void note_claim(void *context, const char *text)
{
	unsigned int chunk, keeper;

	(void)context;
	if (sscanf(text, "chunk %u: claims place 2 of tier id 3, which chunk %u keeps;", &chunk, &keeper) == 2 &&
	    chunk < NR_CHUNKS && !keeper)
		named[chunk]++;
}

/* 300 chunks and one more have the same place, which the first chunk keeps. */
static void many_are_named(int fd)
{
	struct md_problems p = { .say = note_claim };
	struct md_source src;
	struct md_repair r = { .src = &src, .p = &p };
	unsigned int i, wrong = 0;

	md_source_init(&src, fd);
	ok(md_repair(&r) && p.errors == 300, "the repair counts them, too");
	for (i = 0; i < NR_CHUNKS; i++)
		wrong += named[i] != (i == 2001 || (i && i < 300));
	ok(!wrong, "and names each, with the one that keeps the place");
	md_content_free(&r.content);
	free(r.refusal);
	md_source_free(&src);
}

/* Either may be the right one, so both are named. */
static void both_are_named(void)
{
	struct md_problems p = { .say = note };
	struct md_check check = { 0 };
	struct md_content c, saved;
	struct md_source src;
	unsigned int i;
	int fd;

	make_content(&c);
	c.mapping[2001] = c.mapping[3];
	c.mapping[5] = c.mapping[3];
	fd = write_image(&c);
	*said = '\0';
	md_source_init(&src, fd);
	md_check(&check, &src, &p);
	md_source_free(&src);
	ok(strstr(said, "chunk 5: claims place 2 of tier id 3, which chunk 3 keeps; one of the two is wrong\n") &&
	   strstr(said, "chunk 2001: claims place 2 of tier id 3, which chunk 3 keeps"), "chunks on one place are named");
	ok(repair_with(fd, NULL, 0, &saved) && strstr(said, "chunk 5: claims place 2 of tier id 3, which chunk 3 keeps") &&
	   strstr(said, "chunk 2001: claims"), "so does the repair, which keeps the first");
	close(fd);

	for (i = 0; i < 300; i++)
		c.mapping[i] = c.mapping[3];
	fd = write_image(&c);
	*said = '\0';
	md_source_init(&src, fd);
	p = (struct md_problems){ .say = note };
	md_check(&check, &src, &p);
	md_source_free(&src);
	ok(p.errors == 300, "and all are counted");
	many_are_named(fd);
	close(fd);
	md_content_free(&c);
}

static void broken_rule(const char *what, const struct md_content *c, void (*bend)(struct md_content *c))
{
	struct md_content bent;
	struct md_problems p = { 0 };
	int fd;

	make_content(&bent);
	(void)c;
	bend(&bent);
	fd = write_image(&bent);
	check_fd(fd, &p);
	ok(p.errors + p.minor == 1, "noticed once: %s (%llu, %llu)", what, (unsigned long long)p.errors,
	   (unsigned long long)p.minor);
	close(fd);
	md_content_free(&bent);
}

static void two_on_one_place(struct md_content *c) { c->mapping[1] = c->mapping[3]; }
static void no_such_tier(struct md_content *c) { c->mapping[1] |= 16ULL << TIER_ENTRY_ID_SHIFT; }
static void label_area(struct md_content *c) { c->mapping[1] &= ~TIER_ENTRY_PLACE_MASK; }
static void past_the_tier(struct md_content *c) { c->mapping[1] |= PLACES + 1024; }
static void reserved_bit(struct md_content *c) { c->mapping[8] |= 1ULL << 57; }
static void unmapped_place(struct md_content *c) { c->mapping[7] = 5; }
static void no_such_pin(struct md_content *c) { c->mapping[8] |= 9ULL << TIER_ENTRY_PIN_SHIFT; }
static void same_rank(struct md_content *c) { c->tiers.tier[0].rank = 0; }
static void same_uuid(struct md_content *c)
{
	memcpy(c->tiers.tier[0].uuid, c->tiers.tier[1].uuid, TIER_UUID_SIZE);
}
static void owner_without_feature(struct md_content *c) { c->info.owner.time = 1; }
static void newer_tier(struct md_content *c) { c->tiers.tier[0].generation = 8; }
static void announced_tier(struct md_content *c) { c->tiers.tier[0].next_generation = 9; }
static void shrunk_tier(struct md_content *c) { c->tiers.tier[0].size -= 2048; }
static void unknown_flag(struct md_content *c) { c->info.flags |= 0x10; }
static void same_tunable(struct md_content *c) { c->tunables.tunable[4] = c->tunables.tunable[5]; }
static void too_little_room(struct md_content *c) { c->info.reserve = 2 * PLACES; }

/* The second tier has room for something else before its places; that begins no map. */
static void leave_room(struct md_content *c)
{
	struct tier_meta_tier *t = &c->tiers.tier[1];
	unsigned int i;

	t->first_place += 100;
	t->size += 100 * 2048;
	for (i = 0; i < NR_CHUNKS; i++)
		if (c->mapping[i] & TIER_ENTRY_MAPPED && md_entry_id(c->mapping[i]) == t->id)
			c->mapping[i] += 100;
}

static void own_it(struct md_content *c)
{
	c->info.compat_flags = TIER_COMPAT_OWNER;
	memset(c->info.owner.machine, 0x5a, TIER_UUID_SIZE);
	memset(c->info.owner.boot, 0xb0, TIER_UUID_SIZE);
	c->info.owner.time = 1800000000;
	c->info.owner.trans_id = c->info.trans_id;
	c->tiers.tier[0].wear = 0xfffffffe;
}

/* What came to the format later: a tier with room, the owner, wear. */
static void additions(void)
{
	struct md_label_source l[2];
	struct md_content c, again;
	struct md_problems p;
	int fd;

	make_content(&c);
	leave_room(&c);
	own_it(&c);
	fd = write_image(&c);
	check_fd(fd, &p);
	ok(p.errors == 1, "places that begin late need their feature bit");
	ok(!repair_with(fd, NULL, 0, &again), "nor does a repair believe them without");
	close(fd);

	c.info.incompat_flags = TIER_INCOMPAT_ROOM;
	fd = write_image(&c);
	ok(is_good(fd), "a tier with room, an owner, wear");
	round_trips(&c, fd);
	dumps(&c, false);
	dumps(&c, true);
	ok(repair_with(fd, NULL, 0, &again) && again.info.incompat_flags == TIER_INCOMPAT_ROOM &&
	   !memcmp(&again.info.owner, &c.info.owner, sizeof(c.info.owner)) &&
	   again.tiers.tier[0].wear == 0xfffffffe && again.tiers.tier[1].first_place == 101,
	   "a repair keeps them");
	flip(fd, offsetof(struct tier_superblock, owner_time));
	ok(repair_with(fd, NULL, 0, &again) && tier_all_zero(&again.info.owner, sizeof(again.info.owner)) &&
	   !again.info.compat_flags && again.tiers.tier[1].first_place == 101,
	   "a damaged superblock's owner is forgotten");
	flip(fd, offsetof(struct tier_superblock, owner_time));
	flip(fd, tiers_root(fd) * MD_BLOCK + 2000);
	l[0] = label_of(0, 7);
	l[1] = label_of(1, 7);
	l[1].label.places_at += 100 * 2048;
	l[1].label.size += 100 * 2048;
	ok(repair_with(fd, l, 2, &again) && again.tiers.tier[1].first_place == 101 &&
	   again.tiers.tier[1].places == PLACES, "a lost record is made from a label with room");
	close(fd);
	md_content_free(&c);
}

int main(void)
{
	struct md_content content;
	int fd;

	make_content(&content);
	fd = write_image(&content);
	round_trips(&content, fd);
	failing_fsync(&content);
	dumps(&content, false);
	dumps(&content, true);
	broken_rule("two chunks on one place", &content, two_on_one_place);
	broken_rule("a tier that is not there", &content, no_such_tier);
	broken_rule("a place in the label area", &content, label_area);
	broken_rule("a place past the tier's end", &content, past_the_tier);
	broken_rule("reserved bits", &content, reserved_bit);
	broken_rule("a place without a chunk", &content, unmapped_place);
	broken_rule("a pin to a tier that is not there", &content, no_such_pin);
	broken_rule("two tiers of one rank", &content, same_rank);
	broken_rule("two tiers of one uuid", &content, same_uuid);
	broken_rule("a tier newer than the set", &content, newer_tier);
	broken_rule("a tier that may be newer than the set", &content, announced_tier);
	broken_rule("a tier smaller than its places", &content, shrunk_tier);
	broken_rule("an unknown flag", &content, unknown_flag);
	broken_rule("an owner without its feature", &content, owner_without_feature);
	broken_rule("two tunables of one name", &content, same_tunable);
	broken_rule("more chunks than places", &content, too_little_room);
	additions();
	orphaned_leaves();
	many_losses();
	way_back(TIER_STATE_REVERTING);
	way_back(TIER_STATE_RETIRED);
	flipped_state(fd);
	labels(fd);
	superblocks(fd);
	both_are_named();
	flipped_superblock(&content, fd);
	flipped_bits(&content, fd);
	close(fd);
	md_content_free(&content);
	return tap_done();
}
