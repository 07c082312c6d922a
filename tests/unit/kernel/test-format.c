// SPDX-License-Identifier: GPL-2.0-only
/* The bytes of superblock, tier record and label, see format-code.h. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "dm-tier/format-code.h"
#include "format/crc32c.h"
#include "../tap.h"

#define BLOCK TIER_METADATA_BLOCK_SIZE
#define SLOT TIER_LABEL_SLOT_SIZE

/* The same bit flips in every run. */
static u32 pseudo_random(void)
{
	static u32 x = 2463534242U;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}

static void flip(void *data, unsigned int bit)
{
	((u8 *)data)[bit / 8] ^= 1 << bit % 8;
}

/*
 * Blocks and slots come from malloc() with their exact size, so that the
 * address sanitizer sees a read beyond the end.
 */
static void *zeroed(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		abort();
	return p;
}

static void *copy_of(const void *data, size_t size)
{
	return memcpy(zeroed(size), data, size);
}

/*
 * Checksum
 */

static void test_checksum(void)
{
	u8 zeroes[32] = { 0 }, ones[32], count[32];
	unsigned int i;

	memset(ones, 0xff, sizeof(ones));
	for (i = 0; i < sizeof(count); i++)
		count[i] = i;

	/* RFC 3720, B.4 */
	ok(~crc32c(~0U, zeroes, 32) == 0x8a9136aa, "crc32c of zeroes");
	ok(~crc32c(~0U, ones, 32) == 0x62a8ab43, "crc32c of ones");
	ok(~crc32c(~0U, count, 32) == 0x46dd794e, "crc32c of a count");
	ok(~crc32c(~0U, "123456789", 9) == 0xe3069283, "crc32c check value");
	ok(crc32c(7, zeroes, 0) == 7, "crc32c of nothing");
	ok(tier_checksum(count, 32, 0x12345678) == (~0x46dd794eU ^ 0x12345678),
	   "checksum of a kind of block");
	ok(tier_all_zero(zeroes, 32), "all zero");
	ok(tier_all_zero(ones, 0), "nothing is all zero");
	zeroes[31] = 1;
	ok(!tier_all_zero(zeroes, 32), "last byte is not zero");
	ok(tier_all_zero(zeroes, 31), "byte after the end is not looked at");
}

/*
 * Superblock
 */

static const struct tier_meta_info some_info = {
	.uuid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
	.name = "vg-data",
	.policy = "heat",
	.state = TIER_STATE_LIVE,
	.flags = TIER_SB_CLEAN | TIER_SB_PAUSED,
	.compat_flags = 0x80000001,
	.logical_block_size = 4096,
	.chunk_sectors = 2048,
	.nr_chunks = 1000003,
	.length = 1000003ULL * 2048 - 8,
	.reserve = 64,
	.generation = 0x123456789abcULL,
	.next_generation = 0x123456789abdULL,
	.trans_id = 0xfedcba9876543210ULL,
	.held_root = 77,
	.incompat_flags = TIER_INCOMPAT_ROOM,
	.owner = { .machine = { 0xaa, [15] = 0xab }, .boot = { 0xba, [15] = 0xbb },
		   .time = 1800000000, .trans_id = 0xfedcba987654320fULL },
};

static const struct tier_meta_roots some_roots = {
	.mapping = 0x1111111111ULL,
	.heat = 0x2222222222ULL,
	.tiers = 0x3333333333ULL,
	.tunables = 0x4444444444ULL,
	.nr_tunables = 12,
	.space_map = { 0xaa, [127] = 0xbb },
};

static void *pack_superblock(const struct tier_meta_info *info)
{
	void *block = zeroed(BLOCK);

	tier_superblock_pack(block, info, &some_roots);
	tier_superblock_seal(block, 0);
	return block;
}

/* Takes the block and corrects its checksum: only its contents are wrong. */
static int judge_sealed(void *block)
{
	struct tier_meta_info info;
	const char *reason = NULL;
	int r;

	tier_superblock_seal(block, 0);
	r = tier_superblock_unpack(block, &info, &reason);
	free(block);
	if (!!r != !!reason)
		return 1;
	return r;
}

