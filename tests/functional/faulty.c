// SPDX-License-Identifier: GPL-2.0
/* Makes the mistake that is asked for, to test the tools that look for mistakes. */
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	volatile size_t room = 8;	/* hides the size from the compiler */
	volatile char *p = malloc(room);
	const char *what = argc > 1 ? argv[1] : "";
	int rc = 0;

	if (!p)
		return 2;
	if (!strcmp(what, "uninitialised"))
		rc = p[room / 2] == 'x' ? 3 : 0;
	if (!strcmp(what, "overrun"))
		p[room] = 1;
	if (!strcmp(what, "leak"))
		p = NULL;
	free((void *)p);
	return rc;
}
