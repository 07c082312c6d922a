// SPDX-License-Identifier: GPL-2.0-only
#include "view/render-json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/ranges.h"
#include "base/size.h"
#include "base/util.h"
#include "set/health.h"
#include "set/report.h"
#include "tools/check-run.h"
#include "tools/terminal.h"
#include "view/render.h"

#define SCHEMA	1

static const char *command_name;
static json_object *sets_array, *devices_array;
static bool stream;

void put_number(json_object *o, const char *key, uint64_t n)
{
	json_object_object_add(o, key, json_object_new_uint64(n));
}

/* A size of 0 means unknown: null. */
static void put_size(json_object *o, const char *key, uint64_t bytes)
{
	json_object_object_add(o, key, bytes ? json_object_new_uint64(bytes) : NULL);
}

void put_string(json_object *o, const char *key, const char *s)
{
	char *text = s ? to_utf8(s) : NULL;

	json_object_object_add(o, key, text ? json_object_new_string(text) : NULL);
	free(text);
}

void put_bool(json_object *o, const char *key, bool b)
{
	json_object_object_add(o, key, json_object_new_boolean(b));
}

void put_rank(json_object *o, const char *key, int rank)
{
	json_object_object_add(o, key, rank < 0 ? NULL : json_object_new_int(rank));
}

json_object *json_last_set(void)
{
	return json_object_array_get_idx(sets_array, json_object_array_length(sets_array) - 1);
}

json_object *json_new_set(const struct set *s)
{
	json_object *o = json_object_new_object();

	put_identity(o, s);
	json_object_array_add(sets_array, o);
	return o;
}

/* A tunable as a number if its value is one. */
static void put_value(json_object *o, const char *key, const char *value)
{
	uint64_t n;

	if (value && !parse_number(value, &n))
		put_number(o, key, n);
	else
		put_string(o, key, value);
}

static const char *tier_state(char state)
{
	switch (state) {
	case 'A':
		return "active";
	case 'E':
		return "evacuating";
	case 'F':
		return "errors";
	default:
		return "missing";
	}
}

static json_object *problems_array(const struct health *h)
{
	json_object *a = json_object_new_array();
	unsigned int i;

	for (i = 0; i < h->nr; i++)
		json_object_array_add(a, json_object_new_string(problem_word(h->problem[i].kind)));
	return a;
}

static json_object *rate_object(const struct rate *rate)
{
	json_object *o = json_object_new_object();

	put_number(o, "reads", rate->reads);
	put_number(o, "writes", rate->writes);
	put_number(o, "read_bytes", rate->read_bytes);
	put_number(o, "written_bytes", rate->written_bytes);
	json_object_object_add(o, "await_ms", json_object_new_double(rate->await_ms));
	return o;
}

static void add_wear(json_object *o, const struct wear *w)
{
	bool limited = w && w->allowed;

	json_object_object_add(o, "written_bytes", w ? json_object_new_uint64(w->written) : NULL);
	json_object_object_add(o, "endurance_used_bytes", limited ? json_object_new_uint64(w->used) : NULL);
	json_object_object_add(o, "endurance_allowed_bytes", limited ? json_object_new_uint64(w->allowed) : NULL);
	json_object_object_add(o, "endurance_left_days", limited ? json_object_new_double(w->days_left) : NULL);
}

static json_object *us(unsigned int ns)
{
	return ns ? json_object_new_double(ns / 1e3) : NULL;
}

static json_object *latency_object(const struct latency *l)
{
	json_object *o = json_object_new_object();
	unsigned int i;

	for (i = 0; i < LATENCY_CLASSES; i++) {
		json_object *class = json_object_new_object();

		json_object_object_add(class, "unloaded_us", us(l->class[i].unloaded_ns));
		json_object_object_add(class, "now_us", us(l->class[i].now_ns));
		json_object_object_add(o, latency_class[i], class);
	}
	return o;
}

