// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of wear and endurance, TAP on stdout. Of the kernel there is as much here as wear.c
 * needs; time is the test's own, so that months pass in no time.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heat/port.h"
#include "../tap.h"

/* ---- of the kernel ---- */

#define BIT_ULL(n)		(1ULL << (n))
#define NSEC_PER_SEC		1000000000ULL
#define U32_MAX			0xffffffffU
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, value)	((x) = (value))
#define lockdep_assert_held(lock) ((void)(lock))
#define spin_lock_irq(lock)	((void)(lock))
#define spin_unlock_irq(lock)	((void)(lock))
#define mutex_lock(lock)	((void)(lock))
#define mutex_unlock(lock)	((void)(lock))
#define NR_CPUS			2
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < NR_CPUS; (cpu)++)
#define per_cpu_ptr(p, cpu)	(&(p)[cpu])
#define div_u64(a, b)		((a) / (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min(a, b)		((a) < (b) ? (a) : (b))

static u64 now_ns;

static u64 ktime_get_ns(void)
{
	return now_ns;
}

static u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	return (unsigned __int128)a * b / c;
}

/* ---- of the target, in place of core.h and metadata.h ---- */

#define DM_TIER_CORE_H
#define DM_TIER_METADATA_H
#define TIER_ROOM(member, begin, end) { .size = sizeof(struct tier_##member) }

enum tier_tier_tunable { TIER_TIER_ENDURANCE };

struct tier_stats {
	u64 written;
};

struct tier {
	struct { u32 rank, id, wear; } rec;
	struct tier_stats *stats;
	struct tier_wear *wear;
};

struct tier_set {
	int lock, commit;
	u32 chunk_sectors;
	unsigned int nr_tiers;
	struct tier *tiers[1];
	int *metadata;
};

struct tier_room {
	size_t size;
};

static u64 endurance;		/* GiB a day */
static u32 recorded;
static unsigned int changes;

static u64 tier_tier_tunable(struct tier_set *set, unsigned int rank, enum tier_tier_tunable key)
{
	return set && !rank && key == TIER_TIER_ENDURANCE ? endurance : 0;
}

static unsigned int cpu_now;

static void tier_count_written(struct tier *t, u32 sectors)
{
	t->stats[cpu_now++ % NR_CPUS].written += sectors;
}

/* error: what the next call returns */
static int tier_metadata_set_wear(int *error, u32 id, u32 wear)
{
	int r = *error;

	if (!r && !id) {
		recorded = wear;
		changes++;
	}
	*error = 0;
	return r;
}

#include "../../../dm-tier/wear.c"

/* ---- tests ---- */

#define CHUNK		2048
#define GIB		SECTORS_PER_GIB
#define MOST		100000	/* moves at once: an end if nothing limits them */
#define DAYS		30
#define STEP		20	/* seconds; what the policy waits for is looked at then */
#define STEPS		(DAYS * 86400 / STEP)

static int metadata_error;
static struct tier_stats stats[NR_CPUS];
static struct tier_wear wear;
static struct tier tier = { .stats = stats, .wear = &wear };
static struct tier_set set = {
	.chunk_sectors = CHUNK, .nr_tiers = 1, .tiers = { &tier }, .metadata = &metadata_error,
};

static void begin(u64 gib_a_day, u32 in_record)
{
	memset(stats, 0, sizeof(stats));
	memset(&wear, 0, sizeof(wear));
	tier.rec.wear = in_record;
	endurance = gib_a_day;
	changes = 0;
	now_ns = 1234567890123ULL;
	tier_wear_left(&set, &tier);
}

static u64 policy_moves(void)
{
	u64 nr = 0;

	while (nr < MOST && tier_wear_take_chunk(&set, &tier)) {
		tier_count_written(&tier, CHUNK);
		tier_wear_give_back(&set, &tier);
		nr++;
	}
	return nr;
}

/* What the users of the set write from a second of a day on, in sectors a step. */
struct load {
	const char *name;
	unsigned int begin, seconds;	/* of a day */
	u64 gib;			/* in a day */
	unsigned int days;
};

/* The policy always wants to move. *late: chunks it moved after the first hour. */
static u64 month(const struct load *l, u64 *late)
{
	u64 steps = l->seconds / STEP, sectors = steps ? l->gib * GIB / steps : 0;
	u64 moves = 0, i;

	*late = 0;
	for (i = 0; i < STEPS && moves < 2 * MOST * DAYS; i++) {
		unsigned int second = i * STEP % 86400;
		u64 nr;

		if (second >= l->begin && second < l->begin + l->seconds && i * STEP / 86400 < l->days)
			tier_count_written(&tier, sectors);
		nr = policy_moves();
		moves += nr;
		if (i * STEP >= 3600)
			*late += nr;
		now_ns += STEP * NSEC_PER_SEC;
	}
	return moves;
}

