// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the heat engine, TAP on stdout. A small set of tiers takes the target's place:
 * moves happen when the test says so.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "heat/engine.h"
#include "sampling.h"
#include "../tap.h"

#define CHUNK_SECTORS	2048

/* ---- a set of tiers ---- */

struct set {
	u8 *rank;
	u32 *heat;
	u8 *changed;		/* by block of heat */
	u64 held[TIER_NR_HOLDS];
	u32 nr_chunks;
	struct tier_view tiers[TIER_MAX_TIERS];
	unsigned int nr_tiers;
	u64 random;
	u64 now_ns;
	u64 wheres;		/* calls of where() */
	unsigned int (*where)(struct set *s, u32 chunk);
	struct tier_policy engine;
};

static unsigned int set_where(void *context, u32 chunk)
{
	struct set *s = context;

	s->wheres++;
	return s->where ? s->where(s, chunk) : s->rank[chunk];
}

static u32 set_random(void *context, u32 ceiling)
{
	struct set *s = context;

	s->random = s->random * 6364136223846793005 + 1442695040888963407;
	return ((s->random >> 32) * ceiling) >> 32;
}

static u32 roll(struct set *s, u32 ceiling)
{
	return set_random(s, ceiling);
}

/* A new policy: for an array of another size, or for other tiers. */
static void init_engine(struct set *s, u32 *heat, u32 nr_chunks)
{
	struct tier_policy_env env = {
		.context = s,
		.where = set_where,
		.random = set_random,
		.tiers = s->tiers,
		.nr_tiers = &s->nr_tiers,
		.now_ns = &s->now_ns,
		.chunk_sectors = CHUNK_SECTORS,
	};

	free(s->changed);
	s->changed = calloc(nr_chunks / TIER_HEAT_PER_BLOCK + 1, 1);
	env.changed = s->changed;
	memset(s->held, 0, sizeof(s->held));
	env.held = s->held;
	heat_engine_init(&s->engine, &env, heat, nr_chunks);
}

/* places[] by rank; chunks fill the slowest tier first. */
static struct set *make_set(u32 nr_chunks, unsigned int nr_tiers, const u64 places[])
{
	struct set *s = calloc(1, sizeof(*s));
	unsigned int rank;
	u32 chunk;

	s->nr_chunks = nr_chunks;
	s->nr_tiers = nr_tiers;
	s->rank = malloc(nr_chunks);
	s->heat = calloc(nr_chunks, sizeof(*s->heat));
	s->random = 42;
	for (rank = 0; rank < nr_tiers; rank++) {
		s->tiers[rank].places = places[rank];
		s->tiers[rank].free = places[rank];
		s->tiers[rank].open = true;
	}
	for (chunk = 0, rank = nr_tiers - 1; chunk < nr_chunks; chunk++) {
		while (!s->tiers[rank].free)
			rank--;
		s->rank[chunk] = rank;
		s->tiers[rank].free--;
	}
	init_engine(s, s->heat, nr_chunks);
	return s;
}

/* Two tiers; the first fast chunks lie on the fast one. */
static struct set *make_pair(u32 nr_chunks, u64 fast)
{
	const u64 places[] = { fast, nr_chunks };
	struct set *s = make_set(nr_chunks, 2, places);
	u32 chunk;

	for (chunk = 0; chunk < fast; chunk++)
		s->rank[chunk] = 0;
	s->tiers[0].free = 0;
	s->tiers[1].free = fast;
	return s;
}

static void free_set(struct set *s)
{
	free(s->rank);
	free(s->heat);
	free(s->changed);
	free(s);
}

static void access_chunk(struct set *s, u32 chunk, bool write)
{
	struct tier_access a = {
		.sector = (u64)chunk * CHUNK_SECTORS + 8 * roll(s, CHUNK_SECTORS / 8),
		.sectors = 8,
		.weight = 1,
		.write = write,
	};

	heat_engine_observe(&s->engine, &a, 1);
}

/* Random reads that the stream detection does not take for a sequence. */
static void hammer(struct set *s, u32 chunk, unsigned int times)
{
	unsigned int i;

	for (i = 0; i < times; i++) {
		struct tier_access a = {
			.sector = (u64)chunk * CHUNK_SECTORS + (i * 1024 + 512) % 2048,
			.sectors = 8,
			.weight = 1,
		};

		memset(s->engine.streams, 0xff, sizeof(s->engine.streams));
		heat_engine_observe(&s->engine, &a, 1);
	}
}

static void apply(struct set *s, const struct tier_move *m)
{
	s->tiers[s->rank[m->chunk]].free++;
	s->tiers[m->to].free--;
	s->rank[m->chunk] = m->to;
	heat_engine_done(&s->engine, m, true);
}

/* Carries out all proposed moves; returns their number. */
static unsigned int settle(struct set *s)
{
	struct tier_move m;
	unsigned int nr = 0;

	while (nr < 100000 && heat_engine_next(&s->engine, 1, 0, &m)) {
		apply(s, &m);
		nr++;
	}
	return nr;
}

/* The next proposed chunk if its move is to that rank, else -1. */
static long proposed(struct set *s, unsigned int to, struct tier_move *m)
{
	return heat_engine_next(&s->engine, 1, 0, m) && m->to == to ? (long)m->chunk : -1;
}

static void put_heat(struct set *s, u32 chunk, u32 accesses)
{
	s->heat[chunk] = accesses * HEAT_ONE;
}

static bool near(double value, double expected, double percent)
{
	double error = value > expected ? value - expected : expected - value;

	return error <= expected * percent / 100;
}

/* ---- counting ---- */

/* Streams on disks of which nothing else was measured yet must not look as if they saved nothing. */
static void test_costs(void)
{
	struct tier_view tiers[2] = { };
	struct heat_costs c = { };
	u32 assumed;

	heat_costs_update(&c, tiers, 2, CHUNK_SECTORS);
	assumed = c.weight_stream[0];
	tiers[0].stream_ns = tiers[1].stream_ns = 20000;
	tiers[0].stream_write_ns = tiers[1].stream_write_ns = 20000;
	heat_costs_update(&c, tiers, 2, CHUNK_SECTORS);
	ok(assumed && c.weight_stream[0] == assumed && c.weight_stream[1] == assumed,
	   "a stream beside assumed random reads weighs what was assumed (%u)", assumed);
	tiers[0].random_ns = tiers[1].random_ns = 20000;
	heat_costs_update(&c, tiers, 2, CHUNK_SECTORS);
	ok(c.weight_stream[0] == c.weight_random[0], "as much as a random read that takes as long");
}

static void test_counting(void)
{
	struct set *s = make_pair(1000, 100);
	struct tier_access a = { .sector = 500 * CHUNK_SECTORS, .sectors = 8, .weight = 1 };
	u32 i, one, sum = 0;

	hammer(s, 500, 1);
	one = heat_engine_heat(&s->engine, 500);
	ok(one >= HEAT_ONE && one <= HEAT_ONE + 1, "a random access weighs one (%u/16)", one);

	a.sector = 600 * CHUNK_SECTORS + 8;
	for (i = 0; i < 201; i++, a.sector += 8)
		heat_engine_observe(&s->engine, &a, 1);
	for (i = 600; i < 602; i++)
		sum += heat_engine_heat(&s->engine, i);
	/* (0.08 ms + 4 KiB at 180 MB/s less 2 GB/s) / 7.91 ms = 0.0127, 201 times */
	ok(sum > 2 * HEAT_ONE && sum < 5 * HEAT_ONE,
	   "a stream of 201 accesses weighs one and 200 small parts (%u/16)", sum);

	a.sector = 800 * CHUNK_SECTORS;
	a.meta = 1;
	heat_engine_observe(&s->engine, &a, 1);
	one = heat_engine_heat(&s->engine, 800);
	ok(one >= HEAT_ONE && one <= HEAT_ONE + 1, "metadata weighs as much (%u/16)", one);
	heat_engine_set(&s->engine, HEAT_KEY_METADATA_WEIGHT, 300);
	a.sector = 900 * CHUNK_SECTORS;
	heat_engine_observe(&s->engine, &a, 1);
	one = heat_engine_heat(&s->engine, 900);
	ok(one >= 4 * HEAT_ONE && one <= 4 * HEAT_ONE + 1,
	   "or as many percent more as metadata_weight says (%u/16)", one);
	a.meta = 0;

	a.sector = 700 * CHUNK_SECTORS;
	a.write = 1;
	heat_engine_observe(&s->engine, &a, 1);
	ok(TIER_HEAT_WRITES(s->heat[700]) && !TIER_HEAT_READS(s->heat[700]),
	   "a write counts as a write");
	ok(TIER_HEAT_READS(s->heat[500]) && !TIER_HEAT_WRITES(s->heat[500]),
	   "a read counts as a read");

	hammer(s, 10, 20000);
	ok(TIER_HEAT_READS(s->heat[10]) > 60000 && !TIER_HEAT_WRITES(s->heat[10]),
	   "a counter saturates and does not spill into the other (%x)", s->heat[10]);
	ok(heat_engine_heat(&s->engine, 10) <= 0xffff, "nor into the heat");

	a.sector = 1000ULL * CHUNK_SECTORS;
	heat_engine_observe(&s->engine, &a, 1);
	ok(heat_engine_heat(&s->engine, 1000) == 0, "an access past the end is ignored");
	free_set(s);
}

