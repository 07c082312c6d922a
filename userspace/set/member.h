/* SPDX-License-Identifier: GPL-2.0-only */
/* What a device is to a tiered set: its metadata, a tier, or nothing. */
#ifndef TIERCTL_MEMBER_H
#define TIERCTL_MEMBER_H

#include "dm-tier/dm-tier-format-code.h"
#include "block/device.h"

enum member_kind {
	MEMBER_NONE,		/* not ours; see blank */
	MEMBER_METADATA,
	MEMBER_TIER,
	MEMBER_DAMAGED,		/* ours once, see reason */
	MEMBER_UNREADABLE,	/* see reason */
};

struct member {
	struct device dev;
	enum member_kind kind;
	bool blank;		/* nothing but zeroes where a label or superblock lies */
	bool is_label;		/* MEMBER_DAMAGED: a tier's label, else metadata */
	bool is_whole;		/* MEMBER_DAMAGED: in order, but of a version that is not known */
	bool foreign;		/* MEMBER_TIER: beside its label, where zeroes were, is something else */
	const char *reason;	/* constant */
	char *hidden;		/* found by a scan: why it is not to be taken for a member, or NULL */
	bool hidden_by_type;	/* for what udev has found on it alone */
	bool array_within;	/* found by a scan: what the set holds ends as a part of an array does */
	struct tier_meta_info meta;	/* MEMBER_METADATA */
	struct tier_meta_roots roots;
	struct tier_label_info label;	/* MEMBER_TIER */
};

/* Bytes at the beginning that a label's slots, or a superblock, lie in. */
#define MEMBER_HEAD	(TIER_LABEL_SLOTS * TIER_LABEL_SLOT_SIZE)

/* Judges an open device or file; sets all but dev. */
void member_judge(int fd, struct member *m);

/* The same of a device, with names that can be printed. */
void member_look(const struct device *dev, struct member *m);

/* The same of all of *m.  Takes a copy of dev, which member_free() frees. */
void member_read(const struct device *dev, struct member *m);
void member_free(struct member *m);

/*
 * The label of a set's tier, each slot judged alone: while a revert is unfinished the other
 * one may have the set's data, which may look like a label, or metadata, too.  1: *label is
 * that with the higher generation; 0: there is none; -EIO: a slot cannot be read.
 */
int member_find_label(int fd, const u8 *set_uuid, struct tier_label_info *label);

/* UUID of the set of a MEMBER_METADATA or MEMBER_TIER. */
const u8 *member_set_uuid(const struct member *m);

#define UUID_HEX	33
/* 32 hex digits. */
const char *uuid_to_hex(char buf[UUID_HEX], const u8 *uuid);
/* With or without TIER- before, -lv after and hyphens between; false if it is none. */
bool uuid_from_text(const char *s, u8 uuid[TIER_UUID_SIZE]);

#endif
