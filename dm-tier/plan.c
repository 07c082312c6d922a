// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does a table fit what lies on the devices?  The constructor asks, and each
 * resume that activates a set or changes its tiers asks again; the answer is a
 * plan.  Making a plan only reads; the functions that write follow below.
 */
#include "plan.h"

#include <linux/log2.h>
#include <linux/uuid.h>

#include "blockio.h"
#include "policy-type.h"

#define READ_BYTES	SZ_64K

/*
 * The metadata of a set that is not active: the constructor reads it, the resume uses it unless
 * somebody has written another superblock meanwhile.  set->config
 */
struct tier_found {
	struct tier_metadata *md;	/* open for reading, or NULL */
	struct tier_meta_tiers tiers;
	u64 *map, nr_chunks;		/* the entries of all chunks; NULL: not read yet */
	bool used[TIER_MAX_TIERS];	/* of those tiers: chunks lie on it */
	u64 end;			/* no chunk from here on is mapped */
};

static __printf(3, 4) int refuse(struct tier_plan *plan, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(plan->reason, sizeof(plan->reason), fmt, args);
	va_end(args);
	return error;
}

static sector_t slot_sector(unsigned int slot)
{
	return slot * (TIER_LABEL_SLOT_SIZE >> SECTOR_SHIFT);
}

/* Reads both slots: tier_label_choose().  -EINVAL also if the device cannot hold a label. */
static int read_label(struct block_device *bdev, struct tier_label_info *info, const char **reason)
{
	void *buffer, *slots[TIER_LABEL_SLOTS];
	unsigned int i;
	int r;

	if (bdev_logical_block_size(bdev) > TIER_LABEL_SLOT_SIZE)
		return tier_refuse(reason, -EINVAL, "has a logical block size above 4096");
	if (bdev_nr_sectors(bdev) < slot_sector(TIER_LABEL_SLOTS))
		return tier_refuse(reason, -EINVAL, "is too small to hold a label");

	/* A power of two from kmalloc is aligned to itself. */
	buffer = kmalloc(TIER_LABEL_SLOTS * TIER_LABEL_SLOT_SIZE, GFP_NOIO);
	if (!buffer)
		return tier_refuse(reason, -ENOMEM, "no memory to read the label");

	for (i = 0; i < TIER_LABEL_SLOTS; i++) {
		slots[i] = buffer + i * TIER_LABEL_SLOT_SIZE;
		if (tier_blockio(bdev, REQ_OP_READ, slot_sector(i), slots[i]))
			slots[i] = NULL;
	}
	r = tier_label_choose(slots[0], slots[1], info, reason);
	kfree(buffer);
	return r;
}

/*
 * -ENODATA: the label area has nothing but zeroes.  A file system may begin behind the slots of
 * a label, as btrfs does.
 */
static int look_behind_label(struct block_device *bdev, u64 sectors, const char **reason)
{
	sector_t at = slot_sector(TIER_LABEL_SLOTS);
	void *buffer = kmalloc(READ_BYTES, GFP_NOIO);
	unsigned int bytes;
	int r = -ENODATA;

	if (!buffer)
		return tier_refuse(reason, -ENOMEM, "no memory to read the label area");
	sectors = min_t(u64, sectors, bdev_nr_sectors(bdev) & ~(u64)slot_sector(1));
	for (; r == -ENODATA && at < sectors; at += bytes >> SECTOR_SHIFT) {
		bytes = min_t(u64, to_bytes(sectors - at), READ_BYTES);
		if (tier_blockio_many(bdev, REQ_OP_READ, at, buffer, bytes))
			r = tier_refuse(reason, -EIO, "its label area cannot be read");
		else if (!tier_all_zero(buffer, bytes))
			r = tier_refuse(reason, -EINVAL,
					"has no label, but its first chunk or MiB is not all zeroes");
	}
	kfree(buffer);
	return r;
}

static int wipe(struct block_device *bdev, u64 sectors)
{
	return blkdev_issue_zeroout(bdev, 0, sectors, GFP_NOIO, 0) ? : blkdev_issue_flush(bdev);
}

/* Fills in what the device's size decides.  The places begin where the record says. */
static int size_tier(struct tier_target *tt, struct tier_plan *plan, unsigned int rank,
		     struct tier_meta_tier *rec)
{
	struct block_device *bdev = tt->devs[rank]->bdev;
	u64 first = rec->first_place, all = bdev_nr_sectors(bdev) >> ilog2(tt->chunk_sectors);

	if (all <= first)
		return refuse(plan, -EINVAL,
			"Tier %u (%pg) is too small: %llu sectors are needed for the label and one chunk",
			      rank, bdev, (first + 1) * tt->chunk_sectors);
	rec->size = bdev_nr_sectors(bdev);
	rec->places = min_t(u64, all - first, TIER_ENTRY_PLACE_MASK - first);
	return 0;
}

/*
 * The next two functions check a tier that joins, one that comes back and one in use: a disk
 * may have been changed while it was away, or copied to another disk.
 *
 * File systems on the set were made for the set's block size.  A tier with larger blocks
 * would fail smaller requests.
 */
static int check_blocks(struct tier_plan *plan, unsigned int rank, struct block_device *bdev,
			bool joins)
{
	unsigned int size = bdev_logical_block_size(bdev);

	if (size <= plan->info.logical_block_size)
		return 0;
	return refuse(plan, -EINVAL, "Tier %u (%pg) has blocks of %u bytes, the set of %u; %s",
		      rank, bdev, size, plan->info.logical_block_size,
		      joins ? "it cannot join" : "give it back what it had");
}

