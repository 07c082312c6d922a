// SPDX-License-Identifier: GPL-2.0-only
/* top */
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/columns.h"
#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/status.h"
#include "set/find.h"
#include "set/hot.h"
#include "set/report.h"
#include "set/set.h"
#include "set/volumes.h"
#include "tools/terminal.h"
#include "view/render.h"

#define INTERVAL_MS	2000
/* Number of hot chunks or files that are listed without a screen. */
#define LISTED		10
/*
 * The index of files is made again after this time, or later if that would take too large a part
 * of the time.
 */
#define INDEX_MS	60000
#define INDEX_PART	20

struct top {
	const struct args *args;
	struct set_list list;
	struct set **chosen;
	unsigned int nr;
	struct samples *before;
	uint64_t interval_ms;
	bool once;
	bool on_screen;			/* errors would spoil the screen */
	bool files;
	struct file_index index;
	bool have_index;
};

static void choose(struct top *top)
{
	const struct args *args = top->args;
	unsigned int i;

	top->nr = 0;
	free(top->chosen);
	top->chosen = xcalloc(top->list.nr + args->nr, sizeof(*top->chosen));
	for (i = 0; i < top->list.nr && !args->nr; i++)
		if (top->list.set[i].have_table && top->list.set[i].status.kind == STATUS_OK)
			top->chosen[top->nr++] = &top->list.set[i];
	for (i = 0; i < args->nr; i++) {
		struct set *s = top->on_screen ? sets_find(&top->list, args->word[i]) :
						 sets_need(&top->list, args->word[i]);

		if (s && (top->on_screen ? s->status.kind == STATUS_OK : check_active(s)))
			top->chosen[top->nr++] = s;
	}
}

/*
 * Loads the sets as they are now; the index of files refers to sets by address, so it is
 * dropped.
 */
static void load(struct top *top)
{
	if (top->have_index)
		file_index_free(&top->index);
	top->have_index = false;
	sets_free(&top->list);
	sets_load(top->args->ctx, &top->list, false);
	choose(top);
}

static void refresh_index(struct top *top)
{
	uint64_t age = now_ms() - top->index.made_ms;

	if (!top->files || (top->have_index && (age < INDEX_MS || age < INDEX_PART * top->index.took_ms)))
		return;
	if (top->have_index)
		file_index_free(&top->index);
	file_index_make(&top->index, &top->list);
	top->have_index = true;
}

/* Compared by the table: the status has neither the devices nor the exact size. */
static bool still_the_same(struct set *s)
{
	uint64_t chunks = s->status.chunks;
	int id[TIER_MAX_TIERS];
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		id[i] = s->tier[i].id;
	if (set_look(s) || s->status.kind != STATUS_OK || s->status.nr_tiers != s->nr_tiers ||
	    s->status.chunks != chunks)
		return false;
	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].id != id[i] || s->tier[i].present != (s->tier[i].state != '-'))
			return false;
	return true;
}

/* Loads sets again if one has gone, failed or changed. False if a named set is gone. */
static bool update(struct top *top)
{
	unsigned int i;
	bool same = true;

	for (i = 0; i < top->nr && same; i++)
		same = still_the_same(top->chosen[i]);
	if (!same || !top->nr)
		load(top);
	refresh_index(top);
	return !top->args->nr || top->nr == top->args->nr;
}

static void add_heading(const struct report *r, struct text *t)
{
	const struct set *s = r->set;
	char size[SIZE_TEXT], chunk[SIZE_TEXT];

	text_add(t, "%s  %s  %s  %s  chunk %s  %s  status: %s\n", s->name,
		 format_size(size, s->length * SECTOR_SIZE), s->status.read_only ? "ro" : "rw",
		 s->status.paused ? "paused" : "running",
		 format_size(chunk, s->chunk_sectors * SECTOR_SIZE), s->status.policy, r->health);
}

static void add_tiers(const struct report *r, struct text *t)
{
	const struct set *s = r->set;
	struct columns c;
	unsigned int i;

	columns_init(&c, "rlrlrrrrr");
	columns_row(&c, "tier", "device", "size", "used", "reads/s", "writes/s", "read/s", "write/s", "await");
	for (i = 0; i < s->nr_tiers; i++) {
		const struct rate *rate = &r->rate[i];
		char cells[16], rank[16], size[SIZE_TEXT], used[48], n[4][SIZE_TEXT] = { "", "", "", "" };
		char await[32] = "";

		snprintf(rank, sizeof(rank), "%u", i);
		snprintf(used, sizeof(used), "%s %3u%%", format_bar(cells, 10, r->used[i], s->tier[i].places),
			 percent(r->used[i], s->tier[i].places));
		if (r->have_rates) {
			format_short(n[0], rate->reads, 1000);
			format_short(n[1], rate->writes, 1000);
			format_short(n[2], rate->read_bytes, 1024);
			format_short(n[3], rate->written_bytes, 1024);
			snprintf(await, sizeof(await), "%.1f ms", rate->await_ms);
		}
		columns_row(&c, rank, s->tier[i].present ? s->tier[i].dev.name : "missing",
			    format_size(size, s->tier[i].size), used, n[0], n[1], n[2], n[3], await);
	}
	columns_text(&c, t);
}

