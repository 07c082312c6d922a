// SPDX-License-Identifier: GPL-2.0-only
/* Unit tests of the kernel's answer to the message latency, TAP on stdout. */
#include "../tap.h"
#include "set/latency.h"

static void refused(const char *answer, const char *why)
{
	struct latency l[TIER_MAX_TIERS];

	ok(!latency_parse(answer, 2, l), "%s", why);
}

int main(void)
{
	struct latency l[TIER_MAX_TIERS];

	ok(latency_parse("0 1 2 3 4 5 6 7 8\n1 0 0 4294967295 0 0 0 10 9\n", 2, l), "two tiers");
	ok(l[0].class[0].unloaded_ns == 1 && l[0].class[0].now_ns == 2, "the first class");
	ok(l[0].class[3].unloaded_ns == 7 && l[0].class[3].now_ns == 8, "the last class");
	ok(l[1].class[1].unloaded_ns == 4294967295 && !l[1].class[1].now_ns, "the largest, and unknown");
	ok(l[1].class[3].unloaded_ns == 10 && l[1].class[3].now_ns == 9, "the last class of the last tier");
	refused("", "no answer");
	refused("0 1 2 3 4 5 6 7 8\n", "a tier is missing");
	refused("0 1 2 3 4 5 6 7\n1 1 2 3 4 5 6 7 8\n", "a number is missing");
	refused("1 1 2 3 4 5 6 7 8\n0 1 2 3 4 5 6 7 8\n", "another order");
	refused("0 1 2 x 4 5 6 7 8\n1 1 2 3 4 5 6 7 8\n", "no number");
	return tap_done();
}