static void test_streams(void)
{
	struct set *s = make_pair(4000, 100);
	u32 random = 0, interleaved = 0;
	int i, k;

	for (i = 0; i < 100; i++)
		for (k = 0; k < 9; k++) {
			struct tier_access a = {
				.sector = (k < 8 ? k * 400 : 3600) * CHUNK_SECTORS + 8 * i,
				.sectors = 8,
				.weight = 1,
			};

			if (k < 8)
				heat_engine_observe(&s->engine, &a, 1);
		}
	for (k = 0; k < 8; k++)
		interleaved += heat_engine_heat(&s->engine, k * 400);
	ok(interleaved < 8 * 4 * HEAT_ONE, "eight interleaved streams are told apart (%u/16)",
	   interleaved);

	for (i = 0; i < 100; i++)
		for (k = 0; k < 9; k++) {
			struct tier_access a = {
				.sector = (200 + k * 400) * CHUNK_SECTORS + 8 * i,
				.sectors = 8,
				.weight = 1,
			};

			heat_engine_observe(&s->engine, &a, 1);
		}
	for (k = 0; k < 9; k++)
		random += heat_engine_heat(&s->engine, 200 + k * 400);
	ok(random > 9 * 80 * HEAT_ONE, "nine are too many (%u/16)", random);

	for (k = 0; k < 2; k++)
		for (i = 0; i < 100; i++) {
			struct tier_access a = {
				.sector = (1010 + k * 100) * CHUNK_SECTORS +
					  i * (8 + (k ? 257 : 256)),
				.sectors = 8,
				.weight = 1,
			};

			heat_engine_observe(&s->engine, &a, 1);
		}
	for (random = 0, interleaved = 0, i = 0; i < 20; i++) {
		interleaved += heat_engine_heat(&s->engine, 1010 + i);
		random += heat_engine_heat(&s->engine, 1110 + i);
	}
	ok(interleaved < 5 * HEAT_ONE, "gaps of 256 sectors do not break a stream (%u/16)",
	   interleaved);
	ok(random > 98 * HEAT_ONE, "gaps of 257 do (%u/16)", random);
	free_set(s);
}

static void test_decay(void)
{
	struct set *s = make_pair(1000, 100);
	u32 half = heat_engine_keys[HEAT_KEY_HALF_LIFE].initial * 100, i, before[1000];
	double worst = 0, mean = 0;
	u64 sum;

	for (i = 100; i < 1000; i++)
		s->heat[i] = 20000U << 16 | 20000;
	for (i = 100; i < 1000; i++)
		before[i] = heat_engine_heat(&s->engine, i);
	for (i = 0; i < half; i++)
		access_chunk(s, roll(s, 100), false);
	for (i = 100; i < 1000; i++)
		mean += heat_engine_heat(&s->engine, i) / (double)before[i] / 900;
	ok(near(mean, 0.5, 1), "heat halves in one half-life (to %.3f)", mean);

	for (i = 100; i < 1000; i++)
		before[i] = heat_engine_heat(&s->engine, i);
	for (i = 0; i < half * 13 / 8; i++)
		access_chunk(s, roll(s, 100), false);
	for (i = 100; i < 1000; i++) {
		double want = before[i] * 0.32421;	/* 2^-13/8 */
		double error = heat_engine_heat(&s->engine, i) / want - 1;

		worst = error > worst ? error : -error > worst ? -error : worst;
	}
	ok(worst < 0.015, "decay is exponential within 1.5%% at any phase (%.2f%%)",
	   worst * 100);
	free_set(s);

	/* Small counters: probabilistic rounding keeps the mean. */
	s = make_pair(20000, 200);
	for (i = 200; i < 20000; i++)
		s->heat[i] = 3;
	s->engine.hand = 0;
	for (i = 0; i < half * 2; i++)
		access_chunk(s, roll(s, 200), false);
	for (sum = 0, i = 200; i < 20000; i++)
		sum += TIER_HEAT_READS(s->heat[i]);
	ok(near(sum / 19800.0, 1.5, 3), "small counters decay by chance, right on average (%.3f)",
	   sum / 19800.0);
	free_set(s);
}

static void test_equal_additions(void)
{
	struct set *s = make_pair(1000, 100);
	u32 i, low = ~0U, high = 0;

	/* Twenty accesses to each, whatever the phase of the sweep is. */
	s->engine.hand = 500;
	heat_engine_set(&s->engine, HEAT_KEY_HALF_LIFE, 1024);
	for (i = 100; i < 1000; i += 50)
		hammer(s, i, 20);
	for (i = 100; i < 1000; i += 50) {
		u32 h = heat_engine_heat(&s->engine, i);

		low = min_t(u32, low, h);
		high = max_t(u32, high, h);
	}
	ok(low >= 20 * HEAT_ONE * 97 / 100 && high <= 20 * HEAT_ONE * 103 / 100,
	   "equal accesses give equal heat on both sides of the sweep (%u..%u)", low, high);
	free_set(s);
}

/* Accesses in blocks 0 and 3, decay in block 1, nothing in block 2. */
static void test_changed(void)
{
	const u32 per_block = TIER_HEAT_PER_BLOCK;
	struct set *s = make_pair(4 * per_block, 100);
	u32 i;

	put_heat(s, per_block + 7, 50);
	hammer(s, per_block - 1, 1);
	hammer(s, 3 * per_block, 1);
	ok(s->changed[0] && s->changed[3], "accesses mark their blocks of heat");
	ok(!s->changed[1] && !s->changed[2], "and no others");
	for (i = 0; i < 64 * 100 / 4; i++)
		access_chunk(s, 0, false);
	ok(s->changed[1], "decay marks a block");
	ok(!s->changed[2], "but not one without heat");
	free_set(s);
}

/* ---- more accesses than are noted ---- */

#define CPUS	16

/* CPUs that note as the target does, above a set; a second set sees all accesses. */
struct load {
	struct set *set, *all;
	struct tier_access ring[CPUS][TIER_LONGEST_WINDOW];
	unsigned int filled[CPUS], window, noted;
	bool closed;
	u32 made, unseen;	/* since the window was opened; passed over */
	double now_ms, opened_ms, look_ms;
};

static struct load *make_load(void)
{
	struct load *l = calloc(1, sizeof(*l));

	l->set = make_pair(1000, 100);
	l->all = make_pair(1000, 100);
	heat_engine_set(&l->set->engine, HEAT_KEY_HALF_LIFE, 1024);
	heat_engine_set(&l->all->engine, HEAT_KEY_HALF_LIFE, 1024);
	l->window = TIER_LONGEST_WINDOW;
	return l;
}

static void free_load(struct load *l)
{
	free_set(l->set);
	free_set(l->all);
	free(l);
}

static void look(struct load *l)
{
	unsigned int cpu, i, cpus = 0;
	struct tier_weights w;

	l->look_ms = l->now_ms + TIER_OBSERVE_MS;
	if (l->closed && l->now_ms - l->opened_ms < tier_window_rest_ms(l->noted))
		return;
	for (cpu = 0; cpu < CPUS; cpu++) {
		tier_weights_begin(&w, l->filled[cpu], l->noted, l->closed ? l->made : 0);
		for (i = 0; i < l->filled[cpu]; i++)
			l->ring[cpu][i].weight = tier_next_weight(&w);
		heat_engine_observe(&l->set->engine, l->ring[cpu], l->filled[cpu]);
		cpus += !!l->filled[cpu];
		l->filled[cpu] = 0;
	}
	if (cpus)
		l->window = tier_window_length(cpus);
	l->noted = l->made = 0;
	l->closed = false;
	l->opened_ms = l->now_ms;
}

/* An access that comes so long after the last one. */
static void make_access(struct load *l, double after_ms, unsigned int cpu, u64 sector)
{
	struct tier_access a = { .sector = sector, .sectors = 8, .weight = 1 };

	for (l->now_ms += after_ms; l->look_ms <= l->now_ms;)
		look(l);
	heat_engine_observe(&l->all->engine, &a, 1);
	l->made++;
	if (l->closed) {
		l->unseen++;
		return;
	}
	l->ring[cpu][l->filled[cpu]++] = a;
	l->noted++;
	l->closed = l->filled[cpu] >= l->window;
}

