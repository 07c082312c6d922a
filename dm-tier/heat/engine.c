// SPDX-License-Identifier: GPL-2.0-only
/*
 * The heat engine of dm-tier.  See engine.h.
 *
 * Every chunk has one heat: a counter that halves every half_life accesses per
 * fast chunk and grows, at each access, by the time that access would have
 * saved on the fastest tier.  A hot chunk is promoted if it is enough hotter
 * than the coldest chunk known on the faster tier to pay for moving both; how
 * far heat can be trusted is learnt by audits (audit.h).
 */
#include "heat/engine.h"

/* ---- Constants ---- */

/* A request within this many sectors of a stream's end continues it. */
#define STREAM_GAP	256

/*
 * The decay sweeps over all chunks four times per half-life and takes
 * 1 - 2^-1/4 of each counter, so that a counter read at any time, also after
 * a restart that lost the position of the sweep, is at most that far off.
 * Between two visits the decay is interpolated; a straight line is within
 * 0.4% of the exponential.
 */
#define PASSES_PER_HALF_LIFE	4
#define DECAY_KEEP	55109U		/* 2^-1/4 * 2^16 */
#define DECAY_LOSS	(65536U - DECAY_KEEP)
#define DECAY_REGAIN	12401U		/* (2^1/4 - 1) * 2^16 */

/* Bounds the work of an access; stretches the half-life of tiny fast tiers. */
#define SWEEP_MAX	64
#define SWEEP_MOST	1024	/* also if it stands for many */

#define SAMPLES		16	/* chunks of a tier looked at to find its victim */
#define PROBES_PER_ACCESS	8
#define PROBES_PER_TICK	256
#define PROBES_MAX	1024
#define VICTIM_ROUNDS	64
#define IDLE_TICKS	64	/* without an access, ticks are worth nothing after that */

/*
 * A lack of tokens adds up to this much to the price of a move, by its third power:
 * in proportion, the price took hits while tokens were left over at the end.
 */
#define TOKEN_PRICE	(16 * HEAT_ONE)

/* A failed move is not tried again for this many accesses. */
#define BACKOFF		4096
#define PATIENCE	4096	/* as long a place may take to get free after a move */
#define TICK_ACCESSES	64	/* a tick lets that many accesses' time pass */

#define TRIES		4	/* candidates weighed by one call of next */

/*
 * A chunk whose accesses save as much in this time as its swap costs does not wait for the latency
 * guard: the readers of its tier gain soon.  The swaps of all such chunks of a hot set keep a tier
 * busy for as long at most.  A single burst, or chance, is not taken for a rate: the accesses are
 * at least that many, the first and the last at least that far apart.
 */
#define SOON_NS		10000000000ULL
#define SOON_LEAST_NS	1000000000ULL
#define SOON_ACCESSES	4

const struct tier_key heat_engine_keys[HEAT_NR_KEYS + 1] = {
	/*
	 * Accesses per chunk of the faster tiers after which heat halves.  With 64 what
	 * shifts is followed later (3% more time over 20 traces), with 32 a disk
	 * that is only read moves half as many chunks again for nothing.
	 */
	[HEAT_KEY_HALF_LIFE] = { "half_life", 16, 1024, 48 },
	/* percent of the victim's heat that a promoted chunk must exceed */
	[HEAT_KEY_ADMIT] = { "admit", 100, 1000, 140 },
	/* percent of each faster tier kept free for first writes */
	[HEAT_KEY_HEADROOM] = { "headroom", 0, 50, 2 },
	/* percent that an access to a file system's metadata weighs more than others */
	[HEAT_KEY_METADATA_WEIGHT] = { "metadata_weight", 0, 10000, 0 },
	[HEAT_NR_KEYS] = { NULL, 0, 0, 0 },
};

/* ---- Small things ---- */

/* xorshift32 (Marsaglia 2003): rounding needs speed, not quality. */
static u32 rounding_noise(struct tier_policy *e)
{
	u32 x = e->rng;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	e->rng = x;
	return x;
}

static const struct tier_view *view(struct tier_policy *e, unsigned int rank)
{
	return &e->env.tiers[rank];
}

static bool may_receive(struct tier_policy *e, unsigned int rank)
{
	return view(e, rank)->open && !view(e, rank)->held;
}

static unsigned int where(struct tier_policy *e, u32 chunk)
{
	unsigned int rank = e->env.where(e->env.context, chunk);

	return rank < e->nr_tiers ? rank : TIER_NOWHERE;
}

/* ---- Heat of a chunk ---- */

/* Share of a pass that went by since the sweep visited chunk, 16 bits. */
static u32 age(struct tier_policy *e, u32 chunk)
{
	u32 distance = chunk < e->hand ? e->hand - 1 - chunk :
					 e->hand + (e->nr_chunks - 1 - chunk);

	return (distance * e->reciprocal) >> 32;
}

u32 heat_engine_heat(struct tier_policy *e, u32 chunk)
{
	u32 stored, loss;

	if (chunk >= e->nr_chunks)
		return 0;
	stored = TIER_HEAT_READS(e->heat[chunk]) + TIER_HEAT_WRITES(e->heat[chunk]);
	if (!stored)
		return 0;
	loss = (age(e, chunk) * DECAY_LOSS) >> 16;
	return stored - (u32)(((u64)stored * loss + 32768) >> 16);
}

