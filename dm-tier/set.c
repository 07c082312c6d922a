// SPDX-License-Identifier: GPL-2.0-only
/*
 * The set: one object for a mapped device and its metadata device, shared by the tables of that
 * device.  Here it comes and goes, is activated, suspended and resumed.
 */
#include "set.h"

#include <linux/log2.h>
#include <linux/suspend.h>

#include "alloc.h"
#include "birth.h"
#include "budget.h"
#include "commit.h"
#include "copy.h"
#include "cycle.h"
#include "deferred.h"
#include "discard.h"
#include "flush.h"
#include "gauge.h"
#include "health.h"
#include "kick.h"
#include "map.h"
#include "metadata/metadata.h"
#include "migrate.h"
#include "missed.h"
#include "mover.h"
#include "plan.h"
#include "policy.h"
#include "publish.h"
#include "residence.h"
#include "request.h"
#include "saver.h"
#include "wear.h"

#define HIBERNATE_WAIT	(20 * HZ)	/* for moves to end */

/* Protects both lists: which sets there are, which tables use which devices. */
static DEFINE_MUTEX(tier_registry_lock);
static LIST_HEAD(sets);
static LIST_HEAD(targets);
static bool hibernating;		/* tier_registry_lock to write */
static struct workqueue_struct *resume_wq;

/* The pointer to a room's struct in a struct tier or tier_set. */
static void **room_of(void *owner, size_t pointer)
{
	return owner + pointer;
}

static bool alloc_room(void *owner, size_t pointer, size_t size)
{
	void **room = room_of(owner, pointer);

	*room = kzalloc(size, GFP_KERNEL);
	return *room;
}

/* ---- tiers ---- */

/* In the order of their init; they exit in reverse. */
static const struct tier_room *const tier_rooms[] = {
	&tier_alloc_room, &tier_flusher_room, &tier_wear_room, &tier_gauge_room,
	&tier_pace_room, &tier_landing_room, &tier_outbox_room, &tier_arrivals_room,
};

static void free_tier(struct tier *t)
{
	unsigned int i;

	for (i = ARRAY_SIZE(tier_rooms); i--; ) {
		void *room = *room_of(t, tier_rooms[i]->pointer);

		if (room && tier_rooms[i]->exit)
			tier_rooms[i]->exit(t);
		kfree(room);
	}
	if (t->wq)
		destroy_workqueue(t->wq);
	cleanup_srcu_struct(&t->readers);
	free_percpu(t->stats);
	kfree(t);
}

static struct workqueue_struct *alloc_queue(void)
{
	return alloc_workqueue("dm-tier", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
}

static struct tier *create_tier(struct tier_set *set, const struct tier_meta_tier *rec)
{
	struct tier *t = kzalloc(sizeof(*t), GFP_KERNEL);
	unsigned int i;
	bool ok;

	if (!t || init_srcu_struct(&t->readers)) {
		kfree(t);
		return NULL;
	}
	t->set = set;
	t->rec = *rec;
	t->stats = alloc_percpu(struct tier_stats);
	t->wq = alloc_queue();
	ok = t->stats && t->wq;
	for (i = 0; ok && i < ARRAY_SIZE(tier_rooms); i++) {
		ok = alloc_room(t, tier_rooms[i]->pointer, tier_rooms[i]->size);
		if (ok && tier_rooms[i]->init)
			ok = !tier_rooms[i]->init(t);
	}
	if (ok)
		return t;
	free_tier(t);
	return NULL;
}

static void drop_tier(struct tier_set *set, u8 id)
{
	struct tier *t = set->by_id[id];

	if (!t)
		return;
	tier_drop_requests(set, t);
	srcu_barrier(&t->readers);
	cancel_work_sync(&t->flush_work);
	tier_drop_births(t);
	free_tier(t);
	set->by_id[id] = NULL;
}

/* ---- the set object ---- */

static void deactivate(struct tier_set *set)
{
	unsigned int id;

	set->active = false;
	tier_policy_stop(set);
	tier_free_requests(set);
	tier_drop_owners(set);
	tier_drop_residence(set);
	tier_forget_all_missed(set);
	if (tier_forget_lost_ops(set))
		__tier_flush_lose(set);
	set->nr_tiers = 0;
	for (id = 0; id < ARRAY_SIZE(set->by_id); id++)
		drop_tier(set, id);
	tier_metadata_close(set->metadata);
	set->metadata = NULL;
	tier_plan_forget(set);
	vfree(set->map);
	set->map = NULL;
	tier_saver_end(set);
	set->nr_chunks = 0;
}

/* In the order of their init; they exit in reverse. */
static const struct tier_set_room *const rooms[] = {
	&tier_commit_room, &tier_flush_room, &tier_cycle_room, &tier_residence_room,
	&tier_publish_room,
	&tier_missed_room, &tier_copy_room, &tier_budget_room,
	&tier_request_room, &tier_policy_room, &tier_saver_room, &tier_birth_room,
	&tier_discard_room, &tier_migrate_room, &tier_mover_room, &tier_plan_room,
};

static void free_set(struct tier_set *set)
{
	unsigned int i;

	if (set->wq)
		destroy_workqueue(set->wq);
	if (set->commit_wq)
		destroy_workqueue(set->commit_wq);
	for (i = ARRAY_SIZE(rooms); i--; ) {
		void *room = *room_of(set, rooms[i]->pointer);

		if (room && rooms[i]->exit)
			rooms[i]->exit(set);
		kfree(room);
	}
	mutex_destroy(&set->config);
	mutex_destroy(&set->commit);
	mutex_destroy(&set->policy_lock);
	kvfree(set);
}

static struct tier_set *create_set(struct mapped_device *md, dev_t metadata)
{
	struct tier_set *set = kvzalloc(sizeof(*set), GFP_KERNEL);
	unsigned int i;
	bool ok;

