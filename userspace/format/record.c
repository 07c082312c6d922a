// SPDX-License-Identifier: GPL-2.0-only
#include "format/record.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "format/build.h"
#include "format/state.h"

#define LL(n)	((unsigned long long)(n))
#define VERSION	1

const char *const md_record_name[MD_NR_RECORDS] = { "set", "tier", "tunable", "map", "heat" };

/*
 * Writing
 */

static struct md_field *add_field(struct md_record *r, const char *name, bool number)
{
	struct md_field *f = &r->field[r->nr++];

	f->name = name;
	f->value = f->buf;
	f->number = number;
	return f;
}

static void add_number(struct md_record *r, const char *name, u64 value)
{
	struct md_field *f = add_field(r, name, true);

	snprintf(f->buf, sizeof(f->buf), "%llu", LL(value));
}

static void add_text(struct md_record *r, const char *name, const char *text)
{
	struct md_field *f = add_field(r, name, false);
	char *to = f->buf;

	for (; *text; text++) {
		if (*text < ' ' || *text > '~' || *text == '\\')
			to += sprintf(to, "\\x%02x", (unsigned char)*text);
		else
			*to++ = *text;
	}
	*to = '\0';
}

static void add_uuid(struct md_record *r, const char *name, const u8 *uuid)
{
	struct md_field *f = add_field(r, name, false);
	unsigned int i;

	for (i = 0; i < TIER_UUID_SIZE; i++)
		sprintf(f->buf + 2 * i, "%02x", uuid[i]);
}

static void set_record(struct md_record *r, const struct tier_meta_info *info)
{
	*r = (struct md_record){ .kind = MD_SET };
	add_number(r, "version", VERSION);
	add_uuid(r, "uuid", info->uuid);
	add_text(r, "name", info->name);
	add_text(r, "state", md_state_name(info->state));
	add_text(r, "policy", info->policy);
	add_number(r, "chunk_sectors", info->chunk_sectors);
	add_number(r, "nr_chunks", info->nr_chunks);
	add_number(r, "length", info->length);
	add_number(r, "reserve", info->reserve);
	add_number(r, "logical_block_size", info->logical_block_size);
	add_number(r, "generation", info->generation);
	add_number(r, "next_generation", info->next_generation);
	add_number(r, "trans_id", info->trans_id);
	add_number(r, "needs_check", !!(info->flags & TIER_SB_NEEDS_CHECK));
	add_number(r, "clean", !!(info->flags & TIER_SB_CLEAN));
	add_number(r, "paused", !!(info->flags & TIER_SB_PAUSED));
	/* The tier that takes the set's place. */
	if (md_has_survivor(info->state))
		add_number(r, "home", md_survivor(info));
	add_number(r, "compat", info->compat_flags);
	add_number(r, "compat_ro", info->compat_ro_flags);
	/* What follows is not in older dumps. */
	if (info->incompat_flags)
		add_number(r, "incompat", info->incompat_flags);
	if (info->compat_flags & TIER_COMPAT_OWNER) {
		add_uuid(r, "owner_machine", info->owner.machine);
		add_uuid(r, "owner_boot", info->owner.boot);
		add_number(r, "owner_time", info->owner.time);
		add_number(r, "owner_trans_id", info->owner.trans_id);
	}
}

static void tier_record(struct md_record *r, const struct tier_meta_tier *t)
{
	*r = (struct md_record){ .kind = MD_TIER };
	add_number(r, "id", t->id);
	add_uuid(r, "uuid", t->uuid);
	add_number(r, "rank", t->rank);
	add_number(r, "size", t->size);
	add_number(r, "first_place", t->first_place);
	add_number(r, "places", t->places);
	add_number(r, "generation", t->generation);
	add_number(r, "next_generation", t->next_generation);
	add_number(r, "evacuate", !!(t->flags & TIER_RECORD_EVACUATE));
	add_number(r, "endurance", t->endurance);
	add_number(r, "reserve", t->reserve);
	add_number(r, "landing", t->landing);
	add_text(r, "last_seen", t->last_seen);
	if (t->wear)
		add_number(r, "wear", t->wear);
	if (t->latency)
		add_number(r, "latency", t->latency);
	if (t->watermark)
		add_number(r, "watermark", t->watermark);
	if (t->quiet)
		add_number(r, "quiet", t->quiet);
	if (t->residence)
		add_number(r, "residence", t->residence);
}

