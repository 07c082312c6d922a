// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the metadata stores: tiers, tunables, mapping and heat.
 */
#include "dm-tier-metadata-internal.h"

#include <linux/bitmap.h>
#include <linux/device-mapper.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/vmalloc.h>

#define DM_MSG_PREFIX "tier metadata"

/* A tier or a tunable costs a path of a small tree. */
#define SMALL_CHANGE 2

static void init_array(struct dm_array_info *info,
		       struct dm_transaction_manager *tm, u32 size)
{
	struct dm_btree_value_type vt = { .size = size };

	dm_array_info_init(info, tm, &vt);
}

static void init_btree(struct dm_btree_info *info,
		       struct dm_transaction_manager *tm, u32 size)
{
	*info = (struct dm_btree_info) {
		.tm = tm,
		.levels = 1,
		.value_type = { .size = size },
	};
}

void tier_md_init_infos(struct tier_metadata *md)
{
	init_array(&md->mapping_info, md->tm, sizeof(__le64));
	init_array(&md->heat_info, md->tm, sizeof(__le32));
	init_btree(&md->tiers_info, md->tm, sizeof(struct tier_record));
	init_btree(&md->tunables_info, md->tm, sizeof(struct tier_tunable_record));
}

static int __resize_array(struct dm_array_info *info, u64 *root,
			  u32 old_size, u32 new_size)
{
	u32 per_block = tier_md_per_block(info->value_type.size);
	u64 last = new_size / per_block;
	const __le64 zero = 0;
	int r;

	r = dm_array_resize(info, *root, old_size, new_size, &zero, root);
	/* The library forgets the last block of an array that now ends where it begins. */
	if (!r && new_size < old_size && !(new_size % per_block) && old_size / per_block == last) {
		r = dm_btree_remove(&info->btree_info, *root, &last, root);
		/* Another version of it may not. */
		if (r == -ENODATA)
			r = 0;
	}
	return r;
}

int __tier_md_create_content(struct tier_metadata *md)
{
	u32 nr = md->info.nr_chunks;
	int r;

	r = dm_array_empty(&md->mapping_info, &md->roots.mapping);
	if (!r)
		r = __resize_array(&md->mapping_info, &md->roots.mapping, 0, nr);
	if (!r)
		r = dm_array_empty(&md->heat_info, &md->roots.heat);
	if (!r)
		r = __resize_array(&md->heat_info, &md->roots.heat, 0, nr);
	if (!r)
		r = dm_btree_empty(&md->tiers_info, &md->roots.tiers);
	if (!r)
		r = dm_btree_empty(&md->tunables_info, &md->roots.tunables);
	return r;
}

/*
 * Tiers and tunables
 */

union small_value {
	struct tier_record tier;
	struct tier_tunable_record tunable;
};

/*
 * The library takes the size of a leaf's values from the tree's user, and where
 * they lie from the leaf: if these differ, it reads and writes past the block.
 */
static bool leaf_fits(const struct dm_btree_cursor *cursor, u32 value_size)
{
	const struct node_header *leaf;

	if (!cursor->depth)
		return true;
	leaf = dm_block_data(cursor->nodes[cursor->depth - 1].b);
	return le32_to_cpu(leaf->value_size) == value_size;
}

/* What dm_btree_cursor_get_value() copies; of a leaf that fits. */
static const void *leaf_value(const struct dm_btree_cursor *cursor)
{
	const struct cursor_node *node = &cursor->nodes[cursor->depth - 1];
	const struct node_header *leaf = dm_block_data(node->b);

	return (const u8 *)(leaf + 1) + le32_to_cpu(leaf->max_entries) * sizeof(__le64) +
	       node->index * le32_to_cpu(leaf->value_size);
}

