// SPDX-License-Identifier: GPL-2.0-only
/* Prometheus' text format */
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "set/health.h"
#include "view/render.h"

static uint64_t chunk_bytes(const struct set *s)
{
	return s->chunk_sectors * SECTOR_SIZE;
}

static double set_size(const struct report *r) { return r->set->length * SECTOR_SIZE; }
static double set_chunk(const struct report *r) { return chunk_bytes(r->set); }
static double set_mapped(const struct report *r) { return r->mapped * chunk_bytes(r->set); }
static double set_pinned(const struct report *r) { return r->pinned * chunk_bytes(r->set); }
static double set_failed(const struct report *r) { return !strcmp(r->state, "failed"); }
static double set_read_only(const struct report *r) { return r->set->status.read_only; }
static double set_check(const struct report *r) { return r->set->status.needs_check; }
static double set_paused(const struct report *r) { return r->set->status.paused; }
static double set_suspended(const struct report *r) { return r->set->dm.suspended; }
static double set_lost(const struct report *r) { return set_missing(r->set); }
static double set_removal(const struct report *r) { return r->set->dm.removal_waits; }
static double set_attention(const struct report *r) { return r->nr_attention; }
static double set_promotions(const struct report *r) { return r->set->status.promotions; }
static double set_demotions(const struct report *r) { return r->set->status.demotions; }
static double set_aborted(const struct report *r) { return r->set->status.aborted; }
static double set_moves_failed(const struct report *r) { return r->set->status.failed; }
static double set_in_flight(const struct report *r) { return r->set->status.in_flight; }
static double set_moved(const struct report *r) { return r->set->status.migrated * SECTOR_SIZE; }

static double meta_used(const struct report *r)
{
	return r->set->status.metadata_used * r->set->status.metadata_block * SECTOR_SIZE;
}

static double meta_total(const struct report *r)
{
	return r->set->status.metadata_total * r->set->status.metadata_block * SECTOR_SIZE;
}

static const struct {
	const char *name, *type, *help;
	double (*value)(const struct report *r);
	bool always;	/* known for a failed set, too */
} set_metrics[] = {
	{ "failed", "gauge", "1 if every I/O to the set is an error.", set_failed, true },
	{ "suspended", "gauge", "1 if I/O to the set waits.", set_suspended, true },
	{ "removal_waits", "gauge", "1 if the device is taken away as soon as it is closed.", set_removal, true },
	{ "attention", "gauge", "How many things tierctl status says need attention.", set_attention, true },
	{ "missing_tiers", "gauge", "Tiers that are missing.", set_lost, true },
	{ "size_bytes", "gauge", "Size of the tiered device.", set_size, true },
	{ "chunk_size_bytes", "gauge", "Size of a chunk.", set_chunk, true },
	{ "mapped_bytes", "gauge", "What has been written of it, in whole chunks.", set_mapped, false },
	{ "pinned_bytes", "gauge", "What is pinned to a tier, in whole chunks.", set_pinned, false },
	{ "read_only", "gauge", "1 if nothing is allocated or moved.", set_read_only, false },
	{ "needs_check", "gauge", "1 if the metadata needs a check.", set_check, false },
	{ "paused", "gauge", "1 if migration is paused.", set_paused, false },
	{ "metadata_used_bytes", "gauge", "What is used of the metadata device.", meta_used, false },
	{ "metadata_size_bytes", "gauge", "What there is of it.", meta_total, false },
	{ "promotions_total", "counter", "Chunks moved to a faster tier.", set_promotions, false },
	{ "demotions_total", "counter", "Chunks moved to a slower tier.", set_demotions, false },
	{ "moves_aborted_total", "counter", "Moves that were cancelled.", set_aborted, false },
	{ "moves_failed_total", "counter", "Moves that met an error or found no room.", set_moves_failed, false },
	{ "moves_in_flight", "gauge", "Chunks on the move.", set_in_flight, false },
	{ "moved_bytes_total", "counter", "Size of the chunks that were moved.", set_moved, false },
};

