/* SPDX-License-Identifier: GPL-2.0-only */
/* Tiered sets, active or found on the devices. */
#ifndef TIERCTL_SET_H
#define TIERCTL_SET_H

#include "base/context.h"
#include "block/device.h"
#include "dm/dm.h"
#include "format/rules.h"
#include "set/legs.h"
#include "set/scan.h"
#include "dm/status.h"
#include "dm/table.h"

struct set_tier {
	int id;			/* -1 if unknown */
	char state;		/* as in the status line; for an inactive set A, E or - */
	bool present;
	struct device dev;	/* if present */
	char last_seen[32];	/* "" if unknown */
	u8 uuid[TIER_UUID_SIZE];
	uint64_t size;		/* bytes of the device, 0 if unknown */
	uint64_t first_place;	/* chunks; 0: unknown, or behind the label area */
	uint64_t places;	/* chunks, 0 if unknown */
	u64 endurance;		/* GiB a day */
	u64 generation;		/* the generation that its label should have */
	u64 next_generation;	/* or any generation up to this; 0: no other */
	u64 label_generation;	/* the generation in its label, if present */
	bool stale;		/* the generations do not fit */
	bool slot_lost;		/* a slot of the label is unreadable, and may have a newer label */
	char *foreign;		/* other data beside the label, or NULL */
	char *back;		/* the tier is missing, but this device has its label; or NULL */
	char *hidden;		/* why the device is not used as the tier (filter.h), or NULL */
	bool doubled;		/* another device, a stray, has a label of this tier, too */
	bool newest;		/* dev is the tier or newer, not one of the others */
	bool erring;		/* it had errors between the last two looks; only for events */
};

struct set {
	struct tier_context *ctx;
	u8 uuid[TIER_UUID_SIZE];
	char hex[UUID_HEX];
	char *name;		/* for users: NAME or VG/LV */
	char *dm_name;
	uint64_t length;	/* sectors */
	uint64_t chunk_sectors;

	bool lv;		/* a converted logical volume; the device has its name */
	bool active;
	struct dm_device dm;	/* if active */
	bool have_table;	/* table is set */
	struct table table;
	struct status status;	/* set if have_table */

	bool have_meta;		/* the metadata device is there */
	bool meta_doubled;	/* another device, a stray, has its metadata, too */
	bool meta_newest;	/* all others are older */
	struct device meta_dev;
	bool meta_hangs;	/* it did not answer */
	char *meta_back;	/* as in a tier */
	char *meta_hidden;	/* why it is not used as the metadata (filter.h), or NULL */
	bool have_info;		/* the superblock could be read */
	struct tier_meta_info info;
	struct tier_meta_roots roots;
	bool have_records;	/* tiers come from the metadata's records */
	bool have_places;	/* an active set: first_place of its tiers is known */
	char *problem;		/* why the set cannot be activated as it is, NULL if it can */
	bool doubled;		/* two devices say that they are the same part, see *problem */

	unsigned int nr_tiers;
	struct set_tier tier[TIER_MAX_TIERS];	/* by rank */

	struct mirror mirror;	/* an inactive set: the legs of its metadata, if these lie on its tiers */

	/* An inactive set: labels on former tiers, and second copies of parts. */
	unsigned int nr_stray;
	struct device *stray;
};

struct set_list {
	struct tier_context *ctx;
	unsigned int nr;
	struct set *set;
};

/* Loads the active sets, or with scan also those found on the devices. */
int sets_load(struct tier_context *ctx, struct set_list *list, bool scan);
/* Also with sets found on devices that may be a part of that set, see members_scan_for(). */
int sets_load_for(struct tier_context *ctx, struct set_list *list, const char *set_hex);
/* From a scan made before. */
int sets_load_members(struct tier_context *ctx, struct set_list *list, const struct member_list *members);
void sets_free(struct set_list *list);

/* Reads the status again.  0 or -errno. */
int set_refresh(struct set *s);
/* The same with a time limit: -ETIMEDOUT, and STATUS_WAITS, if the kernel waits for a device. */
int set_look(struct set *s);

/* Notes where lost parts of an active set have come back. */
void set_look_for_missing(struct set *s, const struct member_list *members);

