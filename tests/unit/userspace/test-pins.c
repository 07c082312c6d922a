// SPDX-License-Identifier: GPL-2.0-only
/* The record of pinned files, and the answer to the chunk message. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "set/heat.h"
#include "set/pins.h"
#include "../tap.h"
#include "base/util.h"
#include "context.h"

#define UUID	"0123456789abcdef0123456789abcdef"

static void test_round_trip(void)
{
	static const char *const paths[] = {
		"plain", ".", "a/b/c", "with blank", "tab\there", "new\nline", "back\\slash", "oct\\040al",
		"trailing ", "\xc3\xa4", "#not a comment", "-",
	};
	unsigned int i;

	for (i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct pin pin = { .tier_id = 3, .handle = xstrdup("1:00ff"), .path = xstrdup(paths[i]) }, back;
		struct text t = { 0 };
		bool good;

		strcpy(pin.set, UUID);
		ranges_add(&pin.chunks, 3, 4);
		ranges_add(&pin.chunks, 9, 1);
		pin_to_line(&pin, &t);
		good = strchr(t.s, '\n') == t.s + t.len - 1;
		t.s[t.len - 1] = '\0';
		good = good && pin_from_line(t.s, &back);
		ok(good && !strcmp(back.path, pin.path) && !strcmp(back.handle, pin.handle) &&
		   !strcmp(back.set, UUID) && back.tier_id == 3 && ranges_total(&back.chunks) == 5,
		   "a path, to its line and back: %u", i);
		if (good)
			pin_free(&back);
		pin_free(&pin);
		text_free(&t);
	}
}

static void test_wrong_lines(void)
{
	static const char *const lines[] = {
		"", "pin", "pin x 3 1:00 3 path", "pin " UUID " 300 1:00 3 path", "pin " UUID " 3 1:00 x path",
		"pin " UUID " 3 1:00 3", "pin " UUID " 3 1:00 3 path more", "pon " UUID " 3 1:00 3 path",
		"pin " UUID "0 3 1:00 3 path",
	};
	unsigned int i;

	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct pin pin;

		ok(!pin_from_line(lines[i], &pin) && !pin.path && !pin.handle, "refused: %s", lines[i]);
	}
}

/* The root of the file system; replaces the real mount points. */
static char root[] = "/tmp/test-pins.XXXXXX";

const struct mount *mounts_find(const struct mounts *list, dev_t dev)
{
	static struct mount m = { .point = root };

	(void)list;
	(void)dev;
	return &m;
}

int mount_open_root(const struct mounts *list, dev_t dev)
{
	(void)list;
	(void)dev;
	return open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The owner of the root of a file system can put anything there. */
static void test_strange_record(void)
{
	struct mounts mounts = { 0 };
	struct pins pins;
	int fd;

	if (!mkdtemp(root))
		exit(1);
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(pins_open(test_context(), &pins, &mounts, 0) && !pins.nr, "no record");
	pins_close(&pins);
	/* A failure would wait for ever. */
	alarm(60);
	ok(!mkfifoat(fd, PINS_FILE, 0600) && !pins_open(test_context(), &pins, &mounts, 0), "a pipe is no record");
	alarm(0);
	pins_close(&pins);
	unlinkat(fd, PINS_FILE, 0);
	ok(!symlinkat("/dev/null", fd, PINS_FILE) && !pins_open(test_context(), &pins, &mounts, 0), "nor is a link");
	pins_close(&pins);
	unlinkat(fd, PINS_FILE, 0);
	close(fd);
	rmdir(root);
	terminal_free(&terminal);
}

static void test_chunk(void)
{
	struct chunk_info info = { .chunk = 7 };

	ok(chunk_parse("rank 1 place 20 heat 199 reads 181 writes 27 pin 0 state mapped reason migrate", &info) &&
	   info.chunk == 7 && info.rank == 1 && info.place == 20 && info.heat == 199 && info.reads == 181 &&
	   info.writes == 27 && info.pin == 0 && !strcmp(info.state, "mapped") && !strcmp(info.reason, "migrate"),
	   "a chunk that is mapped");
	ok(chunk_parse("rank - place - heat 0 reads 0 writes 0 pin - state unmapped reason unmapped", &info) &&
	   info.rank == -1 && info.pin == -1 && !info.place, "one that is not");
	ok(chunk_parse("rank 1 place 2 heat 3 reads 4 writes 5 pin - state mapped reason policy age 7 mood fine", &info),
	   "what a newer kernel adds is skipped");
	ok(!*info.held, "an older kernel does not say what holds it");
	ok(chunk_parse("rank 1 place 2 heat 3 reads 4 writes 5 pin - state mapped reason policy held cold", &info) &&
	   !strcmp(info.held, "cold"), "what holds it");
	ok(!chunk_parse("rank 1 place 2 heat 3 reads 4 writes 5 pin - state mapped held cold", &info), "no reason");
	ok(!chunk_parse("rank 1 place 2", &info), "too short");
	ok(!chunk_parse("rank x place 2 heat 3 reads 4 writes 5 pin - state mapped reason policy", &info), "no rank");
	ok(!chunk_parse("rank 99 place 2 heat 3 reads 4 writes 5 pin - state mapped reason policy", &info),
	   "a rank that cannot be");
	ok(!chunk_parse("", &info), "nothing");
}

int main(void)
{
	test_round_trip();
	test_wrong_lines();
	test_chunk();
	test_strange_record();
	return tap_done();
}
