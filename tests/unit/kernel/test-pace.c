// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the pace of a tier, TAP on stdout. Of the kernel there is as much here as budget.c
 * needs; time is the test's own, and each test says what the latency guard finds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heat/port.h"
#include "policy-type.h"
#include "../tap.h"

/* ---- of the kernel ---- */

#define NSEC_PER_SEC		1000000000ULL
#define HZ			250
#define U32_MAX			0xffffffffU
#define SECTOR_SHIFT		9
#define SZ_1M			(1 << 20)
#define SZ_4M			(4 << 20)
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, value)	((x) = (value))
#define lockdep_assert_held(lock) ((void)(lock))
#define spin_lock_irq(lock)	((void)(lock))
#define spin_unlock_irq(lock)	((void)(lock))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define clamp_t(type, x, low, high) ((type)(x) < (type)(low) ? (type)(low) : \
				     (type)(x) > (type)(high) ? (type)(high) : (type)(x))

static u64 now_ns = NSEC_PER_SEC;

static u64 ktime_get_ns(void)
{
	return now_ns;
}

static u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	return (unsigned __int128)a * b / c;
}

/* ---- of the target, in place of core.h ---- */

#define DM_TIER_CORE_H
#define TIER_ROOM(member, begin, end) { .size = sizeof(struct tier_##member) }
#define TIER_SET_ROOM(member, begin, end) { .size = sizeof(struct tier_##member) }

enum tier_tunable {
	TIER_TUNABLE_BANDWIDTH, TIER_TUNABLE_LATENCY_GUARD, TIER_TUNABLE_MIGRATION_MIN, NR_TUNABLES,
};

struct tier {
	struct tier_set *set;
	struct tier_pace *pace;
};

struct tier_set {
	int lock;
	u32 chunk_sectors;
	unsigned int chunk_shift;
	struct tier_budget *budget;
};

struct tier_room {
	size_t size;
};

struct tier_set_room {
	size_t size;
};

static u64 tunables[NR_TUNABLES];

static u64 tier_tunable(struct tier_set *set, enum tier_tunable key)
{
	return set ? tunables[key] : 0;
}

#include "../../../dm-tier/budget.c"

/* ---- tests ---- */

#define LOOK_NS		(NSEC_PER_SEC / 50)	/* the mover looks for moves so often */
#define LOOKS		13			/* until the guard judges: a quarter of a second */
#define MOST		1000			/* moves at a look: an end if nothing limits them */

static struct tier_budget budget;
static struct tier_pace pace;
static struct tier_set set = { .budget = &budget };
static struct tier tier = { .set = &set, .pace = &pace };

static void anew(u32 chunk_kib, u64 guard, u64 min_kib)
{
	memset(&budget, 0, sizeof(budget));
	memset(&pace, 0, sizeof(pace));
	set.chunk_sectors = chunk_kib * 2;
	tunables[TIER_TUNABLE_LATENCY_GUARD] = guard;
	tunables[TIER_TUNABLE_MIGRATION_MIN] = min_kib;
	now_ns += NSEC_PER_SEC;
}

/* A class has suffered once. */
static void paced(u32 chunk_kib, u64 guard, u64 min_kib)
{
	anew(chunk_kib, guard, min_kib);
	tier_pace_judge(&tier, TIER_COMFORT_SUFFERS);
}

/* KiB that move in so many seconds, where the guard finds this each time */
static u64 move(unsigned int seconds, enum tier_comfort comfort)
{
	unsigned int looks = seconds * (NSEC_PER_SEC / LOOK_NS), look, i;
	u64 sectors = 0;

	for (look = 1; look <= looks; look++) {
		now_ns += LOOK_NS;
		tier_pace_judge(&tier, look % LOOKS ? TIER_COMFORT_MET : comfort);
		for (i = 0; i < MOST && !tier_pace_wait(&tier, TIER_PACE_START); i++) {
			tier_pace_take(&tier, TIER_PACE_START, set.chunk_sectors);
			tier_pace_take(&tier, TIER_PACE_COPY, set.chunk_sectors);
			sectors += set.chunk_sectors;
		}
	}
	return sectors / 2;
}

static void about(u64 kib, u64 want, const char *what)
{
	ok(kib * 100 >= want * 97 && kib * 100 <= want * 103, "%s: %llu KiB, of about %llu", what,
	   (unsigned long long)kib, (unsigned long long)want);
}

