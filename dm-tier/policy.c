// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies: their registry, the policy `static`, and what passes between the
 * hot path and the policy.  A map() notes each access in its CPU's ring; the
 * mover empties the rings into the policy.
 */
#include "policy.h"

#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "kick.h"

#define SAMPLE_EVERY	16	/* one latency in so many noted accesses of a CPU */
#define BURST		64	/* accesses noted in a row */
#define ENOUGH		8000	/* accesses a second that are enough for the policy */
#define MAX_SKIP	255	/* bursts */
#define BATCH		64

/* set->policy_lock */
struct tier_policies {
	struct tier_policy_type *type;
	struct tier_policy *policy;	/* NULL: none is at work */
	struct tier_policy_env env;
	struct tier_view views[TIER_MAX_TIERS];
	unsigned int skip;		/* bursts passed over after each noted one */
	u64 noted, drained_ns;
};

static DEFINE_MUTEX(types_lock);
static LIST_HEAD(types);

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

/* ---- static: moves nothing by itself ---- */

struct tier_policy {
	int nothing;
};

static struct tier_policy static_policy;

static struct tier_policy *static_create(const struct tier_policy_env *env,
					 u32 *heat, u32 nr_chunks)
{
	return &static_policy;
}

static void static_destroy(struct tier_policy *p)
{
}

static struct tier_policy_type static_type = {
	.name = "static",
	.owner = THIS_MODULE,
	.create = static_create,
	.destroy = static_destroy,
};

int tier_policy_init(void)
{
	return tier_policy_register(&static_type);
}

void tier_policy_exit(void)
{
	tier_policy_unregister(&static_type);
}

/* ---- what the policy sees ---- */

/*
 * When accesses come faster than the policy needs, bursts of them are noted and
 * the rest skipped.  Bursts, because a stream shows only in accesses that follow
 * each other.
 */
bool tier_note_access(struct tier_set *set, struct bio *bio)
{
	struct tier_ring *ring = get_cpu_ptr(set->rings);
	unsigned int head, filled;
	struct tier_access *a;

	if (!ring->burst--) {
		ring->burst = BURST;
		ring->skip = BURST * READ_ONCE(set->policies->skip);
	}
	head = ring->head;
	/* Pairs with the release in drain(): the slot was read. */
	filled = head - smp_load_acquire(&ring->tail);
	if (filled < TIER_RING_SIZE) {
		a = &ring->slot[head % TIER_RING_SIZE];
		a->sector = bio->bi_iter.bi_sector;
		a->sectors = bio_sectors(bio);
		a->write = op_is_write(bio_op(bio));
		/* Pairs with the acquire in drain(): the slot is whole. */
		smp_store_release(&ring->head, head + 1);
	}
	put_cpu_ptr(set->rings);

	if (filled == TIER_RING_SIZE / 2) {
		tier_kick_mover(set);
	} else if (!READ_ONCE(set->observe_armed)) {
		WRITE_ONCE(set->observe_armed, 1);
		/* Sooner than the idle scan that may be due. */
		mod_delayed_work(set->wq, &set->mover_work, msecs_to_jiffies(TIER_OBSERVE_MS));
	}
	return !(head % SAMPLE_EVERY) && bio_op(bio) == REQ_OP_READ &&
	       bio_sectors(bio) <= TIER_PIECE_SECTORS;
}

/* Keeps the rate of what is noted between a quarter of ENOUGH and ENOUGH. */
static void adapt_skip(struct tier_policies *ps, u64 noted)
{
	u64 now = ktime_get_ns();
	u64 ms = div_u64(now - ps->drained_ns, NSEC_PER_MSEC);
	u64 rate;

	ps->noted += noted;
	if (ms < 100)
		return;
	rate = div64_u64(ps->noted * MSEC_PER_SEC, ms);
	if (rate > ENOUGH && ps->skip < MAX_SKIP)
		WRITE_ONCE(ps->skip, ps->skip * 2 + 1);
	else if (rate < ENOUGH / 4)
		WRITE_ONCE(ps->skip, ps->skip / 2);
	ps->noted = 0;
	ps->drained_ns = now;
}

