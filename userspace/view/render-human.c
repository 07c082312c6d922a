// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "base/context.h"
#include "base/screen.h"
#include "base/size.h"
#include "base/util.h"
#include "base/words.h"
#include "block/signature.h"
#include "dm/status.h"
#include "dm/tunable.h"
#include "set/health.h"
#include "set/member.h"
#include "set/report.h"
#include "set/scan.h"
#include "set/set.h"
#include "tools/terminal.h"
#include "view/render.h"

static enum colour health_colour(const char *health)
{
	if (!strcmp(health, "ok"))
		return GREEN;
	return strcmp(health, "attention") ? RED : YELLOW;
}

static const char *tier_device(const struct set_tier *t)
{
	return t->present ? t->dev.name : "-";
}

static const char *mode_word(const struct set *s)
{
	if (!s->active || (!s->have_table && !s->dm.wiped))
		return "-";
	if (s->status.kind == STATUS_WAITS)
		return "-";
	if (s->status.kind != STATUS_OK)
		return "fail";
	return s->status.read_only ? "ro" : "rw";
}

void show_list(const struct report *reports, unsigned int nr)
{
	struct columns c;
	char size[SIZE_TEXT], chunk[SIZE_TEXT], tiers[SIZE_TEXT];
	unsigned int i;

	if (!nr) {
		puts("No tiered sets.");
		return;
	}
	columns_init(&c, "lrlllrrll");
	columns_row(&c, "set", "size", "state", "mode", "health", "tiers", "chunk", "policy", "uuid");
	for (i = 0; i < nr; i++) {
		const struct set *s = reports[i].set;
		const char *policy = s->active ? s->status.policy : s->info.policy;

		snprintf(tiers, sizeof(tiers), "%u", s->nr_tiers);
		columns_row(&c, s->name, s->length ? format_size(size, s->length * SECTOR_SIZE) : "-",
			    reports[i].state, mode_word(s), reports[i].health,
			    s->nr_tiers ? tiers : "-",
			    s->chunk_sectors ? format_size(chunk, s->chunk_sectors * SECTOR_SIZE) : "-",
			    policy && *policy ? policy : "-", s->hex);
	}
	columns_print(&c, stdout);
}

static void show_heading(const struct report *r)
{
	const struct set *s = r->set;
	const char *policy = s->active ? s->status.policy : s->info.policy;
	char size[SIZE_TEXT], chunk[SIZE_TEXT];
	struct text line = { 0 };

	text_add(&line, "%s", s->name);
	if (s->length)
		text_add(&line, "  %s", format_size(size, s->length * SECTOR_SIZE));
	if (s->active && !strcmp(r->state, "active"))
		text_add(&line, "  %s  %s", mode_word(s), s->status.paused ? "paused" : "running");
	else
		text_add(&line, "  %s", r->state);
	if (s->chunk_sectors)
		text_add(&line, "  chunk %s", format_size(chunk, s->chunk_sectors * SECTOR_SIZE));
	if (policy && *policy)
		text_add(&line, "  %s", policy);
	printf("%-64s  status: %s%s%s\n", line.s, colour(health_colour(r->health)), r->health,
	       colour(PLAIN));
	text_free(&line);
}

static void used_cell(char *buf, size_t size, const struct report *r, unsigned int rank, unsigned int bar)
{
	uint64_t places = r->set->tier[rank].places;
	char cells[64];

	if (!r->have_chunks || !places)
		snprintf(buf, size, "-");
	else if (bar)
		snprintf(buf, size, "%s %3u%%", format_bar(cells, bar, r->used[rank], places),
			 percent(r->used[rank], places));
	else
		snprintf(buf, size, "%u%%", percent(r->used[rank], places));
}

