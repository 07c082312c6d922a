// SPDX-License-Identifier: GPL-2.0-only
/* Ranges of chunks, against a plain array of bits. */
#include <stdlib.h>
#include <string.h>

#include "base/ranges.h"
#include "../tap.h"
#include "base/util.h"

#define SPACE	200

static void to_bits(const struct ranges *list, bool bits[SPACE])
{
	uint64_t n;
	unsigned int i;

	memset(bits, 0, SPACE);
	for (i = 0; i < list->nr; i++)
		for (n = 0; n < list->range[i].count; n++)
			bits[list->range[i].first + n] = true;
}

static bool is_settled(const struct ranges *list)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++) {
		if (!list->range[i].count)
			return false;
		if (i && list->range[i - 1].first + list->range[i - 1].count >= list->range[i].first)
			return false;
	}
	return true;
}

static void make_random(struct ranges *list, bool bits[SPACE])
{
	unsigned int i, nr = rand() % 12;
	uint64_t n;

	memset(list, 0, sizeof(*list));
	memset(bits, 0, SPACE);
	for (i = 0; i < nr; i++) {
		uint64_t first = rand() % (SPACE - 30), count = rand() % 30;

		ranges_add(list, first, count);
		for (n = 0; n < count; n++)
			bits[first + n] = true;
	}
	ranges_settle(list);
}

static bool agree(const bool a[SPACE], const bool b[SPACE])
{
	return !memcmp(a, b, SPACE);
}

static void test_random(void)
{
	bool a[SPACE], b[SPACE], found[SPACE];
	bool settled = true, same = true, have = true, total = true, less = true, text = true;
	unsigned int round, i;

	srand(7);
	for (round = 0; round < 2000; round++) {
		struct ranges x, y, z;
		struct text t = { 0 };
		uint64_t n = 0;

		make_random(&x, a);
		make_random(&y, b);
		settled &= is_settled(&x);
		to_bits(&x, found);
		same &= agree(a, found);
		for (i = 0; i < SPACE; i++) {
			have &= ranges_have(&x, i) == a[i];
			n += a[i];
		}
		total &= ranges_total(&x) == n;

		ranges_to_text(&x, &t);
		text &= ranges_from_text(t.s, &z);
		to_bits(&z, found);
		text &= agree(a, found);
		text_free(&t);

		ranges_subtract(&x, &y);
		for (i = 0; i < SPACE; i++)
			a[i] &= !b[i];
		to_bits(&x, found);
		less &= agree(a, found) && is_settled(&x);
		ranges_free(&x);
		ranges_free(&y);
		ranges_free(&z);
	}
	ok(settled, "settled lists are sorted, disjoint and joined");
	ok(same, "nothing is lost or added");
	ok(have, "have() knows each chunk");
	ok(total, "total");
	ok(text, "to text and back");
	ok(less, "subtract");
}

static void test_cut(void)
{
	bool bits[SPACE], found[SPACE], good = true;
	struct ranges list = { 0 };
	unsigned int round, i, end;

	for (round = 0; round < 500; round++) {
		make_random(&list, bits);
		end = rand() % SPACE;
		for (i = end; i < SPACE; i++)
			bits[i] = false;
		ranges_cut(&list, end);
		to_bits(&list, found);
		good &= agree(bits, found) && is_settled(&list);
		ranges_free(&list);
	}
	ok(good, "cut");
	ranges_add(&list, 5, UINT64_MAX - 5);
	ranges_cut(&list, 8);
	ok(list.nr == 1 && list.range[0].first == 5 && list.range[0].count == 3, "what has no end to speak of");
	ranges_free(&list);
}

static void test_text(void)
{
	static const char *const wrong[] = { "", "x", "1-", "5-3", "1,x", "-1", "1;2" };
	struct ranges list = { 0 };
	struct text t = { 0 };
	unsigned int i;

	ranges_add(&list, 5, 1);
	ranges_add(&list, 7, 6);
	ranges_to_text(&list, &t);
	ok(!strcmp(t.s, "5,7-12"), "text: %s", t.s);
	text_free(&t);
	ranges_free(&list);
	ranges_to_text(&list, &t);
	ok(!strcmp(t.s, "-"), "text of nothing: %s", t.s);
	ok(ranges_from_text("-", &list) && !list.nr, "and back");
	text_free(&t);
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		ok(!ranges_from_text(wrong[i], &list) && !list.nr, "no ranges: '%s'", wrong[i]);
}

int main(void)
{
	test_random();
	test_cut();
	test_text();
	return tap_done();
}
