// SPDX-License-Identifier: GPL-2.0-only
/* create */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/context.h"
#include "base/size.h"
#include "base/suggest.h"
#include "base/util.h"
#include "base/words.h"
#include "block/device.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/dm.h"
#include "dm/table.h"
#include "dm/tunable.h"
#include "format/build.h"
#include "format/geometry.h"
#include "ops/mirrored.h"
#include "set/candidate.h"
#include "set/lock.h"
#include "set/member.h"
#include "set/message.h"
#include "set/owner.h"
#include "set/set.h"
#include "set/tier.h"
#include "set/wipe.h"

struct creation {
	struct tier_context *ctx;
	const char *name;
	struct candidate meta;		/* unless the metadata lies on the tiers */
	unsigned int legs;		/* then on so many, else 0 */
	struct mirrored_set mirrored;
	unsigned int nr_tiers;
	struct candidate tier[TIER_MAX_TIERS];
	uint64_t chunk_sectors;
	uint64_t places;		/* usable, of all tiers */
	uint64_t capacity;		/* chunks */
	uint64_t length;		/* sectors */
	bool wiped;
	struct table table;
	unsigned int nr_tunables;
	struct tunable *tunables;
};

/*
 * Arguments
 */

static int parse_length(const struct args *args, uint64_t *sectors)
{
	uint64_t bytes;
	int r;

	*sectors = 0;
	if (!args->given[OPT_SIZE])
		return 0;
	r = parse_size(args->value[OPT_SIZE], &bytes);
	if (r) {
		err(args->ctx, ERR_USAGE, "create: --size %s %s.", args->value[OPT_SIZE], size_error(r));
		return EXIT_USAGE;
	}
	if (!bytes || bytes % 4096) {
		err(args->ctx, ERR_USAGE, "create: --size %s is not a multiple of 4k.", args->value[OPT_SIZE]);
		return EXIT_USAGE;
	}
	*sectors = bytes / SECTOR_SIZE;
	return 0;
}

/* False with the error said. tunable_parse() checks words without "=", and keys of a tier. */
static bool check_key(struct tier_context *ctx, const char *assignment, const char *policy)
{
	size_t len = strcspn(assignment, "=");
	char *key = xstrndup(assignment, len), *meant;
	struct suggestion g;
	bool good;

	suggestion_init(&g, key);
	tunable_offer(&g, policy);
	good = !assignment[len] || !len || strchr(key, '.') || (g.best && !strcmp(g.best, key));
	meant = suggestion_text(&g, "");
	if (!good)
		err(ctx, ERR_USAGE, "create: --set %s: %s is no key of a set with the policy %s.%s",
		    assignment, key, strcmp(policy, "static") ? "heat" : policy, meant);
	free(meant);
	free(key);
	return good;
}

/* These are in the table so that the kernel checks them before it formats anything. */
static int parse_settings(const struct args *args, struct creation *c)
{
	unsigned int i;

	c->tunables = xcalloc(args->settings.nr, sizeof(*c->tunables));
	for (i = 0; i < args->settings.nr; i++) {
		struct tunable *t = &c->tunables[i];
		char value[SIZE_TEXT], *wrong;

		if (!check_key(args->ctx, args->settings.s[i], c->table.policy))
			return EXIT_USAGE;
		wrong = tunable_parse(args->settings.s[i], c->chunk_sectors, c->nr_tiers, t);
		if (wrong) {
			err(args->ctx, ERR_USAGE, "create: --set %s %s.", args->settings.s[i], wrong);
			free(wrong);
			return EXIT_USAGE;
		}
		c->nr_tunables++;
		snprintf(value, sizeof(value), "%llu", (unsigned long long)t->value);
		pairs_add(t->policy ? &c->table.policy_args : &c->table.core, t->key, value);
	}
	return 0;
}

/* A device that cannot be found is refused later. */
static void choose_chunk_size(struct creation *c)
{
	uint64_t sectors = 0;
	struct device d;
	unsigned int i;

	for (i = 0; i < c->nr_tiers; i++) {
		if (device_from_name(c->tier[i].typed, &d))
			continue;
		sectors += d.size / SECTOR_SIZE;
		device_free(&d);
	}
	c->chunk_sectors = geometry_chunk_sectors(sectors);
}

