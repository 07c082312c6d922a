// SPDX-License-Identifier: GPL-2.0-only
/*
 * make-trace KIND [REQUESTS [SEED]]: prints a synthetic trace of block I/O. The same arguments
 * give the same trace on every machine, so that results can be held to narrow bounds.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK		2048	/* sectors: popularity is by MiB */
#define PAGE		8	/* sectors */

static uint64_t state;
static long requests, printed;

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint32_t below(uint32_t ceiling)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	z ^= z >> 31;
	return ((z >> 32) * ceiling) >> 32;
}

static bool chance(unsigned int percent)
{
	return below(100) < percent;
}

static void request(bool write, uint64_t sector, uint32_t sectors)
{
	if (printed == requests)
		return;
	printf("%ld,%c,%llu,%u\n", printed * 100000, write ? 'W' : 'R',
	       (unsigned long long)sector, sectors);
	printed++;
}

/* Somewhere in a chunk. */
static void touch(bool write, uint32_t chunk)
{
	request(write, (uint64_t)chunk * CHUNK + below(CHUNK / PAGE) * PAGE, PAGE << below(3));
}

static uint64_t stream(bool write, uint64_t sector, uint32_t sectors, uint32_t step)
{
	for (; sectors >= step; sectors -= step, sector += step)
		request(write, sector, step);
	return sector;
}

/* Chunks in random order of popularity: chunk i of order is accessed 1/(i+1)^skew often. */
struct zipf {
	uint32_t nr;
	double *sums;
	uint32_t *order;
};

static struct zipf make_zipf(uint32_t nr, double skew)
{
	struct zipf z = { nr, calloc(nr, sizeof(double)), calloc(nr, sizeof(uint32_t)) };
	double sum = 0;

	if (!z.sums || !z.order)
		exit(1);
	for (uint32_t i = 0; i < nr; i++) {
		z.sums[i] = sum += pow(i + 1, -skew);
		z.order[i] = i;
	}
	for (uint32_t i = nr - 1; i; i--) {
		uint32_t other = below(i + 1), chunk = z.order[i];

		z.order[i] = z.order[other];
		z.order[other] = chunk;
	}
	return z;
}

static uint32_t pick(const struct zipf *z)
{
	double at = below(1U << 31) / (double)(1U << 31) * z->sums[z->nr - 1];
	uint32_t low = 0, high = z->nr - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (z->sums[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return z->order[low];
}

static void zipf(void)
{
	struct zipf z = make_zipf(2000, 0.9);

	while (printed < requests)
		touch(chance(50), pick(&z));
}

static void uniform(void)
{
	while (printed < requests)
		touch(chance(50), below(1500));
}

/* Six hot sets, one after the other. */
static void shifting(void)
{
	while (printed < requests) {
		uint32_t hot = printed * 6 / requests * 200 + below(120);

		touch(chance(30), chance(85) ? hot : below(2000));
	}
}

static void scan_over_hot(void)
{
	struct zipf z = make_zipf(200, 0.6);
	uint64_t at = 0;

	while (printed < requests) {
		if (chance(50))
			touch(chance(25), pick(&z) * 10);
		else
			at = stream(false, at, 128, 128) % (2000 * CHUNK);
	}
}

/* New data comes in streams and is never used again, beside a hot set. */
static void write_once(void)
{
	struct zipf z = make_zipf(300, 0.9);
	uint64_t at = 400 * CHUNK;

	while (printed < requests) {
		if (chance(90))
			touch(chance(50), pick(&z));
		else
			at = stream(true, at, 64 * (8 + below(8)), 64);
	}
}

/* Two days' and two nights' work, with a backup at night. */
static void diurnal(void)
{
	struct zipf day = make_zipf(500, 0.9), night = make_zipf(500, 0.9);
	uint64_t at = 0;

	while (printed < requests) {
		if (printed * 8 / requests % 2 == 0)
			touch(chance(30), pick(&day));
		else if (chance(70))
			touch(chance(30), 800 + pick(&night));
		else
			at = stream(false, at, 256, 256) % (2000 * CHUNK);
	}
}

/* Tables, a log that is written in a circle, and checkpoints. */
static void database_log(void)
{
	struct zipf z = make_zipf(1500, 0.95);
	uint64_t log = 0;
	int i;

	while (printed < requests) {
		if (chance(40))
			log = stream(true, 2000 * CHUNK + log, 16, 16) % (2000 * CHUNK) %
			      (128 * CHUNK);
		else
			touch(chance(30), pick(&z));
		for (i = below(6000) ? 0 : 300; i; i--)
			touch(true, pick(&z));
	}
}

/* Written mostly: a small hot part, a log, what drifts, and new data that stays unread. */
static void server(void)
{
	struct zipf hot = make_zipf(40, 0.7), warm = make_zipf(300, 0.9);
	uint64_t log = 0, at = 3000 * CHUNK;

	while (printed < requests) {
		uint32_t kind = below(100);

		if (kind < 25)
			touch(chance(80), pick(&hot) * 3);
		else if (kind < 40)
			log = stream(true, 150 * CHUNK + log, 16, 16) % (150 * CHUNK) %
			      (48 * CHUNK);
		else if (kind < 95)
			touch(chance(80), 300 + (printed * 900 / requests + pick(&warm)) % 1200);
		else
			touch(false, 300 + below(1500));
		if (!below(900))
			at = stream(true, at, (2 + below(30)) * CHUNK / 2, 128);
	}
}

/* Parts of a few MiB are hot together, and others are now and then. */
static void regions(void)
{
	struct zipf z = make_zipf(30, 0.8);
	uint32_t region[30], i;

	for (i = 0; i < 30; i++)
		region[i] = below(2900);
	while (printed < requests) {
		uint32_t chunk = region[pick(&z)] + below(16);

		if (!below(1500))
			region[below(30)] = below(2900);
		if (chance(20))
			stream(chance(50), (uint64_t)chunk * CHUNK, 256 + below(8) * 128, 128);
		else
			touch(chance(50), chunk);
	}
}

static const struct { const char *name; void (*print)(void); } kinds[] = {
	{ "zipf", zipf }, { "uniform", uniform }, { "shifting", shifting },
	{ "scan-over-hot", scan_over_hot }, { "write-once", write_once },
	{ "diurnal", diurnal }, { "database-log", database_log }, { "server", server },
	{ "regions", regions },
};

int main(int argc, char **argv)
{
	size_t i;

	requests = argc > 2 ? atol(argv[2]) : 100000;
	state = argc > 3 ? atol(argv[3]) : 1;
	for (i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name))
			continue;
		puts("timestamp_ns,op,offset_sectors,len_sectors");
		kinds[i].print();
		return 0;
	}
	fputs("usage: make-trace KIND [REQUESTS [SEED]]\nkinds:", stderr);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		fprintf(stderr, " %s", kinds[i].name);
	fputc('\n', stderr);
	return 2;
}
