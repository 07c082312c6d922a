// SPDX-License-Identifier: GPL-2.0-only
#include "format/leg.h"

#include <string.h>

#include "base/size.h"

/* The beginning of dm-raid's superblock, as the kernel's drivers/md/dm-raid.c writes it. */
#define RAID_MAGIC	0x64526d44U
struct raid_superblock {
	__le32 magic;
	__le32 compat_features;
	__le32 num_devices;
	__le32 array_position;
	__le64 events;
	__le64 failed_devices;
	__le64 disk_recovery_offset;
	__le64 array_resync_offset;
	__le32 level, layout, stripe_sectors;
	__le32 flags;
	__le64 reshape_position;
	__le32 new_level, new_layout, new_stripe_sectors;
	__le32 delta_disks;
	__le64 array_sectors;
};

static u32 checksum(const void *block)
{
	return tier_checksum((const u8 *)block + sizeof(__le32), SECTOR_SIZE - sizeof(__le32), LEG_CSUM_XOR);
}

void leg_pack(void *block, const struct leg_info *info)
{
	struct leg_header *h = block;

	memset(block, 0, LEG_HEADER_SIZE);
	h->version = cpu_to_le32(TIER_FORMAT_VERSION);
	h->magic = cpu_to_le64(LEG_MAGIC);
	memcpy(h->set_uuid, info->set_uuid, sizeof(h->set_uuid));
	memcpy(h->tier_uuid, info->tier_uuid, sizeof(h->tier_uuid));
	h->index = cpu_to_le32(info->index);
	h->nr = cpu_to_le32(info->nr);
	h->flags = cpu_to_le32(info->flags);
	h->generation = cpu_to_le64(info->generation);
	h->size = cpu_to_le64(info->size);
	h->used = cpu_to_le64(info->used);
	h->tag = cpu_to_le64(info->tag);
	h->csum = cpu_to_le32(checksum(block));
}

bool leg_unpack(const void *block, struct leg_info *info)
{
	const struct leg_header *h = block;

	if (le64_to_cpu(h->magic) != LEG_MAGIC || le32_to_cpu(h->csum) != checksum(block) ||
	    le32_to_cpu(h->version) != TIER_FORMAT_VERSION)
		return false;
	memcpy(info->set_uuid, h->set_uuid, sizeof(info->set_uuid));
	memcpy(info->tier_uuid, h->tier_uuid, sizeof(info->tier_uuid));
	info->index = le32_to_cpu(h->index);
	info->nr = le32_to_cpu(h->nr);
	info->flags = le32_to_cpu(h->flags);
	info->generation = le64_to_cpu(h->generation);
	info->size = le64_to_cpu(h->size);
	info->used = le64_to_cpu(h->used);
	info->tag = le64_to_cpu(h->tag);
	return info->nr && info->nr <= LEGS_MAX && info->index < info->nr && info->size &&
	       info->size % TIER_METADATA_BLOCK_SECTORS == 0;
}

bool leg_raid_unpack(const void *block, struct leg_raid *raid)
{
	const struct raid_superblock *sb = block;

	if (le32_to_cpu(sb->magic) != RAID_MAGIC)
		return false;
	raid->events = le64_to_cpu(sb->events);
	raid->failed = le64_to_cpu(sb->failed_devices);
	raid->whole = le64_to_cpu(sb->disk_recovery_offset) == UINT64_MAX;
	raid->size = le64_to_cpu(sb->array_sectors);
	return true;
}