static void set_heat(struct tier_policy *e, u32 chunk, u32 heat)
{
	if (e->heat[chunk] == heat)
		return;
	e->heat[chunk] = heat;
	e->env.changed[chunk / TIER_HEAT_PER_BLOCK] = 1;
}

/* weight: heat with 16 fractional bits */
static void add_heat(struct tier_policy *e, u32 chunk, bool write, u64 weight)
{
	u32 reads = TIER_HEAT_READS(e->heat[chunk]);
	u32 writes = TIER_HEAT_WRITES(e->heat[chunk]);
	u32 *counter = write ? &writes : &reads;

	/* The counter is as of the sweep's last visit: add what decays to weight. */
	weight += (weight * ((age(e, chunk) * DECAY_REGAIN) >> 16)) >> 16;
	weight = (weight + (rounding_noise(e) & 0xffff)) >> 16;
	*counter = min_t(u64, *counter + weight, 0xffff);
	set_heat(e, chunk, writes << 16 | reads);
}

static u32 decayed(u32 counter, u32 noise)
{
	return (counter * DECAY_KEEP + (noise & 0xffff)) >> 16;
}

/*
 * Heat that is compared: a fifth of it is that of the chunks beside, each of which
 * counts for twice the chunk's own at most.  Files and tables are larger than a
 * chunk, and what was hot by chance is not hot on both sides.  Over two real traces
 * 2% less time, over synthetic ones whose neighbours have nothing in common 0.2% more
 * (1.5% without the limit).
 */
static u32 compared_heat(struct tier_policy *e, u32 chunk)
{
	u32 own = heat_engine_heat(e, chunk), sides;

	if (!own)
		return 0;
	sides = min_t(u32, heat_engine_heat(e, chunk + 1), 2 * own);
	if (chunk)
		sides += min_t(u32, heat_engine_heat(e, chunk - 1), 2 * own);
	return (8 * own + sides) / 10;
}

/* ---- Flights and backoffs ---- */

static struct heat_flight *find_flight(struct tier_policy *e, u32 chunk)
{
	unsigned int i;

	for (i = 0; i < e->nr_flights; i++)
		if (e->flights[i].chunk == chunk)
			return &e->flights[i];
	return NULL;
}

/* May chunk not be proposed now? */
static bool busy(struct tier_policy *e, u32 chunk)
{
	unsigned int i;

	for (i = 0; i < HEAT_BACKOFFS && e->clock < e->last_backoff; i++)
		if (e->backoffs[i].until > e->clock && e->backoffs[i].chunk == chunk)
			return true;
	return find_flight(e, chunk);
}

/* Chunks on their way off rank. */
static unsigned int leaving(struct tier_policy *e, unsigned int rank)
{
	unsigned int i, nr = 0;

	for (i = 0; i < e->nr_flights; i++)
		nr += e->flights[i].from == rank;
	return nr;
}

/*
 * Places of rank that are free now.  A move that the target has begun may be
 * counted twice, here and in the view; that only delays the next one.
 */
static u64 free_places(struct tier_policy *e, unsigned int rank)
{
	unsigned int i;
	u64 arriving = 0;

	for (i = 0; i < e->nr_flights; i++)
		arriving += e->flights[i].to == rank;
	return view(e, rank)->free > arriving ? view(e, rank)->free - arriving : 0;
}

/*
 * The share that a chunk has of the load that is balanced, if all goes on as it was: the heat of
 * all chunks together is weight * half-life / ln 2.
 */
static u32 share_of(struct tier_policy *e, const struct heat_balance *b, u32 chunk)
{
	u64 half_life = max_t(u64, e->fast_places, 1) * e->keys[HEAT_KEY_HALF_LIFE];
	u64 ln2 = 45426;	/* * 2^16 */

	if (!b->weight)
		return 0;
	return min_t(u64, HEAT_WHOLE, div64_u64(div64_u64(heat_engine_heat(e, chunk) * ln2 << 16,
							  b->weight), half_life));
}

static void propose(struct tier_policy *e, u32 chunk, unsigned int from,
		    unsigned int to, struct tier_move *move)
{
	struct heat_flight *f = &e->flights[e->nr_flights++];
	struct heat_balance *b = &e->balance[min_t(unsigned int, from, to)];
	u32 *left = to < from ? &b->rise : &b->sink;

	if (*left)
		*left -= min_t(u32, *left, share_of(e, b, chunk));

	f->chunk = chunk;
	f->from = from;
	f->to = to;
	move->chunk = chunk;
	move->to = to;
	move->soon = 0;
}

/* ---- Pools of cold chunks ---- */

