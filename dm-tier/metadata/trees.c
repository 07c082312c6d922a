// SPDX-License-Identifier: GPL-2.0-only
/* The trees and arrays of the metadata: what their values are, empty ones, other sizes. */
#include "metadata/internal.h"

static void init_array(struct dm_array_info *info, struct dm_transaction_manager *tm, u32 size)
{
	struct dm_btree_value_type vt = { .size = size };

	dm_array_info_init(info, tm, &vt);
}

static void init_btree(struct dm_btree_info *info, struct dm_transaction_manager *tm, u32 size)
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

int __tier_md_resize_array(struct dm_array_info *info, u64 *root, u32 old_size, u32 new_size)
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
		r = __tier_md_resize_array(&md->mapping_info, &md->roots.mapping, 0, nr);
	if (!r)
		r = dm_array_empty(&md->heat_info, &md->roots.heat);
	if (!r)
		r = __tier_md_resize_array(&md->heat_info, &md->roots.heat, 0, nr);
	if (!r)
		r = dm_btree_empty(&md->tiers_info, &md->roots.tiers);
	if (!r)
		r = dm_btree_empty(&md->tunables_info, &md->roots.tunables);
	return r;
}