static double tier_size(const struct report *r, unsigned int i) { return r->set->tier[i].places * chunk_bytes(r->set); }
static double tier_used(const struct report *r, unsigned int i) { return r->used[i] * chunk_bytes(r->set); }
static double tier_reads(const struct report *r, unsigned int i) { return r->set->status.tier[i].reads; }
static double tier_writes(const struct report *r, unsigned int i) { return r->set->status.tier[i].writes; }
static double tier_errors(const struct report *r, unsigned int i) { return r->set->status.tier[i].errors; }
static double tier_closed(const struct report *r, unsigned int i) { return r->set->tier[i].state != 'A'; }
static double tier_written(const struct report *r, unsigned int i) { return r->wear[i].written; }
static double tier_used_up(const struct report *r, unsigned int i) { return r->wear[i].used; }
static double tier_allowed(const struct report *r, unsigned int i) { return r->wear[i].allowed; }
static double tier_time_left(const struct report *r, unsigned int i) { return r->wear[i].days_left * 86400; }

static bool know_chunks(const struct report *r, unsigned int i) { (void)i; return r->have_chunks; }
static bool know_wear(const struct report *r, unsigned int i) { (void)i; return r->have_wear; }
static bool know_allowed(const struct report *r, unsigned int i) { return r->have_wear && r->wear[i].allowed; }

static const struct {
	const char *name, *type, *help;
	double (*value)(const struct report *r, unsigned int rank);
	bool (*known)(const struct report *r, unsigned int rank);
} tier_metrics[] = {
	{ "size_bytes", "gauge", "What the tier has room for.", tier_size, know_chunks },
	{ "used_bytes", "gauge", "What lies on it.", tier_used, know_chunks },
	{ "closed", "gauge", "1 if it is missing, evacuating or had errors.", tier_closed, know_chunks },
	{ "reads_total", "counter", "Reads sent to the tier since activation.", tier_reads, know_chunks },
	{ "writes_total", "counter", "Writes sent to the tier since activation.", tier_writes, know_chunks },
	{ "errors_total", "counter", "I/O errors of the tier since activation.", tier_errors, know_chunks },
	{ "written_bytes_total", "counter", "Bytes written to the tier since it joined the set.", tier_written, know_wear },
	{ "endurance_used_bytes", "gauge", "Bytes written since the tier's endurance counts.", tier_used_up, know_allowed },
	{ "endurance_allowed_bytes", "gauge", "Bytes that its endurance allowed in this time.", tier_allowed, know_allowed },
	{ "endurance_left_seconds", "gauge", "For how long what is left of its allowance lasts; below 0: until it is paid back.", tier_time_left, know_allowed },
};

static void print_label(FILE *f, const char *key, const char *value)
{
	fprintf(f, "%s=\"", key);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			putc('\\', f);
		if (*value == '\n')
			fputs("\\n", f);
		else
			putc(*value, f);
	}
	putc('"', f);
}

static void print_tier_labels(FILE *f, const struct set *s, unsigned int rank)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", rank);
	print_label(f, "set", s->name);
	putc(',', f);
	print_label(f, "tier", number);
	putc(',', f);
	print_label(f, "device", s->tier[rank].present ? s->tier[rank].dev.name : "");
}

static void print_set_metrics(FILE *f, const struct report *reports, unsigned int nr)
{
	unsigned int i, j;

	for (i = 0; i < sizeof(set_metrics) / sizeof(*set_metrics); i++) {
		fprintf(f, "# HELP dm_tier_%s %s\n# TYPE dm_tier_%s %s\n", set_metrics[i].name, set_metrics[i].help,
		       set_metrics[i].name, set_metrics[i].type);
		for (j = 0; j < nr; j++) {
			if (!set_metrics[i].always && !reports[j].have_chunks)
				continue;
			fprintf(f, "dm_tier_%s{", set_metrics[i].name);
			print_label(f, "set", reports[j].set->name);
			fprintf(f, "} %.17g\n", set_metrics[i].value(&reports[j]));
		}
	}
}

static void print_tier_metrics(FILE *f, const struct report *reports, unsigned int nr)
{
	unsigned int i, j, rank;

	for (i = 0; i < sizeof(tier_metrics) / sizeof(*tier_metrics); i++) {
		bool said = false;

		for (j = 0; j < nr; j++) {
			const struct set *s = reports[j].set;

			for (rank = 0; rank < s->nr_tiers; rank++) {
				if (!tier_metrics[i].known(&reports[j], rank))
					continue;
				/* Nothing is said of a metric that no tier has. */
				if (!said)
					fprintf(f, "# HELP dm_tier_tier_%s %s\n# TYPE dm_tier_tier_%s %s\n",
					       tier_metrics[i].name, tier_metrics[i].help,
					       tier_metrics[i].name, tier_metrics[i].type);
				said = true;
				fprintf(f, "dm_tier_tier_%s{", tier_metrics[i].name);
				print_tier_labels(f, s, rank);
				fprintf(f, "} %.17g\n", tier_metrics[i].value(&reports[j], rank));
			}
		}
	}
}

