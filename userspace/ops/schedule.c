// SPDX-License-Identifier: GPL-2.0-only
/*
 * Migration at certain hours.
 *
 * A timer of systemd calls `tierctl schedule --apply` at each end of a window, and at boot if
 * such a time passed meanwhile. The command looks at the clock, so calls may be late, or too
 * many. An activation does the same, for a set that was inactive.
 */
#include "ops/schedule.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/context.h"
#include "base/program.h"
#include "base/util.h"
#include "ops/window.h"
#include "set/find.h"
#include "set/message.h"

#define UNITS	"/etc/systemd/system"

void schedule_init(struct tier_context *ctx, struct schedule *d, const char *set_hex)
{
	memset(d, 0, sizeof(*d));
	d->ctx = ctx;
	d->unit = xasprintf("tierctl-schedule-%s.timer", set_hex);
	d->timer = xasprintf(UNITS "/%s", d->unit);
	d->service = xasprintf(UNITS "/tierctl-schedule-%s.service", set_hex);
}

void schedule_free(struct schedule *d)
{
	free(d->unit);
	free(d->timer);
	free(d->service);
	strings_free(&d->windows);
}

/* The hours are the last words of the service's command. */
void schedule_read(struct schedule *d)
{
	FILE *f = fopen(d->service, "re");
	char *line = NULL, *word, *save;
	struct window w;
	size_t room = 0;

	if (!f)
		return;
	while (getline(&line, &room, f) > 0) {
		if (strncmp(line, "ExecStart=", 10))
			continue;
		for (word = strtok_r(line, " \n", &save); word; word = strtok_r(NULL, " \n", &save))
			if (window_parse(word, &w))
				strings_add(&d->windows, word);
	}
	free(line);
	fclose(f);
}

bool schedule_inside(const struct schedule *d)
{
	time_t now = time(NULL);
	struct window w;
	unsigned int i;
	struct tm tm;

	localtime_r(&now, &tm);
	for (i = 0; i < d->windows.nr; i++)
		if (window_parse(d->windows.s[i], &w) && window_has(&w, tm.tm_hour * 60 + tm.tm_min))
			return true;
	return false;
}

/* Pauses or resumes migration, unless it is in that state already. An exit code. */
int schedule_set_paused(struct set *s, bool paused)
{
	if (!s->active) {
		say(s->ctx, "%s: is inactive and stays as it is.", s->name);
		return EXIT_DONE;
	}
	if (!check_active(s))
		return EXIT_FAILED;
	if (s->status.paused == paused)
		return EXIT_DONE;
	if (send_message(s, "%s", paused ? "pause" : "resume"))
		return EXIT_FAILED;
	if (!s->ctx->dry_run)
		s->status.paused = paused;
	return EXIT_DONE;
}

void schedule_join(const struct schedule *d, const char *separator, struct text *t)
{
	unsigned int i;

	for (i = 0; i < d->windows.nr; i++)
		text_add(t, "%s%s", i ? separator : "", d->windows.s[i]);
}

/* With --dry-run prints the command. False with the error said. */
static bool systemctl(struct tier_context *ctx, const char *what, const char *option, const char *unit)
{
	const char *argv[] = { "systemctl", "--quiet", what, NULL, NULL, NULL };
	const char *why;
	int n = 3;

	if (option)
		argv[n++] = option;
	if (unit)
		argv[n++] = unit;
	verbose(ctx, "running: systemctl %s %s", what, unit ? unit : "");
	if (ctx->dry_run) {
		say(ctx, "Would run: systemctl %s%s%s%s%s", what, option ? " " : "", option ? option : "",
		    unit ? " " : "", unit ? unit : "");
		return true;
	}
	why = program_run(argv);
	if (why)
		err(ctx, ERR_SYSTEM, "systemctl %s: %s.", what, why);
	return !why;
}

static bool systemd_runs(void)
{
	return !access("/run/systemd/system", F_OK);
}

static void describe(const struct schedule *d, const char *what, struct text *t)
{
	text_add(t, "# Made by tierctl schedule, taken away by: tierctl schedule --clear %s\n"
		 "[Unit]\nDescription=%s of the tiered set %s\nDocumentation=man:tierctl-schedule(8)\n\n",
		 d->set->name, what, d->set->name);
}

static bool write_service(const struct schedule *d)
{
	char self[PATH_MAX] = "";
	struct text t = { 0 };
	bool good;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) {
		err(d->ctx, error_from(errno), "/proc/self/exe: %s.", strerror(errno));
		return false;
	}
	describe(d, "Pause or resume migration", &t);
	text_add(&t, "[Service]\nType=oneshot\nExecStart=%s schedule --apply %s ", self, d->set->hex);
	schedule_join(d, " ", &t);
	text_add(&t, "\n");
	good = file_write(d->ctx, d->service, t.s);
	text_free(&t);
	return good;
}

