/* SPDX-License-Identifier: GPL-2.0-only */
/* Mounted file systems, and swap. */
#ifndef TIERCTL_MOUNTS_H
#define TIERCTL_MOUNTS_H

#include <stdbool.h>
#include <sys/types.h>

struct mount {
	dev_t dev;		/* as stat() reports it for files there */
	bool whole;		/* the root of the file system, not a part of it */
	char *point;
	char *type;
	char *source;		/* in words */
};

struct mounts {
	unsigned int nr;
	struct mount *mount;
};

/* 0 or -1; mounts_free() in any case. */
int mounts_read(struct mounts *list);
void mounts_free(struct mounts *list);

/*
 * The block device of a file system. For a file system with a number of its own, such as btrfs,
 * the device that was mounted. 0 if there is none.
 */
dev_t mount_device(const struct mount *m);
/* The same for the file system of a file, by its path from the root. */
dev_t mounts_device_of(const struct mounts *list, const char *file);

/* A mount of that device, of the file system's root if possible; NULL if there is none. */
const struct mount *mounts_find(const struct mounts *list, dev_t dev);

/* Whether the root of the file system is mounted somewhere. */
bool mounts_have_root(const struct mounts *list, dev_t dev);

/*
 * Opens the root directory of the file system. Returns a file descriptor, or -ENOENT if its root
 * is mounted nowhere or hidden by another mount.
 */
int mount_open_root(const struct mounts *list, dev_t dev);

bool swap_is_on(dev_t dev);

#endif
