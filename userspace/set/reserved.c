// SPDX-License-Identifier: GPL-2.0-only
#include "set/reserved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"
#include "block/reserve.h"
#include "dm/dm.h"
#include "set/owner.h"

#define RUN_DIR		"/run/dm-tier"

/* Until the machine boots again, a file says which sets have reservations. */
static char *mark_of(const struct set *s)
{
	return xasprintf(RUN_DIR "/reserved-%s", s->hex);
}

/* The disks that the set lies on, metadata first; how many there are. */
static unsigned int parts_of(const struct set *s, const struct device *part[1 + TIER_MAX_TIERS])
{
	unsigned int i, nr = 0;

	/* Metadata on the tiers needs no disk of its own; its device may be gone by now. */
	if (s->have_meta && !s->mirror.nr && !device_uuid_begins(s->meta_dev.dev, MIRROR_UUID_PREFIX) &&
	    device_attribute_number(s->meta_dev.dev, "size"))
		part[nr++] = &s->meta_dev;
	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].present)
			part[nr++] = &s->tier[i].dev;
	return nr;
}

/* 0 if the machine has no id. */
static uint64_t own_key(void)
{
	u8 id[TIER_UUID_SIZE];
	uint64_t key = RESERVE_MARK;
	unsigned int i;

	owner_this_machine(id);
	if (tier_all_zero(id, sizeof(id)))
		return 0;
	for (i = 0; i < 6; i++)
		key = key << 8 | id[i];
	return key;
}

static bool may_read(const struct set *s, const struct device *d, struct reservation *r)
{
	int error = reserve_read(d, r);

	if (error == -EOPNOTSUPP)
		err(s->ctx, ERR_UNSUPPORTED, "%s: %s knows no reservations. Activate it without --reserve.",
		    s->name, d->name);
	else if (error)
		err(s->ctx, ERR_IO, "%s: the reservations of %s cannot be read: %s.", s->name, d->name,
		    strerror(-error));
	return !error;
}

/* A key of another program, which may write, and knows what it is for; 0 if there is none. */
static uint64_t foreign(const struct reservation *r)
{
	unsigned int i;

	for (i = 0; i < r->nr_keys; i++)
		if (!reserve_key_is_ours(r->key[i]))
			return r->key[i];
	return r->held && !reserve_key_is_ours(r->holder) ? r->holder : 0;
}

/* The key of another machine that may write, 0 if there is none. The holder of the reservation comes last. */
static uint64_t other_machine(const struct reservation *r, uint64_t own)
{
	uint64_t other = 0;
	unsigned int i;

	for (i = 0; i < r->nr_keys; i++)
		if (r->key[i] != own && reserve_key_is_ours(r->key[i]) &&
		    (!other || !r->held || r->key[i] != r->holder))
			other = r->key[i];
	return other;
}

static void say_elsewhere(const struct set *s, const struct device *d, uint64_t other)
{
	err(s->ctx, ERR_ELSEWHERE,
	    "%s: another machine has reserved %s (key 0x%016llx). To shut that machine out: tierctl activate --reserve --take-over %s",
	    s->name, d->name, (unsigned long long)other, s->name);
}

bool reserved_may_take(const struct set *s, bool take_over)
{
	const struct device *part[1 + TIER_MAX_TIERS];
	unsigned int i, nr = parts_of(s, part);
	uint64_t own = own_key(), other;
	struct reservation r;

	if (!own) {
		err(s->ctx, ERR_UNSUITABLE, "%s: this machine has no id for a reservation: systemd-machine-id-setup",
		    s->name);
		return false;
	}
	for (i = 0; i < nr; i++) {
		const char *unfit = reserve_unfit(part[i]);

		if (unfit) {
			err(s->ctx, ERR_UNSUITABLE, "%s: %s %s. Activate it without --reserve.", s->name,
			    part[i]->name, unfit);
			return false;
		}
		if (!may_read(s, part[i], &r))
			return false;
		other = other_machine(&r, own);
		if (foreign(&r)) {
			warn(s->ctx, "%s: %s is reserved by another program (key 0x%016llx), and left to that.",
			     s->name, part[i]->name, (unsigned long long)foreign(&r));
		} else if (other && !take_over) {
			say_elsewhere(s, part[i], other);
			return false;
		}
	}
	return true;
}

/* Whether no other machine can write to the disk, or another program says who can. */
static bool is_reserved(const struct set *s, const struct device *d, uint64_t own)
{
	struct reservation r;

	if (!may_read(s, d, &r))
		return false;
	if (foreign(&r) || (r.held && r.holder == own && !other_machine(&r, own)))
		return true;
	err(s->ctx, ERR_ELSEWHERE, "%s: another machine reserves %s at the same time.", s->name, d->name);
	return false;
}

