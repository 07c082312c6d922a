// SPDX-License-Identifier: GPL-2.0-only
#include "set/evidence.h"

#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "block/signature.h"
#include "format/metadata.h"

#define BLOCK		4096U
/* A partition table, a superblock or zeroes written by mistake end before this byte. */
#define SLIP_BYTES	(64ULL << 10)
/* The part of the set's beginning that libblkid examines. */
#define HEAD_BYTES	(1ULL << 20)
#define PIECE_BYTES	(1ULL << 20)
#define SAMPLES		64
#define SAMPLE_BYTES	(64ULL << 10)
/* A backup GPT: its entries, and its header in the last block. */
#define GPT_ENTRIES	(16ULL << 10)
#define COPIES		64

/* The set as its mapping describes it, with the device as the missing tier. */
struct view {
	const struct set *s;
	unsigned int rank;
	const struct device *dev;
	int fd[TIER_MAX_TIERS];		/* -1: missing */
	u64 *map;			/* an entry for each chunk */
	uint64_t chunk_bytes;
	uint64_t chunks;		/* chunks on the tier */
	void *block;			/* buffer of one block */
	bool identified;		/* some data on the device can only be this tier's */
	bool other;			/* some data on the device may belong to something else */
	struct evidence *e;
};

__attribute__((format(printf, 3, 4)))
static void note(struct view *v, bool against, const char *fmt, ...)
{
	struct evidence *e = v->e;
	va_list ap;

	e->item = xrealloc(e->item, e->nr + 1, sizeof(*e->item));
	e->item[e->nr].against = against;
	va_start(ap, fmt);
	e->item[e->nr++].text = xvasprintf(fmt, ap);
	va_end(ap);
}

static void doubt(struct view *v, const char *why)
{
	if (!v->e->doubt)
		v->e->doubt = why;
}

static bool lies_here(const struct view *v, u64 entry)
{
	return (entry & TIER_ENTRY_MAPPED) && set_rank_of(v->s, entry) == (int)v->rank;
}

static uint64_t place_of(const struct view *v, u64 entry)
{
	return (entry & TIER_ENTRY_PLACE_MASK) * v->chunk_bytes;
}

static u64 entry_at(const struct view *v, uint64_t at)
{
	return at / v->chunk_bytes < v->s->info.nr_chunks ? v->map[at / v->chunk_bytes] : 0;
}

/* A block of the set; zeroes if its tier cannot be read. */
static const u8 *block_at(struct view *v, uint64_t at)
{
	u64 entry = entry_at(v, at);
	int rank = entry & TIER_ENTRY_MAPPED ? set_rank_of(v->s, entry) : -1;

	if (rank < 0 || v->fd[rank] < 0 ||
	    read_blocks(v->fd[rank], place_of(v, entry) + at % v->chunk_bytes, v->block, BLOCK))
		memset(v->block, 0, BLOCK);
	return v->block;
}

static int note_entry(void *context, u64 chunk, u64 entry)
{
	struct view *v = context;

	v->map[chunk] = entry;
	v->chunks += lies_here(v, entry);
	return 0;
}

static bool open_view(struct view *v)
{
	const struct set *s = v->s;
	const char *reason = "cannot be opened";
	const struct device *d;
	int fd = set_open_metadata(s, &d), r = fd;
	unsigned int i;

	v->block = block_buffer(BLOCK);
	v->map = xcalloc(s->info.nr_chunks, sizeof(*v->map));
	for (i = 0; i < s->nr_tiers; i++)
		v->fd[i] = i == v->rank ? device_open(v->dev, O_RDONLY) :
			   s->tier[i].present ? device_open(&s->tier[i].dev, O_RDONLY) : -1;
	if (fd >= 0) {
		r = md_read_map(fd, &s->roots, s->info.nr_chunks, note_entry, v, &reason);
		close(fd);
	}
	if (r)
		err(v->s->ctx, ERR_DAMAGED, "%s: %s: %s.", s->name, d ? d->name : "metadata", reason);
	else if (v->fd[v->rank] < 0)
		err(v->s->ctx, error_from(-v->fd[v->rank]), "%s: cannot be opened: %s.", v->dev->name,
		    strerror(-v->fd[v->rank]));
	return !r && v->fd[v->rank] >= 0;
}

