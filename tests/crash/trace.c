// SPDX-License-Identifier: GPL-2.0-only
/*
 * Watches the module at work, through its tracepoints and kprobes on its functions, so that the
 * power can be cut in the middle of a phase. Needs no special build. All events come through one
 * pipe, in order of time. So does the mark made at the moment of a cut, which later shows what
 * was under way.
 */
#include "crash.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRACEFS		"/sys/kernel/tracing"
#define INSTANCE	TRACEFS "/instances/tc"
#define NONE		NR_PHASES

const char * const phase_names[NR_PHASES] = {
	[PHASE_COPY] = "copy",
	[PHASE_MOVE_FLUSH] = "flush of a move",
	[PHASE_MOVE_COMMIT] = "commit of a move",
	[PHASE_SWITCH] = "switched, old place in use",
	[PHASE_MOVE] = "migration",
	[PHASE_EVACUATION] = "migration of an evacuation",
	[PHASE_FLUSH] = "FLUSH",
	[PHASE_COMMIT] = "metadata commit",
	[PHASE_PARTIAL] = "partial chunk",
	[PHASE_ZEROING] = "zeroing of the rest of a chunk",
	[PHASE_BORN] = "first write not yet committed",
	[PHASE_DISCARD] = "discard committed, not passed down",
	[PHASE_LABEL] = "label",
	[PHASE_BUMP] = "generation bump",
	[PHASE_FORMAT] = "format",
	[PHASE_SUSPEND] = "suspend",
};

struct event {
	const char *name;	/* may be followed by a space and what the line has in it */
	char type;		/* of kprobe; 0: a tracepoint */
	const char *symbol;
	enum phase begins, ends;
};

static const struct event events[] = {
	{ "dm_tier_migrate_start", 0, NULL, PHASE_MOVE, NONE },
	{ "dm_tier_migrate_end", 0, NULL, NONE, PHASE_MOVE },
	{ "dm_tier_migrate_abort", 0, NULL, NONE, PHASE_MOVE },
	{ "dm_tier_migrate_start reason evacuate", 0, NULL, PHASE_EVACUATION, NONE },
	{ "dm_tier_migrate_end reason evacuate", 0, NULL, NONE, PHASE_EVACUATION },
	{ "dm_tier_migrate_abort reason evacuate", 0, NULL, NONE, PHASE_EVACUATION },
	{ "tc_copy", 'p', "copy_pieces", PHASE_COPY, NONE },
	{ "tc_copied", 'p', "copied", NONE, PHASE_COPY },
	{ "tc_move_flush", 'p', "tier_flush_tier", PHASE_MOVE_FLUSH, NONE },
	{ "tc_move_flushed", 'p', "flushed", PHASE_MOVE_COMMIT, PHASE_MOVE_FLUSH },
	{ "tc_sync_flushed", 'p', "sync_flushed", NONE, PHASE_MOVE_FLUSH },
	{ "tc_decided", 'p', "decided", PHASE_SWITCH, PHASE_MOVE_COMMIT },
	{ "tc_freed", 'p', "step_end", NONE, PHASE_SWITCH },
	{ "tc_flush", 'p', "__run_cycle", PHASE_FLUSH, NONE },
	{ "tc_flush_end", 'p', "__end_cycle", NONE, PHASE_FLUSH },
	{ "tc_commit", 'p', "tier_metadata_commit", PHASE_COMMIT, NONE },
	{ "tc_committed", 'r', "tier_metadata_commit", NONE, PHASE_COMMIT },
	{ "tc_begun", 'p', "__birth_begun", PHASE_PARTIAL, NONE },
	{ "tc_undone", 'p', "__birth_undone", NONE, PHASE_PARTIAL },
	{ "tc_zeroing", 'p', "zero_rest", PHASE_ZEROING, NONE },
	{ "tc_zeroed", 'p', "birth_zeroed", NONE, PHASE_ZEROING },
	{ "tc_born", 'p', "__birth_whole", PHASE_BORN, PHASE_PARTIAL },
	{ "tc_born_committed", 'p', "birth_committed", NONE, PHASE_BORN },
	{ "tc_discard", 'p', "tier_discard_chunks", NONE, NONE },
	{ "tc_unmapped", 'p', "unmap_decided", PHASE_DISCARD, NONE },
	{ "tc_passed_down", 'p', "passed_down", NONE, NONE },
	{ "tc_discarded", 'p', "unmap_end", NONE, PHASE_DISCARD },
	{ "tc_label", 'p', "write_label", PHASE_LABEL, NONE },
	{ "tc_labelled", 'r', "write_label", NONE, PHASE_LABEL },
	{ "tc_bump", 'p', "tier_plan_join", PHASE_BUMP, NONE },
	{ "tc_bumped", 'r', "tier_plan_join", NONE, PHASE_BUMP },
	{ "tc_format", 'p', "tier_plan_format", PHASE_FORMAT, NONE },
	{ "tc_formatted", 'r', "tier_plan_format", NONE, PHASE_FORMAT },
	{ "tc_suspend", 'p', "tier_set_postsuspend", PHASE_SUSPEND, NONE },
	{ "tc_suspended", 'r', "tier_set_postsuspend", NONE, PHASE_SUSPEND },
	{ "tc_heat", 'p', "write_list", NONE, NONE },
	{ "tc_adopt", 'p', "tier_metadata_adopt_size", NONE, NONE },
};