static int parse_mirror(const struct args *args, struct creation *c)
{
	bool none = args->given[OPT_MIRROR];

	if (none && strcmp(args->value[OPT_MIRROR], "none")) {
		err(args->ctx, ERR_USAGE, "create: --mirror %s: only none can be said. Without it the metadata is mirrored on two tiers.",
		    args->value[OPT_MIRROR]);
		return EXIT_USAGE;
	}
	if (args->given[OPT_METADATA])
		return 0;
	c->legs = none ? 1 : LEGS_MAX;
	if (c->legs <= c->nr_tiers)
		return 0;
	err(args->ctx, ERR_USAGE,
	    "create: one tier alone has no mirror for its metadata. Name another one, or --metadata DEV; or --mirror none, and whoever loses the tier loses the set.");
	return EXIT_USAGE;
}

static int parse_arguments(const struct args *args, struct creation *c)
{
	unsigned int i;
	int code;

	c->name = args->word[0];
	c->meta.typed = args->value[OPT_METADATA];
	for (i = 1; i < args->nr; i++)
		c->tier[c->nr_tiers++].typed = args->word[i];

	code = check_name(args->ctx, c->name, "create");
	if (!code)
		code = parse_mirror(args, c);
	if (!code)
		code = parse_chunk_size(args, "create", &c->chunk_sectors);
	if (!code && !c->chunk_sectors)
		choose_chunk_size(c);
	if (!code)
		code = parse_length(args, &c->length);
	if (!code)
		code = parse_features(args, "create", &c->table.features);
	if (!code)
		code = parse_policy(args, "create", &c->table.policy);
	if (!code)
		code = parse_settings(args, c);
	return code;
}

/* Devices: all refusals are said, and nothing is touched if there is one */

/* The tiers, and behind them the metadata device, if there is one. */
static struct candidate *nth(struct creation *c, unsigned int i)
{
	return i < c->nr_tiers ? &c->tier[i] : &c->meta;
}

static unsigned int nr_devices(const struct creation *c)
{
	return c->nr_tiers + !c->legs;
}

static bool find_devices(struct creation *c)
{
	unsigned int i, j;
	bool good = true;

	for (i = 0; i < nr_devices(c); i++)
		good &= candidate_find(c->ctx, nth(c, i));
	if (!good)
		return false;
	for (i = 0; i < nr_devices(c); i++) {
		for (j = 0; j < i; j++) {
			const struct candidate *a = nth(c, i), *b = nth(c, j);

			if (a->dev.dev == b->dev.dev)
				err(c->ctx, ERR_USAGE, "%s: is listed twice (as %s too).", a->typed, b->typed);
			else if (device_overlaps(&a->dev, &b->dev))
				err(c->ctx, ERR_USAGE, "%s: overlaps %s.", a->typed, b->typed);
			else
				continue;
			good = false;
		}
	}
	return good;
}

/* A part of that set is one of these devices, so the set ends here. */
static bool is_overwritten(struct creation *c, const struct set *other)
{
	unsigned int i, n;

	for (i = 0; i < nr_devices(c); i++) {
		dev_t dev = nth(c, i)->dev.dev;

		if ((other->have_meta && other->meta_dev.dev == dev) || set_rank_of_device(other, dev) >= 0)
			return true;
		for (n = 0; n < other->nr_stray; n++)
			if (other->stray[n].dev == dev)
				return true;
	}
	return false;
}

/* A set that is inactive, or incomplete, will need its name again. */
static bool is_name_free(struct creation *c)
{
	struct set_list all;
	const struct set *other;
	bool good;

	sets_load(c->ctx, &all, true);
	other = sets_find(&all, c->name);
	good = !other || is_overwritten(c, other);
	if (!good)
		err(c->ctx, ERR_EXISTS,
		    "%s: a set that is not active has that name (%s). Choose another.", c->name,
		    other->hex);
	sets_free(&all);
	return good;
}

static bool check_devices(struct creation *c)
{
	struct set_list sets;
	bool good = true;
	unsigned int i;

	sets_load(c->ctx, &sets, false);
	for (i = 0; i < nr_devices(c); i++)
		good &= candidate_usable(nth(c, i), &sets, 0) && candidate_look_inside(c->ctx, nth(c, i), i == c->nr_tiers);
	sets_free(&sets);
	return good;
}

/*
 * Sizes
 */

