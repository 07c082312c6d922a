/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages; see message.c. */
#ifndef DM_TIER_MESSAGE_H
#define DM_TIER_MESSAGE_H

#include "core.h"

/* As a target's message function. */
int tier_message(struct dm_target *ti, unsigned int argc, char **argv,
		 char *result, unsigned int maxlen);

#endif /* DM_TIER_MESSAGE_H */
