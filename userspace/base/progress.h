/* SPDX-License-Identifier: GPL-2.0-only */
/* One line that says how far something is, by the context's callback. */
#ifndef TIERCTL_PROGRESS_H
#define TIERCTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct tier_context;

struct progress {
	struct tier_context *ctx;
	uint64_t next;		/* ms; nothing is shown before */
	bool shown;
};

/* Nothing is shown before two seconds: what is over by then needs no bar. */
void progress_start(struct tier_context *ctx, struct progress *p);
/* Replaces the line, a few times a second at most. */
void progress_show(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "WHAT [####....] 40%": done of total */
void progress_bar(struct progress *p, const char *what, uint64_t done, uint64_t total);
/* Takes the line away. */
void progress_end(struct progress *p);

#endif
