// SPDX-License-Identifier: GPL-2.0-only
/* Sizes, numbers, ranges and tunables as users write them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/geometry.h"
#include "base/size.h"
#include "../tap.h"
#include "dm-tier/metadata/space.h"
#include "dm/tunable.h"

#define KIB 1024ULL
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)

static void check_size(const char *text, int want_r, uint64_t want)
{
	uint64_t bytes = 0;
	int r = parse_size(text, &bytes);

	ok(r == want_r && (r || bytes == want), "size \"%s\": %d %llu", text, r, (unsigned long long)bytes);
}

static void sizes(void)
{
	check_size("64k", 0, 64 * KIB);
	check_size("64K", 0, 64 * KIB);
	check_size("64KiB", 0, 64 * KIB);
	check_size("64kb", 0, 64 * KIB);
	check_size("1 MiB", 0, MIB);
	check_size("1.5t", 0, TIB + TIB / 2);
	check_size("0.5g", 0, GIB / 2);
	check_size("0g", 0, 0);
	check_size("7s", 0, 7 * 512);
	check_size("512b", 0, 512);
	check_size("15e", 0, 15 * 1024 * 1024 * TIB);
	check_size("16e", -ERANGE, 0);
	check_size("1.000000000000000000000000001m", 0, MIB);
	check_size("15.5e", 0, 31ULL << 59);
	check_size("99999999999999999999k", -ERANGE, 0);
	check_size("18446744073709551615b", 0, UINT64_MAX);
	check_size("18446744073709551616b", -ERANGE, 0);
	check_size("100", -ENODATA, 0);
	check_size("1.5", -ENODATA, 0);
	check_size("", -EINVAL, 0);
	check_size("k", -EINVAL, 0);
	check_size("-1k", -EINVAL, 0);
	check_size("+1k", -EINVAL, 0);
	check_size(" 1k", -EINVAL, 0);
	check_size("1.k", -EINVAL, 0);
	check_size("1.5.5k", -EINVAL, 0);
	check_size("1kk", -EINVAL, 0);
	check_size("1kibi", -EINVAL, 0);
	check_size("1x", -EINVAL, 0);
	check_size("0x10k", -EINVAL, 0);
	check_size("1bb", -EINVAL, 0);
}

static void check_range(const char *text, int want_r, uint64_t first, uint64_t count)
{
	uint64_t f = 0, c = 0;
	int r = parse_range(text, &f, &c);

	ok(r == want_r && (r || (f == first && c == count)), "range \"%s\": %d", text, r);
}

static void ranges(void)
{
	uint64_t n;

	check_range("0", 0, 0, 1);
	check_range("5-9", 0, 5, 5);
	check_range("7-7", 0, 7, 1);
	check_range("9-5", -ERANGE, 0, 0);
	check_range("0-18446744073709551615", -ERANGE, 0, 0);
	check_range("1-18446744073709551615", 0, 1, UINT64_MAX);
	check_range("5-", -EINVAL, 0, 0);
	check_range("-5", -EINVAL, 0, 0);
	check_range("1-2-3", -EINVAL, 0, 0);
	check_range("1,2", -EINVAL, 0, 0);
	check_range("", -EINVAL, 0, 0);
	ok(parse_number("18446744073709551615", &n) == 0 && n == UINT64_MAX, "largest number");
	ok(parse_number("18446744073709551616", &n) == -ERANGE, "one more");
	ok(parse_number("12 ", &n) == -EINVAL, "blank behind a number");
}

static void check_format(uint64_t bytes, const char *want)
{
	char buf[SIZE_TEXT];

	ok(!strcmp(format_size(buf, bytes), want), "%llu is \"%s\", wanted \"%s\"",
	   (unsigned long long)bytes, buf, want);
}

static void formats(void)
{
	char buf[SIZE_TEXT], bar[32];

	check_format(0, "0 B");
	check_format(512, "512 B");
	check_format(1023, "1023 B");
	check_format(1024, "1 KiB");
	check_format(1536, "1.5 KiB");
	check_format(MIB, "1 MiB");
	check_format(MIB - 1, "1.0 MiB");
	check_format(10 * MIB - 1, "10 MiB");
	check_format(200 * GIB, "200 GiB");
	check_format(2 * TIB - 64 * GIB, "1.9 TiB");
	check_format(UINT64_MAX, "16 EiB");
	ok(!strcmp(format_short(buf, 999, 1000), "999"), "999");
	ok(!strcmp(format_short(buf, 1000, 1000), "1.0K"), "1.0K");
	ok(!strcmp(format_short(buf, UINT64_MAX, 1000), "18E"), "18E");
	ok(!strcmp(format_short(buf, 999999, 1000), "1.0M"), "1.0M");
	ok(percent(0, 0) == 0 && percent(0, 7) == 0 && percent(7, 7) == 100, "percent, exact");
	ok(percent(1, 100000) == 1 && percent(99999, 100000) == 99, "percent, never a wrong 0 or 100");
	ok(percent(8, 7) == 100, "percent, more than all");
	ok(!strcmp(format_bar(bar, 10, 5, 10), "[#####.....]"), "half a bar");
	ok(!strcmp(format_bar(bar, 10, 9, 7), "[##########]"), "overfull bar");
	ok(!strcmp(format_bar(bar, 10, 0, 0), "[..........]"), "bar of nothing");
}

static void check_tunable(const char *text, const char *key, uint64_t value, bool policy)
{
	struct tunable t;
	char *wrong = tunable_parse(text, 2048, 2, &t);

	if (!key)
		ok(wrong != NULL, "%s refused: %s", text, wrong ? wrong : "");
	else
		ok(!wrong && !strcmp(t.key, key) && t.value == value && t.policy == policy, "%s: %s", text,
		   wrong ? wrong : "good");
	free(wrong);
	tunable_free(&t);
}

/* want is NULL if the number needs no explanation. */
static void says(const char *key, uint64_t value, const char *want)
{
	char *text = tunable_text(key, value, 128);

	ok(want ? text && !strcmp(text, want) : !text, "%s=%llu: %s", key, (unsigned long long)value,
	   text ? text : "no more");
	free(text);
}

