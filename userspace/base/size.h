/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers and sizes, to and from text. */
#ifndef TIERCTL_SIZE_H
#define TIERCTL_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECTOR_SHIFT	9
#define SECTOR_SIZE	(1ULL << SECTOR_SHIFT)

/*
 * A decimal number without sign, blanks or anything after it.  -EINVAL, or
 * -ERANGE if it does not fit.
 */
int parse_number(const char *s, uint64_t *result);

/*
 * A size in bytes: a number, "1.5" too, and a unit: s (sectors of 512 bytes),
 * b, k, m, g, t, p, e; "KiB", "kb" and "K" mean the same; case does not matter,
 * 1024-based.  -EINVAL: not a size; -ENODATA: no unit; -ERANGE.
 */
int parse_size(const char *s, uint64_t *bytes);
/* The text of an error, for a message that names the argument. */
const char *size_error(int error);

/* "N" or "N-M", both ends included.  -EINVAL, -ERANGE. */
int parse_range(const char *s, uint64_t *first, uint64_t *count);

#define SIZE_TEXT	24
/* "2.0 TiB", "512 B", three digits or so. */
const char *format_size(char buf[SIZE_TEXT], uint64_t bytes);
/* "412M", narrow, for columns. */
const char *format_short(char buf[SIZE_TEXT], uint64_t n, unsigned int base);

/* round(100 * part / whole), but 0 and 100 only when exact; whole 0 gives 0. */
unsigned int percent(uint64_t part, uint64_t whole);

/* "[#####.....]" with width cells between the brackets; buf holds width + 3. */
char *format_bar(char *buf, unsigned int width, uint64_t part, uint64_t whole);

#endif
