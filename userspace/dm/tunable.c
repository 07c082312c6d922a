// SPDX-License-Identifier: GPL-2.0-only
#include "dm/tunable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/size.h"
#include "base/util.h"

enum unit { UNIT_COUNT, UNIT_KIB, UNIT_LEAST, UNIT_GIB, UNIT_CHUNK, UNIT_PERCENT, UNIT_SECONDS, UNIT_QUIET, UNIT_US,
	UNIT_LANDING };

struct known {
	const char *key;
	enum unit unit;
	uint64_t min, max;
};

static const struct known target_keys[] = {
	{ "migration_bandwidth", UNIT_KIB, 0, UINT32_MAX },
	{ "migration_depth", UNIT_COUNT, 1, 256 },
	{ "latency_guard", UNIT_PERCENT, 0, 1000 },
	{ "heat_interval", UNIT_SECONDS, 1, 86400 },
	{ "migration_min", UNIT_LEAST, 0, UINT32_MAX },
	{ NULL, 0, 0, 0 },
};

/* After "tierN.". */
static const struct known tier_keys[] = {
	{ "endurance", UNIT_GIB, 0, UINT32_MAX },
	{ "reserve", UNIT_CHUNK, 0, UINT32_MAX },
	{ "landing", UNIT_LANDING, 0, 3 },
	{ "latency", UNIT_US, 0, 4000000 },
	{ "watermark", UNIT_PERCENT, 0, 50 },
	{ "quiet", UNIT_QUIET, 0, 65535 },
	{ "residence", UNIT_QUIET, 0, UINT32_MAX },
	{ NULL, 0, 0, 0 },
};

/* As in heat/engine.c. */
static const char *const heat_keys[] = { "half_life", "admit", "headroom", "metadata_weight", NULL };

static const struct known *find(const struct known *list, const char *key)
{
	for (; list->key; list++)
		if (!strcmp(list->key, key))
			return list;
	return NULL;
}

static char *parse_units(const char *text, uint64_t unit, const char *called, uint64_t *value)
{
	uint64_t bytes;
	int r;

	if (!parse_number(text, value))
		return NULL;
	r = parse_size(text, &bytes);
	if (r)
		return xasprintf("is not a size, nor a number of %s", called);
	/* Rounded up: a small value must not become 0, which means no limit. */
	*value = bytes / unit + !!(bytes % unit);
	/* Also less than a byte. */
	if (!*value && strpbrk(text, "123456789"))
		*value = 1;
	return NULL;
}

static char *parse_us(const char *text, uint64_t *value)
{
	static const struct {
		const char *unit;
		uint64_t us;
	} units[] = { { "", 1 }, { "us", 1 }, { "ms", 1000 }, { "s", 1000000 } };
	size_t len = strspn(text, "0123456789");
	char *digits = xstrndup(text, len);
	int r = parse_number(digits, value);
	unsigned int i;

	free(digits);
	for (i = 0; !r && i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(text + len, units[i].unit))
			continue;
		if (*value > UINT64_MAX / units[i].us)
			break;
		*value *= units[i].us;
		return NULL;
	}
	return xstrdup("is not a time such as 80us or 8ms, nor a number of microseconds");
}

/* By value; as enum tier_lands. */
static const char *const landings[] = { "no", "yes", "random", "sequential" };

static char *parse_landing(const char *text, uint64_t *value)
{
	unsigned int i;

	if (!strcasecmp(text, "on") || !strcasecmp(text, "off")) {
		*value = !strcasecmp(text, "on");
		return NULL;
	}
	for (i = 0; i < sizeof(landings) / sizeof(*landings); i++) {
		*value = i;
		if (!strcasecmp(text, landings[i]) || (text[0] == '0' + (char)i && !text[1]))
			return NULL;
	}
	return xstrdup("is none of yes, no, random and sequential");
}

static char *parse_count(const char *text, bool percent, uint64_t *value)
{
	size_t len = strlen(text);
	char *digits = xstrndup(text, percent && len && text[len - 1] == '%' ? len - 1 : len);
	int r = parse_number(digits, value);

	free(digits);
	if (!r)
		return NULL;
	return xstrdup(r == -ERANGE ? "is too large" : "is not a number");
}

