// SPDX-License-Identifier: GPL-2.0-only
/*
 * Table lines and messages: right ones first, by the grammar, then with a few words changed,
 * dropped, doubled or made longer.
 */
#include "fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 4096

struct words {
	char *word[MAX_WORDS];
	unsigned int nr;
};

static const char * const numbers[] = {
	"0", "1", "2", "3", "15", "16", "17", "45", "46", "47", "64", "127", "128", "129", "255",
	"256", "257", "1000", "1001", "4096", "65535", "65536", "2097152", "2097153", "2147483647",
	"2147483648", "4294967295", "4294967296", "4294967297", "9223372036854775807",
	"9223372036854775808", "18446744073709551615", "18446744073709551616",
	"99999999999999999999999999999999999999", "-1", "-0", "+1", "00", "0x80", "1e3", "1.5", "",
	" ", "-", "--", "1 ", "1k", "\xc2\xb2", "\xff\xfe",
};

static const char * const features[] = {
	"paused", "no_discard_passdown", "skip_zeroing", "read_only", "Paused", "paused:1", "",
};

static const char * const core_keys[] = {
	"migration_bandwidth", "migration_depth", "latency_guard", "heat_interval", "migration_min",
	"tier0.endurance",
	"tier1.reserve", "tier0.landing", "tier1.landing", "tier0.latency", "tier0.watermark", "tier1.quiet", "tier0.residence",
	"tier15.reserve", "tier16.reserve",
	"tier.reserve", "tier0.", "tier0", "tier00.reserve", "tier-1.landing", "headroom",
};

/* A name without a module costs the start of a process, so it is rare. */
static const char * const policies[] = { "static", "heat", "default" };

static const char * const others[] = {
	"tier", "heat", "home", "chunk", "/dev/null", "/dev", "/", "nonsense", "0:0", "1:3",
	"7:0", "4294967295:4294967295", "%s%n%x", "\\", "\\ ", "'", "\"", "\x01", "\xe4\xb8\xad",
	"..", "*", "${HOME}", "paused", "-1:-1", "/dev/mapper/control", "/dev/mapper/tt_fuzz",
};

static void add(struct words *w, const char *word)
{
	if (w->nr == MAX_WORDS)
		return;
	w->word[w->nr] = strdup(word);
	if (!w->word[w->nr++])
		die("out of memory");
}

static void add_number(struct words *w, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	add(w, text);
}

static void put(struct words *w, unsigned int at, const char *word)
{
	char *last;

	if (w->nr == MAX_WORDS || at > w->nr)
		return;
	add(w, word);
	last = w->word[w->nr - 1];
	memmove(&w->word[at + 1], &w->word[at], (w->nr - 1 - at) * sizeof(last));
	w->word[at] = last;
}

static void drop(struct words *w, unsigned int at)
{
	free(w->word[at]);
	w->nr--;
	memmove(&w->word[at], &w->word[at + 1], (w->nr - at) * sizeof(w->word[0]));
}

static void replace(struct words *w, unsigned int at, const char *word)
{
	free(w->word[at]);
	w->word[at] = strdup(word);
	if (!w->word[at])
		die("out of memory");
}

static const char *any_word(struct rng *r, const struct devices *d)
{
	switch (rng_below(r, d ? 6 : 5)) {
	case 0:
	case 1:
		return PICK(r, numbers);
	case 2:
		return PICK(r, features);
	case 3:
		return PICK(r, core_keys);
	case 4:
		return PICK(r, others);
	default:
		return d->path[rng_below(r, d->nr)];
	}
}

static void long_word(struct rng *r, struct words *w, unsigned int at)
{
	static const char bytes[] = "x0129.-/ \xff";
	char text[4001];
	unsigned int n = 1 + rng_below(r, sizeof(text) - 1);

	memset(text, bytes[rng_below(r, sizeof(bytes) - 1)], n);
	text[n] = 0;
	replace(w, at, text);
}

static void tweak_number(struct rng *r, struct words *w, unsigned int at)
{
	uint64_t n = strtoull(w->word[at], NULL, 10);
	char text[32];

	switch (rng_below(r, 5)) {
	case 0:
		n++;
		break;
	case 1:
		n--;
		break;
	case 2:
		n *= 2;
		break;
	case 3:
		n = 1ULL << rng_below(r, 64);
		break;
	default:
		n = rng_next(r) >> rng_below(r, 64);
	}
	snprintf(text, sizeof(text), "%" PRIu64, n);
	replace(w, at, text);
}

static void spoil_byte(struct rng *r, struct words *w, unsigned int at)
{
	size_t len = strlen(w->word[at]);
	char *byte;

	if (!len)
		return;
	byte = &w->word[at][rng_below(r, len)];
	*byte ^= 1 << rng_below(r, 8);
	if (!*byte)
		*byte = 1;
}

