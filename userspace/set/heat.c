// SPDX-License-Identifier: GPL-2.0-only
#include "set/heat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "base/words.h"

/* The most messages for one search for hot chunks. */
#define SEARCH_MAX	200

static int ask_set(const struct set *s, const char *message, char **answer)
{
	char *reason;
	int r;

	/* A suspend that begins meanwhile ends the answer; a set that is suspended gives it. */
	while ((r = dm_message(s->dm.name, message, answer, &reason)) == -EBUSY)
		free(reason);
	if (r) {
		err(s->ctx, ERR_KERNEL_REFUSED, "%s: %s: %s.", s->name, message, reason);
		free(reason);
	}
	return r;
}

int heat_query(const struct set *s, uint64_t first, uint64_t count, unsigned int buckets,
	       int (*fn)(void *context, const struct heat_bucket *b), void *context)
{
	struct heat_bucket b;
	char *message, *answer;
	const char *line;
	int r;

	if (buckets > count)
		buckets = count;
	message = xasprintf("heat %llu %llu %u", (unsigned long long)first, (unsigned long long)count,
			    buckets);
	r = ask_set(s, message, &answer);
	free(message);
	if (r)
		return r;
	line = answer;
	do {
		r = heat_parse(&line, s->nr_tiers, &b);
		if (r == -EINVAL)
			err(s->ctx, ERR_UNSUPPORTED, "%s: cannot make sense of its answer to heat.", s->name);
		if (!r)
			r = fn(context, &b);
	} while (!r);
	free(answer);
	return r == -ENODATA ? 0 : r;
}

static void add_bucket(struct heat_bucket *sum, const struct heat_bucket *b)
{
	unsigned int i;

	sum->count += b->count;
	sum->mapped += b->mapped;
	sum->reads += b->reads;
	sum->writes += b->writes;
	sum->heat += b->heat;
	for (i = 0; i < TIER_MAX_TIERS; i++)
		sum->on_rank[i] += b->on_rank[i];
}

static int add_to_sum(void *context, const struct heat_bucket *b)
{
	add_bucket(context, b);
	return 0;
}

int heat_sum(const struct set *s, const struct ranges *chunks, struct heat_bucket *sum)
{
	unsigned int i;
	int r = 0;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < chunks->nr && !r; i++)
		r = heat_query(s, chunks->range[i].first, chunks->range[i].count, 1, add_to_sum, sum);
	return r;
}

struct cells {
	struct heat_bucket *cell;
	unsigned int nr;
	uint64_t total;		/* chunks of the list */
	uint64_t at;		/* how many of them were read */
};

/* The first chunk of cell i; the kernel divides a range in the same way. */
static uint64_t cell_start(const struct cells *c, unsigned int i)
{
	return (unsigned __int128)c->total * i / c->nr;
}

static int add_to_cell(void *context, const struct heat_bucket *b)
{
	struct cells *c = context;
	unsigned int i = (unsigned __int128)c->at * c->nr / c->total;

	while (i + 1 < c->nr && cell_start(c, i + 1) <= c->at)
		i++;
	while (i && cell_start(c, i) > c->at)
		i--;
	add_bucket(&c->cell[i], b);
	c->at += b->count;
	return 0;
}

int heat_cells(const struct set *s, const struct ranges *chunks, unsigned int max,
	       struct heat_bucket **cells, unsigned int *nr)
{
	struct cells c = { .total = ranges_total(chunks) };
	unsigned int i, buckets;
	int r = 0;

	c.nr = c.total < max ? c.total : max;
	c.cell = xcalloc(c.nr, sizeof(*c.cell));
	for (i = 0; i < chunks->nr && !r; i++) {
		/*
		 * The finest division, unless there is only one range: then the cells are the
		 * buckets.
		 */
		buckets = chunks->nr == 1 ? c.nr : HEAT_BUCKETS_MAX;
		r = heat_query(s, chunks->range[i].first, chunks->range[i].count, buckets, add_to_cell, &c);
	}
	for (i = 0; i < c.nr; i++) {
		c.cell[i].first = cell_start(&c, i);
		c.cell[i].count = cell_start(&c, i + 1) - c.cell[i].first;
	}
	*cells = c.cell;
	*nr = c.nr;
	if (r) {
		free(c.cell);
		*cells = NULL;
	}
	return r;
}

double heat_mean(const struct heat_bucket *b)
{
	return b->mapped ? (double)b->heat / b->mapped : 0;
}

/*
 * Best first: no chunk is hotter than its bucket. So the hottest bucket is the next chunk, or
 * must be divided.
 */
struct search {
	struct heat_bucket *heap;
	unsigned int nr, room;
};

static void swap(struct heat_bucket *a, struct heat_bucket *b)
{
	struct heat_bucket t = *a;

	*a = *b;
	*b = t;
}

