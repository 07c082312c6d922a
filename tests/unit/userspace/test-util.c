// SPDX-License-Identifier: GPL-2.0-only
/* Text of any origin on its way to a terminal, into JSON and into XML. */
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "../tap.h"
#include "base/util.h"

#define NONE	"\xef\xbf\xbd"	/* U+FFFD */

static void test_utf8(void)
{
	static const struct { const char *from, *to; } cases[] = {
		{ "", "" },
		{ "plain\n", "plain\n" },
		{ "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "Latin-1 \xe4", "Latin-1 " NONE },
		{ "\xe4rger", NONE "rger" },
		{ "cut \xe2\x82", "cut " NONE NONE },
		{ "\x80\xbf", NONE NONE },
		{ "\xc0\xaf", NONE NONE },
		{ "\xc1\xbf", NONE NONE },
		{ "\xe0\x9f\xbf", NONE NONE NONE },
		{ "\xe0\xa0\x80", "\xe0\xa0\x80" },
		{ "\xed\x9f\xbf", "\xed\x9f\xbf" },
		{ "\xed\xa0\x80", NONE NONE NONE },
		{ "\xf0\x8f\xbf\xbf", NONE NONE NONE NONE },
		{ "\xf4\x8f\xbf\xbd", "\xf4\x8f\xbf\xbd" },
		{ "\xf4\x90\x80\x80", NONE NONE NONE NONE },
		{ "\xf5\x80\x80\x80", NONE NONE NONE NONE },
		{ "\xef\xbf\xbf", NONE NONE NONE },
		{ "\xff", NONE },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = to_utf8(cases[i].from);

		ok(!strcmp(text, cases[i].to), "UTF-8, %u", i);
		free(text);
	}
}

static void test_columns(void)
{
	struct columns c;
	struct text t = { 0 };

	columns_init(&c, "ll");
	columns_row(&c, "a", "/srv/\033[2J\nb\x7f\xc3\xa4");
	columns_text(&c, &t);
	ok(!strcmp(t.s, "a  /srv/_[2J_b_\xc3\xa4\n"), "a table has nothing in it that a terminal would obey");
	text_free(&t);
	columns_init(&c, "rlr");
	columns_row(&c, "size", "name", "");
	columns_row(&c, "9", "\xc3\xa4\xe2\x82\xac", "x");
	columns_row(&c, "12345", "\xe4\xb8\xad\xe6\x96\x87 ", NULL);
	columns_row(&c, NULL, "", "");
	columns_text(&c, &t);
	ok(!strcmp(t.s, " size  name\n    9  \xc3\xa4\xe2\x82\xac     x\n12345  \xe4\xb8\xad\xe6\x96\x87\n\n"),
	   "columns of UTF-8 are as wide as they are seen");
	text_free(&t);
}

static void test_printable(void)
{
	static const struct { const char *from, *to; } cases[] = {
		{ "", "" },
		{ "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\x01\x1f\x7f~", "___~" },
		{ "\xc2\x80 \xc2\x9b" "2J \xc2\x9f \xc2\xa0", "__ __2J __ \xc2\xa0" },
		{ "\x9b" "2J\xe4", "_2J_" },
		{ "cut \xe2\x82", "cut __" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = xstrdup(cases[i].from);

		make_printable(text);
		ok(!strcmp(text, cases[i].to), "nothing that a terminal would obey, %u", i);
		free(text);
	}
}

int main(void)
{
	test_utf8();
	test_printable();
	test_columns();
	return tap_done();
}