/* A run has the same tier and pin, and places that follow each other. */
static bool follows(u64 entry, u64 first, u64 distance)
{
	return entry == (first & TIER_ENTRY_MAPPED ? first + distance : first);
}

static void map_record(struct md_record *r, u64 chunk, u64 chunks, u64 entry)
{
	r->kind = MD_MAP;
	r->nr = 0;
	add_number(r, "chunk", chunk);
	add_number(r, "chunks", chunks);
	if (entry & TIER_ENTRY_MAPPED) {
		add_number(r, "tier", md_entry_id(entry));
		add_number(r, "place", entry & TIER_ENTRY_PLACE_MASK);
	}
	if (md_entry_pin(entry))
		add_number(r, "pin", md_entry_pin(entry) - 1);
}

static void heat_record(struct md_record *r, u64 chunk, u64 chunks, u32 heat)
{
	r->kind = MD_HEAT;
	r->nr = 0;
	add_number(r, "chunk", chunk);
	add_number(r, "chunks", chunks);
	add_number(r, "reads", TIER_HEAT_READS(heat));
	add_number(r, "writes", TIER_HEAT_WRITES(heat));
}

void md_dump(const struct md_content *c, void (*fn)(void *context, const struct md_record *r),
	     void *context)
{
	struct md_record *r = xcalloc(1, sizeof(*r));
	u64 i, n, nr = c->info.nr_chunks;

	set_record(r, &c->info);
	fn(context, r);
	for (i = 0; i < c->tiers.nr; i++) {
		tier_record(r, &c->tiers.tier[i]);
		fn(context, r);
	}
	for (i = 0; i < c->tunables.nr; i++) {
		*r = (struct md_record){ .kind = MD_TUNABLE };
		add_text(r, "name", c->tunables.tunable[i].name);
		add_number(r, "value", c->tunables.tunable[i].value);
		fn(context, r);
	}
	for (i = 0; i < nr; i += n) {
		for (n = 1; i + n < nr && follows(c->mapping[i + n], c->mapping[i], n); n++)
			;
		if (c->mapping[i]) {
			map_record(r, i, n, c->mapping[i]);
			fn(context, r);
		}
	}
	for (i = 0; i < nr; i += n) {
		for (n = 1; i + n < nr && c->heat[i + n] == c->heat[i]; n++)
			;
		if (c->heat[i]) {
			heat_record(r, i, n, c->heat[i]);
			fn(context, r);
		}
	}
	free(r);
}

/*
 * Reading
 */

bool md_undump_fail(struct md_undump *u, const char *fmt, ...)
{
	va_list ap;

	if (!u->error) {
		va_start(ap, fmt);
		u->error = xvasprintf(fmt, ap);
		va_end(ap);
	}
	return false;
}

/* NULL, without an error, if the field is missing. */
static const char *find(struct md_record *r, const char *name)
{
	unsigned int i;

	for (i = 0; i < r->nr; i++)
		if (!strcmp(r->field[i].name, name)) {
			r->field[i].used = true;
			return r->field[i].value;
		}
	return NULL;
}

static const char *need(struct md_undump *u, struct md_record *r, const char *name)
{
	const char *value = find(r, name);

	if (!value)
		md_undump_fail(u, "%s: no %s", md_record_name[r->kind], name);
	return value;
}

