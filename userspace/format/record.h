/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A dump is a sequence of records: the set, its tiers, its tunables, runs of the mapping and of
 * heat; each is a list of names and values. This file defines their meaning; xml.c and json.c
 * define the syntax.
 *
 * Bytes of text that are not printable ASCII, and backslashes, are spelt \xNN.
 */
#ifndef TIER_LIB_RECORD_H
#define TIER_LIB_RECORD_H

#include <stdio.h>

#include "format/content.h"

enum md_record_kind { MD_SET, MD_TIER, MD_TUNABLE, MD_MAP, MD_HEAT, MD_NR_RECORDS };

/* "set", "tier" and so on. */
extern const char *const md_record_name[MD_NR_RECORDS];

#define MD_RECORD_FIELDS	32
#define MD_FIELD_TEXT		(4 * TIER_NAME_SIZE)

struct md_field {
	const char *name;
	const char *value;
	bool number;
	bool used;			/* for reading: the field was used */
	char buf[MD_FIELD_TEXT];	/* for writing */
};

struct md_record {
	enum md_record_kind kind;
	unsigned int nr;
	struct md_field field[MD_RECORD_FIELDS];
};

/* Calls fn for each record of a dump, in order of kind. */
void md_dump(const struct md_content *c, void (*fn)(void *context, const struct md_record *r),
	     void *context);

/* Reads the records of a dump, the set first. */
struct md_undump {
	struct md_content *content;
	u64 max_blocks;			/* of the new metadata, 0 if unknown */
	bool have_set;
	char *error;			/* the first one; the caller frees */
};

/* False with an error. */
bool md_undump_record(struct md_undump *u, struct md_record *r);

/* Keeps the message, unless there is one already. Returns false. */
bool md_undump_fail(struct md_undump *u, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Syntax. Writing to f may have failed: see ferror(). */
void md_write_xml(const struct md_content *c, FILE *f);
void md_write_json(const struct md_content *c, FILE *f);
/* False with u->error set. */
bool md_parse_xml(FILE *f, struct md_undump *u);
bool md_parse_json(FILE *f, struct md_undump *u);

#endif
