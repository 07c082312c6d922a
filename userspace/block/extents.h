/* SPDX-License-Identifier: GPL-2.0-only */
/* The places of a file on its device, and all files below a directory. */
#ifndef TIERCTL_EXTENTS_H
#define TIERCTL_EXTENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct extent {
	uint64_t offset;	/* bytes, of the block device */
	uint64_t length;
};

struct extents {
	unsigned int nr, room;
	struct extent *extent;
	bool in_inode;		/* some data lies in the inode (inline data) */
	bool unplaced;		/* some data has no place yet (delayed allocation) */
};

/*
 * Reads the extents of an open file. sync: data that is only in memory is written first, so that
 * it has a place. 0 or -errno: -EOPNOTSUPP if the file system does not report places, -EXDEV if
 * the places are on another device. Call extents_free() in any case.
 */
int extents_read(int fd, bool sync, struct extents *list);
void extents_free(struct extents *list);

struct walk {
	/*
	 * Called for every regular file: open, with its path. A non-zero answer stops the walk.
	 */
	int (*file)(void *context, int fd, const char *path);
	/* Called for each file that could not be opened. */
	void (*failed)(void *context, const char *path, int error);
	void *context;
	uint64_t other_fs;	/* directories that other file systems are mounted on */
};

/*
 * Walks the directory fd, links not followed, other file systems left out. Closes fd. path: its
 * name.
 */
int walk_directory(struct walk *walk, int fd, const char *path);

#endif
