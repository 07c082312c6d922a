// SPDX-License-Identifier: GPL-2.0-only
#include "set/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"
#include "format/geometry.h"
#include "format/metadata.h"
#include "set/heat.h"
#include "set/lock.h"

/* Takes ownership of code. */
static struct attention *new_attention(struct report *r, char *code)
{
	struct attention *a;

	r->attention = xrealloc(r->attention, r->nr_attention + 1, sizeof(*r->attention));
	a = &r->attention[r->nr_attention++];
	*a = (struct attention){ .code = code, .tier = -1 };
	return a;
}

__attribute__((format(printf, 4, 5)))
static void add_attention(struct report *r, const char *code, int tier, const char *fmt, ...)
{
	struct attention *a = new_attention(r, xstrdup(code));
	va_list ap;

	a->tier = tier;
	if (tier >= 0 && r->set->tier[tier].present)
		a->device = xstrdup(r->set->tier[tier].dev.name);
	va_start(ap, fmt);
	a->text = xvasprintf(fmt, ap);
	va_end(ap);
}

void report_attention(struct report *r, const char *code, const char *device, const char *fmt, ...)
{
	struct attention *a = new_attention(r, xstrdup(code));
	va_list ap;

	a->device = device ? xstrdup(device) : NULL;
	va_start(ap, fmt);
	a->text = xvasprintf(fmt, ap);
	va_end(ap);
	if (!strcmp(r->health, "ok"))
		r->health = "attention";
}

/* Words that name the device within the set, and that say more than its path. */
static char *problem_code(enum problem_kind kind, int rank)
{
	bool own = kind == PROBLEM_MISSING || kind == PROBLEM_REDUCED;

	return xasprintf("%s_%s", !own ? "part" : rank < 0 ? "metadata" : "tier", problem_word(kind));
}

static void find_problems(struct report *r, int rank, struct health *h)
{
	unsigned int i;

	health_look(r->set, rank, h);
	for (i = 0; i < h->nr; i++) {
		const struct problem *p = &h->problem[i];
		struct attention *a = new_attention(r, problem_code(p->kind, rank));

		a->tier = rank;
		a->device = p->device ? xstrdup(p->device) : NULL;
		a->text = xstrdup(p->text);
		/* Data on the device cannot be read. */
		if (p->kind <= PROBLEM_REDUCED || p->kind == PROBLEM_ERROR)
			r->lacking = true;
	}
}

/* lvextend takes free extents. */
static void find_extended(struct report *r)
{
	struct set *s = r->set;
	char size[SIZE_TEXT];
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++) {
		const struct set_tier *t = &s->tier[i];

		if (s->active && t->present && t->places && set_tier_places(s, i) > t->places)
			add_attention(r, "tier_extended", i, "tier %u (%s) has been extended to %s, which the set does not use yet: tierctl resize %s",
				      i, t->dev.name, format_size(size, t->dev.size), s->name);
	}
}

static void find_in_tiers(struct report *r)
{
	const struct set *s = r->set;
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++) {
		const struct set_tier *t = &s->tier[i];

		find_problems(r, i, &r->tier_health[i]);
		if (!t->present)
			continue;
		if (set_tier_failing(s, i)) {
			add_attention(r, "tier_errors", i, t->state == 'E' ?
				      "tier %u (%s): %llu I/O errors, and it is being emptied; what cannot be read stays there. How far it is: tierctl wait %s --evacuated %u" :
				      "tier %u (%s): %llu I/O errors; after a write error nothing new is placed there. When it has been seen to: tierctl admit %s %u",
				      i, t->dev.name, (unsigned long long)s->status.tier[i].errors, s->name, i);
		} else if (t->stale) {
			const char *what = t->label_generation < t->generation ? "tier stale: " : "metadata stale: ";
			char *age = set_tier_age(t);

			add_attention(r, "tier_stale", i, "%stier %u (%s) %s", t->slot_lost ? "" : what, i, t->dev.name, age);
			free(age);
		} else if (t->foreign) {
			add_attention(r, "tier_foreign", i, "tier %u (%s) carries %s beside its label", i, t->dev.name,
				      t->foreign);
		} else if (t->hidden) {
			add_attention(r, "tier_hidden", i, "tier %u (%s) is %s", i, t->dev.name, t->hidden);
		}
	}
}

static bool read_only_wanted(const struct set *s)
{
	return s->dm.read_only || strings_have(&s->status.features, "read_only");
}