static void drain(struct tier_set *set)
{
	struct tier_policies *ps = set->policies;
	struct tier_access batch[BATCH];
	u64 noted = 0;
	int cpu;

	lockdep_assert_held(&set->policy_lock);
	if (!ps->policy || !ps->type->observe)
		return;
	for_each_possible_cpu(cpu) {
		struct tier_ring *ring = per_cpu_ptr(set->rings, cpu);
		unsigned int tail = ring->tail;
		unsigned int head;

		/* Pairs with the release in tier_note_access(). */
		head = smp_load_acquire(&ring->head);

		while (tail != head) {
			unsigned int nr = 0;

			while (tail != head && nr < BATCH)
				batch[nr++] = ring->slot[tail++ % TIER_RING_SIZE];
			/* Pairs with the acquire in tier_note_access(). */
			smp_store_release(&ring->tail, tail);
			ps->type->observe(ps->policy, batch, nr);
			set->heat_changed = true;
			noted += nr;
			cond_resched();
		}
	}
	adapt_skip(ps, noted);
}

static unsigned int where(void *context, u32 chunk)
{
	struct tier_set *set = context;
	u64 word = tier_get_word(set, chunk);
	struct tier *t;

	if (!(word & TIER_ENTRY_MAPPED) || tier_word_pin(word) ||
	    (word & (TIER_WORD_NEW | TIER_WORD_MOVING | TIER_WORD_HELD)))
		return TIER_NOWHERE;
	t = set->by_id[tier_word_id(word)];
	return tier_present(t) ? t->rec.rank : TIER_NOWHERE;
}

static u32 random_below(void *context, u32 ceiling)
{
	return mul_u64_u32_shr(get_random_u32(), ceiling, 32);
}

static void show(struct tier_set *set, const struct tier_view *views)
{
	lockdep_assert_held(&set->policy_lock);
	memcpy(set->policies->views, views, set->nr_tiers * sizeof(*views));
}

int tier_policy_start(struct tier_set *set, struct tier_policy_type *type,
		      const struct tier_view *views)
{
	struct tier_policies *ps = set->policies;
	struct tier_policy *p;
	unsigned int key;

	ps->env.context = set;
	ps->env.where = where;
	ps->env.random = random_below;
	ps->env.tiers = ps->views;
	ps->env.nr_tiers = &set->nr_tiers;
	ps->env.chunk_sectors = set->chunk_sectors;
	mutex_lock(&set->policy_lock);
	show(set, views);
	mutex_unlock(&set->policy_lock);
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
	set->observing = type->observe;
	return 0;
}

void tier_policy_stop(struct tier_set *set)
{
	struct tier_policies *ps = set->policies;

	set->observing = false;
	mutex_lock(&set->policy_lock);
	if (ps->policy) {
		ps->type->destroy(ps->policy);
		module_put(ps->type->owner);
	}
	ps->policy = NULL;
	ps->type = NULL;
	mutex_unlock(&set->policy_lock);
}

bool tier_policy_is(struct tier_set *set, const struct tier_policy_type *type)
{
	return set->policies->type == type;
}

void tier_policy_drain(struct tier_set *set)
{
	mutex_lock(&set->policy_lock);
	drain(set);
	mutex_unlock(&set->policy_lock);
}

void tier_policy_tick(struct tier_set *set, const struct tier_view *views)
{
	struct tier_policies *ps = set->policies;

	mutex_lock(&set->policy_lock);
	show(set, views);
	drain(set);
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

bool tier_policy_heat(struct tier_set *set, u32 chunk, u32 *heat)
{
	struct tier_policies *ps = set->policies;
	bool known = false;

	*heat = 0;
	mutex_lock(&set->policy_lock);
	if (ps->policy && ps->type->heat) {
		*heat = ps->type->heat(ps->policy, chunk);
		known = true;
	}
	mutex_unlock(&set->policy_lock);
	return known;
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

const struct tier_set_room tier_policy_room = {
	.size = sizeof(struct tier_policies),
	.pointer = offsetof(struct tier_set, policies),
	.init = init,
	.exit = release,
};
