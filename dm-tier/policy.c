// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies: their registry, the policy `static`, and what passes between the
 * hot path and the policy.  A map() notes each access in its CPU's ring while
 * the window is open (sampling.h); the mover empties the rings into the policy.
 */
#include "policy.h"

#include <linux/module.h>
#include <linux/random.h>

#include "kick.h"
#include "request.h"
#include "residence.h"

#define BATCH		64
#define HOUR_NS		(3600ULL * NSEC_PER_SEC)
#define DAY_NS		(24 * HOUR_NS)
#define HOURS		26	/* the first of so many in a row is more than a day ago */

/* set->policy_lock */
struct tier_policies {
	struct tier_policy_type *type;
	struct tier_policy *policy;	/* NULL: none is at work, or static */
	struct tier_policy_env env;
	struct tier_view views[TIER_MAX_TIERS];
	u64 now_ns;			/* of the views */
	unsigned int window;		/* accesses that a CPU notes in one go */
	u64 drained_ns, drained_ios;	/* the last window was opened then */
	bool asked;			/* by why, which tells what else holds a resident */
	u64 held[TIER_NR_HOLDS];	/* chunks held back since activation, by what */
	u64 served[TIER_MAX_TIERS];	/* see struct tier_deeds */
	struct tier_deeds hours[HOURS];	/* so far, at the ends of the last hours with a tick */
	unsigned int nr_hours;
};

static struct list_head types;

/* Moves nothing by itself. */
static struct tier_policy_type static_type = {
	.name = "static",
	.owner = THIS_MODULE,
	.list = LIST_HEAD_INIT(types),
};

/* From the start, static is in the list. */
static struct list_head types = LIST_HEAD_INIT(static_type.list);
static DEFINE_MUTEX(types_lock);

static struct tier_policy_type *find_type(const char *name)
{
	struct tier_policy_type *type;

	list_for_each_entry(type, &types, list)
		if (!strcmp(type->name, name))
			return type;
	return NULL;
}

static struct tier_policy_type *get_type(const char *name)
{
	struct tier_policy_type *type;

	mutex_lock(&types_lock);
	type = find_type(name);
	if (type && !try_module_get(type->owner))
		type = NULL;
	mutex_unlock(&types_lock);
	return type;
}

struct tier_policy_type *tier_policy_get(const char *name)
{
	struct tier_policy_type *type;
	int r;

	if (strlen(name) >= TIER_POLICY_NAME_SIZE)
		return ERR_PTR(-EINVAL);
	if (!strcmp(name, "default"))
		name = "heat";
	type = get_type(name);
	if (!type) {
		r = request_module("dm-tier-%s", name);
		type = get_type(name) ? : ERR_PTR(r == -ENOMEM ? r : -EINVAL);
	}
	return type;
}

void tier_policy_put(struct tier_policy_type *type)
{
	if (type)
		module_put(type->owner);
}

unsigned int tier_policy_nr_keys(const struct tier_policy_type *type)
{
	unsigned int nr = 0;

	while (type->keys && type->keys[nr].name && nr < TIER_MAX_POLICY_KEYS)
		nr++;
	return nr;
}

int tier_policy_register(struct tier_policy_type *type)
{
	int r = 0;

	mutex_lock(&types_lock);
	if (find_type(type->name))
		r = -EEXIST;
	else
		list_add(&type->list, &types);
	mutex_unlock(&types_lock);
	return r;
}
EXPORT_SYMBOL_GPL(tier_policy_register);

void tier_policy_unregister(struct tier_policy_type *type)
{
	mutex_lock(&types_lock);
	list_del(&type->list);
	mutex_unlock(&types_lock);
}
EXPORT_SYMBOL_GPL(tier_policy_unregister);

/* ---- what the policy sees ---- */

static void look_soon(struct tier_set *set)
{
	queue_delayed_work(set->wq, &set->mover_work, msecs_to_jiffies(TIER_OBSERVE_MS));
}