static void add_moving(const struct report *r, struct text *t)
{
	const struct status *st = &r->set->status;
	char rate[SIZE_TEXT];
	unsigned int i;

	text_add(t, "moving  %llu in flight, %llu up, %llu down, %llu failed; %s/s\n",
		 (unsigned long long)st->in_flight, (unsigned long long)st->promotions,
		 (unsigned long long)st->demotions, (unsigned long long)st->failed,
		 format_size(rate, r->moved_bytes_rate));
	for (i = 0; i < r->nr_attention; i++)
		text_add(t, "attention  %s\n", r->attention[i].text);
}

static void add_hot_chunks(const struct top *top, const struct hot *hot, struct text *t)
{
	char n[4][SIZE_TEXT], at[SIZE_TEXT], rank[16];
	struct columns c;
	unsigned int i, j;

	columns_init(&c, "rrrrrrl");
	columns_row(&c, "chunk", "at", "heat", "reads", "writes", "tier", top->files ? "mostly of" : "");
	for (i = 0; i < hot->nr_chunks; i++) {
		const struct heat_bucket *b = &hot->chunk[i];

		for (j = 0; j + 1 < hot->set->nr_tiers && !b->on_rank[j]; j++)
			;
		snprintf(rank, sizeof(rank), "%u", j);
		snprintf(n[0], sizeof(n[0]), "%llu", (unsigned long long)b->first);
		columns_row(&c, n[0], format_size(at, b->first * hot->set->chunk_sectors * SECTOR_SIZE),
			    format_short(n[1], b->heat, 1000), format_short(n[2], b->reads, 1000),
			    format_short(n[3], b->writes, 1000), b->mapped ? rank : "-",
			    top->files ? hot_owner(&top->index, hot->set, b->first) : NULL);
	}
	columns_text(&c, t);
}

static void add_hot_files(const struct top *top, const struct hot *hot, struct text *t)
{
	char heat[SIZE_TEXT], fast[SIZE_TEXT], all[SIZE_TEXT];
	struct columns c;
	unsigned int i, rank;

	columns_init(&c, "rrrl");
	columns_row(&c, "heat", "hot part", "on tier 0", "file");
	for (i = 0; i < hot->nr_files; i++) {
		const struct hot_file *f = &hot->file[i];
		uint64_t bytes = 0;

		for (rank = 0; rank < hot->set->nr_tiers; rank++)
			bytes += f->on_rank[rank];
		snprintf(fast, sizeof(fast), "%u%%", percent(f->on_rank[0], bytes));
		columns_row(&c, format_short(heat, f->heat, 1000), format_size(all, bytes), fast, f->path);
	}
	columns_text(&c, t);
	if (top->index.cut)
		text_add(t, "(not all files were looked at)\n");
}

static void add_set(const struct top *top, const struct report *r, unsigned int listed, struct text *t)
{
	struct hot hot;

	add_heading(r, t);
	add_tiers(r, t);
	add_moving(r, t);
	if (!hot_find(&hot, r->set, listed, top->files ? &top->index : NULL))
		text_add(t, "what is hot is not known\n");
	else if (!hot.nr_chunks)
		text_add(t, "nothing is hot\n");
	else if (top->files)
		add_hot_files(top, &hot, t);
	else
		add_hot_chunks(top, &hot, t);
	hot_free(&hot);
}

/* LVM is too slow to be asked every other second. */
static struct report *make_reports(const struct top *top)
{
	struct report *reports = reports_since(top->chosen, top->nr, top->before);

	if (top->once)
		reports_look_at_volumes(reports, top->nr);
	return reports;
}

/* rows of the screen, 0 for no screen. */
static void make_frame(struct top *top, unsigned int rows, struct text *t)
{
	struct report *reports = make_reports(top);
	unsigned int i, used = 2, listed = LISTED;

	for (i = 0; i < top->nr; i++)
		used += 5 + top->chosen[i]->nr_tiers + reports[i].nr_attention;
	if (rows)
		listed = top->nr && rows > used + 3 * top->nr ? (rows - used) / top->nr : 3;
	for (i = 0; i < top->nr; i++) {
		text_add(t, "%s", i ? "\n" : "");
		add_set(top, &reports[i], listed, t);
	}
	if (!top->nr)
		text_add(t, "No tiered set is active.\n");
	reports_free(reports, top->nr);
	samples_free(top->before);
	top->before = samples_take(top->chosen, top->nr);
}