static void offer_cold(struct tier_policy *e, unsigned int rank, u32 chunk)
{
	struct heat_pool *pool = &e->pools[rank];
	struct heat_cold *hottest = NULL;
	u32 heat = compared_heat(e, chunk);
	unsigned int i;

	for (i = 0; i < pool->nr; i++) {
		struct heat_cold *c = &pool->cold[i];

		if (c->chunk == chunk) {
			c->heat = heat;
			return;
		}
		if (!hottest || c->heat > hottest->heat)
			hottest = c;
	}

	if (pool->nr < HEAT_POOL)
		hottest = &pool->cold[pool->nr++];
	else if (heat >= hottest->heat)
		return;
	hottest->chunk = chunk;
	hottest->heat = heat;
}

/* The coldest of the pool as of now, NULL if it is empty. */
static struct heat_cold *coldest(struct tier_policy *e, unsigned int rank)
{
	struct heat_pool *pool = &e->pools[rank];
	struct heat_cold *best = NULL;
	unsigned int i = 0;

	while (i < pool->nr) {
		struct heat_cold *c = &pool->cold[i];

		if (where(e, c->chunk) != rank || busy(e, c->chunk)) {
			*c = pool->cold[--pool->nr];
			continue;
		}
		c->heat = compared_heat(e, c->chunk);
		if (!best || c->heat < best->heat)
			best = c;
		i++;
	}
	return best;
}

static void look_at(struct tier_policy *e, u32 chunk)
{
	unsigned int rank = where(e, chunk);

	/* Nothing is ever demoted from the slowest tier. */
	if (rank + 1 < e->nr_tiers)
		offer_cold(e, rank, chunk);
}

/* Look at random chunks until SAMPLES of rank were seen or probes run out. */
static void probe(struct tier_policy *e, unsigned int rank)
{
	unsigned int found = 0;

	while (found < SAMPLES && e->probes) {
		u32 chunk = e->env.random(e->env.context, e->nr_chunks);
		unsigned int at = where(e, chunk);

		e->probes--;
		if (at == rank || at + 1 < e->nr_tiers)
			offer_cold(e, at, chunk);
		found += at == rank;
	}
}

/* ---- Decay ---- */

static void sweep(struct tier_policy *e, u32 weight)
{
	e->owed = min_t(u64, e->owed + (u64)e->step * weight, SWEEP_MOST << 16);
	for (; e->owed >= 65536; e->owed -= 65536) {
		u32 chunk = e->hand;
		u32 h = e->heat[chunk];

		if (h) {
			u32 noise = rounding_noise(e);

			set_heat(e, chunk, decayed(TIER_HEAT_WRITES(h), noise >> 16) << 16 |
					   decayed(TIER_HEAT_READS(h), noise));
		}
		if (++e->hand == e->nr_chunks) {
			e->hand = 0;
			e->pass++;
			e->newcomers[1] = e->newcomers[0];
			e->newcomers[0] = 0;
		}
		/*
		 * Each chunk is looked at once per half-life: however small a
		 * tier's share of all chunks is, its cold ones are found.
		 */
		if (!((chunk ^ e->pass) % PASSES_PER_HALF_LIFE))
			look_at(e, chunk);
	}
}

static void set_decay(struct tier_policy *e)
{
	u64 pass = max_t(u64, e->fast_places, 1) * e->keys[HEAT_KEY_HALF_LIFE] /
		   PASSES_PER_HALF_LIFE;
	u64 step = div64_u64((u64)e->nr_chunks << 16, pass);

	e->step = min_t(u64, step, SWEEP_MAX << 16);
	e->reciprocal = e->nr_chunks ? div64_u64(1ULL << 48, e->nr_chunks) : 0;
}

/* ---- The target's view of the tiers ---- */

/* Take over what changed. */
static void look_at_tiers(struct tier_policy *e)
{
	u64 fast_places = 0;
	unsigned int rank;

	e->nr_tiers = min_t(unsigned int, *e->env.nr_tiers, TIER_MAX_TIERS);
	/* All tiers but the slowest; of a single one, that one. */
	for (rank = 0; !rank || rank + 1 < e->nr_tiers; rank++)
		fast_places += view(e, rank)->places;
	for (rank = 0; rank < e->nr_tiers; rank++)
		e->was_full[rank] |= view(e, rank)->free <= view(e, rank)->reserve;
	if (fast_places != e->fast_places) {
		e->fast_places = fast_places;
		set_decay(e);
	}
	heat_costs_update(&e->costs, e->env.tiers, e->nr_tiers, e->env.chunk_sectors);
	for (rank = 0; rank + 1 < e->nr_tiers; rank++)
		if (view(e, rank)->load.number != e->balance[rank].seen)
			heat_balance_look(&e->balance[rank], e->accesses, view(e, rank),
					  view(e, rank + 1));
}

/* ---- Accesses ---- */

/* The request continues the oldest stream that it may; without one it begins one. */
static bool is_stream(struct tier_policy *e, const struct tier_access *a)
{
	unsigned int i, replaced = 0;
	bool found = false;

	for (i = 0; i < HEAT_STREAMS && !found; i++) {
		found = a->sector >= e->streams[i] &&
			a->sector - e->streams[i] <= STREAM_GAP;
		if (found)
			replaced = i;
	}
	memmove(&e->streams[replaced], &e->streams[replaced + 1],
		(HEAT_STREAMS - 1 - replaced) * sizeof(e->streams[0]));
	e->streams[HEAT_STREAMS - 1] = a->sector + a->sectors;
	return found;
}