static void paces(void)
{
	static const u32 chunks[] = { 64, 1024, 16384 };
	unsigned int i;
	u64 kib, fall;

	for (i = 0; i < 3; i++) {
		paced(chunks[i], 20, 0);
		about(move(1000, TIER_COMFORT_MET), 4096000, "1000 s at the first pace");
		paced(chunks[i], 20, 0);
		move(600, TIER_COMFORT_SUFFERS);
		about(move(10000, TIER_COMFORT_SUFFERS), 10240000, "10000 s while it suffers");
		ok(tier_pace_least(&tier), "which is the least");
		paced(chunks[i], 20, 4096);
		move(600, TIER_COMFORT_SUFFERS);
		about(move(1000, TIER_COMFORT_SUFFERS), 4096000, "1000 s while it suffers, at least 4096");
	}
	paced(64, 20, 0);
	kib = move(1, TIER_COMFORT_FINE);
	ok(kib < 7000, "the pace begins low: %llu KiB", (unsigned long long)kib);
	move(4, TIER_COMFORT_FINE);
	kib = move(1, TIER_COMFORT_FINE);
	ok(kib > 90000, "and grows: %llu KiB in the sixth second", (unsigned long long)kib);
	fall = move(1, TIER_COMFORT_SUFFERS);
	ok(fall < kib * 3 / 4 && fall > kib / 4, "falls by degrees: %llu KiB",
	   (unsigned long long)fall);
}

/* What is in flight when the pace sinks still makes others suffer. */
static void sinks_once(void)
{
	unsigned int i;

	paced(64, 20, 0);
	for (i = 0; i < 4; i++) {
		now_ns += LOOK_NS;
		tier_pace_judge(&tier, TIER_COMFORT_SUFFERS);
	}
	ok(__rate(&tier) == START, "4 MiB/s for a tenth of a second");
	now_ns += LOOK_NS;
	tier_pace_judge(&tier, TIER_COMFORT_SUFFERS);
	ok(__rate(&tier) == START / 2, "then half of it");
}

/* Whether the copy of much has to be waited for. */
static bool limited(void)
{
	bool waits;

	tier_pace_take(&tier, TIER_PACE_COPY, 1 << 20);
	waits = tier_pace_wait(&tier, TIER_PACE_COPY);
	memset(pace.buckets, 0, sizeof(pace.buckets));
	return waits;
}

/* Nothing holds moves back without the guard, before a class suffers, or without other I/O. */
static void no_pace(void)
{
	paced(64, 0, 0);
	ok(!limited() && !tier_pace_wait(&tier, TIER_PACE_START), "no guard, no pace");
	anew(64, 20, 4096);
	move(1, TIER_COMFORT_FINE);
	ok(!limited() && !tier_pace_wait(&tier, TIER_PACE_START) && !tier_pace_least(&tier),
	   "none while no class suffers; the minimum is no limit");
	tier_pace_judge(&tier, TIER_COMFORT_SUFFERS);
	ok(limited() && __tier_paced(&tier), "a class that suffers gives the tier a pace");
	tier_pace_judge(&tier, TIER_COMFORT_ALONE);
	ok(!limited() && !tier_pace_wait(&tier, TIER_PACE_START) && !__tier_paced(&tier), "without other I/O there is none");
	tier_pace_judge(&tier, TIER_COMFORT_UNKNOWN);
	ok(!limited(), "nor as long as nothing is known of other I/O");
	tier_pace_judge(&tier, TIER_COMFORT_MET);
	ok(__rate(&tier) == START, "with it the pace is what it was");
	tunables[TIER_TUNABLE_LATENCY_GUARD] = 0;
	ok(!limited() && !tier_pace_wait(&tier, TIER_PACE_START), "the guard is taken away");
}

/* I/O under way when moves begin counts, but not against what is known. */
static void begins(void)
{
	anew(64, 20, 0);
	tier_pace_begin(&tier);
	ok(__rate(&tier) == START, "moves begin while I/O is under way");
	move(1, TIER_COMFORT_SUFFERS);
	tier_pace_begin(&tier);
	ok(__rate(&tier) < START, "what is known of the tier stays");
	tier_pace_judge(&tier, TIER_COMFORT_ALONE);
	ok(!limited(), "what is for another tier does not count");
}

