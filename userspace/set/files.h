/* SPDX-License-Identifier: GPL-2.0-only */
/* From files, directories and block devices to chunks of a set. */
#ifndef TIERCTL_FILES_H
#define TIERCTL_FILES_H

#include "base/context.h"
#include "block/extents.h"
#include "block/mounts.h"
#include "base/progress.h"
#include "base/ranges.h"
#include "set/stack.h"

/* Data for finding files; the sets must outlive it. */
struct finder {
	struct tier_context *ctx;
	struct stack stack;
	struct mounts mounts;
	bool sync;		/* write data that is only in memory first */
	bool empty_too;		/* a file without blocks is no error */
	struct progress progress;
};

void finder_init(struct tier_context *ctx, struct finder *finder, const struct set_list *sets, bool sync);
void finder_free(struct finder *finder);

/* The chunks of a path; where_free() frees it. */
struct where {
	struct set *set;
	struct ranges chunks;	/* settled */
	uint64_t files;		/* that have blocks on the set */
	uint64_t extents;
	uint64_t bytes;		/* their bytes on the set */
	uint64_t elsewhere;	/* their bytes on other devices */
	uint64_t in_inode;	/* files with inline data */
	uint64_t unplaced;	/* files with data that has no place yet */
	uint64_t failed;	/* files and directories that could not be read */
	uint64_t other_fs;	/* directories that other file systems are mounted on */
};

/*
 * All chunks of path: those of a file, of all files below a directory on its file system, or of
 * a block device. named: the set it should lie on, NULL for any. False with the error said, also
 * if no part of it lies on a set; *w is empty then.
 */
bool where_is(struct finder *finder, const char *path, const struct set *named, struct where *w);
/* The same for an open file or directory; path is its name in messages. */
bool where_is_open(struct finder *finder, int fd, const char *path, const struct set *named,
		   struct where *w);
void where_free(struct where *w);

/* Warns about files that were left out. */
void where_warn(struct tier_context *ctx, const struct where *w, const char *path);

#endif
