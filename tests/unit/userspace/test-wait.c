// SPDX-License-Identifier: GPL-2.0-only
/* The end of waiting for a tier to become empty, with a fake set. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ops/wait.h"
#include "set/heat.h"
#include "view/render.h"
#include "../tap.h"
#include "base/util.h"
#include "set/volumes.h"
#include "context.h"

static struct set the_set = { .name = "photos", .chunk_sectors = 128 };
static unsigned int polls;
/* The number of the poll at which this happens; 0: never. */
static unsigned int empty_at, read_only_at, paused_at, gone_at;

int set_refresh(struct set *s)
{
	polls++;
	s->status.tier[0].used = empty_at && polls >= empty_at ? 0 : 5;
	s->status.read_only = read_only_at && polls >= read_only_at;
	s->status.paused = paused_at && polls >= paused_at;
	return gone_at && polls >= gone_at ? -6 : 0;
}

int heat_sum(const struct set *s, const struct ranges *chunks, struct heat_bucket *sum)
{
	(void)s;
	(void)chunks;
	memset(sum, 0, sizeof(*sum));
	return 0;
}

struct set *need_active(struct tier_context *ctx, struct set_list *list, const char *name) { (void)ctx; (void)list; (void)name; return NULL; }
bool parse_rank(const struct set *s, const char *t, unsigned int *r) { (void)s; (void)t; (void)r; return false; }
void sets_free(struct set_list *list) { (void)list; }
const char *status_tunable(const struct status *s, const char *key) { (void)s; (void)key; return NULL; }
struct report *reports_make(struct set **s, unsigned int nr, unsigned int ms) { (void)s; (void)nr; (void)ms; return NULL; }
void reports_look_at_volumes(struct report *r, unsigned int nr) { (void)r; (void)nr; }
void reports_free(struct report *r, unsigned int nr) { (void)r; (void)nr; }
void json_add_report(const struct report *r) { (void)r; }

/* The lines of stderr go to *said. */
static int wait_on_it(char *said, size_t room)
{
	FILE *f = tmpfile();
	int old = dup(STDERR_FILENO), code;
	ssize_t n;

	dup2(fileno(f), STDERR_FILENO);
	polls = 0;
	/* Longer than any case takes, but not for ever. */
	code = wait_for(&the_set, 0, 20000);
	dup2(old, STDERR_FILENO);
	close(old);
	n = pread(fileno(f), said, room - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	fclose(f);
	terminal_free(&terminal);
	return code;
}

int main(void)
{
	char said[1000], *first;

	the_set.ctx = test_context();
	terminal.json = true;
	the_set.nr_tiers = the_set.status.nr_tiers = 2;
	the_set.status.kind = STATUS_OK;
	the_set.status.tier[0].state = 'E';

	empty_at = 3;
	ok(wait_on_it(said, sizeof(said)) == EXIT_DONE && polls == 3 && !*said, "until the tier is empty");
	paused_at = 2;
	empty_at = 6;
	ok(wait_on_it(said, sizeof(said)) == EXIT_DONE, "a pause is no end");
	first = strstr(said, "migration is paused");
	ok(first && !strstr(first + 1, "migration is paused"), "but is told, once");
	paused_at = 0;
	read_only_at = 3;
	ok(wait_on_it(said, sizeof(said)) == EXIT_FAILED && polls == 3 && strstr(said, "photos: is read-only"),
	   "not when the set has fallen to read-only");
	empty_at = 3;
	ok(wait_on_it(said, sizeof(said)) == EXIT_DONE, "unless the tier is empty by then");
	read_only_at = 0;
	empty_at = 0;
	gone_at = 2;
	ok(wait_on_it(said, sizeof(said)) == EXIT_FAILED && strstr(said, "is gone"), "nor when it is gone");
	return tap_done();
}
