// SPDX-License-Identifier: GPL-2.0-only
/* explain */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/progress.h"
#include "base/ranges.h"
#include "base/size.h"
#include "base/util.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "cmd/selection.h"
#include "dm/status.h"
#include "set/files.h"
#include "set/heat.h"
#include "set/set.h"
#include "tools/terminal.h"
#include "view/render-json.h"

/* Why a chunk is in its place, or why it could not be moved. */
static const struct {
	const char *reason, *sentence;
} sentences[] = {
	{ "unmapped", "It was never written, or discarded; it reads as zeroes." },
	{ "loaded", "It lay there already when the set was activated." },
	{ "first_write", "Its first write placed it there: where it is pinned, else the fastest tier that takes first writes and had room." },
	{ "policy", "The policy moved it there for its heat." },
	{ "migrate", "It was moved there by tierctl migrate." },
	{ "pin", "It was moved there because it is pinned." },
	{ "evacuate", "It was moved there when its former tier was evacuated." },
	{ "home", "It was moved there by tierctl migrate --home." },
	{ "make_room", "It was moved there to make room for another chunk." },
	{ "io_error", "It was to move, but the copy met an I/O error; the kernel log says which." },
	{ "aborted", "It was to move, but that was cancelled: by a suspend, a discard, a tier that hangs, or a set that went read-only." },
	{ "tier_full", "It was to move, but the tier it was to go to is full." },
	{ "tier_unusable", "It was to move, but the tier it was to go to is missing, evacuating or had a write error." },
};

/* What keeps a chunk from moving to a faster tier. */
static const struct {
	const char *held, *sentence;
} holds[] = {
	{ "nothing", "Nothing keeps it there: it moves to a faster tier when its turn comes." },
	{ "nothing_faster", "No faster tier takes chunks." },
	{ "cold", "It is too cold: hardly warmer than the coldest on the faster tier, or not worth any move." },
	{ "price", "It is warmer than what it would replace, but the move costs more time than it is expected to save." },
	{ "budget", "It would move if more of migration_bandwidth were left." },
	{ "endurance", "It would move, but the endurance of the faster tier is spent for now." },
	{ "guard", "It would move, but waits: latency_guard slows moves down for the sake of other I/O." },
	{ "load", "The faster tier is no faster as busy as it is now." },
	{ "residence", "It would move, but has not been where it is for as long as the tier's residence says." },
	{ "pinned", "Its pin decides where it is." },
	{ "paused", "It would move, but migration is paused: tierctl resume." },
	{ "full", "There is no room on the faster tier, and nothing can be moved away to make some." },
	{ "quiet", "It would move, but a tier sleeps." },
	{ "depth", "It moves after others: as many are under way as migration_depth allows." },
	{ "unread", "It would move, but heat is still being read from the metadata." },
	{ "busy", "It moves already, is not committed yet, or could not be moved a moment ago." },
	{ "requested", "tierctl migrate asked that it lies there." },
	{ "static", "The policy moves nothing by itself." },
	{ "read_only", "The set is read-only." },
};

/* NULL where there is nothing to say. */
static const char *held_sentence(const struct chunk_info *info)
{
	unsigned int i;

	for (i = 0; i < sizeof(holds) / sizeof(*holds); i++)
		if (!strcmp(info->held, holds[i].held))
			return holds[i].sentence;
	return NULL;
}

static const char *sentence_of(const struct chunk_info *info)
{
	unsigned int i;

	if (!strcmp(info->state, "missing"))
		return "Its tier is missing: reading or writing it is an I/O error.";
	for (i = 0; i < sizeof(sentences) / sizeof(*sentences); i++)
		if (!strcmp(info->reason, sentences[i].reason))
			return sentences[i].sentence;
	return "The kernel gives a reason that this version of tierctl does not know.";
}

static const char *state_words(const struct chunk_info *info)
{
	if (!strcmp(info->state, "new"))
		return "new, not committed yet";
	if (!strcmp(info->state, "migrating"))
		return "on the move";
	return info->state;
}

static const char *tier_name(const struct set *s, int rank)
{
	const struct set_tier *t = &s->tier[rank];

	return t->present ? t->dev.name : "missing";
}