static int judge_info(const struct tier_meta_info *info)
{
	int valid = tier_meta_info_valid(info);
	int r = judge_sealed(pack_superblock(info));

	/* Both functions must agree. */
	return valid == !r ? r : 1;
}

static void test_superblock_round_trip(void)
{
	struct tier_meta_info info;
	struct tier_meta_roots roots;
	const char *reason = NULL;
	struct tier_superblock *sb = pack_superblock(&some_info);

	memset(&info, 0xa5, sizeof(info));
	ok(!tier_superblock_unpack(sb, &info, &reason), "superblock is good");
	ok(!reason, "no reason without an error");
	ok(!memcmp(&info, &some_info, sizeof(info)), "fields come back");
	memset(&roots, 0, sizeof(roots));
	tier_superblock_unpack_roots(sb, &roots);
	ok(!memcmp(&roots, &some_roots, sizeof(roots)), "roots come back");

	ok(tier_all_zero((u8 *)sb + sizeof(*sb), BLOCK - sizeof(*sb)),
	   "nothing is written after the superblock");
	ok(!memcmp((u8 *)sb + 32, "DTIERBLK", 8), "magic is readable");
	free(sb);
}

static void test_superblock_layout(void)
{
	ok(sizeof(struct tier_superblock) <= 512, "superblock fits a sector");
	ok(offsetof(struct tier_superblock, magic) == 32, "offset of magic");
	ok(offsetof(struct tier_superblock, metadata_space_map_root) == 64,
	   "offset of the space map's root");
	ok(offsetof(struct tier_superblock, mapping_root) == 192,
	   "offset of the mapping's root");
	ok(offsetof(struct tier_superblock, logical_block_size) == 288,
	   "offset of the logical block size");
	ok(offsetof(struct tier_superblock, name) == 312, "offset of the name");
	ok(offsetof(struct tier_record, last_seen) == 76, "offset of last_seen");
	ok(offsetof(struct tier_record, wear) == 108, "offset of wear");
	ok(offsetof(struct tier_label, size) == 64, "offset of the label's size");
	ok(offsetof(struct tier_label, name) == 96, "offset of the label's name");
}

static void test_superblock_repack(void)
{
	struct tier_meta_info longer = some_info, back;
	struct tier_superblock *sb;
	const char *reason;

	memset(longer.name, 'x', sizeof(longer.name) - 1);
	sb = pack_superblock(&longer);
	tier_superblock_pack(sb, &some_info, &some_roots);
	tier_superblock_seal(sb, 0);
	ok(!tier_superblock_unpack(sb, &back, &reason) &&
	   !memcmp(&back, &some_info, sizeof(back)),
	   "nothing is left of a longer name");
	free(sb);
}

static void test_superblock_elsewhere(void)
{
	struct tier_meta_info info;
	const char *reason;
	void *block = pack_superblock(&some_info);

	tier_superblock_seal(block, 77);
	ok(!tier_superblock_verify(block, 77, &reason), "copy of a snapshot");
	ok(tier_superblock_verify(block, 0, &reason) == -EILSEQ,
	   "copy in the wrong block");
	ok(tier_superblock_unpack(block, &info, &reason) == -EILSEQ,
	   "copy is no superblock of block 0");
	free(block);
}

static void test_superblock_foreign(void)
{
	struct tier_meta_info info;
	const char *reason = NULL;
	u8 *block = zeroed(BLOCK);

	ok(tier_superblock_unpack(block, &info, &reason) == -ENODATA && reason,
	   "blank");
	reason = NULL;
	block[BLOCK - 1] = 1;
	ok(tier_superblock_unpack(block, &info, &reason) == -EINVAL && reason,
	   "last byte alone is foreign content");
	block[BLOCK - 1] = 0;
	block[0] = 1;
	ok(tier_superblock_unpack(block, &info, &reason) == -EINVAL,
	   "first byte alone is foreign content");
	memset(block, 0xff, BLOCK);
	ok(tier_superblock_unpack(block, &info, &reason) == -EINVAL,
	   "erased flash is foreign content");
	free(block);
}

