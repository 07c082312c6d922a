/* SPDX-License-Identifier: GPL-2.0-only */
/* Errors in metadata, reported line by line, and counted. */
#ifndef TIER_LIB_PROBLEMS_H
#define TIER_LIB_PROBLEMS_H

#include <stdbool.h>
#include <stdint.h>

struct md_problems {
	/* text is a line without newline; NULL say: only count. */
	void (*say)(void *context, const char *text);
	void *context;
	const char *prefix;	/* of each line, NULL for none */
	bool all;		/* every error is reported, however many there are */
	uint64_t said;
	uint64_t errors;	/* errors that the kernel would fail at, or that lose data */
	uint64_t minor;		/* errors that cost space or are ignored */
};

/* The most lines, unless all is set; further errors are only counted. */
#define MD_PROBLEMS_SAID	100

void md_error(struct md_problems *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void md_minor(struct md_problems *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reports how many lines were left out, if any. */
void md_problems_end(struct md_problems *p);

#endif
