// SPDX-License-Identifier: GPL-2.0-only
/* What the metadata stores: tiers, tunables, mapping and heat. */
#include "metadata/internal.h"

/* A tier or a tunable costs a path of a small tree. */
#define SMALL_CHANGE 2

static int load_btree(struct tier_metadata *md, const struct dm_btree_info *info, const u64 *root,
		      unsigned int max, int (*fn)(void *context, u64 key, const void *value),
		      void *context)
{
	int r;

	down_read(&md->lock);
	r = md->failed ? -EIO : __tier_walk_btree(info, *root, max, NULL, fn, context);
	up_read(&md->lock);
	return r;
}

/* ---- tiers and tunables ---- */

static int load_tier(void *context, u64 key, const void *value)
{
	struct tier_meta_tiers *tiers = context;
	int r;

	/* There is room: no more than TIER_MAX_TIERS are read. */
	r = tier_record_unpack(key, value, &tiers->tier[tiers->nr]);
	if (r)
		DMERR_LIMIT("record of tier %llu is damaged", (unsigned long long)key);
	else
		tiers->nr++;
	return r;
}

int tier_metadata_load_tiers(struct tier_metadata *md, struct tier_meta_tiers *tiers)
{
	tiers->nr = 0;
	return load_btree(md, &md->tiers_info, &md->roots.tiers, TIER_MAX_TIERS, load_tier, tiers);
}

int tier_metadata_set_tier(struct tier_metadata *md, const struct tier_meta_tier *t)
{
	struct tier_meta_tier check;
	struct tier_record record;
	u64 key = t->id;
	int r;

	tier_record_pack(&record, t);
	if (tier_record_unpack(key, &record, &check))
		return -EINVAL;
	r = tier_md_begin_change(md, SMALL_CHANGE);
	return r ? : tier_md_end_change(md, dm_btree_insert(&md->tiers_info, md->roots.tiers, &key,
							    &record, &md->roots.tiers));
}

int tier_metadata_remove_tier(struct tier_metadata *md, u8 id)
{
	int r = tier_md_begin_change(md, SMALL_CHANGE);
	u64 key = id;

	return r ? : tier_md_end_change(md, dm_btree_remove(&md->tiers_info, md->roots.tiers,
							    &key, &md->roots.tiers));
}

struct find_tunable {
	const char *name;
	u64 key, value;
};

/* Goes on to the end, so that each record is judged. */
static int match_tunable(void *context, u64 key, const void *value)
{
	const struct tier_tunable_record *t = value;
	struct find_tunable *find = context;

	if (!memchr(t->name, 0, sizeof(t->name))) {
		DMERR_LIMIT("tunable %llu is damaged", (unsigned long long)key);
		return -EILSEQ;
	}
	if (!strcmp((const char *)t->name, find->name)) {
		find->key = key;
		find->value = le64_to_cpu(t->value);
	}
	return 0;
}

int tier_metadata_get_tunable(struct tier_metadata *md, const char *name, u64 *value)
{
	struct find_tunable find = { .name = name, .value = *value };
	int r = load_btree(md, &md->tunables_info, &md->roots.tunables, TIER_MAX_TUNABLES,
			   match_tunable, &find);

	*value = find.value;
	return r;
}

int tier_metadata_set_tunable(struct tier_metadata *md, const char *name, u64 value)
{
	struct tier_tunable_record record = { .value = cpu_to_le64(value) };
	struct find_tunable find = { .name = name };
	int r;

	if (!*name || strscpy((char *)record.name, name, sizeof(record.name)) < 0)
		return -EINVAL;
	r = tier_md_begin_change(md, SMALL_CHANGE);
	if (r)
		return r;
	find.key = md->roots.nr_tunables;
	r = __tier_walk_btree(&md->tunables_info, md->roots.tunables, TIER_MAX_TUNABLES, NULL,
			      match_tunable, &find);
	if (!r && find.key >= TIER_MAX_TUNABLES)
		r = -ENOSPC;
	if (r)
		return tier_md_unlock(md, r);
	r = dm_btree_insert(&md->tunables_info, md->roots.tunables, &find.key, &record,
			    &md->roots.tunables);
	if (!r && find.key == md->roots.nr_tunables)
		md->roots.nr_tunables++;
	return tier_md_end_change(md, r);
}