/* What promoting a chunk of that heat to the fastest tier saves, at most. */
static u32 best_saving(struct tier_policy *e, u32 heat, unsigned int rank)
{
	return ((u64)heat * e->costs.depth[rank]) >> 16;
}

/* Counts from an access on. */
static void begin_following(struct tier_policy *e, struct heat_candidate *c)
{
	c->since_ns = *e->env.now_ns;
	c->last_ns = c->since_ns;
	c->nr = 1;
	c->gained = 0;
}

/* Counts an access; of a long time, half is forgotten.  weight: heat with 16 fractional bits */
static void follow(struct tier_policy *e, struct heat_candidate *c, u64 weight)
{
	u64 ns = *e->env.now_ns - c->since_ns;

	if (*e->env.now_ns - c->last_ns > SOON_NS) {
		begin_following(e, c);
		return;
	}
	c->last_ns = *e->env.now_ns;
	c->nr++;
	c->gained = min_t(u64, c->gained + (weight >> 16), 0xffffff);
	if (ns <= 2 * SOON_NS)
		return;
	c->since_ns += ns / 2;
	c->nr = (c->nr + 1) / 2;
	c->gained /= 2;
}

static struct heat_candidate *find_candidate(struct tier_policy *e, u32 chunk)
{
	unsigned int i;

	for (i = 0; i < e->nr_candidates; i++)
		if (e->candidates[i].chunk == chunk)
			return &e->candidates[i];
	return NULL;
}

/* Remember chunk, which was accessed, if it is among the most promising. */
static void nominate(struct tier_policy *e, u32 chunk, unsigned int rank, u32 heat, u64 weight)
{
	struct heat_candidate *worst = NULL, *c = find_candidate(e, chunk);
	u32 score = best_saving(e, heat, rank);
	unsigned int i;

	if (c) {
		c->score = score;
		c->seen = e->noted;
		follow(e, c, weight);
		return;
	}
	for (i = 0; i < e->nr_candidates; i++) {
		c = &e->candidates[i];
		/* One whose victim is on its way already keeps its seat. */
		if (c->backed == TIER_NOWHERE && (!worst || c->score < worst->score))
			worst = c;
	}
	if (e->nr_candidates < HEAT_CANDIDATES)
		worst = &e->candidates[e->nr_candidates++];
	else if (!worst || score <= worst->score)
		return;
	worst->chunk = chunk;
	worst->score = score;
	worst->seen = e->noted;
	worst->backed = TIER_NOWHERE;
	begin_following(e, worst);
}

/* Is there a faster tier to which a chunk of that heat could pay to move? */
static bool promising(struct tier_policy *e, unsigned int rank, u32 heat)
{
	unsigned int to;

	for (to = 0; to < rank; to++)
		if ((view(e, to)->open || view(e, to)->spent) &&
		    heat > e->costs.swap_cost[rank][to] / 2)
			return true;
	return false;
}

/* The access that ends an audit begun now: that part of a half-life from here. */
static u64 audit_end(struct tier_policy *e, unsigned int part)
{
	return e->accesses + 1 +
	       max_t(u64, e->fast_places, 1) * e->keys[HEAT_KEY_HALF_LIFE] / part;
}

static void observe(struct tier_policy *e, const struct tier_access *a)
{
	u64 chunk = a->sector >> e->chunk_shift;
	bool stream = is_stream(e, a);
	u64 one = stream ? e->costs.weight_stream[a->write] : e->costs.weight_random[a->write];
	unsigned int at, rank;
	bool newcomer;
	u64 weight;
	u32 heat;

	if (chunk >= e->nr_chunks)
		return;
	one = min_t(u64, one + (u64)a->sectors * e->costs.weight_sector, 0xffffffff);
	if (a->meta)
		one = min_t(u64, one + div64_u64(one * e->keys[HEAT_KEY_METADATA_WEIGHT], 100),
			    0xffffffff);
	/* A stream goes on: what this part of it stands for went to the chunks behind. */
	weight = stream ? one : one * a->weight;
	e->accesses += a->weight;
	e->clock++;
	e->noted++;
	e->idle_ticks = 0;
	e->probes = min_t(u32, e->probes + PROBES_PER_ACCESS, PROBES_MAX);
	sweep(e, a->weight);
	/* The others that it stands for went to chunks as new as this one, not to it. */
	newcomer = a->write && !e->heat[chunk];
	if (newcomer)
		heat_audits_newcomer(&e->audits, chunk, weight - one,
				     2 * e->costs.swap_cost[e->nr_tiers - 1][0],
				     audit_end(e, HEAT_NEWCOMER_PART));
	heat_audits_access(&e->audits, chunk, weight, e->accesses);
	add_heat(e, chunk, a->write, weight);
	if (newcomer && e->heat[chunk])
		e->newcomers[0] += stream ? 1 : a->weight;

	at = e->env.where(e->env.context, chunk);
	rank = at & TIER_RANK_MASK;
	if (rank >= e->nr_tiers)
		return;
	if (!stream) {
		e->balance[rank].load[0] += weight;
		e->balance[rank].pick = at == rank ? chunk : HEAT_NO_CHUNK;
		if (rank)
			e->balance[rank - 1].load[1] += weight;
	}
	if (!rank)
		return;
	heat = compared_heat(e, chunk);
	if (!promising(e, rank, heat))
		return;
	if (at == rank)
		nominate(e, chunk, rank, heat, weight);
	else
		e->env.held[at & TIER_PINNED ? TIER_HOLD_PINNED : TIER_HOLD_RESIDENCE]++;
}