static u64 random_sector(struct load *l, u32 first, u32 chunks)
{
	return (u64)(first + roll(l->set, chunks)) * CHUNK_SECTORS + 8 * roll(l->set, 256);
}

static u64 sum_heat(struct set *s, u32 first, u32 chunks)
{
	u64 sum = 0;

	while (chunks--)
		sum += heat_engine_heat(&s->engine, first++);
	return sum;
}

static double seen_of(struct load *l, u32 first, u32 chunks)
{
	return (double)sum_heat(l->set, first, chunks) / sum_heat(l->all, first, chunks);
}

static void test_weights(void)
{
	static const u32 noted[] = { 1, 2, 31, 160, 480, 4000 };
	struct tier_weights w;
	unsigned int i, times;
	bool right = true;
	u64 sum;
	u32 nr;

	for (i = 0; i < sizeof(noted) / sizeof(noted[0]); i++)
		for (times = 1; times < 5000; times = times * 3 + 1) {
			u32 all = noted[i] * times + times / 2;

			nr = min_t(u32, noted[i], TIER_LONGEST_WINDOW);
			tier_weights_begin(&w, nr, noted[i], all);
			for (sum = 0; w.nr;)
				sum += tier_next_weight(&w);
			right &= sum == (u64)all * nr / noted[i];
		}
	ok(right, "what is noted stands for all accesses, no more and no fewer");
	tier_weights_begin(&w, 100, 100, 90);
	for (sum = 0; w.nr;)
		sum += tier_next_weight(&w) == 1;
	ok(sum == 100, "where none is passed over each stands for itself");
	tier_weights_begin(&w, 1, 0, 50);
	ok(tier_next_weight(&w) == 1, "one that came late as well");
	tier_weights_begin(&w, 160, 160, 0xffffffff);
	for (i = 0; w.nr; i++)
		sum = tier_next_weight(&w);
	ok(i == 160 && sum == 0xffff, "a weight has an end");
}

static void test_rates(void)
{
	static const unsigned int cpus[] = { 1, 2, CPUS };
	static const unsigned int rates[] = { 1000, 20000, 500000 };
	unsigned int i, k, n;

	for (i = 0; i < 3; i++)
		for (k = 0; k < 3; k++) {
			struct load *l = make_load();
			double seen, warm, accesses;

			for (n = 0; n < 150000; n++)
				make_access(l, 1000.0 / rates[k], roll(l->set, cpus[i]),
					    roll(l->set, 4) ? random_sector(l, 100, 50)
							    : random_sector(l, 200, 50));
			look(l);
			l->now_ms += TIER_LONGEST_REST_MS;
			look(l);
			seen = seen_of(l, 100, 50);
			warm = seen_of(l, 200, 50);
			accesses = (double)l->set->engine.accesses / n;
			ok(near(seen, 1, 15) && near(warm, 1, 25) && near(accesses, 1, 1),
			   "%u a second on %u CPUs: %.2f of the heat, %.2f of the lesser heat, %.2f of the time",
			   rates[k], cpus[i], seen, warm, accesses);
			free_load(l);
		}
}

/* One CPU makes a twentieth of the accesses, to chunks of its own. */
static void test_slow_cpu(void)
{
	struct load *l = make_load();
	double seen;
	unsigned int n;

	for (n = 0; n < 500000; n++) {
		unsigned int cpu = !roll(l->set, 20);

		make_access(l, 0.002, cpu, random_sector(l, 100 + 50 * cpu, 10));
	}
	seen = seen_of(l, 150, 10);
	ok(near(seen, 1, 35), "a slow CPU beside a busy one: %.2f of its heat", seen);
	free_load(l);
}

/* 500,000 accesses a second for two seconds, then 50 a second. */
static void test_after_burst(void)
{
	struct load *l = make_load();
	unsigned int n;
	double seen;

	for (n = 0; n < 1000000; n++)
		make_access(l, 0.002, 0, random_sector(l, 100, 500));
	l->unseen = 0;
	for (n = 0; n < 100; n++)
		make_access(l, 20, 0, random_sector(l, 700, 10));
	look(l);
	seen = seen_of(l, 700, 10);
	ok(l->unseen <= TIER_LONGEST_REST_MS / 20 && near(seen, 1, 15),
	   "after a burst: %u of 100 quiet accesses are passed over, %.2f of their heat is there",
	   l->unseen, seen);
	free_load(l);
}

/* At 500,000 a second a stream takes 2 ms for a chunk. */
static void test_fast_stream(void)
{
	struct load *l = make_load();
	u32 hottest = 0, i;
	unsigned int n;

	for (n = 0; n < 800 * 256; n++)
		make_access(l, 0.002, 0, (u64)100 * CHUNK_SECTORS + n * 8);
	look(l);
	for (i = 100; i < 900; i++)
		hottest = max_t(u32, hottest, heat_engine_heat(&l->set->engine, i));
	ok(hottest < 5 * HEAT_ONE, "a fast stream heats no chunk that it had to pass (%u/16)",
	   hottest);
	ok(!settle(l->set), "nor is any worth a move");
	free_load(l);
}

static void test_heavy(void)
{
	struct set *s = make_pair(1000, 100);
	struct tier_access a = { .sectors = 8, .weight = 0xffff };
	unsigned int i;

	for (i = 0; i < 100; i++) {
		a.sector = (u64)(100 + i % 3) * CHUNK_SECTORS + 1024 * i % 2048;
		a.write = i & 1;
		heat_engine_observe(&s->engine, &a, 1);
	}
	for (i = 100; i < 103; i++)
		ok(TIER_HEAT_READS(s->heat[i]) > 0x3fff && TIER_HEAT_WRITES(s->heat[i]) > 0x3fff,
		   "the heaviest accesses saturate (%x)", s->heat[i]);
	ok(s->engine.owed < 65536, "and the sweep keeps up");
	free_set(s);
}

/* Three chunks with 4, 2 and 1 parts of the hot accesses, at 500,000 a second and half-life 64. */
static void test_order(void)
{
	struct load *l = make_load();
	u64 heat[3] = { 0 };
	unsigned int n, i;

	heat_engine_set(&l->set->engine, HEAT_KEY_HALF_LIFE, 64);
	for (n = 0; n < 2000000; n++) {
		u32 x = roll(l->set, 700);

		make_access(l, 0.002, 0, x < 4 ? random_sector(l, 300, 1) : x < 6 ?
			    random_sector(l, 301, 1) : x < 7 ? random_sector(l, 302, 1) :
			    random_sector(l, 100, 100));
		for (i = 0; i < 3 && n % 1000 == 0; i++)
			heat[i] += heat_engine_heat(&l->set->engine, 300 + i);
	}
	ok(heat[0] > heat[1] * 3 / 2 && heat[1] > heat[2] * 3 / 2,
	   "weights keep the order of heat (%llu %llu %llu)", (unsigned long long)heat[0],
	   (unsigned long long)heat[1], (unsigned long long)heat[2]);
	free_load(l);
}

/* ---- moving ---- */

static void test_swap(void)
{
	struct set *s = make_pair(1000, 100);
	struct tier_move m, again;
	long victim;
	u32 i;

	for (i = 0; i < 100; i++)
		put_heat(s, i, 50 + i);
	put_heat(s, 37, 2);
	hammer(s, 99, 200);		/* probes to spend */
	hammer(s, 500, 30);
	victim = proposed(s, 1, &m);
	ok(victim == 37, "the coldest fast chunk makes way first (chunk %ld)", victim);
	ok(!heat_engine_next(&s->engine, 1, 0, &again),
	   "no second victim, no promotion while the place is being made");
	s->rank[victim] = 1;
	s->tiers[1].free--;
	heat_engine_done(&s->engine, &m, true);
	ok(!heat_engine_next(&s->engine, 1, 0, &again),
	   "no promotion and no other victim before the place is free");
	s->tiers[0].free++;
	ok(heat_engine_next(&s->engine, 1, 0, &m) && m.chunk == 500 && m.to == 0,
	   "then the hot chunk is promoted");
	ok(!heat_engine_next(&s->engine, 1, 0, &again), "not proposed again before done");
	hammer(s, 500, 30);
	ok(!heat_engine_next(&s->engine, 1, 0, &again), "not even if it gets hotter");
	apply(s, &m);
	ok(s->rank[500] == 0 && s->rank[37] == 1 && !settle(s), "then all is quiet");
	free_set(s);
}

