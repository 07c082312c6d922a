/* SPDX-License-Identifier: GPL-2.0-only */
/* The terminal that standard output is. */
#ifndef TIERCTL_SCREEN_H
#define TIERCTL_SCREEN_H

/* Of the terminal, or COLUMNS, or 80. */
unsigned int screen_width(void);

enum colour { PLAIN, GREEN, YELLOW, RED };
/* "" unless stdout is a terminal that may be coloured. */
const char *colour(enum colour c);

#endif
