// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes the labels of a tier, or a superblock, as this version does: with each feature, and with
 * a name as long as may be. The newer label is in the second slot.
 *
 *	members tier|metadata >FILE
 */
#include <stdio.h>
#include <string.h>

#include "dm-tier/format-code.h"

#define CHUNK	2048
#define SECTORS	(1024 * CHUNK)

static void name_it(char *name)
{
	memset(name, 'n', TIER_NAME_SIZE - 1);
}

/* Both: true if this version takes the image for what it is. */
static bool tier(u8 *image)
{
	const char *reason;
	struct tier_label_info label = {
		.set_uuid = "uuid of the set", .tier_uuid = "uuid of a tier.",
		.name = "an older name", .id = 3, .compat_flags = TIER_FEATURES_COMPAT,
		.compat_ro_flags = TIER_FEATURES_COMPAT_RO, .size = SECTORS,
		.places_at = 2 * TIER_LABEL_AREA_MIN, .chunk_sectors = CHUNK, .generation = 7,
	};

	tier_label_pack(image, &label);
	name_it(label.name);
	label.generation++;
	tier_label_pack(image + TIER_LABEL_SLOT_SIZE, &label);
	return !tier_label_choose(image, image + TIER_LABEL_SLOT_SIZE, &label, &reason);
}

static bool metadata(u8 *image)
{
	const char *reason;
	struct tier_meta_info info = {
		.uuid = "uuid of the set", .policy = "heat", .state = TIER_STATE_LIVE,
		.flags = TIER_SB_CLEAN, .compat_flags = TIER_FEATURES_COMPAT,
		.compat_ro_flags = TIER_FEATURES_COMPAT_RO,
		.incompat_flags = TIER_FEATURES_INCOMPAT,
		.logical_block_size = 4096, .chunk_sectors = CHUNK, .nr_chunks = SECTORS / CHUNK,
		.length = SECTORS, .generation = 8, .next_generation = 8, .trans_id = 9,
		.owner = { .machine = "a machine", .trans_id = 9 },
	};
	struct tier_meta_roots roots = {
		.mapping = 2, .heat = 3, .tiers = 4, .tunables = 5,
	};

	name_it(info.name);
	tier_superblock_pack(image, &info, &roots);
	tier_superblock_seal(image, 0);
	return !tier_superblock_unpack(image, &info, &reason);
}

int main(int argc, char **argv)
{
	static u8 image[1 << 21];	/* blkid looks for no RAID on what has 1 MiB or less */

	if (argc != 2 || !(strcmp(argv[1], "tier") ? metadata(image) : tier(image)))
		return 1;
	return fwrite(image, sizeof(image), 1, stdout) != 1 || fflush(stdout);
}
