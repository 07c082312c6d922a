/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A leg of a set's metadata in the room of a tier, which lies between the label area and the
 * places. The kernel knows nothing of legs: tierctl maps their parts and makes the metadata device
 * of them, by dm-raid if there are two.
 *
 * All numbers are sectors, from the beginning of the room on: the leg's header, a block of 4 KiB;
 * dm-raid's superblock and bitmap; and the metadata, up to the places at most.
 */
#ifndef TIER_LIB_LEG_H
#define TIER_LIB_LEG_H

#include "dm-tier/format-code.h"

#define LEG_HEADER_SIZE		4096	/* bytes */
#define LEG_RAID_AT		128
#define LEG_RAID_SECTORS	1920
#define LEG_DATA_AT		(LEG_RAID_AT + LEG_RAID_SECTORS)

#define LEGS_MAX	2

#define LEG_MAGIC	0x47454c5245495444ULL	/* "DTIERLEG" */
#define LEG_CSUM_XOR	0x51c7e80aU
#define LEG_SLOW	0x1U	/* read only if there is no other */

/*
 * On the disk, little-endian; in one sector, so that a power cut cannot tear it. csum covers the
 * other 508 bytes of the sector; the rest of the block is zero.
 */
struct leg_header {
	__le32 csum;
	__le32 version;
	__le64 magic;
	__u8 set_uuid[TIER_UUID_SIZE];
	__u8 tier_uuid[TIER_UUID_SIZE];	/* of the tier that it lies on */
	__le32 index;			/* among the legs */
	__le32 nr;			/* legs */
	__le32 flags;
	__le32 unused;
	__le64 generation;		/* legs of a lower one than others are out of date */
	__le64 size;			/* of the metadata, sectors; dm-raid's superblock may say less */
	__le64 used;			/* when it was last assembled, seconds since 1970 */
	__le64 tag;			/* random, the same in legs that belong together */
};

struct leg_info {
	u8 set_uuid[TIER_UUID_SIZE], tier_uuid[TIER_UUID_SIZE];
	u32 index, nr, flags;
	u64 generation;
	u64 size, used, tag;
};

/* block has LEG_HEADER_SIZE bytes. */
void leg_pack(void *block, const struct leg_info *info);
/* Whether the block is a whole header of this version. */
bool leg_unpack(const void *block, struct leg_info *info);

/* What dm-raid's superblock says of the leg. */
struct leg_raid {
	u64 events;	/* counts changes of the array; the leg with more is newer */
	u64 failed;	/* a bit for each leg that dropped out */
	bool whole;	/* the leg is not being filled from another one */
	u64 size;	/* of the array, sectors */
};

/* block has at least 96 bytes of the superblock's beginning. False: there is none. */
bool leg_raid_unpack(const void *block, struct leg_raid *raid);

#endif