static json_object *tier_object(const struct report *r, unsigned int rank)
{
	const struct set *s = r->set;
	const struct set_tier *t = &s->tier[rank];
	const struct tier_status *st = &s->status.tier[rank];
	json_object *o = json_object_new_object(), *chunks = NULL;
	bool live = s->active && r->have_chunks;
	char key[40];

	put_number(o, "tier", rank);
	json_object_object_add(o, "id", t->id < 0 ? NULL : json_object_new_int(t->id));
	put_string(o, "device", t->present ? t->dev.name : NULL);
	put_string(o, "last_seen", *t->last_seen ? t->last_seen : NULL);
	put_size(o, "size", t->size);
	put_string(o, "state", tier_state(t->present ? t->state : '-'));
	json_object_object_add(o, "problems", problems_array(&r->tier_health[rank]));
	if (r->have_chunks) {
		chunks = json_object_new_object();
		put_number(chunks, "used", r->used[rank]);
		put_number(chunks, "total", t->places);
	}
	json_object_object_add(o, "chunks", chunks);
	json_object_object_add(o, "reads", live ? json_object_new_uint64(st->reads) : NULL);
	json_object_object_add(o, "writes", live ? json_object_new_uint64(st->writes) : NULL);
	json_object_object_add(o, "errors", live ? json_object_new_uint64(st->errors) : NULL);
	json_object_object_add(o, "rate", r->have_rates ? rate_object(&r->rate[rank]) : NULL);
	snprintf(key, sizeof(key), "tier%u.endurance", rank);
	if (live)
		put_value(o, "endurance", status_tunable(&s->status, key));
	else
		json_object_object_add(o, "endurance", s->have_records ?
				       json_object_new_uint64(t->endurance) : NULL);
	add_wear(o, r->have_wear ? &r->wear[rank] : NULL);
	json_object_object_add(o, "latency", r->have_latency ? latency_object(&r->latency[rank]) : NULL);
	return o;
}

static json_object *metadata_object(const struct report *r)
{
	const struct set *s = r->set;
	const struct status *st = &s->status;
	json_object *o = json_object_new_object(), *on = json_object_new_array();
	bool live = s->active && r->have_chunks;
	const struct device *leg[LEGS_MAX];
	unsigned int i, legs = set_legs(s, leg);

	for (i = 0; i < legs; i++)
		json_object_array_add(on, json_object_new_string(leg[i]->name));
	put_string(o, "device", s->have_meta ? s->meta_dev.name : NULL);
	json_object_object_add(o, "on_tiers", on);
	put_size(o, "size", s->have_meta ? s->meta_dev.size : s->mirror.size * SECTOR_SIZE);
	json_object_object_add(o, "problems", problems_array(&r->meta_health));
	json_object_object_add(o, "used", live ?
		json_object_new_uint64(st->metadata_used * st->metadata_block * SECTOR_SIZE) : NULL);
	json_object_object_add(o, "total", live ?
		json_object_new_uint64(st->metadata_total * st->metadata_block * SECTOR_SIZE) : NULL);
	json_object_object_add(o, "snapshot_block", live && st->held ?
		json_object_new_uint64(st->held_root) : NULL);
	return o;
}

static json_object *migrations_object(const struct report *r)
{
	const struct status *st = &r->set->status;
	json_object *o;

	if (!r->set->active || !r->have_chunks)
		return NULL;
	o = json_object_new_object();
	put_number(o, "promotions", st->promotions);
	put_number(o, "demotions", st->demotions);
	put_number(o, "aborted", st->aborted);
	put_number(o, "failed", st->failed);
	put_number(o, "in_flight", st->in_flight);
	put_number(o, "migrated", st->migrated * SECTOR_SIZE);
	json_object_object_add(o, "rate", r->have_rates ?
			       json_object_new_uint64(r->moved_bytes_rate) : NULL);
	return o;
}

static json_object *tunables_object(const struct status *st)
{
	json_object *o = json_object_new_object();
	unsigned int i;

	for (i = 0; i < st->core.nr; i++)
		put_value(o, st->core.pair[i].key, st->core.pair[i].value);
	for (i = 0; i < st->policy_args.nr; i++)
		put_value(o, st->policy_args.pair[i].key, st->policy_args.pair[i].value);
	return o;
}

static json_object *chunks_object(const struct report *r)
{
	json_object *o;

	if (!r->have_chunks)
		return NULL;
	o = json_object_new_object();
	put_number(o, "total", r->chunks);
	put_number(o, "mapped", r->mapped);
	put_number(o, "pinned", r->pinned);
	return o;
}

static json_object *operation_object(const struct report *r)
{
	json_object *o;

	if (r->evacuating < 0)
		return NULL;
	o = json_object_new_object();
	put_string(o, "type", "evacuate");
	put_number(o, "tier", r->evacuating);
	put_number(o, "chunks_left", r->used[r->evacuating]);
	return o;
}

/* Ranges may be millions, and an object of each takes a kilobyte of memory. */
struct lost {
	uint64_t chunk;		/* bytes */
	unsigned int nr;
	struct range range[];
};

static int print_lost(json_object *a, struct printbuf *to, int level, int flags)
{
	const struct lost *lost = json_object_get_userdata(a);
	unsigned int i;

	(void)flags;
	printbuf_strappend(to, "[");
	for (i = 0; i < lost->nr; i++)
		sprintbuf(to, "%s\n%*s{ \"offset\":%llu, \"length\":%llu }", i ? "," : "", 2 * (level + 1), "",
			  (unsigned long long)(lost->range[i].first * lost->chunk),
			  (unsigned long long)(lost->range[i].count * lost->chunk));
	if (lost->nr)
		sprintbuf(to, "\n%*s", 2 * level, "");
	return printbuf_strappend(to, "]");
}

