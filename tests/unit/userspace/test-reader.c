// SPDX-License-Identifier: GPL-2.0-only
/* Members and metadata as tools read them, from files made here, whole and damaged. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "set/member.h"
#include "format/metadata.h"
#include "../tap.h"

#define BLOCK		TIER_METADATA_BLOCK_SIZE
#define NR_BLOCKS	16
#define NR_CHUNKS	700
/* Places of the blocks in the file. */
#define TIERS_ROOT	3
#define MAP_ROOT	4
#define MAP_LEAF	5
#define MAP_BLOCK	6
#define PER_BLOCK	509

static u8 image[NR_BLOCKS][BLOCK];

static void seal(void *block, u32 xor)
{
	*(__le32 *)block = cpu_to_le32(tier_checksum((u8 *)block + 4, BLOCK - 4, xor));
}

static void make_node(unsigned int at, u32 flags, u32 value_size, u32 nr)
{
	struct md_btree_node *n = (void *)image[at];

	n->flags = cpu_to_le32(flags);
	n->blocknr = cpu_to_le64(at);
	n->nr_entries = cpu_to_le32(nr);
	n->max_entries = cpu_to_le32((BLOCK - sizeof(*n)) / (8 + value_size) / 3 * 3);
	n->value_size = cpu_to_le32(value_size);
}

static void put_entry(unsigned int at, unsigned int i, u64 key, const void *value)
{
	struct md_btree_node *n = (void *)image[at];
	u8 *values = (u8 *)&n->keys[le32_to_cpu(n->max_entries)];
	u32 size = le32_to_cpu(n->value_size);

	n->keys[i] = cpu_to_le64(key);
	memcpy(values + i * size, value, size);
}

static void put_number(unsigned int at, unsigned int i, u64 key, u64 number)
{
	__le64 value = cpu_to_le64(number);

	put_entry(at, i, key, &value);
}

static void make_tiers(void)
{
	struct tier_meta_tier t = { .first_place = 1, .places = 400, .size = 401 * 2048, .generation = 5 };
	struct tier_record record;
	unsigned int i;

	make_node(TIERS_ROOT, MD_BTREE_LEAF, sizeof(record), 2);
	for (i = 0; i < 2; i++) {
		t.rank = 1 - i;
		memset(t.uuid, 0x10 + i, sizeof(t.uuid));
		tier_record_pack(&record, &t);
		put_entry(TIERS_ROOT, i, i, &record);
	}
	seal(image[TIERS_ROOT], MD_BTREE_CSUM_XOR);
}

/* Chunk c lies on tier c % 2 if c is a multiple of 7. */
static u64 entry_of(u64 c)
{
	return c % 7 ? 0 : TIER_ENTRY_MAPPED | (c % 2) << TIER_ENTRY_ID_SHIFT | (c + 1);
}

static void make_map(void)
{
	unsigned int b, i;

	make_node(MAP_ROOT, MD_BTREE_INTERNAL, 8, 1);
	put_number(MAP_ROOT, 0, 0, MAP_LEAF);
	make_node(MAP_LEAF, MD_BTREE_LEAF, 8, 2);
	for (b = 0; b < 2; b++) {
		struct md_array_block *a = (void *)image[MAP_BLOCK + b];
		unsigned int nr = b ? NR_CHUNKS - PER_BLOCK : PER_BLOCK;

		put_number(MAP_LEAF, b, b, MAP_BLOCK + b);
		a->blocknr = cpu_to_le64(MAP_BLOCK + b);
		a->max_entries = cpu_to_le32(PER_BLOCK);
		a->nr_entries = cpu_to_le32(nr);
		a->value_size = cpu_to_le32(8);
		for (i = 0; i < nr; i++) {
			__le64 e = cpu_to_le64(entry_of(b * PER_BLOCK + i));

			memcpy(a->values + i * 8, &e, 8);
		}
		seal(a, MD_ARRAY_CSUM_XOR);
	}
	seal(image[MAP_LEAF], MD_BTREE_CSUM_XOR);
	seal(image[MAP_ROOT], MD_BTREE_CSUM_XOR);
}

static void make_image(void)
{
	struct tier_meta_info info = {
		.name = "photos", .policy = "heat", .state = TIER_STATE_LIVE, .logical_block_size = 512,
		.chunk_sectors = 2048, .nr_chunks = NR_CHUNKS, .length = NR_CHUNKS * 2048, .reserve = 2,
		.generation = 5, .next_generation = 5,
	};
	struct tier_meta_roots roots = {
		.mapping = MAP_ROOT, .heat = 9, .tiers = TIERS_ROOT, .tunables = 10,
	};

	memset(image, 0, sizeof(image));
	memset(info.uuid, 0xab, sizeof(info.uuid));
	tier_superblock_pack(image[0], &info, &roots);
	tier_superblock_seal(image[0], 0);
	make_tiers();
	make_map();
}