static void test_admission(void)
{
	static const struct { u32 victim, chunk; bool moves; const char *why; } cases[] = {
		{ 0, 3, false, "3 accesses do not pay for a swap (3.65)" },
		{ 0, 5, true, "5 do" },
		/* With the chunks beside: 52 and 55.2 against 36, the first of all. */
		{ 40, 60, false, "52 is not 140% of 36 and a swap" },
		{ 40, 64, true, "55.2 is" },
		{ 40, 40, false, "equals stay" },
	};
	struct tier_move m;
	unsigned int i;
	u32 c;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct set *s = make_pair(1000, 100);

		/* Chunk 99 against the others of 0..98, all just swept. */
		hammer(s, 0, 200);
		s->rank[99] = 1;
		for (c = 0; c < 100; c++)
			put_heat(s, c, cases[i].victim);
		s->heat[99] = (cases[i].chunk - 1) * HEAT_ONE;
		s->engine.hand = 100;
		hammer(s, 99, 1);
		ok(heat_engine_next(&s->engine, 1, 0, &m) == cases[i].moves, "%s",
		   cases[i].why);
		free_set(s);
	}
}

/* What was hot while no token was there is promoted only if it still is. */
static void test_cooled(void)
{
	static const struct { u32 others; bool moves; const char *why; } cases[] = {
		{ 200, true, "a chunk that was accessed not long ago is promoted" },
		{ 700, false, "one that would have been accessed twice is not" },
	};
	struct tier_move m;
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct set *s = make_pair(1000, 100);

		hammer(s, 0, 200);
		hammer(s, 500, 30);
		ok(!heat_engine_next(&s->engine, 0, 100, &m), "no token");
		hammer(s, 0, cases[i].others);
		/* The clock of ticks is another one. */
		s->engine.clock += 100000;
		ok(heat_engine_next(&s->engine, 100, 100, &m) == cases[i].moves, "%s",
		   cases[i].why);
		hammer(s, 500, 1);
		ok(cases[i].moves || heat_engine_next(&s->engine, 100, 100, &m),
		   "with the next access it is hot again");
		free_set(s);
	}
}

/* A few newcomers that stay hot do not speak for the many that are written once. */
static void test_hot_newcomers(void)
{
	struct set *s = make_pair(2000, 10);
	u32 swap = s->engine.costs.swap_cost[1][0], i, k;

	for (i = 0; i < 16; i++)
		for (k = 0; k < 200; k++) {
			memset(s->engine.streams, 0xff, sizeof(s->engine.streams));
			access_chunk(s, 1000 + i, true);
		}
	ok(heat_audits_newcomer_heat(&s->engine.audits) <= 2 * swap,
	   "a newcomer counts for two swaps at most (%u, %u)",
	   heat_audits_newcomer_heat(&s->engine.audits), 2 * swap);
	ok(heat_audits_newcomer_heat(&s->engine.audits) > swap / 4,
	   "hot ones are seen");
	for (i = 0; i < 400; i++) {
		memset(s->engine.streams, 0xff, sizeof(s->engine.streams));
		access_chunk(s, 1100 + i, true);
	}
	ok(heat_audits_newcomer_heat(&s->engine.audits) <= swap / 2,
	   "and soon forgotten (%u)", heat_audits_newcomer_heat(&s->engine.audits));
	free_set(s);
}

/* A hot chunk of the slow tier between two others. */
static struct set *between(u32 fast, u32 beside, u32 accesses)
{
	struct set *s = make_pair(1000, 100);
	u32 c;

	hammer(s, 0, 200);
	for (c = 0; c < 100; c++)
		put_heat(s, c, fast);
	put_heat(s, 100, beside);
	put_heat(s, 102, beside);
	s->heat[101] = (accesses - 1) * HEAT_ONE;
	s->engine.hand = 103;
	hammer(s, 101, 1);
	return s;
}

static void test_neighbours(void)
{
	struct tier_move m;
	struct set *s = between(40, 0, 64);

	ok(!heat_engine_next(&s->engine, 1, 0, &m), "a hot chunk between cold ones stays");
	free_set(s);
	s = between(40, 64, 64);
	ok(heat_engine_next(&s->engine, 1, 0, &m), "as hot a one between hot ones moves");
	free_set(s);
	s = between(0, 3000, 2);
	ok(heat_engine_why(&s->engine, 101, 1, 0) == TIER_HOLD_PRICE,
	   "but very hot ones do not make a lukewarm one hot");
	free_set(s);
}

static void test_price(void)
{
	struct tier_move m;
	struct set *s = make_pair(1000, 100);

	hammer(s, 0, 200);
	hammer(s, 500, 10);
	ok(!heat_engine_next(&s->engine, 0, 100, &m), "no move without a token");
	ok(!heat_engine_next(&s->engine, 1, 100, &m), "a scarce token is not for the lukewarm");
	hammer(s, 500, 1);
	ok(heat_engine_next(&s->engine, 100, 100, &m), "a plentiful one is");
	free_set(s);

	s = make_pair(1000, 100);
	hammer(s, 0, 200);
	hammer(s, 500, 10);
	ok(heat_engine_next(&s->engine, 50, 100, &m), "so is one of half of them");
	free_set(s);

	s = make_pair(1000, 100);
	hammer(s, 0, 200);
	hammer(s, 500, 30);
	ok(heat_engine_next(&s->engine, 1, 100, &m), "a hot chunk gets the last token");
	free_set(s);

	s = make_pair(1000, 100);
	hammer(s, 0, 200);
	hammer(s, 500, 10);
	ok(heat_engine_next(&s->engine, 0, 0, &m), "no cap, no price");
	free_set(s);
}

/* The fast tier is empty: the first chunks need no victim. */
static void test_room(void)
{
	struct set *s = make_pair(1000, 100);
	struct tier_move m;
	u32 i;

	for (i = 0; i < 1000; i++)
		s->rank[i] = 1;
	s->tiers[0].free = 100;
	hammer(s, 500, 1);
	ok(!heat_engine_next(&s->engine, 1, 0, &m), "one access does not pay for one move (1.8)");
	hammer(s, 500, 2);
	ok(heat_engine_next(&s->engine, 1, 0, &m) && m.chunk == 500 && m.to == 0,
	   "three do where there is room");
	s->tiers[0].open = false;
	heat_engine_done(&s->engine, &m, false);
	hammer(s, 600, 10);
	ok(!heat_engine_next(&s->engine, 1, 0, &m), "nothing goes to a closed tier");
	free_set(s);
}

static void test_failed_moves(void)
{
	struct set *s = make_pair(1000, 100);
	unsigned int proposals = 0, i;
	struct tier_move m;

	for (i = 0; i < 1000; i++)
		s->rank[i] = 1;
	s->tiers[0].free = 100;
	for (i = 0; i < 4000; i++) {
		hammer(s, 500, 1);
		while (heat_engine_next(&s->engine, 1, 0, &m)) {
			proposals++;
			heat_engine_done(&s->engine, &m, false);
		}
	}
	ok(proposals == 1, "a failed move is left alone for 4000 accesses (%u)", proposals);
	for (i = 0; i < 1000; i++) {
		hammer(s, 500, 1);
		if (heat_engine_next(&s->engine, 1, 0, &m)) {
			proposals++;
			heat_engine_done(&s->engine, &m, false);
		}
	}
	ok(proposals == 2, "and tried again after some thousand (%u)", proposals);

	for (proposals = 0, i = 0; i < 40; i++) {
		hammer(s, 600 + i, 5);
		while (heat_engine_next(&s->engine, 1, 0, &m)) {
			proposals++;
			heat_engine_done(&s->engine, &m, false);
		}
	}
	ok(proposals == 40, "40 failures are remembered at once (%u)", proposals);
	free_set(s);

	s = make_pair(1000, 100);
	for (i = 0; i < 100; i++)
		put_heat(s, i, 50 + i);
	put_heat(s, 37, 2);
	put_heat(s, 38, 4);
	hammer(s, 99, 200);
	hammer(s, 500, 30);
	ok(proposed(s, 1, &m) == 37, "a victim that cannot be moved");
	heat_engine_done(&s->engine, &m, false);
	for (i = 0; i < 5000 && !heat_engine_next(&s->engine, 1, 0, &m); i += 20)
		hammer(s, 500, 20);
	ok(m.chunk == 38 && m.to == 1 && i < 4096, "is replaced by the next coldest (%u)", m.chunk);
	free_set(s);
}

/* The first of 60 cold chunks are on the fast tier again, as many as fit. */
static void fill_again(struct set *s)
{
	u32 i;

	for (i = 0; i < 60 && s->tiers[0].free; i++)
		if (s->rank[i]) {
			s->rank[i] = 0;
			s->tiers[0].free--;
			s->tiers[1].free++;
		}
}

