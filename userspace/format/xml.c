// SPDX-License-Identifier: GPL-2.0-only
/*
 * <tier_metadata>
 *   <set version="1" uuid="..." .../>
 *   <tier id="0" .../>
 * </tier_metadata>
 */
#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "format/record.h"

#define ROOT	"tier_metadata"

static void write_text(FILE *f, const char *s)
{
	for (; *s; s++) {
		switch (*s) {
		case '&':
			fputs("&amp;", f);
			break;
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		default:
			putc(*s, f);
		}
	}
}

static void write_record(void *context, const struct md_record *r)
{
	FILE *f = context;
	unsigned int i;

	fprintf(f, "  <%s", md_record_name[r->kind]);
	for (i = 0; i < r->nr; i++) {
		fprintf(f, " %s=\"", r->field[i].name);
		write_text(f, r->field[i].value);
		putc('"', f);
	}
	fputs("/>\n", f);
}

void md_write_xml(const struct md_content *c, FILE *f)
{
	fputs("<" ROOT ">\n", f);
	md_dump(c, write_record, f);
	fputs("</" ROOT ">\n", f);
}

struct xml {
	XML_Parser parser;
	struct md_undump *u;
	struct md_record *record;
	unsigned int depth;
};

static void take_element(struct xml *x, const char *name, const char **attribute)
{
	struct md_record *r = x->record;
	unsigned int i;

	for (i = 0; i < MD_NR_RECORDS; i++)
		if (!strcmp(name, md_record_name[i]))
			break;
	if (i == MD_NR_RECORDS) {
		md_undump_fail(x->u, "unknown: <%.32s>", name);
		return;
	}
	r->kind = i;
	for (r->nr = 0; attribute[0]; attribute += 2) {
		if (r->nr == MD_RECORD_FIELDS) {
			md_undump_fail(x->u, "<%s>: too many attributes", name);
			return;
		}
		r->field[r->nr].name = attribute[0];
		r->field[r->nr++].value = attribute[1];
	}
	md_undump_record(x->u, r);
}

static void on_start(void *context, const char *name, const char **attribute)
{
	struct xml *x = context;

	if (x->depth == 0 && strcmp(name, ROOT))
		md_undump_fail(x->u, "a dump begins with <" ROOT ">");
	else if (x->depth == 1)
		take_element(x, name, attribute);
	else if (x->depth > 1)
		md_undump_fail(x->u, "<%.32s> where nothing should be", name);
	x->depth++;
	if (x->u->error)
		XML_StopParser(x->parser, XML_FALSE);
}

static void on_end(void *context, const char *name)
{
	struct xml *x = context;

	(void)name;
	x->depth--;
}

/* A dump needs no document type, and some document types are made to exhaust memory. */
static void on_doctype(void *context, const char *name, const char *system_id, const char *public_id,
		       int has_internal_subset)
{
	struct xml *x = context;

	(void)name;
	(void)system_id;
	(void)public_id;
	(void)has_internal_subset;
	md_undump_fail(x->u, "a dump has no document type");
	XML_StopParser(x->parser, XML_FALSE);
}

/* Expat 2.9 has another name for it, and warns of this one. */
static unsigned long line_number(XML_Parser parser)
{
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
	return XML_GetCurrentLineNumber64(parser);
#else
	return XML_GetCurrentLineNumber(parser);
#endif
}

static bool feed(struct xml *x, FILE *f)
{
	unsigned long line;
	bool last = false;

	while (!last) {
		void *buf = XML_GetBuffer(x->parser, 1 << 16);
		size_t len;

		if (!buf)
			out_of_memory();
		len = fread(buf, 1, 1 << 16, f);
		if (ferror(f))
			return md_undump_fail(x->u, "%s", strerror(errno));
		last = feof(f);
		if (XML_ParseBuffer(x->parser, len, last) == XML_STATUS_ERROR)
			break;
	}
	line = line_number(x->parser);
	if (x->u->error) {
		char *what = x->u->error;

		x->u->error = xasprintf("line %lu: %s", line, what);
		free(what);
	} else if (XML_GetErrorCode(x->parser)) {
		md_undump_fail(x->u, "line %lu: %s", line,
			       XML_ErrorString(XML_GetErrorCode(x->parser)));
	} else if (!x->u->have_set) {
		md_undump_fail(x->u, "no set");
	}
	return !x->u->error;
}

bool md_parse_xml(FILE *f, struct md_undump *u)
{
	struct xml x = { .u = u };
	bool good;

	x.parser = XML_ParserCreate("UTF-8");
	if (!x.parser)
		out_of_memory();
	x.record = xcalloc(1, sizeof(*x.record));
	XML_SetUserData(x.parser, &x);
	XML_SetElementHandler(x.parser, on_start, on_end);
	XML_SetStartDoctypeDeclHandler(x.parser, on_doctype);
	good = feed(&x, f);
	XML_ParserFree(x.parser);
	free(x.record);
	return good;
}
