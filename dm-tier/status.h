/* SPDX-License-Identifier: GPL-2.0-only */
/* What a set says of itself; see status.c. */
#ifndef DM_TIER_STATUS_H
#define DM_TIER_STATUS_H

#include "core.h"

/* As a target's status function. */
void tier_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
		 char *result, unsigned int maxlen);

#endif /* DM_TIER_STATUS_H */