/* Calls fn for up to max values in order of key; fn returns non-zero to stop. */
static int __walk_btree(const struct dm_btree_info *info, u64 root, unsigned int max,
			int (*fn)(void *context, u64 key,
				  const union small_value *value),
			void *context)
{
	u32 value_size = info->value_type.size;
	struct dm_btree_info nodes = *info;
	struct dm_btree_cursor cursor;
	union small_value value;
	u64 key, last = 0;
	unsigned int i;
	__le64 ignored;
	int r;

	/*
	 * At a node that is no leaf the library's cursor stops the kernel, unless the
	 * tree's values have the size of a block's number.
	 */
	nodes.value_type.size = sizeof(ignored);
	r = dm_btree_cursor_begin(&nodes, root, false, &cursor);
	for (i = 0; !r; i++) {
		if (!leaf_fits(&cursor, value_size)) {
			r = -EILSEQ;
			break;
		}
		r = dm_btree_cursor_get_value(&cursor, &key, &ignored);
		if (r)
			break;
		memcpy(&value, leaf_value(&cursor), value_size);
		/* The order rules out a damaged tree that never ends. */
		if (i == max || (i && key <= last)) {
			r = -EILSEQ;
			break;
		}
		last = key;
		r = fn(context, key, &value);
		if (r)
			goto out;
		r = dm_btree_cursor_next(&cursor);
	}
	if (r == -ENODATA)
		r = 0;
out:
	dm_btree_cursor_end(&cursor);
	return r;
}

struct load_tiers {
	int (*fn)(void *context, const struct tier_meta_tier *t);
	void *context;
};

static int load_tier(void *context, u64 key, const union small_value *value)
{
	struct load_tiers *load = context;
	struct tier_meta_tier t;
	int r;

	r = tier_record_unpack(key, &value->tier, &t);
	if (r) {
		DMERR_LIMIT("record of tier %llu is damaged",
			    (unsigned long long)key);
		return r;
	}
	return load->fn(load->context, &t);
}

int tier_metadata_load_tiers(struct tier_metadata *md,
			     int (*fn)(void *context, const struct tier_meta_tier *t),
			     void *context)
{
	struct load_tiers load = { .fn = fn, .context = context };
	int r = -EIO;

	down_read(&md->lock);
	if (!md->failed)
		r = __walk_btree(&md->tiers_info, md->roots.tiers,
				 TIER_MAX_TIERS, load_tier, &load);
	up_read(&md->lock);
	return r;
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
	if (r)
		return r;
	r = dm_btree_insert(&md->tiers_info, md->roots.tiers, &key, &record,
			    &md->roots.tiers);
	return tier_md_end_change(md, r);
}

int tier_metadata_remove_tier(struct tier_metadata *md, u8 id)
{
	struct tier_record record;
	u64 key = id;
	int r;

	r = tier_md_begin_change(md, SMALL_CHANGE);
	if (r)
		return r;
	r = dm_btree_lookup(&md->tiers_info, md->roots.tiers, &key, &record);
	if (r) {
		tier_md_unlock(md);
		return r;
	}
	r = dm_btree_remove(&md->tiers_info, md->roots.tiers, &key,
			    &md->roots.tiers);
	return tier_md_end_change(md, r);
}

struct load_tunables {
	int (*fn)(void *context, const char *name, u64 value);
	void *context;
};

static int load_tunable(void *context, u64 key, const union small_value *value)
{
	const struct tier_tunable_record *t = &value->tunable;
	struct load_tunables *load = context;

	if (!memchr(t->name, 0, sizeof(t->name))) {
		DMERR_LIMIT("tunable %llu is damaged", (unsigned long long)key);
		return -EILSEQ;
	}
	return load->fn(load->context, (const char *)t->name,
			le64_to_cpu(t->value));
}

int tier_metadata_load_tunables(struct tier_metadata *md,
				int (*fn)(void *context, const char *name, u64 value),
				void *context)
{
	struct load_tunables load = { .fn = fn, .context = context };
	int r = -EIO;

	down_read(&md->lock);
	if (!md->failed)
		r = __walk_btree(&md->tunables_info, md->roots.tunables,
				 TIER_MAX_TUNABLES, load_tunable, &load);
	up_read(&md->lock);
	return r;
}

