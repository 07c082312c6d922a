// SPDX-License-Identifier: GPL-2.0-only
/*
 * The heat map as PNG, by libpng. Explanations are in its text chunks; the picture shows only
 * numbers: the first chunk of a row, and the tiers' ranks.
 */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "view/picture.h"

#define CELL	8
#define MARGIN	8
#define DIGIT	8			/* columns that one takes */
#define AXIS	(MARGIN + 10 * DIGIT)	/* where cells begin; a chunk number has ten digits at most */
/* A digit is 3 x 5, drawn twice as large. */
#define SCALE	2

/* Five rows of three bits, the top one first. */
static const unsigned short digits[10] = {
	075557, 026227, 071747, 071717, 055711, 074717, 074757, 071111, 075757, 075717,
};

struct canvas {
	unsigned int width, height;
	struct rgb *pixel;
};

static void fill(struct canvas *c, unsigned int x, unsigned int y, unsigned int width,
		 unsigned int height, struct rgb colour)
{
	unsigned int i, j;

	for (j = y; j < y + height && j < c->height; j++)
		for (i = x; i < x + width && i < c->width; i++)
			c->pixel[(size_t)j * c->width + i] = colour;
}

static void draw_digit(struct canvas *c, unsigned int x, unsigned int y, unsigned int digit)
{
	const struct rgb black = { 0, 0, 0 };
	unsigned int bit;

	for (bit = 0; bit < 15; bit++)
		if (digits[digit] & (1 << (14 - bit)))
			fill(c, x + bit % 3 * SCALE, y + bit / 3 * SCALE, SCALE, SCALE, black);
}

/* Ends in that column. */
static void draw_number(struct canvas *c, unsigned int end, unsigned int y, uint64_t number)
{
	do {
		end -= DIGIT;
		draw_digit(c, end, y, number % 10);
		number /= 10;
	} while (number);
}

static void draw(const struct picture *p, struct canvas *c)
{
	const struct rgb white = { 255, 255, 255 };
	unsigned int rows = picture_rows(p), step = axis_step(p);
	unsigned int y = 2 * MARGIN + rows * CELL, i, rank, level;

	c->width = AXIS + p->columns * CELL + MARGIN;
	if (c->width < AXIS + LEVELS * CELL + MARGIN)
		c->width = AXIS + LEVELS * CELL + MARGIN;
	c->height = y + p->set->nr_tiers * 2 * CELL;
	c->pixel = xcalloc((size_t)c->width * c->height, sizeof(*c->pixel));
	fill(c, 0, 0, c->width, c->height, white);
	for (i = 0; i < rows; i += step)
		draw_number(c, AXIS, MARGIN + i * CELL, cell_chunk(p, i * p->columns));
	for (i = 0; i < p->nr_cells; i++)
		fill(c, AXIS + i % p->columns * CELL, MARGIN + i / p->columns * CELL, CELL - 1, CELL - 1,
		     tier_colour(p, cell_rank(p, i), cell_level(p, i)));
	for (rank = 0; rank < p->set->nr_tiers; rank++) {
		draw_number(c, AXIS, y + rank * 2 * CELL, rank);
		for (level = 0; level < LEVELS; level++)
			fill(c, AXIS + level * CELL, y + rank * 2 * CELL, CELL, CELL, tier_colour(p, rank, level));
	}
}

/* Output to memory; libpng itself would write to a file. */
struct output {
	unsigned char *bytes;
	size_t len;
};

static void put_bytes(png_structp png, png_bytep data, size_t len)
{
	struct output *out = png_get_io_ptr(png);

	out->bytes = xrealloc(out->bytes, out->len + len, 1);
	memcpy(out->bytes + out->len, data, len);
	out->len += len;
}

static void flush_nothing(png_structp png)
{
	(void)png;
}

static void put_text(png_structp png, png_infop info, const char *key, const char *value)
{
	png_text text = {
		.compression = PNG_TEXT_COMPRESSION_NONE,
		.key = (png_charp)key,
		.text = (png_charp)value,
	};

	png_set_text(png, info, &text, 1);
}

struct job {
	struct output out;
	struct canvas canvas;
};

static void write_png(const struct picture *p, png_structp png, png_infop info, struct job *job)
{
	struct canvas *c = &job->canvas;
	unsigned int y;

	draw(p, c);
	png_set_write_fn(png, &job->out, put_bytes, flush_nothing);
	png_set_IHDR(png, info, c->width, c->height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
		     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	put_text(png, info, "Title", p->title);
	put_text(png, info, "Software", "tierctl " TIERCTL_VERSION);
	png_write_info(png, info);
	for (y = 0; y < c->height; y++)
		png_write_row(png, (png_const_bytep)&c->pixel[(size_t)y * c->width]);
	png_write_end(png, info);
}

void *picture_png(const struct picture *p, size_t *len)
{
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
	png_infop info = png ? png_create_info_struct(png) : NULL;
	/* Not on the stack: libpng gives up by longjmp(). */
	struct job *job = xcalloc(1, sizeof(*job));
	void *bytes = NULL;

	if (info && !setjmp(png_jmpbuf(png))) {
		write_png(p, png, info, job);
		bytes = job->out.bytes;
		*len = job->out.len;
	} else {
		free(job->out.bytes);
	}
	png_destroy_write_struct(&png, &info);
	free(job->canvas.pixel);
	free(job);
	return bytes;
}
