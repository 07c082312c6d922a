// SPDX-License-Identifier: GPL-2.0-only
#include "label.h"

#include <linux/slab.h>

#include "blockio.h"

static sector_t slot_sector(unsigned int slot)
{
	return slot * (TIER_LABEL_SLOT_SIZE >> SECTOR_SHIFT);
}

int tier_label_read(struct block_device *bdev, struct tier_label_info *info, const char **reason)
{
	void *buffer, *slots[TIER_LABEL_SLOTS];
	unsigned int i;
	int r;

	if (bdev_logical_block_size(bdev) > TIER_LABEL_SLOT_SIZE)
		return tier_refuse(reason, -EINVAL, "has a logical block size above 4096");
	if (bdev_nr_sectors(bdev) < slot_sector(TIER_LABEL_SLOTS))
		return tier_refuse(reason, -EINVAL, "is too small to hold a label");

	/* A power of two from kmalloc is aligned to itself. */
	buffer = kmalloc(TIER_LABEL_SLOTS * TIER_LABEL_SLOT_SIZE, GFP_NOIO);
	if (!buffer)
		return tier_refuse(reason, -ENOMEM, "no memory to read the label");

	for (i = 0; i < TIER_LABEL_SLOTS; i++) {
		slots[i] = buffer + i * TIER_LABEL_SLOT_SIZE;
		if (tier_blockio(bdev, REQ_OP_READ, slot_sector(i), slots[i]))
			slots[i] = NULL;
	}
	r = tier_label_choose(slots[0], slots[1], info, reason);
	kfree(buffer);
	return r;
}

int tier_label_write(struct block_device *bdev, const struct tier_label_info *info)
{
	void *slot = kmalloc(TIER_LABEL_SLOT_SIZE, GFP_NOIO);
	int r;

	if (!slot)
		return -ENOMEM;
	tier_label_pack(slot, info);
	r = tier_blockio(bdev, REQ_OP_WRITE, slot_sector(info->slot), slot) ? :
	    blkdev_issue_flush(bdev);
	kfree(slot);
	return r;
}

int tier_label_wipe_area(struct block_device *bdev, u64 sectors)
{
	return blkdev_issue_zeroout(bdev, 0, sectors, GFP_NOIO, 0) ? : blkdev_issue_flush(bdev);
}