static void test_superblock_flips(void)
{
	struct tier_meta_info info;
	const char *reason;
	void *good = pack_superblock(&some_info);
	unsigned int bit, magic, missed = 0, misjudged = 0;
	int r;

	magic = 8 * offsetof(struct tier_superblock, magic);
	for (bit = 0; bit < 8 * BLOCK; bit++) {
		flip(good, bit);
		reason = NULL;
		r = tier_superblock_unpack(good, &info, &reason);
		if (!r || !reason)
			missed++;
		if (r != (bit - magic < 64 ? -EINVAL : -EILSEQ))
			misjudged++;
		flip(good, bit);
	}
	ok(!missed, "every single flipped bit is noticed (%u missed)", missed);
	ok(!misjudged, "and is called damage, or foreign in the magic (%u not)",
	   misjudged);
	free(good);
}

static void test_superblock_noise(void)
{
	struct tier_meta_info info;
	const char *reason;
	void *good = pack_superblock(&some_info);
	void *bad;
	unsigned int i, n, missed = 0;

	for (i = 0; i < 5000; i++) {
		bad = copy_of(good, BLOCK);
		for (n = pseudo_random() % 64 + 1; n; n--)
			flip(bad, pseudo_random() % (8 * BLOCK));
		if (memcmp(bad, good, BLOCK) &&
		    !tier_superblock_unpack(bad, &info, &reason))
			missed++;
		free(bad);
	}
	ok(!missed, "random flips are noticed (%u missed)", missed);

	/* A write that only reached the first n bytes of a zeroed block. */
	missed = 0;
	for (n = 0; n < BLOCK; n += 4) {
		bad = copy_of(good, BLOCK);
		memset((u8 *)bad + n, 0, BLOCK - n);
		if (memcmp(bad, good, BLOCK) &&
		    !tier_superblock_unpack(bad, &info, &reason))
			missed++;
		free(bad);
	}
	ok(!missed, "truncated superblocks are noticed (%u missed)", missed);
	free(good);
}

#define BAD_INFO(field, value) do {					\
	struct tier_meta_info bad_ = some_info;				\
	bad_.field = (value);						\
	ok(judge_info(&bad_) == -EILSEQ, #field " = " #value " is refused"); \
} while (0)

#define GOOD_INFO(field, value) do {					\
	struct tier_meta_info good_ = some_info;			\
	good_.field = (value);						\
	ok(judge_info(&good_) == 0, #field " = " #value " is accepted");	\
} while (0)

static void test_superblock_ranges(void)
{
	struct tier_meta_info info = some_info;

	BAD_INFO(state, 0);
	BAD_INFO(state, TIER_STATE_RETIRED + 1);
	GOOD_INFO(state, TIER_STATE_FORMATTING);
	GOOD_INFO(state, TIER_STATE_RETIRED);

	BAD_INFO(chunk_sectors, 0);
	BAD_INFO(chunk_sectors, TIER_CHUNK_SECTORS_MIN / 2);
	BAD_INFO(chunk_sectors, 3072);
	BAD_INFO(chunk_sectors, TIER_CHUNK_SECTORS_MAX * 2);
	GOOD_INFO(chunk_sectors, TIER_CHUNK_SECTORS_MAX);

	BAD_INFO(nr_chunks, 0);
	BAD_INFO(nr_chunks, TIER_MAX_CHUNKS + 1);
	BAD_INFO(nr_chunks, ~0ULL);
	GOOD_INFO(nr_chunks, TIER_MAX_CHUNKS);

	BAD_INFO(length, 0);
	BAD_INFO(length, some_info.nr_chunks * 2048 + 1);
	GOOD_INFO(length, some_info.nr_chunks * 2048);
	GOOD_INFO(length, 1);

	BAD_INFO(logical_block_size, 0);
	BAD_INFO(logical_block_size, 256);
	BAD_INFO(logical_block_size, 1000);
	BAD_INFO(logical_block_size, 8192);
	GOOD_INFO(logical_block_size, 512);

	BAD_INFO(next_generation, some_info.generation - 1);
	GOOD_INFO(next_generation, some_info.generation);

	memset(info.name, 'n', sizeof(info.name));
	ok(!tier_meta_info_valid(&info), "name without an end is refused");
	info = some_info;
	memset(info.policy, 'p', sizeof(info.policy));
	ok(!tier_meta_info_valid(&info), "policy without an end is refused");
}