/* The age of the label of a stale tier; the caller frees. */
char *set_tier_age(const struct set_tier *t);

/* By NAME, VG/LV, UUID or device node; NULL if there is none. */
struct set *sets_find(const struct set_list *list, const char *name);
/*
 * The same for a command that needs a set, with the error said: no such set, the name of a
 * member, or of two inactive sets.
 */
struct set *sets_need(const struct set_list *list, const char *name);
/* Whether no set but this one has that name; false with the error said. */
bool sets_alone(const struct set_list *list, const struct set *s, const char *name);

/* Rank of the logical volume that was converted, -1 if none was. */
int set_origin(const struct set *s);
/* Whether the device is a logical volume with the name of a converted one. */
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

/* The same for the tier in an entry of the mapping. */
static inline int set_rank_of(const struct set *s, u64 entry)
{
	return set_rank_with(s, md_entry_id(entry));
}

/*
 * Whether a tier had I/O errors that need attention. The status line has one letter for the
 * state; while the tier is being emptied only the count tells.
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

/*
 * The device with the metadata, and at which byte of it: of an inactive set whose metadata lies on
 * its tiers, the newest leg. NULL if it is missing.
 */
const struct device *set_metadata(const struct set *s, uint64_t *at);
/* Opens it for reading, from there on. -errno; *d may be NULL then. */
int set_open_metadata(const struct set *s, const struct device **d);
static inline bool set_has_metadata(const struct set *s)
{
	return s->have_meta || s->mirror.nr;
}

/*
 * Places that a device of so many bytes will have when it joins the active set as a tier; have_info
 * is set.
 */
uint64_t set_joining_places(struct set *s, uint64_t bytes);
/* Places that a tier that is there has on its device as it is now. */
uint64_t set_tier_places(struct set *s, unsigned int rank);
/*
 * Drops the legs of tiers that have been left out since the set was loaded. False: the one that all
 * was read from is among them.
 */
bool set_keep_legs(struct set *s);
/* Whether the metadata lies on the tiers and has its device. */
bool set_mirror_assembled(const struct set *s);
/* The tiers' devices with a leg of the metadata that are there; their number. */
unsigned int set_legs(const struct set *s, const struct device *legs[LEGS_MAX]);

/* Number of tiers that are missing now. */
unsigned int set_missing(const struct set *s);
/* Number of stale tiers of an inactive set. */
unsigned int set_stale(const struct set *s);

/*
 * Reads the superblock of an active set if needed. 0 or -errno: -EAGAIN and -ETIMEDOUT if its
 * device would make us wait.
 */
int set_read_info(struct set *s);
/* Reads the superblock anew, and the records of the tiers, in order of id. 0 or -errno. */
int set_read_records(struct set *s, struct tier_meta_tier records[TIER_MAX_TIERS], unsigned int *nr);
/*
 * The command that lets a suspended set go on: if revert was killed while it held I/O, a mere
 * resume would not do. The caller frees.
 */
char *set_resume_command(const struct set *s);

/* Counts the chunks of an inactive set on each rank; false if the metadata cannot be read. */
bool set_count_chunks(struct set *s, uint64_t used[TIER_MAX_TIERS], uint64_t *mapped, uint64_t *pinned);

/* "tier 1 of data" or "the metadata of data" if dev belongs to an active set, NULL otherwise. */
char *sets_role(const struct set_list *list, dev_t dev, const struct set **owner);

/* The role of a scanned device, and in which set. */
struct role {
	const char *role;	/* metadata, tier, stray, damaged, unreadable, other */
	/*
	 * active, inactive, stale, hidden (see filter.h), unused, duplicate or NULL. A tier's
	 * label in any state but unused and duplicate may be needed, even if its rank is
	 * unknown.
	 */
	const char *state;
	bool newer;		/* than the set's metadata, or than that metadata knows */
	const struct set *set;
	int tier;		/* rank, -1 for none */
};
void role_of(const struct member *m, const struct set_list *sets, struct role *role);

/* The age of metadata, in words; each activation for writing raises the generation. The caller frees. */
char *metadata_age(const struct tier_meta_info *info);

/*
 * For errors: where the set is mounted, which device holds it, which process has it open. The
 * caller frees.
 */
char *set_usage(const struct set *s);

#endif