static void close_view(struct view *v)
{
	unsigned int i;

	for (i = 0; i < v->s->nr_tiers; i++)
		if (v->fd[i] >= 0)
			close(v->fd[i]);
	free(v->map);
	free(v->block);
}

static void look_at_size(struct view *v)
{
	uint64_t size = v->s->tier[v->rank].size;
	char a[SIZE_TEXT], b[SIZE_TEXT];

	v->other = v->dev->size != size;
	if (!v->other)
		note(v, false, "its size is the tier's: %llu sectors", (unsigned long long)(size / SECTOR_SIZE));
	else
		note(v, true, "it has %s, the tier had %s", format_size(a, v->dev->size), format_size(b, size));
}

static void look_at_name(struct view *v)
{
	const struct set *s = v->s;
	const char *name = strrchr(v->dev->path, '/') + 1, *seen = s->tier[v->rank].last_seen;
	unsigned int i;

	if (!strcmp(name, seen))
		note(v, false, "the tier was seen last as /dev/%s", seen);
	else if (*seen)
		note(v, true, "the tier was seen last as /dev/%s", seen);
	for (i = 0; i < s->nr_tiers; i++) {
		const struct set_tier *other = &s->tier[i];

		if (i == v->rank || other->present || strcmp(name, other->last_seen))
			continue;
		note(v, true, "tier %u, which is missing, too, was seen last as /dev/%s", i, name);
		if (v->dev->size == other->size && strcmp(name, seen))
			doubt(v, "it has the size and the last name of another tier that is missing");
	}
}

/* The end of the last non-zero byte of the label area; its whole length if it cannot be read. */
static uint64_t area_used(const struct view *v, uint64_t area)
{
	u8 *piece = block_buffer(PIECE_BYTES);
	uint64_t at, used = 0;
	size_t i;

	for (at = 0; at < area; at += PIECE_BYTES) {
		if (read_blocks(v->fd[v->rank], at, piece, PIECE_BYTES)) {
			used = area;
			break;
		}
		for (i = PIECE_BYTES; i; i -= SECTOR_SIZE)
			if (!tier_all_zero(piece + i - SECTOR_SIZE, SECTOR_SIZE)) {
				used = at + i;
				break;
			}
	}
	free(piece);
	return used;
}

/* A new partition table leaves the boot code, and with it the first 440 bytes of the label. */
static bool label_names_it(struct view *v)
{
	const struct tier_label *label = v->block;
	bool names = false;
	unsigned int i;

	for (i = 0; !names && i < TIER_LABEL_SLOTS; i++)
		names = !read_blocks(v->fd[v->rank], i * TIER_LABEL_SLOT_SIZE, v->block, BLOCK) &&
			!memcmp(label->set_uuid, v->s->uuid, sizeof(label->set_uuid)) &&
			!memcmp(label->tier_uuid, v->s->tier[v->rank].uuid, sizeof(label->tier_uuid));
	return names;
}

/* While the device was a tier, the area was zero except for the label. */
static void look_at_label_area(struct view *v)
{
	uint64_t area = tier_label_area(v->s->chunk_sectors) * SECTOR_SIZE, used = area_used(v, area);
	char *carries, *data = signatures_data(v->dev->path, area);
	char size[SIZE_TEXT];
	int error;

	format_size(size, area);
	if (!used)
		note(v, false, "its label area of %s is all zeroes", size);
	else
		note(v, used > SLIP_BYTES, "its label area of %s is zeroes behind byte %llu", size,
		     (unsigned long long)used);
	v->identified = label_names_it(v);
	if (v->identified)
		note(v, false, "what is left of its label names this tier");
	carries = signatures_within(v->dev->path, area, &error);
	if (carries)
		note(v, true, "it carries %s there", carries);
	v->other |= carries != NULL;
	if (data)
		doubt(v, "a file system or encrypted data has been made on it, which took more than the label");
	else if (used > SLIP_BYTES)
		doubt(v, "more than the label was overwritten, or it never was a tier");
	free(carries);
	free(data);
}

/* Notes which chunk had data at the end of the device from that byte on. */
static void note_end(struct view *v, uint64_t from)
{
	uint64_t chunk, start, first, nr = 0;

	for (chunk = 0; chunk < v->s->info.nr_chunks; chunk++) {
		if (!lies_here(v, v->map[chunk]))
			continue;
		start = place_of(v, v->map[chunk]);
		if (start + v->chunk_bytes <= from)
			continue;
		first = from > start ? from - start : 0;
		note(v, true, "which overwrote %llu bytes of the set from byte %llu on (chunk %llu), if it was not stored in the set",
		     (unsigned long long)(v->chunk_bytes - first),
		     (unsigned long long)(chunk * v->chunk_bytes + first), (unsigned long long)chunk);
		nr++;
	}
	if (!nr)
		note(v, false, "no chunk lies there");
}

