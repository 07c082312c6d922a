/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of a table line; see table.c. */
#ifndef DM_TIER_TABLE_H
#define DM_TIER_TABLE_H

#include "core.h"

/* Fills tt and opens the devices; on error *error is one clear line, and tt is to be freed. */
int tier_table_parse(struct tier_target *tt, unsigned int argc, char **argv, char **error);
/* Composes a line for ti->error; -EINVAL. */
__printf(2, 3) int tier_reason(char **error, const char *fmt, ...);

#endif /* DM_TIER_TABLE_H */