void heat_engine_observe(struct tier_policy *e, const struct tier_access *a,
			 unsigned int nr)
{
	look_at_tiers(e);
	for (; nr; nr--, a++)
		observe(e, a);
}

/* ---- Moves ---- */

/*
 * Places of rank that promotions leave to first writes.  price: what a lack of tokens adds to
 * that of a move.  Where tokens were scarce, headroom took them from promotions: without the
 * price up to 12% more time at 4 moves per 1000 requests, and 1.06 of that without migration.
 */
static u64 headroom(struct tier_policy *e, unsigned int rank, u32 price)
{
	/* What newcomers earn must pay for the demotion that makes room for one. */
	if (heat_audits_newcomer_heat(&e->audits) <=
	    e->costs.swap_cost[rank + 1][rank] / 2 + price)
		return 0;
	return div64_u64(view(e, rank)->places * e->keys[HEAT_KEY_HEADROOM], 100);
}

/* How much slower a tier is than a faster one. */
static u32 depth_between(struct tier_policy *e, unsigned int fast, unsigned int slow)
{
	return e->costs.depth[slow] > e->costs.depth[fast] ?
	       e->costs.depth[slow] - e->costs.depth[fast] : 1;
}

/* What moving a chunk from a tier to a slower one costs: heat * depth. */
static u64 cost_of_move(struct tier_policy *e, unsigned int from, unsigned int to)
{
	return (u64)e->costs.swap_cost[to][from] / 2 * depth_between(e, from, to);
}

/* What a swap of the two tiers' chunks costs, as far as heat can be trusted. */
static u64 wary_cost(struct tier_policy *e, unsigned int from, unsigned int to)
{
	return ((u64)e->costs.swap_cost[from][to] * e->audits.wariness) / HEAT_WARINESS_ONE;
}

/* Whether the swap of a candidate pays for itself within SOON_NS. */
static bool pays_soon(struct tier_policy *e, const struct heat_candidate *c, unsigned int from,
		      unsigned int to)
{
	u64 ns = *e->env.now_ns - c->since_ns;

	if (c->backed == to)
		return c->soon;
	if (c->nr < SOON_ACCESSES || c->last_ns - c->since_ns < SOON_LEAST_NS ||
	    *e->env.now_ns - c->last_ns > SOON_NS)
		return false;
	return ns * wary_cost(e, from, to) <= c->gained * SOON_NS;
}

/* What holds moves between the two tiers back for a while; c: of that candidate, or NULL. */
static enum tier_hold held_between(struct tier_policy *e, const struct heat_candidate *c,
				   unsigned int from, unsigned int to)
{
	enum tier_hold held = max_t(enum tier_hold, view(e, from)->held, view(e, to)->held);

	return held == TIER_HOLD_GUARD && c && pays_soon(e, c, from, to) ?
	       TIER_HOLD_NOTHING : held;
}

/*
 * The slower tier where a chunk of that heat costs least, TIER_NOWHERE if none has room.
 * From a tier that has no more than its headroom the chunk would soon be moved
 * again, so that move counts, too.  With three and four tiers, over 11 traces, .90 to
 * 1.03 of the time that the next one with room takes, .997 on average.
 * swapped: a tier that the latency guard does not hold back, as a chunk from there comes for this
 * one and pays soon; or TIER_NOWHERE.
 */
static unsigned int below(struct tier_policy *e, unsigned int rank, u32 heat, unsigned int swapped)
{
	unsigned int to, best = TIER_NOWHERE, slowest = e->nr_tiers - 1;
	u64 least = ~0ULL;

	for (to = rank + 1; to < e->nr_tiers; to++) {
		u64 cost = (u64)heat * e->costs.depth[to] + cost_of_move(e, rank, to);
		bool passes = to == swapped && view(e, to)->held == TIER_HOLD_GUARD;

		if (!view(e, to)->open || (view(e, to)->held && !passes) || !free_places(e, to))
			continue;
		if (to < slowest && free_places(e, to) <= headroom(e, to, 0))
			cost += cost_of_move(e, to, slowest);
		if (cost >= least)
			continue;
		least = cost;
		best = to;
	}
	return best;
}

static unsigned int backed(struct tier_policy *e, unsigned int rank)
{
	unsigned int i, nr = 0;

	for (i = 0; i < e->nr_candidates; i++)
		nr += e->candidates[i].backed == rank;
	return nr;
}

static void drop(struct tier_policy *e, struct heat_candidate *c)
{
	*c = e->candidates[--e->nr_candidates];
}