/* A backup GPT, or a RAID superblock at the end: a tier has chunks there. */
static void look_at_end(struct view *v)
{
	uint64_t area = tier_label_area(v->s->chunk_sectors) * SECTOR_SIZE, at;
	uint64_t last = v->dev->size - PIECE_BYTES;
	int error;
	char *carries = signatures_beyond(v->dev->path, last > area ? last : area, &at, &error);

	if (!carries)
		return;
	if (!strncmp(carries, "gpt ", 4))
		at -= GPT_ENTRIES;
	note(v, true, "it carries %s in its last %llu sectors", carries,
	     (unsigned long long)((v->dev->size - at) / SECTOR_SIZE));
	note_end(v, at);
	free(carries);
}

/* The contents that libblkid finds at the beginning of the set; NULL for none. */
static char *set_carries(struct view *v)
{
	uint64_t at, length = v->s->length * SECTOR_SIZE;
	int fd = memfd_create("set", MFD_CLOEXEC), r = fd < 0 ? -1 : ftruncate(fd, length), error;
	char *path, *found = NULL;

	for (at = 0; !r && at < HEAD_BYTES && at + BLOCK <= length; at += BLOCK)
		r = write_fully(fd, at, block_at(v, at), BLOCK);
	if (!r) {
		path = xasprintf("/proc/self/fd/%d", fd);
		found = signatures_find(path, &error);
		free(path);
	}
	if (fd >= 0)
		close(fd);
	return found;
}

static void look_at_beginning(struct view *v)
{
	char *with = set_carries(v), *without;
	int fd = v->fd[v->rank];

	v->fd[v->rank] = -1;
	without = set_carries(v);
	v->fd[v->rank] = fd;
	if (with && strcmp(with, without ?: ""))
		note(v, false, "with it, the set carries %s", with);
	else if (!with && lies_here(v, v->map[0]))
		note(v, true, "the set begins on it, and nothing that is known is there");
	free(with);
	free(without);
}

/* The places of a file system's copies of its superblock, and how to recognise a copy. */
struct copies {
	const char *fs;
	unsigned int magic_at, magic_len, uuid_at;
	u8 magic[8], uuid[16];
	unsigned int nr;
	uint64_t at[COPIES];
};

static uint64_t le32_at(const u8 *p, size_t at)
{
	uint32_t n;

	memcpy(&n, p + at, sizeof(n));
	return le32toh(n);
}

static uint64_t be32_at(const u8 *p, size_t at)
{
	uint32_t n;

	memcpy(&n, p + at, sizeof(n));
	return be32toh(n);
}

static bool known_by(struct copies *c, const u8 *super, const char *fs, const char *magic, unsigned int magic_at,
		     unsigned int uuid_at)
{
	*c = (struct copies){ .fs = fs, .magic_len = strlen(magic), .magic_at = magic_at, .uuid_at = uuid_at };
	memcpy(c->magic, magic, c->magic_len);
	memcpy(c->uuid, super + uuid_at, sizeof(c->uuid));
	return !memcmp(super + magic_at, magic, c->magic_len);
}

static void add_copy(struct copies *c, uint64_t at)
{
	if (c->nr < COPIES)
		c->at[c->nr++] = at;
}

/* Groups 1 and the powers of 3, 5 and 7, or the two groups that the superblock names. */
static void ext_copies(struct copies *c, const u8 *super)
{
	static const unsigned int base[] = { 3, 5, 7 };
	uint64_t block = 1024ULL << (le32_at(super, 24) & 15), first = le32_at(super, 20);
	uint64_t group = le32_at(super, 32) * block, power;
	uint64_t groups = group ? le32_at(super, 4) * block / group + 1 : 0;
	unsigned int i;

	if (!group)
		return;
	if (le32_at(super, 92) & 0x200) {
		for (i = 0; i < 2; i++)
			if (le32_at(super, 588 + 4 * i))
				add_copy(c, first * block + le32_at(super, 588 + 4 * i) * group);
		return;
	}
	add_copy(c, first * block + group);
	for (i = 0; i < sizeof(base) / sizeof(*base); i++)
		for (power = base[i]; power < groups; power *= base[i])
			add_copy(c, first * block + power * group);
}

