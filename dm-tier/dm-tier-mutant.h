/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mutants: a test build (ci/build-modules --mutants) carries one deliberate
 * defect for each rule that keeps data safe.  The module parameter `mutant`
 * switches one of them on; the tests must notice (ci/check-mutants).  In every
 * other build TIER_MUTANT() is the constant false and nothing of this is left.
 */
#ifndef DM_TIER_MUTANT_H
#define DM_TIER_MUTANT_H

#include <linux/types.h>

#ifdef DM_TIER_MUTANTS
bool tier_mutant_is(const char *name);
#define TIER_MUTANT(name)	tier_mutant_is(#name)
#else
#define TIER_MUTANT(name)	false
#endif

#endif /* DM_TIER_MUTANT_H */