#define BAD_FIELD(field, value, error) do {				\
	struct tier_superblock *sb_ = pack_superblock(&some_info);	\
	sb_->field = (value);						\
	ok(judge_sealed(sb_) == (error), #field " = " #value " gives " #error); \
} while (0)

static void test_superblock_fields(void)
{
	struct tier_superblock *sb;

	BAD_FIELD(magic, cpu_to_le64(TIER_SUPERBLOCK_MAGIC + 1), -EINVAL);
	BAD_FIELD(version, cpu_to_le32(0), -EINVAL);
	BAD_FIELD(version, cpu_to_le32(TIER_FORMAT_VERSION + 1), -EINVAL);
	BAD_FIELD(metadata_block_size, cpu_to_le32(16), -EINVAL);
	BAD_FIELD(mapping_root, 0, -EILSEQ);
	BAD_FIELD(heat_root, 0, -EILSEQ);
	BAD_FIELD(tiers_root, 0, -EILSEQ);
	BAD_FIELD(tunables_root, 0, -EILSEQ);
	BAD_FIELD(nr_tunables, cpu_to_le32(TIER_MAX_TUNABLES + 1), -EILSEQ);
	BAD_FIELD(nr_tunables, cpu_to_le32(TIER_MAX_TUNABLES), 0);

	sb = pack_superblock(&some_info);
	memset(sb->name, 'n', sizeof(sb->name));
	ok(judge_sealed(sb) == -EILSEQ, "stored name without an end");
	sb = pack_superblock(&some_info);
	memset(sb->policy_name, 'p', sizeof(sb->policy_name));
	ok(judge_sealed(sb) == -EILSEQ, "stored policy without an end");
}

static void test_superblock_features(void)
{
	struct tier_superblock *sb;
	struct tier_meta_info info;
	const char *reason;
	unsigned int bit, refused = 0;

	for (bit = 0; bit < 32; bit++) {
		sb = pack_superblock(&some_info);
		sb->incompat_flags = cpu_to_le32(1U << bit);
		refused += judge_sealed(sb) == -EINVAL;
	}
	ok(refused == 31, "unknown incompat features are refused, that of room is known");

	sb = pack_superblock(&some_info);
	tier_superblock_seal(sb, 0);
	ok(!tier_superblock_unpack(sb, &info, &reason) && info.owner.trans_id, "an owner is read");
	sb->compat_flags = cpu_to_le32(0xfffffffe);
	tier_superblock_seal(sb, 0);
	ok(!tier_superblock_unpack(sb, &info, &reason) &&
	   tier_all_zero(&info.owner, sizeof(info.owner)), "but not without its feature");
	sb->compat_flags = cpu_to_le32(0xffffffff);
	sb->compat_ro_flags = cpu_to_le32(0x10);
	tier_superblock_seal(sb, 0);
	ok(!tier_superblock_unpack(sb, &info, &reason), "others may be read");
	ok(tier_features_read_only(info.compat_ro_flags),
	   "an unknown compat_ro feature forbids to write");
	ok(!tier_features_read_only(0), "no feature forbids nothing");
	ok(info.compat_flags == 0xffffffff, "compat features are kept");
	free(sb);
}

static void test_owner(void)
{
	struct tier_meta_info info = some_info;
	u64 trans_id = info.trans_id;

	info.owner.trans_id = trans_id + 1;
	ok(!tier_meta_info_valid(&info), "an owner of a transaction to come is refused");
	info.owner.trans_id = trans_id;
	tier_meta_info_count(&info);
	ok(info.trans_id == trans_id + 1 && info.owner.trans_id == trans_id + 1,
	   "the owner goes on with each commit");
	info.owner.trans_id--;
	tier_meta_info_count(&info);
	ok(info.trans_id == trans_id + 2 && info.owner.trans_id == trans_id,
	   "one who lost the set once does not come back");
	info.compat_flags = 0;
	info.owner.trans_id = info.trans_id;
	tier_meta_info_count(&info);
	ok(info.owner.trans_id == trans_id + 2, "without its feature nobody owns a set");
}

