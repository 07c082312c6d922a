/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The on-disk format of a tiered set: superblock, tier records, tunables, mapping entries and
 * tier labels.  The kernel modules and the user-space tools include this same file.
 *
 * All integers are little-endian; members are aligned by their order and no struct has padding
 * of the compiler's.  A sector is 512 bytes.  A place is one chunk-sized slot of a tier: place p
 * of a tier starts at sector p * chunk_sectors of that tier's device, so what lies before the
 * places, the label area at least, takes those below the tier's first place.
 */
#ifndef DM_TIER_FORMAT_H
#define DM_TIER_FORMAT_H

#include <linux/types.h>

#define TIER_MAX_TIERS		16	/* tiers in one set */
#define TIER_MAX_ID		254	/* of a tier; id + 1 fits a mapping entry */
#define TIER_MAX_TUNABLES	256	/* stored in one set */
#define TIER_MAX_ALLOWANCE 0xffffffffU	/* a tier's endurance and reserve */
#define TIER_MAX_LATENCY 4000000U	/* of a tier; in ns it fits 32 bits */
#define TIER_MAX_WATERMARK 50U
#define TIER_MAX_QUIET 65535U
/* First writes that may land on a tier. */
enum tier_lands {
	TIER_LANDS_NOTHING,
	TIER_LANDS_ALL,
	TIER_LANDS_RANDOM,
	TIER_LANDS_STREAMS,
};

#define TIER_UUID_SIZE		16
#define TIER_NAME_SIZE		128	/* as DM_NAME_LEN */
#define TIER_POLICY_NAME_SIZE	16
#define TIER_TUNABLE_NAME_SIZE	32

#define TIER_CHUNK_SECTORS_MIN	128ULL		/* 64 KiB */
#define TIER_CHUNK_SECTORS_MAX	2097152ULL	/* 1 GiB */
#define TIER_MAX_CHUNKS		0xffffffffULL	/* 2^32 - 1 */

/* Metadata blocks are 4 KiB; the superblock is block 0. */
#define TIER_METADATA_BLOCK_SIZE	4096
#define TIER_METADATA_BLOCK_SECTORS	8
#define TIER_SUPERBLOCK_LOCATION	0
#define TIER_SUPERBLOCK_MAGIC	0x4b4c425245495444ULL	/* "DTIERBLK" */
#define TIER_FORMAT_VERSION	1
#define TIER_SPACE_MAP_ROOT_SIZE	128

/* XOR constants that keep checksums of different kinds of block apart. */
#define TIER_SUPERBLOCK_CSUM_XOR	0x7e12a5c3U
#define TIER_LABEL_CSUM_XOR		0x3d90b64eU

/* tier_superblock.flags */
#define TIER_SB_NEEDS_CHECK	0x1U
#define TIER_SB_CLEAN		0x2U	/* by the last commit of a suspend or removal */
#define TIER_SB_PAUSED		0x4U	/* migration was paused by a message */

/* Bits 8 to 15, in states reverting and retired: id of the tier that takes the set's place. */
#define TIER_SB_HOME_SHIFT	8
#define TIER_SB_HOME_MASK	0xff00U

/* tier_superblock.state */
enum tier_set_state {
	TIER_STATE_FORMATTING = 1,
	TIER_STATE_CONVERTING = 2,
	TIER_STATE_LIVE = 3,
	TIER_STATE_REVERTING = 4,
	TIER_STATE_RETIRED = 5,
};

#define TIER_COMPAT_OWNER	0x1U	/* of the superblock: it names the set's owner */
#define TIER_INCOMPAT_ROOM	0x100U	/* a tier has room between its label area and its places */

/* Unknown bits: compat ignored, compat_ro read-only, incompat refused. */
#define TIER_FEATURES_COMPAT	TIER_COMPAT_OWNER
#define TIER_FEATURES_COMPAT_RO	0U
#define TIER_FEATURES_INCOMPAT	TIER_INCOMPAT_ROOM

/*
 * Fits one 512-byte sector, so that a power cut cannot tear it.  csum covers all that follows it
 * in the metadata block (4092 bytes): crc32c(~0, bytes) ^ TIER_SUPERBLOCK_CSUM_XOR.
 */
struct tier_superblock {
	__le32 csum;
	__le32 flags;
	__le64 blocknr;			/* this block's number: 0 */

	__u8 uuid[TIER_UUID_SIZE];	/* of the set */
	__le64 magic;
	__le32 version;
	__le32 state;			/* enum tier_set_state */

	__le32 compat_flags;
	__le32 compat_ro_flags;
	__le32 incompat_flags;
	__le32 metadata_block_size;	/* sectors */

	__u8 metadata_space_map_root[TIER_SPACE_MAP_ROOT_SIZE];

	__le64 mapping_root;		/* array: chunk -> mapping entry, 64 bits */
	__le64 heat_root;		/* array: chunk -> heat, 32 bits */
	__le64 tiers_root;		/* btree: tier id -> struct tier_record */
	__le64 tunables_root;		/* btree: number -> struct tier_tunable_record */
	__le64 held_root;		/* block of the metadata snapshot, 0 = none */

