/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the bytes of format.h and structs in host byte order: packing, unpacking and judging.
 * format.c implements this for the kernel and for user space from the same source.  Nothing here
 * sleeps, does I/O or allocates.
 */
#ifndef DM_TIER_FORMAT_CODE_H
#define DM_TIER_FORMAT_CODE_H

#include "compat/plain-c.h"
#include "format.h"

/* A superblock fits a sector; sizes that no compiler may change. */
static_assert(sizeof(struct tier_superblock) == 488);
static_assert(sizeof(struct tier_record) == 120);
static_assert(sizeof(struct tier_tunable_record) == 40);
static_assert(sizeof(struct tier_label) == TIER_LABEL_SIZE);

/* Who activated a set last; see struct tier_superblock. */
struct tier_owner {
	u8 machine[TIER_UUID_SIZE], boot[TIER_UUID_SIZE];
	u64 time, trans_id;
};

/* The superblock's plain fields. */
struct tier_meta_info {
	u8 uuid[TIER_UUID_SIZE];
	char name[TIER_NAME_SIZE];
	char policy[TIER_POLICY_NAME_SIZE];
	u32 state;		/* enum tier_set_state */
	u32 flags;		/* TIER_SB_* */
	u32 compat_flags, compat_ro_flags;	/* see tier_features_read_only() */
	u32 incompat_flags;	/* TIER_INCOMPAT_* */
	u32 logical_block_size;	/* bytes */
	u64 chunk_sectors;
	u64 nr_chunks;
	u64 length;		/* sectors */
	u64 reserve;		/* chunks */
	u64 generation, next_generation;
	u64 trans_id;
	u64 held_root;		/* block, 0 = none */
	struct tier_owner owner;	/* with TIER_COMPAT_OWNER */
};

/* The superblock's pointers into the rest of the metadata. */
struct tier_meta_roots {
	u64 mapping, heat, tiers, tunables;
	u32 nr_tunables;
	u8 space_map[TIER_SPACE_MAP_ROOT_SIZE];
};

/* Twin of struct tier_record. */
struct tier_meta_tier {
	u8 id;
	u8 uuid[TIER_UUID_SIZE];
	u64 size;		/* of the device when adopted, sectors */
	u64 first_place, places;
	u64 generation;		/* what its label says */
	u64 next_generation;	/* it may say any up to this; 0 = no other */
	u32 flags;		/* TIER_RECORD_* */
	u32 rank;
	u64 endurance;		/* GiB a day */
	u64 reserve;		/* places */
	u64 landing;		/* enum tier_lands */
	u64 latency;		/* us */
	u64 watermark;		/* percent */
	u64 quiet;		/* s */
	u64 residence;		/* s */
	u32 wear;		/* 64 MiB */
	char last_seen[20];
};

/* Twin of struct tier_label. */
struct tier_label_info {
	u8 set_uuid[TIER_UUID_SIZE], tier_uuid[TIER_UUID_SIZE];
	char name[TIER_NAME_SIZE];	/* of the set */
	u8 id;
	u32 compat_flags, compat_ro_flags;	/* see tier_features_read_only() */
	u64 size;		/* of the device, sectors */
	u64 places_at;		/* sectors */
	u64 chunk_sectors;
	u64 generation;
	u8 slot;		/* where it was found */
	bool slot_lost;		/* the other slot cannot be read, and may be newer */
};

/* Notes why; returns the error. */
static inline int tier_refuse(const char **reason, int error, const char *why)
{
	*reason = why;
	return error;
}

/* crc32c of data, kept apart by kind of block. */
u32 tier_checksum(const void *data, size_t len, u32 xor);

bool tier_all_zero(const void *data, size_t len);

/* Whether compat_ro bits forbid this version to write. */
static inline bool tier_features_read_only(u32 compat_ro_flags)
{
	return compat_ro_flags & ~TIER_FEATURES_COMPAT_RO;
}

/* Counts a commit.  Whoever owned the set until now goes on to. */
static inline void tier_meta_info_count(struct tier_meta_info *info)
{
	if (info->compat_flags & TIER_COMPAT_OWNER && info->owner.trans_id == info->trans_id)
		info->owner.trans_id++;
	info->trans_id++;
}

/* Sectors at the beginning of a tier that no place may take. */
static inline u64 tier_label_area(u64 chunk_sectors)
{
	return chunk_sectors > TIER_LABEL_AREA_MIN ? chunk_sectors : TIER_LABEL_AREA_MIN;
}

/* Whether the places of a tier of this set may begin there; at most TIER_ENTRY_PLACE_MASK. */
static inline bool tier_first_place_valid(const struct tier_meta_info *info, u64 first_place)
{
	u64 least = tier_label_area(info->chunk_sectors), at = first_place * info->chunk_sectors;

	return at == least || (at > least && info->incompat_flags & TIER_INCOMPAT_ROOM);
}

/* Writes blocknr and csum into a superblock's metadata block. */
void tier_superblock_seal(void *block, u64 blocknr);

/*
 * Whether a metadata block is a whole superblock that was written to block blocknr; its contents
 * are not judged.  0, or -EINVAL (another magic) or -EILSEQ with *reason set.
 */
int tier_superblock_verify(const void *block, u64 blocknr, const char **reason);

/* Whether the fields agree with each other and with the limits of the format. */
bool tier_meta_info_valid(const struct tier_meta_info *info);

/*
 * Judges the metadata block read from block 0.  0: *info holds the superblock.  -ENODATA: all
 * zeroes.  -EINVAL: foreign content, another version, an unknown incompat feature.  -EILSEQ:
 * damaged.  *reason is set on every error; on -EILSEQ *info may have been written.
 */
int tier_superblock_unpack(const void *block, struct tier_meta_info *info, const char **reason);

/* The roots of a superblock that was judged good, or of a metadata snapshot. */
void tier_superblock_unpack_roots(const void *block, struct tier_meta_roots *roots);

/*
 * Fills in a zeroed or formerly valid superblock; feature bits are stored as
 * they are in info.  tier_superblock_seal() comes after it.
 */
void tier_superblock_pack(void *block, const struct tier_meta_info *info,
			  const struct tier_meta_roots *roots);

/* -EILSEQ if a field is out of range. */
int tier_record_unpack(u64 id, const struct tier_record *record, struct tier_meta_tier *tier);
void tier_record_pack(struct tier_record *record, const struct tier_meta_tier *tier);

/* Fills a slot of TIER_LABEL_SLOT_SIZE bytes. */
void tier_label_pack(void *slot, const struct tier_label_info *info);

/*
 * Whether a label can be the last one that its tier got, by the two numbers of the
 * tier's record.  Those between them are of changes that were not completed.
 */
static inline bool tier_label_current(u64 generation, u64 next_generation, u64 label)
{
	return label == generation || (label > generation && label <= next_generation);
}

/*
 * Judges the two slots of a device, each TIER_LABEL_SLOT_SIZE bytes or NULL if it cannot be
 * read.  0: *info is the valid label with the higher generation.  -ENODATA: both slots are all
 * zeroes.  -EINVAL: what lies there is no label, or one that this version must not touch.
 * -EILSEQ: damaged labels only.  -EIO: a slot could not be read and the other does not help.
 * *reason is set on every error.
 */
int tier_label_choose(const void *slot0, const void *slot1,
		      struct tier_label_info *info, const char **reason);

#endif /* DM_TIER_FORMAT_CODE_H */