static void test_first_place(void)
{
	struct tier_meta_info info = some_info;

	info.chunk_sectors = 128;
	info.incompat_flags = 0;
	ok(!tier_first_place_valid(&info, 15) && tier_first_place_valid(&info, 16) &&
	   !tier_first_place_valid(&info, 17), "places begin behind the label area");
	info.incompat_flags = TIER_INCOMPAT_ROOM;
	ok(!tier_first_place_valid(&info, 15) && tier_first_place_valid(&info, 16) &&
	   tier_first_place_valid(&info, 17) &&
	   tier_first_place_valid(&info, TIER_ENTRY_PLACE_MASK), "or later, with the feature");
	info.chunk_sectors = TIER_CHUNK_SECTORS_MAX;
	ok(!tier_first_place_valid(&info, 0) && tier_first_place_valid(&info, 1) &&
	   tier_first_place_valid(&info, TIER_ENTRY_PLACE_MASK), "with the largest chunks, too");
}

/*
 * Tier records
 */

static const struct tier_meta_tier some_tier = {
	.id = 200,
	.uuid = { 9, 8, 7 },
	.size = 1ULL << 40,
	.first_place = 1,
	.places = (1ULL << 29) - 1,
	.generation = 42,
	.flags = TIER_RECORD_EVACUATE,
	.rank = 3,
	.endurance = 500,
	.reserve = 12,
	.landing = TIER_LANDS_STREAMS,
	.residence = 0xffffffff,
	.latency = TIER_MAX_LATENCY,
	.watermark = TIER_MAX_WATERMARK,
	.quiet = TIER_MAX_QUIET,
	.last_seen = "nvme0n1p4",
	.wear = 0xfedcba98,
};

#define BAD_TIER(field, value) do {					\
	struct tier_meta_tier t_ = some_tier, back_;			\
	struct tier_record record_;					\
	t_.field = (value);						\
	tier_record_pack(&record_, &t_);				\
	ok(tier_record_unpack(t_.id, &record_, &back_) == -EILSEQ,	\
	   "tier's " #field " = " #value " is refused");		\
} while (0)

static void test_record(void)
{
	struct tier_meta_tier back;
	struct tier_record record;
	u8 *name = (u8 *)&record + offsetof(struct tier_record, last_seen);

	memset(&back, 0xa5, sizeof(back));
	memset(&record, 0xa5, sizeof(record));
	tier_record_pack(&record, &some_tier);
	ok(!tier_record_unpack(200, &record, &back) &&
	   !memcmp(&back, &some_tier, sizeof(back)), "tier record comes back");
	ok(tier_record_unpack(255, &record, &back) == -EILSEQ, "id 255 is refused");
	ok(tier_record_unpack(1ULL << 32, &record, &back) == -EILSEQ,
	   "large id is refused");

	BAD_TIER(rank, TIER_MAX_TIERS);
	BAD_TIER(landing, TIER_LANDS_STREAMS + 1);
	BAD_TIER(endurance, 1ULL << 32);
	BAD_TIER(reserve, 1ULL << 32);
	BAD_TIER(latency, TIER_MAX_LATENCY + 1);
	BAD_TIER(watermark, TIER_MAX_WATERMARK + 1);
	BAD_TIER(first_place, TIER_ENTRY_PLACE_MASK + 1);
	BAD_TIER(places, TIER_ENTRY_PLACE_MASK);
	BAD_TIER(places, ~0ULL);

	/* Names had 32 bytes once, the latency among them. */
	memset(name, 'x', 32);
	ok(tier_record_unpack(200, &record, &back) == -EILSEQ,
	   "device name without an end is refused");
	memset((u8 *)&record + offsetof(struct tier_record, latency), 0, 4);
	memset(name, 'x', 31);
	ok(!tier_record_unpack(200, &record, &back) && !back.latency && !back.quiet &&
	   !back.watermark && !back.residence && back.landing == TIER_LANDS_ALL &&
	   strlen(back.last_seen) == sizeof(back.last_seen) - 1,
	   "a longer name of before is cut");
	record.latency = some_tier.latency;
	memset((u8 *)&record + offsetof(struct tier_record, latency) - 1, 0, 1);
	ok(!tier_record_unpack(200, &record, &back) && back.latency == some_tier.latency &&
	   !back.quiet && !back.watermark, "so is one of 27 bytes, and the latency behind it stays");

	/* One of 22 bytes ends behind where residence is now; what lies behind it is genuine. */
	tier_record_pack(&record, &some_tier);
	memset(name, 'x', 22);
	memset(name + 22, 0, 2);
	ok(!tier_record_unpack(200, &record, &back) && back.quiet == some_tier.quiet &&
	   back.watermark == some_tier.watermark && !back.residence,
	   "of a name of 22 bytes the values behind it stay, too");

	/* A module of before knows 0 and 1, and takes a tier for some as one for all. */
	tier_record_pack(&record, &some_tier);
	ok(le32_to_cpu(record.landing) == 1, "landing for some is 1 for older modules");
	record.lands = TIER_LANDS_ALL;
	ok(tier_record_unpack(200, &record, &back) == -EILSEQ, "that all may land is told once");
}