static int push(void *context, const struct heat_bucket *b)
{
	struct search *q = context;
	unsigned int i = q->nr;

	if (!b->heat)
		return 0;
	if (q->nr == q->room) {
		q->room = q->room ? 2 * q->room : HEAT_BUCKETS_MAX;
		q->heap = xrealloc(q->heap, q->room, sizeof(*q->heap));
	}
	q->heap[q->nr++] = *b;
	for (; i && q->heap[(i - 1) / 2].heat < q->heap[i].heat; i = (i - 1) / 2)
		swap(&q->heap[(i - 1) / 2], &q->heap[i]);
	return 0;
}

static struct heat_bucket pop(struct search *q)
{
	struct heat_bucket top = q->heap[0];
	unsigned int i = 0;

	q->heap[0] = q->heap[--q->nr];
	for (;;) {
		unsigned int child = 2 * i + 1;

		if (child + 1 < q->nr && q->heap[child + 1].heat > q->heap[child].heat)
			child++;
		if (child >= q->nr || q->heap[child].heat <= q->heap[i].heat)
			return top;
		swap(&q->heap[i], &q->heap[child]);
		i = child;
	}
}

int heat_hottest(const struct set *s, unsigned int max, struct heat_bucket **hottest, unsigned int *nr)
{
	struct search q = { 0 };
	unsigned int messages = 1;
	int r;

	*nr = 0;
	*hottest = xcalloc(max, sizeof(**hottest));
	r = heat_query(s, 0, s->status.chunks, HEAT_BUCKETS_MAX, push, &q);
	while (!r && q.nr && *nr < max) {
		struct heat_bucket b = pop(&q);

		if (b.count == 1)
			(*hottest)[(*nr)++] = b;
		else if (messages++ < SEARCH_MAX)
			r = heat_query(s, b.first, b.count, HEAT_BUCKETS_MAX, push, &q);
	}
	free(q.heap);
	if (r) {
		free(*hottest);
		*hottest = NULL;
		*nr = 0;
	}
	return r;
}

/* A rank, or -1 for "-". */
static int parse_rank_word(const char *word, bool *good)
{
	uint64_t n;

	if (!strcmp(word, "-"))
		return -1;
	if (parse_number(word, &n) || n >= TIER_MAX_TIERS)
		*good = false;
	return *good ? (int)n : -1;
}

bool chunk_parse(const char *answer, struct chunk_info *info)
{
	uint64_t chunk = info->chunk;
	unsigned int seen = 0;
	struct words w;
	bool good = true;

	memset(info, 0, sizeof(*info));
	info->chunk = chunk;
	info->rank = info->pin = -1;
	words_init(&w, answer);
	while (good && !words_end(&w)) {
		const char *key = words_next(&w), *value = words_next(&w);
		uint64_t n = 0;

		if (!value)
			break;
		if (!strcmp(key, "rank"))
			info->rank = parse_rank_word(value, &good);
		else if (!strcmp(key, "pin"))
			info->pin = parse_rank_word(value, &good);
		else if (!strcmp(key, "state"))
			copy_string(info->state, sizeof(info->state), value);
		else if (!strcmp(key, "reason"))
			copy_string(info->reason, sizeof(info->reason), value);
		else if (!strcmp(key, "held"))
			copy_string(info->held, sizeof(info->held), value);
		else if (parse_number(value, &n) && strcmp(value, "-"))
			continue;	/* a word of a newer kernel */
		else if (!strcmp(key, "place"))
			info->place = n;
		else if (!strcmp(key, "heat"))
			info->heat = n;
		else if (!strcmp(key, "reads"))
			info->reads = n;
		else if (!strcmp(key, "writes"))
			info->writes = n;
		else
			continue;
		seen += strcmp(key, "held") != 0;
	}
	good &= !w.failed && seen == 8;
	words_free(&w);
	return good;
}

int chunk_query(const struct set *s, uint64_t chunk, struct chunk_info *info)
{
	char *message = xasprintf("chunk %llu", (unsigned long long)chunk), *answer;
	int r = ask_set(s, message, &answer);

	free(message);
	if (r)
		return r;
	info->chunk = chunk;
	if (!chunk_parse(answer, info)) {
		err(s->ctx, ERR_UNSUPPORTED, "%s: cannot make sense of its answer to chunk: %s.",
		    s->name, answer);
		r = -EINVAL;
	}
	free(answer);
	return r;
}

int pairs_query(const struct set *s, const char *message, struct pairs *answer)
{
	struct words w;
	char *text;
	int r = ask_set(s, message, &text);

	if (r)
		return r;
	words_init(&w, text);
	while (!words_end(&w)) {
		const char *key = words_next(&w), *value = words_next(&w);

		if (value)
			pairs_add(answer, key, value);
	}
	words_free(&w);
	free(text);
	return 0;
}