#define NR_EVENTS (sizeof(events) / sizeof(events[0]))

static bool missing[NR_EVENTS];
static int pipe_fd = -1, marker_fd = -1;
static pthread_t watcher;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Protected by lock. */
static bool stopping, armed, firing, fired, seen;
static const char *armed_event;
static unsigned int to_go, fire_delay_us;
static uint64_t deadline;
static void (*fire_fn)(void);
static unsigned int phases_at_cut, resets;

/* Used only by the watcher. */
static int under_way[NR_PHASES];

/* ---- events ---- */

/* A symbol under the name that the compiler gave it, with its module; false if there is none. */
static bool resolve(const char *symbol, char *found, size_t size)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[512], name[256], module[64];
	size_t n = strlen(symbol);
	bool ok = false;

	while (f && fgets(line, sizeof(line), f)) {
		module[0] = '\0';
		if (sscanf(line, "%*s %*c %255s [%63[^]]]", name, module) < 1)
			continue;
		if (strncmp(name, symbol, n) || (name[n] && name[n] != '.') ||
		    strstr(name, ".cold"))
			continue;
		if (strcmp(module, "dm_tier") && strncmp(symbol, "dm_", 3))
			continue;
		snprintf(found, size, "%s%s%s", module, module[0] ? ":" : "", name);
		ok = true;
		break;
	}
	if (f)
		fclose(f);
	return ok;
}

