/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every source of the mutants' build includes this.  The module parameter `mutant`
 * names the one defect that is switched on.
 */
#ifndef DM_TIER_MUTANT_H
#define DM_TIER_MUTANT_H

#include <linux/types.h>

bool tier_mutant_is(const char *name);
#define TIER_MUTANT(name)	tier_mutant_is(#name)

#endif /* DM_TIER_MUTANT_H */
