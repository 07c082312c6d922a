/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading from devices that may hang.  A device that does not answer keeps whoever opens it or
 * reads from it, and a process in that state cannot be killed.  So each device is read by a
 * process of its own, all of them side by side, and one that is late is not waited for.
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
 * Calls fn for each of nr readings in a process of its own.  fn changes the size bytes at result,
 * in which a pointer may only point to what was there before the call, or is constant; they
 * are changed here once it is done.  late: they are not, as the device does not answer within
 * ASIDE_MS, or has not answered since an earlier call.
 */
void read_aside(struct reading *readings, unsigned int nr, size_t size,
		void (*fn)(const struct device *dev, void *result));

#endif