static int check_size(struct tier_plan *plan, unsigned int rank, struct block_device *bdev,
		      const struct tier_meta_tier *rec)
{
	if (bdev_nr_sectors(bdev) >= rec->size)
		return 0;
	return refuse(plan, -EINVAL, "Tier %u (%pg) has shrunk from %llu to %llu sectors",
		      rank, bdev, rec->size, (u64)bdev_nr_sectors(bdev));
}

int tier_device_unfit(const struct tier_target *tt, struct block_device *bdev, const char **why)
{
	if (bdev_is_zoned(bdev)) {
		*why = "is a zoned device, which cannot be written at random";
		return -EINVAL;
	}
	if (tier_writes_wanted(tt) && bdev_read_only(bdev)) {
		*why = "is write-protected";
		return -EROFS;
	}
	return 0;
}

/* A device may have changed since the constructor checked it. */
static int check_devices(struct tier_target *tt, struct tier_plan *plan)
{
	const char *why;
	unsigned int i;
	int r;

	r = tier_device_unfit(tt, tt->metadata->bdev, &why);
	if (r)
		return refuse(plan, r, "Metadata %pg %s", tt->metadata->bdev, why);
	for (i = 0; i < tt->nr_tiers; i++) {
		if (!tt->devs[i])
			continue;
		r = tier_device_unfit(tt, tt->devs[i]->bdev, &why);
		if (r)
			return refuse(plan, r, "Tier %u (%pg) %s", i, tt->devs[i]->bdev, why);
	}
	return 0;
}

/*
 * An unplugged disk has no sectors; it is not refused here: its I/O fails, and the other tiers
 * go on.  Nor is a disk that has become write-protected.
 */
int tier_plan_recheck(struct tier_target *tt, struct tier_plan *plan)
{
	struct tier_set *set = tt->set;
	unsigned int i;
	int r = 0;

	tier_metadata_get_info(set->metadata, &plan->info);
	for (i = 0; !r && i < set->nr_tiers; i++) {
		struct tier *t = set->tiers[i];

		if (tier_present(t) && bdev_nr_sectors(t->bdev))
			r = check_size(plan, i, t->bdev, &t->rec) ? :
			    check_blocks(plan, i, t->bdev, false);
	}
	return r;
}

static const struct tier_meta_tier *rec_of(const struct tier_meta_tiers *tiers, u8 id)
{
	unsigned int i;

	for (i = 0; i < tiers->nr; i++)
		if (tiers->tier[i].id == id)
			return &tiers->tier[i];
	return NULL;
}

struct tier_metadata *tier_plan_take_metadata(struct tier_set *set)
{
	struct tier_metadata *md = set->found->md;

	set->found->md = NULL;
	return md;
}

u64 *tier_plan_take_map(struct tier_set *set, u64 *nr_chunks)
{
	u64 *map = set->found->map;

	*nr_chunks = set->found->nr_chunks;
	set->found->map = NULL;
	return map;
}

static void forget_map(struct tier_found *found)
{
	vfree(found->map);
	found->map = NULL;
}

void tier_plan_forget(struct tier_set *set)
{
	tier_metadata_close(tier_plan_take_metadata(set));
	forget_map(set->found);
}

const struct tier_set_room tier_plan_room = TIER_SET_ROOM(found, NULL, tier_plan_forget);

/* A walk through the whole map. */
struct survey {
	struct tier_found *found;
	u8 index[256];			/* by a tier's id: in found->tiers, or TIER_MAX_TIERS */
	unsigned long *taken[TIER_MAX_TIERS];	/* the places that were met */
};

static int note_entry(struct survey *s, u32 chunk, u64 entry)
{
	const struct tier_meta_tier *rec;
	unsigned int i;
	u64 place;

	s->found->map[chunk] = entry;
	if (!(entry & TIER_ENTRY_MAPPED))
		return 0;
	i = s->index[tier_word_id(entry)];
	rec = &s->found->tiers.tier[i];
	if (i == TIER_MAX_TIERS || tier_word_place(entry) < rec->first_place)
		return -EILSEQ;
	place = tier_word_place(entry) - rec->first_place;
	if (place >= rec->places || __test_and_set_bit(place, s->taken[i]))
		return -EILSEQ;
	s->found->used[i] = true;
	s->found->end = chunk + 1;
	return 0;
}

static int note_entries(void *context, u32 first, u32 nr, const __le64 *entries)
{
	int r = 0;
	u32 i;

	for (i = 0; !r && i < nr; i++)
		r = note_entry(context, first + i, le64_to_cpu(entries[i]));
	return r;
}

/* Memory for it.  The metadata device has room for so many chunks, so they may be real. */
static int begin_survey(struct survey *s, struct tier_target *tt, u64 nr_chunks)
{
	struct tier_meta_tiers *tiers = &s->found->tiers;
	unsigned int i;

	if (tier_md_array_blocks(nr_chunks, sizeof(__le64)) * TIER_METADATA_BLOCK_SECTORS >
	    bdev_nr_sectors(tt->metadata->bdev))
		return -EILSEQ;
	memset(s->index, TIER_MAX_TIERS, sizeof(s->index));
	for (i = 0; i < tiers->nr; i++) {
		struct tier_meta_tier *rec = &tiers->tier[i];
		u64 all = rec->size >> ilog2(tt->chunk_sectors);

		if (!rec->places || rec->places > all || rec->first_place > all - rec->places)
			return -EILSEQ;
		s->index[rec->id] = i;
		/* NORETRY: the record of a missing tier may be damaged and claim any number. */
		s->taken[i] = __vmalloc(BITS_TO_LONGS(rec->places) * sizeof(long),
					GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_NORETRY);
		if (!s->taken[i])
			return -ENOMEM;
	}
	s->found->nr_chunks = nr_chunks;
	s->found->map = vmalloc(array_size(nr_chunks, sizeof(*s->found->map)));
	return s->found->map ? 0 : -ENOMEM;
}

