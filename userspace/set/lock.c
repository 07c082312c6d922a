// SPDX-License-Identifier: GPL-2.0-only
#include "set/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"
#include "set/member.h"
#include "set/set.h"

#define FOLDER	"/run/dm-tier"
#define WHAT	"change"
/* A change takes a second or two, and LVM's steps a few more. */
#define WAIT_MS	30000
#define POLL_MS	100
/* Longer than an activation; a change of LVM's volumes may wait for other changes. */
#define ACTIVATION_MS	120000

static const char *command = "";
static int held = -1;
static char held_hex[UUID_HEX];

void lock_as(const char *name)
{
	command = name;
}

static char *lock_path(const char *hex, const char *what)
{
	return xasprintf(FOLDER "/%s.%s", hex, what);
}

int set_lock(const char *hex, const char *what, bool wait)
{
	char *path = lock_path(hex, what);
	int fd, r;

	mkdir(FOLDER, 0755);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	free(path);
	if (fd < 0)
		return -1;
	do {
		r = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB));
	} while (r && errno == EINTR);
	if (!r)
		return fd;
	close(fd);
	return -1;
}

bool set_is_dumped(const char *hex)
{
	int lock = set_lock(hex, LOCK_SNAPSHOT, false);
	bool dumped = lock < 0 && errno == EWOULDBLOCK;

	if (lock >= 0)
		close(lock);
	return dumped;
}

int lock_within(const char *hex, const char *what, unsigned int ms)
{
	uint64_t end = now_ms() + ms;
	int fd;

	for (;;) {
		fd = set_lock(hex, what, false);
		if (fd >= 0 || errno != EWOULDBLOCK || now_ms() >= end)
			return fd;
		sleep_ms(POLL_MS);
	}
}

bool lock_in_time(struct tier_context *ctx, const char *hex, const char *name, const char *what, int *lock)
{
	*lock = lock_within(hex, what, ACTIVATION_MS);
	if (*lock >= 0 || errno != EWOULDBLOCK)
		return true;
	err(ctx, ERR_BUSY, "%s: another tierctl has been activating it for %d s.", name, ACTIVATION_MS / 1000);
	return false;
}

static void take(struct tier_context *ctx, const char *hex, unsigned int ms)
{
	unlock_set();
	held = lock_within(hex, WHAT, ms);
	if (held < 0)
		return;
	copy_string(held_hex, sizeof(held_hex), hex);
	/* Only for messages. */
	if (ftruncate(held, 0) || dprintf(held, "%s %s (process %d)", program, command, getpid()) < 0)
		verbose(ctx, "%s: its lock does not say whose it is", hex);
}

/* In words; the caller frees. */
static char *holder(const char *hex)
{
	char *path = lock_path(hex, WHAT), text[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	free(path);
	text[n > 0 ? n : 0] = '\0';
	return xstrdup(n > 0 ? text : "another tierctl");
}

bool lock_set(struct tier_context *ctx, const char *hex, const char *name)
{
	char *who;
	int e;

	context_set(ctx, hex, name);
	if (lock_set_now(ctx, hex))
		return true;
	e = errno;
	if (e == EWOULDBLOCK) {
		who = holder(hex);
		say(ctx, "%s: waiting for %s.", name, who);
		free(who);
		fflush(NULL);
		take(ctx, hex, WAIT_MS);
		e = errno;
	}
	if (held >= 0)
		return true;
	if (e == EWOULDBLOCK) {
		who = holder(hex);
		err(ctx, ERR_BUSY, "%s: %s is changing it. Try again when that is done.", name, who);
		free(who);
	} else {
		err(ctx, error_from(e), "%s: cannot be locked in " FOLDER ": %s.", name, strerror(e));
	}
	return false;
}

bool lock_set_now(struct tier_context *ctx, const char *hex)
{
	if (!ctx->dry_run && (held < 0 || strcmp(hex, held_hex)))
		take(ctx, hex, 0);
	return ctx->dry_run || held >= 0;
}

bool lock_named(struct tier_context *ctx, const char *name, bool scan)
{
	struct set_list list;
	const struct set *s;
	bool good;

	sets_load(ctx, &list, scan);
	s = sets_find(&list, name);
	good = !s || lock_set(ctx, s->hex, s->name);
	sets_free(&list);
	return good;
}

void unlock_set(void)
{
	if (held >= 0)
		close(held);
	held = -1;
}
