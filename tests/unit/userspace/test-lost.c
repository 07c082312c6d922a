// SPDX-License-Identifier: GPL-2.0-only
/* The ranges that lie on a missing tier, of a fake set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "set/lost.h"
#include "../tap.h"
#include "context.h"
#include "base/util.h"

/* In order, with gaps between them; the chunks on rank 0, which is missing. */
static struct range *range;
static unsigned int nr_ranges;
static uint64_t nr_chunks;
static unsigned int messages;
static bool broken;

unsigned int set_missing(const struct set *s)
{
	(void)s;
	return 1;
}

bool report_measurable(const struct set *s)
{
	(void)s;
	return true;
}

/* How many chunks from first to end - 1 are lost. */
static uint64_t lost_between(uint64_t first, uint64_t end)
{
	unsigned int low = 0, high = nr_ranges;
	uint64_t n = 0;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (range[middle].first + range[middle].count <= first)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < nr_ranges && range[low].first < end; low++) {
		uint64_t from = range[low].first, to = from + range[low].count;

		n += (to < end ? to : end) - (from > first ? from : first);
	}
	return n;
}

/* Replaces device-mapper: answers the heat message. */
int dm_message(const char *name, const char *message, char **answer, char **reason)
{
	unsigned long long first, count, buckets, b, start;
	size_t len;
	FILE *f;

	(void)name;
	messages++;
	if (sscanf(message, "heat %llu %llu %llu", &first, &count, &buckets) != 3 || !count ||
	    first + count > nr_chunks || !buckets || buckets > 4096) {
		*reason = xstrdup("refused");
		return -22;
	}
	if (buckets > count)
		buckets = count;
	f = open_memstream(answer, &len);
	if (!f)
		exit(1);
	for (b = 0, start = first; b < buckets; b++) {
		unsigned long long end = first + (unsigned long long)((unsigned __int128)(b + 1) * count / buckets);
		unsigned long long lost = lost_between(start, end);

		if (broken)
			lost = 1;
		fprintf(f, "%llu %llu %llu 0 0 0 %llu %llu\n", start, broken ? 2 : end - start, end - start, lost,
			end - start - lost);
		start = end;
	}
	fclose(f);
	return 0;
}

/* Whether exactly the lost ranges are found. */
static bool all_found(uint64_t chunks, bool *complete)
{
	struct set s = { .ctx = test_context(), .nr_tiers = 2, .name = "x", .dm.name = "x" };
	struct report r = { .set = &s, .chunks = chunks, .lost_cut = true };
	bool same;

	s.tier[1].present = true;
	nr_chunks = chunks;
	messages = 0;
	report_find_lost(&r);
	same = r.nr_lost == nr_ranges && !memcmp(r.lost ?: range, range, nr_ranges * sizeof(*range));
	*complete = !r.lost_cut;
	free(r.lost);
	return same;
}

static void add(uint64_t first, uint64_t count)
{
	range = xrealloc(range, nr_ranges + 1, sizeof(*range));
	range[nr_ranges++] = (struct range){ .first = first, .count = count };
}

/* In each step of chunks one chunk is lost. */
static void scattered(uint64_t chunks, uint64_t step, unsigned int most)
{
	bool found, complete;
	uint64_t i;

	nr_ranges = 0;
	range = xrealloc(range, chunks / step + 1, sizeof(*range));
	for (i = step - 1; i < chunks; i += step)
		range[nr_ranges++] = (struct range){ .first = i, .count = 1 };
	found = all_found(chunks, &complete);
	ok(found && complete && messages <= most, "%llu chunks, one of %llu lost: all found, %u messages",
	   (unsigned long long)chunks, (unsigned long long)step, messages);
}

static void random_sets(void)
{
	unsigned int round, wrong = 0, cut = 0, worst = 0;
	bool complete;

	for (round = 0; round < 50; round++) {
		uint64_t chunks = 1 + rand() % (round % 5 ? 10000 : 100000), at = rand() % 100;
		unsigned int gap = 1 + rand() % 3000, length = 1 + rand() % (round % 2 ? 20 : 20000);

		nr_ranges = 0;
		while (at < chunks) {
			uint64_t n = 1 + rand() % length;

			add(at, n < chunks - at ? n : chunks - at);
			at += n + 1 + rand() % gap;
		}
		wrong += !all_found(chunks, &complete);
		cut += !complete;
		if (messages > 2 + chunks / 4096)
			worst++;
	}
	ok(!wrong && !cut, "ranges at random are all found (%u wrong, %u cut short)", wrong, cut);
	ok(!worst, "and with no more messages than there are windows");
}

int main(void)
{
	bool complete;

	scattered(1 << 20, 2, 257);
	scattered(100003, 7, 26);
	scattered(4096, 3, 1);
	scattered(4097, 3, 3);
	random_sets();

	nr_ranges = 0;
	ok(all_found(5000000, &complete) && complete && messages == 1, "nothing is lost");
	add(0, 5000000);
	ok(all_found(5000000, &complete) && complete && messages == 1, "everything is");

	/* Three buckets of 2^20 chunks, in each one or two of 2^8, and their ends. */
	nr_ranges = 0;
	add(3, 1);
	add(3000000000, 12345678);
	add(4294967294, 1);
	ok(all_found(4294967295, &complete) && complete && messages < 12, "the largest set there is");
	broken = true;
	ok(!all_found(4096, &complete) && !complete, "an answer that makes no sense is no reason to go on for ever");
	broken = false;
	free(range);
	return tap_done();
}