static int read_map(struct tier_target *tt, struct tier_plan *plan)
{
	struct survey *s = kzalloc(sizeof(*s), GFP_KERNEL);
	struct tier_found *found = tt->set->found;
	unsigned int i;
	int r;

	if (!s)
		return -ENOMEM;
	s->found = found;
	found->end = 0;
	memset(found->used, 0, sizeof(found->used));
	r = begin_survey(s, tt, plan->info.nr_chunks) ? :
	    tier_metadata_load_map(found->md, note_entries, s);
	for (i = 0; i < TIER_MAX_TIERS; i++)
		vfree(s->taken[i]);
	kfree(s);
	if (r)
		tier_plan_forget(tt->set);
	else
		tier_metadata_drop_cache(found->md);
	return r;
}

/*
 * Reads the whole map, to refuse damage before anything is written.  The tiers have been
 * checked: the record of a present tier claims no more places than its device has.
 */
static int look_at_map(struct tier_target *tt, struct tier_plan *plan)
{
	struct tier_found *found = tt->set->found;
	int r = found->map ? 0 : read_map(tt, plan);

	if (r == -ENOMEM)
		return refuse(plan, r, "Out of memory");
	if (r)
		return refuse(plan, r, "Metadata %pg is damaged; check it", tt->metadata->bdev);
	memcpy(plan->used, found->used, sizeof(plan->used));
	plan->mapped_above = found->end > plan->whole_chunks;
	return 0;
}

bool tier_plan_has(const struct tier_plan *plan, unsigned int nr, u8 id)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (plan->tiers[i].id == id)
			return true;
	return false;
}

static int load_recs(struct tier_target *tt, struct tier_plan *plan)
{
	struct tier_set *set = tt->set;
	struct tier_found *found = set->found;
	struct tier_meta_info info;
	const char *reason;
	u32 i;
	int r;

	if (set->active) {
		for (i = 0; i < set->nr_tiers; i++) {
			plan->used[i] = set->tiers[i]->used;
			plan->found.tier[plan->found.nr++] = set->tiers[i]->rec;
		}
		for (i = min_t(u64, plan->whole_chunks, set->nr_chunks); i < set->nr_chunks; i++) {
			if (tier_get_word(set, i) & TIER_ENTRY_MAPPED)
				plan->mapped_above = true;
			if (!(i & 0xffff))
				cond_resched();
		}
		return 0;
	}
	if (!found->md || !tier_metadata_unchanged(found->md, tt->metadata->bdev)) {
		tier_plan_forget(set);
		found->md = tier_metadata_open(tt->metadata->bdev, &reason);
		if (IS_ERR(found->md))
			return refuse(plan, PTR_ERR(tier_plan_take_metadata(set)),
				      "Metadata %pg: %s", tt->metadata->bdev, reason);
		r = tier_metadata_load_tiers(found->md, &found->tiers);
		if (r) {
			tier_plan_forget(set);
			return refuse(plan, r, "Metadata %pg is damaged; check it",
				      tt->metadata->bdev);
		}
	}
	/* What the superblock said a moment before. */
	tier_metadata_get_info(found->md, &info);
	if (memcmp(&info, &plan->info, sizeof(info)))
		return refuse(plan, -EAGAIN, "Metadata %pg is being changed by others",
			      tt->metadata->bdev);
	plan->found = found->tiers;
	return 0;
}

/*
 * Where the places of a tier that joins begin: behind its label area, or behind a room for a leg
 * of the metadata if the set's tiers have that.
 */
static u64 first_place_of(const struct tier_target *tt, const struct tier_plan *plan,
			  unsigned int rank)
{
	u64 least = tier_label_area(tt->chunk_sectors) >> ilog2(tt->chunk_sectors);
	u64 own = bdev_nr_sectors(tt->devs[rank]->bdev) >> ilog2(tt->chunk_sectors), all = own;
	unsigned int i;

	if (plan->format || !(plan->info.incompat_flags & TIER_INCOMPAT_ROOM))
		return least;
	least = plan->found.tier[0].first_place;
	for (i = 0; i < plan->found.nr; i++) {
		least = min(least, plan->found.tier[i].first_place);
		all += plan->found.tier[i].places;
	}
	return tier_md_joining_place(least, all, bdev_nr_sectors(tt->metadata->bdev), own,
				     tt->chunk_sectors);
}

/* A blank device becomes a new tier. */
static int join_tier(struct tier_target *tt, struct tier_plan *plan, unsigned int rank)
{
	struct block_device *bdev = tt->devs[rank]->bdev;
	struct tier_meta_tier *mine = &plan->tiers[rank];

	plan->joining[rank] = true;
	plan->label_slot[rank] = 1;
	plan->changes_list = true;
	mine->id = TIER_MAX_ID + 1;	/* none yet */
	mine->rank = rank;
	mine->landing = tier_tier_keys[TIER_TIER_LANDING].initial;
	mine->first_place = first_place_of(tt, plan, rank);
	return (plan->format ? 0 : check_blocks(plan, rank, bdev, true)) ? :
	       size_tier(tt, plan, rank, mine);
}

