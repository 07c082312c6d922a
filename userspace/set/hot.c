// SPDX-License-Identifier: GPL-2.0-only
#include "set/hot.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"

/* The most places in an index. */
#define PLACES_MAX	4000000
/* The number of hot chunks whose heat is divided among files. */
#define SAMPLE		512

struct filling {
	struct file_index *index;
	struct finder finder;
	dev_t dev;
	unsigned int room_files, room_places;
};

static int add_place(void *context, struct set *s, uint64_t at, uint64_t count)
{
	struct filling *f = context;
	struct file_index *index = f->index;

	if (index->nr_places == PLACES_MAX) {
		index->cut = true;
		return 1;
	}
	if (index->nr_places == f->room_places) {
		f->room_places = f->room_places ? 2 * f->room_places : 1024;
		index->place = xrealloc(index->place, f->room_places, sizeof(*index->place));
	}
	index->place[index->nr_places++] = (struct place){
		.set = s, .at = at, .count = count, .file = index->nr_files,
	};
	return 0;
}

static int add_file(void *context, int fd, const char *path)
{
	struct filling *f = context;
	struct file_index *index = f->index;
	unsigned int i, before = index->nr_places;
	struct extents extents;
	int r = 0;

	if (!extents_read(fd, false, &extents))
		for (i = 0; i < extents.nr && !r; i++)
			r = stack_map(&f->finder.stack, f->dev, extents.extent[i].offset / SECTOR_SIZE,
				      extents.extent[i].length / SECTOR_SIZE, add_place, f);
	extents_free(&extents);
	if (index->nr_places > before) {
		if (index->nr_files == f->room_files) {
			f->room_files = f->room_files ? 2 * f->room_files : 256;
			index->file = xrealloc(index->file, f->room_files, sizeof(*index->file));
		}
		index->file[index->nr_files++] = xstrdup(path);
	}
	return r || interrupted;
}

static void skip_file(void *context, const char *path, int error)
{
	const struct filling *f = context;

	verbose(f->finder.ctx, "%s: %s", path, strerror(error));
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->set != y->set)
		return x->set < y->set ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

void file_index_sort(struct file_index *index)
{
	unsigned int i;

	if (index->nr_places)
		qsort(index->place, index->nr_places, sizeof(*index->place), by_place);
	/*
	 * Files that share blocks have overlapping places: a place that begins early may end
	 * late.
	 */
	for (i = 0; i < index->nr_places; i++) {
		struct place *p = &index->place[i];

		p->reach = p->at + p->count;
		if (i && p[-1].set == p->set && p[-1].reach > p->reach)
			p->reach = p[-1].reach;
	}
}

void file_index_make(struct file_index *index, const struct set_list *sets)
{
	struct filling f = { .index = index };
	struct walk walk = { .file = add_file, .failed = skip_file, .context = &f };
	uint64_t start = now_ms();
	struct mounts *mounts;
	unsigned int i, j;

	memset(index, 0, sizeof(*index));
	finder_init(sets->ctx, &f.finder, sets, false);
	mounts = &f.finder.mounts;
	for (i = 0; i < mounts->nr; i++) {
		f.dev = mounts->mount[i].dev;
		for (j = 0; j < i && mounts->mount[j].dev != f.dev; j++)
			;
		if (j < i || !major(f.dev) || !mounts_have_root(mounts, f.dev) ||
		    !stack_find_set(&f.finder.stack, f.dev))
			continue;
		j = mount_open_root(mounts, f.dev);
		if ((int)j >= 0)
			walk_directory(&walk, j, mounts_find(mounts, f.dev)->point);
	}
	finder_free(&f.finder);
	file_index_sort(index);
	index->made_ms = now_ms();
	index->took_ms = index->made_ms - start;
}

void file_index_free(struct file_index *index)
{
	while (index->nr_files)
		free(index->file[--index->nr_files]);
	free(index->file);
	free(index->place);
	memset(index, 0, sizeof(*index));
}

/* No place of the set before the returned one ends after sector at. */
static unsigned int first_place(const struct file_index *index, const struct set *s, uint64_t at)
{
	unsigned int low = 0, high = index->nr_places;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;
		const struct place *p = &index->place[middle];

		if (p->set < s || (p->set == s && p->reach <= at))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sectors of the place within the chunk. */
static uint64_t overlap(const struct place *p, uint64_t at, uint64_t end)
{
	uint64_t from = p->at > at ? p->at : at;
	uint64_t to = p->at + p->count < end ? p->at + p->count : end;

	return to > from ? to - from : 0;
}

const char *hot_owner(const struct file_index *index, const struct set *s, uint64_t chunk)
{
	uint64_t at = chunk * s->chunk_sectors, end = at + s->chunk_sectors, most = 0;
	const char *owner = NULL;
	unsigned int i;

	for (i = first_place(index, s, at); i < index->nr_places; i++) {
		const struct place *p = &index->place[i];

		if (p->set != s || p->at >= end)
			break;
		if (overlap(p, at, end) > most) {
			most = overlap(p, at, end);
			owner = index->file[p->file];
		}
	}
	return owner;
}

static int hotter(const void *a, const void *b)
{
	const struct hot_file *x = a, *y = b;

	return x->heat > y->heat ? -1 : x->heat < y->heat;
}

static unsigned int rank_of(const struct heat_bucket *chunk)
{
	unsigned int rank = 0;

	while (rank + 1 < TIER_MAX_TIERS && !chunk->on_rank[rank])
		rank++;
	return rank;
}

/* Each file gets its part of the heat of each hot chunk. */
static void credit_files(struct hot *hot, const struct file_index *index, unsigned int max)
{
	struct hot_file *all = xcalloc(index->nr_files, sizeof(*all));
	const struct set *s = hot->set;
	unsigned int i, j;

	for (i = 0; i < hot->nr_chunks; i++) {
		uint64_t at = hot->chunk[i].first * s->chunk_sectors, end = at + s->chunk_sectors;

		for (j = first_place(index, s, at); j < index->nr_places; j++) {
			const struct place *p = &index->place[j];
			uint64_t part = overlap(p, at, end);

			if (p->set != s || p->at >= end)
				break;
			all[p->file].heat += hot->chunk[i].heat * part / s->chunk_sectors;
			all[p->file].on_rank[rank_of(&hot->chunk[i])] += part * SECTOR_SIZE;
		}
	}
	for (i = 0; i < index->nr_files; i++)
		all[i].path = index->file[i];
	if (index->nr_files)
		qsort(all, index->nr_files, sizeof(*all), hotter);
	while (hot->nr_files < max && hot->nr_files < index->nr_files && all[hot->nr_files].heat)
		hot->nr_files++;
	hot->file = all;
	hot->have_files = true;
}

bool hot_find(struct hot *hot, const struct set *s, unsigned int max, const struct file_index *index)
{
	memset(hot, 0, sizeof(*hot));
	hot->set = s;
	if (heat_hottest(s, index && max < SAMPLE ? SAMPLE : max, &hot->chunk, &hot->nr_chunks))
		return false;
	if (index)
		credit_files(hot, index, max);
	if (hot->nr_chunks > max)
		hot->nr_chunks = max;
	return true;
}

void hot_free(struct hot *hot)
{
	free(hot->chunk);
	free(hot->file);
	memset(hot, 0, sizeof(*hot));
}