void tier_note_access(struct tier_set *set, struct bio *bio)
{
	unsigned int window = READ_ONCE(set->policies->window);
	struct tier_ring *ring = get_cpu_ptr(set->rings);
	unsigned int head = ring->head;
	/* Pairs with the release in hand_over(): the slot was read. */
	unsigned int filled = head - smp_load_acquire(&ring->tail);
	struct tier_access *a;

	if (filled < window) {
		a = &ring->slot[head % TIER_RING_SIZE];
		a->sector = bio->bi_iter.bi_sector;
		a->sectors = bio_sectors(bio);
		a->write = op_is_write(bio_op(bio));
		a->meta = !!(bio->bi_opf & REQ_META);
		/* Pairs with the acquire in drain(): the slot is whole. */
		smp_store_release(&ring->head, head + 1);
	}
	put_cpu_ptr(set->rings);

	if (!READ_ONCE(set->observe_armed)) {
		WRITE_ONCE(set->observe_armed, 1);
		/* Sooner than the idle scan that may be due. */
		mod_delayed_work(set->wq, &set->mover_work, msecs_to_jiffies(TIER_OBSERVE_MS));
	}
	if (filled + 1 >= window) {
		WRITE_ONCE(set->observing, false);
		/* A mover that looks just now may have opened the window before. */
		look_soon(set);
	}
}

/* All reads and writes of the tiers so far. */
static u64 count_ios(struct tier_set *set)
{
	unsigned int rank;
	u64 ios = 0;
	int cpu;

	for (rank = 0; rank < set->nr_tiers; rank++) {
		for_each_possible_cpu(cpu) {
			const struct tier_stats *s = per_cpu_ptr(set->tiers[rank]->stats, cpu);

			ios += READ_ONCE(s->reads) + READ_ONCE(s->writes);
		}
	}
	return ios;
}

/* Counts accesses to chunks that lie where the policy has moved them. */
static void count_served(struct tier_set *set, const struct tier_access *a)
{
	u64 chunk = a->sector >> set->chunk_shift, word;

	/* A set that became shorter may have been accessed behind its end. */
	if (chunk >= set->nr_chunks)
		return;
	word = tier_get_word(set, chunk);
	if ((word & TIER_ENTRY_MAPPED) && word >> TIER_WORD_REASON_SHIFT == TIER_REASON_POLICY)
		set->policies->served[set->by_id[tier_word_id(word)]->rec.rank] += a->weight;
}

/* Hands what a CPU noted to the policy. */
static void hand_over(struct tier_set *set, struct tier_ring *ring, struct tier_weights *w)
{
	struct tier_policies *ps = set->policies;
	struct tier_access batch[BATCH];
	unsigned int tail = ring->tail;

	while (w->nr) {
		unsigned int nr = 0;

		while (w->nr && nr < BATCH) {
			batch[nr] = ring->slot[tail++ % TIER_RING_SIZE];
			batch[nr].weight = tier_next_weight(w);
			count_served(set, &batch[nr++]);
		}
		/* Pairs with the acquire in tier_note_access(). */
		smp_store_release(&ring->tail, tail);
		ps->type->observe(ps->policy, batch, nr);
		set->heat_changed = true;
		cond_resched();
	}
}

static unsigned int noted_by(const struct tier_ring *ring)
{
	/* Pairs with the release in tier_note_access(). */
	return smp_load_acquire(&ring->head) - ring->tail;
}

/*
 * Hands what was noted to the policy and opens the window.  If it is closed, all accesses since
 * it was opened count, and it stays closed until its time is over.
 */
static void drain(struct tier_set *set, bool in_time)
{
	bool closed = !READ_ONCE(set->observing);
	struct tier_policies *ps = set->policies;
	u64 now = ktime_get_ns(), ios;
	unsigned int noted = 0, cpus = 0;
	struct tier_weights w;
	u32 all;
	int cpu;

	lockdep_assert_held(&set->policy_lock);
	if (!ps->policy || !ps->type->observe)
		return;
	for_each_possible_cpu(cpu) {
		unsigned int nr = noted_by(per_cpu_ptr(set->rings, cpu));

		noted += nr;
		cpus += !!nr;
	}
	if (closed && in_time &&
	    now - ps->drained_ns < tier_window_rest_ms(noted) * NSEC_PER_MSEC) {
		look_soon(set);
		return;
	}

	ios = count_ios(set);
	all = closed ? clamp_t(s64, ios - ps->drained_ios, 0, S32_MAX) : 0;
	for_each_possible_cpu(cpu) {
		struct tier_ring *ring = per_cpu_ptr(set->rings, cpu);

		tier_weights_begin(&w, noted_by(ring), noted, all);
		hand_over(set, ring, &w);
	}
	if (cpus)
		WRITE_ONCE(ps->window, tier_window_length(cpus));
	ps->drained_ns = now;
	ps->drained_ios = ios;
	WRITE_ONCE(set->observing, true);
}

