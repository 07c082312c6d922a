// SPDX-License-Identifier: GPL-2.0-only
#include "base/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"

void ranges_add(struct ranges *list, uint64_t first, uint64_t count)
{
	struct range *last = list->nr ? &list->range[list->nr - 1] : NULL;

	if (!count)
		return;
	/* Ranges that come in order, as extents do, are joined, so the list stays short. */
	if (last && first >= last->first && first <= last->first + last->count) {
		if (first + count > last->first + last->count)
			last->count = first + count - last->first;
		return;
	}
	if (list->nr == list->room) {
		list->room = list->room ? 2 * list->room : 16;
		list->range = xrealloc(list->range, list->room, sizeof(*list->range));
	}
	list->range[list->nr++] = (struct range){ .first = first, .count = count };
}

void ranges_add_all(struct ranges *list, const struct ranges *more)
{
	unsigned int i;

	for (i = 0; i < more->nr; i++)
		ranges_add(list, more->range[i].first, more->range[i].count);
}

static int by_first(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

void ranges_settle(struct ranges *list)
{
	unsigned int i, nr = list->nr;

	if (!nr)
		return;
	qsort(list->range, nr, sizeof(*list->range), by_first);
	/* Added in order, ranges are joined; the list never grows beyond its length before. */
	list->nr = 0;
	for (i = 0; i < nr; i++)
		ranges_add(list, list->range[i].first, list->range[i].count);
}

void ranges_free(struct ranges *list)
{
	free(list->range);
	memset(list, 0, sizeof(*list));
}

uint64_t ranges_total(const struct ranges *list)
{
	uint64_t total = 0;
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		total += list->range[i].count;
	return total;
}

bool ranges_have(const struct ranges *list, uint64_t n)
{
	unsigned int low = 0, high = list->nr;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;
		const struct range *r = &list->range[middle];

		if (n < r->first)
			high = middle;
		else if (n >= r->first + r->count)
			low = middle + 1;
		else
			return true;
	}
	return false;
}

void ranges_subtract(struct ranges *list, const struct ranges *taken)
{
	struct ranges left = { 0 };
	unsigned int i, j = 0;

	for (i = 0; i < list->nr; i++) {
		uint64_t at = list->range[i].first, end = at + list->range[i].count;

		while (at < end) {
			const struct range *t;

			while (j < taken->nr && taken->range[j].first + taken->range[j].count <= at)
				j++;
			t = j < taken->nr ? &taken->range[j] : NULL;
			if (!t || t->first >= end) {
				ranges_add(&left, at, end - at);
				break;
			}
			if (t->first > at)
				ranges_add(&left, at, t->first - at);
			at = t->first + t->count;
		}
	}
	ranges_free(list);
	*list = left;
}

void ranges_cut(struct ranges *list, uint64_t end)
{
	unsigned int i, nr = 0;

	for (i = 0; i < list->nr; i++) {
		struct range r = list->range[i];

		if (r.first >= end)
			continue;
		if (r.count > end - r.first)
			r.count = end - r.first;
		list->range[nr++] = r;
	}
	list->nr = nr;
}

void ranges_to_text(const struct ranges *list, struct text *t)
{
	unsigned int i;

	if (!list->nr)
		text_add(t, "-");
	for (i = 0; i < list->nr; i++) {
		const struct range *r = &list->range[i];

		text_add(t, "%s%llu", i ? "," : "", (unsigned long long)r->first);
		if (r->count > 1)
			text_add(t, "-%llu", (unsigned long long)(r->first + r->count - 1));
	}
}

bool ranges_from_text(const char *s, struct ranges *list)
{
	char *copy, *word, *save = NULL;
	uint64_t first, count;
	bool good = *s;

	memset(list, 0, sizeof(*list));
	if (!strcmp(s, "-"))
		return true;
	copy = xstrdup(s);
	for (word = strtok_r(copy, ",", &save); word && good; word = strtok_r(NULL, ",", &save)) {
		good = !parse_range(word, &first, &count);
		if (good)
			ranges_add(list, first, count);
	}
	free(copy);
	if (!good)
		ranges_free(list);
	ranges_settle(list);
	return good;
}
