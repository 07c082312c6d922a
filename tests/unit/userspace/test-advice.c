// SPDX-License-Identifier: GPL-2.0-only
/* What a fast tier of another size would serve, from the heat of a set. */
#include "set/advice.h"
#include "../tap.h"

static bool is_share(double share, double expected)
{
	return share > expected - 1e-9 && share < expected + 1e-9;
}

int main(void)
{
	struct heat_bucket chunk[] = {
		{ .mapped = 1, .heat = 10 }, { .mapped = 1, .heat = 60 }, { .mapped = 1, .heat = 30 },
	};
	/* Neighbours taken together: 4 chunks of 20 each, 2 of 10. */
	struct heat_bucket together[] = {
		{ .mapped = 2, .heat = 20 }, { .mapped = 4, .heat = 80 },
	};

	ok(is_share(advice_share(chunk, 3, 0), 0), "no place, no share");
	ok(is_share(advice_share(chunk, 3, 1), .6), "one place is for the hottest chunk");
	ok(is_share(advice_share(chunk, 3, 2), .9), "two for the two hottest");
	ok(is_share(advice_share(chunk, 3, 3), 1) && is_share(advice_share(chunk, 3, 1000), 1), "room for all, all of it");
	ok(is_share(advice_share(together, 2, 1), .2), "of a bucket in part, its part");
	ok(is_share(advice_share(together, 2, 5), .9), "the rest goes to the next bucket");
	ok(is_share(advice_share(chunk, 0, 5), 0), "a set without heat");
	ok(!strcmp(advice_tunable("budget"), "migration_bandwidth"), "what the budget is set with");
	ok(!advice_tunable("price"), "the price is measured, not set");
	return tap_done();
}
