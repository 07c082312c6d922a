// SPDX-License-Identifier: GPL-2.0-only
#include "base/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/columns.h"
#include "base/size.h"
#include "base/util.h"

#define FIRST_MS	2000
#define AGAIN_MS	200
#define CELLS		30

void progress_start(struct progress *p)
{
	memset(p, 0, sizeof(*p));
	p->wanted = isatty(STDOUT_FILENO) && !global.quiet && !global.json;
	p->next = now_ms() + FIRST_MS;
}

static bool due(struct progress *p)
{
	uint64_t now = p->wanted ? now_ms() : 0;

	if (!p->wanted || now < p->next)
		return false;
	p->next = now + AGAIN_MS;
	p->shown = true;
	return true;
}

void progress_show(struct progress *p, const char *fmt, ...)
{
	va_list ap;
	char *line;

	if (!due(p))
		return;
	va_start(ap, fmt);
	line = xvasprintf(fmt, ap);
	va_end(ap);
	make_printable(line);
	printf("\r%.*s\033[K", (int)screen_width() - 1, line);
	fflush(stdout);
	free(line);
}

void progress_bar(struct progress *p, const char *what, uint64_t done, uint64_t total)
{
	char cells[CELLS + 3];

	progress_show(p, "%s %s %u%%", what, format_bar(cells, CELLS, done, total), percent(done, total));
}

void progress_end(struct progress *p)
{
	if (p->shown) {
		fputs("\r\033[K", stdout);
		fflush(stdout);
	}
	p->shown = false;
}
