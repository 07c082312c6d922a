// SPDX-License-Identifier: GPL-2.0-only
#include "member.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <linux/raid/md_p.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "size.h"
#include "util.h"

/* The superblock or both slots of a label. */
#define HEAD	(TIER_LABEL_SLOTS * TIER_LABEL_SLOT_SIZE)

const char *uuid_to_hex(char buf[UUID_HEX], const u8 *uuid)
{
	static const char digit[] = "0123456789abcdef";
	unsigned int i;

	for (i = 0; i < TIER_UUID_SIZE; i++) {
		buf[2 * i] = digit[uuid[i] >> 4];
		buf[2 * i + 1] = digit[uuid[i] & 15];
	}
	buf[2 * TIER_UUID_SIZE] = '\0';
	return buf;
}

bool uuid_from_text(const char *s, u8 uuid[TIER_UUID_SIZE])
{
	unsigned int digits = 0;

	if (!strncmp(s, "TIER-", 5))
		s += 5;
	for (; *s && digits < 2 * TIER_UUID_SIZE; s++) {
		int c = tolower((unsigned char)*s);
		unsigned int value;

		if (c == '-' && digits)
			continue;
		if (!isxdigit(c))
			return false;
		value = isdigit(c) ? c - '0' : c - 'a' + 10;
		if (digits % 2)
			uuid[digits / 2] |= value;
		else
			uuid[digits / 2] = value << 4;
		digits++;
	}
	return digits == 2 * TIER_UUID_SIZE && (!*s || !strcmp(s, "-lv"));
}

static void judge_superblock(struct member *m, const void *block)
{
	int r = tier_superblock_unpack(block, &m->meta, &m->reason);

	if (!r) {
		m->kind = MEMBER_METADATA;
		tier_superblock_unpack_roots(block, &m->roots);
	} else {
		m->kind = MEMBER_DAMAGED;
	}
}

static bool has_magic(const u8 *p, size_t offset, u64 magic)
{
	__le64 found;

	memcpy(&found, p + offset, sizeof(found));
	return le64_to_cpu(found) == magic;
}

static bool label_magic(const u8 *slot)
{
	return slot && has_magic(slot, offsetof(struct tier_label, magic), TIER_LABEL_MAGIC);
}

void member_judge(int fd, struct member *m)
{
	u8 *head = block_buffer(HEAD), *slot[TIER_LABEL_SLOTS];
	unsigned int i;
	int r;

	m->kind = MEMBER_NONE;
	m->blank = false;
	m->reason = NULL;
	for (i = 0; i < TIER_LABEL_SLOTS; i++) {
		slot[i] = head + i * TIER_LABEL_SLOT_SIZE;
		if (read_blocks(fd, i * TIER_LABEL_SLOT_SIZE, slot[i], TIER_LABEL_SLOT_SIZE))
			slot[i] = NULL;
	}

	if (slot[0] && has_magic(slot[0], offsetof(struct tier_superblock, magic), TIER_SUPERBLOCK_MAGIC)) {
		judge_superblock(m, slot[0]);
	} else if (label_magic(slot[0]) || label_magic(slot[1])) {
		r = tier_label_choose(slot[0], slot[1], &m->label, &m->reason);
		m->kind = !r ? MEMBER_TIER : r == -EIO ? MEMBER_UNREADABLE : MEMBER_DAMAGED;
	} else if (!slot[0] || (!slot[1] && lseek(fd, 0, SEEK_END) >= HEAD)) {
		/* What cannot be read may be the label. */
		m->kind = MEMBER_UNREADABLE;
		m->reason = "cannot be read";
	} else {
		/* A device of one slot's size is too small to be anything. */
		m->blank = tier_all_zero(slot[0], TIER_LABEL_SLOT_SIZE) &&
			   (!slot[1] || tier_all_zero(slot[1], TIER_LABEL_SLOT_SIZE));
	}
	free(head);
}

void member_read(const struct device *dev, struct member *m)
{
	int fd;

	memset(m, 0, sizeof(*m));
	device_copy(&m->dev, dev);
	fd = device_open(dev, O_RDONLY);
	if (fd < 0) {
		m->kind = MEMBER_UNREADABLE;
		m->reason = "cannot be opened";
		return;
	}
	member_judge(fd, m);
	/* Of what is damaged it need not even end. */
	if (m->kind == MEMBER_METADATA)
		make_printable(m->meta.name);
	if (m->kind == MEMBER_TIER)
		make_printable(m->label.name);
	close(fd);
}

void member_free(struct member *m)
{
	device_free(&m->dev);
}

const u8 *member_set_uuid(const struct member *m)
{
	return m->kind == MEMBER_METADATA ? m->meta.uuid : m->label.set_uuid;
}

/* "LVM-", and the UUIDs of the volume group and of the volume without their hyphens */
#define VOLUME_UUID_LEN	(4 + 32 + 32)

/*
 * A leg of a mirror and its like carry what the volume above them carries, and are there
 * before it.  LVM adds to the UUID of most of them; names like those of the others it lets
 * nobody use.
 */
static bool is_part_of_volume(dev_t dev, const char *uuid)
{
	static const char *const reserved[] = {
		"/pvmove", "_cdata", "_corig", "_cvol", "_iorig", "_mimage", "_rimage", "_tdata", "_vdata",
		"_vorigin", "_wcorig",
	};
	char *dm_name, *name;
	unsigned int i;
	bool part;

	if (!uuid || strncmp(uuid, "LVM-", 4))
		return false;
	dm_name = device_attribute(dev, "dm/name");
	name = dm_name ? lv_name_from_dm(dm_name) : NULL;
	part = strlen(uuid) > VOLUME_UUID_LEN;
	for (i = 0; name && i < sizeof(reserved) / sizeof(*reserved); i++)
		part |= strstr(strchr(name, '/'), reserved[i]) != NULL;
	free(name);
	free(dm_name);
	return part;
}

