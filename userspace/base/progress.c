// SPDX-License-Identifier: GPL-2.0-only
#include "base/progress.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"

#define FIRST_MS	2000
#define AGAIN_MS	200
#define CELLS		30

void progress_start(struct tier_context *ctx, struct progress *p)
{
	memset(p, 0, sizeof(*p));
	p->ctx = ctx;
	p->next = now_ms() + FIRST_MS;
}

static bool due(struct progress *p)
{
	uint64_t now = now_ms();

	if (!p->ctx->progress || now < p->next)
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
	p->ctx->progress(p->ctx, line);
	free(line);
}

void progress_bar(struct progress *p, const char *what, uint64_t done, uint64_t total)
{
	char cells[CELLS + 3];

	progress_show(p, "%s %s %u%%", what, format_bar(cells, CELLS, done, total), percent(done, total));
}

void progress_end(struct progress *p)
{
	if (p->shown)
		p->ctx->progress(p->ctx, NULL);
	p->shown = false;
}
