/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds devices that carry the data of a member but are no members: paths of multipath, parts of
 * arrays, devices hidden by other rules. Only this file decides that, and only this file uses
 * libudev.
 */
#ifndef TIERCTL_FILTER_H
#define TIERCTL_FILTER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * What the device is by sysfs or by udev's database: "a path of multipath
 * (DM_MULTIPATH_DEVICE_PATH=1)" for example; NULL if nothing speaks against a member. The caller
 * frees. Neither waits for udevd nor reads the device. *by_type, unless NULL: the only reason is
 * the type that udev has found.
 */
char *filter_reason(dev_t dev, bool *by_type);

/*
 * Whether the device may be a part of that set: false if udev has read the device and found no
 * member, or a member of another set. The contents may have changed since.
 */
bool filter_may_be_of(dev_t dev, const char *set_hex);

#endif