/*
 * Labels
 */

static const struct tier_label_info some_label = {
	.set_uuid = { 1, 2, 3 },
	.tier_uuid = { 4, 5, 6 },
	.name = "vg-data",
	.id = 7,
	.compat_flags = 3,
	.size = 1 << 21,
	.places_at = TIER_LABEL_AREA_MIN,
	.chunk_sectors = 1024,
	.generation = 10,
};

static void *pack_label(u64 generation)
{
	struct tier_label_info info = some_label;
	void *slot = zeroed(SLOT);

	info.generation = generation;
	tier_label_pack(slot, &info);
	return slot;
}

static void seal_label(struct tier_label *label)
{
	label->csum = cpu_to_le32(tier_checksum((u8 *)label + 4,
						TIER_LABEL_SIZE - 4,
						TIER_LABEL_CSUM_XOR));
}

/* Takes both slots. Returns the generation that was chosen, or the error. */
static long long choose(void *slot0, void *slot1)
{
	struct tier_label_info info;
	const char *reason = NULL;
	int r;

	r = tier_label_choose(slot0, slot1, &info, &reason);
	free(slot0);
	free(slot1);
	if (!!r != !!reason)
		return -1000;
	return r ? r : (long long)info.generation;
}

static void *foreign(void)
{
	return memset(zeroed(SLOT), 0x5a, SLOT);
}

static void *damaged(u64 generation)
{
	u8 *slot = pack_label(generation);

	slot[100] ^= 1;
	return slot;
}

static void test_label_round_trip(void)
{
	struct tier_label_info info;
	const char *reason = NULL;
	u8 *slot = memset(zeroed(SLOT), 0xff, SLOT);
	u8 *zero = zeroed(SLOT);

	tier_label_pack(slot, &some_label);
	memset(&info, 0xa5, sizeof(info));
	ok(!tier_label_choose(zero, slot, &info, &reason) && info.slot == 1, "label in slot 1");
	ok(!tier_label_choose(slot, zero, &info, &reason) && info.slot == 0, "label in slot 0");
	ok(!memcmp(&info, &some_label, sizeof(info)), "label comes back");
	ok(tier_all_zero(slot + TIER_LABEL_SIZE, SLOT - TIER_LABEL_SIZE),
	   "the rest of the slot is zero");
	ok(!memcmp(slot + 8, "TIERLABL", 8), "magic of a label is readable");
	ok(!((struct tier_label *)slot)->incompat_flags, "a label needs no feature");
	info.places_at++;
	tier_label_pack(slot, &info);
	ok(le32_to_cpu(((struct tier_label *)slot)->incompat_flags) == TIER_INCOMPAT_ROOM,
	   "but for places that begin late");
	free(slot);
	free(zero);
}