/* A tier whose joining was cut short. */
static int join_again(struct tier_target *tt, struct tier_plan *plan, unsigned int rank,
		      const struct tier_label_info *label)
{
	if (label->places_at > first_place_of(tt, plan, rank) << ilog2(tt->chunk_sectors))
		return refuse(plan, -EINVAL,
			"Tier %u (%pg) has more room before its places than the set gives it",
			      rank, tt->devs[rank]->bdev);
	return join_tier(tt, plan, rank);
}

/* A device that carries a label of this set: is it the tier it says it is? */
static int match_label(struct tier_target *tt, struct tier_plan *plan, unsigned int rank,
		       const struct tier_label_info *label)
{
	struct block_device *bdev = tt->devs[rank]->bdev;
	const struct tier_meta_tier *rec = rec_of(&plan->found, label->id);
	struct tier_meta_tier *mine = &plan->tiers[rank];
	int r;

	if (!rec && label->generation > plan->info.generation &&
	    label->generation <= plan->info.next_generation) {
		/* The metadata does not have its record yet. */
		return join_again(tt, plan, rank, label);
	}
	if (!rec || memcmp(rec->uuid, label->tier_uuid, TIER_UUID_SIZE))
		return refuse(plan, -EINVAL,
			"Tier %u (%pg) once was a tier of this set but is none now; wipe it to add it anew",
			      rank, bdev);
	if (tier_plan_has(plan, rank, label->id))
		return refuse(plan, -EINVAL,
			"Tier %u (%pg) is a copy of a tier that is listed before it", rank, bdev);
	if (!tier_label_current(rec->generation, rec->next_generation, label->generation)) {
		bool older = label->generation < rec->generation;

		if (older && label->slot_lost)
			return refuse(plan, -EIO,
				"Tier %u (%pg): a label slot cannot be read; the other is of generation %llu, the metadata knows %llu",
				      rank, bdev, label->generation, rec->generation);
		return refuse(plan, -EINVAL,
			"%s stale: tier %u (%pg) is of generation %llu, the metadata knows %llu",
			      older ? "tier" : "metadata", rank, bdev, label->generation,
			      rec->generation);
	}
	*mine = *rec;
	plan->label_slot[rank] = label->slot;
	/* A label may be behind its record, as it is written later. */
	if (!tier_first_place_valid(&plan->info, rec->first_place) ||
	    rec->first_place << ilog2(tt->chunk_sectors) < label->places_at)
		return refuse(plan, -EINVAL, "Metadata %pg is damaged; check it",
			      tt->metadata->bdev);
	r = check_size(plan, rank, bdev, rec) ? : check_blocks(plan, rank, bdev, false) ? :
	    size_tier(tt, plan, rank, mine);
	if (r)
		return r;
	plan->grown[rank] = mine->places != rec->places;
	plan->grows |= plan->grown[rank];
	plan->changes_list |= rec->rank != rank;
	mine->rank = rank;
	return 0;
}

static int look_at_tier(struct tier_target *tt, struct tier_plan *plan, unsigned int rank)
{
	struct block_device *bdev = tt->devs[rank]->bdev;
	const struct tier_label_info *label = &plan->label[rank].info;
	int r = plan->label[rank].error;

	if (r == -ENODATA)
		return join_tier(tt, plan, rank);
	if (r)
		return refuse(plan, r, "Tier %u (%pg): %s", rank, bdev, plan->label[rank].reason);
	if (tier_features_read_only(label->compat_ro_flags) && tier_writes_wanted(tt))
		return refuse(plan, -EINVAL,
			"Tier %u (%pg) has features that only allow a read-only activation",
			      rank, bdev);
	if (memcmp(label->set_uuid, plan->info.uuid, TIER_UUID_SIZE))
		return refuse(plan, -EINVAL, "Tier %u (%pg) is a tier of %s \"%.32s\"%s",
			      rank, bdev, plan->format ? "set" : "another set,", label->name,
			      plan->format ? ", but the metadata device is blank" : "");
	if (!plan->format)
		return match_label(tt, plan, rank, label);
	/* The format was completed: the metadata is a copy from before. */
	if (label->generation > plan->info.next_generation)
		return refuse(plan, -EINVAL,
			"metadata stale: tier %u (%pg) is of generation %llu, the metadata was being formatted",
			      rank, bdev, label->generation);
	return join_again(tt, plan, rank, label);
}

/* `-` is allowed only for a rank that the metadata has a tier of. */
static int look_at_missing(struct tier_plan *plan, unsigned int rank)
{
	unsigned int i;

	for (i = 0; i < plan->found.nr && plan->found.tier[i].rank != rank; i++)
		;
	/* Before a format there are none. */
	if (i == plan->found.nr)
		return refuse(plan, -EINVAL,
			"Tier %u is given as missing, but the set has no tier of that rank", rank);
	plan->tiers[rank] = plan->found.tier[i];
	return 0;
}