static void test_headroom(void)
{
	struct set *s = make_pair(2000, 500);
	struct tier_move m;
	s64 newcomer;
	u32 i, k;

	/* First writes of chunks that are used afterwards. */
	for (i = 0; i < 500; i++)
		put_heat(s, i, i < 60 ? 0 : 30);
	ok(!settle(s), "no headroom is made before first writes have been seen");
	for (i = 0; i < 12000; i++) {
		u32 chunk = 1000 + i / 12;

		memset(s->engine.streams, 0xff, sizeof(s->engine.streams));
		access_chunk(s, chunk, true);
		for (k = 60; k < 500 && i % 400 == 0; k++)
			put_heat(s, k, 30);
	}
	s->engine.nr_candidates = 0;
	settle(s);
	ok(s->tiers[0].free == 10, "2%% of the places are kept free (%llu)",
	   (unsigned long long)s->tiers[0].free);
	for (k = 0, i = 60; i < 500; i++)
		k += s->rank[i] != 0;
	ok(!k, "only what is cold makes way (%u hot ones moved)", k);

	/* Before the tier has been full, nothing makes way. */
	memset(s->engine.was_full, 0, sizeof(s->engine.was_full));
	heat_engine_set(&s->engine, HEAT_KEY_HEADROOM, 4);
	ok(!settle(s), "none is made before the tier has been full");
	s->engine.was_full[0] = true;
	heat_engine_set(&s->engine, HEAT_KEY_HEADROOM, 2);

	/* First writes still land on a tier whose endurance is spent. */
	fill_again(s);
	s->tiers[0].open = false;
	ok(!settle(s), "none is made on a closed tier");
	s->tiers[0].spent = true;
	settle(s);
	ok(s->tiers[0].free == 10, "but on one that only moves may not write to (%llu)",
	   (unsigned long long)s->tiers[0].free);
	s->tiers[0].spent = false;
	s->tiers[0].open = true;

	/* No more room than newcomers came, and none for a price that they do not earn. */
	fill_again(s);
	newcomer = s->engine.audits.newcomer;
	s->engine.audits.newcomer = (s->engine.costs.swap_cost[1][0] / 2 + 100LL) << 8;
	ok(!heat_engine_next(&s->engine, 1, 1000, &m), "none is made where tokens are scarce");
	s->engine.newcomers[0] = 2;
	s->engine.newcomers[1] = 1;
	settle(s);
	ok(s->tiers[0].free == 3, "no more is made than newcomers came (%llu)",
	   (unsigned long long)s->tiers[0].free);
	s->engine.audits.newcomer = newcomer;
	s->engine.newcomers[0] = 1000;
	heat_engine_set(&s->engine, HEAT_KEY_HEADROOM, 8);
	for (i = 0; i < 64; i++)
		heat_engine_tick(&s->engine);
	for (i = 0; i < 64; i++) {
		heat_engine_tick(&s->engine);
		settle(s);
	}
	ok(s->tiers[0].free >= 30 && s->tiers[0].free <= 40,
	   "8%% as far as it finds cold ones, also while idle (%llu)",
	   (unsigned long long)s->tiers[0].free);
	free_set(s);

	/* First writes in a stream; the chunks are never used again. */
	s = make_pair(2000, 500);
	for (i = 0; i < 500 * 32; i++) {
		struct tier_access a = {
			.sector = 1000ULL * CHUNK_SECTORS + i * 64,
			.sectors = 64,
			.write = 1,
		};

		heat_engine_observe(&s->engine, &a, 1);
		settle(s);
	}
	ok(s->tiers[0].free == 0, "streams of writes are not worth any (%llu)",
	   (unsigned long long)s->tiers[0].free);
	free_set(s);
}

/* One candidate that cannot move does not hide others that are as hot. */
static void test_equal_candidates(void)
{
	struct set *s = make_pair(1000, 100);
	struct tier_move m = { };

	/* Decay has rounded them to the same score. */
	hammer(s, 500, 20);
	hammer(s, 501, 20);
	put_heat(s, 500, 20);
	put_heat(s, 501, 20);
	s->engine.candidates[1].score = s->engine.candidates[0].score;
	ok(s->engine.nr_candidates == 2, "two candidates (%u)", s->engine.nr_candidates);
	s->tiers[0].free = 1;
	s->rank[500] = TIER_NOWHERE;
	ok(heat_engine_next(&s->engine, 1, 0, &m) && m.chunk == 501,
	   "the second of two that are equally hot is looked at in the same call");
	free_set(s);
}

/* The policy must not move the same chunks back and forth. */
static void test_quiet(void)
{
	const u64 places[] = { 50, 150, 300, 1000 };
	struct set *s = make_set(1400, 4, places);
	unsigned int i, early = 0, late = 0;
	u32 *moved = calloc(1400, sizeof(*moved)), most = 0;

	/* A stationary load: 1/rank popularity by rejection. */
	for (i = 0; i < 600000; i++) {
		u32 chunk;
		struct tier_move m;

		do {
			chunk = roll(s, 1400);
		} while (roll(s, chunk + 1) > 8);
		access_chunk(s, chunk * 997U % 1400, i % 3 == 0);
		while (heat_engine_next(&s->engine, 1, 0, &m)) {
			apply(s, &m);
			if (i < 300000) {
				early++;
			} else {
				late++;
				most = max_t(u32, most, ++moved[m.chunk]);
			}
		}
	}
	ok(early > 100, "four tiers get sorted (%u moves)", early);
	ok(late < early / 4, "then moves get rare (%u in as many accesses)", late);
	ok(most <= 12, "no chunk goes to and fro (%u moves at most)", most);
	free(moved);
	free_set(s);
}

static void test_uniform(void)
{
	struct set *s = make_pair(1000, 100);
	unsigned int i, moves = 0;

	for (i = 0; i < 200000; i++) {
		access_chunk(s, roll(s, 1000), false);
		moves += settle(s);
	}
	/* The budget allows 20 moves in 1000 accesses. */
	ok(moves < 400, "uniform accesses are not chased (%u moves in 200000)", moves);
	ok(s->engine.audits.wariness > 4 * HEAT_WARINESS_ONE,
	   "because audits taught it (%u/256)", s->engine.audits.wariness);
	free_set(s);
}

/* ---- many tiers ---- */

static void test_ranks(void)
{
	static const u32 random_us[] = { 20, 100, 8000 };
	const u64 places[] = { 10, 20, 200 };
	struct set *s = make_set(220, 3, places);
	struct tier_move m;
	u32 i;

	for (i = 0; i < 3; i++) {
		s->tiers[i].random_ns = random_us[i] * 1000;
		s->tiers[i].stream_ns = random_us[i] * 500;
		s->tiers[i].chunk_ns = 500000 * (1 + 10 * (i == 2));
	}
	for (i = 0; i < 220; i++)
		s->rank[i] = i < 10 ? 0 : i < 30 ? 1 : 2;
	s->tiers[0].free = 0;
	s->tiers[1].free = 1;
	s->tiers[2].free = 9;
	for (i = 0; i < 10; i++)
		put_heat(s, i, 100);
	for (i = 10; i < 30; i++)
		put_heat(s, i, 50);
	hammer(s, 5, 100);
	hammer(s, 100, 80);
	ok(proposed(s, 1, &m) == 100,
	   "a warm chunk goes to the middle tier, where it saves most for its cost");
	apply(s, &m);
	settle(s);
	ok(s->rank[100] == 1, "and stays there");

	/* The saving of 80 us against moves of 1 ms: 30 accesses do not pay. */
	hammer(s, 10, 65);
	ok(!heat_engine_next(&s->engine, 1, 0, &m), "little is gained between near ranks");
	hammer(s, 10, 400);
	ok(heat_engine_next(&s->engine, 1, 0, &m) && m.to > 0 && s->rank[m.chunk] == 0,
	   "enough accesses pay: the fastest tier makes way");
	free_set(s);
}

static void test_best_rank(void)
{
	const u64 places[] = { 10, 20, 200 };
	struct set *s = make_set(200, 3, places);
	u32 i;

	for (i = 0; i < 30; i++)
		s->rank[i] = i >= 10;
	s->tiers[0].free = s->tiers[1].free = 0;
	s->tiers[2].free = 30;
	for (i = 0; i < 30; i++)
		put_heat(s, i, 50);
	hammer(s, 5, 200);
	hammer(s, 101, 300);
	settle(s);
	ok(s->rank[101] == 0, "a hot chunk goes to the fastest tier at once (%u)",
	   s->rank[101]);
	s->tiers[0].open = false;
	hammer(s, 102, 300);
	settle(s);
	ok(s->rank[102] == 1, "or to the next if that is closed (%u)", s->rank[102]);
	free_set(s);
}

