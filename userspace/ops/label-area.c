// SPDX-License-Identifier: GPL-2.0-only
#include "ops/label-area.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "set/bare.h"

/* If a block is larger than a label, convert has not cleared the rest of the block. */
static int clear_behind_label(int fd, uint64_t label, size_t unit)
{
	char *block = block_buffer(unit);
	int r = read_blocks(fd, label, block, unit);

	if (!r && !tier_all_zero(block + TIER_LABEL_SIZE, unit - TIER_LABEL_SIZE)) {
		memset(block + TIER_LABEL_SIZE, 0, unit - TIER_LABEL_SIZE);
		r = write_durably(fd, label, block, unit);
	}
	free(block);
	return r;
}

int label_area_zero(const struct device *d, uint64_t chunk_sectors, uint64_t label, int flags)
{
	uint64_t end = tier_label_area(chunk_sectors) * SECTOR_SIZE, unit = d->logical_block;
	int fd = device_open(d, O_RDWR | O_DIRECT | flags), r = fd < 0 ? fd : 0;

	/*
	 * The command that wrote the label may have been killed before the flush. Without a
	 * label nobody would know that the data cleared here has a copy.
	 */
	if (!r && fsync(fd))
		r = -errno;
	if (!r)
		r = zero_blocks(fd, 0, label);
	if (!r)
		r = clear_behind_label(fd, label, unit);
	if (!r)
		r = zero_blocks(fd, label + unit, end - label - unit);
	if (fd >= 0)
		close(fd);
	return r;
}

int label_area_clear(struct tier_context *ctx, const struct device *d, uint64_t chunk_sectors, uint64_t label)
{
	int r = label_area_zero(d, chunk_sectors, label, 0);

	ctx->changed = true;
	if (r)
		err(ctx, error_from(-r), "%s: cannot be written: %s.", d->name, strerror(-r));
	return r;
}

static void say_written(const struct set *s, const struct device *d, uint64_t label, const char *command)
{
	char *put_back = bare_label_command(s, d, label);

	err(s->ctx, ERR_CHANGED,
	    "%s: %s was written to after tierctl %s was interrupted, and what the set has of its beginning is older. Nothing was changed. To keep what is on it: %s, and as INTERRUPTED in tierctl-%s(8) says.",
	    s->name, d->name, command, put_back ? put_back : "put back the block of its label", command);
	free(put_back);
}

int label_area_untouched(const struct set *s, const struct device *d, const char *command, uint64_t *at)
{
	char *usage = device_held(d);
	struct tier_label_info label;
	int fd, r;

	if (usage) {
		err(s->ctx, ERR_IN_USE, "%s: %s is %s. Free it first.", s->name, d->name, usage);
		free(usage);
		return -EBUSY;
	}
	fd = device_open(d, O_RDONLY);
	r = fd < 0 || member_find_label(fd, s->uuid, &label) <= 0 ? -EIO : 0;
	if (fd >= 0)
		close(fd);
	if (r) {
		err(s->ctx, ERR_IO, "%s: its label cannot be read.", d->name);
		return r;
	}
	*at = label.slot * TIER_LABEL_SLOT_SIZE;
	r = bare_area_written(s, d);
	if (r > 0)
		say_written(s, d, *at, command);
	else if (r)
		err(s->ctx, error_from(-r),
		    "%s: its label area cannot be compared with what the set has of it: %s.", d->name,
		    strerror(-r));
	return r > 0 ? -ESTALE : r;
}

int label_area_clear_tier(const struct set *s, const struct device *d, const char *command)
{
	uint64_t label;
	int r = label_area_untouched(s, d, command, &label);

	if (r)
		return r;
	r = label_area_zero(d, s->chunk_sectors, label, O_EXCL);
	if (r)
		err(s->ctx, error_from(-r), "%s: cannot be written: %s.", d->name, strerror(-r));
	return r;
}
