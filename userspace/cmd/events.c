// SPDX-License-Identifier: GPL-2.0-only
/* events */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/dm.h"
#include "dm/status.h"
#include "set/find.h"
#include "set/set.h"
#include "tools/terminal.h"
#include "view/render-json.h"
#include "view/render.h"

/* The event comes just before the new table is in place; so look again after this time. */
#define AGAIN_MS	300
/* Device-mapper has no event for metadata that fills up, or a tier that is admitted. */
#define ANYHOW_MS	10000

struct watch {
	struct tier_context *ctx;
	const char *only;	/* the set that was named, NULL for all */
	u8 uuid[TIER_UUID_SIZE];	/* of that set, which may be renamed */
	const char *command;	/* --exec */
	__typeof__(sd_journal_send) *journal;	/* --journal */
	bool once;
	unsigned int happened;
	struct set_list before;
};

/* What systemd/dm-tier.catalog explains. */
static const struct {
	const char *event;
	int priority;
	const char *message_id;
} messages[] = {
	{ "activated", LOG_INFO, "243a617537b74d3dab6ce69c6c118d84" },
	{ "deactivated", LOG_INFO, "45cf8b05d7f84b789630ba341c60c4bd" },
	{ "renamed", LOG_NOTICE, "c02673d3aed64fee9e14db83477d0ac0" },
	{ "mode", LOG_WARNING, "7b48daaa57444044888184fb83d9a2e3" },
	{ "needs_check", LOG_ERR, "1338e0dcf7974c60bcf2ab7385a5ce08" },
	{ "metadata_low", LOG_WARNING, "30618cfddf204efba896db02b1c1464c" },
	{ "tier_errors", LOG_ERR, "f29096d5b820433ca906b2535eb8023d" },
	{ "tier_admitted", LOG_NOTICE, "6d9e5482beb94db0861dac6bf06203a0" },
	{ "tier_missing", LOG_ERR, "5e574e5761b448248d9609fadc04c56c" },
	{ "tier_back", LOG_NOTICE, "af896a596f9c462284576ecbb773eb12" },
	{ "tier_added", LOG_NOTICE, "96006082c3bb4ea285dd602daf54888f" },
	{ "tier_removed", LOG_NOTICE, "ebab740656f74212b4ebb559e694120c" },
	{ "resized", LOG_NOTICE, "6ad777b788694264a8b640ae53f23095" },
	{ "evacuated", LOG_NOTICE, "7a1714d15f274a88bedba508ddd9300b" },
};

static const char *mode_of(const struct set *s)
{
	if (!s->have_table || s->status.kind != STATUS_OK)
		return "fail";
	return s->status.read_only ? "ro" : "rw";
}