/* In words; a problem of the device comes before any other state. */
static const char *tier_state(const struct report *r, unsigned int rank)
{
	const struct health *h = &r->tier_health[rank];

	if (h->nr)
		return problem_phrase(h->problem[0].kind);
	switch (r->set->tier[rank].state) {
	case 'E':
		return r->have_chunks && !r->used[rank] ? "empty, closed" : "evacuating";
	case 'F':
		return "errors";
	case '-':
		return "missing";
	default:
		return "";
	}
}

static void show_tiers(const struct report *r)
{
	const struct set *s = r->set;
	unsigned int width = screen_width();
	unsigned int bar = width >= 80 ? 20 : width >= 70 ? 10 : 0;
	struct columns c;
	unsigned int i;

	if (!s->nr_tiers)
		return;
	columns_init(&c, "rlrlrrrl");
	if (r->have_rates)
		columns_row(&c, "tier", "device", "size", "used", "read/s", "write/s", "await", "");
	else
		columns_row(&c, "tier", "device", "size", "used", "reads", "writes", "errors", "");
	for (i = 0; i < s->nr_tiers; i++) {
		const struct set_tier *t = &s->tier[i];
		const struct tier_status *st = &s->status.tier[i];
		char rank[SIZE_TEXT], size[SIZE_TEXT], used[80];
		char reads[SIZE_TEXT] = "", writes[SIZE_TEXT] = "", last[SIZE_TEXT] = "";

		snprintf(rank, sizeof(rank), "%u", i);
		used_cell(used, sizeof(used), r, i, bar);
		if (r->have_rates) {
			format_short(reads, r->rate[i].read_bytes, 1024);
			format_short(writes, r->rate[i].written_bytes, 1024);
			snprintf(last, sizeof(last), "%.1f ms", r->rate[i].await_ms);
		} else if (s->active && r->have_chunks) {
			format_short(reads, st->reads, 1000);
			format_short(writes, st->writes, 1000);
			format_short(last, st->errors, 1000);
		}
		columns_row(&c, rank, tier_device(t), t->size ? format_size(size, t->size) : "-",
			    used, reads, writes, last, tier_state(r, i));
	}
	columns_print(&c, stdout);
}

static void show_metadata(const struct report *r)
{
	const struct set *s = r->set;
	const struct status *st = &s->status;
	const struct device *leg[LEGS_MAX];
	char size[SIZE_TEXT];
	unsigned int legs;

	legs = set_legs(s, leg);
	if (!s->have_meta && !legs) {
		printf("meta  missing\n");
		return;
	}
	if (legs)
		printf("meta  on %s%s%s", leg[0]->name, legs > 1 ? " and " : "", legs > 1 ? leg[1]->name : "");
	else
		printf("meta  %s", s->meta_dev.name);
	printf("  %s", format_size(size, s->have_meta ? s->meta_dev.size : s->mirror.size * SECTOR_SIZE));
	if (s->active && r->have_chunks)
		printf("  %u%% used", percent(st->metadata_used, st->metadata_total));
	if (r->meta_health.nr)
		printf("  %s", problem_phrase(r->meta_health.problem[0].kind));
	putchar('\n');
}

static void show_served(const struct report *r)
{
	uint64_t fast[2] = { 0 }, all[2] = { 0 };
	unsigned int i;

	if (r->set->nr_tiers < 2)
		return;
	for (i = 0; i < r->set->nr_tiers; i++) {
		const struct tier_status *st = &r->set->status.tier[i];

		all[0] += r->have_rates ? r->rate[i].reads : st->reads;
		all[1] += r->have_rates ? r->rate[i].writes : st->writes;
		if (!i) {
			fast[0] = all[0];
			fast[1] = all[1];
		}
	}
	if (!all[0] && !all[1])
		return;
	fputs("fast tier serves  ", stdout);
	if (all[0])
		printf("%u%% of reads", percent(fast[0], all[0]));
	if (all[1])
		printf("%s%u%% of writes", all[0] ? ", " : "", percent(fast[1], all[1]));
	puts(r->have_rates ? " (now)" : " (since activation)");
}

