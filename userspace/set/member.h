/* SPDX-License-Identifier: GPL-2.0-only */
/* The role of a device in a tiered set: its metadata, a tier, or none. */
#ifndef TIERCTL_MEMBER_H
#define TIERCTL_MEMBER_H

#include "dm-tier/format-code.h"
#include "block/device.h"
#include "format/leg.h"

enum member_kind {
	MEMBER_NONE,		/* no member; see blank */
	MEMBER_METADATA,
	MEMBER_TIER,
	MEMBER_DAMAGED,		/* a member once, see reason */
	MEMBER_UNREADABLE,	/* see reason */
};

/* A leg of the set's metadata in the room of a tier. */
struct member_leg {
	bool there;
	struct leg_info info;
	bool in_raid;			/* raid is set */
	struct leg_raid raid;
	bool readable;			/* meta and roots are set */
	struct tier_meta_info meta;
	struct tier_meta_roots roots;
};

struct member {
	struct device dev;
	enum member_kind kind;
	bool blank;		/* only zeroes in the place of a label or superblock */
	bool is_label;		/* MEMBER_DAMAGED: a tier's label, else metadata */
	bool is_whole;		/* MEMBER_DAMAGED: not damaged, but of an unknown version */
	bool foreign;		/* MEMBER_TIER: other data lies beside the label, where zeroes were */
	const char *reason;	/* constant */
	char *hidden;		/* by a scan: why the device is not taken for a member, or NULL */
	bool hidden_by_type;	/* hidden only because of the type that udev has found */
	bool array_within;	/* by a scan: the set's data ends like a part of an array */
	struct tier_meta_info meta;	/* MEMBER_METADATA */
	struct tier_meta_roots roots;
	struct tier_label_info label;	/* MEMBER_TIER */
	struct member_leg leg;
};

/* The bytes at the beginning that hold a label's slots, or a superblock. */
#define MEMBER_HEAD	(TIER_LABEL_SLOTS * TIER_LABEL_SLOT_SIZE)

/* Reads an open device or file; sets all but dev. */
void member_judge(int fd, struct member *m);

/* The same for a device, and its leg, with names that can be printed. */
void member_look(const struct device *dev, struct member *m);

/* The same, and sets all of *m. Takes a copy of dev, which member_free() frees. */
void member_read(const struct device *dev, struct member *m);
void member_free(struct member *m);

/*
 * Finds the label of a set's tier, with each slot judged alone: while a revert is unfinished the
 * other slot may have data of the set, which may look like a label, or metadata. 1: *label is
 * the one with the higher generation; 0: there is none; -EIO: a slot cannot be read.
 */
int member_find_label(int fd, const u8 *set_uuid, struct tier_label_info *label);

/* UUID of the set of a MEMBER_METADATA or MEMBER_TIER. */
const u8 *member_set_uuid(const struct member *m);

/* Below, at or above 0 as a is less than, equal to or more than b. */
static inline int compare_numbers(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

/*
 * Compares the age of metadata, likewise: each activation for writing raises the generation;
 * restored metadata may begin with fewer transactions.
 */
static inline int metadata_compare(const struct tier_meta_info *a, const struct tier_meta_info *b)
{
	return compare_numbers(a->generation, b->generation) ? : compare_numbers(a->trans_id, b->trans_id);
}

#define UUID_HEX	33
/* 32 hex digits. */
const char *uuid_to_hex(char buf[UUID_HEX], const u8 *uuid);
/* With or without TIER- before, -lv after and hyphens between; false if the text is no UUID. */
bool uuid_from_text(const char *s, u8 uuid[TIER_UUID_SIZE]);

#endif