/* A block of a disk that cannot be read; -1: none. */
static off_t bad_block = -1;

ssize_t __real_pread(int fd, void *buf, size_t len, off_t offset);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t offset);

ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t offset)
{
	if (offset / BLOCK != bad_block)
		return __real_pread(fd, buf, len, offset);
	errno = EIO;
	return -1;
}

static int image_fd(void)
{
	int fd = memfd_create("metadata", 0);

	if (fd < 0 || pwrite(fd, image, sizeof(image), 0) != sizeof(image))
		exit(1);
	return fd;
}

static int count(void *context, u64 chunk, u64 entry)
{
	unsigned int *good = context;

	*good += entry == entry_of(chunk);
	return 0;
}

static int read_all(unsigned int *good)
{
	struct tier_meta_tier tiers[TIER_MAX_TIERS];
	struct tier_meta_roots roots;
	struct tier_meta_info info;
	const char *reason = NULL;
	unsigned int nr;
	int fd = image_fd();
	int r = md_read_superblock(fd, &info, &roots, &reason);

	*good = 0;
	if (!r)
		r = md_read_tiers(fd, &roots, tiers, &nr, &reason);
	if (!r && (nr != 2 || tiers[0].rank != 1 || tiers[1].id != 1))
		r = 1;
	if (!r)
		r = md_read_map(fd, &roots, info.nr_chunks, count, good, &reason);
	close(fd);
	if (r < 0 && !reason)
		r = 2;
	return r;
}

static void whole(void)
{
	unsigned int good;

	make_image();
	ok(!read_all(&good) && good == NR_CHUNKS, "whole metadata is read: %u entries", good);
}

static void bent(const char *what)
{
	unsigned int good;

	ok(read_all(&good) < 0, "refused: %s", what);
}

static void damaged(void)
{
	struct md_btree_node *n = (void *)image[MAP_ROOT];
	struct md_array_block *a = (void *)image[MAP_BLOCK + 1];

	make_image();
	put_number(MAP_ROOT, 0, 0, MAP_ROOT);
	seal(n, MD_BTREE_CSUM_XOR);
	bent("a node that is its own child");

	make_image();
	put_number(MAP_ROOT, 1, 1, MAP_LEAF);
	n->nr_entries = cpu_to_le32(2);
	seal(n, MD_BTREE_CSUM_XOR);
	bent("a leaf that is there twice");

	make_image();
	put_number(MAP_ROOT, 0, 0, UINT64_MAX);
	seal(n, MD_BTREE_CSUM_XOR);
	bent("an impossible block");

	make_image();
	put_number(MAP_ROOT, 0, 0, NR_BLOCKS);
	seal(n, MD_BTREE_CSUM_XOR);
	bent("a block past the end");

	make_image();
	n->max_entries = cpu_to_le32(UINT32_MAX);
	n->nr_entries = cpu_to_le32(UINT32_MAX);
	seal(n, MD_BTREE_CSUM_XOR);
	bent("more entries than fit");

	make_image();
	a->nr_entries = cpu_to_le32(7);
	seal(a, MD_ARRAY_CSUM_XOR);
	bent("a mapping that is too short");

	make_image();
	a->blocknr = cpu_to_le64(1);
	seal(a, MD_ARRAY_CSUM_XOR);
	bent("a block written for another place");
}

/* Whatever the bytes, reading ends and touches no memory outside. */
static void random_damage(void)
{
	unsigned int i, wrong = 0, good, seed = 1;

	for (i = 0; i < 3000; i++) {
		static const unsigned int at[] = { 0, TIERS_ROOT, MAP_ROOT, MAP_LEAF, MAP_BLOCK };
		static const u32 xor[] = { TIER_SUPERBLOCK_CSUM_XOR, MD_BTREE_CSUM_XOR, MD_BTREE_CSUM_XOR,
					   MD_BTREE_CSUM_XOR, MD_ARRAY_CSUM_XOR };
		unsigned int which = rand_r(&seed) % 5;
		u8 *block = image[at[which]];
		unsigned int byte = rand_r(&seed) % (rand_r(&seed) % 2 ? 64 : BLOCK);
		int r;

		make_image();
		block[byte] ^= 1 << rand_r(&seed) % 8;
		r = read_all(&good);
		wrong += r == 2 || r == 0;
		/* And with a correct checksum. */
		seal(block, xor[which]);
		r = read_all(&good);
		wrong += r == 2;
	}
	ok(!wrong, "3000 flipped bits are noticed");
}

