/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads devices that may hang. A process that opens or reads a device that does not answer
 * cannot be killed until it answers. So each device is read by a process of its own, all of them
 * in parallel, and the tool does not wait for a process that is late.
 */
#ifndef TIERCTL_ASIDE_H
#define TIERCTL_ASIDE_H

#include <stddef.h>

#include "block/device.h"

/* Milliseconds for one device: a disk that spins up takes some seconds. */
#define ASIDE_MS	10000

struct reading {
	const struct device *dev;
	void *result;
	bool late;
};

/*
 * Calls fn for each of nr readings in a process of its own. fn changes the size bytes at result;
 * a pointer there may only point to memory from before the call, or to constants. The bytes are
 * copied back when fn has returned. late: they are not, as the device does not answer within
 * ASIDE_MS, or has not answered since an earlier call.
 */
void read_aside(struct reading *readings, unsigned int nr, size_t size,
		void (*fn)(const struct device *dev, void *result));

#endif