static unsigned int where(void *context, u32 chunk)
{
	struct tier_set *set = context;
	u64 word = tier_get_word(set, chunk);
	struct tier *t;

	if (!(word & TIER_ENTRY_MAPPED) ||
	    (word & (TIER_WORD_NEW | TIER_WORD_MOVING | TIER_WORD_HELD)))
		return TIER_NOWHERE;
	t = set->by_id[tier_word_id(word)];
	if (!tier_present(t) || tier_requested(set, chunk, t->rec.id))
		return TIER_NOWHERE;
	if (tier_word_pin(word))
		return t->rec.rank | TIER_PINNED;
	if (!set->policies->asked && tier_resides(set, chunk, t))
		return t->rec.rank | TIER_RESIDENT;
	return t->rec.rank;
}

static u32 random_below(void *context, u32 ceiling)
{
	return mul_u64_u32_shr(get_random_u32(), ceiling, 32);
}

static void show(struct tier_set *set, const struct tier_view *views)
{
	lockdep_assert_held(&set->policy_lock);
	memcpy(set->policies->views, views, set->nr_tiers * sizeof(*views));
	set->policies->now_ns = ktime_get_ns();
}

int tier_policy_start(struct tier_set *set, struct tier_policy_type *type,
		      const struct tier_view *views)
{
	struct tier_policies *ps = set->policies;
	struct tier_policy *p = NULL;
	unsigned int key;

	ps->env.context = set;
	ps->env.where = where;
	ps->env.random = random_below;
	ps->env.tiers = ps->views;
	ps->env.nr_tiers = &set->nr_tiers;
	ps->env.now_ns = &ps->now_ns;
	ps->env.chunk_sectors = set->chunk_sectors;
	ps->env.changed = set->heat_blocks;
	ps->env.held = ps->held;
	mutex_lock(&set->policy_lock);
	show(set, views);
	mutex_unlock(&set->policy_lock);
	if (type->create)
		p = type->create(&ps->env, set->heat, set->nr_chunks);
	if (IS_ERR(p))
		return PTR_ERR(p);
	/* The table holds a reference, but may go before the policy object does. */
	__module_get(type->owner);
	mutex_lock(&set->policy_lock);
	ps->type = type;
	ps->policy = p;
	for (key = 0; type->set && key < tier_policy_nr_keys(type); key++)
		type->set(p, key, tier_policy_tunable(set, key));
	mutex_unlock(&set->policy_lock);
	ps->window = TIER_LONGEST_WINDOW;
	ps->drained_ios = count_ios(set);
	set->observing = type->observe;
	return 0;
}

void tier_policy_stop(struct tier_set *set)
{
	struct tier_policies *ps = set->policies;

	set->observing = false;
	mutex_lock(&set->policy_lock);
	if (ps->policy)
		ps->type->destroy(ps->policy);
	tier_policy_put(ps->type);
	ps->policy = NULL;
	ps->type = NULL;
	mutex_unlock(&set->policy_lock);
}

bool tier_policy_is(struct tier_set *set, const struct tier_policy_type *type)
{
	return set->policies->type == type;
}

static void deeds_so_far(struct tier_set *set, struct tier_deeds *d)
{
	lockdep_assert_held(&set->policy_lock);
	d->ns = ktime_get_ns();
	spin_lock_irq(&set->lock);
	d->promotions = set->promotions;
	d->demotions = set->demotions;
	d->migrated_sectors = set->migrated_sectors;
	spin_unlock_irq(&set->lock);
	memcpy(d->served, set->policies->served, sizeof(d->served));
}

/* Of an hour without a tick nothing is kept: nothing was served or moved. */
static void keep_hour(struct tier_set *set)
{
	struct tier_policies *ps = set->policies;
	const struct tier_deeds *last = &ps->hours[(ps->nr_hours + HOURS - 1) % HOURS];

	if (!ps->nr_hours || ktime_get_ns() - last->ns >= HOUR_NS)
		deeds_so_far(set, &ps->hours[ps->nr_hours++ % HOURS]);
}

