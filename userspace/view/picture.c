// SPDX-License-Identifier: GPL-2.0-only
#include "view/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/screen.h"
#include "base/util.h"

void picture_init(struct picture *p, const struct set *s, const struct ranges *chunks,
		  const struct heat_bucket *cell, unsigned int nr_cells)
{
	unsigned int i;

	memset(p, 0, sizeof(*p));
	p->set = s;
	p->chunks = chunks;
	p->cell = cell;
	p->nr_cells = nr_cells;
	for (i = 0; i < nr_cells; i++)
		if (heat_mean(&cell[i]) > p->hottest)
			p->hottest = heat_mean(&cell[i]);
}

int cell_rank(const struct picture *p, unsigned int i)
{
	unsigned int rank, best = 0;

	for (rank = 1; rank < p->set->nr_tiers; rank++)
		if (p->cell[i].on_rank[rank] > p->cell[i].on_rank[best])
			best = rank;
	return p->cell[i].mapped ? (int)best : -1;
}

unsigned int cell_level(const struct picture *p, unsigned int i)
{
	double mean = heat_mean(&p->cell[i]);

	if (mean <= 0)
		return 0;
	return 1 + (unsigned int)((LEVELS - 2) * log2(1 + mean) / log2(1 + p->hottest) + 0.5);
}

/* From the fastest tier to the slowest: orange, yellow, green, blue, which stay apart for the colour-blind. */
static const struct rgb scale[] = { { 255, 125, 0 }, { 255, 240, 60 }, { 0, 185, 130 }, { 0, 90, 255 } };

static unsigned char between(unsigned char a, unsigned char b, double part, double strength)
{
	return (a + (b - a) * part) * strength + 0.5;
}

struct rgb tier_colour(const struct picture *p, int rank, unsigned int level)
{
	double at = rank > 0 ? 3.0 * rank / (p->set->nr_tiers - 1) : 0, strength = 0.3 + 0.7 * level / (LEVELS - 1);
	unsigned int i = at < 3 ? at : 2;
	const struct rgb *a = &scale[i], *b = &scale[i + 1];

	if (rank < 0)
		return (struct rgb){ 200, 200, 200 };
	return (struct rgb){ between(a->r, b->r, at - i, strength), between(a->g, b->g, at - i, strength),
			     between(a->b, b->b, at - i, strength) };
}

unsigned int picture_rows(const struct picture *p)
{
	return (p->nr_cells + p->columns - 1) / p->columns;
}

unsigned int axis_step(const struct picture *p)
{
	unsigned int rows = picture_rows(p);

	/* Numbers are hardly lower than two rows. */
	return rows > 20 ? (rows + 9) / 10 : rows > 2 ? 2 : 1;
}

uint64_t cell_chunk(const struct picture *p, unsigned int i)
{
	uint64_t skip = p->cell[i].first;
	unsigned int j;

	for (j = 0; j + 1 < p->chunks->nr && skip >= p->chunks->range[j].count; j++)
		skip -= p->chunks->range[j].count;
	return p->chunks->range[j].first + skip;
}

void cell_text(const struct picture *p, unsigned int i, struct text *t)
{
	const struct heat_bucket *b = &p->cell[i];
	uint64_t first = cell_chunk(p, i);
	unsigned int rank;

	text_add(t, "chunk%s %llu", b->count > 1 ? "s" : "", (unsigned long long)first);
	if (b->count > 1 && p->chunks->nr == 1)
		text_add(t, "-%llu", (unsigned long long)(first + b->count - 1));
	else if (b->count > 1)
		text_add(t, " and %llu more", (unsigned long long)(b->count - 1));
	if (!b->mapped)
		text_add(t, ": nothing written");
	for (rank = 0; rank < p->set->nr_tiers; rank++)
		if (b->on_rank[rank])
			text_add(t, ", %llu on tier %u", (unsigned long long)b->on_rank[rank], rank);
	if (b->mapped)
		text_add(t, ", heat %.1f", heat_mean(b));
}

/*
 * The terminal
 */

static const char ramp[LEVELS + 1] = " .:-=+*#%@";

enum depth { DEPTH_NONE, DEPTH_256, DEPTH_TRUE };

static enum depth colour_depth(void)
{
	const char *term = getenv("TERM"), *more = getenv("COLORTERM");

	if (!*colour(RED))
		return DEPTH_NONE;
	if (more && (!strcmp(more, "truecolor") || !strcmp(more, "24bit")))
		return DEPTH_TRUE;
	return term ? DEPTH_256 : DEPTH_NONE;
}

static void set_background(enum depth depth, struct rgb c)
{
	if (depth == DEPTH_TRUE)
		printf("\033[48;2;%u;%u;%um", c.r, c.g, c.b);
	else	/* the cube of 6 x 6 x 6 */
		printf("\033[48;5;%um", 16 + 36 * ((c.r * 5 + 127) / 255) + 6 * ((c.g * 5 + 127) / 255) +
		       (c.b * 5 + 127) / 255);
}

static char rank_letter(int rank)
{
	return rank < 0 ? '.' : "0123456789abcdef"[rank];
}

