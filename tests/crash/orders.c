// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages, sent under load. A message that was answered is in force from then on, also after a
 * power cut; a message that was not answered may be in force or not.
 */
#include "crash.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN		(-1)
#define MAX_CHUNKS	4096
#define BUSY_CHUNKS	32	/* at the beginning of the device */
#define ENDURANCE	1000000	/* GiB/day: no limit in practice */

unsigned int orders_bad;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct set *set;
static bool quiet;

/* The ordered state, or UNKNOWN; for tiers by disk, as ranks change. */
static int evacuating[NR_DISKS], endurance[NR_DISKS];
static int guard, paused, snapshot;
static int pins[MAX_CHUNKS];	/* the disk, 0: none */

void orders_reset(struct set *s)
{
	set = s;
	quiet = false;
	memset(evacuating, 0, sizeof(evacuating));
	memset(endurance, 0, sizeof(endurance));
	memset(pins, 0, sizeof(pins));
	paused = snapshot = 0;
	guard = 20;	/* of a new set */
	if (set_nr_chunks(s) > MAX_CHUNKS)
		die("too many chunks");
}

void orders_lock(void)
{
	pthread_mutex_lock(&lock);
}

void orders_unlock(bool quiet_then)
{
	quiet = quiet_then;
	pthread_mutex_unlock(&lock);
}

/*
 * told is the result of a message that would set *state to value. Without an answer, the state
 * is only certain if the message was refused without a cut.
 */
static void note_order(int *state, int before, int value, int told)
{
	if (!told)
		*state = value;
	else
		*state = cut_begun() ? UNKNOWN : before;
}

/* There is no reason to refuse these messages. */
static int must(int told, const char *what)
{
	if (told && !cut_begun()) {
		note("BAD: %s is refused: %s", what, strerror(-told));
		orders_bad++;
	}
	return told;
}

static void order_pins(uint32_t first, uint32_t nr, int disk, int told)
{
	uint32_t i;

	for (i = first; i < first + nr; i++)
		note_order(&pins[i], pins[i], disk, told);
}

static int order_evacuate(unsigned int rank, bool evacuate)
{
	int *state = &evacuating[set->order[rank]];
	int r = set_message("%s %u", evacuate ? "evacuate" : "admit", rank);

	note_order(state, *state, evacuate, r);
	return r;
}

static void order_pause(bool pause)
{
	int r = set_message(pause ? "pause" : "resume");

	note_order(&paused, paused, pause, must(r, pause ? "pause" : "resume"));
}

static void order_snapshot(bool reserve)
{
	int r;

	if (snapshot == reserve)
		return;
	r = set_message("%s_metadata_snap", reserve ? "reserve" : "release");
	/* It is unknown whether there is a snapshot. */
	if (snapshot != UNKNOWN)
		must(r, reserve ? "reserve_metadata_snap" : "release_metadata_snap");
	note_order(&snapshot, snapshot, reserve, r);
}

static void order_endurance(unsigned int rank, int value)
{
	int *state = &endurance[set->order[rank]];
	int r = set_message("set tier%u.endurance %d", rank, value);

	note_order(state, *state, value, must(r, "set tier.endurance"));
}

static void order_guard(int value)
{
	note_order(&guard, guard, value, must(set_message("set latency_guard %d", value),
					      "set latency_guard"));
}

static bool all_in_use(void)
{
	unsigned int i;

	for (i = 0; i < set->nr_tiers; i++)
		if (evacuating[set->order[i]])
			return false;
	return true;
}