static void tunables(void)
{
	says("migration_bandwidth", 65536, "64 MiB/s");
	says("migration_bandwidth", 0, "no limit");
	says("migration_depth", 4, NULL);
	says("latency_guard", 0, "off");
	says("latency_guard", 20, "20%");
	says("heat_interval", 600, "600 s");
	says("migration_min", 4096, "4 MiB/s");
	says("migration_min", 0, "none");
	says("tier0.endurance", 200, "200 GiB a day");
	says("tier12.endurance", 0, "no limit");
	says("tier1.reserve", 16, "1 MiB");
	says("tier1.landing", 0, "no");
	says("tier1.landing", 1, "yes");
	says("tier1.landing", 2, "random");
	says("tier1.landing", 3, "sequential");
	says("tier1.landing", 4, NULL);
	says("tier1.residence", 60, "60 s");
	says("tier1.residence", 0, "off");
	says("tier0.latency", 0, "measured");
	says("tier0.latency", 90, "90 us");
	says("tier1.latency", 1500, "1500 us");
	says("tier1.latency", 8000, "8 ms");
	says("tier1.watermark", 5, "5%");
	says("tier1.quiet", 600, "600 s");
	says("tier1.quiet", 0, "off");
	says("half_life", 64, NULL);
	check_tunable("migration_bandwidth=64m", "migration_bandwidth", 65536, false);
	check_tunable("migration_bandwidth=64", "migration_bandwidth", 64, false);
	check_tunable("migration_bandwidth=1b", "migration_bandwidth", 1, false);
	check_tunable("migration_bandwidth=0.1b", "migration_bandwidth", 1, false);
	check_tunable("migration_bandwidth=0.0k", "migration_bandwidth", 0, false);
	check_tunable("migration_bandwidth=4294967296", NULL, 0, false);
	check_tunable("migration_bandwidth=fast", NULL, 0, false);
	check_tunable("migration_bandwidth=", NULL, 0, false);
	check_tunable("migration_depth=256", "migration_depth", 256, false);
	check_tunable("migration_depth=0", NULL, 0, false);
	check_tunable("migration_depth=257", NULL, 0, false);
	check_tunable("migration_depth=4k", NULL, 0, false);
	check_tunable("latency_guard=20%", "latency_guard", 20, false);
	check_tunable("latency_guard=1001", NULL, 0, false);
	check_tunable("migration_min=4m", "migration_min", 4096, false);
	check_tunable("migration_min=4294967296", NULL, 0, false);
	check_tunable("heat_interval=5", "heat_interval", 5, false);
	check_tunable("heat_interval=0", NULL, 0, false);
	check_tunable("heat_interval=86401", NULL, 0, false);
	check_tunable("tier0.endurance=200g", "tier0.endurance", 200, false);
	check_tunable("tier1.endurance=1t", "tier1.endurance", 1024, false);
	check_tunable("tier1.reserve=10m", "tier1.reserve", 10, false);
	check_tunable("tier1.reserve=1k", "tier1.reserve", 1, false);
	check_tunable("tier0.landing=no", "tier0.landing", 0, false);
	check_tunable("tier0.landing=ON", "tier0.landing", 1, false);
	check_tunable("tier0.landing=2", "tier0.landing", 2, false);
	check_tunable("tier0.landing=Sequential", "tier0.landing", 3, false);
	check_tunable("tier0.landing=4", NULL, 0, false);
	check_tunable("tier0.landing=10", NULL, 0, false);
	check_tunable("tier0.residence=4294967295", "tier0.residence", 4294967295, false);
	check_tunable("tier0.residence=4294967296", NULL, 0, false);
	check_tunable("tier0.latency=90", "tier0.latency", 90, false);
	check_tunable("tier0.latency=90us", "tier0.latency", 90, false);
	check_tunable("tier1.latency=8ms", "tier1.latency", 8000, false);
	check_tunable("tier1.latency=4s", "tier1.latency", 4000000, false);
	check_tunable("tier0.latency=0", "tier0.latency", 0, false);
	check_tunable("tier0.latency=4000001", NULL, 0, false);
	check_tunable("tier0.latency=5s", NULL, 0, false);
	check_tunable("tier0.latency=18446744073709551615s", NULL, 0, false);
	check_tunable("tier0.latency=8m", NULL, 0, false);
	check_tunable("tier0.latency=8 ms", NULL, 0, false);
	check_tunable("tier0.latency=fast", NULL, 0, false);
	check_tunable("tier0.latency=ms", NULL, 0, false);
	check_tunable("tier0.latency=", NULL, 0, false);
	check_tunable("tier0.watermark=50", "tier0.watermark", 50, false);
	check_tunable("tier0.watermark=51", NULL, 0, false);
	check_tunable("tier0.quiet=65535", "tier0.quiet", 65535, false);
	check_tunable("tier0.quiet=65536", NULL, 0, false);
	check_tunable("tier2.landing=1", NULL, 0, false);
	check_tunable("tier01.landing=1", NULL, 0, false);
	check_tunable("tier0.colour=1", NULL, 0, false);
	check_tunable("tier.landing=1", NULL, 0, false);
	check_tunable("headroom=2", "headroom", 2, true);
	check_tunable("headroom", NULL, 0, false);
	check_tunable("=2", NULL, 0, false);
	check_tunable("head room=2", NULL, 0, false);
}

