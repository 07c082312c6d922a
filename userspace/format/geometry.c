// SPDX-License-Identifier: GPL-2.0-only
#include "format/geometry.h"

#include "base/size.h"
#include "dm-tier/metadata/space.h"
#include "format/leg.h"

_Static_assert(TIER_ROOM_HEAD == LEG_DATA_AT, "the metadata of a leg fills its room");

#define KIB	1024ULL
#define MIB	(1024 * KIB)

#define MOST_CHUNKS	(3ULL << 27)

uint64_t geometry_places(uint64_t sectors, uint64_t chunk_sectors, uint64_t first_place)
{
	uint64_t all = sectors / chunk_sectors, least = tier_label_area(chunk_sectors) / chunk_sectors;
	uint64_t first = first_place > least ? first_place : least;

	return all > first ? all - first : 0;
}

uint64_t geometry_chunk_sectors(uint64_t sectors)
{
	uint64_t chunk = MIB >> SECTOR_SHIFT;

	while (sectors / chunk > MOST_CHUNKS && chunk < TIER_CHUNK_SECTORS_MAX)
		chunk *= 2;
	return chunk;
}

uint64_t geometry_reserve(uint64_t places)
{
	uint64_t reserve = places / 128;

	if (reserve < 2)
		return 2;
	return reserve > 64 ? 64 : reserve;
}

/*
 * A little more than the kernel asks for: mapping and heat, and one more copy of both for
 * changes.
 */
uint64_t geometry_metadata_min(uint64_t chunks)
{
	return 512 * KIB + 26 * chunks;
}

uint64_t geometry_metadata_good(uint64_t chunks)
{
	return tier_md_good_size(chunks);
}

uint64_t geometry_chunks_of_metadata(uint64_t sectors)
{
	uint64_t fit = 0, step, blocks = sectors / TIER_METADATA_BLOCK_SECTORS;

	if (blocks > TIER_METADATA_MAX_BLOCKS)
		blocks = TIER_METADATA_MAX_BLOCKS;
	for (step = 1ULL << 32; step; step /= 2)
		if (fit + step <= TIER_MAX_CHUNKS && tier_md_blocks_needed(fit + step) <= blocks)
			fit += step;
	return fit;
}

uint64_t geometry_first_place(uint64_t chunks, uint64_t chunk_sectors)
{
	return tier_md_first_place(tier_md_room(chunks), chunk_sectors);
}
