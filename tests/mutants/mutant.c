// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>
#include <linux/string.h>

static char mutant[40] = "none";
module_param_string(mutant, mutant, sizeof(mutant), 0444);
MODULE_PARM_DESC(mutant, "the defect that this test build shows");

bool tier_mutant_is(const char *name)
{
	return !strcmp(mutant, name);
}