static int check_list(struct tier_target *tt, struct tier_plan *plan)
{
	bool degraded = false;
	unsigned int i;

	for (i = 0; i < tt->nr_tiers; i++)
		degraded |= !tt->devs[i];
	for (i = 0; i < plan->found.nr; i++) {
		struct tier_meta_tier *rec = &plan->found.tier[i];

		plan->known[rec->id] = true;
		if (tier_plan_has(plan, tt->nr_tiers, rec->id))
			continue;
		if (!(rec->flags & TIER_RECORD_EVACUATE))
			return refuse(plan, -EINVAL,
				"Tier %u (last seen as %.31s) is not listed; evacuate it first, or put - in its place if it is missing",
				      rec->rank, rec->last_seen);
		if (plan->used[i])
			return refuse(plan, -EINVAL,
				"Tier %u (last seen as %.31s) is not listed but not yet empty",
				      rec->rank, rec->last_seen);
		plan->changes_list = true;
	}
	if (!plan->changes_list)
		return 0;
	if (!tier_writes_wanted(tt))
		return refuse(plan, -EINVAL, "A read-only table cannot change the list of tiers");
	if (degraded)
		return refuse(plan, -EINVAL,
			"The list of tiers cannot change while a tier is missing");
	if (plan->info.flags & TIER_SB_NEEDS_CHECK)
		return refuse(plan, -EINVAL,
			"The list of tiers cannot change until the metadata has been checked");
	return 0;
}

static int check_length(struct tier_target *tt, struct tier_plan *plan)
{
	u64 places = 0, needed, nr_chunks = dm_sector_div_up(tt->ti->len, tt->chunk_sectors);
	unsigned int i;

	for (i = 0; i < tt->nr_tiers; i++)
		/* An evacuated tier does not count for a longer set. */
		if (plan->format || nr_chunks <= plan->info.nr_chunks ||
		    !(plan->tiers[i].flags & TIER_RECORD_EVACUATE))
			places += plan->tiers[i].places;
	plan->reserve = plan->format ? clamp_t(u64, places / 128, 2, 64) : plan->info.reserve;
	plan->capacity = places > plan->reserve ? places - plan->reserve : 0;
	if (!plan->capacity)
		return refuse(plan, -EINVAL,
			"The tiers are too small: %llu places, of which %llu are the reserve for moving",
			      places, plan->reserve);
	plan->capacity = min_t(u64, plan->capacity, TIER_MAX_CHUNKS);
	if (nr_chunks > plan->capacity)
		return refuse(plan, -EINVAL,
			"The length of %llu sectors exceeds the capacity: at most %llu sectors fit",
			      (u64)tt->ti->len, plan->capacity * tt->chunk_sectors);
	if (!plan->format && plan->mapped_above)
		return refuse(plan, -EINVAL,
			"The length of %llu sectors cuts off chunks that hold data; the set is %llu sectors long",
			      (u64)tt->ti->len, plan->info.length);
	needed = tier_md_blocks_needed(nr_chunks) * TIER_METADATA_BLOCK_SECTORS;
	if (needed > (u64)TIER_METADATA_MAX_BLOCKS * TIER_METADATA_BLOCK_SECTORS)
		return refuse(plan, -EINVAL,
			"%llu chunks are more than metadata can hold; use larger chunks",
			      nr_chunks);
	if (bdev_nr_sectors(tt->metadata->bdev) < needed)
		return refuse(plan, -ENOSPC,
			"The metadata device has %llu sectors; %llu chunks need at least %llu",
			      (u64)bdev_nr_sectors(tt->metadata->bdev), nr_chunks, needed);
	return 0;
}

static int look_at_metadata(struct tier_target *tt, struct tier_plan *plan)
{
	struct block_device *bdev = tt->metadata->bdev;
	const char *reason;
	int r = 0;

	if (tt->set->active)
		tier_metadata_get_info(tt->set->metadata, &plan->info);
	else
		r = tier_metadata_read_superblock(bdev, &plan->info, &reason);

	plan->format = r == -ENODATA || (!r && plan->info.state == TIER_STATE_FORMATTING);
	if (!r && plan->format && plan->info.incompat_flags)
		return refuse(plan, -EINVAL,
			"Metadata %pg has features that this version cannot format", bdev);
	if (plan->format && !tier_writes_wanted(tt))
		return refuse(plan, -EINVAL,
			"The set is not formatted, and a read-only table cannot do it");
	if (plan->format)
		return 0;
	if (r)
		return refuse(plan, r, "Metadata %pg: %s", bdev, reason);
	if (tier_features_read_only(plan->info.compat_ro_flags) && tier_writes_wanted(tt))
		return refuse(plan, -EINVAL,
			"Metadata %pg has features that only allow a read-only activation", bdev);
	if (plan->info.state != TIER_STATE_LIVE)
		return refuse(plan, -EINVAL,
			"The set on metadata %pg is being converted or was retired", bdev);
	if (plan->info.chunk_sectors != tt->chunk_sectors)
		return refuse(plan, -EINVAL, "The set's chunks are %llu sectors, not %llu",
			      plan->info.chunk_sectors, tt->chunk_sectors);
	return 0;
}

void tier_plan_read_labels(struct tier_target *tt, struct tier_plan *plan)
{
	unsigned int i;

	for (i = 0; i < tt->nr_tiers; i++) {
		struct block_device *bdev = tt->devs[i] ? tt->devs[i]->bdev : NULL;
		const char **reason = &plan->label[i].reason;
		int r;

		if (!bdev)
			continue;
		r = read_label(bdev, &plan->label[i].info, reason);
		if (r == -ENODATA)
			r = look_behind_label(bdev, tier_label_area(tt->chunk_sectors), reason);
		plan->label[i].error = r;
	}
}