static void print_row(const struct picture *p, unsigned int from, unsigned int to, enum depth depth)
{
	unsigned int i;

	printf("%10llu ", (unsigned long long)cell_chunk(p, from));
	if (depth == DEPTH_NONE) {
		/* Two lines: the rank, and the heat. */
		for (i = from; i < to; i++)
			putchar(rank_letter(cell_rank(p, i)));
		printf("\n%11s", "");
		for (i = from; i < to; i++)
			putchar(ramp[cell_level(p, i)]);
		putchar('\n');
		return;
	}
	fputs("\033[97m", stdout);
	for (i = from; i < to; i++) {
		set_background(depth, tier_colour(p, cell_rank(p, i), cell_level(p, i)));
		putchar(ramp[cell_level(p, i)]);
	}
	puts("\033[0m");
}

static void print_legend(const struct picture *p, enum depth depth)
{
	unsigned int rank;
	double per_cell = p->nr_cells ? (double)ranges_total(p->chunks) / p->nr_cells : 0;

	fputs("tiers    ", stdout);
	for (rank = 0; rank < p->set->nr_tiers; rank++) {
		const struct set_tier *t = &p->set->tier[rank];

		fputs("  ", stdout);
		if (depth != DEPTH_NONE) {
			set_background(depth, tier_colour(p, rank, LEVELS / 2));
			fputs("  \033[0m ", stdout);
		}
		printf("%c %s", rank_letter(rank), t->present ? t->dev.name : "missing");
	}
	printf("\nheat       \"%s\", %s\n", ramp,
	       p->hottest > 0 ? "from none to the hottest" : "there is none");
	printf("%s  nothing written", depth == DEPTH_NONE ? ".        " : "grey     ");
	if (per_cell > 1)
		printf("; a character is %.3g chunks\n", per_cell);
	else
		puts("; a character is a chunk");
}

void picture_print(const struct picture *p)
{
	enum depth depth = colour_depth();
	unsigned int i;

	puts(p->title);
	for (i = 0; i < p->nr_cells; i += p->columns)
		print_row(p, i, i + p->columns < p->nr_cells ? i + p->columns : p->nr_cells, depth);
	print_legend(p, depth);
}

/*
 * SVG
 */

#define CELL	10
#define MARGIN	20
#define AXIS	90	/* where cells begin; the chunk numbers of rows are left of it */
#define HEAD	40
#define FOOT	30

static void add_escaped(struct text *t, const char *text)
{
	char *utf8 = to_utf8(text);
	const char *s;

	for (s = utf8; *s; s++) {
		if (*s == '<')
			text_add(t, "&lt;");
		else if (*s == '>')
			text_add(t, "&gt;");
		else if (*s == '&')
			text_add(t, "&amp;");
		else if ((unsigned char)*s >= ' ')
			text_add(t, "%c", *s);
	}
	free(utf8);
}

static void svg_cell(const struct picture *p, unsigned int i, struct text *t)
{
	struct rgb c = tier_colour(p, cell_rank(p, i), cell_level(p, i));

	text_add(t, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"#%02x%02x%02x\"><title>",
		 AXIS + i % p->columns * CELL, HEAD + i / p->columns * CELL, CELL - 1, CELL - 1,
		 c.r, c.g, c.b);
	cell_text(p, i, t);
	text_add(t, "</title></rect>\n");
}

static void svg_axis(const struct picture *p, struct text *t)
{
	unsigned int row, rows = picture_rows(p), step = axis_step(p);

	text_add(t, "<text x=\"%u\" y=\"%u\" text-anchor=\"end\">chunk</text>\n", AXIS - CELL / 2, HEAD - CELL);
	for (row = 0; row < rows; row += step)
		text_add(t, "<text x=\"%u\" y=\"%u\" text-anchor=\"end\">%llu</text>\n", AXIS - CELL / 2,
			 HEAD + row * CELL + CELL - 1, (unsigned long long)cell_chunk(p, row * p->columns));
}

static void svg_legend(const struct picture *p, unsigned int y, struct text *t)
{
	unsigned int rank, level;

	for (rank = 0; rank < p->set->nr_tiers; rank++) {
		const struct set_tier *tier = &p->set->tier[rank];

		for (level = 0; level < LEVELS; level++) {
			struct rgb c = tier_colour(p, rank, level);

			text_add(t, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"#%02x%02x%02x\"/>\n",
				 AXIS + level * CELL, y + rank * 2 * CELL, CELL, CELL, c.r, c.g, c.b);
		}
		text_add(t, "<text x=\"%u\" y=\"%u\">tier %u, ", AXIS + (LEVELS + 1) * CELL,
			 y + rank * 2 * CELL + CELL - 1, rank);
		add_escaped(t, tier->present ? tier->dev.name : "missing");
		text_add(t, "</text>\n");
	}
	text_add(t, "<text x=\"%u\" y=\"%u\">from cold to hot; grey: nothing written</text>\n", AXIS,
		 y + rank * 2 * CELL + CELL - 1);
}

void picture_svg(const struct picture *p, struct text *t)
{
	unsigned int legend = HEAD + picture_rows(p) * CELL + MARGIN;
	unsigned int i, width = AXIS + p->columns * CELL + MARGIN;

	if (width < 480)
		width = 480;
	text_add(t, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" font-family=\"sans-serif\" font-size=\"11\">\n"
		 "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"%u\" y=\"%u\">",
		 width, legend + p->set->nr_tiers * 2 * CELL + FOOT, AXIS, HEAD - CELL);
	add_escaped(t, p->title);
	text_add(t, "</text>\n");
	svg_axis(p, t);
	for (i = 0; i < p->nr_cells; i++)
		svg_cell(p, i, t);
	svg_legend(p, legend, t);
	text_add(t, "</svg>\n");
}
