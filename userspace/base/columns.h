/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables for people: columns as wide as their widest cell. */
#ifndef TIERCTL_COLUMNS_H
#define TIERCTL_COLUMNS_H

#include <stdio.h>

struct columns {
	const char *align;	/* l or r, one letter a column */
	struct libscols_table *table;
};

void columns_init(struct columns *c, const char *align);
/* One argument a column, NULL for an empty cell. */
void columns_row(struct columns *c, ...);
/* Prints the table and empties it. */
void columns_print(struct columns *c, FILE *to);
/* The same, into a text. */
struct text;
void columns_text(struct columns *c, struct text *t);

#endif
