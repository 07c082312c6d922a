// SPDX-License-Identifier: GPL-2.0-only
#include "ops/revert.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/step.h"
#include "base/util.h"
#include "format/metadata.h"
#include "lvm/lvm-part.h"
#include "lvm/lvm.h"
#include "ops/label-area.h"
#include "ops/parts.h"
#include "ops/schedule.h"
#include "set/bare.h"
#include "set/find.h"
#include "set/state.h"
#include "set/wipe.h"

#define COPY_BYTES	(1ULL << 20)

struct takeover {
	struct set *s;
	const struct set_tier *survivor;
	struct own_places own_places;
	const char *command;		/* for step_reached() */
	u64 nr_chunks;
	u64 *entry;			/* of each chunk, from the metadata */
	uint64_t label;			/* offset of the label in force */
	int survivor_fd;
	int fd[TIER_MAX_TIERS];		/* by rank, for reading */
	void *buf;
	void *in_force, *last;		/* the label's block, and the data that will overwrite it */
};

static int survivor_id(const struct set *s)
{
	return md_survivor(&s->info);
}

static const struct set_tier *survivor_of(const struct set *s)
{
	int rank = set_rank_with(s, survivor_id(s));

	return rank < 0 ? NULL : &s->tier[rank];
}

static int note_entry(void *context, u64 chunk, u64 entry)
{
	struct takeover *m = context;

	if (chunk < m->nr_chunks)
		m->entry[chunk] = entry;
	return 0;
}

/*
 * A first write that the suspend could not commit is only in memory; so is the news of a failed
 * commit.
 */
static int check_durable(const struct takeover *m)
{
	const struct status *st = &m->s->status;
	u64 v, mapped = 0;

	if (set_refresh(m->s) || st->kind != STATUS_OK) {
		err(m->s->ctx, ERR_FAILED, "%s: its status cannot be queried.", m->s->name);
		return -EIO;
	}
	if (st->read_only) {
		err(m->s->ctx, ERR_READ_ONLY, "%s: has fallen to read-only; the kernel log says why.",
		    m->s->name);
		return -EIO;
	}
	for (v = 0; v < m->nr_chunks; v++)
		mapped += !!(m->entry[v] & TIER_ENTRY_MAPPED);
	return mapped == st->mapped ? 0 : -EAGAIN;
}

/* The device is suspended: the disk has the current metadata. */
static int read_map(struct takeover *m)
{
	const char *reason = "metadata cannot be opened";
	struct set *s = m->s;
	int fd = device_open(&s->meta_dev, O_RDONLY), r = fd;

	s->have_info = false;
	if (fd >= 0) {
		r = md_read_superblock(fd, &s->info, &s->roots, &reason);
		if (!r && s->info.nr_chunks != m->nr_chunks) {
			reason = "has another number of chunks than before";
			r = -ESTALE;
		}
		if (!r)
			r = md_read_map(fd, &s->roots, m->nr_chunks, note_entry, m, &reason);
		close(fd);
	}
	if (r < 0)
		err(m->s->ctx, ERR_IO, "%s: %s.", s->meta_dev.name, reason);
	s->have_info = r >= 0;
	return r < 0 ? r : 0;
}

static bool all_in_place(const struct takeover *m)
{
	uint64_t v;

	for (v = m->own_places.first; v < m->own_places.end; v++)
		if (!(m->entry[v] & TIER_ENTRY_MAPPED) ||
		    (int)md_entry_id(m->entry[v]) != m->survivor->id ||
		    (m->entry[v] & TIER_ENTRY_PLACE_MASK) != v)
			return false;
	return true;
}

/* Opens the tier that takes the set's place with that mode, the others for reading. */
static int open_devices(struct takeover *m, int mode)
{
	unsigned int i;

	m->buf = block_buffer(COPY_BYTES);
	m->in_force = block_buffer(m->survivor->dev.logical_block);
	m->last = block_buffer(m->survivor->dev.logical_block);
	for (i = 0; i < TIER_MAX_TIERS; i++)
		m->fd[i] = -1;
	/* Buffers of other programs may be out of date, so reads and writes go past them. */
	m->survivor_fd = device_open(&m->survivor->dev, mode | O_DIRECT);
	for (i = 0; i < m->s->nr_tiers; i++) {
		if (!m->s->tier[i].present || m->s->tier[i].stale)
			continue;
		m->fd[i] = device_open(&m->s->tier[i].dev, O_RDONLY);
		if (m->fd[i] < 0 || m->survivor_fd < 0) {
			err(m->s->ctx, ERR_IO, "%s: cannot be opened.", m->s->tier[i].dev.name);
			return -EIO;
		}
	}
	return 0;
}