/* ---- arrays ---- */

struct load_map {
	int (*fn)(void *context, u32 first, u32 nr, const __le64 *entries);
	void *context;
};

static int load_entries(void *context, u64 index, u32 nr, const void *values)
{
	const struct load_map *load = context;
	const __le64 *entries = values;
	u32 i;

	for (i = 0; i < nr; i++) {
		if (entries[i] & cpu_to_le64(~TIER_ENTRY_DISK_MASK)) {
			DMERR_LIMIT("mapping entry %llu is damaged", index + i);
			return -EILSEQ;
		}
	}
	return load->fn(load->context, index, nr, entries);
}

int tier_metadata_load_map(struct tier_metadata *md,
			   int (*fn)(void *context, u32 first, u32 nr, const __le64 *entries),
			   void *context)
{
	struct load_map load = { .fn = fn, .context = context };
	int r;

	if (!READ_ONCE(md->counted)) {
		tier_md_lock(md);
		return tier_md_unlock(md, md->failed ? -EIO :
				      __tier_md_walk_mapping(md, load_entries, &load));
	}
	/* The census is not made again, and others may go on. */
	down_read(&md->lock);
	r = md->failed ? -EIO : __tier_md_walk_mapping(md, load_entries, &load);
	up_read(&md->lock);
	return r;
}

/* Changes the bits of mask. */
static int change_entry(struct tier_metadata *md, u32 chunk, u64 mask, u64 bits)
{
	__le64 value = 0;
	int r;

	if (bits & ~mask)
		return -EINVAL;
	/* A batch that was refused in its middle would be a failed commit. */
	r = tier_md_begin_change(md, 0);
	if (r)
		return r;
	if (chunk >= md->info.nr_chunks)
		return tier_md_unlock(md, -EINVAL);
	if (mask != TIER_ENTRY_DISK_MASK)
		r = dm_array_get_value(&md->mapping_info, md->roots.mapping, chunk, &value);
	value = cpu_to_le64((le64_to_cpu(value) & ~mask) | bits);
	if (!r)
		r = dm_array_set_value(&md->mapping_info, md->roots.mapping, chunk,
				       &value, &md->roots.mapping);
	return tier_md_end_change(md, r);
}

int tier_metadata_set_entry(struct tier_metadata *md, u32 chunk, u64 entry)
{
	return change_entry(md, chunk, TIER_ENTRY_DISK_MASK, entry);
}

int tier_metadata_set_pin(struct tier_metadata *md, u32 chunk, u8 pin)
{
	return change_entry(md, chunk, 0xffULL << TIER_ENTRY_PIN_SHIFT,
			    (u64)pin << TIER_ENTRY_PIN_SHIFT);
}

static u64 arrays_space(u64 nr)
{
	return tier_md_array_space(nr, sizeof(__le64)) + tier_md_array_space(nr, sizeof(__le32));
}

static bool __has_room_to_grow(struct tier_metadata *md, u64 nr_chunks)
{
	u64 old = arrays_space(md->info.nr_chunks), new = arrays_space(nr_chunks);

	return __tier_md_free(md) >= (new > old ? new - old : 0) + 4 * __tier_md_commit_room(md);
}

int tier_metadata_resize(struct tier_metadata *md, u64 nr_chunks)
{
	u32 old;
	int r;

	r = tier_md_begin_change(md, SMALL_CHANGE);
	if (r)
		return r;
	old = md->info.nr_chunks;
	/* The library trusts the sizes it is given: the census has seen that they are right. */
	if (!__has_room_to_grow(md, nr_chunks))
		return tier_md_unlock(md, -ENOSPC);
	return tier_md_end_change(md, __tier_md_resize(md, old, nr_chunks));
}

/* ---- heat ---- */