static void xfs_copies(struct copies *c, const u8 *super)
{
	uint64_t size = be32_at(super, 4) * be32_at(super, 84), i;

	for (i = 1; i < be32_at(super, 88) && c->nr < COPIES; i++)
		add_copy(c, i * size);
}

/* False if the set carries no file system that has copies. */
static bool find_copies(struct view *v, struct copies *c)
{
	const u8 *block = block_at(v, 0);

	if (known_by(c, block + 1024, "ext2, ext3 or ext4", "\x53\xef", 56, 104)) {
		ext_copies(c, block + 1024);
		return true;
	}
	if (known_by(c, block, "xfs", "XFSB", 0, 32)) {
		xfs_copies(c, block);
		return true;
	}
	if (known_by(c, block_at(v, 64ULL << 10), "btrfs", "_BHRfS_M", 64, 32)) {
		add_copy(c, 64ULL << 20);
		add_copy(c, 256ULL << 30);
		return true;
	}
	return false;
}

/* The number of copies that are in their place. */
static unsigned int look_at_copies(struct view *v)
{
	unsigned int i, good = 0, bad = 0;
	struct copies c;

	if (!find_copies(v, &c))
		return 0;
	for (i = 0; i < c.nr; i++) {
		const u8 *copy;

		if (!lies_here(v, entry_at(v, c.at[i])))
			continue;
		copy = block_at(v, c.at[i] - c.at[i] % BLOCK) + c.at[i] % BLOCK;
		if (!memcmp(copy + c.magic_at, c.magic, c.magic_len) &&
		    !memcmp(copy + c.uuid_at, c.uuid, sizeof(c.uuid)))
			good++;
		else
			bad++;
	}
	if (good) {
		v->identified = true;
		note(v, false, "copies of the superblock of %s that are where they should be: %u", c.fs, good);
	}
	if (bad)
		note(v, true, "copies of the superblock of %s that are not where they should be: %u", c.fs, bad);
	if (bad && !good)
		doubt(v, "the file system that the set carries is not on it");
	return good;
}

/* A written chunk seldom has only zeroes, except in a log or an image that was made of zeroes. */
static void look_at_chunks(struct view *v, bool known)
{
	uint64_t step = v->chunks / SAMPLES + 1, seen = 0, chunk;
	unsigned int sampled = 0, zero = 0, unreadable = 0;
	u8 *data = block_buffer(SAMPLE_BYTES);

	for (chunk = 0; chunk < v->s->info.nr_chunks; chunk++) {
		if (!lies_here(v, v->map[chunk]) || seen++ % step)
			continue;
		sampled++;
		if (read_blocks(v->fd[v->rank], place_of(v, v->map[chunk]), data, SAMPLE_BYTES))
			unreadable++;
		else
			zero += tier_all_zero(data, SAMPLE_BYTES);
	}
	free(data);
	if (unreadable)
		note(v, true, "of %u chunks %u cannot be read", sampled, unreadable);
	note(v, zero == sampled, "of %u chunks that should hold data %u do", sampled, sampled - zero - unreadable);
	if (zero == sampled && !known)
		doubt(v, "there is nothing on it");
}

bool evidence_gather(struct evidence *e, const struct set *s, unsigned int rank, const struct device *d)
{
	struct view v = {
		.s = s,
		.rank = rank,
		.dev = d,
		.chunk_bytes = s->chunk_sectors * SECTOR_SIZE,
		.e = e,
	};
	bool good = open_view(&v);

	memset(e, 0, sizeof(*e));
	if (good) {
		look_at_size(&v);
		look_at_name(&v);
		look_at_label_area(&v);
		look_at_end(&v);
		if (v.chunks) {
			look_at_beginning(&v);
			look_at_chunks(&v, look_at_copies(&v));
		} else {
			note(&v, false, "no chunk lies on it, so there is nothing to lose or to compare");
		}
		if (v.other && !v.identified)
			doubt(&v, "nothing on it tells that it is the tier, and it may be somebody else's");
	}
	close_view(&v);
	return good;
}

void evidence_free(struct evidence *e)
{
	while (e->nr)
		free(e->item[--e->nr].text);
	free(e->item);
	e->item = NULL;
}
