/* SPDX-License-Identifier: GPL-2.0-only */
/* The health of the devices below a set: problems of each, from the kernel. No device is read. */
#ifndef TIERCTL_HEALTH_H
#define TIERCTL_HEALTH_H

#include "set/set.h"

enum problem_kind {
	PROBLEM_MISSING,	/* unplugged, or left out */
	PROBLEM_REDUCED,	/* smaller than the set's data on it */
	PROBLEM_SUSPENDED,	/* I/O to it, or to a device below, waits */
	PROBLEM_ERROR,		/* or fails: a table of "error", a disk below that is gone */
	PROBLEM_DEGRADED,	/* a mirror or RAID array below lacks a disk */
	PROBLEM_READ_ONLY,
	PROBLEM_BLOCKS,		/* its logical blocks are larger than those of the set */
	NR_PROBLEMS
};

/* One word, for JSON and metrics. */
const char *problem_word(enum problem_kind kind);
/* The same for people, in a table. */
const char *problem_phrase(enum problem_kind kind);

struct problem {
	enum problem_kind kind;
	char *device;		/* the device itself or one below; NULL if missing */
	char *text;		/* ends with the advice */
};

/* The first problem of each kind. */
struct health {
	unsigned int nr;
	struct problem problem[NR_PROBLEMS];
};

/* For the tier of that rank; -1: for the metadata device. */
void health_look(struct set *s, int rank, struct health *h);
void health_free(struct health *h);
bool health_has(const struct health *h, enum problem_kind kind);

#endif