/* How a candidate could be served. */
struct plan {
	unsigned int to;
	unsigned int down;		/* where the victim goes, TIER_NOWHERE if it stays */
	struct heat_cold *victim;	/* NULL if there is room */
	u64 saving;			/* heat * depth */
	bool soon;			/* it pays soon */
};

/*
 * Weigh a move to one tier; better plans replace *best.  c: the chunk as a candidate, or NULL;
 * asked: only to tell, see why().
 */
static enum tier_hold weigh(struct tier_policy *e, u32 chunk, const struct heat_candidate *c,
			    unsigned int from, unsigned int to, u32 price, bool asked,
			    struct plan *best)
{
	u32 heat = compared_heat(e, chunk);
	u32 cost = e->costs.swap_cost[from][to];
	u64 level = 0, bar = wary_cost(e, from, to) / 2, saving;
	enum tier_hold held;
	struct heat_cold *victim = NULL;
	u32 gap = heat;

	if (!view(e, to)->open && !view(e, to)->spent)
		return TIER_HOLD_NOTHING_FASTER;
	if (free_places(e, to) <= headroom(e, to, 0) + backed(e, to)) {
		probe(e, to);
		victim = coldest(e, to);
		if (!victim)
			return TIER_HOLD_FULL;
		if (victim->heat >= heat)
			return TIER_HOLD_COLD;
		gap = heat - victim->heat;
		level = div64_u64(victim->heat * e->keys[HEAT_KEY_ADMIT], 100);
		if (!asked && heat > level + cost)
			heat_audits_swap(&e->audits, chunk, victim->chunk, gap,
					 audit_end(e, HEAT_SWAP_PART));
		bar = level + wary_cost(e, from, to);
	}
	if (heat <= level || heat <= cost / 2)
		return TIER_HOLD_COLD;
	if (heat <= bar)
		return TIER_HOLD_PRICE;
	if (heat <= bar + price)
		return TIER_HOLD_BUDGET;
	if (!view(e, to)->open)
		return TIER_HOLD_ENDURANCE;
	held = held_between(e, c, from, to);
	if (held)
		return held;
	if (heat_balance_full(&e->balance[to]))
		return TIER_HOLD_LOAD;
	saving = (u64)gap * depth_between(e, to, from);
	if (best->to == TIER_NOWHERE || saving > best->saving) {
		best->to = to;
		best->victim = victim;
		best->saving = saving;
	}
	return TIER_HOLD_NOTHING;
}

/* Weigh all moves to faster tiers. */
static enum tier_hold choose(struct tier_policy *e, u32 chunk, const struct heat_candidate *c,
			     unsigned int from, u32 price, bool asked, struct plan *best)
{
	enum tier_hold held = TIER_HOLD_NOTHING_FASTER;
	unsigned int to;

	best->to = TIER_NOWHERE;
	for (to = 0; to < from; to++)
		held = max_t(enum tier_hold, held,
			     weigh(e, chunk, c, from, to, price, asked, best));
	if (best->to == TIER_NOWHERE)
		return held;
	best->soon = c && pays_soon(e, c, from, best->to);
	best->down = !best->victim ? TIER_NOWHERE :
		     below(e, best->to, best->victim->heat, best->soon ? from : TIER_NOWHERE);
	/* If the slower tiers are full, promoting first makes room there. */
	return best->down == TIER_NOWHERE && !free_places(e, best->to) ?
	       TIER_HOLD_FULL : TIER_HOLD_NOTHING;
}

/*
 * Does c wait for a place that is being made for it?  The place gets free some
 * time after the move is done, when the target has committed it.
 */
static bool waits(struct tier_policy *e, struct heat_candidate *c)
{
	if (c->backed == TIER_NOWHERE || free_places(e, c->backed))
		return false;
	if (leaving(e, c->backed))
		c->patience = e->clock + PATIENCE;
	return e->clock < c->patience;
}

/*
 * Was c, while it waited for tokens, passed over by twice the accesses that a chunk of its
 * heat gets one of?  Then it was hot.  Where a hot set moves on and tokens are scarce,
 * up to 9% less time; the means over the cells of other traces stay.
 */
static bool cooled(struct tier_policy *e, const struct heat_candidate *c)
{
	/* An access in half_life / (heat * ln 2), and 2 / ln 2 is 2.9. */
	u64 awaited = 3 * HEAT_ONE * max_t(u64, e->fast_places, 1) *
		      e->keys[HEAT_KEY_HALF_LIFE];

	return (e->noted - c->seen) * heat_engine_heat(e, c->chunk) > awaited;
}

/* What holds moves back only for a while: a candidate waits for its end. */
static bool passes(enum tier_hold held)
{
	return held == TIER_HOLD_GUARD || held == TIER_HOLD_QUIET;
}

/* What forbids the moves that c is a candidate for. */
static enum tier_hold forbidden(struct tier_policy *e, const struct heat_candidate *c)
{
	unsigned int from = where(e, c->chunk);

	enum tier_hold held = TIER_HOLD_NOTHING, all = TIER_HOLD_NOTHING;
	unsigned int to;