static uint64_t sum_of_places(const struct creation *c)
{
	uint64_t places = 0;
	unsigned int i;

	for (i = 0; i < c->nr_tiers; i++)
		places += geometry_places(c->tier[i].dev.size / SECTOR_SIZE, c->chunk_sectors, c->mirrored.first_place);
	return places;
}

static bool check_tier_sizes(struct creation *c)
{
	char a[SIZE_TEXT], b[SIZE_TEXT], room[SIZE_TEXT];
	bool good = true;
	unsigned int i;

	if (c->legs)
		c->mirrored.first_place = geometry_first_place(sum_of_places(c), c->chunk_sectors);
	for (i = 0; i < c->nr_tiers; i++) {
		if (geometry_places(c->tier[i].dev.size / SECTOR_SIZE, c->chunk_sectors, c->mirrored.first_place))
			continue;
		err(c->ctx, ERR_UNSUITABLE, "%s: is too small (%s) for a chunk of %s beside the label%s%s.",
		    c->tier[i].typed, format_size(a, c->tier[i].dev.size),
		    format_size(b, c->chunk_sectors * SECTOR_SIZE), c->legs ? " and metadata, which take " : "",
		    c->legs ? format_size(room, c->mirrored.first_place * c->chunk_sectors * SECTOR_SIZE) : "");
		good = false;
	}
	c->places = sum_of_places(c);
	return good;
}

static bool choose_length(struct creation *c)
{
	uint64_t reserve = geometry_reserve(c->places), chunks;
	char a[SIZE_TEXT], b[SIZE_TEXT];

	c->capacity = c->places > reserve ? c->places - reserve : 0;
	if (!c->capacity) {
		err(c->ctx, ERR_NO_SPACE,
		    "create: the tiers have room for %llu chunks, %llu of them are needed for moving. " "Use larger devices or a smaller --chunksize.",
		    (unsigned long long)c->places, (unsigned long long)reserve);
		return false;
	}
	if (!c->length)
		c->length = c->capacity * c->chunk_sectors;
	chunks = (c->length + c->chunk_sectors - 1) / c->chunk_sectors;
	if (chunks > c->capacity) {
		err(c->ctx, ERR_NO_SPACE, "create: --size %s does not fit: at most %s (%llus).",
		    format_size(a, c->length * SECTOR_SIZE),
		    format_size(b, c->capacity * c->chunk_sectors * SECTOR_SIZE),
		    (unsigned long long)c->capacity * c->chunk_sectors);
		return false;
	}
	if (!md_build_fits(chunks)) {
		err(c->ctx, ERR_NO_SPACE,
		    "create: metadata cannot hold %llu chunks. Use a larger --chunksize.",
		    (unsigned long long)chunks);
		return false;
	}
	return true;
}

static bool check_metadata_size(const struct creation *c)
{
	uint64_t chunks = (c->length + c->chunk_sectors - 1) / c->chunk_sectors;
	uint64_t min = geometry_metadata_min(chunks), good = geometry_metadata_good(chunks);
	char a[SIZE_TEXT], b[SIZE_TEXT];

	if (c->legs)
		return true;
	if (c->meta.dev.size < min) {
		err(c->ctx, ERR_UNSUITABLE,
		    "%s: is too small (%s) for the metadata of %llu chunks. Give it %s, or use a larger --chunksize.",
		    c->meta.typed, format_size(a, c->meta.dev.size), (unsigned long long)chunks,
		    format_size(b, good));
		return false;
	}
	if (c->meta.dev.size < good)
		warn(c->ctx, "%s: %s of metadata will do, %s is better for %llu chunks.", c->meta.typed,
		     format_size(a, c->meta.dev.size), format_size(b, good), (unsigned long long)chunks);
	return true;
}

static bool plan(struct creation *c)
{
	return find_devices(c) && check_devices(c) && is_name_free(c) && check_tier_sizes(c) && choose_length(c) &&
	       check_metadata_size(c);
}

/* The same for metadata on the tiers. */
static void arrange(struct creation *c)
{
	struct mirrored_set *m = &c->mirrored;
	unsigned int i;

	m->ctx = c->ctx;
	m->name = c->name;
	m->policy = c->table.policy;
	uuid_generate(m->uuid);
	uuid_to_hex(m->hex, m->uuid);
	m->chunk_sectors = c->chunk_sectors;
	m->length = c->length;
	m->nr_tiers = c->nr_tiers;
	for (i = 0; i < c->nr_tiers; i++)
		m->tier[i] = &c->tier[i].dev;
	mirrored_arrange(m, c->legs);
}