static int load_heat(void *context, u64 index, u32 nr, const void *values)
{
	const __le32 *from = values;
	u32 *heat = context, i;

	for (i = 0; i < nr; i++)
		heat[index + i] = le32_to_cpu(from[i]);
	return 0;
}

int tier_metadata_load_heat(struct tier_metadata *md, u32 *heat)
{
	u64 nr;
	int r = -EIO;

	down_read(&md->lock);
	nr = md->info.nr_chunks;
	if (!md->failed)
		r = __tier_walk_array(&md->heat_info, md->roots.heat, nr, 0, nr, NULL, load_heat,
				      heat);
	up_read(&md->lock);
	return r;
}

#define HEAT_PER_BLOCK tier_md_per_block(sizeof(__le32))

/* Values compared at a time: to get to a window costs a step for each block before it. */
#define HEAT_WINDOW (16384 * HEAT_PER_BLOCK)

struct save_heat {
	const u32 *heat;
	u64 nr_chunks;
	u64 first, end;		/* of the window */
	unsigned long *changed;	/* a bit for each value of the window */
};

static int compare_heat(void *context, u64 index, u32 nr, const void *values)
{
	struct save_heat *save = context;
	const __le32 *saved = values;
	u32 i;

	for (i = 0; i < nr; i++)
		if (le32_to_cpu(saved[i]) != READ_ONCE(save->heat[index + i]))
			__set_bit(index + i - save->first, save->changed);
	return 0;
}

/* bit: the first changed value of a block that ends with bit end - 1. */
static int save_heat_block(struct tier_metadata *md, struct save_heat *save,
			   unsigned long bit, unsigned long end)
{
	__le32 value;
	u64 index;
	int r;

	/* The last of the room is for what cannot be done without. */
	r = tier_md_begin_change(md, TIER_SMALL_BATCH);
	if (r)
		return r;
	while (!r && bit < end) {
		index = save->first + bit;
		value = cpu_to_le32(READ_ONCE(save->heat[index]));
		r = dm_array_set_value(&md->heat_info, md->roots.heat, index,
				       &value, &md->roots.heat);
		bit = find_next_bit(save->changed, end, bit + 1);
	}
	return tier_md_end_change(md, r);
}

static int save_heat_window(struct tier_metadata *md, struct save_heat *save)
{
	unsigned long nr = save->end - save->first, bit, end;
	int r = -EIO;

	memset(save->changed, 0, BITS_TO_LONGS(nr) * sizeof(long));
	down_read(&md->lock);
	if (md->read_only)
		r = -EROFS;
	else if (!md->failed)
		r = __tier_walk_array(&md->heat_info, md->roots.heat, save->nr_chunks, save->first,
				      save->end, NULL, compare_heat, save);
	up_read(&md->lock);
	for (bit = 0; !r; bit = end) {
		bit = find_next_bit(save->changed, nr, bit);
		if (bit >= nr)
			break;
		end = min_t(unsigned long, nr, roundup(bit + 1, HEAT_PER_BLOCK));
		r = save_heat_block(md, save, bit, end);
		cond_resched();
	}
	return r;
}

/* Compared in one go, but written block by block: the lock is dropped between them. */
int tier_metadata_save_heat(struct tier_metadata *md, const u32 *heat)
{
	struct save_heat save = { .heat = heat };
	unsigned int noio = memalloc_noio_save();
	struct tier_meta_info info;
	int r = 0;

	tier_metadata_get_info(md, &info);
	save.nr_chunks = info.nr_chunks;
	save.changed = vmalloc(BITS_TO_LONGS(min_t(u64, info.nr_chunks, HEAT_WINDOW)) *
			       sizeof(long));
	memalloc_noio_restore(noio);
	if (!save.changed)
		return -ENOMEM;
	for (; !r && save.first < save.nr_chunks; save.first = save.end) {
		save.end = min_t(u64, save.nr_chunks, save.first + HEAT_WINDOW);
		r = save_heat_window(md, &save);
	}
	vfree(save.changed);
	return r;
}
