// SPDX-License-Identifier: GPL-2.0-only
/*
 * The heat engine's balance under load, TAP on stdout: accesses of a fixed depth in a model of two
 * tiers, each of which has a rate and serves in order. What they deliver together, and how many
 * chunks move, is printed.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heat/engine.h"
#include "../tap.h"

#define CHUNK_SECTORS	128
#define CHUNKS		1024
#define HOT		256	/* chunks that are accessed; on the fast tier at first */
#define LOOK_NS		20000000ULL	/* the mover's time */
#define INTERVAL_NS	2000000000ULL	/* the gauge's */
#define TICK_NS		20000000ULL
#define BYTES		65536

struct tier_model {
	double rate;		/* bytes a second; 0: no limit */
	u64 access_ns;		/* beside that */
	bool ticks;		/* as null_blk: what a tick allows is there at once */
	u64 busy_until;		/* ns; served in order */
	u64 tick;		/* in which it serves */
	double left;		/* bytes of that tick */
};

struct model {
	struct tier_model model[2];
	unsigned int depth;
	unsigned int writes;	/* percent */
	u64 pause_ns;		/* of each access: the caller thinks */

	u8 rank[CHUNKS];
	u32 heat[CHUNKS];
	u8 changed[CHUNKS / TIER_HEAT_PER_BLOCK + 1];
	u64 held[TIER_NR_HOLDS];
	struct tier_view tiers[2];
	unsigned int nr_tiers;
	u64 random;
	struct tier_policy engine;

	u64 now, looked, interval;
	u64 next[64];		/* when each of the callers gets its answer */
	u64 sum_ns[2][TIER_NR_CLASSES], nr[2][TIER_NR_CLASSES], busy_ns[2];
	u64 done;		/* accesses */
	u64 moves;
};

static u32 roll(void *context, u32 ceiling)
{
	struct model *m = context;

	m->random = m->random * 6364136223846793005 + 1442695040888963407;
	return ((m->random >> 32) * ceiling) >> 32;
}

static unsigned int where(void *context, u32 chunk)
{
	return ((struct model *)context)->rank[chunk];
}

static struct model *make(const struct tier_model *fast, const struct tier_model *slow, unsigned int depth)
{
	struct model *m = calloc(1, sizeof(*m));
	struct tier_policy_env env = {
		.context = m, .where = where, .random = roll, .tiers = m->tiers,
		.nr_tiers = &m->nr_tiers, .now_ns = &m->now, .chunk_sectors = CHUNK_SECTORS,
		.changed = m->changed, .held = m->held,
	};
	unsigned int i;

	m->model[0] = *fast;
	m->model[1] = *slow;
	m->depth = depth;
	m->random = 42;
	m->nr_tiers = 2;
	for (i = 0; i < CHUNKS; i++)
		m->rank[i] = i >= HOT;
	for (i = 0; i < 2; i++) {
		struct tier_view *t = &m->tiers[i];

		t->places = i ? 2 * CHUNKS : HOT + 64;
		t->free = t->places - (i ? CHUNKS - HOT : HOT);
		t->open = true;
		t->random_ns = m->model[i].access_ns + (m->model[i].ticks ? 0 : BYTES * 1e9 / m->model[i].rate);
		t->random_write_ns = t->random_ns;
		t->chunk_ns = BYTES * 1e9 / m->model[i].rate;
	}
	heat_engine_init(&m->engine, &env, m->heat, CHUNKS);
	return m;
}

/* When a tier has served an access that arrives now. */
static u64 serve(struct tier_model *t, u64 now)
{
	double tick_bytes = t->rate * TICK_NS / 1e9;
	u64 tick = now / TICK_NS;

	if (!t->ticks) {
		t->busy_until = BYTES * 1e9 / t->rate +
			(t->busy_until > now ? t->busy_until : now);
		return t->busy_until + t->access_ns;
	}
	/* What a tick did not use is gone, but for less than an access. */
	if (tick > t->tick) {
		t->left = tick_bytes + (t->left < BYTES ? t->left : 0);
		t->tick = tick;
	}
	for (; t->left < BYTES; t->tick++)
		t->left += tick_bytes;
	t->left -= BYTES;
	return (t->tick > tick ? t->tick * TICK_NS : now) + t->access_ns;
}

static void end_interval(struct model *m)
{
	unsigned int rank, class;

	for (rank = 0; rank < 2; rank++) {
		struct tier_load *l = &m->tiers[rank].load;

		l->number++;
		l->in_flight = 16 * m->busy_ns[rank] / INTERVAL_NS;
		m->busy_ns[rank] = 0;
		for (class = 0; class < TIER_NR_CLASSES; class++) {
			u64 nr = m->nr[rank][class];

			l->samples[class] = nr / 8;
			l->mean_ns[class] = nr ? m->sum_ns[rank][class] / nr : 0;
			m->nr[rank][class] = 0;
			m->sum_ns[rank][class] = 0;
		}
	}
}

