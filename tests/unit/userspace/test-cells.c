// SPDX-License-Identifier: GPL-2.0-only
/* Heat in cells and the search for the hottest chunks, on a fake set. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "set/heat.h"
#include "view/picture.h"
#include "../tap.h"
#include "base/util.h"
#include "context.h"

#define CHUNKS_MAX	60000

static unsigned int heat[CHUNKS_MAX], rank[CHUNKS_MAX];	/* rank 9: unmapped */
static uint64_t nr_chunks;
static unsigned int messages;

/* Replaces device-mapper: answers the heat message. */
int dm_message(const char *name, const char *message, char **answer, char **reason)
{
	unsigned long long first, count, buckets, b, i;
	struct text t = { 0 };

	(void)name;
	messages++;
	if (sscanf(message, "heat %llu %llu %llu", &first, &count, &buckets) != 3 || !count ||
	    first + count > nr_chunks || !buckets || buckets > 4096) {
		*reason = xstrdup("refused");
		return -22;
	}
	if (buckets > count)
		buckets = count;
	for (b = 0, i = first; b < buckets; b++) {
		unsigned long long start = i, end = first + (b + 1) * count / buckets;
		unsigned long long mapped = 0, sum = 0, on[2] = { 0, 0 };

		for (; i < end; i++) {
			sum += heat[i];
			if (rank[i] < 2) {
				mapped++;
				on[rank[i]]++;
			}
		}
		text_add(&t, "%llu %llu %llu 1 2 %llu %llu %llu\n", start, end - start, mapped, sum, on[0], on[1]);
	}
	*answer = t.s;
	return 0;
}

static void make_set(struct set *s, uint64_t chunks)
{
	uint64_t i;

	memset(s, 0, sizeof(*s));
	s->ctx = test_context();
	s->name = s->dm.name = "x";
	s->nr_tiers = 2;
	s->chunk_sectors = 128;
	s->status.chunks = nr_chunks = chunks;
	for (i = 0; i < chunks; i++) {
		rank[i] = rand() % 3 == 2 ? 9 : rand() % 2;
		heat[i] = rank[i] == 9 || rand() % 4 ? 0 : rand() % 100000 / (1 + rand() % 1000);
	}
}

/* Sums, sizes and order, for one range and for many. */
static void test_cells(void)
{
	bool sums = true, sizes = true, places = true, few = true;
	unsigned int round, i;

	for (round = 0; round < 200; round++) {
		unsigned int max = 1 + rand() % 4096, nr;
		struct ranges list = { 0 };
		struct heat_bucket *cell, total = { 0 };
		uint64_t want = 0, n;
		struct picture p;
		struct set s;

		make_set(&s, 1 + rand() % 20000);
		if (round % 2)
			ranges_add(&list, 0, nr_chunks);
		else
			for (i = 0; i < 20; i++) {
				uint64_t first = rand() % nr_chunks;

				n = rand() % (nr_chunks - first) / 10;
				ranges_add(&list, first, n + 1);
			}
		ranges_settle(&list);
		if (heat_cells(&s, &list, max, &cell, &nr)) {
			sums = false;
			break;
		}
		for (i = 0; i < list.nr; i++)
			for (n = 0; n < list.range[i].count; n++)
				want += heat[list.range[i].first + n];
		few &= nr <= max && (ranges_total(&list) < max ? nr == ranges_total(&list) : nr == max);
		picture_init(&p, &s, &list, cell, nr);
		for (i = 0; i < nr; i++) {
			total.heat += cell[i].heat;
			total.count += cell[i].count;
			sizes &= cell[i].count >= ranges_total(&list) / nr &&
				 cell[i].count <= ranges_total(&list) / nr + 1;
			places &= ranges_have(&list, cell_chunk(&p, i));
			places &= cell_level(&p, i) < LEVELS;
			/* A cell of one chunk has exactly the numbers of that chunk. */
			if (cell[i].count == 1 && nr == ranges_total(&list))
				sums &= cell[i].heat == heat[cell_chunk(&p, i)];
		}
		sums &= total.heat == want && total.count == ranges_total(&list);
		free(cell);
		ranges_free(&list);
	}
	ok(sums, "nothing is lost or counted twice");
	ok(sizes, "cells are of one size");
	ok(few, "as many cells as asked for");
	ok(places, "each begins with a chunk of the list");
}

static int colder(const void *a, const void *b)
{
	return *(const unsigned int *)b > *(const unsigned int *)a ? 1 : -1;
}