static void free_lost(json_object *a, void *lost)
{
	(void)a;
	free(lost);
}

/* Copied, as the report is gone when this is printed. */
static json_object *lost_array(const struct report *r)
{
	json_object *a = json_object_new_array();
	struct lost *lost = xrealloc(NULL, 1, sizeof(*lost) + r->nr_lost * sizeof(*lost->range));

	lost->chunk = r->set->chunk_sectors * SECTOR_SIZE;
	lost->nr = r->nr_lost;
	if (r->nr_lost)
		memcpy(lost->range, r->lost, r->nr_lost * sizeof(*lost->range));
	json_object_set_serializer(a, print_lost, lost, free_lost);
	return a;
}

static json_object *attention_array(const struct report *r)
{
	json_object *a = json_object_new_array(), *o;
	unsigned int i;

	for (i = 0; i < r->nr_attention; i++) {
		o = json_object_new_object();
		put_string(o, "code", r->attention[i].code);
		json_object_object_add(o, "tier", r->attention[i].tier < 0 ? NULL :
				       json_object_new_int(r->attention[i].tier));
		put_string(o, "device", r->attention[i].device);
		json_object_array_add(a, o);
	}
	return a;
}

void put_identity(json_object *o, const struct set *s)
{
	char *node = s->active ? xasprintf("/dev/mapper/%s", s->dm_name) : NULL;

	put_string(o, "name", s->name);
	put_string(o, "uuid", s->hex);
	put_string(o, "device", node);
	free(node);
}

static json_object *holds_object(const struct report *r)
{
	json_object *o = r->have_holds ? json_object_new_object() : NULL;
	unsigned int i;

	for (i = 0; i < r->holds.nr; i++)
		put_number(o, r->holds.pair[i].key, strtoull(r->holds.pair[i].value, NULL, 10));
	return o;
}

void json_add_report(const struct report *r)
{
	const struct set *s = r->set;
	const struct status *st = &s->status;
	bool live = s->active && r->have_chunks;
	json_object *o = json_object_new_object(), *tiers = json_object_new_array(), *features = NULL;
	unsigned int i;

	put_identity(o, s);
	put_size(o, "size", s->length * SECTOR_SIZE);
	put_size(o, "chunk_size", s->chunk_sectors * SECTOR_SIZE);
	put_string(o, "state", r->state);
	put_string(o, "health", r->health);
	put_string(o, "mode", live ? st->read_only ? "ro" : "rw" :
		   s->active && st->kind != STATUS_WAITS ? "fail" : NULL);
	json_object_object_add(o, "needs_check", live || s->have_info ? json_object_new_boolean(
			       live ? st->needs_check : s->info.flags & TIER_SB_NEEDS_CHECK) : NULL);
	put_string(o, "migration", live ? st->paused ? "paused" : "running" : NULL);
	put_string(o, "policy", live ? st->policy : s->have_info ? s->info.policy : NULL);
	json_object_object_add(o, "tunables", live ? tunables_object(st) : NULL);
	if (live) {
		features = json_object_new_array();
		for (i = 0; i < st->features.nr; i++)
			json_object_array_add(features, json_object_new_string(st->features.s[i]));
	}
	json_object_object_add(o, "features", features);
	json_object_object_add(o, "chunks", chunks_object(r));
	json_object_object_add(o, "metadata", metadata_object(r));
	for (i = 0; i < s->nr_tiers; i++)
		json_object_array_add(tiers, tier_object(r, i));
	json_object_object_add(o, "tiers", tiers);
	json_object_object_add(o, "migrations", migrations_object(r));
	json_object_object_add(o, "held_back", holds_object(r));
	json_object_object_add(o, "operation", operation_object(r));
	json_object_object_add(o, "lost_ranges", lost_array(r));
	put_bool(o, "lost_ranges_complete", !r->lost_cut);
	put_bool(o, "removal_waits", s->dm.removal_waits);
	json_object_object_add(o, "attention", attention_array(r));
	json_object_array_add(sets_array, o);
}