static void explain_one(const struct set *s, const struct chunk_info *info)
{
	uint64_t chunk = s->chunk_sectors * SECTOR_SIZE;
	char size[SIZE_TEXT], at[SIZE_TEXT];

	say(s->ctx, "%s chunk %llu: %s at %s of the device", s->name, (unsigned long long)info->chunk,
	    format_size(size, chunk), format_size(at, info->chunk * chunk));
	if (info->rank >= 0)
		say(s->ctx, "tier     %d (%s), place %llu, which is sector %llu of it", info->rank,
		    tier_name(s, info->rank), (unsigned long long)info->place,
		    (unsigned long long)(info->place * s->chunk_sectors));
	else
		say(s->ctx, "tier     none");
	say(s->ctx, "heat     %llu (reads %llu, writes %llu)", (unsigned long long)info->heat,
	    (unsigned long long)info->reads, (unsigned long long)info->writes);
	if (info->pin >= 0)
		say(s->ctx, "pin      to tier %d", info->pin);
	else
		say(s->ctx, "pin      none");
	say(s->ctx, "state    %s", state_words(info));
	say(s->ctx, "reason   %s", sentence_of(info));
	if (held_sentence(info))
		say(s->ctx, "stays    %s", held_sentence(info));
}

/* Chunks in the same state. */
struct group {
	struct chunk_info like;
	struct ranges chunks;
	uint64_t heat;
};

struct groups {
	unsigned int nr;
	struct group *group;
};

static void add_to_group(struct groups *g, const struct chunk_info *info)
{
	struct group *group;
	unsigned int i;

	for (i = 0; i < g->nr; i++) {
		group = &g->group[i];
		if (group->like.rank == info->rank && group->like.pin == info->pin &&
		    !strcmp(group->like.state, info->state) && !strcmp(group->like.reason, info->reason) &&
		    !strcmp(group->like.held, info->held))
			break;
	}
	if (i == g->nr) {
		g->group = xrealloc(g->group, g->nr + 1, sizeof(*g->group));
		group = &g->group[g->nr++];
		memset(group, 0, sizeof(*group));
		group->like = *info;
	}
	group = &g->group[i];
	ranges_add(&group->chunks, info->chunk, 1);
	group->heat += info->heat;
}

#define RANGES_SHOWN	8

static void say_chunks(struct tier_context *ctx, const struct ranges *chunks)
{
	struct text t = { 0 };
	unsigned int i;

	text_add(&t, "  chunks ");
	for (i = 0; i < chunks->nr && (i < RANGES_SHOWN || terminal_of(ctx)->verbose); i++) {
		const struct range *r = &chunks->range[i];

		text_add(&t, "%s%llu", i ? ", " : "", (unsigned long long)r->first);
		if (r->count > 1)
			text_add(&t, "-%llu", (unsigned long long)(r->first + r->count - 1));
	}
	say(ctx, "%s%s", t.s, i < chunks->nr ? ", ... (-v or --json for all)" : "");
	text_free(&t);
}

static void say_groups(const struct target *t, struct groups *g)
{
	char size[SIZE_TEXT];
	unsigned int i;

	for (i = 0; i < g->nr; i++) {
		struct group *group = &g->group[i];
		uint64_t n = ranges_total(&group->chunks);
		struct text line = { 0 };

		text_add(&line, "%s", format_size(size, n * t->set->chunk_sectors * SECTOR_SIZE));
		if (group->like.rank >= 0)
			text_add(&line, " on tier %d (%s)", group->like.rank,
				 tier_name(t->set, group->like.rank));
		text_add(&line, ", %s", state_words(&group->like));
		if (group->like.pin >= 0)
			text_add(&line, ", pinned to tier %d", group->like.pin);
		say(t->list.ctx, "%s, heat %.1f a chunk", line.s, (double)group->heat / n);
		text_free(&line);
		say(t->list.ctx, "  %s", sentence_of(&group->like));
		if (held_sentence(&group->like))
			say(t->list.ctx, "  %s", held_sentence(&group->like));
		say_chunks(t->list.ctx, &group->chunks);
	}
}

