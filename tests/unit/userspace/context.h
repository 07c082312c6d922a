/* SPDX-License-Identifier: GPL-2.0-only */
/* The context that a test hands down: lines go to stdout and stderr, and are kept. */
#ifndef TEST_CONTEXT_H
#define TEST_CONTEXT_H

#include "tools/terminal.h"

static struct terminal terminal;

static inline struct tier_context *test_context(void)
{
	terminal_init(&terminal);
	return &terminal.ctx;
}

#endif
