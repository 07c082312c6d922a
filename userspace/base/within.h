/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls that may wait in the kernel for a device that does not answer; they must not block the
 * tool.
 */
#ifndef TIERCTL_WITHIN_H
#define TIERCTL_WITHIN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Runs fn in a process of its own, which has none of the tool's files open, and copies result,
 * of len bytes, from there. Nothing interrupts a process that waits in the kernel for a disk, so
 * after ms milliseconds the process is left behind. Returns the result of fn, -ETIMEDOUT or
 * another -errno.
 */
int run_within(uint64_t ms, int (*fn)(void *context, void *result), void *context, void *result, size_t len);

#endif
