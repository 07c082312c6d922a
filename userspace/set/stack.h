/* SPDX-License-Identifier: GPL-2.0-only */
/* From a block device down to the tiered device below it. */
#ifndef TIERCTL_STACK_H
#define TIERCTL_STACK_H

#include "dm/layer.h"
#include "set/set.h"

/* Keeps tables that were read; the sets must outlive it. */
struct stack {
	const struct set_list *sets;
	unsigned int nr;
	struct stack_device *device;
	char *stop;		/* why a device could not be followed, for the first such device */
};

void stack_init(struct stack *stack, const struct set_list *sets);
void stack_free(struct stack *stack);

/*
 * Calls fn for each range of a set's device below the sectors from at on of dev; sectors on
 * other devices are left out. Stops at a non-zero answer.
 */
int stack_map(struct stack *stack, dev_t dev, uint64_t at, uint64_t count,
	      int (*fn)(void *context, struct set *s, uint64_t at, uint64_t count), void *context);

/* The set that dev lies on, or the first of them; NULL if none. */
struct set *stack_find_set(struct stack *stack, dev_t dev);

#endif
