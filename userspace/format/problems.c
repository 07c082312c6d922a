// SPDX-License-Identifier: GPL-2.0-only
#include "format/problems.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/util.h"

static void tell(struct md_problems *p, const char *fmt, va_list ap)
{
	char *text, *line;

	if (!p->say || (p->said++ >= MD_PROBLEMS_SAID && !p->all))
		return;
	text = xvasprintf(fmt, ap);
	line = xasprintf("%s%s", p->prefix ? p->prefix : "", text);
	p->say(p->context, line);
	free(line);
	free(text);
}

void md_error(struct md_problems *p, const char *fmt, ...)
{
	va_list ap;

	p->errors++;
	va_start(ap, fmt);
	tell(p, fmt, ap);
	va_end(ap);
}

void md_minor(struct md_problems *p, const char *fmt, ...)
{
	va_list ap;

	p->minor++;
	va_start(ap, fmt);
	tell(p, fmt, ap);
	va_end(ap);
}

void md_problems_end(struct md_problems *p)
{
	char *text;

	if (!p->say || p->all || p->said <= MD_PROBLEMS_SAID)
		return;
	text = xasprintf("and %llu more", (unsigned long long)(p->said - MD_PROBLEMS_SAID));
	p->say(p->context, text);
	free(text);
}
