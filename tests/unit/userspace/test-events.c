// SPDX-License-Identifier: GPL-2.0-only
/* Events that tierctl events reports, and to whom, on a fake set. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "view/render-json.h"
#include "view/render.h"
#include "../tap.h"
#include "base/util.h"
#include "context.h"

static unsigned int looks;
/* The number of the look at which the set has another name, or device-mapper does not answer. */
static unsigned int renamed_at, error_at, evacuated_at, full_at, end_at;
/* The look at which the set has no status, and the look from which on it is gone. */
static unsigned int down_at, gone_at;
/* The look from which on a tier with chunks is being emptied, or has errors. */
static unsigned int emptied_at, failing_at;
static int event_pipe[2];

static char *name_now(void)
{
	return renamed_at && looks >= renamed_at ? "pictures" : "photos";
}

int sets_load(struct tier_context *ctx, struct set_list *list, bool scan)
{
	(void)ctx;
	struct set *s;

	(void)scan;
	looks++;
	memset(list, 0, sizeof(*list));
	if (error_at && looks == error_at)
		return -12;
	if (end_at && looks >= end_at)
		interrupted = 1;
	if (gone_at && looks >= gone_at)
		return 0;
	list->nr = 1;
	list->set = s = calloc(1, sizeof(*s));
	s->name = name_now();
	memset(s->uuid, 7, sizeof(s->uuid));
	strcpy(s->hex, "07070707070707070707070707070707");
	s->active = s->have_table = true;
	s->status.chunks = 500000;
	s->status.metadata_total = 1000;
	s->status.metadata_used = full_at && looks >= full_at ? 700 : 600;
	s->nr_tiers = s->status.nr_tiers = 1;
	s->tier[0].state = evacuated_at && looks >= evacuated_at ? 'E' : 'A';
	if (emptied_at && looks >= emptied_at)
		s->tier[0].state = 'E';
	s->status.tier[0].used = emptied_at;
	s->status.tier[0].errors = failing_at && looks >= failing_at ? 5 : 0;
	if (looks == down_at)
		s->status.kind = STATUS_ERROR;
	return 0;
}

void sets_free(struct set_list *list)
{
	free(list->set);
	memset(list, 0, sizeof(*list));
}

struct set *sets_find(const struct set_list *list, const char *name)
{
	return list->nr && !strcmp(list->set[0].name, name) ? &list->set[0] : NULL;
}

bool need_known(struct tier_context *ctx, struct set_list *list, const char *name)
{
	sets_load(ctx, list, false);
	looks = 0;
	return sets_find(list, name);
}

/* Always ready: every poll finds an event. */
int dm_events_open(void) { return dup(event_pipe[0]); }
int dm_events_arm(int fd) { (void)fd; return 0; }
void json_is_a_stream(void) { }
void put_string(json_object *o, const char *key, const char *s) { (void)o; (void)key; (void)s; }
void put_rank(json_object *o, const char *key, int rank) { (void)o; (void)key; (void)rank; }

static char said[2000];

/* Output is collected in said[]; broken: the output cannot be written. */
static int watch(const char *set, const char *command, bool broken)
{
	const char *words[] = { set };
	struct args args = { .ctx = test_context(), .nr = 1, .word = words };
	int old, code, fd;
	FILE *f = tmpfile();
	ssize_t n;

	args.value[OPT_EXEC] = command;
	looks = 0;
	interrupted = 0;
	fflush(stdout);
	old = dup(STDOUT_FILENO);
	fd = broken ? open("/dev/full", O_WRONLY | O_CLOEXEC) : dup(fileno(f));
	dup2(fd, STDOUT_FILENO);
	close(fd);
	code = cmd_events(&args);
	fflush(stdout);
	clearerr(stdout);
	dup2(old, STDOUT_FILENO);
	close(old);
	n = pread(fileno(f), said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	fclose(f);
	terminal_free(&terminal);
	return code;
}

int main(void)
{
	if (pipe(event_pipe) || write(event_pipe[1], "x", 1) != 1)
		return 1;
	evacuated_at = 3;
	end_at = 6;
	ok(watch("photos", NULL, false) == EXIT_DONE && strstr(said, "photos: tier 0 (missing) is empty"),
	   "a tier that is empty is told");
	renamed_at = 2;
	ok(watch("photos", NULL, false) == EXIT_DONE && strstr(said, "pictures: tier 0 (missing) is empty"),
	   "of a set that was renamed, too");
	renamed_at = 0;
	full_at = 2;
	ok(watch("photos", NULL, false) == EXIT_DONE && strstr(said, "photos: 70% of its metadata device is used"),
	   "when the kernel would tell that the metadata is nearly full, it is told");
	full_at = 0;
	error_at = 2;
	ok(watch("photos", NULL, false) == EXIT_FAILED && !strstr(said, "not active"),
	   "a set is not gone when device-mapper does not answer");
	error_at = 0;
	down_at = 3;
	ok(watch("photos", NULL, false) == EXIT_DONE && !strstr(said, "active"),
	   "a set that has no status for a moment has neither gone nor come");
	gone_at = 4;
	ok(watch("photos", NULL, false) == EXIT_DONE && strstr(said, "photos: is not active any more"),
	   "one that is looked at while it goes has gone");
	down_at = gone_at = 0;
	evacuated_at = 0;
	emptied_at = 2;
	failing_at = 4;
	ok(watch("photos", NULL, false) == EXIT_DONE &&
	   strstr(said, "photos: tier 0 (missing): 5 I/O errors by now, and it is being emptied;") &&
	   strstr(said, "tierctl wait photos --evacuated 0\n"),
	   "errors of a tier that is being emptied are told");
	failing_at = 1;
	ok(watch("photos", NULL, false) == EXIT_DONE && !*said, "but not those that it had before");
	emptied_at = failing_at = 0;
	evacuated_at = 3;
	end_at = 50;
	watch("photos", NULL, true);
	ok(looks < 10, "it ends when its output cannot be written");
	watch("photos", "true", true);
	ok(looks == 50, "but not while it runs commands");
	return tap_done();
}
