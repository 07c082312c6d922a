// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes page allocations fail on kernels without fault injection.
 *
 * While the parameter `on` is set, no page is given to kernel workers, to kthreadd, which makes
 * their threads, and to others who, on the path of I/O, may not start I/O to get one.  The other
 * parameters count whose allocations have failed.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>

static bool on;
module_param(on, bool, 0644);

static atomic_t workers, threads, others;
module_param_named(workers, workers.counter, int, 0444);
module_param_named(threads, threads.counter, int, 0444);
module_param_named(others, others.counter, int, 0444);

/* Runs in place of the allocator: no page, or of many pages none. */
static notrace noinline void *no_page(void)
{
	return NULL;
}

static int allocate(struct kprobe *probe, struct pt_regs *regs)
{
	gfp_t gfp = (__force gfp_t)regs_get_kernel_argument(regs, 0);
	atomic_t *count = current->flags & PF_WQ_WORKER ? &workers :
			  !strcmp(current->comm, "kthreadd") ? &threads : &others;

	/* Nobody expects these to fail, or they have reserves of their own. */
	if (!READ_ONCE(on) || !in_task() || (gfp & (__GFP_NOFAIL | __GFP_HIGH | __GFP_MEMALLOC)))
		return 0;
	if (count == &others && (gfp & __GFP_IO))
		return 0;
	/* vmalloc() warns if it gets no memory for what it takes without waiting. */
	if (count == &threads && !(gfp & __GFP_IO))
		return 0;
	atomic_inc(count);
	instruction_pointer_set(regs, (unsigned long)no_page);
	return 1;
}

/* The allocator's functions have other names from version to version. */
static struct kprobe probes[] = {
	{ .symbol_name = "__alloc_pages", .pre_handler = allocate },
	{ .symbol_name = "__alloc_pages_bulk", .pre_handler = allocate },
	{ .symbol_name = "__alloc_pages_noprof", .pre_handler = allocate },
	{ .symbol_name = "__alloc_frozen_pages_noprof", .pre_handler = allocate },
	{ .symbol_name = "alloc_pages_bulk_noprof", .pre_handler = allocate },
};

#include "probes.h"

MODULE_DESCRIPTION("page allocations fail, for tests");
MODULE_LICENSE("GPL");