/* Carrying it out */

static void say_plan(const struct args *args, const struct creation *c)
{
	char a[SIZE_TEXT], b[SIZE_TEXT];
	unsigned int i;

	say(c->ctx, "%s: %s, chunk %s%s", c->name, format_size(a, c->length * SECTOR_SIZE),
	    format_size(b, c->chunk_sectors * SECTOR_SIZE), chunk_size_note(args, c->chunk_sectors));
	for (i = 0; i < c->nr_tiers; i++)
		say(c->ctx, "  tier %u  %s  %s%s", i, c->tier[i].dev.name, format_size(a, c->tier[i].dev.size),
		    c->nr_tiers == 1 ? "" : !i ? "  (fastest)" : i + 1 == c->nr_tiers ? "  (slowest)" : "");
	if (c->legs)
		say(c->ctx, "  meta    on %s%s%s  %s%s", c->mirrored.mirror.leg[0].dev.name, c->legs > 1 ? " and " : "",
		    c->legs > 1 ? c->mirrored.mirror.leg[1].dev.name : "",
		    format_size(a, c->mirrored.mirror.size * SECTOR_SIZE), c->legs > 1 ? "  (mirrored)" : "");
	else
		say(c->ctx, "  meta    %s  %s", c->meta.dev.name, format_size(a, c->meta.dev.size));
}

/* The metadata on the tiers: what is lost with a device, and what it costs. */
static void warn_of_legs(const struct creation *c)
{
	const struct mirror_leg *leg = c->mirrored.mirror.leg;
	bool slow = c->legs > 1 && device_attribute_number(leg[1].dev.dev, "queue/rotational") &&
		    !device_attribute_number(leg[0].dev.dev, "queue/rotational");

	if (c->legs == 1)
		warn(c->ctx, "if %s is lost, so is the whole set, as its metadata lies there alone. A dump of it: tierctl dump %s -o FILE",
		     leg[0].dev.name, c->name);
	else if (devices_share_disk(leg[0].dev.dev, leg[1].dev.dev))
		warn(c->ctx, "%s and %s are on one disk: if it is lost, so is the whole set. A mirror on two disks: --metadata DEV",
		     leg[0].dev.name, leg[1].dev.name);
	else if (slow)
		warn(c->ctx, "what changes the map, an fsync of new data for one, waits for the disk %s, too, as half of the mirror lies there: it takes two to three times as long. To wait for flash alone: --metadata DEV, a mirror on flash",
		     leg[1].dev.name);
}

static void warn_of_loss(const struct creation *c)
{
	if (c->legs)
		warn_of_legs(c);
	else if (!device_is_mirrored(c->meta.dev.dev))
		warn(c->ctx,
		     "if %s is lost, so is the whole set: keep the metadata on a mirror. A dump of it: tierctl dump %s -o FILE",
		     c->meta.dev.name, c->name);
}

static char *device_number(const struct device *d)
{
	return xasprintf("%u:%u", major(d->dev), minor(d->dev));
}

static char *build_table(struct creation *c)
{
	unsigned int i;

	c->table.metadata = c->legs ? mirror_device_path(c->mirrored.hex) : device_number(&c->meta.dev);
	c->table.chunk_sectors = c->chunk_sectors;
	for (i = 0; i < c->nr_tiers; i++)
		c->table.tier[c->table.nr_tiers++] = device_number(&c->tier[i].dev);
	return table_build(&c->table);
}

/* One question for all contents that would be wiped. */
static bool agree_to_wipe(struct creation *c)
{
	struct text what = { 0 };
	unsigned int i;
	bool yes;

	for (i = 0; i < nr_devices(c); i++) {
		const struct candidate *d = nth(c, i);

		if (d->carries)
			text_add(&what, "%s%s (%s)", what.len ? ", " : "", d->typed, d->carries);
	}
	if (!what.len)
		return true;
	if (c->ctx->dry_run) {
		say(c->ctx, "Would wipe %s.", what.s);
		yes = true;
	} else {
		yes = ask(c->ctx, "Wipe %s?", what.s);
	}
	text_free(&what);
	return yes;
}