/* Devices that are never members or must not be read. */
static bool worth_reading(dev_t dev)
{
	char *uuid = device_attribute(dev, "dm/uuid");
	char *suspended = device_attribute(dev, "dm/suspended");
	bool worth = true;

	/* A suspended device would make us wait; a set is no member of a set. */
	if (suspended && !strcmp(suspended, "1"))
		worth = false;
	if (uuid && !strncmp(uuid, "TIER-", 5))
		worth = false;
	if (is_part_of_volume(dev, uuid))
		worth = false;
	/* Floppy and CD-ROM drives spin up, or hang, for nothing. */
	if (major(dev) == 2 || major(dev) == 11)
		worth = false;
	free(suspended);
	free(uuid);
	return worth;
}

/*
 * A leg of an array that keeps its superblock at the end begins with what the array
 * begins with.  It must not be taken for it while the array is not put together.
 */
static bool has_old_superblock(int fd, uint64_t size, void *block)
{
	const mdp_super_t *sb = block;

	return !read_blocks(fd, MD_NEW_SIZE_SECTORS(size / SECTOR_SIZE) * SECTOR_SIZE, block, MD_SB_BYTES) &&
	       sb->md_magic == MD_SB_MAGIC && sb->major_version == 0 && sb->minor_version >= 90;
}

static bool has_superblock(int fd, uint64_t size, void *block)
{
	uint64_t at = (size - 8192) & ~4095ULL;
	const struct mdp_superblock_1 *sb = block;

	return !read_blocks(fd, at, block, MD_SB_BYTES) && le32toh(sb->magic) == MD_SB_MAGIC &&
	       le32toh(sb->major_version) == 1 && le64toh(sb->super_offset) == at / SECTOR_SIZE;
}

static bool is_leg(const struct device *d)
{
	void *block = block_buffer(MD_SB_BYTES);
	int fd = device_open(d, O_RDONLY);
	bool leg = false;

	if (fd >= 0 && d->size > 2 * MD_RESERVED_BYTES)
		leg = has_old_superblock(fd, d->size, block) || has_superblock(fd, d->size, block);
	if (fd >= 0)
		close(fd);
	free(block);
	return leg;
}

struct scan {
	struct member_list *list;
	bool all;
};

static int scan_device(void *context, dev_t dev)
{
	struct scan *scan = context;
	struct member_list *list = scan->list;
	struct device d;
	struct member m;

	if (!worth_reading(dev) || device_from_number(dev, &d))
		return 0;
	member_read(&d, &m);
	if ((m.kind == MEMBER_METADATA || m.kind == MEMBER_TIER) && is_leg(&d))
		m.kind = MEMBER_NONE;
	device_free(&d);
	if (!scan->all && (m.kind == MEMBER_NONE || m.kind == MEMBER_UNREADABLE)) {
		member_free(&m);
		return 0;
	}
	list->member = xrealloc(list->member, list->nr + 1, sizeof(*list->member));
	list->member[list->nr++] = m;
	return 0;
}

static bool same_member(const struct member *a, const struct member *b)
{
	if (a->kind != b->kind || memcmp(member_set_uuid(a), member_set_uuid(b), TIER_UUID_SIZE))
		return false;
	return a->kind == MEMBER_METADATA ||
	       !memcmp(a->label.tier_uuid, b->label.tier_uuid, TIER_UUID_SIZE);
}

struct same_above {
	const struct member_list *list;
	const struct member *m;
};

static int is_same(void *context, dev_t holder)
{
	struct same_above *s = context;
	unsigned int i;

	for (i = 0; i < s->list->nr; i++)
		if (s->list->member[i].dev.dev == holder && same_member(s->m, &s->list->member[i]))
			return 1;
	return device_for_each_holder(holder, is_same, s);
}

static bool shown_above(const struct member_list *list, const struct member *m)
{
	struct same_above s = { .list = list, .m = m };

	if (m->kind != MEMBER_METADATA && m->kind != MEMBER_TIER)
		return false;
	return device_for_each_holder(m->dev.dev, is_same, &s);
}

static int by_device(const void *a, const void *b)
{
	dev_t x = ((const struct member *)a)->dev.dev, y = ((const struct member *)b)->dev.dev;

	return x < y ? -1 : x > y;
}

void members_scan(struct member_list *list, bool all)
{
	struct scan scan = { .list = list, .all = all };
	unsigned int i, kept = 0;
	bool *above;

	memset(list, 0, sizeof(*list));
	devices_for_each(scan_device, &scan);
	if (!list->nr)
		return;

	qsort(list->member, list->nr, sizeof(*list->member), by_device);
	above = xcalloc(list->nr, sizeof(*above));
	for (i = 0; i < list->nr; i++)
		above[i] = shown_above(list, &list->member[i]);
	for (i = 0; i < list->nr; i++) {
		if (above[i])
			member_free(&list->member[i]);
		else
			list->member[kept++] = list->member[i];
	}
	list->nr = kept;
	free(above);
}

void members_free(struct member_list *list)
{
	while (list->nr)
		member_free(&list->member[--list->nr]);
	free(list->member);
	list->member = NULL;
}