static void mutate(struct rng *r, const struct devices *d, struct words *w)
{
	unsigned int at, n;

	if (!w->nr) {
		add(w, any_word(r, d));
		return;
	}
	at = rng_below(r, w->nr);
	switch (rng_below(r, 24)) {
	case 0 ... 4:
		replace(w, at, any_word(r, d));
		break;
	case 5 ... 8:
		tweak_number(r, w, at);
		break;
	case 9 ... 10:
		drop(w, at);
		break;
	case 11 ... 12:
		put(w, rng_below(r, w->nr + 1), w->word[at]);
		break;
	case 13 ... 14:
		put(w, at, any_word(r, d));
		break;
	case 15 ... 16: {
		char *first = w->word[at];

		n = rng_below(r, w->nr);
		w->word[at] = w->word[n];
		w->word[n] = first;
		break;
	}
	case 17 ... 19:
		spoil_byte(r, w, at);
		break;
	case 20:
		while (w->nr > at)
			drop(w, w->nr - 1);
		break;
	case 21:
		long_word(r, w, at);
		break;
	case 22:
		for (n = rng_below(r, rng_chance(r, 10) ? 2000 : 30); n; n--)
			put(w, at, any_word(r, d));
		break;
	default:
		if (rng_chance(r, 50))
			replace(w, at, "unheard-of");
		else
			replace(w, at, PICK(r, numbers));
	}
}

static void join(struct rng *r, struct words *w, char *line)
{
	size_t used = 0, len;
	unsigned int i;

	line[0] = 0;
	for (i = 0; i < w->nr; i++) {
		len = strlen(w->word[i]);
		if (used + len + 3 > LINE_MAX_BYTES)
			break;
		if (i)
			line[used++] = rng_chance(r, 200) ? '\t' : ' ';
		memcpy(line + used, w->word[i], len);
		used += len;
	}
	line[used] = 0;
	for (i = 0; i < w->nr; i++)
		free(w->word[i]);
}

static void spoil(struct rng *r, const struct devices *d, struct words *w)
{
	unsigned int n = 1 + rng_below(r, rng_chance(r, 4) ? 6 : 2);

	while (n--)
		mutate(r, d, w);
}

static void add_pairs(struct rng *r, struct words *w, const char * const *keys, unsigned int nr)
{
	unsigned int n = rng_below(r, 3);

	add_number(w, 2 * n);
	while (n--) {
		add(w, keys[rng_below(r, nr)]);
		add_number(w, rng_below(r, 3));
	}
}

void make_table(struct rng *r, const struct devices *d, char *line)
{
	static const char * const heat_keys[] = { "headroom", "half_life", "admit", "metadata_weight" };
	unsigned int n, first = 3 * rng_below(r, d->nr / 3);
	struct words w = { .nr = 0 };
	const char *policy;

	add(&w, d->path[first]);
	add(&w, "128");
	add(&w, "2");
	add(&w, d->path[first + 1]);
	add(&w, d->path[first + 2]);
	n = rng_below(r, 3);
	add_number(&w, n);
	while (n--)
		add(&w, features[rng_below(r, 4)]);
	add_pairs(r, &w, core_keys, 7);
	policy = PICK(r, policies);
	add(&w, policy);
	if (strcmp(policy, "heat"))
		add(&w, "0");
	else
		add_pairs(r, &w, heat_keys, 4);
	if (!rng_chance(r, 10))
		spoil(r, d, &w);
	join(r, &w, line);
}

uint64_t make_length(struct rng *r, uint64_t good)
{
	switch (rng_below(r, 12)) {
	case 0:
		return 1 + rng_below(r, 2 * good);
	case 1:
		return good + 1;
	case 2:
		return rng_next(r) >> (10 + rng_below(r, 54)) | 1;
	default:
		return good;
	}
}

void make_message(struct rng *r, char *line)
{
	static const struct {
		const char *name;
		unsigned int nr;
	} messages[] = {
		{ "pause", 0 }, { "resume", 0 }, { "migrate", 3 }, { "pin", 3 }, { "unpin", 2 },
		{ "evacuate", 1 }, { "admit", 1 }, { "revert", 1 }, { "heat", 3 }, { "chunk", 1 }, { "wear", 0 }, { "latency", 0 },
		{ "holds", 0 }, { "day", 0 },
		{ "reserve_metadata_snap", 0 }, { "release_metadata_snap", 0 },
	};
	struct words w = { .nr = 0 };
	unsigned int i, n;

	if (rng_chance(r, 4)) {
		add(&w, "set");
		add(&w, PICK(r, core_keys));
		add(&w, PICK(r, numbers));
	} else {
		i = rng_below(r, sizeof(messages) / sizeof(messages[0]));
		add(&w, messages[i].name);
		n = messages[i].nr;
		/* first chunk, number of chunks, rank or number of buckets */
		if (n > 1 || !strcmp(messages[i].name, "chunk"))
			add_number(&w, rng_below(r, 48));
		if (n > 1)
			add_number(&w, 1 + rng_below(r, 4));
		if (!strcmp(messages[i].name, "revert") && rng_chance(r, 2))
			add(&w, "off");
		else if (n != 2 && n && strcmp(messages[i].name, "chunk"))
			add_number(&w, rng_below(r, 3));
		if (!strcmp(messages[i].name, "migrate") && rng_chance(r, 8))
			add(&w, "home");
	}
	if (!rng_chance(r, 4))
		spoil(r, NULL, &w);
	/* Words that begin with @ are for the device-mapper core. */
	if (w.nr && w.word[0][0] == '@')
		w.word[0][0] = 'a';
	join(r, &w, line);
}
