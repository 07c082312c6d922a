// SPDX-License-Identifier: GPL-2.0-only
#include "set/member.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"

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
		m->is_whole = r == -EINVAL;
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

/*
 * A program that writes a new first sector, such as mkswap, may leave a label in the second
 * slot.
 */
static bool slot_is_foreign(const u8 *slot)
{
	if (!slot)
		return false;
	return (!label_magic(slot) && !tier_all_zero(slot, sizeof(struct tier_label))) ||
	       !tier_all_zero(slot + sizeof(struct tier_label), TIER_LABEL_SLOT_SIZE - sizeof(struct tier_label));
}

void member_judge(int fd, struct member *m)
{
	u8 *head = block_buffer(MEMBER_HEAD), *slot[TIER_LABEL_SLOTS];
	unsigned int i;
	int r;

	m->kind = MEMBER_NONE;
	m->blank = false;
	m->is_label = m->is_whole = m->foreign = false;
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
		m->is_label = m->kind == MEMBER_DAMAGED;
		m->is_whole = r == -EINVAL;
		m->foreign = m->kind == MEMBER_TIER && (slot_is_foreign(slot[0]) || slot_is_foreign(slot[1]));
	} else if (!slot[0] || (!slot[1] && lseek(fd, 0, SEEK_END) >= MEMBER_HEAD)) {
		/* An unreadable block may be the label. */
		m->kind = MEMBER_UNREADABLE;
		m->reason = "cannot be read";
	} else {
		/* A device smaller than both slots cannot be a member. */
		m->blank = tier_all_zero(slot[0], TIER_LABEL_SLOT_SIZE) &&
			   (!slot[1] || tier_all_zero(slot[1], TIER_LABEL_SLOT_SIZE));
	}
	free(head);
}

/* The leg of a tier that lies behind its label area; the metadata in it may be damaged. */
static void look_at_leg(int fd, struct member *m)
{
	uint64_t room = tier_label_area(m->label.chunk_sectors);
	void *block = block_buffer(LEG_HEADER_SIZE);
	struct member_leg *leg = &m->leg;
	const char *reason;

	if (m->label.places_at >= room + LEG_DATA_AT &&
	    !read_blocks(fd, room * SECTOR_SIZE, block, LEG_HEADER_SIZE) && leg_unpack(block, &leg->info))
		leg->there = !memcmp(leg->info.set_uuid, m->label.set_uuid, TIER_UUID_SIZE) &&
			     !memcmp(leg->info.tier_uuid, m->label.tier_uuid, TIER_UUID_SIZE) &&
			     leg->info.size <= m->label.places_at - room - LEG_DATA_AT;
	if (leg->there && !read_blocks(fd, (room + LEG_RAID_AT) * SECTOR_SIZE, block, LEG_HEADER_SIZE))
		leg->in_raid = leg_raid_unpack(block, &leg->raid);
	if (leg->there && !read_blocks(fd, (room + LEG_DATA_AT) * SECTOR_SIZE, block, TIER_METADATA_BLOCK_SIZE))
		leg->readable = !tier_superblock_unpack(block, &leg->meta, &reason);
	if (leg->readable) {
		tier_superblock_unpack_roots(block, &leg->roots);
		make_printable(leg->meta.name);
	}
	free(block);
}

void member_look(const struct device *dev, struct member *m)
{
	int fd = device_open(dev, O_RDONLY);

	if (fd < 0) {
		m->kind = MEMBER_UNREADABLE;
		m->reason = "cannot be opened";
		return;
	}
	member_judge(fd, m);
	/* The name in a damaged label may lack its terminating NUL. */
	if (m->kind == MEMBER_METADATA)
		make_printable(m->meta.name);
	if (m->kind == MEMBER_TIER) {
		make_printable(m->label.name);
		look_at_leg(fd, m);
	}
	close(fd);
}

void member_read(const struct device *dev, struct member *m)
{
	memset(m, 0, sizeof(*m));
	device_copy(&m->dev, dev);
	member_look(dev, m);
}

int member_find_label(int fd, const u8 *set_uuid, struct tier_label_info *label)
{
	u8 *slot = block_buffer(TIER_LABEL_SLOT_SIZE);
	unsigned int i;
	int found = 0;

	for (i = 0; i < TIER_LABEL_SLOTS && found >= 0; i++) {
		struct tier_label_info one;
		const char *reason;

		if (read_blocks(fd, i * TIER_LABEL_SLOT_SIZE, slot, TIER_LABEL_SLOT_SIZE)) {
			found = -EIO;
		} else if (!tier_label_choose(slot, slot, &one, &reason) &&
			   !memcmp(one.set_uuid, set_uuid, TIER_UUID_SIZE) &&
			   (!found || one.generation > label->generation)) {
			*label = one;
			label->slot = i;
			found = 1;
		}
	}
	free(slot);
	return found;
}

void member_free(struct member *m)
{
	device_free(&m->dev);
	free(m->hidden);
	m->hidden = NULL;
}

const u8 *member_set_uuid(const struct member *m)
{
	return m->kind == MEMBER_METADATA ? m->meta.uuid : m->label.set_uuid;
}
