// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes dm-raid fail to resume: it cannot read its bitmap, which it does when the new table is the
 * live one already.  So often as the parameter `times` says.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

static atomic_t times;
module_param_named(times, times.counter, int, 0644);

/* Runs in place of the function that reads it. */
static notrace noinline int unreadable(void)
{
	return -EIO;
}

static int load(struct kprobe *probe, struct pt_regs *regs)
{
	if (atomic_dec_if_positive(&times) < 0)
		return 0;
	instruction_pointer_set(regs, (unsigned long)unreadable);
	return 1;
}

/* It has other names from version to version. */
static struct kprobe probes[] = {
	{ .symbol_name = "md_bitmap_load", .pre_handler = load },
	{ .symbol_name = "bitmap_load", .pre_handler = load },
};

#include "probes.h"

MODULE_DESCRIPTION("dm-raid fails to resume, for tests");
MODULE_LICENSE("GPL");
