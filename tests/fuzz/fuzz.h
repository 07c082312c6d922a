/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the parts of tierfuzz. */
#ifndef FUZZ_H
#define FUZZ_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- random numbers: the same seed gives the same run ---- */

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* 0 to n - 1 */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return rng_next(r) % n;
}

static inline bool rng_chance(struct rng *r, uint32_t of)
{
	return !rng_below(r, of);
}

#define PICK(r, array) ((array)[rng_below(r, sizeof(array) / sizeof((array)[0]))])

/* ---- fields of a block, which is not aligned ---- */

static inline uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return le64toh(v);
}

static inline void put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, 8);
}

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);

/* ---- words.c: lines that are nearly right ---- */

#define LINE_MAX_BYTES 16384

struct devices {
	char **path;		/* the first two sets of three are metadata and two tiers */
	unsigned int nr;
};

/* The text behind "tier" in a table line, and the words of the message. */
void make_table(struct rng *r, const struct devices *d, char *line);
void make_message(struct rng *r, char *line);
/* A length for that line, in sectors. */
uint64_t make_length(struct rng *r, uint64_t good);

/* ---- ioctl.c: device-mapper without a process for each call ---- */

/* 0 or a negative errno. */
int dm_load(const char *name, const char *type, uint64_t length, const char *params);
int dm_clear(const char *name);
int dm_resume(const char *name);
int dm_message(const char *name, uint64_t sector, const char *text);
/* Whether a warning or an oops has tainted the kernel. */
bool kernel_tainted(void);

/* ---- damage.c ---- */

/* The image to damage; blocks of metadata in it. */
void damage_init(const uint8_t *image, size_t len);
unsigned int damage_blocks(void);
/*
 * Damages that have stopped kernels, or made them free used blocks; each is done to each block
 * in use. False: damage n is not possible in that block.
 */
unsigned int damage_known_kinds(void);
bool damage_known(unsigned int n, const uint8_t *good, uint8_t *bad, size_t len);
void damage(struct rng *r, const uint8_t *good, uint8_t *bad, size_t len);

/* ---- image.c ---- */

int fuzz_images(int argc, char **argv);
int damage_image(int argc, char **argv);

#endif
