/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of the day. */
#ifndef TIERCTL_WINDOW_H
#define TIERCTL_WINDOW_H

#include <stdbool.h>

/* Minutes of the day; from > to: over midnight.  The two are never the same. */
struct window {
	unsigned int from, to;
};

/* "22:00-06:00"; false if the text is no window. */
bool window_parse(const char *text, struct window *w);

bool window_has(const struct window *w, unsigned int minute);

#endif
