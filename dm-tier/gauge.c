// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is measured of the tiers: how long accesses take, by class, as it is now and when
 * there is little load, and how long the copy of a chunk keeps them busy.
 *
 * map.c sums up samples; here the mover takes their mean, in batches.  The present latency is
 * a decaying mean of batches.  The unloaded one follows a low percentile of them: each
 * batch above it moves it up by little, each one below moves it down by more.  Of each
 * hour of the last day the least value is kept, and the least of them counts: an hour without
 * load in a day is enough.  Of writes it is the median instead of a low percentile, as
 * the fastest ones only met a device's cache, and a share of the time of flushes is added.
 *
 * For the latency guard, the means of each class are compared with those while nothing moves.
 */
#include "gauge.h"

#include <linux/math64.h>

#define FADE_NS		(10 * NSEC_PER_SEC)
#define BATCH		8	/* samples */
#define HOURS		24
#define INTERVAL_NS	(2 * NSEC_PER_SEC)
#define ALONE_NS	(NSEC_PER_SEC / 4)	/* without foreground I/O */
#define FAR_NS		(NSEC_PER_SEC / 10)	/* looks are never so far apart while chunks move */
#define NOISE		3			/* mean deviations that may be chance */

/*
 * At least one access in TIER_SAMPLE_EVERY is sampled, but of a slow tier enough for a mean
 * each interval: that many a second, if there are as many.
 */
#define SAMPLES_PER_S	256

/* Of the mover, but what other contexts read, a word each. */
struct tier_class_gauge {
	u64 last_ns, last_nr;		/* sampled until the last batch */
	u64 begun_ns, begun_nr;		/* and until the interval began */
	u64 judged_ns, judged_nr;	/* and until the guard judged */
	u32 still_ns;			/* a mean of means while nothing moves */
	u32 noise_ns;			/* how far they are from it */
	u32 now_ns;
	u64 stamp;			/* ns, of now_ns */
	u32 low_ns;			/* the percentile */
	u32 least_ns[HOURS];		/* its least value in that hour, 0 = unknown */
};

struct tier_gauge {
	struct tier_class_gauge classes[TIER_NR_CLASSES];
	u32 flush_ns;			/* share of a write in the time of flushes */
	u64 flushed_ns;			/* so far; of who ends the flush */
	u64 charged_ns, charged_writes;	/* of these, that flush_ns counts */
	u64 hour;			/* since boot, of the newest in least_ns */
	u64 begun, begun_ios, begun_busy_ns;	/* the interval: ns; accesses and time until then */
	struct tier_load load;		/* of the last interval */
	u64 looked, met;		/* ns: the last look; the last that met accesses */
	u64 met_ios;			/* accesses until then */
	/* Means of measurements, of which one may get lost: no lock. */
	u32 chunk_ns, least_chunk_ns;
	u64 copied_ns;			/* when chunk_ns changed last */
};

/* A cost so high that nothing moves would never be measured again. */
static void fade(struct tier_gauge *g)
{
	u32 chunk_ns = READ_ONCE(g->chunk_ns);

	if (!chunk_ns || ktime_get_ns() - READ_ONCE(g->copied_ns) <= FADE_NS)
		return;
	WRITE_ONCE(g->chunk_ns, max(chunk_ns - chunk_ns / 8, READ_ONCE(g->least_chunk_ns)));
	WRITE_ONCE(g->copied_ns, ktime_get_ns());
}

/* Of nr samples that took ns, each with what is added. */
static u32 mean(u64 ns, u64 nr, u32 added)
{
	return clamp_t(u64, div64_u64(ns, nr) + added, 1, U32_MAX);
}

static u32 average(u32 old, u32 new, unsigned int memory)
{
	return old ? ((u64)old * (memory - 1) + new) / memory : new;
}

/* 1/8 of the batches of reads, 1/2 of those of writes lie below. */
static u32 follow(u32 low, u32 ns, bool write)
{
	u32 up = low / (write ? 32 : 64) + 1, down = low / (write ? 32 : 9) + 1;

	if (!low)
		return ns;
	return ns > low ? low + min(up, ns - low) : low - min(down, low - ns);
}

static bool fresh(const struct tier_class_gauge *c)
{
	return ktime_get_ns() - READ_ONCE(c->stamp) < FADE_NS;
}

/* Takes in a batch, unless there are too few samples for one. */
static void take_batch(struct tier_gauge *g, enum tier_class class, u64 ns, u64 nr)
{
	struct tier_class_gauge *c = &g->classes[class];
	bool write = class >= TIER_RANDOM_WRITE;
	u32 *least = &c->least_ns[g->hour % HOURS];
	u32 batch;

	if (nr < c->last_nr + BATCH)
		return;
	batch = mean(ns - c->last_ns, nr - c->last_nr, write ? g->flush_ns : 0);
	c->last_ns = ns;
	c->last_nr = nr;
	WRITE_ONCE(c->now_ns, average(fresh(c) ? c->now_ns : 0, batch, 4));
	WRITE_ONCE(c->stamp, ktime_get_ns());
	WRITE_ONCE(c->low_ns, follow(c->low_ns, batch, write));
	/* The first writes only meet the cache. */
	if (write || !*least || c->low_ns < *least)
		WRITE_ONCE(*least, c->low_ns);
}