/*
 * Finds the label in force. 1: it is there; 0: the tier has taken the set's place already; -EIO:
 * unknown.
 */
static int find_label(struct takeover *m)
{
	struct tier_label_info label;
	int found = member_find_label(m->survivor_fd, m->s->uuid, &label);

	if (found > 0) {
		m->label = label.slot * TIER_LABEL_SLOT_SIZE;
		if (read_blocks(m->survivor_fd, m->label, m->in_force, m->survivor->dev.logical_block))
			found = -EIO;
	}
	if (found < 0)
		err(m->s->ctx, ERR_IO, "%s: its label cannot be read.", m->survivor->dev.name);
	return found;
}

static void close_devices(struct takeover *m)
{
	unsigned int i;

	for (i = 0; i < TIER_MAX_TIERS; i++)
		if (m->fd[i] >= 0)
			close(m->fd[i]);
	if (m->survivor_fd >= 0)
		close(m->survivor_fd);
	free(m->entry);
	free(m->buf);
	free(m->in_force);
	free(m->last);
}

/*
 * The place of a chunk's data; *fd is -1 if it has none, so it is zeroes. -EIO: on an unknown
 * tier.
 */
static int find_source(const struct takeover *m, uint64_t chunk, int *fd, uint64_t *at)
{
	int rank = set_rank_of(m->s, m->entry[chunk]);

	*fd = -1;
	if (!(m->entry[chunk] & TIER_ENTRY_MAPPED))
		return 0;
	if (rank < 0)
		return -EIO;
	*at = (m->entry[chunk] & TIER_ENTRY_PLACE_MASK) * m->s->chunk_sectors * SECTOR_SIZE;
	*fd = m->fd[rank];
	return *fd < 0 ? -ENODEV : 0;
}

/* Writes a part of the label area, except the label's block, which is written last. */
static int write_piece(struct takeover *m, uint64_t at, size_t len)
{
	uint64_t unit = m->survivor->dev.logical_block;

	if (at <= m->label && m->label < at + len) {
		size_t before = m->label - at;
		int r = before ? write_fully(m->survivor_fd, at, m->buf, before) : 0;

		memcpy(m->last, (char *)m->buf + before, unit);
		before += unit;
		/* O_DIRECT needs an aligned buffer, too. */
		memmove(m->buf, (char *)m->buf + before, len - before);
		return r ? r : write_fully(m->survivor_fd, at + before, m->buf, len - before);
	}
	return write_fully(m->survivor_fd, at, m->buf, len);
}

static int write_chunk(struct takeover *m, uint64_t chunk)
{
	uint64_t bytes = m->s->chunk_sectors * SECTOR_SIZE, at = chunk * bytes, from = 0, done;
	uint64_t len = at + bytes > m->s->length * SECTOR_SIZE ? m->s->length * SECTOR_SIZE - at : bytes;
	int fd, r = find_source(m, chunk, &fd, &from);

	for (done = 0; !r && done < len; done += COPY_BYTES) {
		size_t piece = len - done < COPY_BYTES ? len - done : COPY_BYTES;

		if (fd < 0)
			memset(m->buf, 0, piece);
		else
			r = read_blocks(fd, from + done, m->buf, piece);
		if (!r)
			r = write_piece(m, at + done, piece);
	}
	return r;
}

static int write_displaced(struct takeover *m)
{
	unsigned int i;
	uint64_t v;
	int r = 0;

	/* The sources are flushed first: after a power cut they must still equal the copies. */
	for (i = 0; !r && i < m->s->nr_tiers; i++)
		r = m->fd[i] >= 0 && fsync(m->fd[i]) ? -errno : 0;
	for (v = 0; !r && v < m->own_places.first; v++)
		r = write_chunk(m, v);
	for (v = m->own_places.end; !r && v < m->s->info.nr_chunks; v++)
		r = write_chunk(m, v);
	if (!r && fsync(m->survivor_fd))
		r = -errno;
	return r;
}

/* Writes the label's block, durably. */
static int write_over_label(struct takeover *m, const void *block)
{
	int r = write_fully(m->survivor_fd, m->label, block, m->survivor->dev.logical_block);

	m->s->ctx->changed = true;
	if (!r && fsync(m->survivor_fd))
		r = -errno;
	return r;
}