static void print_json(const struct set *s, const char *event, int rank, const char *time, const char *text)
{
	json_object *o = json_object_new_object();

	put_string(o, "time", time);
	put_string(o, "set", s->name);
	put_string(o, "uuid", s->hex);
	put_string(o, "event", event);
	put_rank(o, "tier", rank);
	put_string(o, "mode", mode_of(s));
	put_string(o, "text", text);
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

/* The environment describes the event. */
static void run_command(const struct watch *w, const struct set *s, const char *event, int rank,
			const char *text)
{
	char number[16];
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	if (!child) {
		snprintf(number, sizeof(number), "%d", rank);
		setenv("TIER_SET", s->name, 1);
		setenv("TIER_UUID", s->hex, 1);
		setenv("TIER_EVENT", event, 1);
		setenv("TIER_RANK", rank < 0 ? "" : number, 1);
		setenv("TIER_MODE", mode_of(s), 1);
		setenv("TIER_TEXT", text, 1);
		execl("/bin/sh", "sh", "-c", w->command, NULL);
		_exit(127);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0)
		warn(w->ctx, "events: cannot run the command: %s.", strerror(errno));
	else if (!WIFEXITED(status) || WEXITSTATUS(status))
		warn(w->ctx, "events: the command failed (%s %d).",
		     WIFEXITED(status) ? "exit status" : "signal",
		     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static void write_journal(const struct watch *w, const struct set *s, const char *event, int rank, const char *text)
{
	char *number = rank < 0 ? xstrdup("") : xasprintf("%d", rank);
	unsigned int i = 0;
	int r;

	while (i < sizeof(messages) / sizeof(*messages) - 1 && strcmp(messages[i].event, event))
		i++;
	r = w->journal("MESSAGE=%s: %s", s->name, text, "MESSAGE_ID=%s", messages[i].message_id,
		       "SYSLOG_IDENTIFIER=tierctl", "PRIORITY=%d", messages[i].priority,
		       "TIER_SET=%s", s->name, "TIER_UUID=%s", s->hex, "TIER_EVENT=%s", event,
		       "TIER_RANK=%s", number, "TIER_MODE=%s", mode_of(s), NULL);
	if (r)
		warn(w->ctx, "events: cannot write to the journal: %s.", strerror(-r));
	free(number);
}

__attribute__((format(printf, 5, 6)))
static void report_event(struct watch *w, const struct set *s, const char *event, int rank,
			 const char *fmt, ...)
{
	time_t now = time(NULL);
	char stamp[32], *text;
	struct tm tm;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S%z", localtime_r(&now, &tm));
	if (w->journal)
		write_journal(w, s, event, rank, text);
	else if (terminal_of(w->ctx)->json)
		print_json(s, event, rank, stamp, text);
	else
		say(w->ctx, "%s %s: %s", stamp, s->name, text);
	fflush(stdout);
	w->happened++;
	if (w->command)
		run_command(w, s, event, rank, text);
	free(text);
}

static struct set *find_same(const struct set_list *list, const struct set *s)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		if (!memcmp(list->set[i].uuid, s->uuid, sizeof(s->uuid)))
			return &list->set[i];
	return NULL;
}

static bool empty_and_closed(const struct set *s, unsigned int rank)
{
	return s->tier[rank].state == 'E' && !s->status.tier[rank].used;
}

/* Tiers are known by their ids: ranks change. */
static int rank_before(const struct set *was, const struct set *now, unsigned int rank)
{
	unsigned int i;

	for (i = 0; i < was->nr_tiers; i++)
		if (was->tier[i].id == now->tier[rank].id)
			return i;
	return -1;
}

static void report_missing(struct watch *w, const struct set *s, unsigned int rank)
{
	report_event(w, s, "tier_missing", rank, "tier %u is missing: what lies on it gives I/O errors", rank);
}

static void report_activation(struct watch *w, const struct set *s)
{
	unsigned int i;

	report_event(w, s, "activated", -1, "is active (%s)", mode_of(s));
	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].state == '-')
			report_missing(w, s, i);
}

static const char *device_name(const struct set_tier *t)
{
	return t->present ? t->dev.name : "missing";
}

static void compare_tier(struct watch *w, const struct set *was, struct set *now, unsigned int rank)
{
	struct set_tier *t = &now->tier[rank];
	const char *name = device_name(t);
	int before = rank_before(was, now, rank);
	char then;

	if (before < 0) {
		report_event(w, now, "tier_added", rank, "tier %u (%s) was added", rank, name);
		return;
	}
	then = was->tier[before].state;
	if (t->state == '-' && then != '-')
		report_missing(w, now, rank);
	if (t->state != '-' && then == '-')
		report_event(w, now, "tier_back", rank, "tier %u (%s) is back", rank, name);
	t->erring = now->status.tier[rank].errors > was->status.tier[before].errors;
	/*
	 * While the tier is being emptied its state does not show errors: the first new error
	 * counts.
	 */
	if (then != 'F' && (t->state == 'F' ||
			    (set_tier_failing(now, rank) && t->erring && !was->tier[before].erring)))
		report_event(w, now, "tier_errors", rank, t->state == 'E' ?
			     "tier %u (%s): %llu I/O errors by now, and it is being emptied; how far it is: tierctl wait %s --evacuated %u" :
			     "tier %u (%s): %llu I/O errors; when it has been seen to: tierctl admit %s %u",
			     rank, name, (unsigned long long)now->status.tier[rank].errors, now->name, rank);
	if (t->state == 'A' && set_tier_failing(was, before))
		report_event(w, now, "tier_admitted", rank, "tier %u (%s) is in use again", rank, name);
	if (empty_and_closed(now, rank) && !empty_and_closed(was, before))
		report_event(w, now, "evacuated", rank, "tier %u (%s) is empty", rank, name);
}

