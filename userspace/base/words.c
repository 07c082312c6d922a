// SPDX-License-Identifier: GPL-2.0-only
#include "base/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"

/* No target prints a longer list. */
#define LIST_MAX	1024

void words_init(struct words *w, const char *line)
{
	w->copy = xstrdup(line);
	w->next = w->copy + strspn(w->copy, " \n");
	w->failed = false;
}

void words_free(struct words *w)
{
	free(w->copy);
	w->copy = w->next = NULL;
}

const char *words_next(struct words *w)
{
	char *word = w->next;
	size_t len = strcspn(word, " \n");

	if (!len) {
		w->failed = true;
		return NULL;
	}
	w->next += len;
	if (*w->next) {
		*w->next++ = '\0';
		w->next += strspn(w->next, " \n");
	}
	return word;
}

uint64_t words_number(struct words *w)
{
	const char *word = words_next(w);
	uint64_t n;

	if (!word || parse_number(word, &n)) {
		w->failed = true;
		return 0;
	}
	return n;
}

unsigned int words_count(struct words *w, unsigned int max)
{
	uint64_t n = words_number(w);

	if (n > max) {
		w->failed = true;
		return 0;
	}
	return n;
}

void words_fraction(struct words *w, uint64_t *part, uint64_t *whole)
{
	char *word = (char *)words_next(w);
	char *slash = word ? strchr(word, '/') : NULL;

	*part = *whole = 0;
	if (!slash) {
		w->failed = true;
		return;
	}
	*slash = '\0';
	if (parse_number(word, part) || parse_number(slash + 1, whole))
		w->failed = true;
}

bool words_end(const struct words *w)
{
	return !*w->next;
}

void strings_add(struct strings *list, const char *s)
{
	list->s = xrealloc(list->s, list->nr + 1, sizeof(*list->s));
	list->s[list->nr++] = xstrdup(s);
}

void strings_add_all(struct strings *list, const struct strings *from)
{
	unsigned int i;

	for (i = 0; i < from->nr; i++)
		strings_add(list, from->s[i]);
}

void strings_free(struct strings *list)
{
	while (list->nr)
		free(list->s[--list->nr]);
	free(list->s);
	list->s = NULL;
}

bool strings_have(const struct strings *list, const char *s)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		if (!strcmp(list->s[i], s))
			return true;
	return false;
}

void pairs_add(struct pairs *list, const char *key, const char *value)
{
	list->pair = xrealloc(list->pair, list->nr + 1, sizeof(*list->pair));
	list->pair[list->nr].key = xstrdup(key);
	list->pair[list->nr].value = xstrdup(value);
	list->nr++;
}

void pairs_free(struct pairs *list)
{
	while (list->nr) {
		list->nr--;
		free(list->pair[list->nr].key);
		free(list->pair[list->nr].value);
	}
	free(list->pair);
	list->pair = NULL;
}

const char *pairs_find(const struct pairs *list, const char *key)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		if (!strcmp(list->pair[i].key, key))
			return list->pair[i].value;
	return NULL;
}

void words_strings(struct words *w, struct strings *list)
{
	unsigned int i, count = words_count(w, LIST_MAX);
	const char *word;

	for (i = 0; i < count && (word = words_next(w)); i++)
		strings_add(list, word);
}

void words_pairs(struct words *w, struct pairs *list)
{
	unsigned int i, count = words_count(w, LIST_MAX);

	if (count % 2)
		w->failed = true;
	for (i = 0; i < count / 2 && !w->failed; i++) {
		const char *key = words_next(w);
		const char *value = words_next(w);

		if (key && value)
			pairs_add(list, key, value);
	}
}
