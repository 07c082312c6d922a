// SPDX-License-Identifier: GPL-2.0-only
#include "set/legs.h"

#include <string.h>

#include "dm/dm.h"

static void drop(struct mirror_leg *leg)
{
	device_free(&leg->dev);
	memset(leg, 0, sizeof(*leg));
}

static void fill(struct mirror_leg *leg, const struct member *tier)
{
	drop(leg);
	leg->there = true;
	device_copy(&leg->dev, &tier->dev);
	leg->id = tier->label.id;
	leg->at = tier_label_area(tier->label.chunk_sectors);
	leg->room = tier->label.places_at - leg->at - LEG_DATA_AT;
	leg->look = tier->leg;
}

void mirror_put(struct mirror *m, const struct member *tier)
{
	const struct leg_info *info = &tier->leg.info;

	m->nr = info->nr;
	m->size = info->size;
	if (info->generation > m->generation) {
		m->generation = info->generation;
		m->tag = info->tag;
	}
	fill(&m->leg[info->index], tier);
}

/* Legs of a generation that is not the last one. */
static void keep_older(struct mirror *m, unsigned int i, const struct mirror_leg *leg)
{
	struct mirror_leg *older = &m->older[i];

	if (older->there && older->look.info.generation >= leg->look.info.generation)
		return;
	drop(older);
	*older = *leg;
	device_copy(&older->dev, &leg->dev);
}

void mirror_add(struct mirror *m, const struct member *tier)
{
	const struct leg_info *info = &tier->leg.info;
	struct mirror_leg leg = { 0 };
	unsigned int i;

	if (!tier->leg.there || tier->hidden)
		return;
	if (m->nr && info->generation < m->generation) {
		fill(&leg, tier);
		keep_older(m, info->index, &leg);
		drop(&leg);
		return;
	}
	if (info->generation > m->generation) {
		for (i = 0; i < m->nr; i++) {
			if (m->leg[i].there)
				keep_older(m, i, &m->leg[i]);
			drop(&m->leg[i]);
		}
		m->doubled = m->split = false;
		m->nr = info->nr;
		m->generation = info->generation;
		m->tag = info->tag;
		m->size = info->size;
	}
	/* The other one was to grow, too. */
	if (info->size < m->size)
		m->size = info->size;
	m->split |= info->tag != m->tag;
	if (m->leg[info->index].there)
		m->doubled = true;
	else
		fill(&m->leg[info->index], tier);
}

static bool is_whole(const struct member_leg *leg)
{
	return leg->in_raid && leg->raid.whole && leg->readable;
}

void mirror_settle(struct mirror *m, bool (*usable)(void *context, const struct mirror_leg *leg), void *context)
{
	unsigned int i;
	bool last;

	/* Whoever is asked to choose one wants to hear of both. */
	for (i = 0; i < m->nr && !m->split; i++) {
		if (m->leg[i].there && !usable(context, &m->leg[i]))
			drop(&m->leg[i]);
		/* The metadata may have grown since. */
		if (!m->older[i].there || m->older[i].room < m->size || !usable(context, &m->older[i]))
			continue;
		/* It was to be replaced, but the new one was not filled, and what should fill it is gone. */
		last = m->nr > 1 && m->leg[i].there && !is_whole(&m->leg[i].look) && !m->leg[!i].there &&
		       is_whole(&m->older[i].look);
		if (m->leg[i].there && !last)
			continue;
		drop(&m->leg[i]);
		m->leg[i] = m->older[i];
		m->leg[i].out = !last;
		memset(&m->older[i], 0, sizeof(m->older[i]));
	}
}

void mirror_free(struct mirror *m)
{
	unsigned int i;

	for (i = 0; i < LEGS_MAX; i++) {
		drop(&m->leg[i]);
		drop(&m->older[i]);
	}
	memset(m, 0, sizeof(*m));
}

unsigned int mirror_legs(const struct mirror *m)
{
	unsigned int i, nr = 0;

	for (i = 0; i < m->nr; i++)
		nr += m->leg[i].there;
	return nr;
}

/*
 * A leg that knows that the other dropped out is better, then one that is whole, then later metadata.
 * dm-raid does not compare: what is in its table and is not filled, it takes as right.
 */
static bool is_better(const struct mirror *m, unsigned int i, unsigned int than)
{
	const struct member_leg *a = &m->leg[i].look, *b = &m->leg[than].look;
	bool a_failed = b->in_raid && b->raid.failed & (1ULL << i), b_failed = a->in_raid && a->raid.failed & (1ULL << than);
	int later;

	if (m->leg[i].out != m->leg[than].out)
		return !m->leg[i].out;
	/* Even if what the other knows cannot be read now: then nobody may be filled from this one. */
	if (a_failed != b_failed)
		return b_failed;
	if (is_whole(a) != is_whole(b))
		return is_whole(a);
	later = a->readable && b->readable ? metadata_compare(&a->meta, &b->meta) : 0;
	return later ? later > 0 : a->in_raid && a->raid.events > b->raid.events;
}

unsigned int mirror_newest(const struct mirror *m)
{
	unsigned int i, best = LEGS_MAX;

	for (i = 0; i < m->nr; i++)
		if (m->leg[i].there && (best == LEGS_MAX || is_better(m, i, best)))
			best = i;
	return best;
}

bool mirror_in_sync(const struct mirror *m)
{
	const struct member_leg *a = &m->leg[0].look, *b = &m->leg[1].look;

	return mirror_legs(m) == LEGS_MAX && !m->leg[0].out && !m->leg[1].out && is_whole(a) && is_whole(b) &&
	       a->raid.events == b->raid.events && a->raid.size == b->raid.size && !a->raid.failed && !b->raid.failed &&
	       a->meta.flags & TIER_SB_CLEAN && b->meta.flags & TIER_SB_CLEAN && !metadata_compare(&a->meta, &b->meta);
}

bool mirror_has_noted(const struct mirror *m, uint64_t size)
{
	unsigned int i, newest = mirror_newest(m);
	bool noted = newest < LEGS_MAX;

	for (i = 0; noted && i < m->nr; i++) {
		const struct member_leg *leg = &m->leg[i].look;

		if (m->leg[i].there && !(m->leg[newest].look.raid.failed & (1ULL << i)))
			noted = leg->in_raid && leg->raid.size == size;
	}
	return noted;
}

bool mirror_is_device(dev_t dev)
{
	return device_uuid_begins(dev, MIRROR_UUID_PREFIX) || device_uuid_begins(dev, SLICE_UUID_PREFIX);
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
