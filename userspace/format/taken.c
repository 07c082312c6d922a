// SPDX-License-Identifier: GPL-2.0-only
#include "format/taken.h"

#include <stdlib.h>

#include "base/util.h"

#define WORDS		8
#define LEAF_NUMBERS	(WORDS * 64)
#define FIRST_BITS	10

struct md_leaf {
	u64 nr;			/* its first number / LEAF_NUMBERS */
	u64 word[WORDS];
};

void md_taken_free(struct md_taken *t)
{
	free(t->leaf);
	free(t->hash);
	*t = (struct md_taken){ 0 };
}

/* The slot of the leaf, or a free slot for it. */
static u32 *find(const struct md_taken *t, u64 nr)
{
	size_t mask = (1UL << t->bits) - 1;
	/* 2^64 / golden ratio: neighbours are placed far apart. */
	size_t i = nr * 0x9e3779b97f4a7c15ULL >> (64 - t->bits);

	while (t->hash[i] && t->leaf[t->hash[i] - 1].nr != nr)
		i = (i + 1) & mask;
	return &t->hash[i];
}

/* At most two thirds of the hash are used. */
static void make_room(struct md_taken *t)
{
	size_t i;

	if (t->nr == t->room) {
		t->room = t->room ? t->room + t->room / 2 : 64;
		t->leaf = xrealloc(t->leaf, t->room, sizeof(*t->leaf));
	}
	if (t->bits && t->nr < (1UL << t->bits) / 3 * 2)
		return;
	t->bits = t->bits ? t->bits + 1 : FIRST_BITS;
	free(t->hash);
	t->hash = xcalloc(1UL << t->bits, sizeof(*t->hash));
	for (i = 0; i < t->nr; i++)
		*find(t, t->leaf[i].nr) = i + 1;
}

static struct md_leaf *leaf_of(struct md_taken *t, u64 nr)
{
	u32 *found;

	if (t->nr && t->leaf[t->last].nr == nr)
		return &t->leaf[t->last];
	make_room(t);
	found = find(t, nr);
	if (!*found) {
		t->leaf[t->nr] = (struct md_leaf){ .nr = nr };
		*found = ++t->nr;
	}
	t->last = *found - 1;
	return &t->leaf[t->last];
}

bool md_take(struct md_taken *t, u64 number)
{
	u64 *word = &leaf_of(t, number / LEAF_NUMBERS)->word[number % LEAF_NUMBERS / 64];
	u64 bit = 1ULL << number % 64;

	if (*word & bit)
		return false;
	*word |= bit;
	return true;
}
