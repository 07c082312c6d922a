// SPDX-License-Identifier: GPL-2.0-only
/* Suggestions for an unknown word. */
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "../tap.h"

static const char *const words[] = {
	"create", "status", "set", "get", "chunksize", "metadata", "migration_bandwidth", "migration_depth",
	"photos", "pin", "unpin", NULL,
};

/* want is NULL if nothing is near enough. */
static void guess(const char *typed, const char *want)
{
	struct suggestion g;
	unsigned int i;

	suggestion_init(&g, typed);
	for (i = 0; words[i]; i++)
		suggestion_offer(&g, words[i]);
	ok(want ? g.best && !strcmp(g.best, want) : !g.best, "\"%.20s\": %s", typed, g.best ? g.best : "nothing");
}

int main(void)
{
	struct suggestion g;
	char longest[200] = "", *text;

	guess("statsu", "status");
	guess("stauts", "status");
	guess("stat", "status");
	guess("creat", "create");
	guess("crate", "create");
	guess("chunk-size", "chunksize");
	guess("meta", "metadata");
	guess("migration_bandwith", "migration_bandwidth");
	guess("migration_dept", "migration_depth");
	guess("Photos", "photos");
	guess("pni", "pin");
	guess("frobnicate", NULL);
	guess("x", NULL);
	guess("", NULL);
	memset(longest, 'a', sizeof(longest) - 1);
	guess(longest, NULL);
	/* A known word may be long, too. */
	suggestion_init(&g, "photos");
	suggestion_offer(&g, longest);
	ok(!g.best, "a long one is offered");
	text = suggestion_text(&g, "tierctl ");
	ok(!*text, "no text without a suggestion");
	free(text);
	suggestion_offer(&g, "photo");
	text = suggestion_text(&g, "tierctl ");
	ok(!strcmp(text, " Did you mean tierctl photo?"), "%s", text);
	free(text);
	return tap_done();
}
