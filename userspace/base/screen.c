// SPDX-License-Identifier: GPL-2.0-only
#include "base/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/size.h"

unsigned int screen_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (columns && !parse_number(columns, &n) && n && n < 10000)
		return n;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return 80;
}

const char *colour(enum colour c)
{
	static const char *const code[] = { "\033[0m", "\033[32m", "\033[33m", "\033[31m" };
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if ((no && *no) || !isatty(STDOUT_FILENO) || !term || !strcmp(term, "dumb"))
		return "";
	return code[c];
}