static void add_kprobes(void)
{
	int fd = open(TRACEFS "/kprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
	char text[400], found[330];
	unsigned int i;

	if (fd < 0)
		die("no kprobe events: %s", strerror(errno));
	for (i = 0; i < NR_EVENTS; i++) {
		const struct event *e = &events[i];

		if (!e->type)
			continue;
		if (resolve(e->symbol, found, sizeof(found))) {
			snprintf(text, sizeof(text), "%c:tc/%s %s\n", e->type, e->name, found);
			if (write(fd, text, strlen(text)) > 0)
				continue;
		}
		note("%s cannot be watched", e->symbol);
		missing[i] = true;
	}
	close(fd);
}

static void check(const char *path, const char *text)
{
	int r = write_text(path, text);

	if (r)
		die("%s: %s", path, strerror(-r));
}

/* ---- the watcher ---- */

static void fire(bool was_seen)
{
	void (*fn)(void) = fire_fn;
	unsigned int delay = fire_delay_us;

	armed = false;
	firing = true;
	seen = was_seen;
	pthread_mutex_unlock(&lock);
	if (was_seen && delay)
		usleep(delay);
	fn();
	pthread_mutex_lock(&lock);
	firing = false;
	fired = true;
	pthread_cond_broadcast(&changed);
}

static bool is_event(const char *event, const char *name, size_t n)
{
	return !strncmp(event, name, n) &&
	       (!event[n] || (event[n] == ' ' && strstr(name + n, event + n + 1)));
}

static void take_event(const char *name, size_t n)
{
	unsigned int i;

	for (i = 0; i < NR_EVENTS; i++) {
		const struct event *e = &events[i];

		if (!is_event(e->name, name, n))
			continue;
		if (e->ends != NONE && under_way[e->ends] > 0)
			under_way[e->ends]--;
		if (e->begins != NONE)
			under_way[e->begins]++;
	}
	pthread_mutex_lock(&lock);
	if (armed && armed_event && is_event(armed_event, name, n) && !--to_go)
		fire(true);
	pthread_mutex_unlock(&lock);
}

static void take_line(char *line)
{
	char *mark = strstr(line, "tracing_mark_write: ");
	char *name, *end;
	unsigned int i;

	if (mark) {
		mark += strlen("tracing_mark_write: ");
		pthread_mutex_lock(&lock);
		if (!strncmp(mark, "cut", 3)) {
			phases_at_cut = 0;
			for (i = 0; i < NR_PHASES; i++)
				if (under_way[i])
					phases_at_cut |= 1U << i;
		} else {
			memset(under_way, 0, sizeof(under_way));
			resets++;
			pthread_cond_broadcast(&changed);
		}
		pthread_mutex_unlock(&lock);
		return;
	}
	name = strstr(line, ": tc_");
	if (!name)
		name = strstr(line, ": dm_tier_");
	if (!name)
		return;
	name += 2;
	end = strchr(name, ':');
	if (end)
		take_event(name, end - name);
}

static void *watch(void *unused)
{
	static char text[65536];
	struct pollfd p = { .fd = pipe_fd, .events = POLLIN };
	size_t have = 0;
	bool stop = false;

	(void)unused;
	while (!stop) {
		char *line = text, *end;
		ssize_t n;

		poll(&p, 1, 5);
		n = read(pipe_fd, text + have, sizeof(text) - have - 1);
		if (n > 0)
			have += n;
		text[have] = '\0';
		while ((end = strchr(line, '\n'))) {
			*end = '\0';
			take_line(line);
			line = end + 1;
		}
		have -= line - text;
		memmove(text, line, have);

		pthread_mutex_lock(&lock);
		if (armed && now_ms() >= deadline)
			fire(false);
		stop = stopping;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

void trace_start(void)
{
	if (access(TRACEFS "/kprobe_events", F_OK))
		mount("tracefs", TRACEFS, "tracefs", 0, NULL);
	write_text(TRACEFS "/events/tc/enable", "0\n");
	add_kprobes();
	if (mkdir(INSTANCE, 0755) && errno != EEXIST)
		die(INSTANCE ": %s", strerror(errno));
	check(INSTANCE "/events/tc/enable", "1\n");
	check(INSTANCE "/events/dm_tier/enable", "1\n");
	/* Wake the reader at the first event. */
	write_text(INSTANCE "/buffer_percent", "0\n");
	pipe_fd = open(INSTANCE "/trace_pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	marker_fd = open(INSTANCE "/trace_marker", O_WRONLY | O_CLOEXEC);
	if (pipe_fd < 0 || marker_fd < 0)
		die("cannot trace: %s", strerror(errno));
	if (pthread_create(&watcher, NULL, watch, NULL))
		die("no thread");
}

void trace_stop(void)
{
	unsigned int i;
	char text[64];
	int fd;

	pthread_mutex_lock(&lock);
	stopping = true;
	pthread_mutex_unlock(&lock);
	pthread_join(watcher, NULL);
	write_text(INSTANCE "/events/tc/enable", "0\n");
	write_text(INSTANCE "/events/dm_tier/enable", "0\n");
	close(pipe_fd);
	close(marker_fd);
	rmdir(INSTANCE);
	fd = open(TRACEFS "/kprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
	for (i = 0; i < NR_EVENTS; i++) {
		if (!events[i].type || missing[i])
			continue;
		snprintf(text, sizeof(text), "-:tc/%s\n", events[i].name);
		if (write(fd, text, strlen(text)) < 0)
			note("%s is still watched", events[i].name);
	}
	close(fd);
}

void trace_arm(const char *event, unsigned int nth, unsigned int delay_us,
	       unsigned int timeout_ms, void (*fn)(void))
{
	pthread_mutex_lock(&lock);
	armed_event = event;
	to_go = nth;
	fire_delay_us = delay_us;
	deadline = now_ms() + timeout_ms;
	fire_fn = fn;
	fired = false;
	armed = true;
	pthread_mutex_unlock(&lock);
}

void trace_fire(void)
{
	pthread_mutex_lock(&lock);
	deadline = 0;
	pthread_mutex_unlock(&lock);
	trace_wait();
}

bool trace_wait(void)
{
	bool was_seen;

	pthread_mutex_lock(&lock);
	while (!fired)
		pthread_cond_wait(&changed, &lock);
	was_seen = seen;
	pthread_mutex_unlock(&lock);
	return was_seen;
}

static void mark(const char *text)
{
	if (write(marker_fd, text, strlen(text)) < 0)
		note("no mark in the trace: %s", strerror(errno));
}

void trace_mark(void)
{
	mark("cut\n");
}

unsigned int trace_phases(void)
{
	unsigned int before, phases;

	pthread_mutex_lock(&lock);
	before = resets;
	pthread_mutex_unlock(&lock);
	mark("reset\n");
	pthread_mutex_lock(&lock);
	while (resets == before)
		pthread_cond_wait(&changed, &lock);
	phases = phases_at_cut;
	phases_at_cut = 0;
	pthread_mutex_unlock(&lock);
	return phases;
}
