/* SPDX-License-Identifier: GPL-2.0-only */
/* Tiered sets, active or found on the devices. */
#ifndef TIERCTL_SET_H
#define TIERCTL_SET_H

#include "base/context.h"
#include "block/device.h"
#include "dm/dm.h"
#include "format/rules.h"
#include "set/scan.h"
#include "dm/status.h"
#include "dm/table.h"

struct set_tier {
	int id;			/* -1 if not known */
	char state;		/* as in the status line; of an inactive set A, E or - */
	bool present;
	struct device dev;	/* if present */
	char last_seen[32];	/* "" if not known */
	u8 uuid[TIER_UUID_SIZE];
	uint64_t size;		/* bytes of the device, 0 if not known */
	uint64_t places;	/* chunks, 0 if not known */
	u64 endurance;		/* GiB a day */
	u64 generation;		/* that its label should have */
	u64 next_generation;	/* or any up to this; 0: no other */
	u64 label_generation;	/* that it has, if present */
	bool stale;		/* the two do not go together */
	bool slot_lost;		/* and what cannot be read of the label may be newer */
	char *foreign;		/* what somebody else has put beside the label, or NULL */
	char *back;		/* not present, but here is another device that has its label; or NULL */
	char *hidden;		/* why the device is not to be taken for the tier (filter.h), or NULL */
	bool doubled;		/* another device, a stray, says that it is this tier */
	bool newest;		/* this one is it, or newer, rather than any other */
	bool erring;		/* it had errors between the last two looks; of events alone */
};

struct set {
	struct tier_context *ctx;
	u8 uuid[TIER_UUID_SIZE];
	char hex[UUID_HEX];
	char *name;		/* for users: NAME or VG/LV */
	char *dm_name;
	uint64_t length;	/* sectors */
	uint64_t chunk_sectors;

	bool lv;		/* a logical volume was converted; the device has its name */
	bool active;
	struct dm_device dm;	/* if active */
	bool have_table;	/* as is table */
	struct table table;
	struct status status;	/* if have_table */

	bool have_meta;		/* the metadata device is there */
	bool meta_doubled;	/* so is another one, a stray */
	bool meta_newest;	/* and all others are older */
	struct device meta_dev;
	bool meta_hangs;	/* it was read, and did not answer */
	char *meta_back;	/* as of a tier */
	char *meta_hidden;	/* why it is not to be taken for that (filter.h), or NULL */
	bool have_info;		/* its superblock could be read */
	struct tier_meta_info info;
	struct tier_meta_roots roots;
	bool have_records;	/* tiers come from the metadata's records */
	char *problem;		/* why it cannot be activated as it is, NULL if it can */
	bool doubled;		/* two devices say that they are one part of it, as *problem tells */

	unsigned int nr_tiers;
	struct set_tier tier[TIER_MAX_TIERS];	/* by rank */

	/* An inactive set: labels of it that are no part of it any more, and what is there twice. */
	unsigned int nr_stray;
	struct device *stray;
};

struct set_list {
	struct tier_context *ctx;
	unsigned int nr;
	struct set *set;
};

/* The active sets alone, or with those found by a scan of the devices. */
int sets_load(struct tier_context *ctx, struct set_list *list, bool scan);
/* With those found on devices that may be a part of that set, see members_scan_for(). */
int sets_load_for(struct tier_context *ctx, struct set_list *list, const char *set_hex);
/* From a scan made before. */
int sets_load_members(struct tier_context *ctx, struct set_list *list, const struct member_list *members);
void sets_free(struct set_list *list);

/* Reads the status again.  0 or -errno. */
int set_refresh(struct set *s);
/* The same for who must not wait: -ETIMEDOUT, and STATUS_WAITS, where the kernel waits for a device. */
int set_look(struct set *s);

/* Notes where those parts of an active set are that it has lost, and that are back. */
void set_look_for_missing(struct set *s, const struct member_list *members);