/* The victim of a hot chunk of the slowest of three tiers. */
static unsigned int victim_goes_to(u32 heat, u64 free_in_the_middle, bool headroom)
{
	const u64 places[] = { 10, 100, 300 };
	struct set *s = make_set(300, 3, places);
	unsigned int to = TIER_NOWHERE;
	struct tier_move m;
	u32 i;

	for (i = 0; i < 300; i++)
		s->rank[i] = i < 10 ? 0 : i < 110 - free_in_the_middle ? 1 : 2;
	s->tiers[0].free = 0;
	s->tiers[1].free = free_in_the_middle;
	s->tiers[2].free = 100;
	heat_engine_set(&s->engine, HEAT_KEY_HEADROOM, 2);
	s->engine.audits.newcomer = (s64)(headroom ? 10000 : 0) << 8;
	for (i = 0; i < 10; i++)
		put_heat(s, i, heat);
	for (i = 10; i < 110; i++)
		put_heat(s, i, heat ? 4 * heat : 1);
	hammer(s, 250, 2000);
	if (heat_engine_next(&s->engine, 1, 0, &m) && !s->rank[m.chunk])
		to = m.to;
	free_set(s);
	return to;
}

static void test_where_victims_go(void)
{
	ok(victim_goes_to(0, 10, true) == 1, "a victim goes to the middle tier if that has room");
	ok(victim_goes_to(0, 2, false) == 1, "to the last place, if no room is kept there");
	ok(victim_goes_to(0, 2, true) == 2, "if only the headroom is left, to the slowest");
	ok(victim_goes_to(200, 2, true) == 1, "but not a warm one: that costs more than a move");
	ok(victim_goes_to(0, 0, false) == 2, "to the slowest if the middle is full");
}

static void test_sixteen(void)
{
	u64 places[TIER_MAX_TIERS];
	unsigned int i, hot = 0;
	struct set *s;

	for (i = 0; i < TIER_MAX_TIERS; i++)
		places[i] = 20;
	s = make_set(300, TIER_MAX_TIERS, places);
	for (i = 0; i < 120000; i++) {
		access_chunk(s, i % 4 ? roll(s, 20) : roll(s, 300), false);
		settle(s);
	}
	for (i = 0; i < 20; i++)
		hot += s->rank[i] <= 1;
	ok(hot >= 18, "sixteen tiers: %u of 20 hot chunks on the two fastest", hot);
	for (i = 0; i < TIER_MAX_TIERS; i++)
		hot += s->tiers[i].free > s->tiers[i].places;
	ok(hot <= 20, "no tier was overfilled");
	free_set(s);
}

static void test_full_below(void)
{
	const u64 places[] = { 10, 100 };
	struct set *s = make_set(108, 2, places);
	struct tier_move m;

	/* The slow tier is full; the fast tier has the only two free places. */
	ok(s->tiers[0].free == 2 && s->tiers[1].free == 0, "a set as full as can be");
	hammer(s, 100, 5);
	heat_engine_set(&s->engine, HEAT_KEY_HEADROOM, 50);
	hammer(s, 5, 20);
	ok(heat_engine_next(&s->engine, 1, 0, &m) && m.chunk == 5 && m.to == 0,
	   "where no victim can go down the hot chunk goes up first");
	free_set(s);
}

/* Why a chunk stays, and that exactly this is counted when it is looked at. */
static void is_held(struct set *s, u32 chunk, u32 tokens, u32 cap, enum tier_hold why, const char *what)
{
	enum tier_hold told = heat_engine_why(&s->engine, chunk, tokens, cap);
	u64 counted = 0, others = 0;
	unsigned int i;
	struct tier_move m;
	bool moves;

	memset(s->held, 0, sizeof(s->held));
	moves = heat_engine_next(&s->engine, tokens, cap, &m);
	for (i = 0; i < TIER_NR_HOLDS; i++)
		*(i == why ? &counted : &others) += s->held[i];
	ok(told == why && moves == !why && counted == !!why && !others, "%s (%d, %llu, %llu)", what, told,
	   (unsigned long long)counted, (unsigned long long)others);
	if (moves)
		heat_engine_done(&s->engine, &m, false);
}

#define RIVAL	100	/* of the chunks before it, which lie on the fast tier */

/* The chunks of the fast tier have that many accesses each, and their rival on the slow one. */
static struct set *rivals(u32 fast, u32 accesses)
{
	struct set *s = make_pair(1000, 100);
	u32 c;

	hammer(s, 0, 200);
	for (c = 0; c < 100; c++)
		put_heat(s, c, fast);
	s->heat[RIVAL] = (accesses - 1) * HEAT_ONE;
	s->engine.hand = RIVAL + 1;
	hammer(s, RIVAL, 1);
	return s;
}

static void test_why(void)
{
	const u64 places[] = { 10, 100 };
	struct set *s = rivals(0, 30);
	struct tier_move m;

	ok(heat_engine_waiting(&s->engine), "a hot chunk waits to be looked at");
	ok(heat_engine_why(&s->engine, 50, 1, 0) == TIER_HOLD_NOTHING_FASTER, "the fastest tier: nothing is faster");
	ok(heat_engine_why(&s->engine, 600, 1, 0) == TIER_HOLD_COLD, "a chunk without heat is cold");
	is_held(s, RIVAL, 1, 0, TIER_HOLD_NOTHING, "a hot chunk is held by nothing");
	free_set(s);
	s = rivals(0, 30);
	s->rank[99] = 1;
	s->tiers[0].free = 1;
	heat_engine_set(&s->engine, HEAT_KEY_HEADROOM, 0);
	is_held(s, RIVAL, 1, 0, TIER_HOLD_NOTHING, "nor where there is room");
	ok(heat_engine_why(&s->engine, RIVAL, 1, 0) == TIER_HOLD_BUSY, "after a move that failed, it waits");
	free_set(s);

	s = rivals(40, 45);
	is_held(s, RIVAL, 1, 0, TIER_HOLD_COLD, "cold: the coldest of the fast tier is nearly as hot");
	ok(!heat_engine_waiting(&s->engine), "then it does not wait any more");
	free_set(s);
	s = rivals(40, 60);
	is_held(s, RIVAL, 1, 0, TIER_HOLD_PRICE, "price: it is hotter, but by less than the swap costs");
	free_set(s);
	s = rivals(0, 10);
	ok(heat_engine_why(&s->engine, RIVAL, 0, 100) == TIER_HOLD_BUDGET, "budget: no token");
	is_held(s, RIVAL, 1, 100, TIER_HOLD_BUDGET, "budget: a scarce token is not for the lukewarm");
	ok(heat_engine_why(&s->engine, RIVAL, 100, 100) == TIER_HOLD_NOTHING, "nothing, with plenty of them");
	free_set(s);

	s = rivals(0, 30);
	s->tiers[0].open = false;
	is_held(s, RIVAL, 1, 0, TIER_HOLD_NOTHING_FASTER, "nothing faster: the fast tier is closed");
	free_set(s);
	s = rivals(0, 30);
	s->tiers[0].open = false;
	s->tiers[0].spent = true;
	heat_engine_set(&s->engine, HEAT_KEY_HEADROOM, 0);
	is_held(s, RIVAL, 1, 0, TIER_HOLD_ENDURANCE, "endurance: all else would let it move");
	free_set(s);
	s = make_pair(1000, 100);
	s->tiers[0].open = false;
	s->tiers[0].spent = true;
	hammer(s, RIVAL, 30);
	ok(heat_engine_waiting(&s->engine), "a tier whose endurance is spent is wanted all the same");
	free_set(s);

	/* Everything on the fast tier is pinned there. */
	s = rivals(0, 30);
	memset(s->rank, TIER_PINNED, 100);
	is_held(s, RIVAL, 1, 0, TIER_HOLD_FULL, "full: nothing there can make room");
	free_set(s);
	/* The fast tier has no free place but what others wait for, and the slow one is full. */
	s = make_set(108, 2, places);
	s->tiers[0].free = 0;
	heat_engine_set(&s->engine, HEAT_KEY_HEADROOM, 0);
	hammer(s, 100, 5);
	hammer(s, 5, 20);
	is_held(s, 5, 1, 0, TIER_HOLD_FULL, "full: what made room could go nowhere");
	free_set(s);

	s = make_pair(1000, 100);
	s->rank[RIVAL] |= TIER_PINNED;
	hammer(s, RIVAL, 30);
	ok(s->held[TIER_HOLD_PINNED] && !heat_engine_next(&s->engine, 1, 0, &m),
	   "pinned: a hot chunk is counted and stays");
	s->held[TIER_HOLD_PINNED] = 0;
	hammer(s, 600, 1);
	s->rank[5] |= TIER_PINNED;
	hammer(s, 5, 30);
	ok(!s->held[TIER_HOLD_PINNED], "a cold one is not, nor one on the fastest tier");
	free_set(s);

	s = make_pair(1000, 100);
	s->rank[RIVAL] |= TIER_RESIDENT;
	hammer(s, RIVAL, 30);
	ok(s->held[TIER_HOLD_RESIDENCE] && !s->held[TIER_HOLD_PINNED] &&
	   !heat_engine_next(&s->engine, 1, 0, &m), "residence: a hot chunk that came lately, too");
	free_set(s);
}

