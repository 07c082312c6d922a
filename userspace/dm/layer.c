// SPDX-License-Identifier: GPL-2.0-only
#include "dm/layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/util.h"
#include "base/words.h"

/* More stripes than any table has. */
#define LEGS_MAX	1024

static void add_leg(struct layer *l, struct words *w, bool with_offset)
{
	const char *word = words_next(w);
	unsigned int maj, min;
	char end;

	if (!word || sscanf(word, "%u:%u%c", &maj, &min, &end) != 2) {
		w->failed = true;
		return;
	}
	l->leg = xrealloc(l->leg, l->nr_legs + 1, sizeof(*l->leg));
	l->leg[l->nr_legs].dev = makedev(maj, min);
	l->leg[l->nr_legs++].offset = with_offset ? words_number(w) : 0;
}

void layer_parse(uint64_t start, uint64_t length, const char *type, const char *params, struct layer *l)
{
	struct words w;
	unsigned int i, nr;

	memset(l, 0, sizeof(*l));
	l->start = start;
	l->length = length;
	copy_string(l->type, sizeof(l->type), type);
	words_init(&w, params);
	if (!strcmp(type, "linear")) {
		add_leg(l, &w, true);
	} else if (!strcmp(type, "striped")) {
		nr = words_count(&w, LEGS_MAX);
		l->stripe = words_number(&w);
		for (i = 0; i < nr && !w.failed; i++)
			add_leg(l, &w, true);
	} else if (!strcmp(type, "crypt")) {
		/* cipher, key, offset of the IV */
		for (i = 0; i < 3; i++)
			words_next(&w);
		add_leg(l, &w, true);
	} else if (!strcmp(type, "snapshot-origin")) {
		add_leg(l, &w, false);
	}
	l->followed = l->nr_legs && !w.failed && (l->nr_legs == 1 || l->stripe);
	/* The parameters may hold a key. */
	explicit_bzero(w.copy, strlen(params));
	words_free(&w);
}

void layer_free(struct layer *l)
{
	free(l->leg);
	memset(l, 0, sizeof(*l));
}

/*
 * The stripes of one leg are contiguous on that leg, so a range of the whole device lies on one
 * range of each leg.
 */
static int map_striped(const struct layer *l, uint64_t from, uint64_t to, unsigned int i,
		       int (*fn)(void *context, dev_t dev, uint64_t at, uint64_t count), void *context)
{
	uint64_t first = from / l->stripe, last = (to - 1) / l->stripe, nr = l->nr_legs;
	uint64_t k0 = first + (i + nr - first % nr) % nr;
	uint64_t k1 = last - (last % nr + nr - i) % nr;
	uint64_t begin, end;

	if (k0 > last)
		return 0;
	begin = k0 / nr * l->stripe + (k0 == first ? from % l->stripe : 0);
	end = k1 / nr * l->stripe + (k1 == last ? (to - 1) % l->stripe + 1 : l->stripe);
	return fn(context, l->leg[i].dev, l->leg[i].offset + begin, end - begin);
}

int layer_map(const struct layer *l, uint64_t at, uint64_t count,
	      int (*fn)(void *context, dev_t dev, uint64_t at, uint64_t count), void *context)
{
	uint64_t end = l->start + l->length;
	uint64_t from = at > l->start ? at : l->start;
	uint64_t to = count < end && at < end - count ? at + count : end;
	unsigned int i;
	int r = 0;

	if (!l->followed || from >= to)
		return 0;
	from -= l->start;
	to -= l->start;
	if (l->nr_legs == 1)
		return fn(context, l->leg[0].dev, l->leg[0].offset + from, to - from);
	for (i = 0; i < l->nr_legs && !r; i++)
		r = map_striped(l, from, to, i, fn, context);
	return r;
}
