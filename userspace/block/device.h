/* SPDX-License-Identifier: GPL-2.0-only */
/* Block devices: their names, sizes and users. */
#ifndef TIERCTL_DEVICE_H
#define TIERCTL_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/context.h"

struct device {
	dev_t dev;
	char *path;		/* for open(): /dev/sdb, /dev/dm-3 */
	char *name;		/* for users: /dev/sdb, vg/lv, /dev/mapper/x */
	uint64_t size;		/* bytes */
	unsigned int logical_block;	/* bytes */
	bool read_only;
};

/* Fills *d, which device_free() frees. -ENOENT, -ENOTBLK, -EIO. */
int device_from_number(dev_t dev, struct device *d);
/* By path, which begins with /, ./ or ../, by VG/LV or by major:minor. */
int device_from_name(const char *name, struct device *d);
/* Says the error that device_from_name() returned. */
void device_not_found(struct tier_context *ctx, const char *name, int error);
void device_copy(struct device *to, const struct device *from);
void device_free(struct device *d);

/* Whether one of the two is a partition of the other. */
bool device_overlaps(const struct device *a, const struct device *b);
/* Whether a disk lies below both, as far as sysfs tells. */
bool devices_share_disk(dev_t a, dev_t b);
/* Whether it is a RAID, of md or of LVM, that survives the loss of a disk. */
bool device_is_mirrored(dev_t dev);

/*
 * Why the device cannot be used exclusively, "mounted on /srv" for example; NULL if it can. The
 * caller frees.
 */
char *device_held(const struct device *d);
struct stat;
/* The same for a file, which only loop devices use; it need not be open. */
char *file_held(const struct stat *st);
/*
 * The same for a device that a command is going to overwrite: nobody may have it open. Waits a
 * moment for programs such as udev that only look at it.
 */
char *device_usage(const struct device *d);
/*
 * The same for a device that a set is going to write to: nobody else may have it open for
 * writing; readers do not matter.
 */
char *device_written(const struct device *d);
/*
 * A process that has the device or a partition of it open, "fio (pid 12)"; with writing, open
 * for writing. NULL if none is found; the caller frees.
 */
char *device_opener(dev_t dev, bool writing);
/* Where the device or a partition of it is mounted, NULL if nowhere; the caller frees. */
char *device_mount_point(dev_t dev);

/* The name for users: vg/lv for a dm device vg-lv. */
char *lv_name_from_dm(const char *dm_name);
/* The reverse: the dm name of VG/LV. */
char *dm_name_from_lv(const char *lv);

/* The text of /sys/dev/block/MAJOR:MINOR/attribute, NULL if there is none; the caller frees. */
char *device_attribute(dev_t dev, const char *attribute);
/* The same as a number, 0 if there is none. */
uint64_t device_attribute_number(dev_t dev, const char *attribute);

/* Calls fn for every block device with a size; stops at the first non-zero answer. */
int devices_for_each(int (*fn)(void *context, dev_t dev), void *context);

/* The first line of a file, of sysfs for one, without its end; NULL if it cannot be read. The caller frees. */
char *read_line(const char *path);

/* Calls fn for every device that is made of this device. */
int device_for_each_holder(dev_t dev, int (*fn)(void *context, dev_t holder), void *context);

/* Calls fn for every device that this device is a part of, or made of. */
int device_for_each_under(dev_t dev, int (*fn)(void *context, dev_t under), void *context);

/* Whether I/O waits because the device, or a device below it, is suspended. */
bool device_waits(dev_t dev);

/* Whether dev is on, or is made of it, through partitions, device-mapper, md and loop devices. */
bool device_stands_on(dev_t dev, dev_t on);

/*
 * Opens the device past the cache for reading, or with O_RDWR
 *  O_EXCL for writing. Returns a file descriptor or -errno.
 */
int device_open(const struct device *d, int flags);

/* Whether device-mapper's UUID of the device begins so. */
bool device_uuid_begins(dev_t dev, const char *prefix);
/* A logical volume, or an inner part of one. */
bool device_is_volume(dev_t dev);

/* Reads len bytes; both multiples of 4096.  buf from block_buffer().  -EIO, -ENODATA past the end. */
int read_blocks(int fd, uint64_t offset, void *buf, size_t len);
void *block_buffer(size_t len);
/* Writes and waits until it is on the disk; 0 or -errno. */
int write_durably(int fd, uint64_t offset, const void *buf, size_t len);
/* The same for zeroes. */
int zero_blocks(int fd, uint64_t offset, uint64_t len);

#endif