int tier_plan_make(struct tier_target *tt, struct tier_plan *plan)
{
	unsigned int i, missing = 0;
	int r;

	r = check_devices(tt, plan) ? : look_at_metadata(tt, plan);
	/* A shorter length may end within a chunk and cut off the rest of the chunk. */
	plan->whole_chunks = dm_sector_div_up(tt->ti->len, tt->chunk_sectors);
	if (tt->ti->len < plan->info.length)
		plan->whole_chunks = tt->ti->len >> ilog2(tt->chunk_sectors);
	if (!r && !plan->format)
		r = load_recs(tt, plan);
	for (i = 0; !r && i < tt->nr_tiers; i++) {
		missing += !tt->devs[i];
		r = tt->devs[i] ? look_at_tier(tt, plan, i) : look_at_missing(plan, i);
	}
	if (!r && missing == tt->nr_tiers)
		r = refuse(plan, -EINVAL, "Every tier is missing");
	if (!r && !plan->format && !tt->set->active)
		r = look_at_map(tt, plan);
	if (!r && !plan->format)
		r = check_list(tt, plan);
	return r ? : check_length(tt, plan);
}

/* ---- writing ---- */

/* The set's uuid is in the device's, if it was created as TIER-<32 hex digits>. */
static void choose_uuid(struct mapped_device *md, u8 *uuid)
{
	char name[DM_NAME_LEN], dm_uuid[DM_UUID_LEN] = "";

	if (!dm_copy_name_and_uuid(md, name, dm_uuid) && !strncmp(dm_uuid, "TIER-", 5) &&
	    strspn(dm_uuid + 5, "0123456789abcdefABCDEF") == 2 * TIER_UUID_SIZE &&
	    (!dm_uuid[37] || dm_uuid[37] == '-') && !hex2bin(uuid, dm_uuid + 5, TIER_UUID_SIZE))
		return;
	generate_random_uuid(uuid);
}

static void note_names(struct tier_target *tt, struct tier_meta_info *info)
{
	char name[DM_NAME_LEN], dm_uuid[DM_UUID_LEN];

	if (!dm_copy_name_and_uuid(tt->md, name, dm_uuid))
		strscpy(info->name, name, sizeof(info->name));
	strscpy(info->policy, tt->policy->name, sizeof(info->policy));
}

/*
 * Who writes to the slot that the label was not read from keeps that one whole.  Not inlined,
 * as the crash tests watch it.
 */
static noinline int write_label(struct tier_target *tt, const struct tier_plan *plan,
				const struct tier_meta_info *info, unsigned int rank,
				unsigned int slot)
{
	void *block = kmalloc(TIER_LABEL_SLOT_SIZE, GFP_NOIO);
	const struct tier_meta_tier *rec = &plan->tiers[rank];
	struct block_device *bdev = tt->devs[rank]->bdev;
	struct tier_label_info label = {
		.id = rec->id, .size = rec->size,
		.places_at = rec->first_place << ilog2(tt->chunk_sectors),
		.chunk_sectors = tt->chunk_sectors, .generation = info->next_generation,
	};
	int r;

	if (!block)
		return -ENOMEM;
	memcpy(label.set_uuid, info->uuid, TIER_UUID_SIZE);
	memcpy(label.tier_uuid, rec->uuid, TIER_UUID_SIZE);
	strscpy(label.name, info->name, sizeof(label.name));
	tier_label_pack(block, &label);
	r = tier_blockio(bdev, REQ_OP_WRITE, slot_sector(slot), block) ? :
	    blkdev_issue_flush(bdev);
	kfree(block);
	return r;
}

/* Writes the label to the other slot as well: one bad sector must not cost a tier. */
static void copy_labels(struct tier_target *tt, const struct tier_plan *plan,
			const struct tier_meta_info *info)
{
	unsigned int i;

	for (i = 0; i < tt->nr_tiers; i++)
		if (tt->devs[i] && !plan->unlabelled[i])
			write_label(tt, plan, info, i, plan->label_slot[i]);
}

/* Two tiers that are one disk by two names would overwrite each other. */
static int find_twin(struct tier_target *tt, struct tier_plan *plan, unsigned int rank)
{
	struct block_device *bdev = tt->devs[rank]->bdev;
	struct tier_label_info label;
	const char *reason;
	unsigned int i;
	int r;

	r = read_label(bdev, &label, &reason);
	if (r)
		return refuse(plan, r, "Tier %u (%pg): %s", rank, bdev, reason);
	for (i = 0; i < tt->nr_tiers; i++)
		if (!memcmp(label.tier_uuid, plan->tiers[i].uuid, TIER_UUID_SIZE))
			break;
	if (i == rank)
		return 0;
	return refuse(plan, -EINVAL, i < tt->nr_tiers ?
		      "Tier %u (%pg) is the same device as tier %u, by another name" :
		      "Tier %u (%pg): its label is overwritten by something else", rank, bdev, i);
}

/*
 * A tier whose label cannot be written stays in the set, unless it joins or grows.  The tier
 * is marked as failing writes, and its record still accepts the old label.
 */