static void compare_status(struct watch *w, const struct set *was, struct set *now)
{
	const struct status *a = &was->status, *b = &now->status;
	char size[SIZE_TEXT];
	unsigned int i;

	if (strcmp(was->name, now->name))
		report_event(w, now, "renamed", -1, "was called %s", was->name);
	if (strcmp(mode_of(was), mode_of(now)))
		report_event(w, now, "mode", -1, "went from %s to %s", mode_of(was), mode_of(now));
	if (!strcmp(mode_of(was), "fail") || !strcmp(mode_of(now), "fail"))
		return;
	if (b->needs_check && !a->needs_check)
		report_event(w, now, "needs_check", -1, "its metadata needs a check");
	if (set_metadata_low(now) && !set_metadata_low(was))
		report_event(w, now, "metadata_low", -1, "%u%% of its metadata device is used: grow it",
			     percent(b->metadata_used, b->metadata_total));
	if (now->length != was->length)
		report_event(w, now, "resized", -1, "has %s now",
			     format_size(size, now->length * SECTOR_SIZE));
	for (i = 0; i < now->nr_tiers; i++)
		compare_tier(w, was, now, i);
	for (i = 0; i < was->nr_tiers; i++)
		if (rank_before(now, was, i) < 0)
			report_event(w, now, "tier_removed", i, "tier %u (%s) was removed", i,
				     device_name(&was->tier[i]));
}

static bool is_wanted(const struct watch *w, const struct set_list *list, const struct set *s)
{
	return !w->only || !memcmp(w->uuid, s->uuid, sizeof(s->uuid)) || sets_find(list, w->only) == s;
}

/* A device that is being made, is being reloaded, or waits, has no status at the moment. */
static bool is_up(const struct set *s)
{
	return s->dm.wiped || (s->have_table && s->status.kind != STATUS_ERROR && s->status.kind != STATUS_WAITS);
}

/*
 * For a set between two states the last known state is kept: the set may be gone at the next
 * look.
 */
static void keep_known(struct set_list *before, struct set_list *now)
{
	unsigned int i;

	for (i = 0; i < now->nr; i++) {
		struct set *was = find_same(before, &now->set[i]), going = now->set[i];

		if (!was || !is_up(was) || is_up(&going))
			continue;
		now->set[i] = *was;
		*was = going;
	}
}

/* 1 if a set is between two states, 0 if none is; -errno with the error said. */
static int look(struct watch *w, bool first)
{
	struct set_list now;
	bool changing = false;
	unsigned int i;
	int r = sets_load(w->ctx, &now, false);

	/* A set that does not answer is not gone. */
	if (r) {
		sets_free(&now);
		return r;
	}
	for (i = 0; i < w->before.nr && !first; i++)
		if (is_wanted(w, &w->before, &w->before.set[i]) && is_up(&w->before.set[i]) &&
		    !find_same(&now, &w->before.set[i]))
			report_event(w, &w->before.set[i], "deactivated", -1, "is not active any more");
	for (i = 0; i < now.nr; i++)
		changing |= !is_up(&now.set[i]) || now.set[i].dm.suspended;
	for (i = 0; i < now.nr && !first; i++) {
		const struct set *was = find_same(&w->before, &now.set[i]);

		if (!is_wanted(w, &now, &now.set[i]) || !is_up(&now.set[i]))
			continue;
		if (was && is_up(was))
			compare_status(w, was, &now.set[i]);
		else
			report_activation(w, &now.set[i]);
	}
	keep_known(&w->before, &now);
	sets_free(&w->before);
	w->before = now;
	return changing;
}

