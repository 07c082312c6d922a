// SPDX-License-Identifier: GPL-2.0-only
/* wait, and the waiting of other commands */
#include "ops/wait.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/progress.h"
#include "base/size.h"
#include "base/util.h"
#include "set/heat.h"

#define POLL_MS		250
/* Between two moves nothing may be in flight for a moment. */
#define QUIET_MS	1000
/* Moving a new or pinned chunk takes a while to begin. */
#define PATIENCE_MS	10000
/* A tier without progress for so long, while moves fail, needs a message. */
#define STUCK_MS	10000

struct wait {
	struct set *s;
	int rank;		/* -1: until nothing moves */
	unsigned int id;	/* of the tier; its rank may change meanwhile */
	uint64_t start_ms;
	uint64_t total;		/* chunks on the tier at the start */
	uint64_t quiet_since;	/* ms; when a chunk last moved */
	uint64_t moved;		/* sectors at the last poll */
	uint64_t left;		/* chunks on the tier at the last change */
	uint64_t left_since;	/* ms */
	uint64_t failed;	/* moves, at the start */
	bool polled;		/* and it was possible then */
	bool warned;
	bool told_paused;
};

/* "  about 3 min left", from the speed so far; "" as long as that is uncertain. */
static const char *time_left(const struct wait *w, uint64_t done, uint64_t left, char buf[32])
{
	uint64_t spent = now_ms() - w->start_ms, seconds;

	*buf = '\0';
	if (!done || !left || spent < 3000)
		return buf;
	seconds = (double)spent * left / done / 1000 + 1;
	if (seconds < 120)
		snprintf(buf, 32, ", about %llu s", (unsigned long long)seconds);
	else if (seconds < 2 * 3600)
		snprintf(buf, 32, ", about %llu min", (unsigned long long)seconds / 60);
	else
		snprintf(buf, 32, ", about %llu h", (unsigned long long)seconds / 3600);
	return buf;
}

static void show_progress(const struct wait *w)
{
	const struct status *st = &w->s->status;
	uint64_t chunk = w->s->chunk_sectors * SECTOR_SIZE;
	char cells[64], size[SIZE_TEXT], line[200], eta[32];

	if (!w->s->ctx->progress)
		return;
	if (w->rank >= 0) {
		uint64_t left = st->tier[w->rank].used;
		uint64_t done = w->total > left ? w->total - left : 0;

		snprintf(line, sizeof(line), "%s: tier %d %s %u%%  %s left%s", w->s->name, w->rank,
			 format_bar(cells, 30, done, w->total), percent(done, w->total),
			 format_size(size, left * chunk), time_left(w, done, left, eta));
	} else {
		snprintf(line, sizeof(line), "%s: %llu in flight, %s moved since activation", w->s->name,
			 (unsigned long long)st->in_flight, format_size(size, st->migrated * SECTOR_SIZE));
	}
	w->s->ctx->progress(w->s->ctx, line);
}

/* Longer if the bandwidth allows less than a chunk a second. */
static uint64_t quiet_enough(const struct set *s)
{
	const char *limit = status_tunable(&s->status, "migration_bandwidth");
	uint64_t kib, chunk_kib = s->chunk_sectors / 2;

	if (!limit || parse_number(limit, &kib) || !kib)
		return QUIET_MS;
	return QUIET_MS + 2000 * chunk_kib / kib;
}

/* Whether nothing has moved for so long. */
static bool is_quiet(struct wait *w, uint64_t ms)
{
	const struct status *st = &w->s->status;

	if (st->in_flight || st->migrated != w->moved)
		w->quiet_since = now_ms();
	w->moved = st->migrated;
	return now_ms() - w->quiet_since >= ms;
}

static bool finished(struct wait *w)
{
	if (w->rank >= 0)
		return !w->s->status.tier[w->rank].used;
	return is_quiet(w, quiet_enough(w->s));
}

/* Says why it would never end; once. */
static void warn_if_stuck(struct wait *w)
{
	if (w->rank < 0 || w->told_paused || !w->s->status.paused || !w->s->status.tier[w->rank].used)
		return;
	warn(w->s->ctx, "%s: migration is paused, tier %d will not empty before: tierctl resume %s",
	     w->s->name, w->rank, w->s->name);
	w->told_paused = true;
}

/*
 * Chunks that cannot be read cannot be moved, and are not tried again by themselves; said once.
 */
static void warn_if_failing(struct wait *w)
{
	const struct status *st = &w->s->status;
	uint64_t left = w->rank < 0 ? 0 : st->tier[w->rank].used;

	if (left != w->left || st->in_flight) {
		w->left = left;
		w->left_since = now_ms();
	} else if (left && st->failed > w->failed && !w->warned && now_ms() - w->left_since >= STUCK_MS) {
		warn(w->s->ctx,
		     "%s: %llu chunk%s of tier %d cannot be moved, for I/O errors; the kernel log and tierctl explain say more. When that is mended, the same command again tries once more.",
		     w->s->name, (unsigned long long)left, left == 1 ? "" : "s", w->rank);
		w->warned = true;
	}
}