/*
 * The steps from the overwritten label to the table that passes all I/O through. From the resume
 * on I/O bypasses the set, and the tier cannot be recognised by its contents any more.
 */
static int pass_through(const struct set *s, const struct set_tier *survivor)
{
	char *reason;

	/* The status of a failed set does not show which tiers it has. */
	if (survivor->id >= 0)
		set_write_state(s, TIER_STATE_RETIRED, survivor->id);
	step_reached("revert", "noted");
	if (dm_load_linear(s->dm.name, s->dm.length, survivor->dev.dev, &reason) ||
	    dm_resume(s->dm.name, &reason)) {
		err(s->ctx, ERR_KERNEL_REFUSED,
		    "%s: all data is back on the device, but its table cannot be changed: %s. I/O to it waits until it can: tierctl revert %s",
		    s->name, reason, s->name);
		free(reason);
		return -EIO;
	}
	step_reached("revert", "linear");
	return 0;
}

static int back_to_set(const struct set *s, const struct set_tier *survivor, uint64_t label, bool touched)
{
	char *reason;
	int r = 0;

	if (touched)
		r = label_area_clear(s->ctx, &survivor->dev, s->chunk_sectors, label);
	if (!r)
		r = set_write_state(s, TIER_STATE_LIVE, 0);
	if (dm_resume(s->dm.name, &reason)) {
		err(s->ctx, ERR_KERNEL_REFUSED, "%s: cannot be resumed: %s.", s->name, reason);
		free(reason);
		return -EIO;
	}
	return r;
}

/* Writes the data over the whole label area; 0: the tier has taken the set's place. */
static int overwrite(struct takeover *m)
{
	int r = write_displaced(m);

	if (!r) {
		step_reached(m->command, "written");
		r = write_over_label(m, m->last);
		/*
		 * The block may be overwritten or not: the label is written back, or the state
		 * stays unknown.
		 */
		if (r && write_over_label(m, m->in_force)) {
			err(m->s->ctx, ERR_IO,
			    m->s->active ? "%s: fails: %s. I/O to %s waits until this is called again and works." : "%s: fails: %s. Make it work again, then undo the conversion of %s again.",
			    m->survivor->dev.name, strerror(-r), m->s->name);
			return -ENOTRECOVERABLE;
		}
	}
	if (r)
		err(m->s->ctx, ERR_IO, "%s: cannot be written: %s.", m->survivor->dev.name, strerror(-r));
	return r;
}

static int take_over(struct takeover *m)
{
	bool touched = false;
	int r;

	r = read_map(m) ? : check_durable(m);
	if (!r && !all_in_place(m))
		r = -EAGAIN;
	if (!r)
		r = set_write_state(m->s, TIER_STATE_REVERTING, m->survivor->id);
	if (!r) {
		step_reached("revert", "reverting");
		touched = true;
		r = overwrite(m);
	}
	if (!r) {
		step_reached("revert", "committed");
		return pass_through(m->s, m->survivor);
	}
	if (r != -ENOTRECOVERABLE)
		back_to_set(m->s, m->survivor, m->label, touched);
	return r;
}

int revert_cut_over(struct set *s, unsigned int rank, const struct own_places *own_places)
{
	struct takeover m = { .s = s, .survivor = &s->tier[rank], .own_places = *own_places, .survivor_fd = -1, .command = "revert" };
	struct stillness before;
	char *reason;
	int r;

	/* With another table, or a label written since, this knowledge would be wrong. */
	if (!set_unchanged(s))
		return -EBUSY;
	r = open_devices(&m, O_RDWR);
	if (!r)
		r = find_label(&m);
	if (!r) {
		err(s->ctx, ERR_DAMAGED, "%s: has no label.", m.survivor->dev.name);
		r = -EIO;
	} else if (r > 0) {
		m.nr_chunks = s->info.nr_chunks;
		m.entry = xcalloc(m.nr_chunks, sizeof(*m.entry));
		quiet_begin(s->ctx, &before);
		r = dm_suspend(s->dm.name, &reason);
		if (r) {
			err(s->ctx, ERR_KERNEL_REFUSED, "%s: cannot be suspended: %s.", s->name, reason);
			free(reason);
		} else {
			step_reached("revert", "suspended");
			r = take_over(&m);
		}
		quiet_end(s->ctx, &before);
	}
	close_devices(&m);
	return r;
}

