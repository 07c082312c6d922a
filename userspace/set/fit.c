// SPDX-License-Identifier: GPL-2.0-only
#include "set/fit.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "dm-tier/format.h"

/* For a partition, of its disk. */
static char *queue_attribute(dev_t dev, const char *attribute)
{
	char *own = xasprintf("queue/%s", attribute), *disk = xasprintf("../%s", own);
	char *text = device_attribute(dev, own) ?: device_attribute(dev, disk);

	free(own);
	free(disk);
	return text;
}

static bool is_zoned(const struct device *d)
{
	char *zoned = queue_attribute(d->dev, "zoned");
	bool is = zoned && strcmp(zoned, "none");

	free(zoned);
	return is;
}

char *fit_kind(const struct device *d, bool writes)
{
	if (writes && d->read_only)
		return xstrdup("is read-only");
	if (is_zoned(d))
		return xstrdup("is a zoned device, which cannot be written at random");
	if (d->logical_block > TIER_LABEL_SLOT_SIZE)
		return xasprintf("has blocks of %u bytes; there may be %u", d->logical_block, TIER_LABEL_SLOT_SIZE);
	return NULL;
}

char *fit_blocks(const struct device *d, const char *set, unsigned int block)
{
	if (d->logical_block <= block)
		return NULL;
	return xasprintf("has blocks of %u bytes, %s of %u", d->logical_block, set, block);
}

char *fit_size(const struct device *d, uint64_t size)
{
	char was[SIZE_TEXT], is[SIZE_TEXT];

	if (d->size >= size)
		return NULL;
	return xasprintf("has shrunk from %s to %s", format_size(was, size), format_size(is, d->size));
}

void fit_warn(struct tier_context *ctx, const char *name, const struct device *d)
{
	char *offset = device_attribute(d->dev, "alignment_offset"), *block = queue_attribute(d->dev, "physical_block_size");

	if (offset && strcmp(offset, "0"))
		warn(ctx,
		     "%s: does not begin with one of its physical blocks of %s bytes, so writes are slow there. A partition that begins at a multiple of 1 MiB does.",
		     name, block ?: "?");
	free(offset);
	free(block);
}
