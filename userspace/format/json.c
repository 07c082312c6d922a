// SPDX-License-Identifier: GPL-2.0-only
/*
 * { "tier_metadata": { "set": {...}, "tiers": [...], "tunables": [...],
 *   "maps": [...], "heat": [...] } }
 */
#include <errno.h>
#include <fcntl.h>
#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "format/content.h"
#include "format/record.h"

#define ROOT	"tier_metadata"

/* The section of each kind of record; all but the first are lists. */
static const char *const section[MD_NR_RECORDS] = { "set", "tiers", "tunables", "maps", "heat" };

struct writer {
	FILE *f;
	unsigned int open;	/* sections begun; the last is the current one */
	bool first;		/* next is the first of the current section */
};

/* Text has no control characters: those are spelt \xNN. */
static void write_text(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putc('\\', f);
		putc(*s, f);
	}
	putc('"', f);
}

/* Closes the current section and opens the sections up to kind, most of them empty. */
static void go_to(struct writer *w, unsigned int kind)
{
	while (w->open <= kind) {
		if (w->open > 1)
			fputs(w->first ? "],\n" : "\n  ],\n", w->f);
		else if (w->open == 1)
			fputs(",\n", w->f);
		if (w->open < MD_NR_RECORDS)
			fprintf(w->f, "  \"%s\": %s", section[w->open], w->open ? "[" : "");
		w->first = true;
		w->open++;
	}
}

static void write_record(void *context, const struct md_record *r)
{
	struct writer *w = context;
	unsigned int i;

	go_to(w, r->kind);
	if (r->kind != MD_SET)
		fputs(w->first ? "\n    " : ",\n    ", w->f);
	w->first = false;
	putc('{', w->f);
	for (i = 0; i < r->nr; i++) {
		fprintf(w->f, "%s\"%s\": ", i ? ", " : "", r->field[i].name);
		if (r->field[i].number)
			fputs(r->field[i].value, w->f);
		else
			write_text(w->f, r->field[i].value);
	}
	putc('}', w->f);
}

void md_write_json(const struct md_content *c, FILE *f)
{
	struct writer w = { .f = f };

	fputs("{\"" ROOT "\": {\n", f);
	md_dump(c, write_record, &w);
	go_to(&w, MD_NR_RECORDS - 1);
	fputs(w.first ? "]\n}}\n" : "\n  ]\n}}\n", f);
}

/*
 * Errors that json-c does not report: of two members of one name it keeps the last, and a number
 * that is too large becomes the largest possible number.
 */
struct scan {
	bool text, escaped;	/* within a string; after a backslash there */
	size_t members;		/* counted in the text, for all objects */
	u64 number;		/* value so far of the current number */
	bool too_large;
};

static void scan_text(struct scan *s, const char *buf, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		char c = buf[i];

		if (s->text) {
			s->text = c != '"' || s->escaped;
			s->escaped = c == '\\' && !s->escaped;
			continue;
		}
		s->text = c == '"';
		s->members += c == ':';
		if (c < '0' || c > '9')
			s->number = 0;
		else if (s->number > (UINT64_MAX - (c - '0')) / 10)
			s->too_large = true;
		else
			s->number = s->number * 10 + (c - '0');
	}
}

/* The number of members of all objects together. */
static size_t count_members(struct json_object *o)
{
	size_t i, nr = 0;

	if (json_object_is_type(o, json_type_array))
		for (i = 0; i < json_object_array_length(o); i++)
			nr += count_members(json_object_array_get_idx(o, i));
	if (!json_object_is_type(o, json_type_object))
		return nr;
	json_object_object_foreach(o, name, value) {
		(void)name;
		nr += 1 + count_members(value);
	}
	return nr;
}

static bool judge_scan(struct md_undump *u, const struct scan *s, struct json_object *top)
{
	if (s->too_large)
		return md_undump_fail(u, "a number is larger than %llu", (unsigned long long)UINT64_MAX);
	if (s->members != count_members(top))
		return md_undump_fail(u, "an object has two members of one name");
	return true;
}

static bool take_object(struct md_undump *u, struct md_record *r, unsigned int kind,
			struct json_object *object)
{
	r->kind = kind;
	r->nr = 0;
	if (!json_object_is_type(object, json_type_object))
		return md_undump_fail(u, "%s: not an object", section[kind]);
	json_object_object_foreach(object, name, value) {
		if (r->nr == MD_RECORD_FIELDS)
			return md_undump_fail(u, "%s: too many members", section[kind]);
		if (!json_object_is_type(value, json_type_int) &&
		    !json_object_is_type(value, json_type_string))
			return md_undump_fail(u, "%s: %.32s is neither a whole number nor text",
					      section[kind], name);
		if (json_object_is_type(value, json_type_string) &&
		    strlen(json_object_get_string(value)) != (size_t)json_object_get_string_len(value))
			return md_undump_fail(u, "%s: %.32s has a NUL character in it", section[kind], name);
		r->field[r->nr].name = name;
		r->field[r->nr++].value = json_object_get_string(value);
	}
	return md_undump_record(u, r);
}

static bool take_section(struct md_undump *u, struct md_record *r, unsigned int kind,
			 struct json_object *value)
{
	size_t i, nr;

	if (kind == MD_SET)
		return take_object(u, r, kind, value);
	if (!json_object_is_type(value, json_type_array))
		return md_undump_fail(u, "%s: not a list", section[kind]);
	nr = json_object_array_length(value);
	for (i = 0; i < nr; i++)
		if (!take_object(u, r, kind, json_object_array_get_idx(value, i)))
			return false;
	return true;
}

static bool take_all(struct md_undump *u, struct json_object *top)
{
	struct json_object *root, *value;
	struct md_record *r;
	unsigned int kind;
	bool good = true;

	if (!json_object_object_get_ex(top, ROOT, &root) || !json_object_is_type(root, json_type_object))
		return md_undump_fail(u, "no object \"" ROOT "\"");
	if (json_object_object_length(root) > MD_NR_RECORDS)
		return md_undump_fail(u, "more than set, tiers, tunables, maps and heat");
	r = xcalloc(1, sizeof(*r));
	for (kind = 0; kind < MD_NR_RECORDS && good; kind++) {
		if (json_object_object_get_ex(root, section[kind], &value))
			good = take_section(u, r, kind, value);
		else
			good = md_undump_fail(u, "no %s", section[kind]);
	}
	free(r);
	return good;
}

/* The tokener sees text behind the object only if that was read together with its end. */
static bool at_end(FILE *f)
{
	int c;

	do
		c = getc(f);
	while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
	return c == EOF && !ferror(f);
}

bool md_parse_json(FILE *f, struct md_undump *u)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *top = NULL;
	struct scan scan = { 0 };
	static char buf[1 << 16];
	size_t len;
	bool good;

	if (!tok)
		out_of_memory();
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	do {
		len = fread(buf, 1, sizeof(buf), f);
		if (ferror(f)) {
			json_tokener_free(tok);
			return md_undump_fail(u, "%s", strerror(errno));
		}
		scan_text(&scan, buf, len);
		top = json_tokener_parse_ex(tok, buf, len);
	} while (len && !top && json_tokener_get_error(tok) == json_tokener_continue);
	if (!top)
		md_undump_fail(u, "%s", json_tokener_error_desc(json_tokener_get_error(tok)));
	else if (!at_end(f))
		md_undump_fail(u, "something follows the object, or cannot be read");
	good = top && !u->error && judge_scan(u, &scan, top) && take_all(u, top);
	json_object_put(top);
	json_tokener_free(tok);
	return good;
}