static void look(struct model *m)
{
	struct tier_move move;
	unsigned int nr = 0;

	heat_engine_tick(&m->engine);
	/* Moves at 64 MiB/s: 20 chunks of 64 KiB in that time. */
	while (nr++ < 20 && heat_engine_next(&m->engine, 1000, 1000, &move)) {
		m->tiers[m->rank[move.chunk]].free++;
		m->tiers[move.to].free--;
		m->rank[move.chunk] = move.to;
		m->moves++;
		heat_engine_done(&m->engine, &move, true);
	}
}

static void run(struct model *m, double seconds)
{
	u64 end = m->now + seconds * 1e9;
	unsigned int i, first;

	m->done = 0;
	m->moves = 0;
	while (m->now < end) {
		struct tier_access a = { .sectors = BYTES / 512, .weight = 1 };
		unsigned int rank;
		u64 until;
		u32 chunk;

		for (first = 0, i = 1; i < m->depth; i++)
			if (m->next[i] < m->next[first])
				first = i;
		if (m->next[first] > m->now)
			m->now = m->next[first];
		while (m->looked + LOOK_NS <= m->now) {
			m->looked += LOOK_NS;
			if (m->interval + INTERVAL_NS <= m->looked) {
				m->interval = m->looked;
				end_interval(m);
			}
			look(m);
		}
		chunk = roll(m, HOT);
		rank = m->rank[chunk];
		a.write = roll(m, 100) < m->writes;
		a.sector = (u64)chunk * CHUNK_SECTORS;
		memset(m->engine.streams, 0xff, sizeof(m->engine.streams));
		heat_engine_observe(&m->engine, &a, 1);
		until = serve(&m->model[rank], m->now);
		m->sum_ns[rank][2 * a.write] += until - m->now;
		m->busy_ns[rank] += until - m->now;
		m->nr[rank][2 * a.write]++;
		m->done++;
		/* Ends spread a little, as clocks do. */
		m->next[first] = until + m->pause_ns + roll(m, 20000);
	}
}

static double mbytes(const struct model *m, double seconds)
{
	return m->done * (double)BYTES / seconds / 1e6;
}

static unsigned int fast_share(const struct model *m)
{
	unsigned int i, nr = 0;

	for (i = 0; i < HOT; i++)
		nr += !m->rank[i];
	return nr;
}

static void nearly_equal(bool ticks, unsigned int depth, unsigned int writes)
{
	const struct tier_model fast = { .rate = 100e6, .access_ns = 50000, .ticks = ticks };
	const struct tier_model slow = { .rate = 60e6, .access_ns = 60000, .ticks = ticks };
	struct model *m = make(&fast, &slow, depth);
	double before, after;
	unsigned int minute;
	u64 moves, most = 0;

	m->writes = writes;
	run(m, 6);
	before = mbytes(m, 6);
	run(m, 104);
	moves = m->moves;
	run(m, 10);
	after = mbytes(m, 10);
	printf("# %s, depth %u, %u%% writes: %.1f MB/s at first, %.1f after two minutes and %llu moves, %u of %u hot chunks fast\n",
	       ticks ? "ticks" : "in order", depth, writes, before, after,
	       (unsigned long long)moves, fast_share(m), HOT);
	for (minute = 0; minute < 5; minute++) {
		run(m, 60);
		if (m->moves > most)
			most = m->moves;
	}
	ok(after >= .9 * 160, "two nearly equal tiers deliver the sum of both");
	ok(most <= HOT / 100, "then at most one in a hundred hot chunks moves in a minute: %llu",
	   (unsigned long long)most);
	/* The load is gone: all climb again. */
	m->depth = 1;
	m->pause_ns = 1000000;
	run(m, 300);
	ok(fast_share(m) == HOT, "without load all are fast again: %u", fast_share(m));
	free(m);
}

/*
 * Where accesses to the faster tier queue for longer than one to the slower tier takes, a search
 * finds once that there is next to nothing to gain.
 */
static void ten_times_faster(unsigned int depth, bool queues)
{
	const struct tier_model fast = { .rate = 100e6, .access_ns = 80000 };
	const struct tier_model slow = { .rate = 10e6, .access_ns = 800000 };
	struct model *m = make(&fast, &slow, depth);
	double before, after;
	u64 moves;

	run(m, 6);
	before = mbytes(m, 6);
	run(m, 120);
	after = mbytes(m, 120);
	moves = m->moves;
	run(m, 480);
	ok(moves <= (queues ? HOT / 2 : 0) && m->moves <= HOT / 100 && fast_share(m) >= HOT - HOT / 100 && after >= .98 * before,
	   "ten times as fast, depth %u: %.1f MB/s, was %.1f; %llu moves in two minutes, %llu in eight; %u hot chunks fast",
	   depth, after, before, (unsigned long long)moves, (unsigned long long)m->moves, fast_share(m));
	free(m);
}

int main(void)
{
	unsigned int depth;

	for (depth = 8; depth <= 64; depth *= 2) {
		nearly_equal(false, depth, 0);
		nearly_equal(true, depth, 0);
	}
	nearly_equal(false, 16, 100);
	nearly_equal(true, 16, 30);
	ten_times_faster(1, false);
	ten_times_faster(4, false);
	ten_times_faster(16, true);
	ten_times_faster(64, true);
	return tap_done();
}
