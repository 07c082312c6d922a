// SPDX-License-Identifier: GPL-2.0-only
/* Changes to the record and to the set by pin, unpin and --refresh; both are fakes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "set/lock.h"
#include "cmd/move.h"
#include "set/pins.h"
#include "../tap.h"
#include "cmd/selection.h"
#include "base/util.h"
#include "context.h"

#define CHUNKS	100

static struct set the_set = { .name = "photos", .hex = "0123", .active = true };
static bool pinned[CHUNKS];		/* in the set */
static struct pins record;		/* in the file system */
static uint64_t where_from, where_nr;	/* chunks of the one file there is */
static bool file_gone, refuse_unpin, unreadable;
static struct target_path the_path = { .path = "/" };
static unsigned int locked, unlocked_changes;
static int lock_pipe[2];

/* The set */

int send_ranges(const struct set *s, const struct ranges *chunks, const char *message, const char *rest)
{
	unsigned int i;
	uint64_t n;

	(void)s;
	(void)rest;
	if (chunks->nr && refuse_unpin && !strcmp(message, "unpin"))
		return -EBUSY;
	unlocked_changes += chunks->nr && fcntl(lock_pipe[1], F_GETFD) < 0;
	for (i = 0; i < chunks->nr; i++) {
		const struct range *r = &chunks->range[i];

		if (r->first >= CHUNKS || r->count > CHUNKS - r->first)
			return -EINVAL;
		for (n = r->first; n < r->first + r->count; n++)
			pinned[n] = !strcmp(message, "pin");
	}
	return 0;
}

static unsigned int nr_pinned(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < CHUNKS; i++)
		n += pinned[i];
	return n;
}

int set_lock(const char *hex, const char *what, bool wait)
{
	(void)hex;
	(void)what;
	(void)wait;
	locked++;
	return lock_pipe[1] = dup(lock_pipe[0]);
}

int sets_load(struct tier_context *ctx, struct set_list *list, bool scan)
{
	(void)scan;
	list->ctx = ctx;
	list->nr = 1;
	list->set = &the_set;
	return 0;
}

void sets_free(struct set_list *list) { (void)list; }
struct set *sets_find(const struct set_list *l, const char *n) { (void)l; (void)n; return &the_set; }
struct set *sets_need(const struct set_list *l, const char *n) { (void)l; (void)n; return &the_set; }
bool check_active(const struct set *s) { (void)s; return true; }

int set_refresh(struct set *s)
{
	unsigned int i;

	s->status.pinned = 0;
	for (i = 0; i < CHUNKS; i++)
		s->status.pinned += pinned[i];
	return 0;
}

bool is_path(const struct set_list *l, const char *w) { (void)l; (void)w; return false; }
struct set *stack_find_set(struct stack *s, dev_t dev) { (void)s; (void)dev; return &the_set; }
int wait_for_chunks(struct set *s, const struct ranges *c, unsigned int r) { (void)s; (void)c; (void)r; return 0; }

/* The named file */

int target_parse(const struct args *args, const char *command, unsigned int flags, struct target *t)
{
	(void)args;
	(void)command;
	(void)flags;
	memset(t, 0, sizeof(*t));
	t->set = &the_set;
	t->nr_paths = 1;
	t->path = &the_path;
	ranges_free(&the_path.where.chunks);
	ranges_add(&the_path.where.chunks, where_from, where_nr);
	ranges_add(&t->chunks, where_from, where_nr);
	return 0;
}

int target_with_tier(const struct args *args, const char *command, struct target *t, unsigned int *id)
{
	*id = 0;
	return target_parse(args, command, 0, t);
}

bool rank_now(struct set *s, unsigned int id, unsigned int *rank)
{
	*rank = id;
	return !set_refresh(s);
}

void target_free(struct target *t) { ranges_free(&t->chunks); }

struct chunk_words count_chunks(const struct ranges *chunks)
{
	(void)chunks;
	return (struct chunk_words){ "some" };
}

void where_warn(struct tier_context *ctx, const struct where *w, const char *path) { (void)ctx; (void)w; (void)path; }
void where_free(struct where *w) { ranges_free(&w->chunks); }

bool where_is_open(struct finder *finder, int fd, const char *path, const struct set *named, struct where *w)
{
	(void)finder;
	(void)fd;
	(void)path;
	(void)named;
	memset(w, 0, sizeof(*w));
	ranges_add(&w->chunks, where_from, where_nr);
	w->failed = unreadable;
	return true;
}

void finder_init(struct tier_context *ctx, struct finder *f, const struct set_list *sets, bool sync)
{
	(void)ctx;
	(void)sets;
	(void)sync;
	memset(f, 0, sizeof(*f));
	mounts_read(&f->mounts);
}

void finder_free(struct finder *f) { (void)f; }

/* The file system, and its record */

int mounts_read(struct mounts *list)
{
	static struct mount mount;

	mount.dev = 0x801;
	list->nr = 1;
	list->mount = &mount;
	return 0;
}

void mounts_free(struct mounts *list) { (void)list; }
bool mounts_have_root(const struct mounts *list, dev_t dev) { (void)list; (void)dev; return true; }

