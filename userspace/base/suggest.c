// SPDX-License-Identifier: GPL-2.0-only
#include "base/suggest.h"

#include <limits.h>
#include <string.h>

#include "base/util.h"

#define LONGEST	48

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/*
 * The number of letters that must be inserted, removed, changed, or swapped with their neighbour
 * to turn a into b.
 */
static unsigned int distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b), i, j;
	unsigned int row[3][LONGEST + 1], *now = row[0], *last = row[1], *before = row[2], *spare;

	if (la > LONGEST || lb > LONGEST)
		return UINT_MAX;
	for (j = 0; j <= lb; j++)
		last[j] = j;
	for (i = 1; i <= la; i++) {
		now[0] = i;
		for (j = 1; j <= lb; j++) {
			now[j] = least(last[j], now[j - 1]) + 1;
			now[j] = least(now[j], last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
		spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[lb];
}

void suggestion_init(struct suggestion *g, const char *typed)
{
	g->typed = typed;
	g->best = NULL;
	g->distance = UINT_MAX;
}

/* A third of the letters may be wrong; or the word may be cut short. */
void suggestion_offer(struct suggestion *g, const char *known)
{
	size_t len = strlen(g->typed);
	unsigned int d = distance(g->typed, known);

	if (d > (len + 1) / 3) {
		if (len < 3 || strncmp(g->typed, known, len))
			return;
		d = (len + 1) / 3;
	}
	if (d < g->distance) {
		g->best = known;
		g->distance = d;
	}
}

char *suggestion_text(const struct suggestion *g, const char *before)
{
	return g->best ? xasprintf(" Did you mean %s%s?", before, g->best) : xstrdup("");
}