/* How old the label of a tier is that is stale; the caller frees. */
char *set_tier_age(const struct set_tier *t);

/* By NAME, VG/LV, UUID or device node; NULL if there is none. */
struct set *sets_find(const struct set_list *list, const char *name);
/*
 * The same for a command that needs one, with the error said: no such set, the name is a
 * member's, or two inactive sets have it.
 */
struct set *sets_need(const struct set_list *list, const char *name);
/* Whether no set but this one has that name; false with the error said. */
bool sets_alone(const struct set_list *list, const struct set *s, const char *name);

/* Rank of the logical volume that was converted, -1 if it is no such set. */
int set_origin(const struct set *s);
/* Whether it is a logical volume with the name of one that was converted. */
bool set_volume_is_origin(const struct device *d);

/* Rank of the tier of that id, -1 if the set has none. */
static inline int set_rank_with(const struct set *s, unsigned int id)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].id == (int)id)
			return i;
	return -1;
}

/* The same of the tier that an entry of the mapping names. */
static inline int set_rank_of(const struct set *s, u64 entry)
{
	return set_rank_with(s, md_entry_id(entry));
}

/*
 * Whether a tier had I/O errors that somebody ought to know of.  The status line has one
 * letter for it; while it is being emptied only the count tells.
 */
static inline bool set_tier_failing(const struct set *s, unsigned int rank)
{
	const struct tier_status *st = &s->status.tier[rank];

	return s->tier[rank].state == 'F' || (s->tier[rank].state == 'E' && st->used && st->errors);
}

static inline bool set_metadata_low(const struct set *s)
{
	return s->have_table && status_metadata_low(&s->status);
}

/* Tiers that are missing, now. */
unsigned int set_missing(const struct set *s);
/* Tiers that are there, of an inactive set, but stale. */
unsigned int set_stale(const struct set *s);

/*
 * Reads the superblock of an active set when it is needed.  0 or -errno: -EAGAIN and
 * -ETIMEDOUT if its device would make us wait.
 */
int set_read_info(struct set *s);
/* Reads it anew, and what the metadata says of the tiers, in order of id.  0 or -errno. */
int set_read_records(struct set *s, struct tier_meta_tier records[TIER_MAX_TIERS], unsigned int *nr);
/*
 * What to type about a set that is suspended: if revert was killed in its moment, resuming
 * alone would not do.  The caller frees.
 */
char *set_resume_command(const struct set *s);

/* Chunks of an inactive set per rank; false if the metadata cannot be read. */
bool set_count_chunks(struct set *s, uint64_t used[TIER_MAX_TIERS], uint64_t *mapped, uint64_t *pinned);

/* "tier 1 of data" or "the metadata of data" if dev belongs to an active set, NULL otherwise. */
char *sets_role(const struct set_list *list, dev_t dev, const struct set **owner);

/* What a scanned device is to which set. */
struct role {
	const char *role;	/* metadata, tier, stray, damaged, unreadable, other */
	/*
	 * active, inactive, stale, hidden (see filter.h), unused, duplicate or NULL.  A tier's
	 * label that is none of the last two may be needed, whether its rank is known or not.
	 */
	const char *state;
	bool newer;		/* than what the set goes by, or its metadata knows */
	const struct set *set;
	int tier;		/* rank, -1 for none */
};
void role_of(const struct member *m, const struct set_list *sets, struct role *role);

/*
 * How new metadata is, in words (the caller frees) or compared: each activation for writing
 * counts the generation up, and what restore makes may begin with fewer transactions.
 */
char *metadata_age(const struct tier_meta_info *info);
/* Below, at or above 0 as a is older, as old or newer. */
int metadata_compare(const struct tier_meta_info *a, const struct tier_meta_info *b);

/* For errors: where it is mounted, what holds it, who has it open.  The caller frees. */
char *set_usage(const struct set *s);

#endif