bool pins_open(struct tier_context *ctx, struct pins *pins, const struct mounts *mounts, dev_t dev)
{
	unsigned int i;

	(void)ctx;
	(void)mounts;
	(void)dev;
	memset(pins, 0, sizeof(*pins));
	for (i = 0; i < record.nr; i++) {
		struct pin *p = pins_add(pins);

		*p = record.pin[i];
		p->handle = xstrdup(p->handle);
		p->path = xstrdup(p->path);
		memset(&p->chunks, 0, sizeof(p->chunks));
		ranges_add_all(&p->chunks, &record.pin[i].chunks);
	}
	return true;
}

static void empty(struct pins *pins)
{
	while (pins->nr)
		pins_remove(pins, 0);
	free(pins->pin);
	memset(pins, 0, sizeof(*pins));
}

void pins_close(struct pins *pins) { empty(pins); }

bool pins_write(struct pins *pins)
{
	struct pins copy = record;

	unlocked_changes += fcntl(lock_pipe[1], F_GETFD) < 0;
	empty(&copy);
	record = *pins;
	memset(pins, 0, sizeof(*pins));
	return true;
}

char *pins_name(const struct pins *pins, const char *path) { (void)pins; return xstrdup(path); }
int pins_find(const struct pins *pins, const char *handle) { (void)handle; return pins->nr ? 0 : -1; }

bool pin_identify(const struct pins *pins, int fd, char **handle, char **path)
{
	(void)pins;
	(void)fd;
	*handle = xstrdup("1:00");
	*path = xstrdup("file");
	return true;
}

struct pin *pins_add(struct pins *pins)
{
	pins->pin = xrealloc(pins->pin, pins->nr + 1, sizeof(*pins->pin));
	memset(&pins->pin[pins->nr], 0, sizeof(*pins->pin));
	return &pins->pin[pins->nr++];
}

void pins_remove(struct pins *pins, unsigned int i)
{
	free(pins->pin[i].handle);
	free(pins->pin[i].path);
	ranges_free(&pins->pin[i].chunks);
	pins->nr--;
	memmove(&pins->pin[i], &pins->pin[i + 1], (pins->nr - i) * sizeof(*pins->pin));
}

int pin_open(const struct pins *pins, const struct pin *pin, char **path)
{
	(void)pins;
	if (file_gone)
		return -ENOENT;
	*path = xstrdup(pin->path);
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void pins_chunks(const struct pins *pins, const char *set, int except, struct ranges *chunks)
{
	unsigned int i;

	(void)set;
	memset(chunks, 0, sizeof(*chunks));
	for (i = 0; i < pins->nr; i++)
		if ((int)i != except)
			ranges_add_all(chunks, &pins->pin[i].chunks);
	ranges_settle(chunks);
}

static int pin(uint64_t from, uint64_t nr)
{
	struct args args = { .ctx = &terminal.ctx };

	where_from = from;
	where_nr = nr;
	return cmd_pin(&args);
}

static int unpin(void)
{
	struct args args = { .ctx = &terminal.ctx };

	return cmd_unpin(&args);
}

static int refresh(void)
{
	struct args args = { .ctx = &terminal.ctx, .given[OPT_REFRESH] = true };

	return cmd_pin(&args);
}

int main(void)
{
	the_set.ctx = test_context();
	terminal.quiet = true;
	lock_pipe[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	lock_pipe[1] = -1;
	the_set.nr_tiers = 1;
	the_set.status.chunks = CHUNKS;

	ok(!pin(10, 10) && nr_pinned() == 10 && record.nr == 1, "a file is pinned");
	ok(!pin(15, 10) && nr_pinned() == 15 && record.nr == 1 && ranges_total(&record.pin[0].chunks) == 15,
	   "and again, when it has moved: what was pinned before stays on record");
	ok(!refresh() && nr_pinned() == 10 && ranges_total(&record.pin[0].chunks) == 10, "until a refresh");
	ok(!pin(60, 10) && nr_pinned() == 20 && !unpin() && !nr_pinned() && !record.nr,
	   "unpin lets go of all that was pinned for it");

	pin(10, 10);
	ranges_add(&record.pin[0].chunks, 90, 50);
	ok(!refresh() && nr_pinned() == 10, "a set that is smaller than the record is refreshed");
	ranges_add(&record.pin[0].chunks, 90, 50);
	ok(!unpin() && !nr_pinned() && !record.nr, "and unpinned");

	pin(10, 10);
	pinned[12] = false;
	ok(!refresh() && nr_pinned() == 10, "what the set has forgotten is pinned again");
	where_from = 15;
	unreadable = true;
	ok(refresh() == EXIT_FAILED && nr_pinned() == 15 && ranges_total(&record.pin[0].chunks) == 15,
	   "what could not be looked at stays pinned, and on record");
	unreadable = false;
	ok(!refresh() && nr_pinned() == 10 && ranges_total(&record.pin[0].chunks) == 10, "until it can be");
	file_gone = refuse_unpin = true;
	ok(refresh() == EXIT_FAILED && nr_pinned() == 10 && record.nr == 1,
	   "a file that is gone stays on record while its chunks cannot be unpinned");
	refuse_unpin = false;
	ok(!refresh() && !nr_pinned() && !record.nr, "and goes with them");
	ok(locked && !unlocked_changes, "with a lock each time");
	ok(fcntl(lock_pipe[1], F_GETFD) < 0, "that is let go");
	ranges_free(&the_path.where.chunks);
	empty(&record);
	terminal_free(&terminal);
	close(lock_pipe[0]);
	return tap_done();
}