static void judge(const char *what, enum member_kind kind, bool blank)
{
	struct member m = { 0 };
	int fd = image_fd();

	member_judge(fd, &m);
	ok(m.kind == kind && m.blank == blank && (m.kind != MEMBER_DAMAGED || m.reason), "%s", what);
	close(fd);
}

static void unprintable(const struct tier_label_info *label)
{
	struct device d = { .name = "image" };
	struct member m;
	char path[32];
	int fd;

	tier_label_pack(image[0], label);
	fd = image_fd();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	d.path = path;
	member_read(&d, &m);
	ok(m.kind == MEMBER_TIER && !strcmp(m.label.name, "a_[2Jb_\xc3\xa4"), "a label that wants to rule the terminal");
	member_free(&m);
	close(fd);
}

static void members(void)
{
	struct tier_label_info label = { .name = "photos", .size = 1 << 20, .places_at = 2048,
					 .chunk_sectors = 2048, .generation = 5 };
	int fd = memfd_create("short", 0);
	struct member m = { 0 };

	make_image();
	judge("metadata", MEMBER_METADATA, false);
	image[0][100] ^= 1;
	judge("damaged metadata", MEMBER_DAMAGED, false);
	memset(image, 0, sizeof(image));
	judge("blank", MEMBER_NONE, true);
	image[1][4095] = 1;
	judge("something behind", MEMBER_NONE, false);
	image[1][4095] = 0;
	tier_label_pack(image[1], &label);
	judge("a tier, by its second slot", MEMBER_TIER, false);
	label.generation = 6;
	tier_label_pack(image[0], &label);
	judge("a tier, by both", MEMBER_TIER, false);
	image[1][0] ^= 1;
	judge("a tier, by its first slot", MEMBER_TIER, false);
	image[0][0] ^= 1;
	judge("both slots damaged", MEMBER_DAMAGED, false);

	/* An unreadable slot may hold the label; beside a good label it does not matter. */
	tier_label_pack(image[0], &label);
	bad_block = 1;
	judge("a tier, and its second slot cannot be read", MEMBER_TIER, false);
	image[0][0] ^= 1;
	judge("a damaged slot, and the second cannot be read", MEMBER_UNREADABLE, false);
	memset(image, 0, sizeof(image));
	judge("blank, and the second slot cannot be read", MEMBER_UNREADABLE, false);
	make_image();
	judge("metadata, whose second block cannot be read", MEMBER_METADATA, false);
	memset(image, 0, sizeof(image));
	bad_block = 0;
	judge("blank, and the first slot cannot be read", MEMBER_UNREADABLE, false);
	bad_block = -1;

	strcpy(label.name, "a\x1b[2Jb\n\xc3\xa4");
	unprintable(&label);

	if (write(fd, "abc", 3) == 3) {
		member_judge(fd, &m);
		ok(m.kind == MEMBER_UNREADABLE, "too short to be anything");
	}
	if (!ftruncate(fd, BLOCK)) {
		member_judge(fd, &m);
		ok(m.kind == MEMBER_NONE, "a block and no more is nothing");
	}
	close(fd);
}

static void uuids(void)
{
	static const char hex[] = "0123456789abcdef0123456789abcdef";
	u8 uuid[TIER_UUID_SIZE];
	char buf[UUID_HEX];

	ok(uuid_from_text(hex, uuid) && !strcmp(uuid_to_hex(buf, uuid), hex), "32 digits");
	ok(uuid_from_text("TIER-0123456789ABCDEF0123456789abcdef-lv", uuid) &&
	   !strcmp(uuid_to_hex(buf, uuid), hex), "a dm UUID");
	ok(uuid_from_text("01234567-89ab-cdef-0123-456789abcdef", uuid) &&
	   !strcmp(uuid_to_hex(buf, uuid), hex), "with hyphens");
	ok(!uuid_from_text("0123456789abcdef0123456789abcde", uuid), "a digit short");
	ok(!uuid_from_text("0123456789abcdef0123456789abcdef0", uuid), "a digit too many");
	ok(!uuid_from_text("photos", uuid) && !uuid_from_text("", uuid), "names");
}

int main(void)
{
	whole();
	damaged();
	random_damage();
	members();
	uuids();
	return tap_done();
}