static void plans(void)
{
	ok(geometry_places(4096 + 2047, 2048, 0) == 1, "1 MiB chunks: one for the label");
	ok(geometry_places(4095, 2048, 0) == 0, "no room beside the label");
	ok(geometry_places(0, 2048, 0) == 0, "nothing at all");
	ok(geometry_places(4096, 128, 0) == 32 - 16, "64 KiB chunks: 16 for the label");
	ok(geometry_places(3 * 2097152, 2097152, 0) == 2, "1 GiB chunks: one for the label");
	ok(geometry_places(4096, 128, 24) == 32 - 24, "more room before the places");
	ok(geometry_first_place(1 << 20, 2048) == 1 + 1 + 4 + 128, "metadata of four times a million chunks, in chunks");
	ok(geometry_first_place(1, 2097152) == 2, "chunks of 1 GiB: one for the metadata");
	ok(tier_md_joining_place(134, 1 << 20, 8, 1 << 19, 2048) == 134 &&
	   tier_md_joining_place(134, 1 << 23, 8, 1 << 19, 2048) == geometry_first_place(1 << 23, 2048) &&
	   tier_md_joining_place(134, 1 << 20, 2048 * 200, 1 << 19, 2048) == 202,
	   "a tier that joins a set that has grown has more room");
	ok(tier_md_joining_place(134, 1 << 23, 8, 16 * 1030, 2048) == 1030 &&
	   tier_md_joining_place(134, 1 << 23, 8, 16 * 1030 - 1, 2048) == 134, "but not more than a 16th");
	ok(tier_md_blocks_needed(geometry_chunks_of_metadata(8192)) <= 1024 &&
	   tier_md_blocks_needed(geometry_chunks_of_metadata(8192) + 1) > 1024 &&
	   !geometry_chunks_of_metadata(8) && geometry_chunks_of_metadata(UINT64_MAX) == 1045530283,
	   "the most chunks in so many sectors; metadata can hold no more (dm-tier.rst)");
	ok(tier_md_room(1 << 26) == (1 << 24) + 8192 &&
	   tier_md_room(1 << 27) == TIER_METADATA_MAX_BLOCKS * 8ULL, "no room that metadata cannot use");
	ok(geometry_reserve(1) == 2 && geometry_reserve(384) == 3 && geometry_reserve(1 << 20) == 64, "reserve");
	ok(geometry_metadata_min(1000000) < geometry_metadata_good(1000000), "metadata");
}

int main(void)
{
	sizes();
	ranges();
	formats();
	tunables();
	plans();
	return tap_done();
}
