// SPDX-License-Identifier: GPL-2.0-only
/* What a set says of itself: INFO, TABLE and IMA. */
#include "table.h"

#include "metadata/metadata.h"
#include "migrate.h"
#include "policy.h"

static char state_letter(const struct tier *t)
{
	if (!tier_present(t))
		return '-';
	if (t->rec.flags & TIER_RECORD_EVACUATE)
		return 'E';
	return test_bit(TIER_FLAG_ERRORS, &t->flags) ? 'F' : 'A';
}

/* Features, and the values in force. */
static unsigned int emit_settings(struct tier_target *tt, char *result,
				  unsigned int maxlen, unsigned int sz)
{
	struct tier_set *set = tt->set;
	const struct tier_policy_type *type = set->bound->policy;
	unsigned int i, rank, nr = 0;
	bool on[TIER_NR_FEATURES];

	memcpy(on, tt->features, sizeof(on));
	on[TIER_FEATURE_PAUSED] &= set->table_paused || set->bound != tt;
	for (i = 0; i < TIER_NR_FEATURES; i++)
		nr += on[i];
	DMEMIT(" %u", nr);
	for (i = 0; i < TIER_NR_FEATURES; i++)
		if (on[i])
			DMEMIT(" %s", tier_features[i]);

	DMEMIT(" %u", 2 * (TIER_NR_TUNABLES + set->nr_tiers * TIER_NR_TIER_TUNABLES));
	for (i = 0; i < TIER_NR_TUNABLES; i++)
		DMEMIT(" %s %llu", tier_keys[i].name, tier_tunable(set, i));
	for (rank = 0; rank < set->nr_tiers; rank++)
		for (i = 0; i < TIER_NR_TIER_TUNABLES; i++)
			DMEMIT(" tier%u.%s %llu", rank, tier_tier_keys[i].name,
			       tier_tier_tunable(set, rank, i));

	nr = tier_policy_nr_keys(type);
	DMEMIT(" %s %u", type->name, 2 * nr);
	for (i = 0; i < nr; i++)
		DMEMIT(" %s %llu", type->keys[i].name, tier_policy_tunable(set, i));
	return sz;
}

static void emit_info(struct tier_target *tt, char *result, unsigned int maxlen)
{
	struct tier_set *set = tt->set;
	struct tier_meta_info info;
	unsigned int sz = 0, rank;
	u64 free, total;

	if (READ_ONCE(set->mode) == TIER_MODE_FAIL) {
		DMEMIT("Fail");
		return;
	}
	if (!set->active || !set->bound || tier_metadata_get_space(set->metadata, &free, &total)) {
		DMEMIT("Error");
		return;
	}
	tier_metadata_get_info(set->metadata, &info);
	DMEMIT("%u %llu/%llu ", TIER_METADATA_BLOCK_SECTORS, total - free, total);
	if (info.held_root)
		DMEMIT("%llu", info.held_root);
	else
		DMEMIT("-");
	DMEMIT(" %u %llu/%u %lld %u", set->chunk_sectors, READ_ONCE(set->mapped),
	       set->nr_chunks, (s64)atomic64_read(&set->pinned), set->nr_tiers);
	for (rank = 0; rank < set->nr_tiers; rank++) {
		struct tier *t = set->tiers[rank];
		u64 reads = 0, writes = 0;
		int cpu;

		for_each_possible_cpu(cpu) {
			reads += READ_ONCE(per_cpu_ptr(t->stats, cpu)->reads);
			writes += READ_ONCE(per_cpu_ptr(t->stats, cpu)->writes);
		}
		DMEMIT(" %u %c %llu/%llu %llu %llu %lld", t->rec.id, state_letter(t),
		       READ_ONCE(t->used), t->rec.places, reads, writes,
		       (s64)atomic64_read(&t->errors));
	}
	spin_lock_irq(&set->lock);
	DMEMIT(" %llu %llu %llu %llu %u %llu", set->promotions, set->demotions,
	       set->aborted, set->failed, __tier_in_flight(set), set->migrated_sectors);
	spin_unlock_irq(&set->lock);
	sz = emit_settings(tt, result, maxlen, sz);
	DMEMIT(" %s %s %s", tier_set_frozen(set) ? "ro" : "rw",
	       READ_ONCE(set->needs_check) ? "needs_check" : "-",
	       tier_paused(set) ? "paused" : "running");
}

static void emit_ima(struct tier_target *tt, char *result, unsigned int maxlen)
{
	struct tier_set *set = tt->set;
	unsigned int sz = 0, rank, i;

	DMEMIT_TARGET_NAME_VERSION(tt->ti->type);
	DMEMIT(",metadata=%s,chunk_sectors=%llu,nr_tiers=%u", tt->metadata->name,
	       tt->chunk_sectors, tt->nr_tiers);
	for (rank = 0; rank < tt->nr_tiers; rank++)
		DMEMIT(",tier_%u=%s", rank, tt->devs[rank] ? tt->devs[rank]->name : "-");
	for (i = 0; i < TIER_NR_FEATURES; i++)
		DMEMIT(",%s=%c", tier_features[i], tt->features[i] ? 'y' : 'n');
	DMEMIT(",policy=%s,mode=%s;", tt->policy->name,
	       READ_ONCE(set->mode) == TIER_MODE_FAIL ? "fail" :
	       tier_set_frozen(set) ? "ro" : "rw");
}

void tier_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
		 char *result, unsigned int maxlen)
{
	struct tier_target *tt = ti->private;
	unsigned int sz = 0;

	switch (type) {
	case STATUSTYPE_INFO:
		mutex_lock(&tt->set->config);
		emit_info(tt, result, maxlen);
		mutex_unlock(&tt->set->config);
		break;
	case STATUSTYPE_TABLE:
		DMEMIT("%s", tt->args);
		break;
	case STATUSTYPE_IMA:
		emit_ima(tt, result, maxlen);
		break;
	}
}