static void find_in_active(struct report *r)
{
	const struct set *s = r->set;
	const struct status *st = &s->status;
	char *resume, *point;

	if (s->dm.wiped) {
		point = device_mount_point(s->dm.dev);
		add_attention(r, "error_table", -1,
			      "its device has a table of \"error\" and fails every I/O, as dmsetup remove --force leaves it: %s%s%stierctl activate %s",
			      point ? "umount " : s->dm.open_count ? "close it, then " : "", point ? point : "",
			      point ? " && " : "", s->name);
		free(point);
		return;
	}
	if (!s->have_table) {
		add_attention(r, "no_table", -1, "no table is loaded: tierctl activate %s", s->name);
		return;
	}
	if (s->dm.removal_waits)
		add_attention(r, "removal_waits", -1,
			      "is taken away as soon as it is closed, as dmsetup remove --deferred asked for. To keep it: dmsetup message %s 0 @cancel_deferred_remove",
			      s->dm_name);
	if (s->dm.suspended) {
		resume = set_resume_command(s);
		add_attention(r, "suspended", -1, "suspended: I/O to it waits (%s)", resume);
		free(resume);
	}
	if (st->kind == STATUS_FAIL)
		add_attention(r, "failed", -1, "failed: every I/O to it is an error; the kernel log says why");
	if (st->kind == STATUS_ERROR)
		add_attention(r, "metadata_error", -1, "its metadata cannot be queried; the kernel log says why");
	if (st->kind == STATUS_WAITS)
		add_attention(r, "no_answer", -1, "the kernel does not tell how it is doing: it waits for the metadata device");
	else if (s->meta_hangs)
		add_attention(r, "no_answer", -1, "the metadata device %s does not answer", s->meta_dev.name);
	if (st->kind != STATUS_OK)
		return;
	if (st->needs_check)
		add_attention(r, "needs_check", -1, "its metadata needs a check");
	if (st->read_only && !read_only_wanted(s))
		add_attention(r, "read_only", -1, "has fallen to read-only; the kernel log says why");
	if (set_metadata_low(s))
		add_attention(r, "metadata_low", -1, "%u%% of its metadata device is used: grow it",
			      percent(st->metadata_used, st->metadata_total));
	if (st->held && !set_is_dumped(s->hex))
		add_attention(r, "metadata_snapshot", -1,
			      "a metadata snapshot is held, which keeps old metadata: dmsetup message %s 0 release_metadata_snap",
			      s->dm_name);
}

static void set_words(struct report *r)
{
	const struct set *s = r->set;
	bool missing = set_missing(s) > 0;

	if (!s->active)
		r->state = missing || s->problem ? "incomplete" : "inactive";
	else if (!s->have_table || (s->status.kind != STATUS_OK && s->status.kind != STATUS_WAITS))
		r->state = "failed";
	else
		r->state = s->dm.suspended ? "suspended" : "active";

	if (!strcmp(r->state, "failed"))
		r->health = "failed";
	else if (missing || r->lacking)
		r->health = "degraded";
	else
		r->health = r->nr_attention ? "attention" : "ok";
}

static void count_active(struct report *r)
{
	const struct status *st = &r->set->status;
	unsigned int i;

	if (st->kind != STATUS_OK || !r->set->have_table)
		return;
	r->have_chunks = true;
	r->mapped = st->mapped;
	r->pinned = st->pinned;
	r->chunks = st->chunks;
	for (i = 0; i < st->nr_tiers; i++) {
		r->used[i] = st->tier[i].used;
		if (st->tier[i].state == 'E' && st->tier[i].used && r->evacuating < 0)
			r->evacuating = i;
	}
}

/* The status may be newer than the table: it may belong to another table, which lacks a tier. */
static void note_missing(struct set *s)
{
	unsigned int i;

	for (i = 0; s->active && i < s->nr_tiers; i++)
		if (s->tier[i].state == '-')
			s->tier[i].present = false;
}

static void make(struct report *r, struct set *s)
{
	note_missing(s);
	memset(r, 0, sizeof(*r));
	r->set = s;
	r->health = "ok";
	r->evacuating = -1;
	/* Until the ranges have been looked for. */
	r->lost_cut = set_missing(s) > 0;
	if (s->active) {
		find_in_active(r);
		count_active(r);
	} else {
		if (s->problem)
			add_attention(r, "incomplete", -1, "%s", s->problem);
		if (s->info.flags & TIER_SB_NEEDS_CHECK)
			add_attention(r, "needs_check", -1, "its metadata needs a check");
		if (s->meta_hidden)
			add_attention(r, "metadata_hidden", -1, "its metadata device %s is %s", s->meta_dev.name,
				      s->meta_hidden);
		r->have_chunks = set_count_chunks(s, r->used, &r->mapped, &r->pinned);
		r->chunks = s->info.nr_chunks;
	}
	find_in_tiers(r);
	find_extended(r);
	find_problems(r, -1, &r->meta_health);
	set_words(r);
}

struct sample {
	u8 uuid[TIER_UUID_SIZE];
	uint64_t at_ms;
	uint64_t migrated;
	struct {
		uint64_t reads, writes, ios, read_sectors, written_sectors, ticks;
	} tier[TIER_MAX_TIERS];
};