static void test_label_choice(void)
{
	ok(choose(pack_label(10), pack_label(9)) == 10, "slot 0 is newer");
	ok(choose(pack_label(10), pack_label(11)) == 11, "slot 1 is newer");
	ok(choose(pack_label(0), zeroed(SLOT)) == 0, "generation 0 is a label");
	ok(choose(zeroed(SLOT), pack_label(1)) == 1, "slot 1 alone");
	ok(choose(pack_label(10), damaged(11)) == 10, "slot 1 damaged");
	ok(choose(damaged(10), pack_label(11)) == 11, "slot 0 damaged");
	ok(choose(foreign(), pack_label(11)) == 11, "slot 0 overwritten");
	ok(choose(pack_label(10), foreign()) == 10, "slot 1 overwritten");
	ok(choose(NULL, pack_label(11)) == 11, "slot 0 unreadable");
	ok(choose(pack_label(10), NULL) == 10, "slot 1 unreadable");
	ok(choose(pack_label(11), pack_label(9)) == 11, "slot 0 is newer by two");
	ok(choose(pack_label(8), pack_label(10)) == 10, "slot 1 is newer by two");
	ok(choose(pack_label(1ULL << 62), pack_label((1ULL << 62) + 1)) ==
	   (1LL << 62) + 1, "large generations");

	ok(choose(zeroed(SLOT), zeroed(SLOT)) == -ENODATA, "blank");
	ok(choose(foreign(), zeroed(SLOT)) == -EINVAL, "foreign content in slot 0");
	ok(choose(zeroed(SLOT), foreign()) == -EINVAL, "foreign content in slot 1");
	ok(choose(foreign(), foreign()) == -EINVAL, "foreign content");
	ok(choose(damaged(10), zeroed(SLOT)) == -EILSEQ, "damaged label");
	ok(choose(damaged(10), damaged(11)) == -EILSEQ, "damaged labels");
	ok(choose(damaged(10), foreign()) == -EILSEQ, "damaged label, and foreign");
	ok(choose(NULL, NULL) == -EIO, "unreadable");
	ok(choose(NULL, zeroed(SLOT)) == -EIO, "unreadable is not blank");
	ok(choose(foreign(), NULL) == -EIO, "unreadable and foreign");
}

/*
 * A caller that finds the label too old must know that the other slot may have held a newer one.
 */
static void test_label_lost_slot(void)
{
	struct tier_label_info info;
	const char *reason;
	void *label = pack_label(10), *newer = pack_label(11), *bad = damaged(11);

	ok(!tier_label_choose(label, NULL, &info, &reason) && info.slot_lost,
	   "an unreadable slot next to a good one is reported");
	ok(!tier_label_choose(NULL, newer, &info, &reason) && info.slot_lost,
	   "slot 0, too");
	ok(!tier_label_choose(label, newer, &info, &reason) && !info.slot_lost,
	   "none is lost if both can be read");
	ok(!tier_label_choose(label, bad, &info, &reason) && !info.slot_lost,
	   "a damaged one is not unreadable");
	free(label);
	free(newer);
	free(bad);
}

static void test_label_blank(void)
{
	u8 *slot = zeroed(SLOT);

	slot[SLOT - 1] = 1;
	ok(choose(slot, zeroed(SLOT)) == -EINVAL,
	   "last byte of slot 0 alone is foreign content");
	slot = zeroed(SLOT);
	slot[TIER_LABEL_SIZE] = 1;
	ok(choose(zeroed(SLOT), slot) == -EINVAL,
	   "byte after where a label would end is foreign content");
}

static void test_label_strangers(void)
{
	struct tier_label_info info = some_label;
	void *slot = zeroed(SLOT);

	info.generation = 11;
	info.set_uuid[15] ^= 1;
	tier_label_pack(slot, &info);
	ok(choose(pack_label(10), slot) == -EILSEQ, "slots of two sets");

	info = some_label;
	info.generation = 11;
	info.tier_uuid[0] ^= 1;
	slot = zeroed(SLOT);
	tier_label_pack(slot, &info);
	ok(choose(pack_label(10), slot) == -EILSEQ, "slots of two tiers");

	info = some_label;
	info.generation = 11;
	info.id++;
	slot = zeroed(SLOT);
	tier_label_pack(slot, &info);
	ok(choose(pack_label(10), slot) == -EILSEQ, "slots of two ids");
}

