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

/* The disks that data of the set lies on, metadata first; how many there are. */
static unsigned int parts_of(const struct set *s, const struct device *part[1 + TIER_MAX_TIERS])
{
	unsigned int i, nr = 0;

	/* Metadata on the tiers needs no disk of its own. */
	if (s->have_meta && !s->mirror.nr && !device_uuid_begins(s->meta_dev.dev, MIRROR_UUID_PREFIX))
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

static bool foreign(const struct reservation *r)
{
	return r->held && !reserve_key_is_ours(r->holder);
}

/* The key of another machine that has the disk, 0 if none has. */
static uint64_t other_machine(const struct reservation *r, uint64_t own)
{
	unsigned int i;

	for (i = 0; i < r->nr_keys; i++)
		if (r->key[i] != own && reserve_key_is_ours(r->key[i]))
			return r->key[i];
	return 0;
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
		if (foreign(&r))
			say(s->ctx, "%s: %s is reserved by another program (key 0x%016llx), which is left as it is.",
			    s->name, part[i]->name, (unsigned long long)r.holder);
		else if (other && !take_over) {
			err(s->ctx, ERR_ELSEWHERE,
			    "%s: another machine has reserved %s (key 0x%016llx). To shut that machine out: tierctl activate --reserve --take-over %s",
			    s->name, part[i]->name, (unsigned long long)other, s->name);
			return false;
		}
	}
	return true;
}

/* Again at each step, as others may have come since. */
static int take(const struct set *s, const struct device *d, uint64_t own)
{
	struct reservation r;
	uint64_t other;
	int error;

	if (!may_read(s, d, &r))
		return -EREMOTEIO;
	if (foreign(&r))
		return 0;
	while ((other = other_machine(&r, own))) {
		verbose(s->ctx, "%s: key 0x%016llx is taken away", d->name, (unsigned long long)other);
		error = reserve_preempt(d, own, other);
		if (error)
			return error;
		if (!may_read(s, d, &r))
			return -EREMOTEIO;
	}
	return reserve_take(d, own);
}

bool reserved_take(const struct set *s)
{
	const struct device *part[1 + TIER_MAX_TIERS];
	unsigned int i, nr = parts_of(s, part);
	uint64_t own = own_key();
	char *mark = mark_of(s);
	int fd, error = 0;

	mkdir(RUN_DIR, 0755);
	fd = open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0) {
		err(s->ctx, error_from(errno), "%s: %s: %s.", s->name, mark, strerror(errno));
		free(mark);
		return false;
	}
	close(fd);
	free(mark);
	for (i = 0; i < nr && !error; i++) {
		error = take(s, part[i], own);
		if (error == -EBUSY)
			err(s->ctx, ERR_ELSEWHERE, "%s: another machine was faster and has reserved %s.", s->name,
			    part[i]->name);
		else if (error && error != -EREMOTEIO)
			err(s->ctx, ERR_IO, "%s: %s cannot be reserved: %s.", s->name, part[i]->name,
			    strerror(-error));
	}
	if (error)
		reserved_drop(s);
	return !error;
}

void reserved_drop(const struct set *s)
{
	const struct device *part[1 + TIER_MAX_TIERS];
	unsigned int i, k, nr = parts_of(s, part);
	uint64_t own = own_key();
	char *mark = mark_of(s);
	bool marked = !unlink(mark);
	struct reservation r;
	int error;

	free(mark);
	for (i = 0; marked && i < nr; i++) {
		error = reserve_read(part[i], &r);
		for (k = 0; !error && k < r.nr_keys && r.key[k] != own; k++)
			;
		if (!error && k < r.nr_keys)
			error = reserve_drop(part[i], own);
		if (error)
			warn(s->ctx, "%s: %s stays reserved for this machine: %s.", s->name, part[i]->name,
			     strerror(-error));
	}
}
