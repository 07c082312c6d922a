// SPDX-License-Identifier: GPL-2.0-only
/* Arguments that name a set, chunks or files. Sets and files are fakes. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "../tap.h"
#include "cmd/selection.h"
#include "base/util.h"
#include "context.h"

static struct set the_set = { .name = "photos", .chunk_sectors = 128, .active = true, .have_table = true };

int sets_load(struct tier_context *ctx, struct set_list *list, bool scan)
{
	(void)scan;
	list->ctx = ctx;
	list->nr = 1;
	list->set = &the_set;
	return 0;
}

void sets_free(struct set_list *list) { memset(list, 0, sizeof(*list)); }

struct set *sets_find(const struct set_list *list, const char *name)
{
	return list->nr && !strcmp(name, the_set.name) ? &the_set : NULL;
}

struct set *need_active(struct tier_context *ctx, struct set_list *list, const char *name)
{
	sets_load(ctx, list, false);
	return sets_find(list, name);
}

bool check_active(const struct set *s) { (void)s; return true; }
void stack_init(struct stack *stack, const struct set_list *sets) { (void)stack; (void)sets; }
void stack_free(struct stack *stack) { (void)stack; }
struct set *stack_find_set(struct stack *s, dev_t dev) { (void)s; (void)dev; return NULL; }
void finder_init(struct tier_context *ctx, struct finder *f, const struct set_list *sets, bool sync) { (void)ctx; (void)f; (void)sets; (void)sync; }
void finder_free(struct finder *f) { (void)f; }
void where_free(struct where *w) { ranges_free(&w->chunks); }

/* A file has the chunk 100 + its number. */
bool where_is(struct finder *finder, const char *path, const struct set *named, struct where *w)
{
	(void)finder;
	(void)named;
	memset(w, 0, sizeof(*w));
	if (access(path, F_OK))
		return false;
	w->set = &the_set;
	ranges_add(&w->chunks, 100 + atoi(strrchr(path, '/') ? strrchr(path, '/') + 1 : path), 1);
	return true;
}

static void check(const char *words, int code, const char *chunks)
{
	char *copy = xstrdup(words), *word, *save = NULL;
	const char *list[8];
	struct args args = { .ctx = test_context(), .word = list };
	struct text t = { 0 };
	struct target target;
	int r;

	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		list[args.nr++] = word;
	r = target_parse(&args, "try", 0, &target);
	ranges_to_text(&target.chunks, &t);
	ok(r == code && (r || !strcmp(t.s, chunks)), "%s: exit status %d, chunks %s", words, r, t.s);
	text_free(&t);
	target_free(&target);
	terminal_free(&terminal);
	free(copy);
}

static void touch(const char *name)
{
	FILE *f = fopen(name, "w");

	if (f)
		fclose(f);
}

int main(void)
{
	char directory[] = "/tmp/test-target.XXXXXX";

	the_set.status.chunks = 50;
	if (!mkdtemp(directory) || chdir(directory))
		return 1;
	touch("1");
	touch("7");
	check("photos 1 7", 0, "1,7");
	check("photos ./1 ./7", 0, "101,107");
	check("photos 3 ./7", 0, "3,107");
	check("1 7", 0, "101,107");
	check("./1 7", 0, "101,107");
	check("1 5", EXIT_USAGE, "");
	check("photos 50", EXIT_FAILED, "");
	check("photos 0-49", 0, "0-49");
	check("photos 49-50", EXIT_FAILED, "");
	check("photos", EXIT_USAGE, "");
	unlink("1");
	unlink("7");
	if (chdir("/") || rmdir(directory))
		return 1;
	return tap_done();
}