static int shut_out(const struct set *s, const struct device *d, uint64_t own, struct reservation *r)
{
	unsigned int tries = r->nr_keys;
	uint64_t other;
	int error;

	while ((other = other_machine(r, own))) {
		if (!tries--)
			return -EBUSY;
		verbose(s->ctx, "%s: key 0x%016llx is taken away", d->name, (unsigned long long)other);
		error = reserve_preempt(d, own, other);
		if (!error)
			error = reserve_read(d, r);
		if (error)
			return error;
	}
	return 0;
}

/* Others may have come since reserved_may_take(). False with the error said. */
static bool take(const struct set *s, const struct device *d, uint64_t own, bool take_over, bool *shut)
{
	struct reservation r;
	int error = 0;

	if (!may_read(s, d, &r))
		return false;
	if (foreign(&r))
		return true;
	if (other_machine(&r, own)) {
		if (!take_over) {
			say_elsewhere(s, d, other_machine(&r, own));
			return false;
		}
		*shut = true;
		error = shut_out(s, d, own, &r);
	}
	if (!error)
		error = reserve_take(d, own);
	/* This machine's key may hold it on a path that is gone. */
	if (error == -EBUSY && !reserve_read(d, &r) && r.held && r.holder == own) {
		error = reserve_preempt(d, own, own);
		if (!error)
			error = reserve_take(d, own);
	}
	if (error == -EBUSY)
		err(s->ctx, ERR_ELSEWHERE, "%s: another machine was faster and has reserved %s.", s->name, d->name);
	else if (error)
		err(s->ctx, ERR_IO, "%s: %s cannot be reserved: %s.", s->name, d->name, strerror(-error));
	return !error;
}

/* False with the error said. */
static bool make_mark(const struct set *s)
{
	char *mark = mark_of(s);
	int fd;

	mkdir(RUN_DIR, 0755);
	fd = open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		err(s->ctx, error_from(errno), "%s: %s: %s.", s->name, mark, strerror(errno));
	else
		close(fd);
	free(mark);
	return fd >= 0;
}

bool reserved_take(const struct set *s, bool take_over, bool *shut)
{
	const struct device *part[1 + TIER_MAX_TIERS];
	unsigned int i, nr = parts_of(s, part);
	uint64_t own = own_key();
	bool taken;

	*shut = false;
	taken = make_mark(s);
	for (i = 0; i < nr && taken; i++)
		taken = take(s, part[i], own, take_over, shut);
	/* Two machines that take over at the same time may each have got some. */
	for (i = 0; i < nr && taken; i++)
		taken = is_reserved(s, part[i], own);
	if (!taken && !*shut)
		reserved_drop(s);
	return taken;
}

static bool drop(const struct set *s, const struct device *d)
{
	uint64_t own = own_key();
	struct reservation r;
	unsigned int i;
	int error;

	error = reserve_read(d, &r);
	for (i = 0; !error && i < r.nr_keys && r.key[i] != own; i++)
		;
	if (!error && i < r.nr_keys)
		error = reserve_drop(d, own);
	if (error)
		warn(s->ctx, "%s: %s stays reserved for this machine: %s.", s->name, d->name, strerror(-error));
	return !error;
}

static bool is_marked(const struct set *s)
{
	char *mark = mark_of(s);
	bool is = !access(mark, F_OK);

	free(mark);
	return is;
}

void reserved_drop(const struct set *s)
{
	const struct device *part[1 + TIER_MAX_TIERS];
	unsigned int i, nr = parts_of(s, part);
	bool all = !set_missing(s);
	char *mark;

	if (!is_marked(s))
		return;
	for (i = 0; i < nr; i++)
		all &= drop(s, part[i]);
	mark = mark_of(s);
	if (all)
		unlink(mark);
	free(mark);
}

bool reserved_join(const struct set *s, const struct device *d)
{
	const char *unfit = d ? reserve_unfit(d) : "is a logical volume";
	bool shut;

	if (!is_marked(s))
		return true;
	if (unfit) {
		err(s->ctx, ERR_UNSUITABLE,
		    "%s: its disks are reserved for this machine, and %s %s. Deactivate it and activate it without --reserve first.",
		    s->name, d ? d->name : "the new tier", unfit);
		return false;
	}
	return s->ctx->dry_run || take(s, d, own_key(), false, &shut);
}

void reserved_drop_disk(const struct set *s, const struct device *d)
{
	if (is_marked(s))
		drop(s, d);
}
