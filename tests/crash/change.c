// SPDX-License-Identifier: GPL-2.0-only
/*
 * The set becomes another one while it is in use: another order of its tiers, one more
 * or one less, another size.  A cut on the way leaves it as it was or as it was to be;
 * the set's generation tells which, as the commit that makes it current is the one that
 * writes the change.  What an administrator may list then:
 *
 *	joining		written: the new tier must be listed.  Not written: it may be
 *			listed, whatever has become of its label, or not; without it,
 *			it is to be wiped before it joins again.
 *	dropping	written: the tier that went may not be listed.  Not written: it may
 *			be left out or not, as it is empty and was evacuated.
 *	growing		written: the longer length.  Not written: either.  A tier that is
 *			larger is adopted at the next activation.
 *	order		any
 */
#include "crash.h"

#include <errno.h>
#include <string.h>

#define EMPTYING_MS	60000
#define GROWTH		2	/* MiB at a time: a chunk of the largest size */

/* How often a cut left the old set, or the changed set; how often a wrong list was refused. */
unsigned int changes_undone, changes_done, changes_refused;

struct shape {
	uint64_t sectors;
	unsigned int nr_tiers, order[MAX_TIERS];
};

static struct set *set;
static struct model *model;

/* A change may be in the metadata or not; the message of the change was answered. */
static bool open_ended, answered;
static struct shape before, after;
static uint64_t generation;	/* before the change */

/* A list to be tried that must be refused: the opposite of the change's result. */
static bool looked, written, excludes;

static unsigned int leaver;	/* rank of the empty tier */

void changes_reset(struct set *s, struct model *m)
{
	set = s;
	model = m;
	open_ended = looked = false;
	leaver = MAX_TIERS;
}

static struct shape shape_of(const struct set *s)
{
	struct shape shape = { .sectors = s->sectors, .nr_tiers = s->nr_tiers };

	memcpy(shape.order, s->order, sizeof(shape.order));
	return shape;
}

static void take_shape(const struct shape *shape)
{
	model_resize(model, shape->sectors);
	set->nr_tiers = shape->nr_tiers;
	memcpy(set->order, shape->order, sizeof(set->order));
	__atomic_store_n(&set->sectors, shape->sectors, __ATOMIC_RELAXED);
}

/* ---- changes ---- */

static void reorder(struct rng *rng)
{
	unsigned int a = rng_below(rng, set->nr_tiers), t = after.order[a];
	unsigned int b = (a + 1 + rng_below(rng, set->nr_tiers - 1)) % set->nr_tiers;

	after.order[a] = after.order[b];
	after.order[b] = t;
}

static void join(struct rng *rng)
{
	unsigned int rank = rng_below(rng, set->nr_tiers + 1), disk = set_spare(set);

	/* The old data of the disk is still there, except the label. */
	disk_wipe(&disks[disk]);
	memmove(&after.order[rank + 1], &after.order[rank],
		(set->nr_tiers - rank) * sizeof(after.order[0]));
	after.order[rank] = disk;
	after.nr_tiers++;
	orders_join(disk);
}

static void drop(void)
{
	orders_leave(set->order[leaver]);
	after.nr_tiers--;
	memmove(&after.order[leaver], &after.order[leaver + 1],
		(after.nr_tiers - leaver) * sizeof(after.order[0]));
	leaver = MAX_TIERS;
}

/* Some disk has grown already. */
static void grow(struct rng *rng)
{
	if (rng_percent(rng, 60))
		after.sectors += 1 + rng_below(rng, GROWTH * 2048);
}

/* Reloads the table that is in force. */
static bool same(void)
{
	return before.sectors == after.sectors && before.nr_tiers == after.nr_tiers &&
	       !memcmp(before.order, after.order, sizeof(before.order));
}

