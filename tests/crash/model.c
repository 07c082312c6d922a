// SPDX-License-Identifier: GPL-2.0-only
/*
 * The oracle.  For each sector it knows
 *
 *	last	the last op that was submitted
 *	done	the last op that ended well
 *	floor	the last op that is known to be durable: by FUA, by a FLUSH that
 *		was submitted after its end and ended well, or as read after a cut
 *	zero	the last op that could make zeroes of it
 *
 * Ops are numbered in the order of their beginning, and no two overlap in time
 * and range, so the numbers of a sector's ops are its history.  A sector read
 * back after a cut is right if it carries its own number and that of an op from
 * floor to last, or if it is zero and an op from floor on could make it so.
 * While the device lives, the same holds with done for floor.
 *
 * A discard of a whole chunk is certain to give zeroes, once it has ended well.
 * A smaller one may do so at any time until the sector is written again.
 */
#include "crash.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS		(SECTOR / 8)
#define MAX_REPORTS	12

struct model {
	pthread_mutex_t lock;
	uint32_t nr, max, chunk;
	uint32_t next_seq;
	uint32_t epoch;		/* marks data of this set, not of an earlier one */
	uint32_t *last, *done, *floor, *zero;
	bool *busy;
};

bool model_believes_all, model_quiet;
static uint32_t epochs;

struct model *model_new(uint32_t nr_sectors, uint32_t nr_max, uint32_t chunk_sectors)
{
	struct model *m = calloc(1, sizeof(*m));
	uint32_t *words = calloc(4ULL * nr_max, sizeof(*words));

	if (!m || !words)
		die("out of memory");
	pthread_mutex_init(&m->lock, NULL);
	m->nr = nr_sectors;
	m->max = nr_max;
	m->chunk = chunk_sectors;
	m->epoch = ++epochs;
	m->last = words;
	m->done = words + nr_max;
	m->floor = words + 2ULL * nr_max;
	m->zero = words + 3ULL * nr_max;
	m->busy = calloc(nr_max, sizeof(*m->busy));
	if (!m->busy)
		die("out of memory");
	return m;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	free(m->last);
	free(m->busy);
	free(m);
}

void model_resize(struct model *m, uint32_t nr_sectors)
{
	if (nr_sectors > m->max)
		die("the device is longer than was thought");
	pthread_mutex_lock(&m->lock);
	m->nr = nr_sectors;
	pthread_mutex_unlock(&m->lock);
}

uint32_t *model_snapshot(const struct model *m)
{
	uint32_t *snapshot = calloc(m->max, sizeof(*snapshot));

	if (!snapshot)
		die("out of memory");
	return snapshot;
}

/* ---- data ---- */

static void stamp(const struct model *m, uint64_t *word, uint32_t sector, uint32_t seq)
{
	uint64_t base;
	unsigned int i;

	word[0] = (uint64_t)m->epoch << 32 | seq;
	word[1] = sector;
	base = (word[0] ^ (uint64_t)sector << 40 ^ sector) * 0xbf58476d1ce4e5b9ULL;
	for (i = 2; i < WORDS; i++)
		word[i] = base + i * 0x94d049bb133111ebULL;
}

void model_fill(struct model *m, const struct op *op, unsigned char *buffer)
{
	uint32_t i;

	for (i = 0; i < op->nr; i++)
		stamp(m, (uint64_t *)(buffer + (size_t)i * SECTOR), op->first + i, op->seq);
}

enum found { GENUINE, ZEROES, FOREIGN, GARBAGE };

static enum found look(const struct model *m, const uint64_t *word, uint32_t sector, uint32_t *seq)
{
	static const uint64_t zeroes[WORDS];
	uint64_t want[WORDS];

	*seq = word[0];
	if (!memcmp(word, zeroes, SECTOR))
		return ZEROES;
	if (word[0] >> 32 != m->epoch || word[1] >= m->nr)
		return GARBAGE;
	stamp(m, want, word[1], word[0]);
	if (memcmp(word, want, SECTOR))
		return GARBAGE;
	return word[1] == sector ? GENUINE : FOREIGN;
}

static bool right(const struct model *m, const uint64_t *word, uint32_t sector, uint32_t low)
{
	uint32_t seq;

	switch (look(m, word, sector, &seq)) {
	case GENUINE:
		return seq >= low && seq <= m->last[sector];
	case ZEROES:
		return m->zero[sector] >= low;
	default:
		return false;
	}
}

