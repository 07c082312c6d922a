// SPDX-License-Identifier: GPL-2.0-only
#include "dm/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "dm-tier/metadata/space.h"

/* The metadata is low from this percentage on. */
#define METADATA_LOW	90

/* One of two words; anything else is an error. */
static bool parse_choice(struct words *w, const char *yes, const char *no)
{
	const char *word = words_next(w);

	if (word && !strcmp(word, yes))
		return true;
	if (!word || strcmp(word, no))
		w->failed = true;
	return false;
}

static void parse_held(struct words *w, struct status *s)
{
	const char *word = words_next(w);

	s->held = word && strcmp(word, "-");
	if (s->held && parse_number(word, &s->held_root))
		w->failed = true;
}

static void parse_tier(struct words *w, struct tier_status *t)
{
	const char *word;

	t->id = words_count(w, 255);
	word = words_next(w);
	if (!word || strlen(word) != 1 || !strchr("AEF-", *word))
		w->failed = true;
	else
		t->state = *word;
	words_fraction(w, &t->used, &t->places);
	t->reads = words_number(w);
	t->writes = words_number(w);
	t->errors = words_number(w);
}

static void parse_fields(struct words *w, struct status *s)
{
	const char *word;
	unsigned int i;

	s->metadata_block = words_number(w);
	words_fraction(w, &s->metadata_used, &s->metadata_total);
	parse_held(w, s);
	s->chunk_sectors = words_number(w);
	words_fraction(w, &s->mapped, &s->chunks);
	s->pinned = words_number(w);

	s->nr_tiers = words_count(w, TIER_MAX_TIERS);
	for (i = 0; i < s->nr_tiers && !w->failed; i++)
		parse_tier(w, &s->tier[i]);

	s->promotions = words_number(w);
	s->demotions = words_number(w);
	s->aborted = words_number(w);
	s->failed = words_number(w);
	s->in_flight = words_number(w);
	s->migrated = words_number(w);

	words_strings(w, &s->features);
	words_pairs(w, &s->core);
	word = words_next(w);
	s->policy = xstrdup(word ? word : "");
	words_pairs(w, &s->policy_args);

	s->read_only = parse_choice(w, "ro", "rw");
	s->needs_check = parse_choice(w, "needs_check", "-");
	s->paused = parse_choice(w, "paused", "running");
}

int status_parse(const char *line, struct status *s)
{
	struct words w;
	int r = 0;

	memset(s, 0, sizeof(*s));
	words_init(&w, line);
	if (!strcmp(w.next, "Fail")) {
		s->kind = STATUS_FAIL;
	} else if (!strcmp(w.next, "Error")) {
		s->kind = STATUS_ERROR;
	} else {
		parse_fields(&w, s);
		if (w.failed || !s->chunk_sectors || !s->nr_tiers) {
			status_free(s);
			r = -EINVAL;
		}
	}
	words_free(&w);
	return r;
}

void status_free(struct status *s)
{
	strings_free(&s->features);
	pairs_free(&s->core);
	free(s->policy);
	pairs_free(&s->policy_args);
	memset(s, 0, sizeof(*s));
}

const char *status_tunable(const struct status *s, const char *key)
{
	const char *value = pairs_find(&s->core, key);

	return value ? value : pairs_find(&s->policy_args, key);
}

int heat_parse(const char **line, unsigned int nr_tiers, struct heat_bucket *b)
{
	const char *end = strchrnul(*line, '\n');
	struct words w;
	unsigned int i;
	char *copy;
	int r = 0;

	if (!**line)
		return -ENODATA;
	memset(b, 0, sizeof(*b));
	copy = xstrndup(*line, end - *line);
	words_init(&w, copy);
	b->first = words_number(&w);
	b->count = words_number(&w);
	b->mapped = words_number(&w);
	b->reads = words_number(&w);
	b->writes = words_number(&w);
	b->heat = words_number(&w);
	for (i = 0; i < nr_tiers; i++)
		b->on_rank[i] = words_number(&w);
	if (w.failed || !words_end(&w))
		r = -EINVAL;
	words_free(&w);
	free(copy);
	*line = *end ? end + 1 : end;
	return r;
}

bool status_metadata_short(const struct status *s, uint64_t entries)
{
	return s->kind == STATUS_OK && s->metadata_total - s->metadata_used <
	       tier_md_room_needed(s->chunks, entries, s->metadata_total);
}

bool status_metadata_low(const struct status *s)
{
	return s->kind == STATUS_OK && (status_metadata_short(s, TIER_SMALL_BATCH) ||
					percent(s->metadata_used, s->metadata_total) >= METADATA_LOW);
}