/* Flushes that moves have caused are not charged to the writes of others. */
static void charge_flushes(struct tier *t, u64 writes)
{
	struct tier_gauge *g = t->gauge;
	u64 flushed_ns = READ_ONCE(g->flushed_ns);

	if (flushed_ns == g->charged_ns)
		return;
	if (tier_set_idle(t->set) && writes > g->charged_writes)
		g->flush_ns = average(g->flush_ns, mean(flushed_ns - g->charged_ns,
							writes - g->charged_writes, 0), 4);
	g->charged_ns = flushed_ns;
	g->charged_writes = writes;
}

/* Hours go by, also without I/O. */
static void turn_hours(struct tier_gauge *g)
{
	u64 hour = div_u64(ktime_get_seconds(), 3600);
	unsigned int class;

	if (hour > g->hour + HOURS)
		g->hour = hour - HOURS;
	while (g->hour < hour) {
		g->hour++;
		for (class = 0; class < TIER_NR_CLASSES; class++)
			WRITE_ONCE(g->classes[class].least_ns[g->hour % HOURS], 0);
	}
}

static void end_interval(struct tier *t, const struct tier_stats *sum)
{
	struct tier_gauge *g = t->gauge;
	u64 now = ktime_get_ns(), ios = sum->reads + sum->writes;
	unsigned int class, every;

	if (now - g->begun < INTERVAL_NS)
		return;
	for (class = 0; class < TIER_NR_CLASSES; class++) {
		struct tier_class_gauge *c = &g->classes[class];
		u64 ns = sum->sampled_ns[class], nr = sum->sampled[class];

		g->load.samples[class] = nr - c->begun_nr;
		g->load.mean_ns[class] = nr == c->begun_nr ? 0 :
			mean(ns - c->begun_ns, nr - c->begun_nr,
			     class >= TIER_RANDOM_WRITE ? g->flush_ns : 0);
		c->begun_ns = ns;
		c->begun_nr = nr;
	}
	g->load.in_flight = mul_u64_u64_div_u64(sum->busy_ns - g->begun_busy_ns, 16,
						now - g->begun);
	g->load.number++;
	every = clamp_t(u64, mul_u64_u64_div_u64(ios - g->begun_ios, NSEC_PER_SEC / SAMPLES_PER_S,
						 now - g->begun), 1, TIER_SAMPLE_EVERY);
	if (every != t->sample_every)
		WRITE_ONCE(t->sample_every, every);
	g->begun = now;
	g->begun_ios = ios;
	g->begun_busy_ns = sum->busy_ns;
}

/*
 * Whether a class is slower than the guard allows, compared with what it is while nothing moves.
 * A faster mean counts whatever moves.
 */
static bool suffers(struct tier *t, enum tier_class class, u32 ns, bool blameless)
{
	struct tier_class_gauge *c = &t->gauge->classes[class];
	u64 guard = tier_tunable(t->set, TIER_TUNABLE_LATENCY_GUARD);
	u32 still = c->still_ns ? : tier_gauge_unloaded_ns(t, class);

	if (blameless || ns < c->still_ns) {
		if (c->still_ns)
			c->noise_ns = average(c->noise_ns, abs((s64)ns - c->still_ns), 8);
		c->still_ns = average(c->still_ns, ns, 8);
		return false;
	}
	return still && ns > still + max(mul_u64_u64_div_u64(still, guard, 100),
					 (u64)c->noise_ns * NOISE);
}

/* How long a tier is without accesses until there are none under way either. */
static u64 alone_ns(struct tier *t)
{
	u64 ns = ALONE_NS;
	unsigned int class;

	for (class = 0; class < TIER_NR_CLASSES; class++)
		ns = max(ns, 4ULL * tier_gauge_now_ns(t, class));
	return ns;
}

static enum tier_comfort judge(struct tier *t, const struct tier_stats *sum, bool still, bool least)
{
	u64 ios = sum->reads + sum->writes, now = ktime_get_ns();
	struct tier_gauge *g = t->gauge;
	bool far = now - g->looked > FAR_NS, met = ios != g->met_ios;
	enum tier_comfort comfort = met ? TIER_COMFORT_MET : TIER_COMFORT_UNKNOWN;
	unsigned int class;

