// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy "heat" as a module: the heat engine behind the target's
 * interface.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "heat/engine.h"

struct tier_policy {
	struct heat_engine engine;
};

static struct tier_policy *heat_create(const struct tier_policy_env *env,
				       u32 *heat, u32 nr_chunks)
{
	struct tier_policy *p = kvmalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return ERR_PTR(-ENOMEM);
	heat_engine_init(&p->engine, env, heat, nr_chunks);
	return p;
}

static void heat_destroy(struct tier_policy *p)
{
	kvfree(p);
}

static void heat_observe(struct tier_policy *p, const struct tier_access *a,
			 unsigned int nr)
{
	heat_engine_observe(&p->engine, a, nr);
}

static bool heat_next(struct tier_policy *p, u32 tokens, u32 cap,
		      struct tier_move *move)
{
	return heat_engine_next(&p->engine, tokens, cap, move);
}

static void heat_done(struct tier_policy *p, const struct tier_move *move,
		      bool moved)
{
	heat_engine_done(&p->engine, move, moved);
}

static bool heat_victim(struct tier_policy *p, unsigned int rank, u32 *chunk)
{
	return heat_engine_victim(&p->engine, rank, chunk);
}

static u32 heat_heat(struct tier_policy *p, u32 chunk)
{
	return heat_engine_heat(&p->engine, chunk);
}

static void heat_set(struct tier_policy *p, unsigned int key, u64 value)
{
	heat_engine_set(&p->engine, key, value);
}

static void heat_tick(struct tier_policy *p)
{
	heat_engine_tick(&p->engine);
}

static struct tier_policy_type heat_policy_type = {
	.name = "heat",
	.owner = THIS_MODULE,
	.keys = heat_engine_keys,
	.create = heat_create,
	.destroy = heat_destroy,
	.observe = heat_observe,
	.next = heat_next,
	.done = heat_done,
	.victim = heat_victim,
	.heat = heat_heat,
	.set = heat_set,
	.tick = heat_tick,
};

static int __init dm_tier_heat_init(void)
{
	return tier_policy_register(&heat_policy_type);
}

static void __exit dm_tier_heat_exit(void)
{
	tier_policy_unregister(&heat_policy_type);
}

module_init(dm_tier_heat_init);
module_exit(dm_tier_heat_exit);

MODULE_DESCRIPTION("heat policy of the device-mapper tier target");
MODULE_LICENSE("GPL");
