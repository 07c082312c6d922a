/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the file system put a file, and every file below a directory. */
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
	bool in_inode;		/* some of it lies in the inode (inline data) */
	bool unplaced;		/* some of it has no place yet (delayed allocation) */
};

/*
 * Of an open file.  sync: what is only in memory is written first, so that it
 * has a place.  0 or -errno: -EOPNOTSUPP if the file system cannot tell, -EXDEV
 * if it says where on another device than its own.  extents_free() in any case.
 */
int extents_read(int fd, bool sync, struct extents *list);
void extents_free(struct extents *list);

struct walk {
	/* Every regular file: open, with its path.  Stops at a non-zero answer. */
	int (*file)(void *context, int fd, const char *path);
	/* Each that could not be opened. */
	void (*failed)(void *context, const char *path, int error);
	void *context;
	uint64_t other_fs;	/* directories that other file systems are mounted on */
};

/*
 * Below the directory that fd is, and no other file system, links not followed.
 * Takes over fd.  path: what it is called.
 */
int walk_directory(struct walk *walk, int fd, const char *path);

#endif