	if (from == TIER_NOWHERE)
		return TIER_HOLD_NOTHING;
	if (c->backed < from)
		return held_between(e, c, from, c->backed);
	for (to = 0; to < from; to++) {
		held = held_between(e, c, from, to);
		if (!held)
			break;
		all = max_t(enum tier_hold, all, held);
	}
	return held ? all : TIER_HOLD_NOTHING;
}

/* True if a move was proposed for c; drops c if it is not worth one. */
static bool serve(struct tier_policy *e, struct heat_candidate *c, u32 price,
		  struct tier_move *move)
{
	unsigned int from = where(e, c->chunk);
	u32 chunk = c->chunk;
	enum tier_hold held;
	struct plan best;

	if (from == TIER_NOWHERE || !from) {
		drop(e, c);
		return false;
	}

	/* Its victim has left: the swap was decided then. */
	if (c->backed < from && view(e, c->backed)->open && free_places(e, c->backed)) {
		propose(e, chunk, from, c->backed, move);
		move->soon = c->soon;
		drop(e, c);
		return true;
	}
	c->backed = TIER_NOWHERE;

	held = choose(e, chunk, c, from, price, false, &best);
	if (held) {
		e->env.held[held]++;
		if (best.to == TIER_NOWHERE && !passes(held))
			drop(e, c);
		return false;
	}
	if (best.down != TIER_NOWHERE) {
		c->backed = best.to;
		c->patience = e->clock + PATIENCE;
		c->soon = best.soon;
		propose(e, best.victim->chunk, best.to, best.down, move);
		move->soon = best.soon;
		return true;
	}
	propose(e, chunk, from, best.to, move);
	move->soon = best.soon;
	drop(e, c);
	return true;
}

/* Candidates are tried in this order, the highest first; no two are equal. */
static u64 order(const struct heat_candidate *c)
{
	return (u64)c->score << 32 | (u32)~c->chunk;
}

static struct heat_candidate *hottest_below(struct tier_policy *e, u64 limit)
{
	struct heat_candidate *best = NULL;
	unsigned int i;

	for (i = 0; i < e->nr_candidates; i++) {
		struct heat_candidate *c = &e->candidates[i];

		if (order(c) < limit && (!best || order(c) > order(best)))
			best = c;
	}
	return best;
}

static bool promote(struct tier_policy *e, u32 price, struct tier_move *move)
{
	u64 limit = ~0ULL;
	unsigned int tries = 0;

	while (tries < TRIES) {
		struct heat_candidate *c = hottest_below(e, limit);
		enum tier_hold held;

		if (!c)
			return false;
		limit = order(c);
		/* What cannot move now, however hot, does not take the others' tries. */
		if (busy(e, c->chunk)) {
			drop(e, c);
			continue;
		}
		if (waits(e, c))
			continue;
		held = forbidden(e, c);
		if (held) {
			e->env.held[held]++;
			continue;
		}
		if (cooled(e, c)) {
			drop(e, c);
			continue;
		}
		if (serve(e, c, price, move))
			return true;
		tries++;
	}
	return false;
}

/*
 * Moves load between a tier and the next slower one, whatever else the move may gain. What was
 * accessed last is hot, as likely as its share of the load is large.
 */
static bool shift_load(struct tier_policy *e, struct tier_move *move)
{
	unsigned int rank;

	for (rank = 0; rank + 1 < e->nr_tiers; rank++) {
		const struct heat_balance *b = &e->balance[rank];
		unsigned int from = b->sink ? rank : rank + 1, to = b->sink ? rank + 1 : rank;
		u32 chunk = e->balance[from].pick, share = b->sink + b->rise;

		if (!share || chunk == HEAT_NO_CHUNK ||
		    where(e, chunk) != from || busy(e, chunk) ||
		    share_of(e, b, chunk) > 2 * share ||
		    !may_receive(e, to) || view(e, from)->held || !free_places(e, to))
			continue;
		propose(e, chunk, from, to, move);
		return true;
	}
	return false;
}

static bool make_headroom(struct tier_policy *e, u32 price, struct tier_move *move)
{
	unsigned int rank;

	for (rank = 0; rank + 1 < e->nr_tiers; rank++) {
		u64 places = free_places(e, rank) + leaving(e, rank);
		u64 wanted = headroom(e, rank, price);
		struct heat_cold *victim;
		unsigned int down;

		/*
		 * A tier that never was full needs none: what came until then proves
		 * nothing.  A hot set that is written first made all data that came
		 * behind it land on a tier that was emptied for it, up to half
		 * again the time without migration.
		 */
		if (!e->was_full[rank])
			continue;
		/*
		 * No more than came lately: room for those who may never come takes the place
		 * of others, up to 7% more time beside scans.
		 */
		wanted = min_t(u64, wanted, (u64)e->newcomers[0] + e->newcomers[1]);
		/* First writes do not get at the last places, if the user says so. */
		if (wanted)
			wanted += view(e, rank)->reserve;
		wanted += view(e, rank)->lacking;
		if (!(view(e, rank)->open || view(e, rank)->spent) || view(e, rank)->held ||
		    places >= wanted + backed(e, rank))
			continue;
		if (below(e, rank, 0, TIER_NOWHERE) == TIER_NOWHERE)
			return false;
		/* The user's limit holds on an idle set, too. */
		if (view(e, rank)->lacking)
			e->probes = PROBES_MAX;
		probe(e, rank);
		victim = coldest(e, rank);
		if (!victim || (victim->heat >= HEAT_ONE && !view(e, rank)->lacking))
			continue;
		down = below(e, rank, victim->heat, TIER_NOWHERE);
		propose(e, victim->chunk, rank, down, move);
		return true;
	}
	return false;
}