enum revert_stage revert_stage(struct set *s)
{
	s->have_info = false;
	if (set_read_info(s))
		return REVERT_UNKNOWN;
	if (md_has_survivor(s->info.state))
		return REVERT_TAKEOVER;
	/* Only the message "revert" makes the status say paused although nobody has paused. */
	if (s->status.kind == STATUS_OK && s->status.paused && !(s->info.flags & TIER_SB_PAUSED) &&
	    !strings_have(&s->status.features, "paused"))
		return REVERT_BEFORE;
	return REVERT_NONE;
}

static bool has_label(const struct set *s, const struct set_tier *t)
{
	struct member m;
	bool has;

	member_read(&t->dev, &m);
	has = m.kind == MEMBER_TIER ? !memcmp(m.label.set_uuid, s->uuid, TIER_UUID_SIZE) : m.kind == MEMBER_UNREADABLE;
	member_free(&m);
	return has;
}

int revert_survivor(const struct set *s)
{
	const struct set_tier *survivor = survivor_of(s);
	unsigned int i;

	if (s->info.state != TIER_STATE_RETIRED || (survivor && !has_label(s, survivor)))
		return survivor ? survivor - s->tier : -1;
	/* Written by an older tierctl, which did not keep the tier's id in this state. */
	for (i = 0; i < s->nr_tiers; i++)
		if (!has_label(s, &s->tier[i]))
			return i;
	return -1;
}

int revert_mend(struct set *s, unsigned int rank)
{
	struct takeover m = { .s = s, .survivor = &s->tier[rank], .survivor_fd = -1 };
	int r = open_devices(&m, O_RDWR), label = -1;

	if (!r) {
		label = find_label(&m);
		r = label < 0 ? label : 0;
	}
	if (!r && !label) {
		/*
		 * The call may have been killed before it knew that the label was overwritten on
		 * the disk.
		 */
		r = fsync(m.survivor_fd) ? -errno : 0;
		if (r)
			err(s->ctx, ERR_IO, "%s: cannot be written: %s.", m.survivor->dev.name, strerror(-r));
		else
			r = pass_through(s, m.survivor);
	} else if (!r) {
		r = back_to_set(s, m.survivor, m.label, true);
		if (!r)
			r = -EAGAIN;
	}
	close_devices(&m);
	return r;
}

/* Whether all data to be written can be read. */
static int check_sources(const struct takeover *m)
{
	uint64_t v, at;
	int fd, r = 0;

	for (v = 0; !r && v < m->nr_chunks; v++)
		if (v < m->own_places.first || v >= m->own_places.end)
			r = find_source(m, v, &fd, &at);
	if (r)
		err(m->s->ctx, ERR_DEGRADED,
		    "%s: a tier that has what lay under the label of %s is missing. Connect it.",
		    m->s->name, m->survivor->dev.name);
	return r;
}

int revert_unused(struct set *s, unsigned int rank, const struct own_places *own_places, bool write)
{
	struct takeover m = {
		.s = s, .survivor = &s->tier[rank], .own_places = *own_places, .survivor_fd = -1, .command = "convert-abort",
		.nr_chunks = s->info.nr_chunks,
	};
	sigset_t before;
	/*
	 * After a close for writing udev looks at the device again, and would activate the set.
	 */
	int r = open_devices(&m, write ? O_RDWR : O_RDONLY);

	m.entry = xcalloc(m.nr_chunks, sizeof(*m.entry));
	if (!r)
		r = find_label(&m);
	if (!r) {
		err(s->ctx, ERR_DAMAGED, "%s: has no label.", m.survivor->dev.name);
		r = -EIO;
	} else if (r > 0) {
		r = read_map(&m);
		if (!r && !all_in_place(&m))
			r = -EAGAIN;
		if (!r)
			r = check_sources(&m);
	}
	if (!r && write) {
		hold_signals(&before);
		r = overwrite(&m);
		if (!r)
			step_reached(m.command, "committed");
		release_signals(&before);
	}
	close_devices(&m);
	return r;
}

/* Without the device, or with a device that passes all I/O through */

bool revert_unfinished(const struct set *s)
{
	return !s->active && s->have_info && s->have_records && md_has_survivor(s->info.state);
}

/*
 * A tier without a label is there, or was wiped by an earlier call, if there is a device of its
 * name. The number of a dm device changes with a restart, but LVM's volumes appear all at once.
 */
