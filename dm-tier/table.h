/* SPDX-License-Identifier: GPL-2.0-only */
/* What user space says and asks: tables, messages, status; see the sources of these names. */
#ifndef DM_TIER_TABLE_H
#define DM_TIER_TABLE_H

#include "core.h"

/* Fills tt and opens the devices; on error *error is one clear line, and tt is to be freed. */
int tier_table_parse(struct tier_target *tt, unsigned int argc, char **argv, char **error);
/* Composes a line for ti->error; -EINVAL. */
__printf(2, 3) int tier_reason(char **error, const char *fmt, ...);

/* As a target's functions of these names. */
int tier_message(struct dm_target *ti, unsigned int argc, char **argv,
		 char *result, unsigned int maxlen);
void tier_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
		 char *result, unsigned int maxlen);

#endif /* DM_TIER_TABLE_H */
