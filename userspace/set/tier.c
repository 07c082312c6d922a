// SPDX-License-Identifier: GPL-2.0-only
#include "set/tier.h"

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"

int set_rank_of_device(const struct set *s, dev_t dev)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].present && s->tier[i].dev.dev == dev)
			return i;
	return -1;
}

int set_rank_of_word(const struct set *s, const char *word)
{
	struct device d;
	uint64_t n;
	int rank;

	if (!parse_number(word, &n))
		return n < s->nr_tiers ? (int)n : -1;
	if (device_from_name(word, &d))
		return -1;
	rank = set_rank_of_device(s, d.dev);
	device_free(&d);
	return rank;
}

bool parse_rank(const struct set *s, const char *text, unsigned int *rank)
{
	int found = set_rank_of_word(s, text);

	if (found < 0) {
		err(s->ctx, ERR_NOT_FOUND, "%s: no tier %s, its tiers are 0 to %u.", s->name, text,
		    s->nr_tiers - 1);
		return false;
	}
	*rank = found;
	return true;
}