struct find_tunable {
	const u8 *name;		/* TIER_TUNABLE_NAME_SIZE bytes, zero-filled */
	u64 key;
};

static int match_tunable(void *context, u64 key, const union small_value *value)
{
	struct find_tunable *find = context;

	if (memcmp(find->name, value->tunable.name, TIER_TUNABLE_NAME_SIZE))
		return 0;
	find->key = key;
	return 1;
}

static int __set_tunable(struct tier_metadata *md,
			 struct tier_tunable_record *record, u64 key)
{
	int r;

	r = dm_btree_insert(&md->tunables_info, md->roots.tunables, &key,
			    record, &md->roots.tunables);
	if (!r && key == md->roots.nr_tunables)
		md->roots.nr_tunables++;
	return r;
}

int tier_metadata_set_tunable(struct tier_metadata *md, const char *name, u64 value)
{
	struct tier_tunable_record record = { .value = cpu_to_le64(value) };
	struct find_tunable find = { .name = record.name };
	int r;

	if (!*name || strscpy((char *)record.name, name, sizeof(record.name)) < 0)
		return -EINVAL;

	r = tier_md_begin_change(md, SMALL_CHANGE);
	if (r)
		return r;
	r = __walk_btree(&md->tunables_info, md->roots.tunables,
			 TIER_MAX_TUNABLES, match_tunable, &find);
	if (!r) {
		find.key = md->roots.nr_tunables;
		if (find.key >= TIER_MAX_TUNABLES)
			r = -ENOSPC;
	}
	if (r < 0) {
		tier_md_unlock(md);
		return r;
	}
	return tier_md_end_change(md, __set_tunable(md, &record, find.key));
}

/*
 * Arrays
 */

/*
 * Not if a parent's key is less than the child's first one: whoever looks for one between
 * them ends up in that child, in front of all it has, and the commit fails.
 */
static bool parents_lead_here(const struct dm_btree_cursor *cursor, u64 key)
{
	const struct cursor_node *node = &cursor->nodes[cursor->depth - 1];

	for (; node > cursor->nodes && !node->index; node--) {
		const struct node_header *parent = dm_block_data(node[-1].b);
		const __le64 *keys = (const __le64 *)(parent + 1);

		if (le64_to_cpu(keys[node[-1].index]) < key)
			return false;
	}
	return true;
}

/*
 * Whether the block the cursor just entered is the one that holds index, with
 * as many values of the right size as an array of nr has there.  Checking this
 * for every block finds any tree that the library would stumble over.
 */
static bool block_in_place(struct dm_array_cursor *cursor, u64 index, u64 nr)
{
	u32 size = cursor->info->value_type.size;
	u32 per_block = tier_md_per_block(size);
	__le64 block;
	u64 key;

	return le32_to_cpu(cursor->ab->value_size) == size &&
	       le32_to_cpu(cursor->ab->max_entries) == per_block &&
	       leaf_fits(&cursor->cursor, sizeof(block)) &&
	       !dm_btree_cursor_get_value(&cursor->cursor, &key, &block) &&
	       parents_lead_here(&cursor->cursor, key) &&
	       key < nr && key * per_block == index &&
	       le32_to_cpu(cursor->ab->nr_entries) == min_t(u64, per_block, nr - index);
}

/*
 * Calls fn for the values from first, where a block begins, to end - 1; nr is
 * the size of the array.  fn returns non-zero to stop.
 */
