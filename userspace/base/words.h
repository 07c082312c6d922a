/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads lines of blank-separated words, the format of device-mapper. */
#ifndef TIERCTL_WORDS_H
#define TIERCTL_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct words {
	char *copy;		/* what the words point into */
	char *next;
	bool failed;		/* a word was missing or was no number */
};

void words_init(struct words *w, const char *line);
void words_free(struct words *w);
/* The next word, NULL (and failed) if there is none. */
const char *words_next(struct words *w);
/* The next number, 0 (and failed) if the word is none. */
uint64_t words_number(struct words *w);
/* A number no larger than max: a count that is safe to allocate for. */
unsigned int words_count(struct words *w, unsigned int max);
/* Two numbers with a slash between. */
void words_fraction(struct words *w, uint64_t *part, uint64_t *whole);
/* Whether every word was read. */
bool words_end(const struct words *w);

/* A list of words, and one of key-value pairs; the owner frees them. */
struct strings {
	unsigned int nr;
	char **s;
};

struct pair {
	char *key;
	char *value;
};

struct pairs {
	unsigned int nr;
	struct pair *pair;
};

void strings_add(struct strings *list, const char *s);
void strings_add_all(struct strings *list, const struct strings *from);
void strings_free(struct strings *list);
bool strings_have(const struct strings *list, const char *s);
void pairs_add(struct pairs *list, const char *key, const char *value);
void pairs_free(struct pairs *list);
/* NULL if there is no such key. */
const char *pairs_find(const struct pairs *list, const char *key);

/* Read a count of words and that many words. */
void words_strings(struct words *w, struct strings *list);
void words_pairs(struct words *w, struct pairs *list);

#endif