/* Rates need two measurements. */
static void first_look(struct top *top)
{
	load(top);
	top->before = samples_take(top->chosen, top->nr);
}

static void report_json(struct top *top)
{
	struct report *reports = make_reports(top);
	struct hot hot;
	unsigned int i;

	for (i = 0; i < top->nr; i++) {
		json_add_report(&reports[i]);
		hot_find(&hot, top->chosen[i], LISTED, top->files ? &top->index : NULL);
		json_add_hot(&hot);
		hot_free(&hot);
	}
	reports_free(reports, top->nr);
}

static int run_batch(struct top *top)
{
	bool first = true;

	do {
		struct text t = { 0 };

		sleep_ms(top->interval_ms);
		if (interrupted)
			break;
		if (!update(top))
			return EXIT_FAILED;
		if (terminal_of(top->args->ctx)->json) {
			report_json(top);
			break;
		}
		make_frame(top, 0, &t);
		say(top->args->ctx, "%s%.*s", first ? "" : "\n", (int)t.len - 1, t.s);
		fflush(stdout);
		text_free(&t);
		first = false;
	} while (!top->once && !ferror(stdout));
	return EXIT_DONE;
}

/*
 * The screen
 */

static void draw(const struct top *top, const char *text)
{
	char clock[16];
	time_t now = time(NULL);
	struct tm tm;
	int row = 1, width = COLS > 0 ? COLS : 80;

	erase();
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	attron(A_REVERSE);
	mvprintw(0, 0, "%-*.*s", width, width, "");
	mvprintw(0, 0, "tierctl top  %s  every %llu s   q quit  f files  + slower  - faster", clock,
		 (unsigned long long)top->interval_ms / 1000);
	attroff(A_REVERSE);
	while (*text && row < LINES) {
		int len = strcspn(text, "\n");
		bool alarm = !strncmp(text, "attention", 9);

		if (alarm)
			attron(A_BOLD);
		mvaddnstr(row++, 0, text, len < width ? len : width);
		if (alarm)
			attroff(A_BOLD);
		text += len + (text[len] == '\n');
	}
	refresh();
}

/* false to end */
static bool handle_key(struct top *top, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case 'f':
		top->files = !top->files;
		break;
	case '+':
		if (top->interval_ms < 3600000)
			top->interval_ms += 1000;
		break;
	case '-':
		if (top->interval_ms > 1000)
			top->interval_ms -= 1000;
		break;
	}
	return true;
}

static int run_screen(struct top *top)
{
	SCREEN *screen = newterm(NULL, stdout, stdin);
	/* The first screen appears at once; rates follow soon. */
	int key = 0, wait = top->interval_ms < 1000 ? top->interval_ms : 1000;
	bool there;

	if (!screen) {
		err(top->args->ctx, ERR_UNSUPPORTED, "top: this terminal (TERM) cannot do it. Try --batch.");
		return EXIT_FAILED;
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	top->on_screen = true;
	terminal_of(top->args->ctx)->quiet = true;
	do {
		struct text t = { 0 };

		there = update(top);
		if (!there)
			break;
		make_frame(top, LINES, &t);
		draw(top, t.s);
		text_free(&t);
		timeout(wait);
		key = getch();
		wait = top->interval_ms;
	} while (!interrupted && handle_key(top, key));
	endwin();
	delscreen(screen);
	if (!there)
		err(top->args->ctx, ERR_NOT_FOUND, "top: a set that was named is gone or has failed.");
	return there ? EXIT_DONE : EXIT_FAILED;
}

static bool check_named(const struct args *args)
{
	struct set_list list;
	bool good = true;
	unsigned int i;

	for (i = 0; i < args->nr && good; i++) {
		good = need_active(args->ctx, &list, args->word[i]);
		sets_free(&list);
	}
	return good;
}

int cmd_top(const struct args *args)
{
	bool once = args->given[OPT_ONCE] || terminal_of(args->ctx)->json;
	bool batch = args->given[OPT_BATCH] || once || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO);
	struct top top = { .args = args, .once = once, .files = args->given[OPT_FILES] };
	int code = parse_interval(args, "top", &top.interval_ms);

	if (code)
		return code;
	if (!top.interval_ms)
		top.interval_ms = once ? 1000 : INTERVAL_MS;
	if (!check_named(args))
		return EXIT_FAILED;
	detach_on_interrupt();
	first_look(&top);
	if (args->nr && top.nr < args->nr)
		code = EXIT_FAILED;
	else if (batch)
		code = run_batch(&top);
	else
		code = run_screen(&top);
	samples_free(top.before);
	if (top.have_index)
		file_index_free(&top.index);
	free(top.chosen);
	sets_free(&top.list);
	return code;
}