static int __walk_array_range(struct dm_array_info *info, u64 root, u64 nr,
			      u64 first, u64 end,
			      int (*fn)(void *context, u32 index, const void *value),
			      void *context)
{
	u32 per_block = tier_md_per_block(info->value_type.size);
	struct dm_array_cursor cursor;
	void *value;
	u64 i;
	int r;

	r = dm_array_cursor_begin(info, root, &cursor);
	/* Block by block: before 6.1.128 a skip over more than one went astray. */
	for (i = 0; !r && i < first; i += per_block) {
		cond_resched();
		r = !block_in_place(&cursor, i, nr) ? -EILSEQ :
		    dm_array_cursor_skip(&cursor, per_block - 1) ? :
		    dm_array_cursor_next(&cursor);
	}
	for (i = first; !r; i++) {
		if (!cursor.index) {
			if (i >= nr || !block_in_place(&cursor, i, nr)) {
				r = -EILSEQ;
				break;
			}
			if (i >= end)
				break;
			cond_resched();
		}
		dm_array_cursor_get_value(&cursor, &value);
		r = fn(context, i, value);
		if (r)
			goto out;
		r = dm_array_cursor_next(&cursor);
	}
	if (r == -ENODATA)
		r = i == nr ? 0 : -EILSEQ;
out:
	dm_array_cursor_end(&cursor);
	return r;
}

static int __walk_array(struct dm_array_info *info, u64 root, u64 nr,
			int (*fn)(void *context, u32 index, const void *value),
			void *context)
{
	return __walk_array_range(info, root, nr, 0, nr, fn, context);
}

struct load_map {
	int (*fn)(void *context, u32 chunk, u64 entry);
	void *context;
};

static int load_entry(void *context, u32 index, const void *value)
{
	struct load_map *load = context;
	u64 entry = le64_to_cpup(value);

	if (entry & ~TIER_ENTRY_DISK_MASK) {
		DMERR_LIMIT("mapping entry %u is damaged", index);
		return -EILSEQ;
	}
	return load->fn(load->context, index, entry);
}