/* The set may go, fail or be paused while we wait: EXIT_DONE to go on. */
static int check_still_possible(struct wait *w)
{
	const struct set *s = w->s;
	unsigned int rank;

	if (s->status.kind != STATUS_OK) {
		err(w->s->ctx, ERR_FAILED, "%s: has failed; the kernel log says why.", s->name);
		return EXIT_FAILED;
	}
	for (rank = 0; w->rank >= 0 && rank < s->status.nr_tiers; rank++)
		if (s->status.tier[rank].id == w->id)
			break;
	if (w->rank >= 0 && rank == s->status.nr_tiers) {
		err(w->s->ctx, ERR_NOT_FOUND, "%s: tier %d is gone.", s->name, w->rank);
		return EXIT_FAILED;
	}
	if (w->rank >= 0)
		w->rank = rank;
	if (w->rank >= 0 && s->status.tier[w->rank].state != 'E') {
		err(w->s->ctx, w->polled ? ERR_CHANGED : ERR_UNSUITABLE, "%s: tier %d is not being evacuated.",
		    s->name, w->rank);
		return EXIT_FAILED;
	}
	if (w->rank >= 0 && s->status.read_only && s->status.tier[w->rank].used) {
		err(w->s->ctx, ERR_READ_ONLY,
		    "%s: is read-only, so that nothing moves and tier %d will not empty; tierctl status %s and the kernel log say more.",
		    s->name, w->rank, s->name);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

static int poll_until_done(struct wait *w, uint64_t timeout_ms)
{
	uint64_t start = now_ms();
	int code;

	for (;;) {
		if (set_refresh(w->s)) {
			err(w->s->ctx, ERR_NOT_FOUND, "%s: is gone.", w->s->name);
			return EXIT_FAILED;
		}
		code = check_still_possible(w);
		if (code)
			return code;
		w->polled = true;
		show_progress(w);
		warn_if_stuck(w);
		warn_if_failing(w);
		if (finished(w)) {
			/* A late Ctrl-C must not affect the next step. */
			interrupted = 0;
			return EXIT_DONE;
		}
		if (interrupted)
			return EXIT_DETACHED;
		if (timeout_ms && now_ms() - start >= timeout_ms) {
			err(w->s->ctx, ERR_TIMED_OUT, "%s: not done after %llu s; it goes on.", w->s->name,
			    (unsigned long long)timeout_ms / 1000);
			return EXIT_FAILED;
		}
		sleep_ms(POLL_MS);
	}
}

int wait_for(struct set *s, int rank, uint64_t timeout_ms)
{
	struct wait w = {
		.s = s,
		.rank = rank,
		.id = rank >= 0 ? s->status.tier[rank].id : 0,
		.start_ms = now_ms(),
		.total = rank >= 0 ? s->status.tier[rank].used : 0,
		.quiet_since = now_ms(),
		.moved = s->status.migrated,
		.left_since = now_ms(),
		.failed = s->status.failed,
	};
	int code;

	detach_on_interrupt();
	fflush(NULL);
	code = poll_until_done(&w, timeout_ms);
	if (s->ctx->progress)
		s->ctx->progress(s->ctx, "");
	if (code == EXIT_DETACHED && rank >= 0)
		warn(s->ctx, "%s: detached, the work goes on. To wait again: tierctl wait --evacuated %d %s",
		     s->name, w.rank, s->name);
	else if (code == EXIT_DETACHED)
		warn(s->ctx, "%s: detached, the work goes on. To wait again: tierctl wait %s", s->name,
		     s->name);
	else if (code == EXIT_DONE && rank >= 0)
		say(s->ctx, "%s: tier %d is empty.", s->name, w.rank);
	else if (code == EXIT_DONE)
		say(s->ctx, "%s: nothing moves.", s->name);
	return code;
}

/* Counts how many of the chunks are mapped, and how many lie on the tier. */
static bool count_there(const struct set *s, const struct ranges *chunks, unsigned int rank,
			uint64_t *there, uint64_t *mapped)
{
	struct heat_bucket sum;

	if (heat_sum(s, chunks, &sum))
		return false;
	*there = sum.on_rank[rank];
	*mapped = sum.mapped;
	return true;
}

int wait_for_chunks(struct set *s, const struct ranges *chunks, unsigned int rank)
{
	struct wait w = { .s = s, .rank = -1, .quiet_since = now_ms(), .moved = s->status.migrated };
	char *what = xasprintf("%s: to tier %u", s->name, rank);
	uint64_t there = 0, mapped = 0;
	struct progress progress;
	int code;

	progress_start(s->ctx, &progress);
	detach_on_interrupt();
	for (;;) {
		code = EXIT_FAILED;
		if (set_refresh(s)) {
			err(s->ctx, ERR_NOT_FOUND, "%s: is gone.", s->name);
			break;
		}
		if (check_still_possible(&w) || !count_there(s, chunks, rank, &there, &mapped))
			break;
		progress_bar(&progress, what, there, mapped);
		code = EXIT_DONE;
		if (there == mapped || is_quiet(&w, PATIENCE_MS + quiet_enough(s)))
			break;
		code = EXIT_DETACHED;
		if (interrupted)
			break;
		sleep_ms(POLL_MS);
	}
	progress_end(&progress);
	free(what);
	if (code == EXIT_DETACHED) {
		warn(s->ctx, "%s: detached, the work goes on. To wait again: tierctl wait %s", s->name,
		     s->name);
	} else if (code == EXIT_DONE && there < mapped) {
		err(s->ctx, ERR_UNFINISHED,
		    "%s: nothing moves any more, %llu of %llu chunks are not on tier %u; tierctl explain says why.",
		    s->name, (unsigned long long)(mapped - there), (unsigned long long)mapped, rank);
		code = EXIT_FAILED;
	} else if (code == EXIT_DONE) {
		say(s->ctx, "%s: %llu chunk%s on tier %u.", s->name, (unsigned long long)there,
		    there == 1 ? " is" : "s are", rank);
	}
	return code;
}
