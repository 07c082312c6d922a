// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cuts the power of a tiered set again and again, and checks the set afterwards.
 *
 *   cut --checker PROGRAM [--cuts N] [--seed N] [--kind NAME] [--verbose]
 *
 * Prints TAP. --kind makes cuts of only one kind; a wrong name lists all kinds. PROGRAM is
 * tier_check, or takes the same arguments; it checks the metadata before each activation.
 */
#include "crash.h"

#include <getopt.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CYCLE_SECONDS	120	/* a cycle that takes longer hangs */
#define SET_AGE		12	/* cuts until a set is made anew */
#define MANY_CUTS	200	/* in so many cuts each phase ought to be cut */

/*
 * In sectors. A move copies pieces of 64 KiB, 16 at once. The sizes are one piece, 16 pieces,
 * and more, for which writes must be held back so that the copy ends.
 */
static const uint32_t chunk_sizes[] = { 128, 128, 2048, 4096 };

#define NR_CHUNK_SIZES (sizeof(chunk_sizes) / sizeof(chunk_sizes[0]))

enum moment { RUNNING, CHANGE, SUSPEND, ACTIVATION, FORMAT };

/*
 * A kind of cut: the event to wait for, which of the first nth events is taken, and the longest
 * delay after it. Each label is written twice, before the commit that makes it current and after
 * it.
 */