static bool write_timer(const struct schedule *d)
{
	struct text t = { 0 };
	struct window w;
	unsigned int i;
	bool good;

	describe(d, "Hours of migration", &t);
	text_add(&t, "[Timer]\n");
	for (i = 0; i < d->windows.nr; i++) {
		window_parse(d->windows.s[i], &w);
		text_add(&t, "OnCalendar=*-*-* %02u:%02u:00\nOnCalendar=*-*-* %02u:%02u:00\n", w.from / 60,
			 w.from % 60, w.to / 60, w.to % 60);
	}
	text_add(&t, "Persistent=true\n\n[Install]\nWantedBy=timers.target\n");
	good = file_write(d->ctx, d->timer, t.s);
	text_free(&t);
	return good;
}

/* Also for a timer whose file somebody has removed, or without systemd. */
static bool remove_timer(const struct schedule *d)
{
	const char *now = systemd_runs() ? "--now" : NULL;

	if (!access(d->timer, F_OK) && !systemctl(d->ctx, "disable", now, d->unit))
		return false;
	return file_remove(d->ctx, d->timer) && (!now || systemctl(d->ctx, "daemon-reload", NULL, NULL));
}

/* For a set that is gone, or had no hours: everything is removed, whatever systemd says. */
static void forget(const struct schedule *d)
{
	if (!remove_timer(d)) {
		file_remove(d->ctx, d->timer);
		systemctl(d->ctx, "daemon-reload", NULL, NULL);
	}
	file_remove(d->ctx, d->service);
}

/*
 * The service is removed last: it has the hours, and tells the next call that something is left.
 */
int schedule_clear(const struct schedule *d)
{
	struct set *s = d->set;
	bool good = remove_timer(d);
	int code = schedule_set_paused(s, false);

	if (!s->active && (set_read_info(s) || s->info.flags & TIER_SB_PAUSED))
		warn(d->ctx, "%s: may be paused when it is active again. Then: tierctl resume %s",
		     s->name, s->name);
	return !code && good && file_remove(d->ctx, d->service) ? EXIT_DONE : EXIT_FAILED;
}

/* A timer that is there already takes the new hours by a restart. */
static bool put_in_place(const struct schedule *d)
{
	return write_timer(d) && systemctl(d->ctx, "daemon-reload", NULL, NULL) &&
	       systemctl(d->ctx, "enable", NULL, d->unit) && systemctl(d->ctx, "restart", NULL, d->unit);
}

/* Installs everything, or leaves the hours as they were. */
bool schedule_install(struct schedule *d, const struct strings *before)
{
	struct strings wanted = d->windows;

	if (!systemd_runs()) {
		err(d->ctx, ERR_SYSTEM,
		    "%s: systemd, whose timers would be used, does not run here. Let another service, cron for example, call this at each end of a window and at boot: tierctl schedule --apply %s %s",
		    d->set->name, d->set->name, d->windows.s[0]);
		return false;
	}
	/* Written first: without it nothing has changed. */
	if (!write_service(d))
		return false;
	if (put_in_place(d))
		return true;
	if (d->ctx->dry_run)
		return false;
	if (!before->nr) {
		forget(d);
		return false;
	}
	d->windows = *before;
	if (write_service(d) && put_in_place(d))
		err(d->ctx, ERR_SYSTEM, "%s: keeps the hours it had.", d->set->name);
	else
		err(d->ctx, ERR_SYSTEM,
		    "%s: could not be given back the hours it had. Repeat the command, or: tierctl schedule --clear %s",
		    d->set->name, d->set->name);
	d->windows = wanted;
	return false;
}

void schedule_follow(struct tier_context *ctx, const char *set_hex)
{
	struct set_list list;
	struct schedule d;
	struct set *s;

	schedule_init(ctx, &d, set_hex);
	schedule_read(&d);
	if (d.windows.nr) {
		sets_load(ctx, &list, false);
		s = sets_find(&list, set_hex);
		if (s)
			schedule_set_paused(s, !schedule_inside(&d));
		sets_free(&list);
	}
	schedule_free(&d);
}

void schedule_forget(struct tier_context *ctx, const char *set_hex)
{
	struct schedule d;

	schedule_init(ctx, &d, set_hex);
	if (!access(d.service, F_OK) || !access(d.timer, F_OK))
		forget(&d);
	schedule_free(&d);
}
