/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many blocks of metadata a set needs.  Plain arithmetic, shared by the
 * kernel and user space, which must not write metadata that the kernel refuses.
 */
#ifndef DM_TIER_METADATA_SPACE_H
#define DM_TIER_METADATA_SPACE_H

#include "../compat/plain-c.h"
#include "../format-code.h"

/* Head of an array's block. */
#define TIER_ARRAY_HEAD_SIZE 24

/* Blocks that one bitmap of the space map counts. */
#define TIER_BITMAP_BLOCKS ((TIER_METADATA_BLOCK_SIZE - 16) * 4)
/* Blocks that can be used at most: a space map has so many bitmaps. */
#define TIER_METADATA_MAX_BLOCKS (255 * TIER_BITMAP_BLOCKS)

/* Nodes are kept at least a third full; a full one has 252 entries. */
#define TIER_MIN_FANOUT 84

/* Deeper than any tree: 84^5 > 2^32 / 509. */
#define TIER_MAX_DEPTH 5

/* Tiers and tunables together. */
#define TIER_SMALL_TREES 16

/* Changed entries that there is room for on the smallest device allowed. */
#define TIER_SMALL_BATCH 256

/* Values in a full block of an array. */
static inline u32 tier_md_per_block(u32 value_size)
{
	return (TIER_METADATA_BLOCK_SIZE - TIER_ARRAY_HEAD_SIZE) / value_size;
}

/* 4 KiB blocks of an array of nr values, and nodes of the tree above them. */
static inline u64 tier_md_array_blocks(u64 nr, u32 value_size)
{
	return DIV_ROUND_UP_ULL(nr, tier_md_per_block(value_size));
}

static inline u64 tier_md_array_nodes(u64 nr, u32 value_size)
{
	u64 level = tier_md_array_blocks(nr, value_size);
	u64 nodes = 1;

	while (level > 1) {
		level = DIV_ROUND_UP_ULL(level, TIER_MIN_FANOUT);
		nodes += level;
	}
	return nodes;
}

static inline u64 tier_md_array_space(u64 nr, u32 value_size)
{
	return tier_md_array_blocks(nr, value_size) + tier_md_array_nodes(nr, value_size);
}

/* Each bitmap of the space map and its index are rewritten once at most. */
static inline u64 tier_md_commit_room(u64 total_blocks)
{
	return DIV_ROUND_UP_ULL(total_blocks, TIER_BITMAP_BLOCKS) + TIER_SMALL_TREES;
}

/* The blocks these entries lie in, and the paths to them; full nodes split. */
static inline u64 tier_md_change_cost(u64 nr_chunks, u64 nr_entries)
{
	u64 blocks = tier_md_array_blocks(nr_chunks, sizeof(__le64));
	u64 nodes = tier_md_array_nodes(nr_chunks, sizeof(__le64));
	u64 paths;

	if (nr_entries > blocks)
		nr_entries = blocks;
	paths = nr_entries * TIER_MAX_DEPTH;
	return nr_entries + 2 * (paths < nodes ? paths : nodes);
}

/*
 * Free blocks for nr_entries more changed entries and their commit, and for a second
 * one, which is what releases a snapshot.
 */
static inline u64 tier_md_room_needed(u64 nr_chunks, u64 nr_entries, u64 total_blocks)
{
	return tier_md_change_cost(nr_chunks, nr_entries) + 2 * tier_md_commit_room(total_blocks);
}

/* 4 KiB blocks that a set of nr_chunks needs at least. */
static inline u64 tier_md_blocks_needed(u64 nr_chunks)
{
	u64 mapping = tier_md_array_space(nr_chunks, sizeof(__le64));
	u64 heat = tier_md_array_space(nr_chunks, sizeof(__le32));
	/* superblock, index and root of the space map */
	u64 steady = 3 + TIER_SMALL_TREES + mapping + heat;
	/* Room for a large batch of moves and for saving all heat. */
	u64 room = tier_md_change_cost(nr_chunks, TIER_SMALL_BATCH) + heat;
	/* An estimate of the bitmaps that covers them, too. */
	u64 bitmaps = tier_md_commit_room(steady + room + 1024);

	return steady + room + 4 * bitmaps;
}

/* Bytes that are recommended: mapping and heat, and one more copy of both for changes. */
static inline u64 tier_md_good_size(u64 nr_chunks)
{
	return (4U << 20) + 32 * nr_chunks;
}

/*
 * Metadata on tiers lies in the room before their places, behind so many sectors that tierctl
 * has for itself.  A new room is for so many times the chunks that the set can have.
 */
#define TIER_ROOM_HEAD 2048
#define TIER_ROOM_TO_GROW 4

/* Sectors of metadata in the room of a new set's tiers: no more than can be used. */
static inline u64 tier_md_room(u64 nr_chunks)
{
	u64 room = tier_md_good_size(TIER_ROOM_TO_GROW * nr_chunks) / 512;
	u64 most = (u64)TIER_METADATA_MAX_BLOCKS * TIER_METADATA_BLOCK_SECTORS;

	return room < most ? room : most;
}

/* The first place behind a room for so many sectors of metadata; in chunks. */
static inline u64 tier_md_first_place(u64 metadata, u64 chunk_sectors)
{
	return DIV_ROUND_UP_ULL(tier_label_area(chunk_sectors) + TIER_ROOM_HEAD + metadata,
				chunk_sectors);
}

/*
 * The same for a tier of so many chunks that joins.  It has room for the metadata as it is, and
 * for that of nr_chunks: those of the tiers that are there and its own.  But if that were more
 * than a 16th of it, it has as much as the tier with the least, whose places begin there.
 */
static inline u64 tier_md_joining_place(u64 least, u64 nr_chunks, u64 metadata, u64 tier_chunks,
					u64 chunk_sectors)
{
	u64 room = tier_md_room(nr_chunks), wanted;

	wanted = tier_md_first_place(room > metadata ? room : metadata, chunk_sectors);
	return wanted > least && wanted <= tier_chunks / 16 ? wanted : least;
}

#endif /* DM_TIER_METADATA_SPACE_H */