static bool wipe(struct creation *c)
{
	unsigned int i;

	for (i = 0; i < nr_devices(c); i++) {
		if (wipe_candidate(c->ctx, nth(c, i), i < c->nr_tiers ? c->chunk_sectors : 0)) {
			if (c->wiped)
				err(c->ctx, ERR_UNFINISHED, "Devices that were wiped before stay wiped.");
			return false;
		}
		c->wiped |= nth(c, i)->carries != NULL;
	}
	return true;
}

/* Settings in the table last only as long as the table; messages store them. */
static bool store_settings(const struct creation *c)
{
	struct set s = { .ctx = c->ctx, .active = true, .name = (char *)c->name, .dm.name = (char *)c->name };
	unsigned int i;
	bool good = true;

	for (i = 0; i < c->nr_tunables; i++)
		good &= !send_message(&s, "set %s %llu", c->tunables[i].key,
				      (unsigned long long)c->tunables[i].value);
	return good;
}

static int create_device(struct creation *c, const char *params)
{
	char uuid[sizeof(DM_UUID_PREFIX) + UUID_HEX], hex[UUID_HEX], *reason = NULL;
	int lock, r = 0;
	uuid_t random;

	uuid_generate(random);
	uuid_to_hex(hex, c->legs ? c->mirrored.uuid : random);
	snprintf(uuid, sizeof(uuid), "%s%s", DM_UUID_PREFIX, hex);
	verbose(c->ctx, "table: 0 %llu tier %s", (unsigned long long)c->length, params);
	lock = set_lock(hex, LOCK_DEVICE, true);
	if (c->legs)
		r = mirrored_write(&c->mirrored);
	if (!r)
		r = dm_create(c->name, uuid, c->length, params, false, &reason);
	if (r && c->legs)
		mirrored_undo(&c->mirrored);
	if (lock >= 0)
		close(lock);
	if (r && !reason)
		return EXIT_FAILED;
	if (r) {
		err(c->ctx, ERR_KERNEL_REFUSED, "%s: the kernel refused it: %s.%s", c->name, reason,
		    c->wiped ? " What was wiped stays wiped." : "");
		free(reason);
		return EXIT_FAILED;
	}
	context_set(c->ctx, hex, c->name);
	owner_record(c->ctx, c->name);
	if (!store_settings(c)) {
		err(c->ctx, ERR_KERNEL_REFUSED,
		    "%s: was created, and has its settings until it is deactivated. To make them last, repeat them by tierctl set.",
		    c->name);
		return EXIT_FAILED;
	}
	say(c->ctx, "Created /dev/mapper/%s.", c->name);
	return EXIT_DONE;
}

static int create(const struct args *args, struct creation *c)
{
	char *params, *version = NULL, *reason;
	int code = EXIT_FAILED;

	if (dm_name_exists(c->name)) {
		err(c->ctx, ERR_EXISTS, "%s: a device of that name exists. Choose another.", c->name);
		return EXIT_FAILED;
	}
	if (!c->ctx->dry_run && dm_tier_target(&version, &reason)) {
		err(c->ctx, ERR_KERNEL_REFUSED, "%s.", reason);
		free(reason);
		return EXIT_FAILED;
	}
	free(version);
	if (!plan(c))
		return EXIT_FAILED;
	if (c->legs)
		arrange(c);

	params = build_table(c);
	say_plan(args, c);
	warn_of_loss(c);
	if (!agree_to_wipe(c))
		goto out;
	if (c->ctx->dry_run) {
		say(c->ctx, "Would create %s with the table:\n0 %llu tier %s", c->name,
		    (unsigned long long)c->length, params);
		code = EXIT_DONE;
	} else if (wipe(c)) {
		code = create_device(c, params);
	}
out:
	free(params);
	return code;
}

int cmd_create(const struct args *args)
{
	struct creation c = { .ctx = args->ctx };
	unsigned int i;
	int code = parse_arguments(args, &c);

	if (!code)
		code = create(args, &c);
	for (i = 0; i < nr_devices(&c); i++)
		candidate_free(nth(&c, i));
	mirror_free(&c.mirrored.mirror);
	for (i = 0; i < c.nr_tunables; i++)
		tunable_free(&c.tunables[i]);
	free(c.tunables);
	table_free(&c.table);
	return code;
}