/* What was begun at a pace, and copied without, is not waited for. */
static void no_debt(void)
{
	paced(1 << 20, 20, 0);
	tier_pace_take(&tier, TIER_PACE_START, set.chunk_sectors);
	ok(tier_pace_wait(&tier, TIER_PACE_START) > 100 * HZ, "a large chunk takes its time");
	tier_pace_judge(&tier, TIER_COMFORT_ALONE);
	ok(!tier_pace_wait(&tier, TIER_PACE_START), "not without other I/O");
	tier_pace_judge(&tier, TIER_COMFORT_MET);
	ok(!tier_pace_wait(&tier, TIER_PACE_START), "nor when that comes back");
}

/* Copies that do not wait for the pace, as others wait for them, hold the next ones up a while. */
static void pressing(void)
{
	paced(1024, 20, 0);
	tier_pace_take(&tier, TIER_PACE_COPY, 1 << 20);
	ok(tier_pace_wait(&tier, TIER_PACE_COPY) <= HZ + 2, "a second at most");
}

/* Chunks that are placed without a copy, on the way home, use the pace as well. */
static void starts(void)
{
	unsigned int i;

	paced(64, 20, 0);
	for (i = 0; i < 1000; i++) {
		now_ns += LOOK_NS;
		tier_pace_judge(&tier, TIER_COMFORT_FINE);
		while (!tier_pace_wait(&tier, TIER_PACE_START) && __rate(&tier) < 100 * START)
			tier_pace_take(&tier, TIER_PACE_START, set.chunk_sectors);
	}
	ok(__rate(&tier) >= 100 * START, "the pace grows without a copy");
}

/* A class that is fine between two copies says nothing of them. */
static void gaps(void)
{
	unsigned int i;

	paced(1024, 20, 0);
	tier_pace_take(&tier, TIER_PACE_COPY, START);
	now_ns += NSEC_PER_SEC / 10;
	tier_pace_judge(&tier, TIER_COMFORT_SUFFERS);
	for (i = 0; i < 50; i++) {
		now_ns += LOOK_NS;
		tier_pace_judge(&tier, TIER_COMFORT_FINE);
	}
	ok(__rate(&tier) == START / 2, "nothing was copied since it suffered");
}

/* A pace that no move has used says nothing of the next moves. */
static void idle(void)
{
	unsigned int i;

	paced(64, 20, 0);
	for (i = 0; i < 1000; i++) {
		now_ns += LOOK_NS;
		tier_pace_judge(&tier, TIER_COMFORT_FINE);
	}
	about(move(100, TIER_COMFORT_MET), 409600, "100 s at the first pace, after 20 s without moves");
}

/* However many moves have begun, they copy at the pace together. */
static void together(void)
{
	u64 end, sectors = 0;
	unsigned int i;

	paced(65536, 20, 0);
	end = now_ns + 100 * NSEC_PER_SEC;
	while (now_ns < end) {
		now_ns += NSEC_PER_SEC / HZ;
		for (i = 0; i < 4; i++) {
			if (tier_pace_wait(&tier, TIER_PACE_COPY))
				continue;
			tier_pace_take(&tier, TIER_PACE_COPY, 256);
			sectors += 256;
		}
	}
	about(sectors / 2, 409600, "four moves in 100 s at the first pace");
	tier_pace_take(&tier, TIER_PACE_COPY, START);
	ok(tier_pace_wait(&tier, TIER_PACE_COPY) > HZ * 7 / 8, "a second's copy is waited for");
	tunables[TIER_TUNABLE_MIGRATION_MIN] = 8192;
	ok(tier_pace_wait(&tier, TIER_PACE_COPY) < HZ * 5 / 8, "half as long with twice the minimum");
	tier_pace_judge(&tier, TIER_COMFORT_ALONE);
	ok(!tier_pace_wait(&tier, TIER_PACE_COPY), "not at all without other I/O");
}

/* What a set may do comes before what it does at least. */
static void bandwidth(void)
{
	set.chunk_shift = 7;
	paced(64, 20, 65536);
	tunables[TIER_TUNABLE_BANDWIDTH] = 1024;
	now_ns += 10 * NSEC_PER_SEC;
	ok(!tier_budget_wait(&set, 0), "there is budget");
	tier_budget_take(&set, 2048);
	ok(tier_budget_wait(&set, 0) && !tier_pace_wait(&tier, TIER_PACE_START), "the budget is spent, whatever the pace");
	tunables[TIER_TUNABLE_BANDWIDTH] = 0;
	ok(!tier_budget_wait(&set, 0), "no limit");
}

int main(void)
{
	paces();
	sinks_once();
	no_pace();
	begins();
	no_debt();
	pressing();
	starts();
	gaps();
	idle();
	together();
	bandwidth();
	return tap_done();
}