/* The chunk, which is hot already, is accessed that often, so far apart. */
static struct set *followed(unsigned int accesses, u64 apart_ms)
{
	struct set *s = rivals(0, 30);
	unsigned int i;

	for (i = 0; i < accesses; i++) {
		s->now_ns += apart_ms * 1000000;
		hammer(s, RIVAL, 1);
	}
	return s;
}

/* What pays for its swap within 10 s does not wait for the latency guard; a swap costs 3.6 accesses. */
static void test_soon(void)
{
	static const struct {
		unsigned int accesses;
		u64 apart_ms, more_ms;
		unsigned int wary;		/* times */
		enum tier_hold held[2];		/* of the fast tier, of the slow one */
		bool passes;
		const char *what;
	} cases[] = {
		{ 5, 400, 0, 1, { 0, TIER_HOLD_GUARD }, true, "2.5 accesses a second to a busy disk" },
		{ 5, 400, 0, 1, { TIER_HOLD_GUARD, 0 }, true, "a busy fast tier" },
		{ 5, 400, 0, 1, { TIER_HOLD_GUARD, TIER_HOLD_GUARD }, true, "both are busy" },
		{ 5, 400, 0, 1, { 0, TIER_HOLD_QUIET }, false, "the disk sleeps" },
		{ 5, 400, 0, 1, { TIER_HOLD_GUARD, TIER_HOLD_QUIET }, false, "the other one is busy" },
		{ 2, 600, 0, 1, { 0, TIER_HOLD_GUARD }, false, "3 accesses may be chance" },
		{ 100, 5, 0, 1, { 0, TIER_HOLD_GUARD }, false, "100 within half a second, too" },
		{ 100, 5, 1000, 1, { 0, TIER_HOLD_GUARD }, false, "also a second later" },
		{ 100, 11, 0, 1, { 0, TIER_HOLD_GUARD }, true, "100 within 1.1 s" },
		{ 100, 11, 10500, 1, { 0, TIER_HOLD_GUARD }, false, "no access for a while" },
		{ 6, 6000, 0, 1, { 0, TIER_HOLD_GUARD }, false, "an access in 6 s" },
		{ 60, 2000, 0, 1, { 0, TIER_HOLD_GUARD }, true, "one in 2 s" },
		{ 5, 400, 0, 10, { 0, TIER_HOLD_GUARD }, false, "heat is not to be trusted" },
	};
	unsigned int i, nr;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct set *s = followed(cases[i].accesses, cases[i].apart_ms);
		struct tier_move m = { 0 };
		enum tier_hold why;

		s->now_ns += cases[i].more_ms * 1000000;
		s->engine.audits.wariness = cases[i].wary * HEAT_WARINESS_ONE;
		s->tiers[0].held = cases[i].held[0];
		s->tiers[1].held = cases[i].held[1];
		why = heat_engine_why(&s->engine, RIVAL, 1, 0);
		for (nr = 0; nr < 3 && heat_engine_next(&s->engine, 1, 0, &m) && m.soon; nr++)
			apply(s, &m);
		ok(nr == (cases[i].passes ? 2 : 0) && !why == cases[i].passes &&
		   s->rank[RIVAL] == !cases[i].passes, "soon: %s (%u, %d)", cases[i].what, nr, why);
		free_set(s);
	}
}

/* To ask has no effect on what is decided. */
static void test_asked(void)
{
	struct set *s[2] = { rivals(0, 30), rivals(0, 30) };
	struct tier_move m[2] = { 0 };
	bool moves[2];
	u32 c;

	for (c = 0; c < 1000; c++)
		heat_engine_why(&s[1]->engine, c, 1, 100);
	ok(s[0]->engine.probes == s[1]->engine.probes &&
	   !memcmp(&s[0]->engine.audits, &s[1]->engine.audits, sizeof(s[0]->engine.audits)) &&
	   !memcmp(s[0]->held, s[1]->held, sizeof(s[0]->held)) &&
	   s[0]->engine.nr_candidates == s[1]->engine.nr_candidates, "questions cost no probes, audits, counts");
	for (c = 0; c < 2; c++)
		moves[c] = heat_engine_next(&s[c]->engine, 1, 0, &m[c]);
	ok(moves[0] && moves[1] && m[0].to == m[1].to, "and nothing else is proposed");
	free_set(s[0]);
	free_set(s[1]);
}

/* ---- victims ---- */

static void test_victim(void)
{
	struct set *s = make_pair(10000, 1000);
	unsigned int i, good = 0, sum = 0;
	u32 chunk;

	for (i = 0; i < 1000; i++)
		put_heat(s, i, 1 + i);
	s->heat[0] = 0xffff;
	for (i = 0; i < 100; i++) {
		if (!heat_engine_victim(&s->engine, 0, &chunk) || s->rank[chunk])
			continue;
		good++;
		sum += chunk;
		s->rank[chunk] = 1;
	}
	ok(good == 100, "a victim is found each time (%u)", good);
	/* A full sort gives 50, samples of 16 without a memory about 100. */
	ok(sum / 100 < 80, "they are about the coldest there are (mean rank %u)", sum / 100);
	ok(heat_engine_victim(&s->engine, 1, &chunk) && s->rank[chunk] == 1,
	   "the slowest tier has one too");
	ok(!heat_engine_victim(&s->engine, 2, &chunk), "a rank that is not there has none");
	memset(s->rank, TIER_NOWHERE, 10000);
	ok(!heat_engine_victim(&s->engine, 0, &chunk), "nor one whose chunks cannot move");
	free_set(s);
}

/* A set of 2^32 - 1 chunks of which every 1000th lies on the fast tier. */
static unsigned int sparse_where(struct set *s, u32 chunk)
{
	(void)s;
	return chunk % 1000 == 0 ? 0 : 1;
}

static void test_huge(void)
{
	struct set *s = make_pair(1, 1);
	u32 nr = 0xffffffff, i, victim = 1;
	u64 wheres;
	size_t size = nr * sizeof(u32);
	u32 *heat = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct tier_move m;
	long chunk;

	if (heat == MAP_FAILED) {
		ok(true, "2^32 - 1 chunks # SKIP no address space");
		free_set(s);
		return;
	}
	s->where = sparse_where;
	s->tiers[0].places = nr / 1000;
	s->tiers[1].places = 1ULL << 40;
	s->tiers[0].free = 0;
	s->tiers[1].free = 1ULL << 39;
	init_engine(s, heat, nr);
	s->wheres = 0;
	for (i = 0; i < 20000; i++)
		access_chunk(s, roll(s, nr), false);
	wheres = s->wheres;
	ok(wheres < 20000 * 20, "an access costs few looks at 2^32 chunks (%llu in 20000)",
	   (unsigned long long)wheres);
	ok(s->engine.pools[0].nr == HEAT_POOL, "the sweep finds cold chunks of a 0.1%% tier");
	s->wheres = 0;
	hammer(s, nr - 1, 20);
	ok(heat_engine_heat(&s->engine, nr - 1) > 19 * HEAT_ONE, "the last chunk has its heat");
	chunk = proposed(s, 1, &m);
	ok(chunk >= 0 && chunk % 1000 == 0, "a victim is found (%ld)", chunk);
	ok(s->wheres < 4096, "with few looks (%llu)", (unsigned long long)s->wheres);
	ok(heat_engine_victim(&s->engine, 0, &victim) && victim % 1000 == 0,
	   "and for the target too");
	for (s->wheres = 0, i = 0; i < 100000; i++)
		heat_engine_next(&s->engine, 1, 0, &m);
	ok(s->wheres < 100000, "asking again and again costs nothing (%llu looks in 100000)",
	   (unsigned long long)s->wheres);
	munmap(heat, size);
	free_set(s);
}