	__le64 trans_id;		/* counts commits */
	__le64 chunk_sectors;
	__le64 nr_chunks;		/* entries in mapping and heat */
	__le64 length;			/* of the virtual device, sectors */
	__le64 reserve;			/* places kept free for moving, chunks */
	__le64 generation;
	__le64 next_generation;		/* differs while a bump is under way */
	__le32 logical_block_size;	/* bytes; no tier may have a larger one */
	__le32 nr_tunables;

	__u8 policy_name[TIER_POLICY_NAME_SIZE];
	__u8 name[TIER_NAME_SIZE];	/* of the mapped device, NUL-terminated */

	/*
	 * Who activated the set last, as far as this counts: while owner_trans_id is trans_id.
	 * Who knows of owners changes both alike; a module that does not changes trans_id alone.
	 */
	__u8 owner_machine[TIER_UUID_SIZE];	/* as /etc/machine-id */
	__u8 owner_boot[TIER_UUID_SIZE];	/* the kernel's boot_id */
	__le64 owner_time;			/* of the activation, seconds since 1970 */
	__le64 owner_trans_id;
};

/* tier_record.flags */
#define TIER_RECORD_EVACUATE	0x1U	/* nothing is placed here; empty it */

/* A value of the tiers btree; the key is the tier id. */
struct tier_record {
	__u8 uuid[TIER_UUID_SIZE];	/* of the tier */
	__le64 size;			/* of the device when adopted, sectors */
	__le64 first_place;		/* what lies before the places, in places */
	__le64 places;			/* usable places, from first_place on */
	__le64 generation;		/* what its label says */
	__le32 flags;
	__le32 rank;			/* position in the table, 0 = fastest */
	__le64 endurance;		/* GiB a day written by migration, 0 = no limit */
	__le64 reserve;			/* places that first writes leave free */
	__le32 landing;			/* 1: first writes may land here */
	__u8 last_seen[20];		/* kernel's device name, NUL-terminated */
	__le32 residence;		/* s that the policy leaves a chunk here, 0 = off */
	__le16 quiet;			/* s without I/O until it sleeps, 0 = never */
	__u8 watermark;			/* percent of the places that the policy leaves free */
	__u8 lands;			/* enum tier_lands if not all may; 0: landing tells */
	__le32 latency;			/* us of a small random read, 0 = measured */
	__le32 wear;			/* written to it since it joined, in 64 MiB */
	__le64 next_generation;		/* it may say any up to this; 0 = no other */
};

/* A value of the tunables btree; keys are 0, 1, 2 and so on. */
struct tier_tunable_record {
	__u8 name[TIER_TUNABLE_NAME_SIZE];	/* NUL-terminated */
	__le64 value;
};

/*
 * A mapping entry.  The all-zero entry is an unmapped, unpinned chunk.  pin holds tier id + 1, 0
 * for none; an unmapped chunk can be pinned, it is then where its first write lands.
 */
#define TIER_ENTRY_PLACE_BITS	40
#define TIER_ENTRY_PLACE_MASK	((1ULL << TIER_ENTRY_PLACE_BITS) - 1)
#define TIER_ENTRY_ID_SHIFT	40
#define TIER_ENTRY_PIN_SHIFT	48
#define TIER_ENTRY_MAPPED	0x100000000000000ULL
#define TIER_ENTRY_DISK_MASK	((1ULL << 57) - 1)	/* the rest is reserved, 0 */

/* A heat value: decayed, weighted access counters. */
#define TIER_HEAT_READS(h)	((h) & 0xffff)
#define TIER_HEAT_WRITES(h)	((h) >> 16)
#define TIER_HEAT_PER_BLOCK	1018	/* values in a block of the metadata */

/*
 * The label of a tier: one sector in each of two slots, at byte 0 and byte 4096.  The valid slot
 * with the higher generation counts; the next one is written to the other, and once it is on the
 * disk to both.  A slot is written as 4096 bytes, zero after the label.  csum covers the other
 * 508 bytes: crc32c(~0, bytes) ^ TIER_LABEL_CSUM_XOR.
 */
#define TIER_LABEL_MAGIC	0x4c42414c52454954ULL	/* "TIERLABL" */
#define TIER_LABEL_SLOTS	2
#define TIER_LABEL_SLOT_SIZE	4096	/* bytes */
#define TIER_LABEL_SIZE		512	/* bytes */
#define TIER_LABEL_AREA_MIN	2048	/* sectors; the label area is max(chunk, this) */

struct tier_label {
	__le32 csum;
	__le32 version;
	__le64 magic;
	__u8 set_uuid[TIER_UUID_SIZE];
	__u8 tier_uuid[TIER_UUID_SIZE];
	__le32 id;
	__le32 compat_flags;
	__le32 compat_ro_flags;
	__le32 incompat_flags;
	__le64 size;			/* of the device, sectors */
	__le64 places_at;		/* where they begin, sectors */
	__le64 chunk_sectors;
	__le64 generation;
	__u8 name[TIER_NAME_SIZE];	/* of the set, NUL-terminated */
	__u8 padding[288];
};

#endif /* DM_TIER_FORMAT_H */
