// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends nonsense to the tier target that nearly makes sense.
 *
 *   tierfuzz tables NAME N SEED LENGTH DEVICE...
 *	N table lines into the dm device NAME, which has no table; DEVICEs come in
 *	threes, metadata and two tiers.  What is accepted is taken away again.
 *   tierfuzz messages NAME N SEED FILE
 *	N messages to the live set NAME; those refused go to FILE.
 *   tierfuzz replay NAME FILE
 *	Those of FILE again; FILE keeps the ones that are refused again.
 *   tierfuzz images NAME N SEED LENGTH META TIER TIER META-IMAGE TIER-IMAGE TIER-IMAGE
 *	N damaged images of a set's metadata, activated, read, written.
 *   tierfuzz damage META-IMAGE seed|known N >FILE
 *	The image that seed N activates, or the N-th of those that each run begins with.
 *   tierfuzz show tables|messages N SEED [DEVICE...]
 *	What would be sent.
 *
 * Ends with status 1 at the first thing that must not be, having said which
 * seed shows it.  The n-th line or image of seed S is the first of seed S + n.
 */
#include "fuzz.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char line[LINE_MAX_BYTES + 1];

void die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fflush(stdout);
	fputs("tierfuzz: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static unsigned int answers[256];

static void count(int r)
{
	answers[-r & 0xff]++;
}

static void print_counts(const char *what, uint64_t n)
{
	unsigned int i;

	printf("%" PRIu64 " %s: %u accepted", n, what, answers[0]);
	for (i = 1; i < 256; i++)
		if (answers[i])
			printf(", %u %s", answers[i], strerrorname_np(i));
	printf("\n");
}

static int fuzz_tables(int argc, char **argv)
{
	const char *name = argv[0];
	uint64_t n = strtoull(argv[1], NULL, 10), seed = strtoull(argv[2], NULL, 10);
	uint64_t good = strtoull(argv[3], NULL, 10), i;
	struct devices d = { .path = argv + 4, .nr = argc - 4 };
	int r;

	if (argc < 7)
		die("devices come in threes");
	for (i = 0; i < n; i++) {
		struct rng rng = { .state = seed + i };

		make_table(&rng, &d, line);
		r = dm_load(name, "tier", make_length(&rng, good), line);
		count(r);
		if (kernel_tainted())
			die("seed %" PRIu64 ": the kernel has complained: %s", seed + i, line);
		/* No line may ask for so much memory. */
		if (r == -ENOMEM || r == -EFAULT)
			die("seed %" PRIu64 ": %s: %s", seed + i, strerror(-r), line);
		if (!r && dm_clear(name))
			die("seed %" PRIu64 ": the table cannot be cleared", seed + i);
	}
	print_counts("table lines", n);
	return answers[0] && answers[EINVAL] ? 0 : 1;
}

static int fuzz_messages(int argc, char **argv)
{
	const char *name = argv[0];
	uint64_t n = strtoull(argv[1], NULL, 10), seed = strtoull(argv[2], NULL, 10), i;
	FILE *refused;
	int r;

	if (argc != 4)
		die("messages NAME N SEED FILE");
	refused = fopen(argv[3], "w");
	if (!refused)
		die("%s: %s", argv[3], strerror(errno));
	for (i = 0; i < n; i++) {
		struct rng rng = { .state = seed + i };

		make_message(&rng, line);
		r = dm_message(name, rng_chance(&rng, 100) ? rng_next(&rng) : 0, line);
		count(r);
		if (kernel_tainted())
			die("seed %" PRIu64 ": the kernel has complained: %s", seed + i, line);
		if (r == -ENOMEM || r == -EFAULT)
			die("seed %" PRIu64 ": %s: %s", seed + i, strerror(-r), line);
		if (r)
			fwrite(line, strlen(line) + 1, 1, refused);
	}
	if (fclose(refused))
		die("%s: %s", argv[3], strerror(errno));
	print_counts("messages", n);
	return answers[0] && answers[EINVAL] ? 0 : 1;
}

static int replay(int argc, char **argv)
{
	size_t size = 0;
	char *text = NULL;
	FILE *in, *out;
	uint64_t n = 0;
	char tmp[4096];
	int r;

	if (argc != 2)
		die("replay NAME FILE");
	snprintf(tmp, sizeof(tmp), "%s.new", argv[1]);
	in = fopen(argv[1], "r");
	out = fopen(tmp, "w");
	if (!in || !out)
		die("%s: %s", argv[1], strerror(errno));
	while (getdelim(&text, &size, 0, in) > 0) {
		r = dm_message(argv[0], 0, text);
		count(r);
		n++;
		if (r)
			fwrite(text, strlen(text) + 1, 1, out);
		if (kernel_tainted())
			die("the kernel has complained: %s", text);
	}
	free(text);
	fclose(in);
	if (fclose(out) || rename(tmp, argv[1]))
		die("%s: %s", argv[1], strerror(errno));
	print_counts("messages once more", n);
	return 0;
}

static int show(int argc, char **argv)
{
	uint64_t n, seed, i;
	struct devices d = { .path = argv + 3, .nr = argc > 3 ? argc - 3 : 0 };
	bool tables;

	if (argc < 3)
		die("show tables|messages N SEED [DEVICE...]");
	tables = !strcmp(argv[0], "tables");
	if (tables && d.nr < 3)
		die("devices come in threes");
	n = strtoull(argv[1], NULL, 10);
	seed = strtoull(argv[2], NULL, 10);
	for (i = 0; i < n; i++) {
		struct rng rng = { .state = seed + i };

		if (tables)
			make_table(&rng, &d, line);
		else
			make_message(&rng, line);
		puts(line);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	if (!strcmp(command, "tables") && argc > 5)
		return fuzz_tables(argc - 2, argv + 2);
	if (!strcmp(command, "messages") && argc > 5)
		return fuzz_messages(argc - 2, argv + 2);
	if (!strcmp(command, "replay"))
		return replay(argc - 2, argv + 2);
	if (!strcmp(command, "images"))
		return fuzz_images(argc - 2, argv + 2);
	if (!strcmp(command, "damage"))
		return damage_image(argc - 2, argv + 2);
	if (!strcmp(command, "show"))
		return show(argc - 2, argv + 2);
	die("usage: see the top of main.c");
}
