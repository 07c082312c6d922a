/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of ranges of chunks. */
#ifndef TIERCTL_RANGES_H
#define TIERCTL_RANGES_H

#include <stdbool.h>
#include <stdint.h>

struct text;

struct range {
	uint64_t first, count;	/* count is never 0 */
};

/* Sorted and disjoint after ranges_settle(); the owner frees the list. */
struct ranges {
	unsigned int nr, room;
	struct range *range;
};

void ranges_add(struct ranges *list, uint64_t first, uint64_t count);
void ranges_add_all(struct ranges *list, const struct ranges *more);
/* Sorts the ranges, and joins those that overlap or touch. */
void ranges_settle(struct ranges *list);
void ranges_free(struct ranges *list);

/* These functions take settled lists. */
uint64_t ranges_total(const struct ranges *list);
bool ranges_have(const struct ranges *list, uint64_t n);
/* Removes from list all chunks that are in taken. */
void ranges_subtract(struct ranges *list, const struct ranges *taken);
/* Removes all chunks from end on. */
void ranges_cut(struct ranges *list, uint64_t end);

/* "5,7-12", "-" for an empty list; to *t, and back: false if the text is no such list. */
void ranges_to_text(const struct ranges *list, struct text *t);
bool ranges_from_text(const char *s, struct ranges *list);

#endif
