// SPDX-License-Identifier: GPL-2.0-only
#include "ops/window.h"

#include <ctype.h>
#include <stddef.h>

/* HH:MM; returns the text behind it, NULL if it is no time. */
static const char *parse_time(const char *s, unsigned int *minute)
{
	unsigned int hour, rest, i;

	for (i = 0; i < 5; i++)
		if (i == 2 ? s[i] != ':' : !isdigit((unsigned char)s[i]))
			return NULL;
	hour = (s[0] - '0') * 10 + s[1] - '0';
	rest = (s[3] - '0') * 10 + s[4] - '0';
	if (hour > 23 || rest > 59)
		return NULL;
	*minute = hour * 60 + rest;
	return s + 5;
}

bool window_parse(const char *text, struct window *w)
{
	const char *s = parse_time(text, &w->from);

	if (!s || *s != '-')
		return false;
	s = parse_time(s + 1, &w->to);
	return s && !*s && w->from != w->to;
}

bool window_has(const struct window *w, unsigned int minute)
{
	if (w->from < w->to)
		return minute >= w->from && minute < w->to;
	return minute >= w->from || minute < w->to;
}