static struct kind {
	const char *name;
	enum moment moment;
	const char *event;
	unsigned int nth, delay_us;
	enum change change;
	unsigned int cuts, in_time;
} kinds[] = {
	{ "random", RUNNING, NULL, 0, 0, NO_CHANGE, 0, 0 },
	{ "copy", RUNNING, "tc_copy", 20, 4000, NO_CHANGE, 0, 0 },
	{ "flush-of-move", RUNNING, "tc_move_flush", 8, 0, NO_CHANGE, 0, 0 },
	{ "commit-of-move", RUNNING, "tc_move_flushed", 8, 8000, NO_CHANGE, 0, 0 },
	{ "switch", RUNNING, "tc_decided", 8, 0, NO_CHANGE, 0, 0 },
	{ "free", RUNNING, "tc_freed", 8, 8000, NO_CHANGE, 0, 0 },
	{ "commit", RUNNING, "tc_commit", 8, 12000, NO_CHANGE, 0, 0 },
	{ "committed", RUNNING, "tc_committed", 8, 0, NO_CHANGE, 0, 0 },
	{ "discard", RUNNING, "tc_discard", 4, 6000, NO_CHANGE, 0, 0 },
	{ "discard-committed", RUNNING, "tc_unmapped", 3, 2000, NO_CHANGE, 0, 0 },
	{ "discard-passed-down", RUNNING, "tc_passed_down", 3, 0, NO_CHANGE, 0, 0 },
	{ "partial", RUNNING, "tc_begun", 8, 8000, NO_CHANGE, 0, 0 },
	{ "zeroing", RUNNING, "tc_zeroing", 8, 2000, NO_CHANGE, 0, 0 },
	{ "first-write", RUNNING, "tc_born", 8, 4000, NO_CHANGE, 0, 0 },
	{ "first-write-committed", RUNNING, "tc_born_committed", 8, 0, NO_CHANGE, 0, 0 },
	{ "flush", RUNNING, "tc_flush", 12, 8000, NO_CHANGE, 0, 0 },
	{ "flush-end", RUNNING, "tc_flush_end", 12, 0, NO_CHANGE, 0, 0 },
	{ "evacuation", RUNNING, "dm_tier_migrate_start reason evacuate", 4, 8000, NO_CHANGE, 0, 0 },
	{ "heat", RUNNING, "tc_heat", 2, 12000, NO_CHANGE, 0, 0 },
	{ "reload", CHANGE, "tc_bump", 1, 80000, ORDER, 0, 0 },
	{ "reload-label", CHANGE, "tc_label", NEW_TIERS, 4000, ORDER, 0, 0 },
	{ "join", CHANGE, "tc_bump", 1, 80000, JOIN, 0, 0 },
	{ "join-label", CHANGE, "tc_label", NEW_TIERS + 1, 4000, JOIN, 0, 0 },
	{ "join-labelled", CHANGE, "tc_labelled", NEW_TIERS + 1, 10000, JOIN, 0, 0 },
	{ "drop", CHANGE, "tc_bump", 1, 80000, DROP, 0, 0 },
	{ "drop-label", CHANGE, "tc_label", 2 * NEW_TIERS, 4000, DROP, 0, 0 },
	{ "grow", CHANGE, "tc_bump", 1, 80000, GROW, 0, 0 },
	{ "grow-label", CHANGE, "tc_label", 2 * NEW_TIERS, 4000, GROW, 0, 0 },
	{ "grow-metadata", CHANGE, "tc_adopt", 1, 12000, GROW_METADATA, 0, 0 },
	{ "suspend", SUSPEND, "tc_suspend", 1, 30000, NO_CHANGE, 0, 0 },
	{ "bump", ACTIVATION, "tc_bump", 1, 20000, NO_CHANGE, 0, 0 },
	{ "label", ACTIVATION, "tc_label", NEW_TIERS, 4000, NO_CHANGE, 0, 0 },
	{ "labelled", ACTIVATION, "tc_labelled", NEW_TIERS, 10000, NO_CHANGE, 0, 0 },
	{ "recovery", ACTIVATION, "tc_commit", 2, 12000, NO_CHANGE, 0, 0 },
	{ "format", FORMAT, "tc_format", 1, 60000, NO_CHANGE, 0, 0 },
	{ "format-label", FORMAT, "tc_label", NEW_TIERS, 4000, NO_CHANGE, 0, 0 },
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static unsigned int nr_cuts = 50;
static uint64_t seed;
static const char *only, *checker;
static bool verbose;

static struct rng rng;
static struct model *model;
static struct set set;
static unsigned int set_age;
static bool wants_heat;		/* the next cut is for a set whose heat is saved */

/* The next cut: which disks, in which order; written while no cut is armed. */
static unsigned int cut_order[NR_DISKS], cut_nr;
static bool cutting;
static unsigned int ops_at_cut;
static bool roomy;		/* any tier can be emptied, at first */
static bool caches_kept;	/* some disk kept its cache since the last verification */

static unsigned int bad_blocks, failed_activations, bad_metadata, bad_status;
static unsigned int alone_cuts[NR_DISKS], all_cuts;
static unsigned int phase_cuts[NR_PHASES], op_cuts[NR_OPS];
static unsigned int cuts_made;		/* nr_cuts, and repeated cuts that missed their event */
static unsigned int partial_cuts;	/* that left a part of a cache behind */
static unsigned int large_cuts;	/* of a set whose chunks have several pieces */

bool cut_begun(void)
{
	return __atomic_load_n(&cutting, __ATOMIC_ACQUIRE);
}

/* ---- power ---- */

static void power_off(void)
{
	unsigned int i;

	__atomic_store_n(&cutting, true, __ATOMIC_RELEASE);
	ops_at_cut = work_under_way();
	trace_mark();
	for (i = 0; i < cut_nr; i++)
		disk_off(&disks[cut_order[i]]);
}

static void power_off_rest(void)
{
	unsigned int order[NR_DISKS], i;

	for (i = 0; i < NR_DISKS; i++)
		order[i] = i;
	rng_shuffle(&rng, order, NR_DISKS);
	for (i = 0; i < NR_DISKS; i++)
		disk_off(&disks[order[i]]);
}

/* Slow disks make the phases long; with caches that are written back a cut loses only a part. */
static void power_on(void)
{
	unsigned int i;

	for (i = 0; i < NR_DISKS; i++) {
		struct disk *d = &disks[i];

		if (d->on)
			continue;
		d->survived = d->lost = 0;
		d->evicted = rng_percent(&rng, 30) ? 1 + rng_below(&rng, 90) : 0;
		d->delay_us = rng_percent(&rng, 25) ? 0 : 500 + rng_below(&rng, 4000);
		disk_on(d);
	}
	__atomic_store_n(&cutting, false, __ATOMIC_RELEASE);
}

/*
 * Half of all cuts take all disks. The others take one disk, the metadata as often as all tiers
 * together.
 */
static void choose_disks(const struct kind *k)
{
	unsigned int spare = set_spare(&set), i;

	for (i = 0; i < NR_DISKS; i++)
		cut_order[i] = i;
	rng_shuffle(&rng, cut_order, NR_DISKS);
	cut_nr = NR_DISKS;
	if (rng_percent(&rng, 50)) {
		cut_nr = 1;
		if (rng_percent(&rng, 33))
			cut_order[0] = META;
		else if (k->change == JOIN && rng_percent(&rng, 33))
			cut_order[0] = spare;
		/* The spare disk is no part of the set. */
		if (cut_order[0] && cut_order[0] == spare && k->change != JOIN)
			cut_order[0] = set.order[0];
	}
	if (cut_nr == 1)
		alone_cuts[cut_order[0]]++;
	else
		all_cuts++;
}

/* ---- the set's life ---- */

static void make_set(void)
{
	unsigned int i, max = 0;

	set_deactivate(&set);
	power_on();
	for (i = 0; i < NR_DISKS; i++) {
		disk_grow(&disks[i], 0);
		disk_blank(&disks[i]);
		max += (disks[i].mib + MAX_GROWTH) * 2048;
	}
	set_init(&set, chunk_sizes[rng_below(&rng, NR_CHUNK_SIZES)]);
	/* Either a tier can be emptied, or places are reused at once. */
	roomy = rng_percent(&rng, 60);
	set.sectors = roomy ? set_roomy_size(&set) : set_capacity(&set);
	/* The last chunk may be short. */
	if (rng_percent(&rng, 50))
		set.sectors -= 1 + rng_below(&rng, set.chunk_sectors - 1);
	model_free(model);
	model = model_new(set.sectors, max, set.chunk_sectors);
	orders_reset(&set);
	changes_reset(&set, model);
	set_age = 0;
	caches_kept = true;
}

static void check_metadata(void)
{
	if (!set_check_metadata(&set, checker))
		bad_metadata++;
}

static int activate(void)
{
	unsigned int a, b, t;
	int r;

	bad_status += !change_look();
	check_metadata();
	set.policy = rng_percent(&rng, 30) || wants_heat ? "heat" : "static";
	if (!change_try_refused(&rng)) {
		note("BAD: a list of tiers that is out of date is accepted");
		bad_status++;
	}
	change_choose(&rng);
	if (rng_percent(&rng, 15)) {
		a = rng_below(&rng, set.nr_tiers);
		b = rng_below(&rng, set.nr_tiers);
		t = set.order[a];
		set.order[a] = set.order[b];
		set.order[b] = t;
	}
	r = set_activate(&set);
	if (!r && !cut_begun())
		change_settled();
	return r;
}

/* Activates the set after a cut, and checks every sector. */
static void recover(void)
{
	int r = activate(), fd;

	if (r) {
		note("BAD: activation with the power on: %s", strerror(-r));
		failed_activations++;
		make_set();
		r = activate();
		if (r)
			die("a new set cannot be activated: %s", strerror(-r));
	}
	if (!orders_in_force())
		bad_status++;
	fd = set_open();
	r = model_verify(model, fd);
	if (r < 0) {
		note("BAD: reading after the cut: %s", strerror(-r));
		bad_blocks++;
		make_set();
		r = activate();
		if (r)
			die("a new set cannot be activated: %s", strerror(-r));
	} else {
		bad_blocks += r;
		/* Data that was read may still be in a cache that was spared. */
		if (caches_kept && fdatasync(fd)) {
			note("BAD: a FLUSH fails with the power on");
			bad_blocks++;
		}
		caches_kept = false;
	}
	close(fd);
}

/* After a removal without a cut everything is on stable storage. */
static void deactivate(void)
{
	struct op flush = { .kind = OP_FLUSH };
	int r;

	flush.snapshot = model_snapshot(model);
	model_begin(model, &flush);
	r = set_deactivate(&set);
	if (r)
		die("the device cannot be removed: %s", strerror(-r));
	model_end(model, &flush, !cut_begun());
	free(flush.snapshot);
}

/* ---- a cut ---- */

static void arm(const struct kind *k)
{
	if (k->event)
		trace_arm(k->event, 1 + rng_below(&rng, k->nth),
			  k->delay_us ? rng_below(&rng, k->delay_us) : 0,
			  k->moment == CHANGE ? 15000 : 4000, power_off);
	else
		trace_arm(NULL, 0, 0, 20 + rng_below(&rng, 700), power_off);
}

static void cut_activation(struct kind *k)
{
	int r;

	arm(k);
	r = activate();
	if (r && !cut_begun()) {
		note("BAD: activation with the power on: %s", strerror(-r));
		failed_activations++;
	}
	trace_fire();
}

static bool evacuates(const struct kind *k)
{
	return !strcmp(k->name, "evacuation");
}

static bool evacuable(void)
{
	unsigned int i;

	for (i = 0; i < set.nr_tiers && set_can_empty(&set, i); i++)
		;
	return i == set.nr_tiers;
}

/* The evacuation begins, and may be over, before the message is answered. */
static void evacuate(const struct kind *k)
{
	unsigned int rank = rng_below(&rng, set.nr_tiers), i;
	struct set_status st;
	int r;

	orders_lock();
	orders_admit_all();
	/* A tier that holds chunks, if any does. */
	set_get_status(&set, &st);
	for (i = 0; i < set.nr_tiers && !st.used[rank]; i++)
		rank = (rank + 1) % set.nr_tiers;
	arm(k);
	r = orders_evacuate(rank);
	orders_unlock(true);
	if (r && !cut_begun()) {
		note("BAD: evacuate %u: %s", rank, strerror(-r));
		bad_status++;
	}
}

/* Makes an active set that can be cut in this way. */
static void prepare(const struct kind *k)
{
	bool fits = evacuates(k) ? evacuable() : change_prepare(k->change, &rng);

	while (!fits) {
		deactivate();
		do
			make_set();
		while (evacuates(k) && !roomy);
		recover();
		fits = evacuates(k) || change_prepare(k->change, &rng);
	}
}

/* True if the cut came before the change was over. */
static bool cut_change(struct kind *k)
{
	int r;
	bool begun;

	arm(k);
	r = change_make(k->change, &rng);
	begun = cut_begun();
	if (r && !begun) {
		note("BAD: a change of the live set with the power on: %s", strerror(-r));
		failed_activations++;
	}
	trace_fire();
	return begun;
}

/* False if the cut came after the event was over. */
static bool cut_running(struct kind *k)
{
	bool in_time = true;

	work_start(model, &set, rng_next(&rng));
	nap_ms(20 + rng_below(&rng, 250));
	if (k->moment == SUSPEND) {
		work_stop();
		arm(k);
		deactivate();
		trace_fire();
		return true;
	}
	if (k->moment == CHANGE) {
		in_time = cut_change(k);
	} else {
		if (evacuates(k))
			evacuate(k);
		else
			arm(k);
		trace_wait();
	}
	/* After the cut the rest of the set must not confirm what it cannot keep. */
	if (cut_nr == 1 && rng_percent(&rng, 60))
		nap_ms(rng_below(&rng, 200));
	if (cut_nr == 1 && rng_percent(&rng, 50))
		power_off_rest();
	work_stop();
	return in_time;
}

static void cut(struct kind *k)
{
	bool in_vain = false, partial = false;
	unsigned int phases, i;
	uint64_t start = now_ms(), at_cut;

	alarm(CYCLE_SECONDS);
	wants_heat = !strcmp(k->name, "heat");
	if (k->moment == FORMAT || set_age++ >= SET_AGE)
		make_set();
	/* A format does not count as an activation. */
	if (k->moment == ACTIVATION && !set_generation()) {
		recover();
		deactivate();
	}
	if (k->moment == ACTIVATION || k->moment == FORMAT) {
		choose_disks(k);
		cut_activation(k);
	} else {
		recover();
		prepare(k);
		choose_disks(k);
		in_vain = !cut_running(k);
	}
	at_cut = now_ms();
	if (set.active)
		deactivate();
	phases = trace_phases();
	k->cuts++;
	cuts_made++;
	k->in_time += trace_wait() && !in_vain;
	large_cuts += set.chunk_sectors > chunk_sizes[0];
	for (i = 0; i < NR_PHASES; i++)
		phase_cuts[i] += phases >> i & 1;
	for (i = 0; i < NR_OPS; i++)
		op_cuts[i] += ops_at_cut >> i & 1;
	for (i = 0; i < NR_DISKS; i++) {
		caches_kept |= disks[i].on;
		partial |= !disks[i].on && disks[i].survived && disks[i].lost;
	}
	partial_cuts += partial;
	power_on();
	if (verbose)
		note("%s, %u disks, first %s: %llu ms to the cut, %llu ms after it", k->name, cut_nr,
		     disks[cut_order[0]].name, (unsigned long long)(at_cut - start),
		     (unsigned long long)(now_ms() - at_cut));
}

/* ---- TAP ---- */

static unsigned int points;
static bool failed;

__attribute__((format(printf, 2, 3)))
static void point(bool ok, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("%s %u - ", ok ? "ok" : "not ok", ++points);
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
	fflush(stdout);
	failed |= !ok;
}

/* Number of lost sectors, with a model that counts every write as durable. */
static unsigned int cut_believing_all(void)
{
	unsigned int bad, written = work_ops[OP_WRITE];

	alarm(CYCLE_SECONDS);
	work_start(model, &set, rng_next(&rng));
	/* On slow machines it takes longer until there is data to lose. */
	do
		nap_ms(400);
	while (__atomic_load_n(&work_ops[OP_WRITE], __ATOMIC_RELAXED) < written + 20);
	trace_arm(NULL, 0, 0, 0, power_off);
	trace_wait();
	work_stop();
	deactivate();
	trace_phases();
	power_on();
	bad_blocks = 0;
	recover();
	bad = bad_blocks;
	bad_blocks = 0;
	return bad;
}

/*
 * Without FLUSH no data has to survive: if all data does, the test would see no fault. A single
 * cut may come right after a FLUSH, but not cut after cut.
 */
static void test_method(void)
{
	unsigned int bad = 0, cuts, i;

	model_believes_all = model_quiet = true;
	make_set();
	cut_nr = NR_DISKS;
	for (i = 0; i < NR_DISKS; i++)
		cut_order[i] = i;
	recover();
	for (cuts = 0; !bad && cuts < 10; cuts++)
		bad = cut_believing_all();
	deactivate();
	model_believes_all = model_quiet = false;
	point(bad, "a cut takes what was not flushed: %u sectors in cut %u", bad, cuts);
	make_set();
}

static void summary(unsigned int seconds)
{
	unsigned int i;

	note("%u cuts in %u s: %u of all disks, %u of the metadata alone, %u, %u, %u, %u of a tier alone",
	     cuts_made, seconds, all_cuts, alone_cuts[META], alone_cuts[1], alone_cuts[2],
	     alone_cuts[3], alone_cuts[4]);
	note("%u of them left a part of some cache behind", partial_cuts);
	note("changes cut short: %u not written, %u written; %u lists out of date refused",
	     changes_undone, changes_done, changes_refused);
	note("%u of them with chunks of 1 or 2 MiB, the others of 64 KiB", large_cuts);
	for (i = 0; i < NR_KINDS; i++)
		if (kinds[i].cuts)
			note("  %-22s %4u cuts, %u of them at the event", kinds[i].name,
			     kinds[i].cuts, kinds[i].in_time);
	note("under way at the moment of the cut:");
	for (i = 0; i < NR_PHASES; i++)
		note("  %-34s %4u", phase_names[i], phase_cuts[i]);
	note("%u writes, %u with FUA, %u of zeroes, %u discards, %u reads, %u flushes, %u errors",
	     work_ops[OP_WRITE], work_ops[OP_FUA], work_ops[OP_ZERO], work_ops[OP_DISCARD],
	     work_ops[OP_READ], work_ops[OP_FLUSH], work_errors);
	note("under way in the cut: writes %u, FUA %u, zeroes %u, discards %u, flushes %u",
	     op_cuts[OP_WRITE], op_cuts[OP_FUA], op_cuts[OP_ZERO], op_cuts[OP_DISCARD],
	     op_cuts[OP_FLUSH]);
}

static void hung(int signal)
{
	static const char text[] = "Bail out! a cut takes too long, something hangs\n";

	(void)signal;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(2);
	/* Prints blocked tasks to the kernel log. */
	write_text("/proc/sysrq-trigger", "w");
	_exit(1);
}

static void usage(void)
{
	unsigned int i;

	fprintf(stderr, "usage: cut --checker PROGRAM [--cuts N] [--seed N] [--kind NAME] [--verbose]\nkinds:");
	for (i = 0; i < NR_KINDS; i++)
		fprintf(stderr, " %s", kinds[i].name);
	fputc('\n', stderr);
	exit(2);
}

static unsigned long long number(const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 0);

	if (end == text || *end)
		usage();
	return n;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cuts", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "kind", required_argument, NULL, 'k' },
		{ "checker", required_argument, NULL, 'c' },
		{ "verbose", no_argument, NULL, 'v' },
		{ }
	};
	unsigned int i;
	int c;

	seed = time(NULL);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			nr_cuts = number(optarg);
			break;
		case 's':
			seed = number(optarg);
			break;
		case 'k':
			only = optarg;
			break;
		case 'c':
			checker = optarg;
			break;
		case 'v':
			verbose = true;
			break;
		default:
			usage();
		}
	}
	for (i = 0; only && i < NR_KINDS && strcmp(kinds[i].name, only); i++)
		;
	if (optind != argc || !nr_cuts || !checker || (only && i == NR_KINDS))
		usage();
}

