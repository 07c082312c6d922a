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

int tier_metadata_set_wear(struct tier_metadata *md, u8 id, u32 wear)
{
	int r = tier_md_begin_change(md, SMALL_CHANGE);
	struct tier_record record;
	u64 key = id;

	if (r)
		return r;
	r = dm_btree_lookup(&md->tiers_info, md->roots.tiers, &key, &record);
	/* An error of finding it leaves all as it was. */
	if (r)
		return tier_md_unlock(md, r);
	record.wear = cpu_to_le32(wear);
	return tier_md_end_change(md, dm_btree_insert(&md->tiers_info, md->roots.tiers, &key,
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

static_assert(TIER_HEAT_PER_BLOCK ==
	      (TIER_METADATA_BLOCK_SIZE - TIER_ARRAY_HEAD_SIZE) / sizeof(__le32));

static u32 values_in(const struct tier_metadata *md, u64 block)
{
	return min_t(u64, TIER_HEAT_PER_BLOCK, md->info.nr_chunks - block * TIER_HEAT_PER_BLOCK);
}

static int __find_heat(struct tier_metadata *md, u64 block, __le64 *b)
{
	int r = dm_btree_lookup(&md->heat_info.btree_info, md->roots.heat, &block, b);

	return r == -ENODATA ? -EILSEQ : r;
}

static int __walk_heat(struct tier_metadata *md)
{
	return __tier_walk_btree(&md->heat_info.btree_info, md->roots.heat,
				 DIV_ROUND_UP_ULL(md->info.nr_chunks, TIER_HEAT_PER_BLOCK),
				 NULL, NULL, NULL);
}

static bool is_heat(const struct array_block *ab, u64 b, u32 nr)
{
	return le64_to_cpu(ab->blocknr) == b && le32_to_cpu(ab->nr_entries) == nr &&
	       le32_to_cpu(ab->value_size) == sizeof(__le32) &&
	       le32_to_cpu(ab->csum) == tier_checksum(&ab->max_entries, TIER_METADATA_BLOCK_SIZE -
						      sizeof(ab->csum), ARRAY_CSUM_XOR);
}

int tier_metadata_read_heat(struct tier_metadata *md, u32 block, u32 *values)
{
	struct array_block *ab;
	u32 i, nr = 0;
	bool there = true;
	__le64 b = 0;
	int r = -EIO;

	down_read(&md->lock);
	if (!md->failed) {
		there = (u64)block * TIER_HEAT_PER_BLOCK < md->info.nr_chunks;
		/* The library would follow a damaged index for ever. */
		r = !there ? 0 : (block ? 0 : __walk_heat(md)) ? : __find_heat(md, block, &b);
		nr = there ? values_in(md, block) : 0;
	}
	up_read(&md->lock);
	/* A table may be longer than what it may write. */
	if (!there)
		memset(values, 0, TIER_HEAT_PER_BLOCK * sizeof(*values));
	if (r || !there)
		return r;
	/* Past the cache: each block is read once. */
	ab = tier_md_read_block(md->bdev, le64_to_cpu(b));
	if (IS_ERR(ab))
		return PTR_ERR(ab);
	if (!is_heat(ab, le64_to_cpu(b), nr)) {
		DMERR_LIMIT("%pg: block %u of heat is damaged", md->bdev, block);
		r = -EILSEQ;
	}
	for (i = 0; i < TIER_HEAT_PER_BLOCK; i++)
		values[i] = i < nr ? le32_to_cpu(((__le32 *)(ab + 1))[i]) : 0;
	kfree(ab);
	return r;
}

struct heat_list {
	const u32 *list, *heat;
};

static int give_value(u32 index, void *value_le, void *context)
{
	const struct heat_list *l = context;
	u64 chunk = (u64)l->list[index / TIER_HEAT_PER_BLOCK] * TIER_HEAT_PER_BLOCK +
		    index % TIER_HEAT_PER_BLOCK;

	*(__le32 *)value_le = cpu_to_le32(READ_ONCE(l->heat[chunk]));
	return 0;
}

/* Puts block `index` of the array in the place of a block of heat. */
static int __replace_heat(struct tier_metadata *md, u64 block, u64 array, u64 index)
{
	struct dm_btree_info blocks = md->heat_info.btree_info;
	__le64 b, old;
	int r;

	/* This would look into the old block. */
	blocks.value_type.dec = NULL;
	r = __find_heat(md, block, &old) ? : dm_btree_lookup(&blocks, array, &index, &b) ? :
	    dm_btree_insert(&blocks, md->roots.heat, &block, &b, &md->roots.heat);
	return r ? : md->sm->dec_blocks(md->sm, le64_to_cpu(old), le64_to_cpu(old) + 1);
}

/* dm_array_set_value() would copy each block, and so read it.  An array of new ones lends them. */
static int __write_heat(struct tier_metadata *md, const u32 *list, unsigned int nr,
			const u32 *heat)
{
	struct heat_list l = { .list = list, .heat = heat };
	unsigned int i;
	u64 array;
	int r;

	r = dm_array_new(&md->heat_info, &array, (nr - 1) * TIER_HEAT_PER_BLOCK +
			 values_in(md, list[nr - 1]), give_value, &l);
	for (i = 0; !r && i < nr; i++)
		r = __replace_heat(md, list[i], array, i);
	/* Its blocks have changed hands: this is its root. */
	return r ? : md->sm->dec_blocks(md->sm, array, array + 1);
}

int tier_metadata_write_heat(struct tier_metadata *md, const u32 *list, unsigned int nr,
			     const u32 *heat)
{
	unsigned int i;
	__le64 old;
	int r;

	/* The last of the room is for what cannot be done without. */
	r = tier_md_begin_change(md, TIER_SMALL_BATCH);
	if (r)
		return r;
	/* The nodes that will change are read before. */
	for (i = 0; !r && i < nr; i++)
		r = __find_heat(md, list[i], &old);
	return r ? tier_md_unlock(md, r) : tier_md_end_change(md, __write_heat(md, list, nr, heat));
}
