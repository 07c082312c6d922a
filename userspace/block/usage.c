// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "block/device.h"
#include "dm/dm.h"

/* udev opens a device each time that a writer has closed it. */
#define LOOK_TRIES	20
#define LOOK_MS		100

/*
 * A process that has a device open without O_EXCL, such as a virtual machine or a database, goes
 * on writing to it. Users other than processes are known only to device-mapper.
 */
static char *opened_by(const struct device *d)
{
	char *name = device_attribute(d->dev, "dm/name"), *opener, *text = NULL;
	int count = name ? dm_open_count(name) : -1;

	if (count) {
		opener = device_opener(d->dev, false);
		if (opener)
			text = xasprintf("open by %s", opener);
		else if (count > 0)
			text = xstrdup("in use");
		free(opener);
	}
	free(name);
	return text;
}

static char *written_by(const struct device *d)
{
	char *opener = device_opener(d->dev, true), *text = opener ? xasprintf("open by %s", opener) : NULL;

	free(opener);
	return text;
}

static char *usage(const struct device *d, char *(*used_by)(const struct device *d))
{
	char *text = device_held(d);
	int tries;

	if (text)
		return text;
	text = used_by(d);
	for (tries = 0; text && tries < LOOK_TRIES; tries++) {
		free(text);
		sleep_ms(LOOK_MS);
		text = used_by(d);
	}
	return text;
}

char *device_usage(const struct device *d)
{
	return usage(d, opened_by);
}

char *device_written(const struct device *d)
{
	return usage(d, written_by);
}

bool device_is_mirrored(dev_t dev)
{
	char *level = device_attribute(dev, "md/level");
	bool mirrored = level && strcmp(level, "raid0") && strcmp(level, "linear");
	struct dm_line *lines;
	unsigned int i, nr;

	if (!level && !dm_table_lines(dev, &lines, &nr)) {
		mirrored = nr;
		for (i = 0; i < nr; i++)
			mirrored &= !strcmp(lines[i].type, "mirror") ||
				    (!strcmp(lines[i].type, "raid") && strncmp(lines[i].params, "raid0 ", 6));
		dm_lines_free(lines, nr);
	}
	free(level);
	return mirrored;
}