static int write_labels(struct tier_target *tt, struct tier_plan *plan,
			const struct tier_meta_info *info)
{
	unsigned int i;
	int r;

	for (i = 0; i < tt->nr_tiers; i++) {
		struct tier_meta_tier *rec = &plan->tiers[i];

		if (!tt->devs[i])
			continue;
		r = plan->joining[i] ?
		    wipe(tt->devs[i]->bdev, tier_label_area(tt->chunk_sectors)) : 0;
		r = r ? : write_label(tt, plan, info, i, !plan->label_slot[i]);
		if (r && (plan->joining[i] || plan->grown[i]))
			return refuse(plan, r, "Tier %u (%pg): cannot write the label", i,
				      tt->devs[i]->bdev);
		if (r) {
			DMERR("%s: tier %u (%pg): cannot write the label (%d)",
			      dm_device_name(tt->md), i, tt->devs[i]->bdev, r);
			plan->unlabelled[i] = true;
			rec->next_generation = info->next_generation;
		} else {
			rec->generation = info->next_generation;
			rec->next_generation = 0;
		}
		snprintf(rec->last_seen, sizeof(rec->last_seen), "%pg", tt->devs[i]->bdev);
	}
	for (i = 0, r = 0; !r && i < tt->nr_tiers; i++)
		if (plan->joining[i])
			r = find_twin(tt, plan, i);
	return r;
}

static int write_recs(struct tier_target *tt, struct tier_plan *plan, struct tier_metadata *md)
{
	unsigned int i;
	int r = 0;

	for (i = 0; !r && i < tt->nr_tiers; i++)
		r = tier_metadata_set_tier(md, &plan->tiers[i]);
	return r;
}

static int refuse_commit(struct tier_target *tt, struct tier_plan *plan, int error)
{
	return refuse(plan, error, error == -ENOSPC ?
		      "Metadata %pg: there is no room for a new generation; grow it" :
		      "Metadata %pg: cannot commit", tt->metadata->bdev);
}

/* The labels are written; r: how the changes of the metadata went.  Commits what info says. */
static int commit_plan(struct tier_target *tt, struct tier_plan *plan, struct tier_metadata *md,
		       struct tier_meta_info *info, int r)
{
	if (!r) {
		info->generation = info->next_generation;
		tier_metadata_set_info(md, info);
		r = tier_metadata_commit(md, false);
	}
	if (r)
		return refuse_commit(tt, plan, r);
	copy_labels(tt, plan, info);
	plan->info = *info;
	return 0;
}

/* A format was cut short: wipes the labels first, as the superblock explains them. */
static int undo_format(struct tier_target *tt, struct tier_plan *plan)
{
	unsigned int i;
	int r;

	for (i = 0; i < tt->nr_tiers; i++) {
		r = wipe(tt->devs[i]->bdev, TIER_LABEL_AREA_MIN);
		if (r)
			return refuse(plan, r, "Tier %u (%pg): cannot be written", i,
				      tt->devs[i]->bdev);
	}
	r = wipe(tt->metadata->bdev, TIER_METADATA_BLOCK_SECTORS);
	if (r)
		return refuse(plan, r, "Metadata %pg: cannot be written", tt->metadata->bdev);
	return 0;
}

/* Checks that no tier is the metadata device by another name, before tiers are written. */
static int find_metadata_twin(struct tier_target *tt, struct tier_plan *plan, const u8 *uuid)
{
	struct tier_meta_info found;
	const char *reason;
	unsigned int i;

	for (i = 0; i < tt->nr_tiers; i++)
		if (!tier_metadata_read_superblock(tt->devs[i]->bdev, &found, &reason) &&
		    !memcmp(found.uuid, uuid, TIER_UUID_SIZE))
			return refuse(plan, -EINVAL,
				      "Tier %u (%pg) is the same device as the metadata, by another name",
				      i, tt->devs[i]->bdev);
	return 0;
}

int tier_plan_format(struct tier_target *tt, struct tier_plan *plan)
{
	struct tier_meta_info info = {
		.state = TIER_STATE_FORMATTING, .chunk_sectors = tt->chunk_sectors,
		.nr_chunks = dm_sector_div_up(tt->ti->len, tt->chunk_sectors),
		.length = tt->ti->len, .reserve = plan->reserve, .next_generation = 1,
	};
	struct tier_metadata *md;
	const char *reason;
	unsigned int i;
	int r;

	if (plan->info.state == TIER_STATE_FORMATTING) {
		r = undo_format(tt, plan);
		if (r)
			return r;
	}
	choose_uuid(tt->md, info.uuid);
	note_names(tt, &info);
	info.logical_block_size = SECTOR_SIZE;
	for (i = 0; i < tt->nr_tiers; i++) {
		plan->tiers[i].id = i;
		generate_random_uuid(plan->tiers[i].uuid);
		info.logical_block_size = max(info.logical_block_size,
					      bdev_logical_block_size(tt->devs[i]->bdev));
	}

	md = tier_metadata_format(tt->metadata->bdev, &info, &reason);
	if (IS_ERR(md))
		return refuse(plan, PTR_ERR(md), "Metadata %pg: %s", tt->metadata->bdev, reason);
	r = find_metadata_twin(tt, plan, info.uuid) ? : write_labels(tt, plan, &info);
	info.state = TIER_STATE_LIVE;
	r = r ? : commit_plan(tt, plan, md, &info, write_recs(tt, plan, md));
	if (r)
		tier_metadata_close(md);
	else
		tt->set->metadata = md;
	return r;
}