static void test_hottest(void)
{
	static unsigned int sorted[CHUNKS_MAX];
	unsigned int round, i, nr;
	bool right = true, cheap = true;

	for (round = 0; round < 60; round++) {
		struct heat_bucket *hot;
		struct set s;

		make_set(&s, 1 + rand() % CHUNKS_MAX);
		memcpy(sorted, heat, nr_chunks * sizeof(*heat));
		qsort(sorted, nr_chunks, sizeof(*sorted), colder);
		messages = 0;
		if (heat_hottest(&s, 20, &hot, &nr)) {
			right = false;
			break;
		}
		for (i = 0; i < nr; i++)
			right &= hot[i].count == 1 && hot[i].heat == sorted[i] && heat[hot[i].first] == sorted[i];
		right &= nr == 20 || !sorted[nr];
		cheap &= messages <= 200;
		free(hot);
	}
	ok(right, "the hottest chunks, in order");
	ok(cheap, "with few messages");
}

static void test_svg(void)
{
	struct ranges list = { 0 };
	struct heat_bucket *cell;
	struct text t = { 0 };
	struct picture p;
	unsigned int nr;
	struct set s;

	make_set(&s, 100);
	ranges_add(&list, 0, 100);
	ok(!heat_cells(&s, &list, 10, &cell, &nr), "cells for a picture");
	picture_init(&p, &s, &list, cell, nr);
	p.columns = 5;
	p.title = "set: a<b\xe4\001&\xc3\xa4";
	picture_svg(&p, &t);
	ok(strstr(t.s, ">set: a&lt;b\xef\xbf\xbd&amp;\xc3\xa4<"), "a title that is no UTF-8 is XML");
	text_free(&t);
	free(cell);
	ranges_free(&list);
}

/*
 * How far two colours are apart for one who lacks a kind of cone, by the matrices of Machado,
 * Oliveira and Fernandes (2009): squares of the distance in linear light.
 */
static double linear(unsigned char c)
{
	return pow(c / 255.0, 2.2);
}

static double distance(const double m[9], struct rgb a, struct rgb b)
{
	double d[3] = { linear(a.r) - linear(b.r), linear(a.g) - linear(b.g), linear(a.b) - linear(b.b) };
	double sum = 0, part;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		part = m[3 * i] * d[0] + m[3 * i + 1] * d[1] + m[3 * i + 2] * d[2];
		sum += part * part;
	}
	return sum;
}

static void test_colours(void)
{
	static const double sights[][9] = {
		{ 1, 0, 0, 0, 1, 0, 0, 0, 1 },
		{ .152286, 1.052583, -.204868, .114503, .786281, .099216, -.003882, -.048116, 1.051998 },
		{ .367322, .860646, -.227968, .280085, .672501, .047413, -.011820, .042940, .968881 },
		{ 1.255528, -.076749, -.178779, -.078411, .930809, .147602, .004733, .691367, .303900 },
	};
	struct set s = { .nr_tiers = 4 };
	struct picture p = { .set = &s };
	double least = 9, d;
	unsigned int i, a, b;

	for (i = 0; i < 4; i++)
		for (a = 0; a < 4; a++)
			for (b = a + 1; b < 4; b++) {
				d = distance(sights[i], tier_colour(&p, a, LEVELS - 1), tier_colour(&p, b, LEVELS - 1));
				least = d < least ? d : least;
			}
	ok(least > .05, "four tiers have colours apart for all eyes: %.3f", least);
	for (i = 0, least = 9; i < 4; i++)
		for (a = 0; a < 4; a++) {
			d = distance(sights[i], tier_colour(&p, a, 0), tier_colour(&p, a, LEVELS - 1));
			least = d < least ? d : least;
		}
	ok(least > .1, "so have hot and cold: %.3f", least);
}

static void test_refused(void)
{
	struct ranges list = { 0 };
	struct heat_bucket *cell, sum;
	unsigned int nr;
	struct set s;

	make_set(&s, 100);
	ranges_add(&list, 90, 20);
	ok(heat_cells(&s, &list, 10, &cell, &nr) && !cell, "what the kernel refuses is an error");
	ok(heat_sum(&s, &list, &sum), "of sums, too");
	ranges_free(&list);
	terminal_free(&terminal);
}

int main(void)
{
	srand(3);
	test_cells();
	test_hottest();
	test_svg();
	test_colours();
	test_refused();
	return tap_done();
}
