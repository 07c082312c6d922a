/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Maps ranges through one line of a device-mapper table: for a range of the device, the ranges
 * of the devices below. Pure computation.
 */
#ifndef TIERCTL_LAYER_H
#define TIERCTL_LAYER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* All numbers are sectors. */
struct layer {
	uint64_t start, length;		/* of the device that has the table */
	char type[16];			/* the target's name */
	bool followed;			/* the devices below are known, in leg[] */
	uint64_t stripe;		/* with several legs: sectors of a stripe */
	unsigned int nr_legs;
	struct leg {
		dev_t dev;
		uint64_t offset;
	} *leg;
};

/*
 * Fills *l, which layer_free() frees. linear, striped, crypt and snapshot-origin can be
 * followed; for other targets only start, length and type are set.
 */
void layer_parse(uint64_t start, uint64_t length, const char *type, const char *params, struct layer *l);
void layer_free(struct layer *l);

/*
 * Calls fn for the range of each leg below the sectors from at (of the device) on; sectors
 * outside the line are left out. Stops at a non-zero answer.
 */
int layer_map(const struct layer *l, uint64_t at, uint64_t count,
	      int (*fn)(void *context, dev_t dev, uint64_t at, uint64_t count), void *context);

#endif
