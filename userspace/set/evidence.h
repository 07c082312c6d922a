/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a device without a label the missing tier of a set? Nothing on the device says so; its
 * size, the rest of its label area and the metadata's knowledge of its chunks are evidence.
 */
#ifndef TIERCTL_EVIDENCE_H
#define TIERCTL_EVIDENCE_H

#include "set/set.h"

struct evidence {
	unsigned int nr;
	struct {
		bool against;
		char *text;
	} *item;
	const char *doubt;	/* a reason to refuse without a question, or NULL */
};

/*
 * For an inactive set whose tier of that rank is missing. Only reads. False with the error said
 * if the metadata cannot be read.
 */
bool evidence_gather(struct evidence *e, const struct set *s, unsigned int rank, const struct device *d);
void evidence_free(struct evidence *e);

#endif
