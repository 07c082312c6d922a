/* SPDX-License-Identifier: GPL-2.0-only */
/* Which chunks of a set lie on missing tiers. */
#ifndef TIERCTL_LOST_H
#define TIERCTL_LOST_H

#include "set/report.h"

/* Fills in lost and lost_cut. */
void report_find_lost(struct report *r);

#endif
