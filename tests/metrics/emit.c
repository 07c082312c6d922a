// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints what tierctl metrics prints of two sets, by the same code: in order, or with everything
 * wrong that there is a metric for.
 *
 *   emit well|ill MINUTE	as it is that many minutes after the activation
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "view/render.h"

#define MIB	(1ULL << 20)

static void add_problem(struct health *h, enum problem_kind kind)
{
	h->problem[h->nr++].kind = kind;
}

static void make(struct report *r, struct set *s, const char *name, bool ill, u64 minute)
{
	struct status *st = &s->status;
	unsigned int i;

	s->name = xstrdup(name);
	s->active = s->have_table = s->have_meta = true;
	s->chunk_sectors = 2048;
	s->length = 3000 * s->chunk_sectors;
	s->meta_dev.name = xstrdup("/dev/md0");
	s->nr_tiers = 2;
	*st = (struct status){
		.metadata_block = 8, .metadata_total = 1000, .metadata_used = ill ? 950 : 300,
		.promotions = 7 * minute, .demotions = 5 * minute, .failed = ill ? minute : 0,
		.aborted = minute, .in_flight = 2, .migrated = 12 * 2048 * minute,
		.read_only = ill, .needs_check = ill, .paused = ill,
	};
	for (i = 0; i < s->nr_tiers; i++) {
		s->tier[i].present = !ill || i;
		s->tier[i].state = s->tier[i].present ? 'A' : '-';
		s->tier[i].places = 1000 + 1000 * i;
		s->tier[i].dev.name = xstrdup(i ? "/dev/sdb" : "/dev/nvme0n1");
		st->tier[i] = (struct tier_status){
			.reads = 100 * minute, .writes = 60 * minute, .errors = ill && i ? 2 * minute : 0,
		};
		r->used[i] = 900;
		r->wear[i] = (struct wear){ .written = 70 * MIB * minute };
		r->latency[i].class[0].unloaded_ns = 80000 + 8000000 * i;
		r->latency[i].class[0].now_ns = 90000 + 9000000 * i;
	}
	r->wear[0].used = (ill ? 90 : 10) * MIB * minute;
	r->wear[0].allowed = 40 * MIB * minute;
	r->wear[0].days_left = ill ? -0.5 : 2;
	s->dm.suspended = ill;
	s->dm.removal_waits = ill;
	r->set = s;
	r->state = "active";
	r->nr_attention = ill ? 4 : 0;
	r->have_chunks = r->have_wear = r->have_latency = r->have_holds = true;
	r->mapped = 1800;
	r->pinned = 4;
	pairs_add(&r->holds, "budget", "30");
	if (ill) {
		add_problem(&r->tier_health[0], PROBLEM_MISSING);
		add_problem(&r->tier_health[1], PROBLEM_DEGRADED);
	}
}

int main(int argc, char **argv)
{
	static struct report report[2];
	static struct set set[2];
	bool ill;

	if (argc != 3)
		return EXIT_USAGE;
	ill = !strcmp(argv[1], "ill");
	make(&report[0], &set[0], "photos", ill, atoi(argv[2]));
	/* Names have more than letters, and what has failed has no counters. */
	make(&report[1], &set[1], "vg/my \"data\"", false, atoi(argv[2]));
	if (ill) {
		report[1].state = "failed";
		report[1].have_chunks = report[1].have_wear = report[1].have_latency = false;
		set[1].have_table = false;
	}
	print_metrics(stdout, report, 2);
	return fflush(stdout) ? EXIT_FAILED : EXIT_DONE;
}
