// SPDX-License-Identifier: GPL-2.0-only
#include "set/wipe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/step.h"
#include "base/util.h"
#include "block/signature.h"
#include "dm-tier/format.h"

/*
 * While a question waited for its answer, the name may have been given to another device. Once
 * the device is open, its number cannot be given to another.
 */
static int open_for_wiping(struct tier_context *ctx, const struct device *d)
{
	int fd;

	step_reached("wipe", "begin");
	fd = device_open(d, O_RDWR | O_EXCL);
	if (fd < 0)
		err(ctx, error_from(-fd), "%s: cannot be opened for writing: %s.", d->name, strerror(-fd));
	return fd;
}

/* A damaged label does not say whose it was. */
static bool is_of(struct tier_context *ctx, const struct device *d, const u8 *set_uuid)
{
	bool is = false;
	struct member m;
	char *what;

	member_read(d, &m);
	if (m.kind == MEMBER_METADATA || m.kind == MEMBER_TIER)
		is = !memcmp(member_set_uuid(&m), set_uuid, TIER_UUID_SIZE);
	else
		is = m.kind == MEMBER_DAMAGED || m.blank;
	if (!is) {
		what = candidate_describe(&m);
		err(ctx, ERR_CHANGED, "%s: %s%s by now, and stays as it is.", d->name,
		    m.kind == MEMBER_UNREADABLE ? "" : "carries ",
		    what ? what : m.kind == MEMBER_UNREADABLE ? m.reason : "nothing of the set");
		free(what);
	}
	member_free(&m);
	return is;
}

static int wipe_range(struct tier_context *ctx, const struct device *d, const u8 *set_uuid,
		      uint64_t from, uint64_t end)
{
	int fd = open_for_wiping(ctx, d), r = -ESTALE;

	if (fd < 0)
		return fd;
	if (is_of(ctx, d, set_uuid)) {
		ctx->changed = true;
		r = zero_blocks(fd, from, end - from);
		if (r)
			err(ctx, error_from(-r), "%s: cannot be written: %s.", d->name, strerror(-r));
	}
	close(fd);
	return r;
}

int wipe_labels(struct tier_context *ctx, const struct device *d, const u8 *set_uuid)
{
	return wipe_range(ctx, d, set_uuid, 0, MEMBER_HEAD);
}

int wipe_behind_labels(struct tier_context *ctx, const struct device *d, const u8 *set_uuid, uint64_t end)
{
	return wipe_range(ctx, d, set_uuid, MEMBER_HEAD, end);
}

char *wipe_would_lose(struct tier_context *ctx, const struct device *d)
{
	char *what = NULL;
	struct member m;
	int error;

	if (ctx->force)
		return NULL;
	member_read(d, &m);
	if (m.kind == MEMBER_TIER || m.kind == MEMBER_DAMAGED)
		what = signatures_within(d->path, MEMBER_HEAD, &error);
	if (!what && m.foreign)
		what = xstrdup("something unknown in its first 8 KiB");
	member_free(&m);
	return what;
}

int wipe_stray(struct tier_context *ctx, const struct device *d, const u8 *set_uuid)
{
	char *what = wipe_would_lose(ctx, d);
	int r = 0;

	if (what)
		warn(ctx, "%s: carries %s, too, and stays as it is.", d->name, what);
	else
		r = wipe_labels(ctx, d, set_uuid);
	free(what);
	return r;
}

int wipe_superblock(struct tier_context *ctx, const struct device *d, const u8 *set_uuid)
{
	return wipe_range(ctx, d, set_uuid, 0, TIER_METADATA_BLOCK_SIZE);
}

int wipe_all_of(struct tier_context *ctx, const struct device *d, int fd, uint64_t bytes)
{
	int r = signatures_wipe(fd);

	ctx->changed = true;
	if (!r)
		r = zero_blocks(fd, 0, bytes);
	if (r)
		err(ctx, error_from(-r), "%s: cannot be wiped: %s.", d->name, strerror(-r));
	/* Not every device has partitions; devices with partitions in use were refused before. */
	else if (ioctl(fd, BLKRRPART) < 0)
		verbose(ctx, "%s: partitions were not read again", d->name);
	return r;
}

int wipe_all(struct tier_context *ctx, const struct device *d, uint64_t chunk_sectors)
{
	int fd = open_for_wiping(ctx, d), r = fd;

	if (fd >= 0) {
		r = wipe_all_of(ctx, d, fd, tier_label_area(chunk_sectors) * SECTOR_SIZE);
		close(fd);
	}
	return r;
}

/* A block that cannot be read may be mended by writing it. */
static bool begins_blank(int fd, uint64_t bytes)
{
	u8 *buf = block_buffer(MEMBER_HEAD);
	bool blank = true;
	uint64_t at;

	for (at = 0; blank && at < bytes; at += MEMBER_HEAD)
		blank = !read_blocks(fd, at, buf, MEMBER_HEAD) && tier_all_zero(buf, MEMBER_HEAD);
	free(buf);
	return blank;
}

int wipe_candidate(struct tier_context *ctx, const struct candidate *c, uint64_t chunk_sectors)
{
	uint64_t area = chunk_sectors ? tier_label_area(chunk_sectors) * SECTOR_SIZE : 0;
	int fd = open_for_wiping(ctx, &c->dev), r = fd;

	if (fd < 0)
		return r;
	if (!candidate_unchanged(ctx, c, !area))
		r = -ESTALE;
	else if (c->carries || !begins_blank(fd, area))
		r = wipe_all_of(ctx, &c->dev, fd, area ? area : MEMBER_HEAD);
	else
		r = 0;
	close(fd);
	return r;
}