/* The lowest id that is not in use, counted from the last given. */
static unsigned int free_id(const struct tier_plan *plan)
{
	unsigned int id, highest = 0;

	for (id = 0; id < 255; id++)
		if (plan->known[id])
			highest = id;
	/* At most 32 are taken. */
	for (id = (highest + 1) % 255; plan->known[id]; id = (id + 1) % 255)
		;
	return id;
}

/* Pins that are removed between two commits, at most. */
#define FORGET_BATCH 16384

/* Chunks that are pinned to tiers that leave the set. */
struct lost_pins {
	bool kept[256];
	u64 nr_chunks;
	unsigned long *chunks;
};

static int note_lost_pins(void *context, u32 first, u32 nr, const __le64 *entries)
{
	struct lost_pins *lost = context;
	u32 i;

	for (i = 0; i < nr; i++) {
		u8 pin = tier_word_pin(le64_to_cpu(entries[i]));

		if (pin && !lost->kept[pin - 1])
			__set_bit(first + i, lost->chunks);
	}
	return 0;
}

/* *chunk is the first such chunk; it becomes the next one. */
static int forget_some_pins(struct tier_metadata *md, struct lost_pins *lost, unsigned long *chunk)
{
	u32 nr;
	int r = 0;

	for (nr = FORGET_BATCH; !tier_metadata_has_room(md, nr); nr /= 2)
		if (nr == 1)
			return -ENOSPC;
	while (!r && nr-- && *chunk < lost->nr_chunks) {
		cond_resched();
		r = tier_metadata_set_pin(md, *chunk, 0);
		*chunk = find_next_bit(lost->chunks, lost->nr_chunks, *chunk + 1);
	}
	return r ? : tier_metadata_commit(md, false);
}

/* Pins to a tier that leaves are removed: another tier may get the same id. */
static int forget_pins(struct tier_metadata *md, const struct tier_plan *plan, unsigned int nr)
{
	struct lost_pins lost = { .nr_chunks = plan->info.nr_chunks };
	bool dropping = false;
	unsigned long chunk;
	unsigned int i;
	int r;

	for (i = 0; i < 256; i++) {
		lost.kept[i] = tier_plan_has(plan, nr, i);
		dropping |= plan->known[i] && !lost.kept[i];
	}
	if (!dropping)
		return 0;
	lost.chunks = vzalloc(BITS_TO_LONGS(lost.nr_chunks) * sizeof(long));
	if (!lost.chunks)
		return -ENOMEM;
	r = tier_metadata_load_map(md, note_lost_pins, &lost);
	chunk = find_first_bit(lost.chunks, lost.nr_chunks);
	while (!r && chunk < lost.nr_chunks)
		r = forget_some_pins(md, &lost, &chunk);
	vfree(lost.chunks);
	return r;
}

/*
 * Announces the next generation in the record of each tier whose label will be written.  So
 * the old label and the new one are accepted if this is cut short, also by a later activation
 * while the tier is away.
 */
static int announce_labels(struct tier_set *set, struct tier_target *tt,
			   struct tier_plan *plan, u64 generation)
{
	unsigned int rank;
	int r = 0;

	for (rank = 0; !r && rank < tt->nr_tiers; rank++) {
		u8 id = plan->tiers[rank].id;
		struct tier_meta_tier rec;

		if (!tt->devs[rank] || plan->joining[rank])
			continue;
		rec = *rec_of(&plan->found, id);
		rec.next_generation = generation;
		r = tier_metadata_set_tier(set->metadata, &rec);
		if (set->by_id[id])
			set->by_id[id]->rec.next_generation = generation;
	}
	return r;
}

/*
 * Bumps the generation, and with it writes every change of the list: next_generation is
 * committed, for the set and each tier whose label is to be written; the labels are written; the
 * tiers' records and the generation are committed.
 */
int tier_plan_join(struct tier_set *set, struct tier_target *tt, struct tier_plan *plan)
{
	u64 nr_chunks = dm_sector_div_up(tt->ti->len, tt->chunk_sectors);
	struct tier_metadata *md = set->metadata;
	struct tier_meta_info info;
	unsigned int i, id;
	int r;

	r = forget_pins(md, plan, tt->nr_tiers);
	if (r)
		return refuse(plan, r, "Metadata %pg: cannot forget the pins to a tier that goes",
			      tt->metadata->bdev);
	tier_metadata_get_info(md, &info);
	note_names(tt, &info);
	info.next_generation++;
	for (i = 0; i < tt->nr_tiers; i++) {
		if (!plan->joining[i])
			continue;
		id = free_id(plan);
		plan->tiers[i].id = id;
		plan->known[id] = true;
		generate_random_uuid(plan->tiers[i].uuid);
		plan->tiers[i].rank = i;
	}
	tier_metadata_set_info(md, &info);
	r = announce_labels(set, tt, plan, info.next_generation) ? :
	    tier_metadata_commit(md, false);
	if (r)
		return refuse_commit(tt, plan, r);
	r = write_labels(tt, plan, &info);
	if (r)
		return r;

	for (i = 0; !r && i < 256; i++)
		if (plan->known[i] && !tier_plan_has(plan, tt->nr_tiers, i))
			r = tier_metadata_remove_tier(md, i);
	r = r ? : write_recs(tt, plan, md);
	if (!r && info.nr_chunks != nr_chunks)
		r = tier_metadata_resize(md, nr_chunks);
	tier_metadata_get_info(md, &info);
	info.length = tt->ti->len;
	return commit_plan(tt, plan, md, &info, r);
}