static void order_some(struct rng *rng)
{
	uint32_t nr_chunks = set_nr_chunks(set);
	uint32_t busy = nr_chunks < BUSY_CHUNKS ? nr_chunks : BUSY_CHUNKS;
	unsigned int rank = rng_below(rng, set->nr_tiers), what = rng_below(rng, 28), i;
	uint32_t first = rng_below(rng, rng_percent(rng, 50) ? busy : nr_chunks);
	uint32_t nr = 1 + rng_below(rng, 8);

	if (nr > nr_chunks - first)
		nr = nr_chunks - first;
	switch (what) {
	case 0 ... 1:
		order_pins(first, nr, set->order[rank],
			   must(set_message("pin %u %u %u", first, nr, rank), "pin"));
		break;
	case 2 ... 3:
		if (what == 2) {
			first = 0;
			nr = nr_chunks;
		}
		order_pins(first, nr, 0, must(set_message("unpin %u %u", first, nr), "unpin"));
		break;
	case 4:
		if (!quiet && all_in_use() && set_can_empty(set, rank))
			order_evacuate(rank, true);
		break;
	case 5 ... 6:
		for (i = 0; !quiet && i < set->nr_tiers; i++)
			if (evacuating[set->order[i]])
				order_evacuate(i, false);
		break;
	case 7:
		order_snapshot(true);
		break;
	case 8:
		order_snapshot(false);
		break;
	case 9:
		order_endurance(rank, ENDURANCE + rng_below(rng, 1000));
		break;
	case 10:
		/* Reads are seldom ten times slower. */
		order_guard(900 + rng_below(rng, 100));
		break;
	case 11:
		if (!quiet)
			order_pause(true);
		break;
	case 12 ... 13:
		order_pause(false);
		break;
	default:
		set_message("migrate %u %u %u", first, nr, rank);
	}
}

void orders_send(struct rng *rng)
{
	orders_lock();
	order_some(rng);
	orders_unlock(quiet);
}

void orders_admit_all(void)
{
	unsigned int i;

	order_pause(false);
	for (i = 0; i < set->nr_tiers; i++)
		must(order_evacuate(i, false), "admit");
}

int orders_evacuate(unsigned int rank)
{
	return order_evacuate(rank, true);
}

void orders_leave(unsigned int disk)
{
	uint32_t i;

	/* A pin is dropped with its tier. */
	for (i = 0; i < MAX_CHUNKS; i++)
		if (pins[i] == (int)disk)
			pins[i] = UNKNOWN;
}

void orders_join(unsigned int disk)
{
	evacuating[disk] = 0;
	endurance[disk] = 0;
}

/* ---- after an activation ---- */

static bool judge(int *state, long long found, const char *what, unsigned int of)
{
	bool good = *state == UNKNOWN || *state == found;

	if (!good)
		note("BAD: %s (%u) was answered to be %d, and is %lld", what, of, *state, found);
	*state = found;
	return good;
}

/* The disk that a chunk is pinned to. */
static int pin_of(uint32_t chunk)
{
	char answer[512], *word;
	int r = set_ask(answer, sizeof(answer), "chunk %u", chunk);

	if (r)
		die("chunk %u: %s", chunk, strerror(-r));
	word = strstr(answer, " pin ");
	if (!word)
		die("no pin in: %s", answer);
	word += strlen(" pin ");
	return *word == '-' ? 0 : (int)set->order[atoi(word) % set->nr_tiers];
}

static bool judge_pins(unsigned long long pinned)
{
	uint32_t nr_chunks = set_nr_chunks(set), i;
	unsigned long long found = 0;
	bool good = true;

	for (i = 0; i < nr_chunks; i++) {
		if (!pins[i])
			continue;
		good &= judge(&pins[i], pin_of(i), "the pin of a chunk", i);
		found += !!pins[i];
	}
	if (found == pinned)
		return good;
	note("BAD: %llu chunks are pinned, %llu of those that ought to be", pinned, found);
	for (i = 0; i < nr_chunks; i++)
		pins[i] = pin_of(i);
	return false;
}

bool orders_in_force(void)
{
	struct set_status st;
	unsigned int i;
	bool good;

	set_get_status(set, &st);
	good = st.good;
	quiet = false;
	for (i = 0; i < set->nr_tiers; i++) {
		unsigned int disk = set->order[i];

		good &= judge(&evacuating[disk], st.evacuating[i], "evacuate of disk", disk);
		good &= judge(&endurance[disk], st.endurance[i], "endurance of disk", disk);
	}
	good &= judge(&guard, st.guard, "latency_guard", 0);
	good &= judge(&paused, st.paused, "pause", 0);
	good &= judge(&snapshot, st.snapshot, "the metadata snapshot", 0);
	return judge_pins(st.pinned) && good;
}