/* What a lack of tokens adds to the price of a move. */
static u32 token_price(u32 tokens, u32 cap)
{
	u64 lack = cap ? div64_u64((u64)(cap - min_t(u32, tokens, cap)) << 10, cap) : 0;

	return (TOKEN_PRICE * lack * lack * lack) >> 30;
}

bool heat_engine_next(struct tier_policy *e, u32 tokens, u32 cap,
		      struct tier_move *move)
{
	u32 price;

	look_at_tiers(e);
	if (e->nr_tiers < 2 || !e->nr_chunks || e->nr_flights == HEAT_FLIGHTS ||
	    (cap && !tokens))
		return false;
	price = token_price(tokens, cap);
	return promote(e, price, move) || shift_load(e, move) || make_headroom(e, price, move);
}

enum tier_hold heat_engine_why(struct tier_policy *e, u32 chunk, u32 tokens, u32 cap)
{
	u32 probes = e->probes;
	enum tier_hold held;
	struct plan best;
	unsigned int from;

	look_at_tiers(e);
	from = where(e, chunk);
	if (from == TIER_NOWHERE || busy(e, chunk))
		return TIER_HOLD_BUSY;
	/* A victim is looked for as next() would, but not out of what accesses have paid for. */
	e->probes = PROBES_MAX;
	held = choose(e, chunk, find_candidate(e, chunk), from, token_price(tokens, cap), true,
		      &best);
	e->probes = probes;
	return !held && cap && !tokens ? TIER_HOLD_BUDGET : held;
}

bool heat_engine_waiting(struct tier_policy *e)
{
	return e->nr_candidates;
}

static void back_off(struct tier_policy *e, u32 chunk, unsigned int from)
{
	struct heat_backoff *b = &e->backoffs[e->next_backoff++ % HEAT_BACKOFFS];
	unsigned int i;

	b->chunk = chunk;
	b->until = e->clock + BACKOFF;
	e->last_backoff = b->until;

	/* Whoever waited for its place needs another victim. */
	for (i = 0; i < e->nr_candidates; i++)
		if (e->candidates[i].backed == from)
			e->candidates[i].patience = 0;
}

void heat_engine_done(struct tier_policy *e, const struct tier_move *move,
		      bool moved)
{
	struct heat_flight *f = find_flight(e, move->chunk);

	if (!moved)
		back_off(e, move->chunk, f ? f->from : TIER_NOWHERE);
	if (f)
		*f = e->flights[--e->nr_flights];
}

bool heat_engine_victim(struct tier_policy *e, unsigned int rank, u32 *chunk)
{
	struct heat_cold *victim = NULL;
	unsigned int i;

	look_at_tiers(e);
	if (rank >= e->nr_tiers || !e->nr_chunks)
		return false;
	/* Somebody waits for this one: look longer for a chunk of a tiny tier. */
	for (i = 0; i < VICTIM_ROUNDS && !victim; i++) {
		e->probes = PROBES_MAX;
		probe(e, rank);
		victim = coldest(e, rank);
	}
	if (!victim)
		return false;
	*chunk = victim->chunk;
	return true;
}

/* ---- Life ---- */

void heat_engine_set(struct tier_policy *e, unsigned int key, u64 value)
{
	if (key >= HEAT_NR_KEYS)
		return;
	e->keys[key] = value;
	set_decay(e);
}

void heat_engine_tick(struct tier_policy *e)
{
	look_at_tiers(e);
	e->clock += TICK_ACCESSES;
	if (e->idle_ticks++ < IDLE_TICKS)
		e->probes = min_t(u32, e->probes + PROBES_PER_TICK, PROBES_MAX);
}

void heat_engine_init(struct tier_policy *e, const struct tier_policy_env *env,
		      u32 *heat, u32 nr_chunks)
{
	unsigned int i;

	memset(e, 0, sizeof(*e));
	e->env = *env;
	e->heat = heat;
	e->nr_chunks = nr_chunks;
	while (1ULL << (e->chunk_shift + 1) <= env->chunk_sectors)
		e->chunk_shift++;
	for (i = 0; i < HEAT_NR_KEYS; i++)
		e->keys[i] = heat_engine_keys[i].initial;
	for (i = 0; i < TIER_MAX_TIERS; i++) {
		e->balance[i].limit = HEAT_WHOLE;
		e->balance[i].pick = HEAT_NO_CHUNK;
	}
	/* No request continues a stream that ends here. */
	for (i = 0; i < HEAT_STREAMS; i++)
		e->streams[i] = ~0ULL;
	/* xorshift stays at 0 for ever */
	e->rng = env->random(env->context, 0xffffffff) + 1;
	heat_audits_init(&e->audits);
	look_at_tiers(e);
	set_decay(e);
}
