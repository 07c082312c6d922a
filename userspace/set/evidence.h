/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a device, which carries no label any more, the missing tier of a set?  Nothing on it
 * says so; its size, what is left of its label area and what the metadata says of its
 * chunks do, more or less.
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
	const char *doubt;	/* what speaks against it so much that nobody is asked, or NULL */
};

/*
 * Of an inactive set whose tier of that rank is missing.  Only reads.  False with the error
 * said if the metadata cannot be read.
 */
bool evidence_gather(struct evidence *e, const struct set *s, unsigned int rank, const struct device *d);
void evidence_free(struct evidence *e);

#endif