void json_add_scan(const struct member_list *devices, const struct set_list *sets)
{
	unsigned int i;

	for (i = 0; i < devices->nr; i++) {
		const struct member *m = &devices->member[i];
		json_object *o = json_object_new_object();
		struct role role;

		role_of(m, sets, &role);
		put_string(o, "device", m->dev.name);
		put_string(o, "node", m->dev.path);
		put_number(o, "size", m->dev.size);
		put_string(o, "role", role.role);
		put_string(o, "set", role.set ? role.set->name : NULL);
		put_string(o, "uuid", role.set ? role.set->hex : NULL);
		json_object_object_add(o, "tier", role.tier < 0 ? NULL : json_object_new_int(role.tier));
		json_object_object_add(o, "id", m->kind == MEMBER_TIER ?
				       json_object_new_int(m->label.id) : NULL);
		json_object_object_add(o, "generation", m->kind == MEMBER_TIER ?
				       json_object_new_uint64(m->label.generation) :
				       m->kind == MEMBER_METADATA ?
				       json_object_new_uint64(m->meta.generation) : NULL);
		put_string(o, "state", role.state);
		put_string(o, "hidden", m->hidden);
		json_object_array_add(devices_array, o);
	}
}

void json_add_tunables(const struct set *s, const char *key)
{
	json_object *o = json_object_new_object(), *one;

	put_identity(o, s);
	if (key) {
		one = json_object_new_object();
		put_value(one, key, status_tunable(&s->status, key));
		json_object_object_add(o, "tunables", one);
	} else {
		json_object_object_add(o, "tunables", tunables_object(&s->status));
	}
	json_object_array_add(sets_array, o);
}

void json_add_check(const char *name, const struct check_run *run, bool fine)
{
	json_object *o = json_object_new_object();

	put_string(o, "name", name);
	put_string(o, "metadata_device", run->input);
	put_bool(o, "good", fine);
	put_number(o, "errors", run->errors);
	put_number(o, "minor_errors", run->minor);
	put_bool(o, "needs_check", run->needs_check);
	put_bool(o, "needs_check_cleared", run->cleared);
	json_object_array_add(sets_array, o);
}

void json_start(const char *command)
{
	command_name = command;
	sets_array = json_object_new_array();
	stream = !strcmp(command, "events") || !strcmp(command, "dump");
	if (!strcmp(command, "scan"))
		devices_array = json_object_new_array();
}

/* Those lines of what was said. */
static json_object *lines_of(const struct terminal *t, enum line_level level)
{
	json_object *list = json_object_new_array();
	char *text, *line, *rest;
	unsigned int i;

	for (i = 0; i < t->nr_lines; i++) {
		if (t->line[i].level != level)
			continue;
		rest = text = to_utf8(t->line[i].text);
		while ((line = strsep(&rest, "\n")))
			json_object_array_add(list, json_object_new_string(line));
		free(text);
	}
	return list;
}

static json_object *errors_of(const struct terminal *t)
{
	json_object *list = json_object_new_array(), *e;
	unsigned int i;

	for (i = 0; i < t->nr_lines; i++) {
		if (t->line[i].level != LINE_ERROR)
			continue;
		e = json_object_new_object();
		put_string(e, "code", error_defs[t->line[i].code].name);
		put_string(e, "message", t->line[i].text);
		json_object_array_add(list, e);
	}
	return list;
}

static json_object *envelope(void)
{
	json_object *top = json_object_new_object(), *head = json_object_new_object();

	put_number(head, "schema", SCHEMA);
	put_string(head, "version", TIERCTL_VERSION);
	put_string(head, "command", command_name);
	json_object_object_add(top, "tierctl", head);
	json_object_object_add(top, "sets", sets_array);
	sets_array = NULL;
	return top;
}

static void print(json_object *top)
{
	puts(json_object_to_json_string_ext(top, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(top);
}

void json_finish(const struct terminal *t)
{
	json_object *top;

	if (stream) {
		json_object_put(sets_array);
		return;
	}
	top = envelope();
	if (devices_array)
		json_object_object_add(top, "devices", devices_array);
	devices_array = NULL;
	json_object_object_add(top, "errors", errors_of(t));
	print(top);
}

void json_finish_change(const struct terminal *t, int exit_code)
{
	json_object *top, *o;
	unsigned int i;

	for (i = 0; i < t->ctx.nr_sets; i++) {
		o = json_object_new_object();
		put_string(o, "name", t->ctx.set[i].name);
		put_string(o, "uuid", t->ctx.set[i].hex);
		json_object_array_add(sets_array, o);
	}
	top = envelope();
	put_bool(top, "changed", t->ctx.changed);
	put_bool(top, "dry_run", t->ctx.dry_run);
	put_number(top, "exit_status", exit_code);
	json_object_object_add(top, "messages", lines_of(t, LINE_RESULT));
	json_object_object_add(top, "warnings", lines_of(t, LINE_WARNING));
	json_object_object_add(top, "errors", errors_of(t));
	print(top);
}
