// SPDX-License-Identifier: GPL-2.0-only
#include "base/columns.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"

void columns_init(struct columns *c, const char *align)
{
	memset(c, 0, sizeof(*c));
	c->align = align;
}

void columns_row(struct columns *c, ...)
{
	unsigned int i, nr = strlen(c->align);
	va_list ap;

	c->cell = xrealloc(c->cell, c->nr_cells + nr, sizeof(*c->cell));
	va_start(ap, c);
	for (i = 0; i < nr; i++) {
		const char *s = va_arg(ap, const char *);

		c->cell[c->nr_cells] = xstrdup(s ? s : "");
		make_printable(c->cell[c->nr_cells++]);
	}
	va_end(ap);
}

static void add_row(const struct columns *c, char **cell, const unsigned int *width, unsigned int nr,
		    struct text *t)
{
	unsigned int i, used = nr;

	/* No blanks at the end of a line. */
	while (used && !*cell[used - 1])
		used--;
	for (i = 0; i < used; i++) {
		int w = width[i];

		if (c->align[i] == 'r')
			text_add(t, "%s%*s", i ? "  " : "", w, cell[i]);
		else
			text_add(t, "%s%-*s", i ? "  " : "", i + 1 == used ? 0 : w, cell[i]);
	}
	text_add(t, "\n");
}

void columns_text(struct columns *c, struct text *t)
{
	unsigned int i, nr = strlen(c->align);
	unsigned int *width = xcalloc(nr, sizeof(*width));

	for (i = 0; i < c->nr_cells; i++) {
		unsigned int len = strlen(c->cell[i]);

		if (len > width[i % nr])
			width[i % nr] = len;
	}
	for (i = 0; i < c->nr_cells; i += nr)
		add_row(c, c->cell + i, width, nr, t);
	for (i = 0; i < c->nr_cells; i++)
		free(c->cell[i]);
	free(c->cell);
	free(width);
	columns_init(c, c->align);
}

void columns_print(struct columns *c)
{
	struct text t = { 0 };

	columns_text(c, &t);
	if (t.s)
		fputs(t.s, stdout);
	text_free(&t);
}

unsigned int screen_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (columns && !parse_number(columns, &n) && n && n < 10000)
		return n;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return 80;
}

const char *colour(enum colour c)
{
	static const char *const code[] = { "\033[0m", "\033[32m", "\033[33m", "\033[31m" };
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if ((no && *no) || !isatty(STDOUT_FILENO) || !term || !strcmp(term, "dumb"))
		return "";
	return code[c];
}