static void show_moving(const struct report *r)
{
	const struct set *s = r->set;
	const struct status *st = &s->status;
	const char *limit = status_tunable(st, "migration_bandwidth");
	char moved[SIZE_TEXT], rate[SIZE_TEXT], allowed[SIZE_TEXT];
	uint64_t kib = 0;

	printf("moving            %llu up, %llu down, %llu in flight; %s moved",
	       (unsigned long long)st->promotions, (unsigned long long)st->demotions,
	       (unsigned long long)st->in_flight, format_size(moved, st->migrated * SECTOR_SIZE));
	if (st->failed || st->aborted)
		printf(", %llu failed, %llu aborted", (unsigned long long)st->failed,
		       (unsigned long long)st->aborted);
	if (r->have_rates)
		printf("; %s/s", format_size(rate, r->moved_bytes_rate));
	if (limit && !parse_number(limit, &kib) && kib)
		printf("%s %s/s allowed", r->have_rates ? " of" : ";", format_size(allowed, kib * 1024));
	putchar('\n');
	if (r->pinned)
		printf("pinned            %s\n", format_size(moved, r->pinned * s->chunk_sectors * SECTOR_SIZE));
	if (r->evacuating >= 0)
		printf("evacuating        tier %d: %s to move\n", r->evacuating,
		       format_size(moved, r->used[r->evacuating] * s->chunk_sectors * SECTOR_SIZE));
}

static void show_wear(const struct report *r)
{
	char size[SIZE_TEXT], allowed[SIZE_TEXT];
	unsigned int i;

	for (i = 0; i < r->set->nr_tiers; i++) {
		const struct wear *w = &r->wear[i];

		printf("written           tier %u: %s since it joined", i, format_size(size, w->written));
		if (w->allowed)
			printf("; %s of the %s that its endurance allowed, %.2f days %s",
			       format_size(size, w->used), format_size(allowed, w->allowed),
			       w->days_left < 0 ? -w->days_left : w->days_left,
			       w->days_left < 0 ? "until the policy moves chunks there" : "left");
		putchar('\n');
	}
}

static void us_text(char *buf, size_t size, unsigned int ns)
{
	if (ns)
		snprintf(buf, size, "%.*f", ns < 100000, ns / 1e3);
	else
		snprintf(buf, size, "-");
}

/* What the user says of the tier's latency, "" if it is measured. */
static char *latency_given(const struct set *s, unsigned int rank)
{
	const char *text;
	char key[40], *said, *given;
	uint64_t us = 0;

	snprintf(key, sizeof(key), "tier%u.latency", rank);
	text = status_tunable(&s->status, key);
	if (!text || parse_number(text, &us) || !us)
		return xstrdup("");
	said = tunable_text(key, us, s->chunk_sectors);
	given = xasprintf("latency=%s", said);
	free(said);
	return given;
}

static void show_latency(const struct report *r)
{
	struct columns c;
	unsigned int i, j;

	columns_init(&c, "lrrrrl");
	columns_row(&c, "latency, us: now (unloaded)", "random read", "sequential read", "random write",
		    "sequential write", "");
	for (i = 0; i < r->set->nr_tiers; i++) {
		char rank[SIZE_TEXT], cell[LATENCY_CLASSES][2 * SIZE_TEXT + 4], *given = latency_given(r->set, i);

		for (j = 0; j < LATENCY_CLASSES; j++) {
			char now[SIZE_TEXT], unloaded[SIZE_TEXT];

			us_text(now, sizeof(now), r->latency[i].class[j].now_ns);
			us_text(unloaded, sizeof(unloaded), r->latency[i].class[j].unloaded_ns);
			snprintf(cell[j], sizeof(cell[j]), "%s (%s)", now, unloaded);
		}
		snprintf(rank, sizeof(rank), "tier %u", i);
		columns_row(&c, rank, cell[0], cell[1], cell[2], cell[3], given);
		free(given);
	}
	columns_print(&c, stdout);
}