	g->looked = now;
	if (met) {
		WRITE_ONCE(g->met, now);
		WRITE_ONCE(g->met_ios, ios);
	}
	for (class = 0; class < TIER_NR_CLASSES; class++) {
		struct tier_class_gauge *c = &g->classes[class];
		u64 ns = sum->sampled_ns[class] - c->judged_ns;
		u64 nr = sum->sampled[class] - c->judged_nr;
		bool mixed = far && !still;

		if (nr < BATCH && !mixed)
			continue;
		c->judged_ns += ns;
		c->judged_nr += nr;
		if (mixed)
			continue;
		comfort = max_t(enum tier_comfort, comfort,
				suffers(t, class, mean(ns, nr, 0), still || least) ?
				TIER_COMFORT_SUFFERS : TIER_COMFORT_FINE);
	}
	/* What came long before this look may be over. */
	if (far && met)
		return TIER_COMFORT_UNKNOWN;
	return now - g->met >= alone_ns(t) ? TIER_COMFORT_ALONE : comfort;
}

enum tier_comfort tier_gauge_look(struct tier *t, bool still, bool least)
{
	struct tier_gauge *g = t->gauge;
	struct tier_stats sum = { };
	unsigned int class;
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct tier_stats *s = per_cpu_ptr(t->stats, cpu);

		sum.reads += READ_ONCE(s->reads);
		sum.writes += READ_ONCE(s->writes);
		sum.busy_ns += READ_ONCE(s->busy_ns);
		for (class = 0; class < TIER_NR_CLASSES; class++) {
			sum.sampled_ns[class] += READ_ONCE(s->sampled_ns[class]);
			sum.sampled[class] += READ_ONCE(s->sampled[class]);
		}
	}
	fade(g);
	turn_hours(g);
	charge_flushes(t, sum.writes);
	for (class = 0; class < TIER_NR_CLASSES; class++)
		take_batch(g, class, sum.sampled_ns[class], sum.sampled[class]);
	end_interval(t, &sum);
	return judge(t, &sum, still, least);
}

void tier_gauge_flush(struct tier *t, u64 ns)
{
	WRITE_ONCE(t->gauge->flushed_ns, t->gauge->flushed_ns + ns);
}

/* A mean that one slow copy cannot spoil. */
static void average_copy(struct tier_gauge *g, u64 ns)
{
	u32 old = READ_ONCE(g->chunk_ns);

	if (old)
		ns = (old * 7ULL + min_t(u64, ns, old * 4ULL)) / 8;
	WRITE_ONCE(g->chunk_ns, clamp_t(u64, ns, 1, U32_MAX));
	/* Nor does it cost nothing after a quiet night. */
	WRITE_ONCE(g->least_chunk_ns, READ_ONCE(g->chunk_ns) / 8);
	WRITE_ONCE(g->copied_ns, ktime_get_ns());
}

/* What it costs each of the two sides, which share the time. */
void tier_gauge_copy(struct tier *from, struct tier *to, u64 ns)
{
	average_copy(from->gauge, ns / 2);
	average_copy(to->gauge, ns / 2);
}

u32 tier_gauge_now_ns(const struct tier *t, enum tier_class class)
{
	const struct tier_class_gauge *c = &t->gauge->classes[class];

	return fresh(c) ? READ_ONCE(c->now_ns) : 0;
}

u32 tier_gauge_unloaded_ns(const struct tier *t, enum tier_class class)
{
	const struct tier_class_gauge *c = &t->gauge->classes[class];
	u32 least = 0, ns;
	unsigned int i;

	for (i = 0; i < HOURS; i++) {
		ns = READ_ONCE(c->least_ns[i]);
		if (ns && (!least || ns < least))
			least = ns;
	}
	/* Without I/O for a day, what was known before still is. */
	return least ? : READ_ONCE(c->low_ns);
}

u32 tier_gauge_chunk_ns(const struct tier *t)
{
	return READ_ONCE(t->gauge->chunk_ns);
}

bool tier_asleep(const struct tier *t)
{
	u64 quiet = tier_tier_tunable(t->set, t->rec.rank, TIER_TIER_QUIET);
	u64 met = READ_ONCE(t->gauge->met), ios = 0, idle;
	u32 minute;
	int cpu;

	if (!quiet)
		return false;
	for_each_possible_cpu(cpu) {
		const struct tier_stats *s = per_cpu_ptr(t->stats, cpu);

		ios += READ_ONCE(s->reads) + READ_ONCE(s->writes);
	}
	idle = div_u64(max_t(s64, ktime_get_ns() - met, 0), NSEC_PER_SEC);
	if (ios != READ_ONCE(t->gauge->met_ios) || idle < quiet)
		return false;
	div_u64_rem(div_u64(idle - quiet, 60), 60, &minute);
	return minute < 59;
}

const struct tier_load *tier_gauge_load(const struct tier *t)
{
	return &t->gauge->load;
}

static int init(struct tier *t)
{
	t->sample_every = TIER_SAMPLE_EVERY;
	t->gauge->met = ktime_get_ns();
	return 0;
}

const struct tier_room tier_gauge_room = TIER_ROOM(gauge, init, NULL);
