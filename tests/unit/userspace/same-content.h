/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares metadata that was written and read again with the original. */
#ifndef SAME_CONTENT_H
#define SAME_CONTENT_H

#include <stdbool.h>
#include <string.h>

#include "format/content.h"

static inline bool same_content(const struct md_content *a, const struct md_content *b)
{
	return !memcmp(&a->info, &b->info, sizeof(a->info)) && a->tiers.nr == b->tiers.nr &&
	       !memcmp(a->tiers.tier, b->tiers.tier, a->tiers.nr * sizeof(*a->tiers.tier)) &&
	       a->tunables.nr == b->tunables.nr &&
	       !memcmp(a->tunables.tunable, b->tunables.tunable,
		       a->tunables.nr * sizeof(*a->tunables.tunable)) &&
	       !memcmp(a->mapping, b->mapping, a->info.nr_chunks * sizeof(*a->mapping)) &&
	       !memcmp(a->heat, b->heat, a->info.nr_chunks * sizeof(*a->heat));
}

#endif