static void report(const struct model *m, const uint64_t *word, uint32_t sector, uint32_t low,
		   const char *when, unsigned int *reports)
{
	char what[64];
	uint32_t seq;

	if ((*reports)++ >= MAX_REPORTS || model_quiet)
		return;
	switch (look(m, word, sector, &seq)) {
	case GENUINE:
		snprintf(what, sizeof(what), "op %u", seq);
		break;
	case ZEROES:
		snprintf(what, sizeof(what), "zeroes");
		break;
	case FOREIGN:
		snprintf(what, sizeof(what), "op %u of sector %u (chunk %u)", seq,
			 (uint32_t)word[1], (uint32_t)word[1] / m->chunk);
		break;
	default:
		snprintf(what, sizeof(what), "garbage %016llx %016llx",
			 (unsigned long long)word[0], (unsigned long long)word[1]);
	}
	note("BAD %s: sector %u (chunk %u): found %s, right is op %u to %u, zeroes as of op %u",
	     when, sector, sector / m->chunk, what, low, m->last[sector], m->zero[sector]);
}

/* ---- ops ---- */

/* A discard frees whole chunks; it may leave parts of other chunks alone. */
static bool surely(const struct model *m, const struct op *op, uint32_t sector)
{
	uint32_t start = sector - sector % m->chunk;

	return op->kind != OP_DISCARD ||
	       (start >= op->first && start + m->chunk <= op->first + op->nr);
}

bool model_begin(struct model *m, struct op *op)
{
	uint32_t i;

	pthread_mutex_lock(&m->lock);
	op->seq = ++m->next_seq;
	if (op->kind == OP_FLUSH) {
		op->nr = m->nr;
		memcpy(op->snapshot, m->done, op->nr * sizeof(*m->done));
		pthread_mutex_unlock(&m->lock);
		return true;
	}
	for (i = op->first; i < op->first + op->nr; i++) {
		if (m->busy[i]) {
			pthread_mutex_unlock(&m->lock);
			return false;
		}
	}
	for (i = op->first; i < op->first + op->nr; i++) {
		m->busy[i] = true;
		if (op->kind == OP_READ)
			continue;
		m->last[i] = op->seq;
		if (op->kind == OP_ZERO || op->kind == OP_DISCARD)
			m->zero[i] = op->seq;
	}
	pthread_mutex_unlock(&m->lock);
	return true;
}

void model_end(struct model *m, struct op *op, bool ok)
{
	uint32_t i;

	pthread_mutex_lock(&m->lock);
	if (op->kind == OP_FLUSH) {
		for (i = 0; ok && i < op->nr; i++)
			if (m->floor[i] < op->snapshot[i])
				m->floor[i] = op->snapshot[i];
		pthread_mutex_unlock(&m->lock);
		return;
	}
	for (i = op->first; i < op->first + op->nr; i++) {
		m->busy[i] = false;
		if (!ok || op->kind == OP_READ || !surely(m, op, i))
			continue;
		m->done[i] = op->seq;
		if (op->kind == OP_FUA || model_believes_all)
			m->floor[i] = op->seq;
	}
	pthread_mutex_unlock(&m->lock);
}

unsigned int model_check_live(struct model *m, const struct op *op, const unsigned char *buffer)
{
	unsigned int bad = 0;
	uint32_t i;

	for (i = 0; i < op->nr; i++) {
		const uint64_t *word = (const uint64_t *)(buffer + (size_t)i * SECTOR);
		uint32_t sector = op->first + i;

		/* The range is claimed: nobody changes these values meanwhile. */
		if (!right(m, word, sector, m->done[sector]))
			report(m, word, sector, m->done[sector], "read", &bad);
	}
	return bad;
}

/* From now on only the data that was found can be there. */
static void adopt(struct model *m, const uint64_t *word, uint32_t sector)
{
	uint32_t seq;

	if (look(m, word, sector, &seq) != GENUINE)
		seq = m->zero[sector];
	else if (m->zero[sector] > seq)
		m->zero[sector] = 0;
	m->floor[sector] = m->done[sector] = m->last[sector] = seq;
}

int model_verify(struct model *m, int fd)
{
	unsigned char *buffer = alloc_buffer(IO_MAX);
	unsigned int bad = 0;
	uint32_t at, i, nr;
	ssize_t n;

	for (at = 0; at < m->nr; at += nr) {
		nr = IO_MAX / SECTOR;
		if (nr > m->nr - at)
			nr = m->nr - at;
		n = pread(fd, buffer, (size_t)nr * SECTOR, (off_t)at * SECTOR);
		if (n != (ssize_t)nr * SECTOR) {
			int r = n < 0 ? -errno : -EIO;

			free(buffer);
			return r;
		}
		for (i = 0; i < nr; i++) {
			const uint64_t *word = (const uint64_t *)(buffer + (size_t)i * SECTOR);

			if (!right(m, word, at + i, m->floor[at + i]))
				report(m, word, at + i, m->floor[at + i], "after the cut", &bad);
			adopt(m, word, at + i);
			m->busy[at + i] = false;
		}
	}
	free(buffer);
	return bad;
}