/* What never held a chunk back is left out. */
static void show_holds(const struct report *r)
{
	unsigned int i, nr = 0;

	for (i = 0; i < r->holds.nr; i++)
		if (strcmp(r->holds.pair[i].value, "0"))
			printf("%s%s %s", nr++ ? ", " : "held back         ", r->holds.pair[i].key,
			       r->holds.pair[i].value);
	if (nr)
		putchar('\n');
}

#define LOST_SHOWN	8

static void show_lost(const struct report *r)
{
	uint64_t chunks = 0;
	char size[SIZE_TEXT];
	unsigned int i;

	if (!r->nr_lost)
		return;
	for (i = 0; i < r->nr_lost; i++)
		chunks += r->lost[i].count;
	printf("unreadable        %s%s in %u range%s, chunks ",
	       r->lost_cut ? "more than " : "",
	       format_size(size, chunks * r->set->chunk_sectors * SECTOR_SIZE),
	       r->nr_lost, r->nr_lost == 1 ? "" : "s");
	for (i = 0; i < r->nr_lost && (i < LOST_SHOWN || terminal_of(r->set->ctx)->verbose); i++) {
		printf("%s%llu", i ? ", " : "", (unsigned long long)r->lost[i].first);
		if (r->lost[i].count > 1)
			printf("-%llu", (unsigned long long)(r->lost[i].first + r->lost[i].count - 1));
	}
	puts(i < r->nr_lost ? ", ... (-v or --json for all)" : "");
}

void show_status(const struct report *r)
{
	unsigned int i;

	if (terminal_of(r->set->ctx)->quiet)
		return;
	show_heading(r);
	show_tiers(r);
	show_metadata(r);
	if (r->set->active && r->have_chunks) {
		show_served(r);
		show_moving(r);
		show_holds(r);
	}
	if (r->have_wear)
		show_wear(r);
	if (r->have_latency)
		show_latency(r);
	show_lost(r);
	for (i = 0; i < r->nr_attention; i++)
		printf("attention         %s%s%s\n", colour(health_colour(r->health)), r->attention[i].text,
		       colour(PLAIN));
	if (!r->nr_attention)
		puts("attention         none");
}

static char *other_content(const struct member *m)
{
	char *found;
	int error;

	if (m->reason)
		return xstrdup(m->reason);
	found = signatures_find(m->dev.path, &error);
	return found ? found : xstrdup(m->blank ? "blank" : "");
}

void show_scan(const struct member_list *devices, const struct set_list *sets)
{
	struct columns c;
	unsigned int i;

	if (!devices->nr) {
		say(sets->ctx, "No device belongs to a tiered set.");
		return;
	}
	columns_init(&c, "lrllll");
	columns_row(&c, "device", "size", "is", "set", "state", "");
	for (i = 0; i < devices->nr; i++) {
		const struct member *m = &devices->member[i];
		char size[SIZE_TEXT], *is, *about = NULL;
		struct role role;

		role_of(m, sets, &role);
		is = role.tier >= 0 ? xasprintf("tier %d", role.tier) : xstrdup(role.role);
		if (m->hidden)
			about = xstrdup(m->hidden);
		else if (!role.set)
			about = other_content(m);
		columns_row(&c, m->dev.name, format_size(size, m->dev.size), is,
			    role.set ? role.set->name : "-", role.state ? role.state : "-", about);
		free(about);
		free(is);
	}
	columns_print(&c, stdout);
}

static void show_pairs(const struct pairs *list)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		printf("%s=%s\n", list->pair[i].key, list->pair[i].value);
}

void show_tunables(const struct set *s, const char *key)
{
	if (key) {
		puts(status_tunable(&s->status, key));
		return;
	}
	show_pairs(&s->status.core);
	show_pairs(&s->status.policy_args);
}
