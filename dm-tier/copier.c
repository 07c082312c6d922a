// SPDX-License-Identifier: GPL-2.0-only
/* What zeroes chunks: a kcopyd client for each tier. */
#include "copier.h"

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/xarray.h>

struct tier_copiers {
	struct xarray by_pair;	/* of tier ids */
};

struct dm_kcopyd_client *tier_copier(struct tier_set *set, struct tier *from, struct tier *to)
{
	struct xarray *copiers = &set->copiers->by_pair;
	unsigned long key = from->rec.id << 8 | to->rec.id;
	struct dm_kcopyd_client *copier = xa_load(copiers, key);
	struct dm_kcopyd_client *other;
	unsigned int noio;

	if (copier)
		return copier;
	noio = memalloc_noio_save();
	copier = dm_kcopyd_client_create(NULL);
	if (IS_ERR(copier)) {
		copier = NULL;
	} else {
		other = xa_cmpxchg(copiers, key, NULL, copier, GFP_KERNEL);
		if (other) {
			dm_kcopyd_client_destroy(copier);
			copier = xa_is_err(other) ? NULL : other;
		}
	}
	memalloc_noio_restore(noio);
	return copier;
}

void tier_free_copiers(struct tier_set *set)
{
	struct dm_kcopyd_client *copier;
	unsigned long key;

	xa_for_each(&set->copiers->by_pair, key, copier)
		dm_kcopyd_client_destroy(copier);
	xa_destroy(&set->copiers->by_pair);
}

static int init(struct tier_set *set)
{
	xa_init(&set->copiers->by_pair);
	return 0;
}

const struct tier_set_room tier_copier_room = {
	.size = sizeof(struct tier_copiers),
	.pointer = offsetof(struct tier_set, copiers),
	.init = init,
};
