/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which devices are not to be taken for members although they carry what a member carries:
 * paths of multipath, members of arrays, whatever else is hidden.  The only place that decides
 * this, and the only user of libudev.
 */
#ifndef TIERCTL_FILTER_H
#define TIERCTL_FILTER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * What the device is by sysfs or by udev's database: "a path of multipath
 * (DM_MULTIPATH_DEVICE_PATH=1)" for example; NULL if nothing is known against it.  The caller
 * frees.  udevd is not waited for, and the device is not read.  *by_type, unless that is NULL:
 * nothing but the type of what udev has found on it speaks against it.
 */
char *filter_reason(dev_t dev, bool *by_type);

/*
 * Whether the device may be a part of that set: false if udev has read it and has found
 * nothing, or another set's.  The contents may have changed since.
 */
bool filter_may_be_of(dev_t dev, const char *set_hex);

#endif