static bool comes_later(const struct set_tier *t)
{
	char *path = xasprintf("/dev/%s", t->last_seen);
	bool later = !t->present && strncmp(t->last_seen, "dm-", 3) && access(path, F_OK);

	free(path);
	return later;
}

bool revert_lacks_tier(const struct set *s)
{
	const struct set_tier *survivor = survivor_of(s);
	unsigned int i;

	for (i = 0; survivor && i < s->nr_tiers; i++)
		if (&s->tier[i] != survivor && comes_later(&s->tier[i]))
			return true;
	return false;
}

/* The converted volume, or the last name of the tier that takes the set's place. */
static char *survivor_name(const struct set *s, const struct set_tier *survivor, bool *volume)
{
	const struct lvm_part *origin;
	struct lvm_parts parts = { 0 };
	char *name = NULL;

	if (lvm_installed() && lvm_list_set(s->ctx, s->hex, &parts))
		return NULL;
	origin = lvm_find_role(&parts, LVM_ROLE_ORIGIN);
	*volume = origin;
	if (origin)
		name = xstrdup(origin->name);
	else if (*survivor->last_seen)
		name = xasprintf("/dev/%s", survivor->last_seen);
	lvm_parts_free(&parts);
	return name;
}

/*
 * A missing label counts only if the device is there to be read. LVM's tags identify the volume;
 * a kernel name may belong to another device by now.
 */
static bool is_bare(const struct set *s, const struct set_tier *survivor)
{
	bool volume = false, bare = false;
	char *name = survivor_name(s, survivor, &volume);
	struct device d;
	struct member m;

	if (name && !device_from_name(name, &d)) {
		member_read(&d, &m);
		bare = m.kind == MEMBER_NONE && (volume ? d.size >= survivor->size : d.size == survivor->size) &&
		       (volume || bare_begins_as(s, &d));
		member_free(&m);
		device_free(&d);
	}
	free(name);
	return bare;
}

static bool any_labelled(const struct set *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++)
		if (s->tier[i].present && has_label(s, &s->tier[i]))
			return true;
	return false;
}

bool revert_committed(const struct set *s)
{
	const struct set_tier *survivor = survivor_of(s);

	/*
	 * Without its label the tier cannot be recognised any more. A device that may still
	 * appear, that has its label, or that is unknown while others have theirs, contradicts
	 * the state.
	 */
	if (s->info.state == TIER_STATE_RETIRED)
		return survivor ? !comes_later(survivor) && !(survivor->present && has_label(s, survivor)) :
			      !any_labelled(s);
	return survivor && !survivor->present && is_bare(s, survivor);
}

int revert_take_back(const struct set *s)
{
	const struct set_tier *survivor = survivor_of(s);
	int r;

	if (!set_parts_known(s))
		return -EUCLEAN;
	/* An older copy lacks the latest writes, and a damaged state need not be true. */
	if (s->info.state == TIER_STATE_RETIRED && (survivor ? survivor->present : any_labelled(s))) {
		err(s->ctx, ERR_DAMAGED,
		    "%s: says of itself that it went back to %s, but %s. Nothing was changed. If it did not go back, to have it as the set it was: tierctl dump %s, write state \"live\" into the dump, and restore that.",
		    s->name, survivor ? survivor->dev.name : "one device",
		    survivor ? "this has its label; a copy from before is to be taken away" : "not to which, and its tiers have their labels still",
		    s->name);
		return -EUCLEAN;
	}
	if (!survivor || !survivor->present) {
		err(s->ctx, ERR_DEGRADED,
		    "%s: was on its way back to one device, %s, which is missing. Connect it, and try again. If it is there and has no label any more, it has all data; to clean up the others then: tierctl destroy %s",
		    s->name, survivor && *survivor->last_seen ? survivor->last_seen : "not known", s->name);
		return -ENODEV;
	}
	if (set_missing(s)) {
		err(s->ctx, ERR_DEGRADED,
		    "%s: was on its way back to one device, and another one of its tiers is missing. Connect it, and try again.",
		    s->name);
		return -ENODEV;
	}
	r = label_area_clear_tier(s, &survivor->dev, "revert");
	return r ? r : set_write_state(s, TIER_STATE_LIVE, 0);
}

