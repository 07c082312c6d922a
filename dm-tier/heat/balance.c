// SPDX-License-Identifier: GPL-2.0-only
/* Balance under load.  See balance.h. */
#include "heat/balance.h"

#define ENOUGH		8	/* samples for a mean */
#define BUSY		(3 * 16)	/* sixteenths of an access at a time: else none queues */
#define MARGIN		4	/* a tier takes longer if it does by a quarter */

#define DOUBT		3	/* intervals in a row until one tier, or neither, is the slower */
#define FIRST_STEP	(HEAT_WHOLE / 32)
#define LAST_STEP	(HEAT_WHOLE / 8)
#define CLOSE		(HEAT_WHOLE / 64)	/* a share is what it was to be */
#define FOUND		(HEAT_WHOLE / 32)	/* the best share is known well enough */
#define LITTLE		(HEAT_WHOLE / 8)	/* with so little to gain there is no limit */
#define PATIENCE	15	/* intervals that chunks may take to move */
#define EASE		(HEAT_WHOLE / 64)	/* of an interval without load */

/*
 * Once found, the share follows slowly, by less than a hundredth a minute: just beside the best
 * share, too, one of the tiers always takes longer.
 */
#define FOLLOW		30	/* intervals in a row */
#define FOLLOW_STEP	(HEAT_WHOLE / 512)
#define FOLLOW_MOST	(HEAT_WHOLE / 128)

#define REST		300	/* intervals after a search that gained nothing */
#define RESTS_MAX	4	/* and that often twice as long */

static u32 unloaded_ns(const struct tier_view *t, enum tier_class class)
{
	return class == TIER_RANDOM_READ ? t->random_ns : t->random_write_ns;
}

/*
 * Whether the accesses to the faster tier take longer than they would on the slower one as that
 * is now: 1; less long: -1; unknown or about as long: 0.
 */
static int compare(const struct tier_view *fast, const struct tier_view *slow)
{
	static const enum tier_class classes[] = { TIER_RANDOM_READ, TIER_RANDOM_WRITE };
	u64 fast_ns = 0, slow_ns = 0;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		enum tier_class class = classes[i];
		u64 nr = fast->load.samples[class];
		u32 there = slow->load.samples[class] >= ENOUGH ? slow->load.mean_ns[class] :
								  unloaded_ns(slow, class);

		if (nr < ENOUGH || !there)
			continue;
		fast_ns += nr * fast->load.mean_ns[class];
		slow_ns += nr * there;
	}
	return fast_ns > slow_ns + slow_ns / MARGIN ? 1 :
	       slow_ns > fast_ns + fast_ns / MARGIN ? -1 : 0;
}

/* Chunks may move until the share is what it may be; only in one direction at a time. */
static void aim(struct heat_balance *b, u32 share)
{
	b->rise = b->limit > share ? b->limit - share : 0;
	b->sink = share > b->limit ? share - b->limit : 0;
}

static bool near(u32 a, u32 b, u32 distance)
{
	return a + distance > b && b + distance > a;
}

static void unlimited(struct heat_balance *b)
{
	b->limit = HEAT_WHOLE;
	b->rise = 0;
	b->sink = 0;
	b->wait = 0;
	b->agreed = 0;
}

static void set_limit(struct heat_balance *b, u32 share, u32 limit)
{
	b->limit = limit;
	aim(b, share);
	b->wait = PATIENCE;
	b->agreed = 0;
}

/* Without load all may climb again, little by little: it may only pause. */
static void ease(struct heat_balance *b)
{
	b->agreed = 0;
	if (b->limit == HEAT_WHOLE)
		return;
	if (b->limit + EASE >= HEAT_WHOLE) {
		unlimited(b);
		return;
	}
	set_limit(b, b->limit, b->limit + EASE);
	b->low = 0;
	b->high = b->limit;
	b->step = LAST_STEP;
}

static void follow(struct heat_balance *b, u32 share, int result)
{
	bool too_large = result > 0;

	/* Other chunks may have become hot. */
	aim(b, near(share, b->limit, 2 * FOUND) ? b->limit : share);
	if (!result || too_large != b->too_large) {
		b->agreed = 0;
		b->step = FOLLOW_STEP;
	}
	b->too_large = too_large;
	if (!result || ++b->agreed < FOLLOW)
		return;
	/* From the limit on: the share in one interval is not known so well. */
	share = b->limit;
	b->limit = result < 0 ? min_t(u32, share + b->step, HEAT_WHOLE) :
		   share > b->step ? share - b->step : 0;
	aim(b, share);
	b->low = b->limit;
	b->high = b->limit;
	b->step = min_t(u32, 2 * b->step, FOLLOW_MOST);
	b->agreed = 0;
}

static void search(struct heat_balance *b, u32 share, int result)
{
	u32 middle;

	if (!result && ++b->agreed < DOUBT) {
		b->wait = 1;
		return;
	}
	if (result > 0)
		b->high = min_t(u32, b->high, share);
	if (result < 0)
		b->low = max_t(u32, b->low, share);
	if (!result || b->low + FOUND >= b->high) {
		b->low = share;
		b->high = share;
		b->step = FOLLOW_STEP;
		set_limit(b, share, share);
		b->wait = 0;
		return;
	}
	middle = (b->low + b->high) / 2;
	if (result > 0)
		middle = max_t(u32, middle, share > b->step ? share - b->step : 0);
	else
		middle = min_t(u32, middle, share + b->step);
	set_limit(b, share, middle);
	b->step = min_t(u32, 2 * b->step, LAST_STEP);
}

/* A search begins only if the faster tier takes longer for some time. */
static void begin(struct heat_balance *b, u32 share, int result)
{
	if (b->rest) {
		b->rest--;
		return;
	}
	b->agreed = result > 0 ? b->agreed + 1 : 0;
	if (b->agreed < DOUBT || share < FIRST_STEP)
		return;
	b->low = 0;
	b->high = HEAT_WHOLE;
	b->step = FIRST_STEP;
	search(b, share, result);
}

void heat_balance_look(struct heat_balance *b, u64 accesses, const struct tier_view *fast,
		       const struct tier_view *slow)
{
	u64 both = b->load[0] + b->load[1], nr = accesses - b->accesses;
	u32 share = both ? div64_u64(b->load[0] * HEAT_WHOLE, both) : 0;
	int result = compare(fast, slow);

	b->seen = fast->load.number;
	b->accesses = accesses;
	b->weight = nr ? min_t(u64, div64_u64(both, nr), 0xffffffff) : 0;
	b->load[0] = 0;
	b->load[1] = 0;
	if (!both || fast->load.in_flight + slow->load.in_flight < BUSY) {
		ease(b);
		return;
	}
	if (b->limit == HEAT_WHOLE) {
		begin(b, share, result);
		return;
	}
	if (b->wait) {
		/* Once it is there, or gets no nearer, an interval in which nothing moves. */
		b->wait = near(share, b->limit, CLOSE) || near(share, b->share, CLOSE) ?
			  min_t(u32, b->wait - 1, 1) : b->wait - 1;
		b->share = share;
		aim(b, b->wait > 1 ? share : b->limit);
		if (b->wait)
			return;
	}
	if (b->low < b->high)
		search(b, share, result);
	else
		follow(b, share, result);
	/* The slower tier has next to nothing to give. */
	if (b->low + FOUND >= HEAT_WHOLE - LITTLE) {
		b->rest = REST << min_t(u32, b->rests++, RESTS_MAX);
		unlimited(b);
	}
}