int tier_metadata_load_map(struct tier_metadata *md,
			   int (*fn)(void *context, u32 chunk, u64 entry),
			   void *context)
{
	struct load_map load = { .fn = fn, .context = context };
	int r = -EIO;

	down_read(&md->lock);
	if (!md->failed)
		r = __walk_array(&md->mapping_info, md->roots.mapping,
				 md->info.nr_chunks, load_entry, &load);
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
	if (chunk >= md->info.nr_chunks) {
		tier_md_unlock(md);
		return -EINVAL;
	}
	r = 0;
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

static int accept_any(void *context, u32 index, const void *value)
{
	return 0;
}

/* The library trusts the sizes it is given: see that they are right. */
static int __verify_arrays(struct tier_metadata *md)
{
	int r;

	r = __walk_array(&md->mapping_info, md->roots.mapping,
			 md->info.nr_chunks, accept_any, NULL);
	if (!r)
		r = __walk_array(&md->heat_info, md->roots.heat,
				 md->info.nr_chunks, accept_any, NULL);
	return r;
}

/* Blocks and nodes that two arrays of this size have. */
static u64 array_space(u64 nr)
{
	return tier_md_array_blocks(nr, sizeof(__le64)) +
	       tier_md_array_nodes(nr, sizeof(__le64)) +
	       tier_md_array_blocks(nr, sizeof(__le32)) +
	       tier_md_array_nodes(nr, sizeof(__le32));
}

static bool __has_room_to_grow(struct tier_metadata *md, u64 nr_chunks)
{
	u64 old = array_space(md->info.nr_chunks);
	u64 new = array_space(nr_chunks);
	u64 growth = new > old ? new - old : 0;

	return __tier_md_free(md) >= growth + 4 * __tier_md_commit_room(md);
}

static int __resize(struct tier_metadata *md, u32 nr_chunks)
{
	u32 old = md->info.nr_chunks;
	int r;

	r = __resize_array(&md->mapping_info, &md->roots.mapping, old, nr_chunks);
	if (!r)
		r = __resize_array(&md->heat_info, &md->roots.heat, old, nr_chunks);
	if (!r)
		md->info.nr_chunks = nr_chunks;
	return r;
}

int tier_metadata_resize(struct tier_metadata *md, u64 nr_chunks)
{
	int r;

	r = tier_md_begin_change(md, SMALL_CHANGE);
	if (r)
		return r;
	r = __verify_arrays(md);
	if (!r && !__has_room_to_grow(md, nr_chunks))
		r = -ENOSPC;
	if (r) {
		tier_md_unlock(md);
		return r;
	}
	return tier_md_end_change(md, __resize(md, nr_chunks));
}

/*
 * Heat
 */

static int load_value(void *context, u32 index, const void *value)
{
	u32 *heat = context;

	heat[index] = le32_to_cpup(value);
	return 0;
}

int tier_metadata_load_heat(struct tier_metadata *md, u32 *heat)
{
	int r = -EIO;

	down_read(&md->lock);
	if (!md->failed)
		r = __walk_array(&md->heat_info, md->roots.heat,
				 md->info.nr_chunks, load_value, heat);
	up_read(&md->lock);
	return r;
}

#define HEAT_PER_BLOCK tier_md_per_block(sizeof(__le32))

/* As many values to compare at a time are worth waiting for memory. */
#define HEAT_WINDOW_ENOUGH (1024 * HEAT_PER_BLOCK)

struct save_heat {
	const u32 *heat;
	u64 nr_chunks;
	u64 first;		/* of the window */
	u64 end;
	unsigned long *changed;	/* a bit for each value of the window */
};

static int compare_heat(void *context, u32 index, const void *value)
{
	struct save_heat *save = context;

	if (le32_to_cpup(value) != READ_ONCE(save->heat[index]))
		__set_bit(index - save->first, save->changed);
	return 0;
}

static int find_changed_heat(struct tier_metadata *md, struct save_heat *save)
{
	int r = -EIO;

	memset(save->changed, 0, BITS_TO_LONGS(save->end - save->first) * sizeof(long));
	down_read(&md->lock);
	if (md->read_only)
		r = -EROFS;
	else if (!md->failed)
		r = __walk_array_range(&md->heat_info, md->roots.heat,
				       save->nr_chunks, save->first, save->end,
				       compare_heat, save);
	up_read(&md->lock);
	return r;
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
	unsigned long nr = save->end - save->first;
	unsigned long bit, end;
	int r;

	r = find_changed_heat(md, save);
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

/*
 * All of them at once if there is memory for a bit each: to get to a window costs a
 * step for each block before it.
 */
static unsigned long alloc_changed(struct save_heat *save)
{
	const gfp_t optional = __GFP_NORETRY | __GFP_NOWARN;
	unsigned long window = save->nr_chunks;
	unsigned int noio = memalloc_noio_save();
	bool last;

	for (;; window = roundup(window / 2, HEAT_PER_BLOCK)) {
		last = window <= HEAT_WINDOW_ENOUGH;
		save->changed = __vmalloc(BITS_TO_LONGS(window) * sizeof(long),
					  GFP_KERNEL | (last ? 0 : optional));
		if (save->changed || last)
			break;
	}
	memalloc_noio_restore(noio);
	return window;
}

/* Compared in one go, but written block by block: the lock is dropped between them. */
int tier_metadata_save_heat(struct tier_metadata *md, const u32 *heat)
{
	struct save_heat save = { .heat = heat };
	struct tier_meta_info info;
	unsigned long window;
	int r = 0;

	tier_metadata_get_info(md, &info);
	save.nr_chunks = info.nr_chunks;
	window = alloc_changed(&save);
	if (!save.changed)
		return -ENOMEM;

	for (; !r && save.first < save.nr_chunks; save.first = save.end) {
		save.end = min_t(u64, save.nr_chunks, save.first + window);
		r = save_heat_window(md, &save);
	}
	vfree(save.changed);
	return r;
}
