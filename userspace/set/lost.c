// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the chunks on missing tiers. The heat message counts the chunks of a range on each rank,
 * in up to 4096 buckets. If a bucket lies partly on a missing tier, the next message asks for
 * the 4096 chunks from there on, or for this bucket alone if it is larger.
 */
#include "set/lost.h"

#include <errno.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/util.h"
#include "set/heat.h"

/* 64 TiB in chunks of 1 MiB, however scattered; seconds. */
#define MESSAGES_MAX	16384
/* Some 300 MB of JSON. */
#define RANGES_MAX	(1U << 22)

struct hunt {
	struct report *report;
	unsigned int messages, room;
	bool gave_up;
};

static void add_lost(struct hunt *h, uint64_t first, uint64_t count)
{
	struct report *r = h->report;
	struct range *last = r->nr_lost ? &r->lost[r->nr_lost - 1] : NULL;

	if (last && last->first + last->count == first) {
		last->count += count;
		return;
	}
	if (r->nr_lost == RANGES_MAX) {
		h->gave_up = true;
		return;
	}
	if (r->nr_lost == h->room) {
		h->room = h->room ? 2 * h->room : 16;
		r->lost = xrealloc(r->lost, h->room, sizeof(*r->lost));
	}
	r->lost[r->nr_lost++] = (struct range){ .first = first, .count = count };
}

static uint64_t lost_in(const struct set *s, const struct heat_bucket *b)
{
	uint64_t lost = 0;
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (!s->tier[i].present)
			lost += b->on_rank[i];
	return lost;
}

/* NULL if there is no answer; the search ends then. */
static char *ask_heat(struct hunt *h, uint64_t first, uint64_t count)
{
	const struct set *s = h->report->set;
	char *message, *answer = NULL, *reason;

	if (h->gave_up || h->messages++ == MESSAGES_MAX) {
		h->gave_up = true;
		return NULL;
	}
	message = xasprintf("heat %llu %llu %llu", (unsigned long long)first, (unsigned long long)count,
			    (unsigned long long)(count < HEAT_BUCKETS_MAX ? count : HEAT_BUCKETS_MAX));
	if (dm_message(s->dm.name, message, &answer, &reason)) {
		verbose(h->report->set->ctx, "%s: heat: %s", s->name, reason);
		free(reason);
		h->gave_up = true;
		answer = NULL;
	}
	free(message);
	return answer;
}

static void hunt_range(struct hunt *h, uint64_t first, uint64_t count)
{
	const struct set *s = h->report->set;
	uint64_t end = first + count, seen = first;	/* all chunks below seen are known */
	char *answer = ask_heat(h, first, count);
	const char *line = answer;
	struct heat_bucket b;
	int r = 0;

	while (answer && !h->gave_up && !(r = heat_parse(&line, s->nr_tiers, &b))) {
		uint64_t lost = lost_in(s, &b), window;

		/* A finer message may have ended within a bucket. */
		if (b.first + b.count <= seen || !lost)
			continue;
		if (b.first > seen)
			seen = b.first;
		window = b.first + b.count - seen;
		if (lost == b.count) {
			add_lost(h, seen, window);
			seen += window;
			continue;
		}
		/* Then each chunk has a bucket of its own. */
		if (count <= HEAT_BUCKETS_MAX || b.count >= count) {
			h->gave_up = true;
			break;
		}
		if (window < HEAT_BUCKETS_MAX)
			window = end - seen < HEAT_BUCKETS_MAX ? end - seen : HEAT_BUCKETS_MAX;
		hunt_range(h, seen, window);
		seen += window;
	}
	if (r == -EINVAL)
		h->gave_up = true;
	free(answer);
}

void report_find_lost(struct report *r)
{
	struct hunt h = { .report = r };

	if (!report_measurable(r->set) || !set_missing(r->set))
		return;
	hunt_range(&h, 0, r->chunks);
	r->lost_cut = h.gave_up;
}