static u64 number(struct md_undump *u, struct md_record *r, const char *name, u64 max)
{
	const char *value = need(u, r, name), *p;
	u64 n = 0;

	if (!value)
		return 0;
	for (p = value; isdigit((unsigned char)*p); p++) {
		if (n > (max - (*p - '0')) / 10 || (unsigned int)(*p - '0') > max)
			break;
		n = 10 * n + (*p - '0');
	}
	if (!*value || *p)
		md_undump_fail(u, "%s: %s is \"%.32s\", not a number up to %llu", md_record_name[r->kind],
			       name, value, LL(max));
	return n;
}

/* 0 if it is not there. */
static u64 optional(struct md_undump *u, struct md_record *r, const char *name, u64 max)
{
	return find(r, name) ? number(u, r, name, max) : 0;
}

static int hex(char c)
{
	if (!isxdigit((unsigned char)c))
		return -1;
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

static void text(struct md_undump *u, struct md_record *r, const char *name, char *to, size_t size)
{
	const char *value = need(u, r, name), *p = value;
	size_t len = 0;

	memset(to, 0, size);
	while (p && *p) {
		int c = *p++;

		if (c == '\\') {
			if (*p != 'x' || hex(p[1]) < 0 || hex(p[2]) < 0)
				break;
			c = hex(p[1]) << 4 | hex(p[2]);
			p += 3;
		}
		if (!c || len + 1 == size) {
			p = "?";
			break;
		}
		to[len++] = c;
	}
	if (p && *p)
		md_undump_fail(u, "%s: %s is too long, or has a backslash without xNN after it",
			       md_record_name[r->kind], name);
}

static void uuid(struct md_undump *u, struct md_record *r, const char *name, u8 *to)
{
	const char *value = need(u, r, name);
	unsigned int i;

	if (!value)
		return;
	for (i = 0; i < TIER_UUID_SIZE; i++) {
		if (hex(value[2 * i]) < 0 || hex(value[2 * i + 1]) < 0)
			break;
		to[i] = hex(value[2 * i]) << 4 | hex(value[2 * i + 1]);
	}
	if (i < TIER_UUID_SIZE || value[2 * i])
		md_undump_fail(u, "%s: %s is not 32 hex digits", md_record_name[r->kind], name);
}

static u32 state(struct md_undump *u, struct md_record *r)
{
	const char *value = need(u, r, "state");
	u32 i;

	for (i = TIER_STATE_FORMATTING; value && i <= TIER_STATE_RETIRED; i++)
		if (!strcmp(value, md_state_name(i)))
			return i;
	if (value)
		md_undump_fail(u, "set: state is \"%.32s\"", value);
	return TIER_STATE_LIVE;
}

static void take_set(struct md_undump *u, struct md_record *r)
{
	u64 max = u->max_blocks ? u->max_blocks : MD_MAX_BLOCKS;
	struct tier_meta_info info = { 0 };

	if (number(u, r, "version", UINT32_MAX) != VERSION)
		md_undump_fail(u, "set: not version %u of the format", VERSION);
	uuid(u, r, "uuid", info.uuid);
	text(u, r, "name", info.name, sizeof(info.name));
	info.state = state(u, r);
	text(u, r, "policy", info.policy, sizeof(info.policy));
	info.chunk_sectors = number(u, r, "chunk_sectors", TIER_CHUNK_SECTORS_MAX);
	info.nr_chunks = number(u, r, "nr_chunks", TIER_MAX_CHUNKS);
	info.length = number(u, r, "length", UINT64_MAX);
	info.reserve = number(u, r, "reserve", UINT64_MAX);
	info.logical_block_size = number(u, r, "logical_block_size", UINT32_MAX);
	info.generation = number(u, r, "generation", UINT64_MAX);
	info.next_generation = number(u, r, "next_generation", UINT64_MAX);
	info.trans_id = number(u, r, "trans_id", UINT64_MAX);
	info.flags = number(u, r, "needs_check", 1) * TIER_SB_NEEDS_CHECK |
		     number(u, r, "clean", 1) * TIER_SB_CLEAN |
		     number(u, r, "paused", 1) * TIER_SB_PAUSED;
	if (md_has_survivor(info.state))
		info.flags |= number(u, r, "home", TIER_MAX_ID) << TIER_SB_HOME_SHIFT;
	info.compat_flags = number(u, r, "compat", UINT32_MAX);
	info.compat_ro_flags = number(u, r, "compat_ro", UINT32_MAX);
	info.incompat_flags = optional(u, r, "incompat", UINT32_MAX);
	if (info.incompat_flags & ~TIER_FEATURES_INCOMPAT)
		md_undump_fail(u, "set: unknown features, incompat 0x%x", info.incompat_flags);
	if (info.compat_flags & TIER_COMPAT_OWNER) {
		uuid(u, r, "owner_machine", info.owner.machine);
		uuid(u, r, "owner_boot", info.owner.boot);
		info.owner.time = number(u, r, "owner_time", UINT64_MAX);
		info.owner.trans_id = number(u, r, "owner_trans_id", UINT64_MAX);
	}
	if (u->error)
		return;
	if (!tier_meta_info_valid(&info)) {
		md_undump_fail(u, "set: values that do not go together");
		return;
	}
	/* Before memory for so many chunks is allocated. */
	if (md_build_needs(info.nr_chunks) > max) {
		md_undump_fail(u, "set: %llu chunks need at least %llu bytes of metadata, there is room for %llu",
			       LL(info.nr_chunks), LL(md_build_needs(info.nr_chunks) * MD_BLOCK), LL(max * MD_BLOCK));
		return;
	}
	md_content_init(u->content, &info);
	u->have_set = true;
}

static void take_tier(struct md_undump *u, struct md_record *r)
{
	struct md_tiers *tiers = &u->content->tiers;
	struct tier_meta_tier t = { 0 };
	struct tier_record judged;
	char last_seen[32];	/* dumps of before have longer ones, which are cut as the kernel does */

	t.id = number(u, r, "id", TIER_MAX_ID);
	uuid(u, r, "uuid", t.uuid);
	t.rank = number(u, r, "rank", TIER_MAX_TIERS - 1);
	t.size = number(u, r, "size", UINT64_MAX);
	t.first_place = number(u, r, "first_place", TIER_ENTRY_PLACE_MASK);
	t.places = number(u, r, "places", TIER_ENTRY_PLACE_MASK);
	t.generation = number(u, r, "generation", UINT64_MAX);
	t.next_generation = number(u, r, "next_generation", UINT64_MAX);
	t.flags = number(u, r, "evacuate", 1) * TIER_RECORD_EVACUATE;
	t.endurance = number(u, r, "endurance", TIER_MAX_ALLOWANCE);
	t.reserve = number(u, r, "reserve", TIER_MAX_ALLOWANCE);
	t.landing = number(u, r, "landing", TIER_LANDS_STREAMS);
	text(u, r, "last_seen", last_seen, sizeof(last_seen));
	memcpy(t.last_seen, last_seen, sizeof(t.last_seen) - 1);
	t.wear = optional(u, r, "wear", UINT32_MAX);
	t.latency = optional(u, r, "latency", TIER_MAX_LATENCY);
	t.watermark = optional(u, r, "watermark", TIER_MAX_WATERMARK);
	t.quiet = optional(u, r, "quiet", TIER_MAX_QUIET);
	t.residence = optional(u, r, "residence", UINT32_MAX);
	if (u->error)
		return;
	tier_record_pack(&judged, &t);
	if (tier_record_unpack(t.id, &judged, &t))
		md_undump_fail(u, "tier: id %u: values that do not go together", t.id);
	else if (tiers->nr == TIER_MAX_TIERS)
		md_undump_fail(u, "tier: more than %u", TIER_MAX_TIERS);
	else if (tiers->nr && tiers->tier[tiers->nr - 1].id >= t.id)
		md_undump_fail(u, "tier: id %u: not in order of id", t.id);
	else
		tiers->tier[tiers->nr++] = t;
}

static void take_tunable(struct md_undump *u, struct md_record *r)
{
	struct md_tunables *tunables = &u->content->tunables;
	struct md_tunable t;

	text(u, r, "name", t.name, sizeof(t.name));
	t.value = number(u, r, "value", UINT64_MAX);
	if (u->error)
		return;
	if (tunables->nr == TIER_MAX_TUNABLES)
		md_undump_fail(u, "tunable: more than %u", TIER_MAX_TUNABLES);
	else
		tunables->tunable[tunables->nr++] = t;
}

/* False if the range is outside the set. */
static bool range(struct md_undump *u, struct md_record *r, u64 *chunk, u64 *chunks)
{
	*chunk = number(u, r, "chunk", u->content->info.nr_chunks - 1);
	*chunks = number(u, r, "chunks", u->content->info.nr_chunks);
	if (!u->error && (!*chunks || *chunks > u->content->info.nr_chunks - *chunk))
		md_undump_fail(u, "%s: %llu chunks from %llu on, of %llu", md_record_name[r->kind],
			       LL(*chunks), LL(*chunk), LL(u->content->info.nr_chunks));
	return !u->error;
}

static void take_map(struct md_undump *u, struct md_record *r)
{
	u64 chunk, chunks, i, entry = 0;
	bool mapped = find(r, "tier") || find(r, "place");

	if (!range(u, r, &chunk, &chunks))
		return;
	if (mapped)
		entry = TIER_ENTRY_MAPPED |
			number(u, r, "tier", TIER_MAX_ID) << TIER_ENTRY_ID_SHIFT |
			number(u, r, "place", TIER_ENTRY_PLACE_MASK - (chunks - 1));
	if (find(r, "pin"))
		entry |= (number(u, r, "pin", TIER_MAX_ID) + 1) << TIER_ENTRY_PIN_SHIFT;
	else if (!mapped)
		md_undump_fail(u, "map: neither tier and place nor pin");
	for (i = 0; i < chunks && !u->error; i++) {
		if (u->content->mapping[chunk + i])
			md_undump_fail(u, "map: chunk %llu is there twice", LL(chunk + i));
		u->content->mapping[chunk + i] = mapped ? entry + i : entry;
	}
}

static void take_heat(struct md_undump *u, struct md_record *r)
{
	u64 chunk, chunks, i;
	u32 heat;

	if (!range(u, r, &chunk, &chunks))
		return;
	heat = number(u, r, "reads", 0xffff) | number(u, r, "writes", 0xffff) << 16;
	for (i = 0; i < chunks && !u->error; i++) {
		if (u->content->heat[chunk + i])
			md_undump_fail(u, "heat: chunk %llu is there twice", LL(chunk + i));
		u->content->heat[chunk + i] = heat;
	}
}

bool md_undump_record(struct md_undump *u, struct md_record *r)
{
	static void (*const take[])(struct md_undump *u, struct md_record *r) = {
		take_set, take_tier, take_tunable, take_map, take_heat,
	};
	unsigned int i, j;

	if (u->error)
		return false;
	if ((r->kind == MD_SET) == u->have_set)
		return md_undump_fail(u, u->have_set ? "set: there are two" : "%s: before the set",
				      md_record_name[r->kind]);
	for (i = 0; i < r->nr; i++) {
		r->field[i].used = false;
		for (j = 0; j < i; j++)
			if (!strcmp(r->field[i].name, r->field[j].name))
				return md_undump_fail(u, "%s: %s is there twice",
						      md_record_name[r->kind], r->field[i].name);
	}
	take[r->kind](u, r);
	for (i = 0; i < r->nr; i++)
		if (!r->field[i].used)
			md_undump_fail(u, "%s: unknown: %.32s", md_record_name[r->kind], r->field[i].name);
	return !u->error;
}