static void test_label_features(void)
{
	struct tier_label_info info;
	struct tier_label *label;
	const char *reason;
	unsigned int bit, refused = 0;

	for (bit = 0; bit < 32; bit++) {
		label = pack_label(10);
		label->incompat_flags = cpu_to_le32(1U << bit);
		seal_label(label);
		refused += choose(label, pack_label(9)) == -EINVAL;
	}
	ok(refused == 31, "unknown incompat features of a label are refused, that of room is known");

	label = pack_label(11);
	label->version = cpu_to_le32(TIER_FORMAT_VERSION + 1);
	seal_label(label);
	ok(choose(pack_label(10), label) == -EINVAL,
	   "another version next to a good label is refused");

	label = pack_label(10);
	label->compat_ro_flags = cpu_to_le32(1);
	seal_label(label);
	ok(!tier_label_choose(label, NULL, &info, &reason) &&
	   tier_features_read_only(info.compat_ro_flags),
	   "unknown compat_ro feature of a label is reported");
	free(label);
}

#define BAD_LABEL(field, value) do {					\
	struct tier_label *label_ = pack_label(10);			\
	label_->field = (value);					\
	seal_label(label_);						\
	ok(choose(label_, zeroed(SLOT)) == -EILSEQ,			\
	   "label's " #field " = " #value " is refused");		\
} while (0)

static void test_label_ranges(void)
{
	struct tier_label *label = pack_label(10);

	BAD_LABEL(id, cpu_to_le32(255));
	BAD_LABEL(id, cpu_to_le32(256));
	BAD_LABEL(chunk_sectors, 0);
	BAD_LABEL(chunk_sectors, cpu_to_le64(3000));
	BAD_LABEL(chunk_sectors, cpu_to_le64(4096));	/* above the label area */
	BAD_LABEL(places_at, cpu_to_le64(TIER_LABEL_AREA_MIN - 1));
	BAD_LABEL(places_at, cpu_to_le64((1 << 21) + 1));
	BAD_LABEL(places_at, cpu_to_le64(TIER_LABEL_AREA_MIN + 512));	/* within a chunk */
	BAD_LABEL(size, 0);

	memset(label->name, 'n', sizeof(label->name));
	seal_label(label);
	ok(choose(label, zeroed(SLOT)) == -EILSEQ, "label's name without an end");
}

static void test_label_flips(void)
{
	void *label = pack_label(11), *older = pack_label(10);
	struct tier_label_info info;
	const char *reason;
	unsigned int bit, n, i, missed = 0, wrong = 0;
	void *bad;

	for (bit = 0; bit < 8 * TIER_LABEL_SIZE; bit++) {
		flip(label, bit);
		if (!tier_label_choose(NULL, label, &info, &reason))
			missed++;
		if (tier_label_choose(older, label, &info, &reason) ||
		    info.generation != 10)
			wrong++;
		flip(label, bit);
	}
	ok(!missed, "every single flipped bit is noticed (%u missed)", missed);
	ok(!wrong, "and the other slot counts (%u not)", wrong);

	missed = 0;
	for (i = 0; i < 5000; i++) {
		bad = copy_of(label, SLOT);
		for (n = pseudo_random() % 64 + 1; n; n--)
			flip(bad, pseudo_random() % (8 * TIER_LABEL_SIZE));
		if (memcmp(bad, label, SLOT) &&
		    !tier_label_choose(NULL, bad, &info, &reason))
			missed++;
		free(bad);
	}
	ok(!missed, "random flips of a label are noticed (%u missed)", missed);

	/* A torn sector: the first n bytes are new, the rest is the old label. */
	missed = 0;
	for (n = 1; n < TIER_LABEL_SIZE; n++) {
		bad = pack_label(9);
		memcpy(bad, label, n);
		if (!tier_label_choose(NULL, bad, &info, &reason) &&
		    info.generation != 9 && info.generation != 11)
			missed++;
		free(bad);
	}
	ok(!missed, "torn labels are never half believed (%u were)", missed);
	free(label);
	free(older);
}

int main(void)
{
	test_checksum();
	test_superblock_round_trip();
	test_superblock_layout();
	test_superblock_repack();
	test_superblock_elsewhere();
	test_superblock_foreign();
	test_superblock_flips();
	test_superblock_noise();
	test_superblock_ranges();
	test_superblock_fields();
	test_superblock_features();
	test_owner();
	test_first_place();
	test_record();
	test_label_round_trip();
	test_label_choice();
	test_label_lost_slot();
	test_label_blank();
	test_label_strangers();
	test_label_features();
	test_label_ranges();
	test_label_flips();
	return tap_done();
}
