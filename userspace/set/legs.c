// SPDX-License-Identifier: GPL-2.0-only
#include "set/legs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dm/dm.h"

void mirror_add(struct mirror *m, const struct member *tier)
{
	const struct leg_info *info = &tier->leg.info;
	struct mirror_leg *leg = &m->leg[info->index];

	if (!tier->leg.there || tier->hidden || info->generation < m->generation)
		return;
	if (info->generation > m->generation)
		mirror_free(m);
	if (leg->there) {
		m->doubled = true;
		return;
	}
	m->nr = info->nr;
	m->generation = info->generation;
	m->size = info->size;
	leg->there = true;
	device_copy(&leg->dev, &tier->dev);
	leg->id = tier->label.id;
	leg->at = tier_label_area(tier->label.chunk_sectors);
	leg->look = tier->leg;
}

void mirror_free(struct mirror *m)
{
	unsigned int i;

	for (i = 0; i < LEGS_MAX; i++)
		device_free(&m->leg[i].dev);
	memset(m, 0, sizeof(*m));
}

unsigned int mirror_legs(const struct mirror *m)
{
	unsigned int i, nr = 0;

	for (i = 0; i < m->nr; i++)
		nr += m->leg[i].there;
	return nr;
}

/* A leg that is whole is better, then one with more events, which dm-raid takes as the one that is right. */
static bool is_better(const struct member_leg *a, const struct member_leg *b)
{
	bool a_whole = a->in_raid && a->raid.whole, b_whole = b->in_raid && b->raid.whole;

	return a_whole != b_whole ? a_whole : a_whole && a->raid.events > b->raid.events;
}

unsigned int mirror_newest(const struct mirror *m)
{
	unsigned int i, best = LEGS_MAX;

	for (i = 0; i < m->nr; i++)
		if (m->leg[i].there && (best == LEGS_MAX || is_better(&m->leg[i].look, &m->leg[best].look)))
			best = i;
	return best;
}

static bool uuid_begins(dev_t dev, const char *prefix)
{
	char *uuid = device_attribute(dev, "dm/uuid");
	bool begins = uuid && !strncmp(uuid, prefix, strlen(prefix));

	free(uuid);
	return begins;
}

bool mirror_is_device(dev_t dev)
{
	return uuid_begins(dev, MIRROR_UUID_PREFIX) || uuid_begins(dev, SLICE_UUID_PREFIX);
}

static int is_part(void *unused, dev_t holder)
{
	(void)unused;
	return mirror_is_device(holder);
}

bool mirror_lies_on(dev_t tier)
{
	return device_for_each_holder(tier, is_part, NULL);
}

/* A line of a slice, or of metadata with one leg: the tier's number, and where it begins there. */
static int end_of_slice(void *context, dev_t dev)
{
	uint64_t *end = context;
	struct dm_line *lines;
	unsigned long long at;
	unsigned int i, nr;

	if (dm_table_lines(dev, &lines, &nr))
		return 0;
	for (i = 0; i < nr; i++)
		if (!strcmp(lines[i].type, "linear") && sscanf(lines[i].params, "%*s %llu", &at) == 1 &&
		    at + lines[i].length > *end)
			*end = at + lines[i].length;
	dm_lines_free(lines, nr);
	return 0;
}

uint64_t mirror_places_at(dev_t metadata)
{
	uint64_t end = 0;

	if (!uuid_begins(metadata, MIRROR_UUID_PREFIX))
		return 0;
	end_of_slice(&end, metadata);
	device_for_each_under(metadata, end_of_slice, &end);
	return end;
}