static void take_sample(const struct set *s, struct sample *sample)
{
	unsigned int i;

	memset(sample, 0, sizeof(*sample));
	memcpy(sample->uuid, s->uuid, sizeof(sample->uuid));
	sample->at_ms = now_ms();
	sample->migrated = s->status.migrated;
	for (i = 0; i < s->nr_tiers; i++) {
		unsigned long long n[8] = { 0 };
		char *line = s->tier[i].present ? device_attribute(s->tier[i].dev.dev, "stat") : NULL;

		if (line && sscanf(line, "%llu %llu %llu %llu %llu %llu %llu %llu", &n[0], &n[1], &n[2],
				   &n[3], &n[4], &n[5], &n[6], &n[7]) != 8)
			memset(n, 0, sizeof(n));
		free(line);
		sample->tier[i].reads = s->status.tier[i].reads;
		sample->tier[i].writes = s->status.tier[i].writes;
		sample->tier[i].ios = n[0] + n[4];
		sample->tier[i].read_sectors = n[2];
		sample->tier[i].written_sectors = n[6];
		sample->tier[i].ticks = n[3] + n[7];
	}
}

/* Counters start again when a tier or the set comes back. */
static uint64_t per_second(uint64_t before, uint64_t after, uint64_t ms)
{
	return ms && after > before ? (uint64_t)((double)(after - before) * 1000 / ms) : 0;
}

static void set_rates(struct report *r, const struct sample *a, const struct sample *b)
{
	uint64_t ms = b->at_ms - a->at_ms;
	unsigned int i;

	r->have_rates = true;
	r->moved_bytes_rate = per_second(a->migrated, b->migrated, ms) * SECTOR_SIZE;
	for (i = 0; i < r->set->nr_tiers; i++) {
		uint64_t ios = b->tier[i].ios - a->tier[i].ios;
		struct rate *rate = &r->rate[i];

		rate->reads = per_second(a->tier[i].reads, b->tier[i].reads, ms);
		rate->writes = per_second(a->tier[i].writes, b->tier[i].writes, ms);
		rate->read_bytes = SECTOR_SIZE *
			per_second(a->tier[i].read_sectors, b->tier[i].read_sectors, ms);
		rate->written_bytes = SECTOR_SIZE *
			per_second(a->tier[i].written_sectors, b->tier[i].written_sectors, ms);
		if (ios && b->tier[i].ticks >= a->tier[i].ticks)
			rate->await_ms = (double)(b->tier[i].ticks - a->tier[i].ticks) / ios;
	}
}

bool report_measurable(const struct set *s)
{
	return s->active && s->have_table && s->status.kind == STATUS_OK;
}

struct samples {
	unsigned int nr;
	struct sample *sample;
};

struct samples *samples_take(struct set **sets, unsigned int nr)
{
	struct samples *samples = xcalloc(1, sizeof(*samples));
	unsigned int i;

	samples->nr = nr;
	samples->sample = xcalloc(nr, sizeof(*samples->sample));
	for (i = 0; i < nr; i++)
		take_sample(sets[i], &samples->sample[i]);
	return samples;
}

void samples_free(struct samples *samples)
{
	if (samples)
		free(samples->sample);
	free(samples);
}

static const struct sample *find_sample(const struct samples *samples, const struct set *s)
{
	unsigned int i;

	for (i = 0; samples && i < samples->nr; i++)
		if (!memcmp(samples->sample[i].uuid, s->uuid, sizeof(s->uuid)))
			return &samples->sample[i];
	return NULL;
}

struct report *reports_since(struct set **sets, unsigned int nr, const struct samples *before)
{
	struct report *reports = xcalloc(nr, sizeof(*reports));
	struct sample now;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct sample *then = find_sample(before, sets[i]);

		make(&reports[i], sets[i]);
		if (then && report_measurable(sets[i])) {
			take_sample(sets[i], &now);
			set_rates(&reports[i], then, &now);
		}
	}
	return reports;
}

struct report *reports_make(struct set **sets, unsigned int nr, unsigned int interval_ms)
{
	struct samples *before = NULL;
	struct report *reports;
	unsigned int i;

	if (interval_ms) {
		before = samples_take(sets, nr);
		sleep_ms(interval_ms);
		for (i = 0; i < nr; i++)
			if (report_measurable(sets[i]))
				set_look(sets[i]);
	}
	reports = reports_since(sets, nr, before);
	samples_free(before);
	return reports;
}

bool report_ask_holds(struct report *r)
{
	if (!report_measurable(r->set))
		return true;
	r->have_holds = !pairs_query(r->set, "holds", &r->holds);
	return r->have_holds;
}

void reports_free(struct report *reports, unsigned int nr)
{
	unsigned int i, j;

	for (i = 0; i < nr; i++) {
		for (j = 0; j < reports[i].nr_attention; j++) {
			free(reports[i].attention[j].code);
			free(reports[i].attention[j].device);
			free(reports[i].attention[j].text);
		}
		for (j = 0; j < TIER_MAX_TIERS; j++)
			health_free(&reports[i].tier_health[j]);
		health_free(&reports[i].meta_health);
		free(reports[i].attention);
		free(reports[i].lost);
		pairs_free(&reports[i].holds);
	}
	free(reports);
}

void report_look_at_tiers(struct report *r)
{
	r->have_wear = wear_query(r->set, r->wear);
	r->have_latency = latency_query(r->set, r->latency);
}