static int make(enum change what, struct rng *rng)
{
	struct set next = *set;
	bool load;
	int r;

	before = after = shape_of(set);
	generation = set_generation();
	switch (what) {
	case ORDER:
		reorder(rng);
		break;
	case JOIN:
		join(rng);
		break;
	case DROP:
		drop();
		break;
	case GROW:
		grow(rng);
		break;
	default:
		break;
	}
	load = !same() || rng_percent(rng, 50);
	if (after.sectors > set->sectors)
		model_resize(model, after.sectors);
	open_ended = what != GROW_METADATA;
	answered = false;
	next.nr_tiers = after.nr_tiers;
	memcpy(next.order, after.order, sizeof(next.order));
	next.sectors = after.sectors;
	r = set_reload(&next, load, rng_percent(rng, 50));
	if (r)
		return r;
	take_shape(&after);
	answered = open_ended && !cut_begun();
	return 0;
}

int change_make(enum change what, struct rng *rng)
{
	int r;

	orders_lock();
	r = make(what, rng);
	orders_unlock(false);
	return r;
}

/* ---- preparation before a change ---- */

static void join_in_peace(struct rng *rng)
{
	int r = change_make(JOIN, rng);

	if (r)
		die("a tier cannot join in peace: %s", strerror(-r));
	if (set_generation() <= generation)
		die("a tier joined, and nothing is written");
	change_settled();
}

static bool is_empty(unsigned int rank)
{
	struct set_status st;

	set_get_status(set, &st);
	return !st.used[rank];
}

/* Empties a tier whose chunks fit on the others. */
static bool empty_some(struct rng *rng)
{
	unsigned int rank = rng_below(rng, set->nr_tiers), i;
	uint64_t start = now_ms();
	int r;

	for (i = 0; i < set->nr_tiers && !set_can_empty(set, rank); i++)
		rank = (rank + 1) % set->nr_tiers;
	if (!set_can_empty(set, rank))
		return false;
	orders_lock();
	orders_admit_all();
	r = orders_evacuate(rank);
	orders_unlock(true);
	if (r)
		die("evacuate %u: %s", rank, strerror(-r));
	while (!is_empty(rank)) {
		if (now_ms() - start > EMPTYING_MS)
			die("tier %u does not become empty", rank);
		nap_ms(20);
	}
	leaver = rank;
	return true;
}

static bool grow_disk(struct disk *d)
{
	if (d->grown + GROWTH > MAX_GROWTH)
		return false;
	disk_grow(d, d->grown + GROWTH);
	return true;
}

bool change_prepare(enum change what, struct rng *rng)
{
	switch (what) {
	case JOIN:
		return set_spare(set);
	case DROP:
		if (set->nr_tiers == NEW_TIERS)
			join_in_peace(rng);
		return empty_some(rng);
	case GROW:
		/* A tier that is evacuated does not count. */
		orders_lock();
		orders_admit_all();
		orders_unlock(true);
		return grow_disk(&disks[set->order[rng_below(rng, set->nr_tiers)]]);
	case GROW_METADATA:
		return grow_disk(&disks[META]);
	default:
		return true;
	}
}

/* ---- after a cut ---- */

bool change_look(void)
{
	bool good;

	looked = open_ended;
	if (!open_ended)
		return true;
	written = set_generation() > generation;
	good = written || !answered;
	if (!good)
		note("BAD: a change of the set was answered and is not written");
	take_shape(written ? &after : &before);
	/* Each of the two lists has a disk that the other may not have. */
	excludes = written && before.nr_tiers != after.nr_tiers;
	return good;
}

/* Lists that the metadata does not allow are refused, and nothing changes. */
bool change_try_refused(struct rng *rng)
{
	struct shape now = shape_of(set);
	int r;

	if (!looked || !excludes || !rng_percent(rng, 60))
		return true;
	take_shape(&before);
	r = set_activate(set);
	if (!r)
		set_deactivate(set);
	take_shape(&now);
	changes_refused++;
	return r == -EINVAL || cut_begun();
}

void change_choose(struct rng *rng)
{
	if (!looked)
		return;
	looked = false;
	if (written)
		changes_done++;
	else
		changes_undone++;
	answered = false;
	if (!written && rng_percent(rng, 50)) {
		take_shape(&after);
		return;		/* Another cut may come before the change is written. */
	}
	open_ended = false;
}

void change_settled(void)
{
	open_ended = looked = false;
}