	if (!set)
		return NULL;
	set->md = md;
	set->metadata_dev = metadata;
	spin_lock_init(&set->lock);
	mutex_init(&set->config);
	mutex_init(&set->commit);
	mutex_init(&set->policy_lock);
	init_waitqueue_head(&set->idle_wait);
	tier_health_init(set);
	tier_deferred_init(set);
	set->wq = alloc_queue();
	set->commit_wq = alloc_queue();
	ok = set->wq && set->commit_wq;
	for (i = 0; ok && i < ARRAY_SIZE(rooms); i++)
		ok = alloc_room(set, rooms[i]->pointer, rooms[i]->size) &&
		     (!rooms[i]->init || !rooms[i]->init(set));
	if (ok)
		return set;
	free_set(set);
	return NULL;
}

static struct tier_set *get_set(struct mapped_device *md, dev_t metadata)
{
	struct tier_set *set;

	lockdep_assert_held(&tier_registry_lock);
	list_for_each_entry(set, &sets, list) {
		if (set->metadata_dev == metadata && set->md == md) {
			set->refs++;
			return set;
		}
	}
	set = create_set(md, metadata);
	if (set) {
		set->refs = 1;
		list_add(&set->list, &sets);
	}
	return set;
}

static bool uses(const struct tier_target *tt, dev_t dev)
{
	unsigned int i;

	if (tt->metadata->bdev->bd_dev == dev)
		return true;
	for (i = 0; i < tt->nr_tiers; i++)
		if (tt->devs[i] && tt->devs[i]->bdev->bd_dev == dev)
			return true;
	return false;
}

static int claim_devices(struct tier_target *tt, char **error)
{
	struct tier_target *other;
	unsigned int i;

	lockdep_assert_held(&tier_registry_lock);
	list_for_each_entry(other, &targets, list) {
		if (other->set == tt->set)
			continue;
		*error = "The metadata device is in use by another set";
		if (uses(other, tt->metadata->bdev->bd_dev))
			return -EBUSY;
		*error = "A tier is in use by another set";
		for (i = 0; i < tt->nr_tiers; i++)
			if (tt->devs[i] && uses(other, tt->devs[i]->bdev->bd_dev))
				return -EBUSY;
	}
	list_add(&tt->list, &targets);
	return 0;
}

int tier_set_join(struct tier_target *tt, char **error)
{
	int r = -ENOMEM;

	mutex_lock(&tier_registry_lock);
	tt->set = get_set(tt->md, tt->metadata->bdev->bd_dev);
	if (tt->set)
		r = claim_devices(tt, error);
	else
		*error = "Out of memory";
	mutex_unlock(&tier_registry_lock);
	return r;
}

void tier_set_leave(struct tier_target *tt)
{
	struct tier_set *set = tt->set;

	if (!set)
		return;
	/*
	 * The bound target goes only when the device does, or when the table that
	 * was to follow could not be resumed.  Its devices go with it.
	 */
	mutex_lock(&set->config);
	if (set->bound == tt) {
		deactivate(set);
		set->bound = NULL;
	}
	/* The devices that were read may go with the table. */
	if (!set->active)
		tier_plan_forget(set);
	mutex_unlock(&set->config);
	/* Here, because the last target frees the set with the registry's lock held. */
	flush_work(&set->event_work);
	mutex_lock(&tier_registry_lock);
	list_del(&tt->list);
	if (!--set->refs) {
		list_del(&set->list);
		deactivate(set);
		free_set(set);
	}
	mutex_unlock(&tier_registry_lock);
}

/* A tier that the table gives as missing stays in the set. */
static bool keeps(const struct tier_target *tt, const struct tier *t)
{
	return uses(tt, t->bdev->bd_dev) || (t->rec.rank < tt->nr_tiers && !tt->devs[t->rec.rank]);
}

bool tier_set_being_dropped(struct tier_set *set, const struct tier *t)
{
	struct tier_target *tt;
	bool dropped = false;

	mutex_lock(&tier_registry_lock);
	list_for_each_entry(tt, &targets, list)
		if (tt->set == set && tt != set->bound && !keeps(tt, t))
			dropped = true;
	mutex_unlock(&tier_registry_lock);
	return dropped;
}

/* ---- activation ---- */

/* From an entry of the metadata to a word of core. */
static int load_word(struct tier_set *set, u32 chunk)
{
	u64 entry = set->map[chunk];
	struct tier *t;

	if (!(entry & TIER_ENTRY_MAPPED)) {
		set->map[chunk] = entry & TIER_WORD_PIN_MASK;
		return 0;
	}
	t = set->by_id[tier_word_id(entry)];
	if (!t || !tier_alloc_exactly(t, tier_word_place(entry)))
		return -EILSEQ;
	set->mapped++;
	set->map[chunk] = entry | tier_reason_bits(TIER_REASON_LOADED);
	__tier_note_astray(set, chunk);
	return 0;
}

static int load_words(struct tier_set *set)
{
	u32 chunk;
	int r = 0;

	set->mapped = 0;
	bitmap_zero(set->astray_groups, TIER_GROUPS);
	for (chunk = 0; !r && chunk < set->nr_chunks; chunk++) {
		r = load_word(set, chunk);
		if (!(chunk & 0xffff))
			cond_resched();
	}
	return r;
}

/* Forgets the pins to tiers that were dropped, and counts the others. */
static void count_pins(struct tier_set *set)
{
	u64 pinned = 0;
	unsigned int pin;
	u32 chunk;

	for (chunk = 0; chunk < set->nr_chunks; chunk++) {
		pin = tier_word_pin(set->map[chunk]);
		if (pin && set->by_id[pin - 1])
			pinned++;
		else
			set->map[chunk] &= ~TIER_WORD_PIN_MASK;
		if (!(chunk & 0xffff))
			cond_resched();
	}
	atomic64_set(&set->pinned, pinned);
}

static int load_tunable(struct tier_set *set, const struct tier_key *key, u64 *value)
{
	u64 stored = key->initial;
	int r = tier_metadata_get_tunable(set->metadata, key->name, &stored);

	*value = stored >= key->min && stored <= key->max ? stored : key->initial;
	return r;
}

static int load_tunables(struct tier_set *set)
{
	const struct tier_policy_type *type = set->bound->policy;
	unsigned int i;
	int r = 0;

	for (i = 0; !r && i < TIER_NR_TUNABLES; i++)
		r = load_tunable(set, &tier_keys[i], &set->tunables[i]);
	for (i = 0; !r && i < tier_policy_nr_keys(type); i++)
		r = load_tunable(set, &type->keys[i], &set->policy_tunables[i]);
	return r;
}

/*
 * Takes over the tiers of the plan; known tiers keep their counters and, if keep, what is taken
 * of their places.
 */
static int adopt_tiers(struct tier_set *set, struct tier_target *tt, struct tier_plan *plan,
		       bool keep)
{
	unsigned int i;
	u64 kept;
	int r;

	set->nr_tiers = 0;
	for (i = 0; i < ARRAY_SIZE(set->by_id); i++)
		if (!tier_plan_has(plan, tt->nr_tiers, i))
			drop_tier(set, i);
	for (i = 0; i < tt->nr_tiers; i++) {
		struct tier_meta_tier *rec = &plan->tiers[i];
		struct tier *t = set->by_id[rec->id];

		kept = t && keep ? t->rec.places : 0;
		/* A message that failed may have left its record to the next commit. */
		if (t && t->rec.flags != rec->flags)
			bitmap_fill(set->astray_groups, TIER_GROUPS);
		if (t)
			t->rec = *rec;
		else
			t = create_tier(set, rec);
		if (!t)
			return -ENOMEM;
		set->by_id[rec->id] = t;
		set->tiers[i] = t;
		t->bdev = tt->devs[i] ? tt->devs[i]->bdev : NULL;
		t->room_seq++;
		r = kept == rec->places ? 0 : tier_alloc_init(t, kept);
		if (r)
			return r;
	}
	set->nr_tiers = tt->nr_tiers;
	return 0;
}

static int copy_entries(void *context, u32 first, u32 nr, const __le64 *entries)
{
	u64 *map = context;
	u32 i;

	for (i = 0; i < nr; i++)
		map[first + i] = le64_to_cpu(entries[i]);
	return 0;
}

/* The entries of *nr chunks, as the plan has read them or else as the metadata has them now. */
static int read_map(struct tier_set *set, u64 *nr)
{
	vfree(set->map);
	set->map = tier_plan_take_map(set, nr);
	if (set->map)
		return 0;
	*nr = set->info.nr_chunks;
	set->map = vmalloc(array_size(*nr, sizeof(*set->map)));
	return set->map ? tier_metadata_load_map(set->metadata, copy_entries, set->map) : -ENOMEM;
}

/* New chunks are unmapped. */
static int resize_map(struct tier_set *set, u64 old, u64 nr)
{
	u64 *map;

	if (old == nr)
		return 0;
	map = vzalloc(array_size(nr, sizeof(*map)));
	if (!map)
		return -ENOMEM;
	memcpy(map, set->map, min(old, nr) * sizeof(*map));
	vfree(set->map);
	set->map = map;
	return 0;
}

/*
 * Loads the open metadata into core.  A set that was active has it there already, and only takes
 * over what is new.
 */
static int build_core(struct tier_set *set, struct tier_target *tt, struct tier_plan *plan)
{
	u64 nr = dm_sector_div_up(tt->ti->len, tt->chunk_sectors), had = set->nr_chunks;
	bool moved = plan->changes_list || plan->grows || nr != had;
	bool keep = set->active;
	unsigned int i;
	u64 chunk;
	int r;

	tier_metadata_get_info(set->metadata, &set->info);
	r = keep ? 0 : read_map(set, &had);
	for (chunk = nr; !r && chunk < had; chunk++) {
		if (set->map[chunk] & TIER_ENTRY_MAPPED)
			r = -EILSEQ;
		if (!(chunk & 0xffff))
			cond_resched();
	}
	r = r ? : resize_map(set, had, nr);
	if (r)
		return r;
	set->nr_chunks = nr;
	set->chunk_sectors = tt->chunk_sectors;
	set->chunk_shift = ilog2(tt->chunk_sectors);

	if (moved)
		set->home = NULL;
	r = adopt_tiers(set, tt, plan, keep) ? : (keep ? 0 : load_words(set)) ? :
	    tier_saver_begin(set, nr) ? : load_tunables(set);
	if (r)
		return r;
	if (!keep || plan->changes_list || nr < had)
		count_pins(set);
	for (i = 0; i < set->nr_tiers; i++) {
		struct tier *t = set->tiers[i];

		t->evacuating = (t->rec.flags & TIER_RECORD_EVACUATE) && t->used;
	}
	tier_bound_requests(set);
	tier_drop_owners(set);
	tier_forget_all_missed(set);
	tier_forget_lost_ops(set);
	if (!keep)
		tier_metadata_drop_cache(set->metadata);
	set->paused = set->info.flags & TIER_SB_PAUSED;
	set->needs_check = set->info.flags & TIER_SB_NEEDS_CHECK;
	tier_mover_restart(set);
	return 0;
}

static int report(struct tier_set *set, int error, const char *reason)
{
	DMERR("%s: %s", dm_device_name(set->md), reason);
	return error;
}

static bool plan_writes(struct tier_target *tt, struct tier_plan *plan)
{
	return tier_writes_wanted(tt) && !(plan->info.flags & TIER_SB_NEEDS_CHECK);
}

/* Writes what the plan says: formats the set, or bumps the generation, changes the list. */
static int write_plan(struct tier_set *set, struct tier_target *tt, struct tier_plan *plan)
{
	bool writes = plan_writes(tt, plan);
	int r = 0;

	if (plan->format) {
		tier_plan_forget(set);
		r = tier_plan_format(tt, plan);
	} else if (!set->metadata) {
		set->metadata = tier_plan_take_metadata(set);
		if (writes)
			tier_metadata_set_writable(set->metadata);
	}
	if (!plan->format && writes)
		r = tier_metadata_adopt_size(set->metadata) ? : tier_plan_join(set, tt, plan);
	if (r)
		report(set, r, plan->reason[0] ? plan->reason : "Metadata cannot be written");
	return r;
}

/* The plan has been written: loads everything into core. */
static int activate(struct tier_set *set, struct tier_target *tt, struct tier_plan *plan)
{
	unsigned int i;
	int r;

	tier_policy_stop(set);
	r = build_core(set, tt, plan);
	if (r)
		return report(set, r, r == -EILSEQ ?
			      "The mapping is damaged; check the metadata" :
			      "Cannot load the mapping");
	for (i = 0; i < set->nr_tiers; i++)
		if (plan->unlabelled[i])
			tier_note_error(set->tiers[i], true, BLK_STS_IOERR);
	set->read_only_activation = !plan_writes(tt, plan);
	/* The same mapped device may have held a set that failed. */
	tier_set_recover(set, "activated");
	if (set->read_only_activation && tier_writes_wanted(tt))
		tier_set_mode(set, TIER_MODE_RO, "the metadata needs a check");
	return 0;
}

/* Whether the table wants other tiers or another length than core has. */
static bool reshaped(struct tier_set *set, struct tier_target *tt, struct tier_plan *plan)
{
	unsigned int i;

	if (plan->changes_list || tt->ti->len != plan->info.length || set->nr_tiers != tt->nr_tiers)
		return true;
	for (i = 0; i < set->nr_tiers; i++)
		if (set->tiers[i]->bdev != (tt->devs[i] ? tt->devs[i]->bdev : NULL))
			return true;
	return false;
}

/* First writes that a failing tier cannot flush would be lost with the table in force. */
int tier_set_check_change(struct tier_target *tt, struct tier_plan *plan)
{
	struct tier_set *set = tt->set;
	unsigned int i;

	lockdep_assert_held(&set->config);
	if (!set->active || !reshaped(set, tt, plan))
		return 0;
	spin_lock_irq(&set->lock);
	for (i = 0; i < set->nr_tiers; i++)
		if (__tier_births_stuck(set->tiers[i]))
			break;
	spin_unlock_irq(&set->lock);
	if (i == set->nr_tiers)
		return 0;
	snprintf(plan->reason, sizeof(plan->reason),
		 "Tier %u cannot be flushed; what was first written there would be lost with another table",
		 i);
	return -EIO;
}

/* Whether a new size or name of an active set can be committed now. */
static bool can_adopt(struct tier_set *set)
{
	return !tier_set_frozen(set) && !tier_births_pending(set) &&
	       tier_metadata_has_room(set->metadata, TIER_SMALL_BATCH);
}

/* Whether the device was renamed, and the metadata and labels can be changed. */
static bool renamed(struct tier_set *set)
{
	char name[DM_NAME_LEN], uuid[DM_UUID_LEN];

	if (!can_adopt(set) || dm_copy_name_and_uuid(set->md, name, uuid))
		return false;
	return strncmp(name, set->info.name, sizeof(set->info.name) - 1);
}

/* Whether a tier has grown by a chunk or more that can be adopted. */
static bool grown(struct tier_set *set)
{
	bool grown = false;
	unsigned int i;

	if (!can_adopt(set))
		return false;
	for (i = 0; i < set->nr_tiers; i++) {
		struct tier *t = set->tiers[i];

		if (!tier_present(t))
			return false;
		grown |= bdev_nr_sectors(t->bdev) >> set->chunk_shift >
			 t->rec.first_place + t->rec.places;
	}
	return grown;
}

static int swap_policy(struct tier_set *set, struct tier_target *tt, bool fresh)
{
	unsigned int i;

	if (!fresh && tier_policy_is(set, tt->policy)) {
		for (i = 0; i < tier_policy_nr_keys(tt->policy); i++)
			tier_policy_set(set, i, tier_policy_tunable(set, i));
		return 0;
	}
	tier_policy_stop(set);
	return tier_policy_start(set, tt->policy, tier_view_tiers(set));
}

void tier_set_adopt_size(struct tier_set *set)
{
	bool full;
	int r = 0;

	mutex_lock(&set->commit);
	full = tier_set_full(set);
	if (full || !tier_set_frozen(set))
		r = tier_settle_error(set, tier_metadata_adopt_size(set->metadata));
	if (r) {
		report(set, r, "the size of the metadata device cannot be adopted");
	} else if (full && tier_metadata_has_room(set->metadata, TIER_SMALL_BATCH)) {
		tier_set_recover(set, "the metadata has room again");
		tier_watch_space(set);
		tier_requeue_ops(set);
		tier_kick_mover(set);
	}
	mutex_unlock(&set->commit);
}

/* A new size or name could not be committed; the set works on without it. */
static void goes_on(struct tier_set *set)
{
	report(set, 0, "goes on with the sizes and the name it had");
	mutex_lock(&set->commit);
	if (tier_metadata_doomed(set->metadata))
		tier_settle_commit(set);
	mutex_unlock(&set->commit);
}

/*
 * While the set was suspended, tierctl revert may have turned one tier into the plain device:
 * later writes to the set would be lost.  Or another machine, which saw a clean set, has used it.
 * If the superblock cannot be read, the set goes on.
 */
static int check_state(struct tier_target *tt)
{
	struct tier_meta_info info, mine;
	struct tier_set *set = tt->set;
	const char *reason;

	if (tier_metadata_read_superblock(tt->metadata->bdev, &info, &reason))
		return 0;
	if (info.state == TIER_STATE_REVERTING || info.state == TIER_STATE_RETIRED)
		return report(set, -EINVAL, "On its way back to one device: tierctl revert");
	/* What was never written to may be read anew. */
	if (set->read_only_activation && set->bound != tt)
		return 0;
	tier_metadata_get_info(set->metadata, &mine);
	/* Of a commit that failed nobody knows whether it is on the disk. */
	if (tier_metadata_doomed(set->metadata) ||
	    (info.trans_id == mine.trans_id &&
	     !memcmp(&info.owner, &mine.owner, sizeof(info.owner))))
		return 0;
	return report(set, -ESTALE, "The metadata was changed while the set was suspended");
}

static int bind(struct tier_set *set, struct tier_target *tt)
{
	struct tier_target *old = set->bound;
	struct tier_plan *plan;
	bool fresh;
	int r;

	plan = kvzalloc(sizeof(*plan), GFP_KERNEL);
	if (!plan)
		return -ENOMEM;
	if (set->active && old == tt) {
		r = tier_plan_recheck(tt, plan);
		if (r)
			report(set, r, plan->reason);
		if (r || (!grown(set) && !renamed(set)))
			goto out;
	}
	/* A set that has never written has nothing to lose and may have another length. */
	if (set->active && set->read_only_activation && old != tt)
		deactivate(set);
	tier_plan_read_labels(tt, plan);
	r = tier_plan_make(tt, plan);
	if (r) {
		report(set, r, plan->reason);
		if (set->active && old == tt) {
			goes_on(set);
			r = 0;
		}
		goto out;
	}
	set->bound = tt;
	set->no_writes = !tier_writes_wanted(tt);
	/* Growth that cannot be committed now waits for another resume. */
	fresh = !set->active || reshaped(set, tt, plan) || renamed(set) ||
		(plan->grows && can_adopt(set));
	if (fresh && set->active && (tier_set_frozen(set) || tier_births_pending(set))) {
		r = report(set, -EROFS,
			   "read-only, or first writes not durable; these are lost with the table");
	} else if (fresh) {
		r = write_plan(set, tt, plan);
		if (r && set->active && (old == tt || !reshaped(set, tt, plan))) {
			goes_on(set);
			r = 0;
			if (old == tt)
				goto out;
			fresh = false;
		} else {
			r = r ? : activate(set, tt, plan);
			if (r)
				deactivate(set);
		}
	}
	if (!r) {
		r = load_tunables(set) ? : swap_policy(set, tt, fresh);
		/* The next resume would see no change and start no policy. */
		if (r && fresh && (old == tt || !set->active))
			deactivate(set);
	}
	if (r) {
		set->bound = old;
		goto out;
	}
	set->active = true;
	if (old != tt)
		set->table_paused = tt->features[TIER_FEATURE_PAUSED];
	set->discard_passdown = !tt->features[TIER_FEATURE_NO_DISCARD_PASSDOWN];
	set->skip_zeroing = tt->features[TIER_FEATURE_SKIP_ZEROING];
	mutex_lock(&set->commit);
	if (!tier_set_frozen(set))
		tier_requeue_ops(set);
	mutex_unlock(&set->commit);
out:
	kvfree(plan);
	return r;
}

static bool quiet(struct tier_set *set)
{
	unsigned int i;
	bool quiet;

	spin_lock_irq(&set->lock);
	quiet = !set->nr_migrations && !set->discarding && !__tier_cycle_running(set) &&
		!__tier_ops_pending(set) && !__tier_flushing(set) && bio_list_empty(&set->deferred);
	for (i = 0; i < set->nr_tiers; i++)
		quiet &= !__tier_births_completing(set->tiers[i]);
	spin_unlock_irq(&set->lock);
	return quiet;
}

/*
 * Waits until nothing is in flight and no work is queued.  A work that was queued before may
 * send one more flush, and the end of that queues works.
 */
static void wait_quiet(struct tier_set *set)
{
	unsigned int again, i;

	for (again = 0; again < 2; again++) {
		wait_event(set->idle_wait, quiet(set));
		for (i = 0; i < set->nr_tiers; i++)
			flush_workqueue(set->tiers[i]->wq);
		flush_workqueue(set->commit_wq);
		flush_workqueue(set->wq);
	}
}

/* Flushes every tier, once its new chunks are whole. */
static int flush_all(struct tier_set *set)
{
	tier_commit_births(set);
	wait_quiet(set);
	return tier_flush_all(set);
}

/*
 * Tries again to commit first writes that the suspend could not make durable: a table that
 * changes the tiers would be refused, and device-mapper drops the old table even then.
 */
static void settle_births(struct tier_set *set)
{
	if (tier_set_full(set))
		tier_set_adopt_size(set);
	if (!tier_set_frozen(set) && tier_births_pending(set))
		flush_all(set);
	wait_quiet(set);
}

/*
 * A set that has an owner is not clean from now on: another machine must not take it for unused,
 * even if nothing changes.
 */
static void own(struct tier_set *set)
{
	struct tier_meta_info info;

	tier_metadata_get_info(set->metadata, &info);
	if (!(info.compat_flags & TIER_COMPAT_OWNER) || !(info.flags & TIER_SB_CLEAN) ||
	    tier_set_frozen(set))
		return;
	mutex_lock(&set->commit);
	tier_commit_now(set);
	mutex_unlock(&set->commit);
}

struct resume_work {
	struct work_struct work;
	struct tier_target *tt;
	int r;
};

static void preresume(struct work_struct *work)
{
	struct resume_work *w = container_of(work, struct resume_work, work);
	/* Reclaim must not wait for writes to this very device. */
	unsigned int noio = memalloc_noio_save();
	struct tier_target *tt = w->tt;
	struct tier_set *set = tt->set;
	int r;

	mutex_lock(&set->config);
	/* Before a commit, which would say that the set is live. */
	r = set->active ? check_state(tt) : 0;
	/* Not for a read-only table. */
	if (!r && set->active && tier_writes_wanted(tt))
		settle_births(set);
	r = r ? : bind(set, tt);
	if (!r) {
		tier_set_adopt_size(set);
		own(set);
	}
	mutex_unlock(&set->config);
	memalloc_noio_restore(noio);
	w->r = r;
}

/*
 * In a killed process an allocation that has to wait fails, and device-mapper leaves a device
 * suspended whose resume has failed.  A worker is not killed.
 */
int tier_set_preresume(struct dm_target *ti)
{
	struct resume_work w = { .tt = ti->private };

	INIT_WORK_ONSTACK(&w.work, preresume);
	queue_work(resume_wq, &w.work);
	flush_work(&w.work);
	destroy_work_on_stack(&w.work);
	return w.r;
}

/*
 * Starts the background work, or lets it end.  With the lock held, so that a later suspend
 * finds and ends what is armed here.
 */
static void __update_running(struct tier_set *set)
{
	lockdep_assert_held(&set->lock);
	WRITE_ONCE(set->running, set->resumed && !READ_ONCE(hibernating));
	if (!set->running)
		return;
	__tier_arm_commit_timer(set);
	tier_kick_mover(set);
}

static struct tier_set *set_of(struct dm_target *ti)
{
	struct tier_target *tt = ti->private;

