// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the free places, TAP on stdout. Of the kernel there is as much here as alloc.c
 * needs. The words that a search looks at are counted: it runs with interrupts off.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heat/port.h"
#include "../tap.h"

/* ---- of the kernel ---- */

#define BITS_PER_LONG		64
#define BITS_TO_LONGS(nr)	(((nr) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define BIT_WORD(bit)		((bit) / BITS_PER_LONG)
#define DIV_ROUND_UP_ULL(n, d)	(((n) + (d) - 1) / (d))
#define READ_ONCE(x)		(x)
#define WARN_ON_ONCE(x)		({ bool warn_ = (x); warnings += warn_; warn_; })
#define lockdep_assert_held(lock) ((void)(lock))
#define vzalloc(size)		calloc(1, size)
#define vfree			free
#define ENOMEM			12

static unsigned int warnings;
static u64 words;	/* that were looked at */

static unsigned long *word_of(const unsigned long *map, u64 bit)
{
	return (unsigned long *)map + BIT_WORD(bit);
}

static bool test_bit(u64 bit, const unsigned long *map)
{
	return *word_of(map, bit) >> bit % BITS_PER_LONG & 1;
}

static void __set_bit(u64 bit, unsigned long *map)
{
	*word_of(map, bit) |= 1UL << bit % BITS_PER_LONG;
}

static void __clear_bit(u64 bit, unsigned long *map)
{
	*word_of(map, bit) &= ~(1UL << bit % BITS_PER_LONG);
}

static bool __test_and_clear_bit(u64 bit, unsigned long *map)
{
	bool was = test_bit(bit, map);

	__clear_bit(bit, map);
	return was;
}

static u64 find_next_zero_bit(const unsigned long *map, u64 size, u64 bit)
{
	while (bit < size) {
		unsigned long zeros = ~*word_of(map, bit) >> bit % BITS_PER_LONG;

		words++;
		if (zeros)
			return min_t(u64, size, bit + __builtin_ctzl(zeros));
		bit = (BIT_WORD(bit) + 1) * BITS_PER_LONG;
	}
	return size;
}

/* ---- of the target, in place of core.h ---- */

#define DM_TIER_CORE_H
#define TIER_NO_PLACE		(~0ULL)
#define TIER_ROOM(member, begin, end) { .exit = (end) }

struct tier_set {
	int lock;
};

struct tier {
	struct { u64 places, first_place; } rec;
	u64 used;
	u32 room_seq;
	struct tier_set *set;
	struct tier_space *space;
};

struct tier_room {
	void (*exit)(struct tier *t);
};

#include "../../../dm-tier/alloc.c"

/* ---- tests ---- */

#define FIRST	7

static struct tier_set set;
static struct tier_space space;

static struct tier make_tier(u64 places)
{
	struct tier t = { .rec = { places, FIRST }, .set = &set, .space = &space };

	warnings = 0;
	if (tier_alloc_init(&t, 0))
		abort();
	return t;
}

/* Takes all but nr_kept places, as an activation does. */
static void fill(struct tier *t, const u64 *kept, unsigned int nr_kept)
{
	unsigned int k = 0;
	u64 place;

	for (place = FIRST; place < FIRST + t->rec.places; place++)
		if (k < nr_kept && place == kept[k])
			k++;
		else if (!tier_alloc_exactly(t, place))
			abort();
}

/* Each place is given once, next to the last; a place that gets free is found again. */
static void test_all(u64 places)
{
	struct tier t = make_tier(places);
	bool in_order = true, again = true;
	u64 i;

	for (i = 0; i < places; i++)
		in_order &= __tier_alloc_place(&t) == FIRST + i;
	ok(in_order, "%llu places, one after the other", (unsigned long long)places);
	ok(__tier_alloc_place(&t) == TIER_NO_PLACE && !tier_free_places(&t), "then the tier is full");
	for (i = 0; i < places; i += 1 + places / 50) {
		__tier_free_place(&t, FIRST + i);
		again &= __tier_alloc_place(&t) == FIRST + i &&
			 __tier_alloc_place(&t) == TIER_NO_PLACE;
	}
	ok(again && !warnings, "a free place is found wherever it lies");
}

/* The tier grows: what was taken stays, the rest is free. */
static void test_growth(u64 old, u64 places)
{
	struct tier t = make_tier(old);
	u64 free = FIRST + old / 2, i;
	bool good = true;

	for (i = 0; i < old; i++)
		__tier_alloc_place(&t);
	__tier_free_place(&t, free);
	t.rec.places = places;
	good = !tier_alloc_init(&t, old) && tier_free_places(&t) == places - old + 1 &&
	       __tier_alloc_place(&t) == free;
	for (i = old; i < places; i++)
		good &= __tier_alloc_place(&t) == FIRST + i;
	ok(good && __tier_alloc_place(&t) == TIER_NO_PLACE, "from %llu to %llu places",
	   (unsigned long long)old, (unsigned long long)places);
}

/* What takes and frees at random does is right by a plain array. */
static void test_random(u64 places)
{
	bool *taken = calloc(places, sizeof(*taken)), good = true;
	struct tier t = make_tier(places);
	u64 used = 0, place;
	unsigned int i;

	srandom(1);
	for (i = 0; i < 200000; i++) {
		u64 bit = random() % places;

		switch (random() % 5) {
		case 0:
		case 1:
			place = __tier_alloc_place(&t);
			if (place == TIER_NO_PLACE) {
				good &= used == places;
				break;
			}
			good &= !taken[place - FIRST];
			taken[place - FIRST] = true;
			used++;
			break;
		case 2:
			good &= tier_alloc_exactly(&t, FIRST + bit) != taken[bit];
			used += !taken[bit];
			taken[bit] = true;
			break;
		default:
			if (!taken[bit])
				break;
			__tier_free_place(&t, FIRST + bit);
			taken[bit] = false;
			used--;
		}
	}
	ok(good && t.used == used && !warnings, "%llu places at random", (unsigned long long)places);
	ok(!tier_alloc_exactly(&t, FIRST - 1) && !tier_alloc_exactly(&t, FIRST + places),
	   "no place beside them");
	free(taken);
}

/* A search of a nearly full tier does not look at all of it. */
static void test_large(void)
{
	enum { PLACES = 100000000 };
	static const u64 kept[] = { FIRST + 1, FIRST + PLACES / 2, FIRST + PLACES - 1 };
	struct tier t = make_tier(PLACES);
	u64 most = 0, last;
	unsigned int i;
	bool all = true;

	fill(&t, kept, 3);
	last = tier_free_places(&t);
	for (i = 0; i < 3; i++) {
		words = 0;
		all &= __tier_alloc_place(&t) == kept[i];
		most = max_t(u64, most, words);
	}
	for (i = 0; i < 3; i++) {
		__tier_free_place(&t, kept[2 - i]);
		words = 0;
		all &= __tier_alloc_place(&t) == kept[2 - i];
		most = max_t(u64, most, words);
	}
	ok(last == 3 && all, "each of the last places among 10^8 is found");
	ok(most < 1000, "the longest search looks at %llu words", (unsigned long long)most);
	tier_alloc_room.exit(&t);
}

int main(void)
{
	test_all(1);
	test_all(63);
	test_all(4096);
	test_all(4097);
	test_all(50000);
	test_growth(100, 200);
	test_growth(4096, 4097);
	test_growth(4095, 9000);
	test_growth(64, 128);
	test_random(5);
	test_random(300);
	test_random(13000);
	test_large();
	return tap_done();
}
