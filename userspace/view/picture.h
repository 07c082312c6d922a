/* SPDX-License-Identifier: GPL-2.0-only */
/* The heat map as a picture: on the terminal, as SVG, as PNG. */
#ifndef TIERCTL_PICTURE_H
#define TIERCTL_PICTURE_H

#include "set/heat.h"

#define LEVELS		10	/* of heat: 0 none, 9 the hottest there is */

struct picture {
	const struct set *set;
	char *title;
	unsigned int columns;
	unsigned int nr_cells;
	const struct heat_bucket *cell;
	const struct ranges *chunks;	/* the unit of the cells */
	double hottest;		/* mean heat of a chunk in the hottest cell */
};

struct rgb {
	unsigned char r, g, b;
};

void picture_init(struct picture *p, const struct set *s, const struct ranges *chunks,
		  const struct heat_bucket *cell, unsigned int nr_cells);

/* The tier with most chunks of the cell, -1 if no chunk of it is mapped. */
int cell_rank(const struct picture *p, unsigned int i);
/* 0 to LEVELS - 1, by the logarithm of the mean heat of a chunk. */
unsigned int cell_level(const struct picture *p, unsigned int i);
/* A hue for each tier, from orange for the fastest to blue; the hotter, the brighter. */
struct rgb tier_colour(const struct picture *p, int rank, unsigned int level);
unsigned int picture_rows(const struct picture *p);
/* Each so many rows, the picture says with which chunk one begins. */
unsigned int axis_step(const struct picture *p);
/* The first chunk of the cell. */
uint64_t cell_chunk(const struct picture *p, unsigned int i);
/* "chunks 0-15: tier 0, heat 12" */
void cell_text(const struct picture *p, unsigned int i, struct text *t);

/* At most p->columns wide; coloured if the terminal allows it. */
void picture_print(const struct picture *p);
/* The document. */
void picture_svg(const struct picture *p, struct text *t);
/* The file's bytes; the caller frees. */
void *picture_png(const struct picture *p, size_t *len);

#endif