/* What is unknown is left out. */
static void print_latencies(FILE *f, const struct report *reports, unsigned int nr)
{
	unsigned int i, j, rank;
	bool said = false;

	for (i = 0; i < nr; i++) {
		const struct set *s = reports[i].set;

		if (!reports[i].have_latency)
			continue;
		for (rank = 0; rank < s->nr_tiers; rank++) {
			for (j = 0; j < 2 * LATENCY_CLASSES; j++) {
				const struct latency *l = &reports[i].latency[rank];
				unsigned int ns = j % 2 ? l->class[j / 2].unloaded_ns : l->class[j / 2].now_ns;

				if (!ns)
					continue;
				if (!said)
					fprintf(f, "# HELP dm_tier_tier_latency_seconds Mean time of an access to the tier, in the last seconds (now) and with little load in the last day (unloaded).\n"
						"# TYPE dm_tier_tier_latency_seconds gauge\n");
				said = true;
				fprintf(f, "dm_tier_tier_latency_seconds{");
				print_tier_labels(f, s, rank);
				putc(',', f);
				print_label(f, "class", latency_class[j / 2]);
				putc(',', f);
				print_label(f, "when", j % 2 ? "unloaded" : "now");
				fprintf(f, "} %.9f\n", ns / 1e9);
			}
		}
	}
}

static void print_problems_of(FILE *f, const struct set *s, int rank, const struct health *h)
{
	bool present = rank < 0 ? s->have_meta : s->tier[rank].present;
	const struct device *d = rank < 0 ? &s->meta_dev : &s->tier[rank].dev;
	char part[16] = "metadata";
	unsigned int kind;

	if (rank >= 0)
		snprintf(part, sizeof(part), "%d", rank);
	for (kind = 0; kind < NR_PROBLEMS; kind++) {
		fprintf(f, "dm_tier_device_problem{");
		print_label(f, "set", s->name);
		putc(',', f);
		print_label(f, "part", part);
		putc(',', f);
		print_label(f, "device", present ? d->name : "");
		putc(',', f);
		print_label(f, "problem", problem_word(kind));
		fprintf(f, "} %d\n", health_has(h, kind));
	}
}

static void print_problems(FILE *f, const struct report *reports, unsigned int nr)
{
	unsigned int i, rank;

	fprintf(f, "# HELP dm_tier_device_problem 1 if that is wrong with the device of a tier or of the metadata.\n"
	       "# TYPE dm_tier_device_problem gauge\n");
	for (i = 0; i < nr; i++) {
		const struct set *s = reports[i].set;

		if (!s->have_table)
			continue;
		print_problems_of(f, s, -1, &reports[i].meta_health);
		for (rank = 0; rank < s->nr_tiers; rank++)
			print_problems_of(f, s, rank, &reports[i].tier_health[rank]);
	}
}

static void print_holds(FILE *f, const struct report *reports, unsigned int nr)
{
	unsigned int i, j;

	fprintf(f, "# HELP dm_tier_held_back_total How often a chunk that was worth a look was not moved to a faster tier, by what kept it.\n"
	       "# TYPE dm_tier_held_back_total counter\n");
	for (i = 0; i < nr; i++) {
		for (j = 0; j < reports[i].holds.nr; j++) {
			fprintf(f, "dm_tier_held_back_total{");
			print_label(f, "set", reports[i].set->name);
			putc(',', f);
			print_label(f, "reason", reports[i].holds.pair[j].key);
			fprintf(f, "} %s\n", reports[i].holds.pair[j].value);
		}
	}
}

void print_metrics(FILE *f, const struct report *reports, unsigned int nr)
{
	if (!nr)
		return;
	print_set_metrics(f, reports, nr);
	print_tier_metrics(f, reports, nr);
	print_latencies(f, reports, nr);
	print_holds(f, reports, nr);
	print_problems(f, reports, nr);
}
