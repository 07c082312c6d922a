// SPDX-License-Identifier: GPL-2.0-only
#include "base/size.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static int digits(const char **s, uint64_t *result)
{
	uint64_t n = 0;
	const char *p = *s;

	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (; isdigit((unsigned char)*p); p++) {
		unsigned int d = *p - '0';

		if (n > (UINT64_MAX - d) / 10)
			return -ERANGE;
		n = n * 10 + d;
	}
	*s = p;
	*result = n;
	return 0;
}

int parse_number(const char *s, uint64_t *result)
{
	int r = digits(&s, result);

	if (r)
		return r;
	return *s ? -EINVAL : 0;
}

/* The exponent of the power of two that a unit stands for, or a negative error. */
static int unit_shift(const char *unit)
{
	static const char letters[] = "kmgtpe";
	const char *letter;

	if (!*unit)
		return -ENODATA;
	if (!strcasecmp(unit, "s"))
		return SECTOR_SHIFT;
	if (!strcasecmp(unit, "b"))
		return 0;
	letter = strchr(letters, tolower((unsigned char)*unit));
	if (!letter || (unit[1] && strcasecmp(unit + 1, "b") && strcasecmp(unit + 1, "ib")))
		return -EINVAL;
	return 10 * (letter - letters + 1);
}

int parse_size(const char *s, uint64_t *bytes)
{
	uint64_t whole, fraction = 0, scale = 1;
	int r, shift;

	r = digits(&s, &whole);
	if (r)
		return r;
	if (*s == '.') {
		s++;
		if (!isdigit((unsigned char)*s))
			return -EINVAL;
		/* Nine places are more than any size needs. */
		for (; isdigit((unsigned char)*s); s++) {
			if (scale < 1000000000) {
				fraction = fraction * 10 + (*s - '0');
				scale *= 10;
			}
		}
	}
	if (*s == ' ')
		s++;
	shift = unit_shift(s);
	if (shift < 0)
		return shift;
	if (whole > UINT64_MAX >> shift)
		return -ERANGE;
	whole <<= shift;
	fraction = (uint64_t)(((unsigned __int128)fraction << shift) / scale);
	if (whole > UINT64_MAX - fraction)
		return -ERANGE;
	*bytes = whole + fraction;
	return 0;
}

const char *size_error(int error)
{
	switch (error) {
	case -ENODATA:
		return "needs a unit, such as 64k, 100m, 1.5t";
	case -ERANGE:
		return "is too large";
	default:
		return "is not a size such as 64k, 100m, 1.5t";
	}
}

int parse_range(const char *s, uint64_t *first, uint64_t *count)
{
	uint64_t last;
	int r;

	r = digits(&s, first);
	if (r)
		return r;
	last = *first;
	if (*s == '-') {
		s++;
		r = digits(&s, &last);
		if (r)
			return r;
	}
	if (*s)
		return -EINVAL;
	if (last < *first || last - *first == UINT64_MAX)
		return -ERANGE;
	*count = last - *first + 1;
	return 0;
}

const char *format_size(char buf[SIZE_TEXT], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double n = bytes;
	unsigned int u = 0;

	/* 1023.5 would print as 1024. */
	while (n >= 1023.5 && u + 1 < sizeof(units) / sizeof(*units)) {
		n /= 1024;
		u++;
	}
	/* 9.96 would print as 10.0; a whole number needs no fraction. */
	snprintf(buf, SIZE_TEXT, n < 9.95 && n != (uint64_t)n ? "%.1f %s" : "%.0f %s", n, units[u]);
	return buf;
}

const char *format_short(char buf[SIZE_TEXT], uint64_t n, unsigned int base)
{
	static const char units[] = " KMGTPE";
	double d = n;
	unsigned int u = 0;

	while (d >= base - 0.5 && units[u + 1]) {
		d /= base;
		u++;
	}
	if (!u)
		snprintf(buf, SIZE_TEXT, "%.0f", d);
	else
		snprintf(buf, SIZE_TEXT, d < 9.95 ? "%.1f%c" : "%.0f%c", d, units[u]);
	return buf;
}

unsigned int percent(uint64_t part, uint64_t whole)
{
	unsigned int p;

	if (!whole || !part)
		return 0;
	if (part >= whole)
		return 100;
	p = (unsigned int)((double)part * 100 / whole + 0.5);
	if (p == 0)
		p = 1;
	return p > 99 ? 99 : p;
}

char *format_bar(char *buf, unsigned int width, uint64_t part, uint64_t whole)
{
	unsigned int full = 0;

	if (whole && part)
		full = part >= whole ? width : (unsigned int)((double)part * width / whole);
	buf[0] = '[';
	memset(buf + 1, '#', full);
	memset(buf + 1 + full, '.', width - full);
	buf[width + 1] = ']';
	buf[width + 2] = '\0';
	return buf;
}