void tier_policy_day(struct tier_set *set, struct tier_deeds *day)
{
	struct tier_policies *ps = set->policies;
	const struct tier_deeds *from;
	unsigned int hour, rank;

	mutex_lock(&set->policy_lock);
	keep_hour(set);
	deeds_so_far(set, day);
	/* The latest end of an hour a day ago, or the oldest that there is. */
	hour = ps->nr_hours > HOURS ? ps->nr_hours - HOURS : 0;
	while (hour + 1 < ps->nr_hours && day->ns - ps->hours[(hour + 1) % HOURS].ns >= DAY_NS)
		hour++;
	from = &ps->hours[hour % HOURS];
	day->ns -= from->ns;
	day->promotions -= from->promotions;
	day->demotions -= from->demotions;
	day->migrated_sectors -= from->migrated_sectors;
	for (rank = 0; rank < TIER_MAX_TIERS; rank++)
		day->served[rank] -= from->served[rank];
	mutex_unlock(&set->policy_lock);
}

void tier_policy_drain(struct tier_set *set)
{
	mutex_lock(&set->policy_lock);
	drain(set, false);
	mutex_unlock(&set->policy_lock);
}

void tier_policy_tick(struct tier_set *set, const struct tier_view *views)
{
	struct tier_policies *ps = set->policies;

	mutex_lock(&set->policy_lock);
	show(set, views);
	keep_hour(set);
	drain(set, true);
	if (ps->policy && ps->type->tick)
		ps->type->tick(ps->policy);
	mutex_unlock(&set->policy_lock);
}

bool tier_policy_next(struct tier_set *set, const struct tier_view *views, u32 tokens, u32 cap,
		      struct tier_move *move)
{
	struct tier_policies *ps = set->policies;
	bool found = false;

	mutex_lock(&set->policy_lock);
	show(set, views);
	if (ps->policy && ps->type->next)
		found = ps->type->next(ps->policy, tokens, cap, move);
	mutex_unlock(&set->policy_lock);
	return found;
}

void tier_policy_done(struct tier_set *set, const struct tier_move *move, bool moved)
{
	struct tier_policies *ps = set->policies;

	mutex_lock(&set->policy_lock);
	if (ps->policy && ps->type->done)
		ps->type->done(ps->policy, move, moved);
	mutex_unlock(&set->policy_lock);
}

bool tier_policy_victim(struct tier_set *set, unsigned int rank, u32 *chunk)
{
	struct tier_policies *ps = set->policies;
	bool found = false;

	mutex_lock(&set->policy_lock);
	if (ps->policy && ps->type->victim)
		found = ps->type->victim(ps->policy, rank, chunk);
	mutex_unlock(&set->policy_lock);
	return found;
}

enum tier_hold tier_policy_why(struct tier_set *set, u32 chunk, u32 tokens, u32 cap)
{
	struct tier_policies *ps = set->policies;
	enum tier_hold held = TIER_HOLD_STATIC;

	mutex_lock(&set->policy_lock);
	ps->asked = true;
	if (ps->policy && ps->type->why)
		held = ps->type->why(ps->policy, chunk, tokens, cap);
	ps->asked = false;
	mutex_unlock(&set->policy_lock);
	return held;
}

void tier_policy_hold(struct tier_set *set, enum tier_hold held)
{
	struct tier_policies *ps = set->policies;

	mutex_lock(&set->policy_lock);
	if (ps->policy && ps->type->waiting && ps->type->waiting(ps->policy))
		ps->held[held]++;
	mutex_unlock(&set->policy_lock);
}

u64 tier_policy_held(struct tier_set *set, enum tier_hold held)
{
	return READ_ONCE(set->policies->held[held]);
}

u32 tier_policy_heat(struct tier_set *set, u32 chunk)
{
	struct tier_policies *ps = set->policies;
	u32 heat = 0;

	mutex_lock(&set->policy_lock);
	if (ps->policy && ps->type->heat)
		heat = ps->type->heat(ps->policy, chunk);
	mutex_unlock(&set->policy_lock);
	return heat;
}

void tier_policy_set(struct tier_set *set, unsigned int key, u64 value)
{
	struct tier_policies *ps = set->policies;

	mutex_lock(&set->policy_lock);
	if (ps->policy && ps->type->set)
		ps->type->set(ps->policy, key, value);
	mutex_unlock(&set->policy_lock);
}

static int init(struct tier_set *set)
{
	set->rings = alloc_percpu(struct tier_ring);
	return set->rings ? 0 : -ENOMEM;
}

static void release(struct tier_set *set)
{
	free_percpu(set->rings);
}

const struct tier_set_room tier_policy_room = TIER_SET_ROOM(policies, init, release);