int revert_names(struct tier_context *ctx, const char *set_hex, char **device)
{
	char *name = NULL, *dm_name, *away, *both, *reason;
	const struct lvm_part *origin, *placeholder;
	struct lvm_parts parts;
	int r = lvm_list_set(ctx, set_hex, &parts);

	origin = r ? NULL : lvm_find_role(&parts, LVM_ROLE_ORIGIN);
	placeholder = r ? NULL : lvm_find_role(&parts, LVM_ROLE_PLACEHOLDER);
	if (origin)
		name = lvm_tag(origin, "name");
	if (name) {
		both = xasprintf("%s/%s", origin->vg, name);
		dm_name = dm_name_from_lv(both);
		away = xasprintf("%s_trevert", dm_name);
		if (*device && strcmp(*device, away)) {
			r = dm_rename(*device, away, &reason);
			if (r) {
				err(ctx, ERR_KERNEL_REFUSED, "%s: cannot be renamed to %s: %s.", *device,
				    away, reason);
				free(reason);
			} else {
				free(*device);
				*device = xstrdup(away);
				step_reached("revert", "device");
			}
		}
		free(away);
		free(dm_name);
		free(both);
	}
	if (!r && placeholder) {
		r = lvm_remove_placeholder(ctx, placeholder);
		if (!r)
			step_reached("revert", "placeholder");
	}
	if (!r && name && strcmp(origin->lv, name)) {
		r = lvm_rename(ctx, origin->vg, origin->lv, name);
		if (!r)
			step_reached("revert", "renamed");
	}
	free(name);
	lvm_parts_free(&parts);
	return r;
}

/* The device is removed when nobody has it open any more. */
static int let_device_go(struct tier_context *ctx, const char *device)
{
	char *reason;
	int r = dm_remove_at_last_close(device, &reason);

	if (r) {
		err(ctx, ERR_KERNEL_REFUSED, "%s: cannot be removed: %s.", device, reason);
		free(reason);
	} else if (dm_name_exists(device)) {
		say(ctx,
		    "/dev/mapper/%s stays until it is closed, and passes everything through. Until then it does not see " "that the device below grows.",
		    device);
	}
	return r;
}

static int wipe_set(const struct set *s)
{
	const struct set_tier *survivor = survivor_of(s);
	unsigned int i;

	for (i = 0; i < s->nr_tiers; i++) {
		if (s->tier[i].present && wipe_labels(s->ctx, &s->tier[i].dev, s->uuid))
			return -1;
		if (survivor && &s->tier[i] != survivor && comes_later(&s->tier[i]))
			warn(s->ctx,
			     "%s: tier %u (%s) is not there, and keeps its label. To wipe it then: tierctl destroy DEV",
			     s->name, i, s->tier[i].last_seen);
	}
	for (i = 0; i < s->nr_stray; i++)
		if (wipe_stray(s->ctx, &s->stray[i], s->uuid))
			return -1;
	step_reached("revert", "wiped");
	if (set_write_state(s, TIER_STATE_RETIRED, survivor_id(s)))
		return -1;
	step_reached("revert", "retired");
	return wipe_superblock(s->ctx, &s->meta_dev, s->uuid);
}

int revert_finish(struct tier_context *ctx, const char *set_hex)
{
	char *uuid = xasprintf("%s%s", DM_UUID_PREFIX, set_hex), *lv_uuid = xasprintf("%s-lv", uuid);
	char *device = dm_name_of_uuid(lv_uuid);
	struct set_list list;
	struct set *s;
	int r = 0;

	if (!device)
		device = dm_name_of_uuid(uuid);
	sets_load(ctx, &list, true);
	s = sets_find_hex(&list, set_hex);
	if (s && (s->active || (s->have_info && !md_has_survivor(s->info.state)))) {
		err(ctx, ERR_ACTIVE, "%s: is a tiered set still.", s->name);
		r = -1;
	} else if (s && !set_parts_known(s)) {
		r = -1;
	}
	sets_free(&list);
	if (!r && lvm_installed())
		r = revert_names(ctx, set_hex, &device);
	if (!r && device)
		r = let_device_go(ctx, device);
	if (!r)
		step_reached("revert", "released");
	sets_load(ctx, &list, true);
	s = sets_find_hex(&list, set_hex);
	if (!r && s && revert_unfinished(s))
		r = wipe_set(s);
	if (!r) {
		step_reached("revert", "unmade");
		if (lvm_installed())
			r = parts_release_all(ctx, set_hex, 0);
	}
	if (!r)
		schedule_forget(ctx, set_hex);
	sets_free(&list);
	free(device);
	free(lv_uuid);
	free(uuid);
	return r ? EXIT_FAILED : EXIT_DONE;
}