	return tt->set;
}

static void set_resumed(struct tier_set *set, bool resumed)
{
	spin_lock_irq(&set->lock);
	WRITE_ONCE(set->resumed, resumed);
	__update_running(set);
	spin_unlock_irq(&set->lock);
}

void tier_set_resume(struct dm_target *ti)
{
	struct tier_set *set = set_of(ti);
	unsigned int i;

	/* While the set was suspended, others may have written to a tier's cache. */
	for (i = 0; i < set->nr_tiers; i++)
		if (tier_present(set->tiers[i]))
			tier_mark_unflushed(set->tiers[i]);
	set_resumed(set, true);
}

void tier_set_presuspend(struct dm_target *ti)
{
	struct tier_set *set = set_of(ti);

	/* A message in progress ends first; the next one sees the change. */
	mutex_lock(&set->config);
	set_resumed(set, false);
	mutex_unlock(&set->config);
	tier_cancel_migrations(set);
	/* Here, where I/O still goes on, and no more of it. */
	if (!set->active || set->bound != ti->private)
		return;
	tier_policy_drain(set);
	mutex_lock(&set->commit);
	tier_saver_save(set);
	mutex_unlock(&set->commit);
}

void tier_set_presuspend_undo(struct dm_target *ti)
{
	set_resumed(set_of(ti), true);
}

/* All I/O has ended.  Ends the background work and makes everything durable. */
void tier_set_postsuspend(struct dm_target *ti)
{
	struct tier_set *set = set_of(ti);
	unsigned int i, noio;
	int r;

	if (!set->active || set->bound != ti->private)
		return;
	noio = memalloc_noio_save();
	wait_quiet(set);
	cancel_delayed_work_sync(&set->mover_work);
	cancel_delayed_work_sync(&set->saver_work);
	cancel_delayed_work_sync(&set->commit_timer);
	set->observe_armed = 0;
	wait_quiet(set);
	tier_copy_shrink(set);
	if (!set->no_writes) {
		r = flush_all(set);
		if (r)
			DMERR("%s: a tier cannot be flushed (%d)", dm_device_name(set->md), r);
		wait_quiet(set);
	}
	for (i = 0; i < set->nr_tiers; i++)
		srcu_barrier(&set->tiers[i]->readers);

	tier_policy_drain(set);
	mutex_lock(&set->commit);
	if (!tier_set_frozen(set)) {
		tier_wear_store(set);
		if (tier_metadata_commit(set->metadata, true))
			tier_settle_commit(set);
	}
	mutex_unlock(&set->commit);
	memalloc_noio_restore(noio);
}

/* ---- hibernation ---- */

static void set_hibernating(bool on)
{
	struct tier_set *set;

	lockdep_assert_held(&tier_registry_lock);
	/* Before each set's lock is taken: a set that is resumed meanwhile sees it. */
	WRITE_ONCE(hibernating, on);
	list_for_each_entry(set, &sets, list) {
		spin_lock_irq(&set->lock);
		__update_running(set);
		spin_unlock_irq(&set->lock);
		if (on)
			tier_cancel_migrations(set);
	}
}

/* The moves under way end, unless a device does not answer. */
static int wait_idle(void)
{
	struct tier_set *set;

	list_for_each_entry(set, &sets, list) {
		if (!wait_event_timeout(set->idle_wait, tier_set_idle(set) &&
					!READ_ONCE(set->discarding) && !tier_saver_busy(set),
					HIBERNATE_WAIT))
			return report(set, -EBUSY,
				      "no hibernation: a move or discard under way does not end");
	}
	return 0;
}

/*
 * Hibernation writes an image of memory, which later runs on with the disks as they are then.
 * The image must not miss a move or commit that came after it was made: its map and metadata
 * would point to other chunks and blocks.  File systems are frozen by then.  So a set stops
 * its background work before processes are frozen.
 */
static int pm_event(struct notifier_block *nb, unsigned long event, void *unused)
{
	int r;

	if (event != PM_HIBERNATION_PREPARE && event != PM_POST_HIBERNATION)
		return NOTIFY_DONE;
	mutex_lock(&tier_registry_lock);
	set_hibernating(event == PM_HIBERNATION_PREPARE);
	r = hibernating ? wait_idle() : 0;
	if (r)
		set_hibernating(false);
	mutex_unlock(&tier_registry_lock);
	return notifier_from_errno(r);
}

static struct notifier_block pm_notifier = { .notifier_call = pm_event };

int __init tier_set_init(void)
{
	int r;

	resume_wq = alloc_workqueue("dm-tier-resume", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!resume_wq)
		return -ENOMEM;
	r = register_pm_notifier(&pm_notifier);
	if (r)
		destroy_workqueue(resume_wq);
	return r;
}

void tier_set_exit(void)
{
	unregister_pm_notifier(&pm_notifier);
	destroy_workqueue(resume_wq);
}