static char *parse_value(const struct known *k, const char *text, uint64_t chunk_sectors, uint64_t *value)
{
	char *wrong = NULL;

	switch (k->unit) {
	case UNIT_KIB:
	case UNIT_LEAST:
		wrong = parse_units(text, 1024, "KiB/s", value);
		break;
	case UNIT_GIB:
		wrong = parse_units(text, 1024ULL * 1024 * 1024, "GiB a day", value);
		break;
	case UNIT_CHUNK:
		wrong = parse_units(text, chunk_sectors * SECTOR_SIZE, "chunks", value);
		break;
	case UNIT_US:
		wrong = parse_us(text, value);
		break;
	case UNIT_LANDING:
		wrong = parse_landing(text, value);
		break;
	default:
		wrong = parse_count(text, k->unit == UNIT_PERCENT, value);
	}
	if (!wrong && (*value < k->min || *value > k->max))
		wrong = xasprintf("is out of range: %llu to %llu", (unsigned long long)k->min,
				  (unsigned long long)k->max);
	return wrong;
}

static char *find_known(const char *key, unsigned int nr_tiers, const struct known **k)
{
	const char *dot = strchr(key, '.');
	unsigned int rank;
	char canonical[32];

	*k = NULL;
	if (!dot) {
		*k = find(target_keys, key);
		return NULL;
	}
	if (sscanf(key, "tier%3u.", &rank) != 1)
		return xstrdup("has no such key");
	snprintf(canonical, sizeof(canonical), "tier%u.", rank);
	*k = find(tier_keys, dot + 1);
	if (strncmp(key, canonical, strlen(canonical)) || !*k)
		return xstrdup("has no such key: tierN.endurance, tierN.reserve, tierN.landing, tierN.latency, tierN.watermark, tierN.quiet, tierN.residence");
	if (rank >= nr_tiers)
		return xasprintf("has no such tier: ranks go from 0 to %u", nr_tiers - 1);
	return NULL;
}

char *tunable_parse(const char *assignment, uint64_t chunk_sectors, unsigned int nr_tiers,
		    struct tunable *t)
{
	const char *equals = strchr(assignment, '=');
	const struct known *k;
	char *wrong;

	memset(t, 0, sizeof(*t));
	if (!equals || equals == assignment || strpbrk(assignment, " \t\n"))
		return xstrdup("is not KEY=VALUE");
	t->key = xstrndup(assignment, equals - assignment);
	wrong = find_known(t->key, nr_tiers, &k);
	if (!wrong && k)
		wrong = parse_value(k, equals + 1, chunk_sectors, &t->value);
	else if (!wrong)
		wrong = parse_count(equals + 1, false, &t->value);
	t->policy = !k;
	if (wrong)
		tunable_free(t);
	return wrong;
}

void tunable_offer(struct suggestion *g, const char *policy)
{
	const char *const *key = heat_keys;
	const struct known *k;

	for (k = target_keys; k->key; k++)
		suggestion_offer(g, k->key);
	while (strcmp(policy, "static") && *key)
		suggestion_offer(g, *key++);
}

char *tunable_text(const char *key, uint64_t value, uint64_t chunk_sectors)
{
	const char *dot = strchr(key, '.');
	const struct known *k = dot ? find(tier_keys, dot + 1) : find(target_keys, key);
	char size[SIZE_TEXT];

	if (!k)
		return NULL;
	switch (k->unit) {
	case UNIT_KIB:
		return value ? xasprintf("%s/s", format_size(size, value * 1024)) : xstrdup("no limit");
	case UNIT_LEAST:
		return value ? xasprintf("%s/s", format_size(size, value * 1024)) : xstrdup("none");
	case UNIT_GIB:
		return value ? xasprintf("%s a day", format_size(size, value << 30)) : xstrdup("no limit");
	case UNIT_CHUNK:
		return xstrdup(format_size(size, value * chunk_sectors * SECTOR_SIZE));
	case UNIT_US:
		return !value ? xstrdup("measured") :
		       xasprintf("%llu %s", (unsigned long long)(value % 1000 ? value : value / 1000),
				 value % 1000 ? "us" : "ms");
	case UNIT_LANDING:
		return value < sizeof(landings) / sizeof(*landings) ? xstrdup(landings[value]) : NULL;
	case UNIT_PERCENT:
		return value ? xasprintf("%llu%%", (unsigned long long)value) : xstrdup("off");
	case UNIT_QUIET:
		if (!value)
			return xstrdup("off");
		__attribute__((fallthrough));
	case UNIT_SECONDS:
		return xasprintf("%llu s", (unsigned long long)value);
	default:
		return NULL;
	}
}

void tunable_free(struct tunable *t)
{
	free(t->key);
	memset(t, 0, sizeof(*t));
}
