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

/* Sorted and disjoint once ranges_settle() has been called; the owner frees. */
struct ranges {
	unsigned int nr, room;
	struct range *range;
};

void ranges_add(struct ranges *list, uint64_t first, uint64_t count);
void ranges_add_all(struct ranges *list, const struct ranges *more);
/* Sorts, and joins what overlaps or touches. */
void ranges_settle(struct ranges *list);
void ranges_free(struct ranges *list);

/* These take settled lists. */
uint64_t ranges_total(const struct ranges *list);
bool ranges_have(const struct ranges *list, uint64_t n);
/* What is in list and not in taken. */
void ranges_subtract(struct ranges *list, const struct ranges *taken);
/* What is below end. */
void ranges_cut(struct ranges *list, uint64_t end);

/* "5,7-12", "-" for an empty list; to *t, and back: false if it is no such text. */
void ranges_to_text(const struct ranges *list, struct text *t);
bool ranges_from_text(const char *s, struct ranges *list);

#endif
