// SPDX-License-Identifier: GPL-2.0-only
#include "set/stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/util.h"

/* The most levels that device-mapper itself allows. */
#define DEPTH_MAX	16

struct stack_device {
	dev_t dev;
	struct set *set;	/* if the device is a set's */
	uint64_t sectors;
	unsigned int nr_layers;
	struct layer *layer;	/* none: no device below could be followed */
};

void stack_init(struct stack *stack, const struct set_list *sets)
{
	memset(stack, 0, sizeof(*stack));
	stack->sets = sets;
}

void stack_free(struct stack *stack)
{
	unsigned int i;

	while (stack->nr) {
		struct stack_device *d = &stack->device[--stack->nr];

		for (i = 0; i < d->nr_layers; i++)
			layer_free(&d->layer[i]);
		free(d->layer);
	}
	free(stack->device);
	free(stack->stop);
	memset(stack, 0, sizeof(*stack));
}

static struct layer *new_layer(struct stack_device *d)
{
	d->layer = xrealloc(d->layer, d->nr_layers + 1, sizeof(*d->layer));
	return &d->layer[d->nr_layers++];
}

/* A partition is a linear part of its disk. */
static bool load_partition(struct stack_device *d)
{
	char *disk = device_attribute(d->dev, "../dev");
	char params[64];
	bool is_one = device_attribute_number(d->dev, "partition") && disk;

	if (is_one) {
		snprintf(params, sizeof(params), "%.20s %llu", disk,
			 (unsigned long long)device_attribute_number(d->dev, "start"));
		layer_parse(0, d->sectors, "linear", params, new_layer(d));
	}
	free(disk);
	return is_one;
}

static void load_table(struct stack *stack, struct stack_device *d)
{
	struct dm_line *lines;
	unsigned int i, nr;

	if (dm_table_lines(d->dev, &lines, &nr))
		return;
	for (i = 0; i < nr; i++) {
		struct layer *l = new_layer(d);

		layer_parse(lines[i].start, lines[i].length, lines[i].type, lines[i].params, l);
		if (!l->followed && !stack->stop)
			stack->stop = xasprintf("a dm target \"%s\", which is not followed (linear, striped, crypt, snapshot-origin and partitions are)",
						l->type);
	}
	dm_lines_free(lines, nr);
}

static const char *unfollowed_kind(dev_t dev)
{
	static const struct { const char *attribute, *kind; } kinds[] = {
		{ "md/level", "an md array" }, { "loop/backing_file", "a loop device" },
		{ "bcache", "bcache" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		char *text = device_attribute(dev, kinds[i].attribute);

		free(text);
		if (text)
			return kinds[i].kind;
	}
	return NULL;
}

static void load_device(struct stack *stack, dev_t dev, struct stack_device *d)
{
	char *dm_name;
	unsigned int i;

	memset(d, 0, sizeof(*d));
	d->dev = dev;
	for (i = 0; i < stack->sets->nr; i++)
		if (stack->sets->set[i].active && stack->sets->set[i].dm.dev == dev)
			d->set = &stack->sets->set[i];
	if (d->set)
		return;
	d->sectors = device_attribute_number(dev, "size");
	dm_name = device_attribute(dev, "dm/name");
	if (dm_name)
		load_table(stack, d);
	else if (!load_partition(d) && unfollowed_kind(dev) && !stack->stop)
		stack->stop = xasprintf("%s, which is not followed", unfollowed_kind(dev));
	free(dm_name);
}

/* Valid until the next call. */
static struct stack_device *find_device(struct stack *stack, dev_t dev)
{
	struct stack_device d;
	unsigned int i;

	for (i = 0; i < stack->nr; i++)
		if (stack->device[i].dev == dev)
			return &stack->device[i];
	load_device(stack, dev, &d);
	stack->device = xrealloc(stack->device, stack->nr + 1, sizeof(*stack->device));
	stack->device[stack->nr] = d;
	return &stack->device[stack->nr++];
}

struct descent {
	struct stack *stack;
	unsigned int depth;
	int (*fn)(void *context, struct set *s, uint64_t at, uint64_t count);
	void *context;
};

static int descend(void *context, dev_t dev, uint64_t at, uint64_t count)
{
	struct descent *descent = context;
	struct stack_device *d = find_device(descent->stack, dev);
	struct layer *layer = d->layer;
	unsigned int i, nr = d->nr_layers;
	int r = 0;

	if (d->set)
		return descent->fn(descent->context, d->set, at, count);
	if (descent->depth == DEPTH_MAX)
		return 0;
	descent->depth++;
	/* Not through d: the list that holds it may be reallocated. */
	for (i = 0; i < nr && !r; i++)
		r = layer_map(&layer[i], at, count, descend, descent);
	descent->depth--;
	return r;
}

int stack_map(struct stack *stack, dev_t dev, uint64_t at, uint64_t count,
	      int (*fn)(void *context, struct set *s, uint64_t at, uint64_t count), void *context)
{
	struct descent descent = { .stack = stack, .fn = fn, .context = context };

	return descend(&descent, dev, at, count);
}

static int note_set(void *context, struct set *s, uint64_t at, uint64_t count)
{
	(void)at;
	(void)count;
	*(struct set **)context = s;
	return 1;
}

struct set *stack_find_set(struct stack *stack, dev_t dev)
{
	struct set *s = NULL;
	uint64_t sectors = device_attribute_number(dev, "size");

	stack_map(stack, dev, 0, sectors ? sectors : UINT64_MAX, note_set, &s);
	return s;
}