static bool missed(const struct kind *k)
{
	return k->cuts && k->event && !k->in_time;
}

/* The event was too rare, or over before the cut: how soon depends on the machine. */
static void come_earlier(struct kind *k)
{
	k->nth = (k->nth + 1) / 2;
	k->delay_us /= 2;
}

static void run_cuts(void)
{
	unsigned int order[NR_KINDS], i, k;

	for (i = 0; i < NR_KINDS; i++)
		order[i] = i;
	for (i = 0; i < nr_cuts; i++) {
		/* Every kind has its turn. */
		if (i % NR_KINDS == 0)
			rng_shuffle(&rng, order, NR_KINDS);
		k = order[i % NR_KINDS];
		if (only)
			for (k = 0; strcmp(kinds[k].name, only); k++)
				;
		cut(&kinds[k]);
	}
	/* A kind whose event was never seen counts as failed. */
	for (k = 0; k < NR_KINDS; k++)
		for (i = 0; i < 10 && missed(&kinds[k]); i++) {
			come_earlier(&kinds[k]);
			cut(&kinds[k]);
		}
	recover();
	deactivate();
}

int main(int argc, char **argv)
{
	unsigned int i, never = 0;
	uint64_t start;

	parse(argc, argv);
	printf("TAP version 13\n1..6\n");
	note("seed %llu, cuts %u", (unsigned long long)seed, nr_cuts);
	signal(SIGALRM, hung);
	alarm(CYCLE_SECONDS);
	rng.state = seed;
	disks_create(seed);
	trace_start();
	power_on();

	test_method();
	start = now_ms();
	run_cuts();
	summary((now_ms() - start) / 1000);

	for (i = 0; i < NR_KINDS; i++) {
		if (missed(&kinds[i])) {
			note("%s: no cut came at the event", kinds[i].name);
			never++;
		}
	}
	for (i = 0; i < NR_PHASES && !only && nr_cuts >= MANY_CUTS; i++)
		never += !phase_cuts[i];
	/* With only one kind the last disk may be spare all the time. */
	for (i = 0; i < (only ? NEW_TIERS + 1 : NR_DISKS) && nr_cuts >= MANY_CUTS; i++)
		never += !alone_cuts[i];
	if (nr_cuts >= MANY_CUTS && !only)
		never += !changes_undone + !changes_done + !changes_refused;
	if (nr_cuts >= MANY_CUTS)
		never += !partial_cuts + !all_cuts + !large_cuts + (large_cuts == cuts_made);
	point(!bad_blocks, "after %u cuts: %u bad sectors", cuts_made, bad_blocks);
	point(!work_bad, "while alive: %u bad sectors or errors", work_bad);
	point(!failed_activations && !bad_status && !orders_bad,
	      "%u failed activations or changes, %u with a wrong status, %u messages refused",
	      failed_activations, bad_status, orders_bad);
	point(!bad_metadata, "before activation: metadata damaged %u times", bad_metadata);
	point(!never, "%u kinds of cut, phases, changes, disks, caches or chunk sizes that no cut met",
	      never);
	trace_stop();
	disks_destroy();
	return failed;
}