static void months(void)
{
	static const struct load room[] = {
		{ "nobody writes", 0, 0, 0, 0 },
		{ "half of it is written all day", 0, 86400, 50, DAYS },
		{ "two thirds are written in an hour of each day", 7200, 3600, 66, DAYS },
		{ "five times as much is written in one day", 0, 86400, 500, 1 },
		{ "all but a hundredth is written at night", 0, 21600, 99, DAYS },
	};
	static const struct load none[] = {
		{ "as much is written all day", 0, 86400, 101, DAYS },
		{ "twice as much is written in an hour of each day", 0, 3600, 200, DAYS },
	};
	const u64 budget = 100 * DAYS * GIB;
	struct tier_wear_state s;
	unsigned int i;
	u64 late, moves;

	for (i = 0; i < sizeof(room) / sizeof(*room); i++) {
		begin(100, 0);
		moves = month(&room[i], &late);
		tier_wear_get(&set, &tier, &s);
		ok(s.written * 100 >= budget * 98 && s.written * 100 <= budget * 102 && moves,
		   "30 days, %s: %llu of %llu GiB are written", room[i].name,
		   (unsigned long long)(s.written / GIB), (unsigned long long)(budget / GIB));
		ok(s.used == s.written && s.allowed == budget + 10 * GIB,
		   "    used %llu, allowed %llu", (unsigned long long)(s.used / GIB),
		   (unsigned long long)(s.allowed / GIB));
	}
	for (i = 0; i < sizeof(none) / sizeof(*none); i++) {
		begin(100, 0);
		moves = month(&none[i], &late);
		tier_wear_get(&set, &tier, &s);
		ok(!late && moves * CHUNK <= 10 * GIB && s.left < 0,
		   "30 days, %s: no chunk is moved there (%llu, of what was saved up)", none[i].name,
		   (unsigned long long)moves);
	}
}

static void allowance_details(void)
{
	struct tier_wear_state s;
	unsigned int i;

	begin(0, 0);
	for (i = 0; i < 1000; i++)
		if (!tier_wear_take_chunk(&set, &tier))
			break;
	ok(i == 1000 && tier_wear_left(&set, &tier), "without endurance nothing stops the policy");
	for (i = 0; i < 1000; i++)
		tier_wear_give_back(&set, &tier);

	/* Others in flight have taken their part, though nothing is written yet. */
	endurance = 1;
	for (i = 0; i < MOST && tier_wear_take_chunk(&set, &tier); i++)
		;
	ok(i == GIB / 10 / CHUNK, "a tenth of a day is there at first: %u chunks", i);
	ok(!tier_wear_left(&set, &tier), "not for a chunk more");
	tier_wear_give_back(&set, &tier);
	ok(tier_wear_left(&set, &tier), "what is given back can be taken");
	while (--i)
		tier_wear_give_back(&set, &tier);
	now_ns += 10 * NS_PER_DAY;
	ok(policy_moves() == GIB / 10 / CHUNK, "no more than that is saved up");

	/* Chunks that are moved in any case use up what is left, and are not made up for. */
	tier_wear_restart(&set, &tier);
	for (i = 0; i < GIB / 5; i += CHUNK)
		tier_wear_take(&set, &tier, CHUNK);
	tier_wear_get(&set, &tier, &s);
	ok(!s.left && s.used == i, "moves by message use it up");
	tier_count_written(&tier, CHUNK);
	tier_wear_take(&set, &tier, CHUNK);
	tier_wear_get(&set, &tier, &s);
	ok(s.left == -CHUNK, "and leave what the users owe as it is");
	now_ns += NS_PER_DAY / (GIB / CHUNK) * 21 / 10;
	ok(policy_moves() == 1, "as time goes by the policy goes on");
	tier_wear_restart(&set, &tier);
	ok(policy_moves() == GIB / 10 / CHUNK, "anew once the tunable was set");
	endurance = 0;
	tier_wear_left(&set, &tier);
	tier_count_written(&tier, 500 * GIB);
	endurance = 1;
	ok(policy_moves() == GIB / 10 / CHUNK, "what was written without endurance is not owed");
}

static void records(void)
{
	struct tier_wear_state s;

	begin(0, 7);
	ok(!tier_wear_store(&set) && !changes, "nothing written: nothing to store");
	tier_count_written(&tier, UNIT / 2 - 1);
	ok(!tier_wear_store(&set) && !changes, "nor is less than half a unit");
	tier_count_written(&tier, 1);
	ok(tier_wear_store(&set) == 1 && recorded == 8, "half a unit is");
	tier_wear_get(&set, &tier, &s);
	ok(s.written == 7 * UNIT + UNIT / 2, "what is shown is exact");
	ok(!tier_wear_store(&set) && changes == 1, "but once");
	tier_count_written(&tier, 10 * UNIT);
	metadata_error = -28;
	ok(tier_wear_store(&set) == -28 && recorded == 8 && tier.rec.wear == 8,
	   "an error changes nothing");
	ok(tier_wear_store(&set) == 1 && recorded == 18, "and is made up for");
	tier.rec.wear = U32_MAX - 1;
	tier_count_written(&tier, 10 * UNIT);
	ok(tier_wear_store(&set) == 1 && recorded == U32_MAX, "the record does not overflow");
	ok(!tier_wear_store(&set) && changes == 3, "nor is it written again");
}

int main(void)
{
	months();
	allowance_details();
	records();
	return tap_done();
}
