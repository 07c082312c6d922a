// SPDX-License-Identifier: GPL-2.0-only
#include "block/filter.h"

#include <libudev.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "block/device.h"

/* A part of another kind of device; our rules for udev have the same names. */
static bool is_member_type(const char *type, const char *usage)
{
	static const char *const others[] = { "bcache", "ceph_bluestore", "DM_snapshot_cow", "drbd", "vdo" };
	size_t len = strlen(type), end = strlen("_member");
	unsigned int i;

	/* Set by dm-tier's own rules for udev */
	if (!strcmp(type, "dm_tier_member"))
		return false;
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(type, others[i]))
			return true;
	return (usage && !strcmp(usage, "raid")) || (len > end && !strcmp(type + len - end, "_member"));
}

static bool is_set(struct udev_device *d, const char *key, const char *value)
{
	const char *is = udev_device_get_property_value(d, key);

	return is && !strcmp(is, value);
}

static bool has(struct udev_device *d, const char *key)
{
	const char *is = udev_device_get_property_value(d, key);

	return is && *is;
}

/*
 * A file system is no reason: after convert the database shows the old file system until udev
 * looks again. Values that dm-tier's own rules have set are no reason either. Nor is
 * SYSTEMD_READY=0 on a crypt device without a file system, or on a btrfs whose other devices are
 * missing.
 */
static char *reason_by_udev(struct udev_device *d, bool *by_type)
{
	const char *type = udev_device_get_property_value(d, "ID_FS_TYPE");
	const char *uuid = udev_device_get_property_value(d, "DM_UUID");
	bool ours = has(d, "DM_TIER_ROLE") || has(d, "DM_TIER_HIDDEN");

	if (is_set(d, "DM_MULTIPATH_DEVICE_PATH", "1"))
		return xstrdup("a path of multipath (DM_MULTIPATH_DEVICE_PATH=1)");
	if (type && is_member_type(type, udev_device_get_property_value(d, "ID_FS_USAGE"))) {
		*by_type = true;
		return xasprintf("part of something else (ID_FS_TYPE=%s)", type);
	}
	/* Not while LVM makes a volume, or has it suspended. */
	if (!ours && is_set(d, "DM_UDEV_DISABLE_OTHER_RULES_FLAG", "1") && !is_set(d, "DM_NOSCAN", "1") &&
	    !is_set(d, "DM_SUSPENDED", "1"))
		return xstrdup("hidden (DM_UDEV_DISABLE_OTHER_RULES_FLAG=1)");
	if (!ours && is_set(d, "SYSTEMD_READY", "0") && !is_set(d, "ID_BTRFS_READY", "0") &&
	    (!uuid || strncmp(uuid, "CRYPT-", 6)))
		return xstrdup("hidden (SYSTEMD_READY=0)");
	return NULL;
}

/*
 * A device that multipath or md holds belongs to it, even if the map or the array cannot be read
 * now.
 */
static int reason_by_holder(void *context, dev_t holder)
{
	char *uuid = device_attribute(holder, "dm/uuid"), *level = device_attribute(holder, "md/level");
	bool map = uuid && !strncmp(uuid, "mpath-", 6);
	struct device d;

	if ((map || level) && !device_from_number(holder, &d)) {
		*(char **)context = xasprintf("a %s of %s", map ? "path" : "member", d.name);
		device_free(&d);
	}
	free(level);
	free(uuid);
	return *(char **)context != NULL;
}

/*
 * The entry in udev's database, NULL if there is none. Without udevd the database is not kept up
 * to date.
 */
static struct udev_device *look_up(dev_t dev)
{
	struct udev *udev = access("/run/udev/control", F_OK) ? NULL : udev_new();
	struct udev_device *d = udev ? udev_device_new_from_devnum(udev, 'b', dev) : NULL;

	udev_unref(udev);
	return d;
}

/* A partition belongs to the owner of its disk. */
static char *reason_by_sysfs(dev_t dev)
{
	char *whole = device_attribute_number(dev, "partition") ? device_attribute(dev, "../dev") : NULL;
	char *reason = NULL;
	struct device d;

	device_for_each_holder(dev, reason_by_holder, &reason);
	if (!reason && whole && !device_from_name(whole, &d)) {
		device_for_each_holder(d.dev, reason_by_holder, &reason);
		device_free(&d);
	}
	free(whole);
	return reason;
}

char *filter_reason(dev_t dev, bool *by_type)
{
	char *reason = reason_by_sysfs(dev);
	struct udev_device *d;
	bool type = false;

	if (by_type)
		*by_type = false;
	if (reason)
		return reason;
	d = look_up(dev);
	if (d)
		reason = reason_by_udev(d, by_type ? by_type : &type);
	udev_device_unref(d);
	return reason;
}

bool filter_may_be_of(dev_t dev, const char *set_hex)
{
	struct udev_device *d = look_up(dev);
	bool may = true;

	if (d && has(d, "DM_TIER_SET"))
		may = is_set(d, "DM_TIER_SET", set_hex);
	else if (d)
		may = !is_set(d, "TIER_ID_READ", "1");
	udev_device_unref(d);
	return may;
}
