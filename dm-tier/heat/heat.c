// SPDX-License-Identifier: GPL-2.0-only
/* The policy "heat" as a module: the heat engine behind the target's interface. */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "heat/engine.h"

static struct tier_policy *heat_create(const struct tier_policy_env *env,
				       u32 *heat, u32 nr_chunks)
{
	struct tier_policy *p = kvmalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return ERR_PTR(-ENOMEM);
	heat_engine_init(p, env, heat, nr_chunks);
	return p;
}

static void heat_destroy(struct tier_policy *p)
{
	kvfree(p);
}

static struct tier_policy_type heat_policy_type = {
	.name = "heat",
	.owner = THIS_MODULE,
	.keys = heat_engine_keys,
	.create = heat_create,
	.destroy = heat_destroy,
	.observe = heat_engine_observe,
	.next = heat_engine_next,
	.done = heat_engine_done,
	.victim = heat_engine_victim,
	.why = heat_engine_why,
	.waiting = heat_engine_waiting,
	.heat = heat_engine_heat,
	.set = heat_engine_set,
	.tick = heat_engine_tick,
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
