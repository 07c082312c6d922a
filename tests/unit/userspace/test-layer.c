// SPDX-License-Identifier: GPL-2.0-only
/* Following tables of device-mapper down, against a sector-by-sector model. */
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "dm/layer.h"
#include "../tap.h"
#include "base/util.h"

#define SPACE	4096

/* Each sector of the devices 8:0 to 8:7 that was reported. */
static bool seen[8][SPACE];

static int note(void *context, dev_t dev, uint64_t at, uint64_t count)
{
	uint64_t n;

	(void)context;
	for (n = at; n < at + count; n++) {
		if (n >= SPACE || minor(dev) > 7 || seen[minor(dev)][n])
			return 1;
		seen[minor(dev)][n] = true;
	}
	return 0;
}

static void test_linear(void)
{
	struct layer l;
	unsigned int i, n = 0;

	layer_parse(100, 50, "linear", "8:3 1000", &l);
	ok(l.followed && l.nr_legs == 1, "linear is followed");
	memset(seen, 0, sizeof(seen));
	ok(!layer_map(&l, 90, 20, note, NULL), "a range that begins before the line");
	for (i = 0; i < SPACE; i++)
		n += seen[3][i];
	ok(n == 10 && seen[3][1000] && seen[3][1009], "its part in the line alone");
	memset(seen, 0, sizeof(seen));
	ok(!layer_map(&l, 0, UINT64_MAX, note, NULL) && seen[3][1000] && seen[3][1049] && !seen[3][1050],
	   "as long as can be");
	memset(seen, 0, sizeof(seen));
	layer_map(&l, 150, 10, note, NULL);
	layer_map(&l, 0, 100, note, NULL);
	ok(!memchr(seen, 1, sizeof(seen)), "ranges beside the line");
	layer_free(&l);
}

static void test_striped(void)
{
	bool good = true;
	unsigned int round, s;

	srand(11);
	for (round = 0; round < 3000; round++) {
		unsigned int legs = 1 + rand() % 5, stripe = 1 + rand() % 16;
		unsigned int length = legs * stripe * (1 + rand() % 10), from, count;
		bool want[8][SPACE] = { { false } };
		struct text params = { 0 };
		struct layer l;

		text_add(&params, "%u %u", legs, stripe);
		for (s = 0; s < legs; s++)
			text_add(&params, " 8:%u %u", s, 100 * s);
		layer_parse(64, length, "striped", params.s, &l);
		from = rand() % length;
		count = 1 + rand() % (length - from);
		for (s = from; s < from + count; s++)
			want[s / stripe % legs][100 * (s / stripe % legs) + s / stripe / legs * stripe + s % stripe] = true;
		memset(seen, 0, sizeof(seen));
		good &= l.followed && !layer_map(&l, 64 + from, count, note, NULL);
		good &= !memcmp(seen, want, sizeof(seen));
		layer_free(&l);
		text_free(&params);
	}
	ok(good, "striped: each sector, once");
}

static void test_parse(void)
{
	static const struct { const char *type, *params; bool followed; } cases[] = {
		{ "crypt", "aes-xts-plain64 :64:logon:cryptsetup:x 0 8:1 4096 1 allow_discards", true },
		{ "crypt", "aes-xts-plain64 key 0 8:1", false },
		{ "snapshot-origin", "8:1", true },
		{ "linear", "8:1", false },
		{ "linear", "/dev/sda 0", false },
		{ "linear", "", false },
		{ "striped", "2 0 8:1 0 8:2 0", false },
		{ "striped", "0 8", false },
		{ "striped", "2 8 8:1 0", false },
		{ "striped", "99999999 8 8:1 0", false },
		{ "thin", "253:1 5", false },
		{ "error", "", false },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct layer l;

		layer_parse(0, 1000, cases[i].type, cases[i].params, &l);
		ok(l.followed == cases[i].followed, "%s %s: %sfollowed", cases[i].type, cases[i].params,
		   cases[i].followed ? "" : "not ");
		if (!l.followed) {
			memset(seen, 0, sizeof(seen));
			layer_map(&l, 0, 1000, note, NULL);
			ok(!memchr(seen, 1, sizeof(seen)), "and leads nowhere");
		} else {
			ok(l.leg[0].dev == makedev(8, 1) && l.leg[0].offset == (i ? 0 : 4096), "to 8:1");
		}
		layer_free(&l);
	}
}

int main(void)
{
	test_linear();
	test_striped();
	test_parse();
	return tap_done();
}