/* Waits for an event, or for a while: a short while if *again. 0 or -errno. */
static int wait_for_event(struct pollfd *p, uint64_t end, bool *again)
{
	uint64_t now = now_ms(), left = end > now ? end - now : 0;
	uint64_t ms = *again ? AGAIN_MS : ANYHOW_MS;
	int r;

	if (end && ms > left)
		ms = left;
	r = poll(p, 1, (int)ms);
	*again = r > 0;
	return r < 0 && errno != EINTR ? -errno : 0;
}

static int watch_events(struct watch *w, uint64_t timeout_ms)
{
	struct pollfd p = { .fd = dm_events_open(), .events = POLLIN };
	uint64_t end = timeout_ms ? now_ms() + timeout_ms : 0;
	bool first = true, again = false;
	int r = p.fd < 0 ? p.fd : 0, changing;

	while (!r && !interrupted) {
		/* Armed before the look: an event after the look ends the poll. */
		r = dm_events_arm(p.fd);
		if (r)
			break;
		changing = look(w, first);
		if (changing < 0) {
			close(p.fd);
			return EXIT_FAILED;
		}
		again |= changing;
		first = false;
		if ((w->once && w->happened) || (end && now_ms() >= end))
			break;
		/* Nobody reads the output any more; if SIGPIPE is ignored, it does not end us. */
		if (ferror(stdout) && !w->command)
			break;
		r = wait_for_event(&p, end, &again);
	}
	if (p.fd >= 0)
		close(p.fd);
	if (r)
		err(w->ctx, error_from(-r), "events: cannot listen to device-mapper: %s.", strerror(-r));
	return r ? EXIT_FAILED : EXIT_DONE;
}

/*
 * libsystemd brings seven libraries more, which would double the time that any command takes to
 * start, and have no other use here or in an initramfs. So it is loaded for --journal alone.
 */
static bool load_journal(struct watch *w)
{
	void *library = dlopen("libsystemd.so.0", RTLD_NOW);

	w->journal = library ? dlsym(library, "sd_journal_send") : NULL;
	if (!w->journal)
		err(w->ctx, ERR_SYSTEM, "events: --journal needs libsystemd: %s.", dlerror());
	return w->journal;
}

int cmd_events(const struct args *args)
{
	struct watch w = {
		.ctx = args->ctx,
		.only = args->nr ? args->word[0] : NULL,
		.command = args->value[OPT_EXEC],
		.once = args->given[OPT_ONCE],
	};
	uint64_t timeout = 0;
	struct set_list list;
	bool found = true;
	int code;

	if (args->given[OPT_TIMEOUT] &&
	    (parse_number(args->value[OPT_TIMEOUT], &timeout) || !timeout || timeout > 1000000)) {
		err(args->ctx, ERR_USAGE,
		    "events: --timeout %s is not a number of seconds from 1 to 1000000.",
		    args->value[OPT_TIMEOUT]);
		return EXIT_USAGE;
	}
	if (args->given[OPT_JOURNAL] && !load_journal(&w))
		return EXIT_FAILED;
	if (w.only) {
		found = need_known(args->ctx, &list, w.only);
		if (found)
			memcpy(w.uuid, sets_find(&list, w.only)->uuid, sizeof(w.uuid));
		sets_free(&list);
	}
	if (!found)
		return EXIT_FAILED;
	detach_on_interrupt();
	code = watch_events(&w, timeout * 1000);
	sets_free(&w.before);
	if (code == EXIT_DONE && w.once && !w.happened && !interrupted) {
		err(args->ctx, ERR_TIMED_OUT, "events: nothing happened in %llu s.",
		    (unsigned long long)timeout);
		code = EXIT_FAILED;
	}
	return code;
}
