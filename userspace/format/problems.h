/* SPDX-License-Identifier: GPL-2.0-only */
/* What is wrong with metadata, told line by line, and counted. */
#ifndef TIER_LIB_PROBLEMS_H
#define TIER_LIB_PROBLEMS_H

#include <stdbool.h>
#include <stdint.h>

struct md_problems {
	/* text is a line without its end; NULL say: only count. */
	void (*say)(void *context, const char *text);
	void *context;
	const char *prefix;	/* of each line, NULL for none */
	bool all;		/* each is told, however many there are */
	uint64_t said;
	uint64_t errors;	/* what the kernel would stumble over, or data is lost by */
	uint64_t minor;		/* what costs space or is ignored */
};

/* Lines that are told, unless all are; the rest is counted. */
#define MD_PROBLEMS_SAID	100

void md_error(struct md_problems *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void md_minor(struct md_problems *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Tells how many were left out, if any. */
void md_problems_end(struct md_problems *p);

#endif
