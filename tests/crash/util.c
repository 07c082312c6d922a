// SPDX-License-Identifier: GPL-2.0-only
#include "crash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* splitmix64 */
uint64_t rng_next(struct rng *rng)
{
	uint64_t x = rng->state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

unsigned int rng_below(struct rng *rng, unsigned int n)
{
	return rng_next(rng) % n;
}

void rng_shuffle(struct rng *rng, unsigned int *what, unsigned int n)
{
	while (n > 1) {
		unsigned int i = rng_below(rng, n--);
		unsigned int t = what[i];

		what[i] = what[n];
		what[n] = t;
	}
}

void die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("Bail out! ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
	fflush(stdout);
	/* Threads may be anywhere; the caller's script removes the rest. */
	_exit(1);
}

void note(const char *fmt, ...)
{
	va_list args;

	flockfile(stdout);
	va_start(args, fmt);
	printf("# ");
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
	fflush(stdout);
	funlockfile(stdout);
}

void nap_ms(unsigned int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

void *alloc_buffer(size_t bytes)
{
	void *p;

	if (posix_memalign(&p, 4096, bytes))
		die("out of memory");
	return p;
}

int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int r = 0;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	if (n < 0)
		r = -errno;
	close(fd);
	return r;
}
