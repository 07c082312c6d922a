/* SPDX-License-Identifier: GPL-2.0-only */
/* Test Anything Protocol for the unit tests: a few lines, header only. */
#ifndef TIER_TEST_TAP_H
#define TIER_TEST_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static unsigned int tap_run, tap_failed;

/* One test: named by a format and its arguments. */
__attribute__((format(printf, 2, 3)))
static inline bool ok(bool passed, const char *name, ...)
{
	va_list args;

	printf("%sok %u - ", passed ? "" : "not ", ++tap_run);
	va_start(args, name);
	vprintf(name, args);
	va_end(args);
	putchar('\n');
	if (!passed)
		tap_failed++;
	return passed;
}

/* Ends the output; returns main()'s exit status. */
static inline int tap_done(void)
{
	printf("1..%u\n", tap_run);
	if (tap_failed)
		printf("# %u of %u failed\n", tap_failed, tap_run);
	return tap_failed ? 1 : 0;
}

#endif /* TIER_TEST_TAP_H */