static json_object *chunk_object(const struct chunk_info *info)
{
	json_object *o = json_object_new_object();

	put_number(o, "chunk", info->chunk);
	put_rank(o, "tier", info->rank);
	json_object_object_add(o, "place", info->rank < 0 ? NULL : json_object_new_uint64(info->place));
	put_number(o, "heat", info->heat);
	put_number(o, "reads", info->reads);
	put_number(o, "writes", info->writes);
	put_rank(o, "pin", info->pin);
	put_string(o, "state", info->state);
	put_string(o, "reason", info->reason);
	put_string(o, "held", *info->held ? info->held : NULL);
	return o;
}

static void add_paths(json_object *set, const struct target *t)
{
	json_object *paths = json_object_new_array();
	unsigned int i;

	for (i = 0; i < t->nr_paths; i++) {
		const struct where *w = &t->path[i].where;
		json_object *o = json_object_new_object();

		put_string(o, "path", t->path[i].path);
		put_number(o, "files", w->files);
		put_number(o, "extents", w->extents);
		put_number(o, "bytes", w->bytes);
		put_number(o, "chunks", ranges_total(&w->chunks));
		json_object_array_add(paths, o);
	}
	json_object_object_add(set, "paths", paths);
}

static void say_paths(const struct target *t)
{
	char size[SIZE_TEXT];
	unsigned int i;

	for (i = 0; i < t->nr_paths; i++) {
		const struct where *w = &t->path[i].where;
		char *name = xstrdup(t->path[i].path);

		make_printable(name);
		say(t->list.ctx, "%s: %s of %llu file%s, %llu extent%s, in %llu chunk%s of %s", name,
		    format_size(size, w->bytes), (unsigned long long)w->files, w->files == 1 ? "" : "s",
		    (unsigned long long)w->extents, w->extents == 1 ? "" : "s",
		    (unsigned long long)ranges_total(&w->chunks),
		    ranges_total(&w->chunks) == 1 ? "" : "s", t->set->name);
		where_warn(t->list.ctx, w, name);
		free(name);
	}
}

/* Asks for each chunk.  The first answer goes to *only, too. */
static bool ask_chunks(const struct target *t, struct groups *g, json_object *list, struct chunk_info *only)
{
	uint64_t done = 0, total = ranges_total(&t->chunks), n;
	struct chunk_info info;
	struct progress progress;
	unsigned int i;
	bool good = true;

	progress_start(t->list.ctx, &progress);
	for (i = 0; i < t->chunks.nr && good; i++) {
		for (n = 0; n < t->chunks.range[i].count && good; n++) {
			good = !chunk_query(t->set, t->chunks.range[i].first + n, &info);
			if (!good)
				break;
			if (!done)
				*only = info;
			if (list)
				json_object_array_add(list, chunk_object(&info));
			add_to_group(g, &info);
			progress_bar(&progress, t->set->name, ++done, total);
		}
	}
	progress_end(&progress);
	return good;
}

static int explain(const struct target *t)
{
	json_object *set = NULL, *list = NULL;
	struct chunk_info only;
	struct groups g = { 0 };
	unsigned int i;
	bool good;

	if (terminal_of(t->list.ctx)->json) {
		set = json_new_set(t->set);
		put_number(set, "chunk_size", t->set->chunk_sectors * SECTOR_SIZE);
		add_paths(set, t);
		list = json_object_new_array();
		json_object_object_add(set, "chunk_list", list);
	}
	good = ask_chunks(t, &g, list, &only);
	if (good && ranges_total(&t->chunks) == 1 && !t->nr_paths) {
		explain_one(t->set, &only);
	} else if (good) {
		say_paths(t);
		say_groups(t, &g);
	}
	for (i = 0; i < g.nr; i++)
		ranges_free(&g.group[i].chunks);
	free(g.group);
	return good ? EXIT_DONE : EXIT_FAILED;
}

int cmd_explain(const struct args *args)
{
	struct target t;
	int code = target_parse(args, "explain", 0, &t);

	if (!code)
		code = explain(&t);
	target_free(&t);
	return code;
}
