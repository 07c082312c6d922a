// SPDX-License-Identifier: GPL-2.0-only
#include "dm/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static void build_pairs(struct text *line, const struct pairs *list)
{
	unsigned int i;

	text_add(line, " %u", 2 * list->nr);
	for (i = 0; i < list->nr; i++)
		text_add(line, " %s %s", list->pair[i].key, list->pair[i].value);
}

char *table_build(const struct table *t)
{
	struct text line = { 0 };
	unsigned int i;

	text_add(&line, "%s %llu %u", t->metadata, (unsigned long long)t->chunk_sectors, t->nr_tiers);
	for (i = 0; i < t->nr_tiers; i++)
		text_add(&line, " %s", t->tier[i]);
	text_add(&line, " %u", t->features.nr);
	for (i = 0; i < t->features.nr; i++)
		text_add(&line, " %s", t->features.s[i]);
	build_pairs(&line, &t->core);
	text_add(&line, " %s", t->policy ? t->policy : "default");
	build_pairs(&line, &t->policy_args);
	return line.s;
}

int table_parse(const char *params, struct table *t)
{
	unsigned int i, count;
	const char *word;
	struct words w;
	int r = 0;

	memset(t, 0, sizeof(*t));
	words_init(&w, params);

	word = words_next(&w);
	t->metadata = xstrdup(word ? word : "");
	t->chunk_sectors = words_number(&w);
	count = words_count(&w, TIER_MAX_TIERS);
	for (i = 0; i < count && (word = words_next(&w)); i++)
		t->tier[t->nr_tiers++] = xstrdup(word);
	words_strings(&w, &t->features);
	words_pairs(&w, &t->core);
	word = words_next(&w);
	t->policy = xstrdup(word ? word : "");
	words_pairs(&w, &t->policy_args);

	if (w.failed || !words_end(&w) || !t->nr_tiers || !t->chunk_sectors) {
		table_free(t);
		r = -EINVAL;
	}
	words_free(&w);
	return r;
}

/* tierN.key of the table: N moves by that many ranks, or the key is removed if drop says so. */
static void renumber(struct table *t, unsigned int from, int by, int drop)
{
	struct pairs old = t->core;
	unsigned int i;

	memset(&t->core, 0, sizeof(t->core));
	for (i = 0; i < old.nr; i++) {
		const char *key = old.pair[i].key, *dot = strchr(key, '.');
		unsigned int rank;
		char *renamed;

		if (!dot || sscanf(key, "tier%u.", &rank) != 1) {
			pairs_add(&t->core, key, old.pair[i].value);
		} else if ((int)rank != drop) {
			renamed = xasprintf("tier%u%s", rank >= from ? rank + by : rank, dot);
			pairs_add(&t->core, renamed, old.pair[i].value);
			free(renamed);
		}
	}
	pairs_free(&old);
}

void table_insert(struct table *t, unsigned int rank, const char *device)
{
	unsigned int i;

	for (i = t->nr_tiers++; i > rank; i--)
		t->tier[i] = t->tier[i - 1];
	t->tier[rank] = xstrdup(device);
	renumber(t, rank, 1, -1);
}

void table_drop(struct table *t, unsigned int rank)
{
	unsigned int i;

	free(t->tier[rank]);
	t->nr_tiers--;
	for (i = rank; i < t->nr_tiers; i++)
		t->tier[i] = t->tier[i + 1];
	t->tier[t->nr_tiers] = NULL;
	renumber(t, rank, -1, rank);
}

void table_free(struct table *t)
{
	unsigned int i;

	free(t->metadata);
	for (i = 0; i < t->nr_tiers; i++)
		free(t->tier[i]);
	strings_free(&t->features);
	pairs_free(&t->core);
	free(t->policy);
	pairs_free(&t->policy_args);
	memset(t, 0, sizeof(*t));
}
