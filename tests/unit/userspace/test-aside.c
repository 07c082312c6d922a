// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading in processes of their own: more of them than run at a time, and one that ends without
 * an answer.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "block/aside.h"
#include "../tap.h"

#define NR	100
#define DIES	33

struct answer {
	unsigned int asked, got;
	char text[40];
	pid_t pid;
};

static void square(const struct device *dev, void *result)
{
	struct answer *a = result;

	/* The output of a reader must not appear. */
	puts("not ok 1 - a reader has our output");
	fflush(stdout);
	if (dev->dev == DIES)
		_exit(0);
	a->got = a->asked * a->asked;
	snprintf(a->text, sizeof(a->text), "%u", a->asked);
	a->pid = getpid();
}

int main(void)
{
	static struct answer answers[NR];
	struct reading readings[NR];
	static struct device devices[NR];
	unsigned int i, good = 0;
	char text[40];

	for (i = 0; i < NR; i++) {
		devices[i].dev = i;
		answers[i].asked = i;
		readings[i] = (struct reading){ .dev = &devices[i], .result = &answers[i] };
	}
	fflush(stdout);
	read_aside(readings, NR, sizeof(*answers), square);
	for (i = 0; i < NR; i++) {
		snprintf(text, sizeof(text), "%u", i);
		good += i != DIES && !readings[i].late && answers[i].got == i * i && answers[i].pid != getpid() &&
			!strcmp(answers[i].text, text);
	}
	ok(good == NR - 1, "each answer where it belongs: %u", good);
	ok(readings[DIES].late && !answers[DIES].got, "a reader that dies has no answer");
	return tap_done();
}
