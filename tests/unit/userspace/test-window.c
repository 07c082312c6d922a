// SPDX-License-Identifier: GPL-2.0-only
/* Parts of the day as users write them. */
#include "../tap.h"
#include "ops/window.h"

static void right(const char *text, unsigned int from, unsigned int to)
{
	struct window w = { 0 };

	ok(window_parse(text, &w) && w.from == from && w.to == to, "%s: %u %u", text, w.from, w.to);
}

static void wrong(const char *text)
{
	struct window w;

	ok(!window_parse(text, &w), "\"%s\" is refused", text);
}

static void has(const char *text, unsigned int minute, bool want)
{
	struct window w;

	ok(window_parse(text, &w) && window_has(&w, minute) == want, "%s %s %02u:%02u", text,
	   want ? "has" : "has not", minute / 60, minute % 60);
}

int main(void)
{
	static const char *const bad[] = {
		"", "22", "22:00", "22:00-", "22:00-6:00", "22:00-06:00 ", "22:00-06:000", "24:00-06:00",
		"22:60-06:00", "22:00-24:00", "06:00-06:00", "22.00-06.00", "-22:00-06:00", "22:00 06:00",
		"ab:cd-ef:gh",
	};
	unsigned int i;

	right("22:00-06:00", 1320, 360);
	right("00:00-23:59", 0, 1439);
	right("09:07-10:08", 547, 608);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		wrong(bad[i]);
	has("01:00-02:00", 59, false);
	has("01:00-02:00", 60, true);
	has("01:00-02:00", 119, true);
	has("01:00-02:00", 120, false);
	has("22:00-06:00", 1319, false);
	has("22:00-06:00", 1320, true);
	has("22:00-06:00", 1439, true);
	has("22:00-06:00", 0, true);
	has("22:00-06:00", 359, true);
	has("22:00-06:00", 360, false);
	has("22:00-00:00", 1439, true);
	has("22:00-00:00", 0, false);
	has("00:00-06:00", 0, true);
	return tap_done();
}