static void test_idle(void)
{
	struct set *s = make_pair(10000, 1000);
	struct tier_move m;
	unsigned int i, any = 0;

	hammer(s, 5000, 1);
	for (i = 0; i < 1000; i++) {
		heat_engine_tick(&s->engine);
		any += heat_engine_next(&s->engine, 1, 0, &m);
	}
	s->wheres = 0;
	for (i = 0; i < 1000; i++) {
		heat_engine_tick(&s->engine);
		any += heat_engine_next(&s->engine, 1, 0, &m);
	}
	ok(!any && !s->wheres, "idle is idle (%u moves, %llu looks)", any,
	   (unsigned long long)s->wheres);
	free_set(s);

	/* Headroom is wanted, but no chunk on the fast tier is cold. */
	s = make_pair(10000, 1000);
	for (i = 0; i < 1000; i++)
		put_heat(s, i, 100);
	s->engine.audits.newcomer = 1000 << 8;
	s->engine.newcomers[0] = 1000;
	for (i = 0; i < 1000; i++) {
		heat_engine_tick(&s->engine);
		any += heat_engine_next(&s->engine, 1, 0, &m);
	}
	s->wheres = 0;
	for (i = 0; i < 1000; i++) {
		heat_engine_tick(&s->engine);
		any += heat_engine_next(&s->engine, 1, 0, &m);
	}
	ok(!any && s->wheres <= 1000 * HEAT_POOL, "also if it would like to move (%llu looks)",
	   (unsigned long long)s->wheres);
	s->tiers[0].open = false;
	for (i = 0; i < 1000; i++)
		put_heat(s, i, 0);
	ok(!heat_engine_next(&s->engine, 1, 0, &m), "a closed tier needs no headroom");
	s->tiers[0].open = true;
	ok(heat_engine_next(&s->engine, 1, 0, &m) && m.to == 1, "an open one does");
	heat_engine_done(&s->engine, &m, true);
	s->rank[m.chunk] = 1;
	s->engine.newcomers[0] = 0;
	s->engine.probes = 0;
	memset(s->engine.pools, 0, sizeof(s->engine.pools));
	ok(!heat_engine_next(&s->engine, 1, 0, &m), "without probes it looks for none");
	s->tiers[0].lacking = 1;
	ok(heat_engine_next(&s->engine, 1, 0, &m) && m.to == 1, "for a watermark it does");
	free_set(s);
}

/* ---- life ---- */

/* The set has changed: a new policy takes over the heat, in an array of another size. */
static void test_another_size(void)
{
	struct set *s = make_pair(1000, 100);
	struct tier_move n;
	u32 *larger = calloc(3000, sizeof(*larger)), i;

	hammer(s, 0, 200);
	hammer(s, 500, 30);
	memcpy(larger, s->heat, 1000 * sizeof(*larger));
	s->rank = realloc(s->rank, 3000);
	memset(s->rank + 1000, 1, 2000);
	s->tiers[1].places = s->tiers[1].free = 3000;
	init_engine(s, larger, 3000);
	i = heat_engine_heat(&s->engine, 500);
	ok(i > 25 * HEAT_ONE && i < 31 * HEAT_ONE, "heat stays with the array (%u)", i);
	hammer(s, 2999, 40);
	ok(heat_engine_heat(&s->engine, 2999) > 39 * HEAT_ONE, "new chunks have heat");

	init_engine(s, larger, 50);
	ok(heat_engine_heat(&s->engine, 50) == 0, "shrunk: what is gone has no heat");
	for (i = 0; i < 2000; i++) {
		access_chunk(s, roll(s, 60), false);
		if (heat_engine_next(&s->engine, 1, 0, &n) && n.chunk >= 50)
			break;
	}
	ok(i == 2000, "nor is it proposed");

	s->nr_tiers = 1;
	init_engine(s, larger, 50);
	hammer(s, 40, 100);
	ok(!heat_engine_next(&s->engine, 1, 0, &n), "one tier alone needs no moves");
	init_engine(s, larger, 0);
	hammer(s, 0, 3);
	ok(!heat_engine_next(&s->engine, 1, 0, &n) && !heat_engine_victim(&s->engine, 0, &i),
	   "an empty set neither");
	free(larger);
	free_set(s);
}

static void test_keys(void)
{
	struct set *s = make_pair(1000, 100);
	struct tier_move m;
	u32 i, count = 0;

	for (i = 0; heat_engine_keys[i].name; i++)
		count += heat_engine_keys[i].min <= heat_engine_keys[i].initial &&
			 heat_engine_keys[i].initial <= heat_engine_keys[i].max;
	ok(i == HEAT_NR_KEYS && count == i, "every tunable's initial value is in range");
	for (i = 0; i < 100; i++)
		put_heat(s, i, 20);
	heat_engine_set(&s->engine, HEAT_KEY_ADMIT, 1000);
	hammer(s, 0, 100);
	hammer(s, 500, 100);
	ok(!heat_engine_next(&s->engine, 1, 0, &m), "admit 1000: 100 is not ten times 20");
	heat_engine_set(&s->engine, HEAT_KEY_ADMIT, 125);
	hammer(s, 500, 1);
	ok(heat_engine_next(&s->engine, 1, 0, &m), "admit 125: it is more than enough");
	free_set(s);
}

static void test_latencies(void)
{
	struct set *s = make_pair(1000, 100);
	u32 assumed, measured;

	hammer(s, 500, 1);
	assumed = s->engine.costs.swap_cost[1][0];
	/* 2 x (8 + 5.82 + 0.09 + 0.52) / 7.91 = 3.65 */
	ok(assumed >= 3.6 * HEAT_ONE && assumed <= 3.7 * HEAT_ONE,
	   "a disk and an SSD are assumed: a swap costs 3.65 accesses (%u/16)", assumed);
	s->tiers[0].random_ns = 20000;
	s->tiers[0].chunk_ns = 350000;
	s->tiers[1].random_ns = 90000;
	s->tiers[1].chunk_ns = 2000000;
	hammer(s, 500, 1);
	measured = s->engine.costs.swap_cost[1][0];
	/* 2 x (90 + 2000 + 20 + 350) / 70 = 70.3 */
	ok(measured >= 69 * HEAT_ONE && measured <= 71 * HEAT_ONE,
	   "NVMe and SATA: measured latencies make it 70 (%u/16)", measured);
	s->tiers[0].random_ns = 90000;
	hammer(s, 500, 1);
	ok(s->engine.costs.swap_cost[1][0] < 0x8000 && s->engine.costs.weight_random[0] == HEAT_ONE << 16,
	   "tiers that measure alike keep their order (%u/16)", s->engine.costs.swap_cost[1][0]);
	s->tiers[0].random_ns = s->tiers[1].random_ns = 50000;
	s->tiers[0].chunk_ns = s->tiers[1].chunk_ns = 0;
	hammer(s, 500, 1);
	/* 2 x (50 + 36 + 50 + 291) / 6.25 = 137 */
	ok(s->engine.costs.swap_cost[1][0] < 140 * HEAT_ONE,
	   "what is not measured is assumed in proportion (%u/16)", s->engine.costs.swap_cost[1][0]);
	s->tiers[0].random_ns = 0xffffffff;
	s->tiers[0].chunk_ns = 0xffffffff;
	s->tiers[1].random_ns = 1;
	s->tiers[1].chunk_ns = 0xffffffff;
	hammer(s, 500, 1);
	ok(s->engine.costs.swap_cost[1][0] == 0x8000, "absurd ones are bounded");
	free_set(s);
}

/*
 * Two minutes after a cold start, a zipf working set that fits the fast tier has moved there, at
 * the speed of a disk, with 64 moves a second.
 */
static void test_two_minutes(void)
{
	struct set *s = make_pair(4000, 400);
	double now = 0, tokens = 0, sums[300] = { 0 };
	u64 late = 0, late_fast = 0, all = 0;
	const unsigned int set_size = 300;
	struct tier_move m;
	unsigned int i;

	for (i = 0; i < 4000; i++)
		s->rank[i] = 1;
	s->tiers[0].free = 400;
	s->tiers[1].free = 0;
	for (i = 0; i < set_size; i++)
		sums[i] = 1.0 / (i + 1) + (i ? sums[i - 1] : 0);
	while (now < 120) {
		double x = roll(s, 1 << 30) / (double)(1 << 30) * sums[set_size - 1];
		double took;

		for (i = 0; sums[i] < x; i++)
			;
		access_chunk(s, 1000 + i * 7, all % 4 == 0);
		took = s->rank[1000 + i * 7] ? 0.0082 : 0.0001;
		all++;
		if (now > 110) {
			late++;
			late_fast += took < 0.001;
		}
		now += took;
		tokens = min_t(double, tokens + took * 64, 64);
		while (tokens >= 1 && heat_engine_next(&s->engine, tokens, 64, &m)) {
			apply(s, &m);
			tokens--;
			now += 0.015;
		}
	}
	ok(late && late_fast * 100 >= late * 90,
	   "after two minutes %.1f%% of a zipf load are served from the fast tier",
	   late ? 100.0 * late_fast / late : 0.0);
	free_set(s);
}

int main(void)
{
	test_costs();
	test_counting();
	test_streams();
	test_decay();
	test_equal_additions();
	test_changed();
	test_weights();
	test_rates();
	test_slow_cpu();
	test_after_burst();
	test_fast_stream();
	test_heavy();
	test_order();
	test_swap();
	test_admission();
	test_cooled();
	test_hot_newcomers();
	test_neighbours();
	test_price();
	test_room();
	test_failed_moves();
	test_headroom();
	test_equal_candidates();
	test_quiet();
	test_uniform();
	test_ranks();
	test_best_rank();
	test_where_victims_go();
	test_sixteen();
	test_full_below();
	test_why();
	test_soon();
	test_asked();
	test_victim();
	test_huge();
	test_idle();
	test_another_size();
	test_keys();
	test_latencies();
	test_two_minutes();
	return tap_done();
}
