// SPDX-License-Identifier: GPL-2.0-only
#include "base/columns.h"

#include <libsmartcols/libsmartcols.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

void columns_init(struct columns *c, const char *align)
{
	c->align = align;
	c->table = scols_new_table();
	if (!c->table || scols_table_enable_noheadings(c->table, 1) || scols_table_enable_noencoding(c->table, 1) ||
	    scols_table_set_column_separator(c->table, "  ") ||
	    scols_table_set_termforce(c->table, SCOLS_TERMFORCE_NEVER))
		out_of_memory();
	for (; *align; align++)
		if (!scols_table_new_column(c->table, "", 0, *align == 'r' ? SCOLS_FL_RIGHT : 0))
			out_of_memory();
}

void columns_row(struct columns *c, ...)
{
	struct libscols_line *line = scols_table_new_line(c->table, NULL);
	unsigned int i, nr = strlen(c->align);
	va_list ap;
	char *cell;

	va_start(ap, c);
	for (i = 0; i < nr; i++) {
		const char *s = va_arg(ap, const char *);

		cell = xstrdup(s ? s : "");
		make_printable(cell);
		if (!line || scols_line_refer_data(line, i, cell))
			out_of_memory();
	}
	va_end(ap);
}

void columns_text(struct columns *c, struct text *t)
{
	/* Names are UTF-8 whatever the user's locale, and by the locale it is known how wide a character is. */
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL), before = uselocale(utf8);
	char *all, *line, *save;
	size_t len;

	if (scols_print_table_to_string(c->table, &all))
		out_of_memory();
	uselocale(before);
	if (utf8)
		freelocale(utf8);
	for (line = strtok_r(all, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		/* No blanks at the end of a line. */
		for (len = strlen(line); len && line[len - 1] == ' '; len--)
			;
		text_add(t, "%.*s\n", (int)len, line);
	}
	free(all);
	scols_unref_table(c->table);
}

void columns_print(struct columns *c, FILE *to)
{
	struct text t = { 0 };

	columns_text(c, &t);
	if (t.s)
		fputs(t.s, to);
	text_free(&t);
}
