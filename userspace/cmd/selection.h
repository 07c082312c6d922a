/* SPDX-License-Identifier: GPL-2.0-only */
/* What the arguments of a command name: chunks by number, or files. */
#ifndef TIERCTL_TARGET_H
#define TIERCTL_TARGET_H

#include "set/files.h"
#include "cmd/options.h"

struct target_path {
	const char *path;
	struct where where;
};

struct target {
	struct set_list list;
	struct set *set;
	struct ranges chunks;	/* of all that was named, settled */
	struct ranges numbered;	/* those named by number, settled */
	unsigned int nr_paths;
	struct target_path *path;
	bool all;		/* nothing but the set was named */
};

enum target_flags {
	TARGET_WHOLE = 1,	/* SET alone means all its chunks */
	TARGET_SYNC = 2,	/* files that are only in memory are written first */
	TARGET_EMPTY = 4,	/* files without blocks will do */
};

/*
 * SET CHUNK[-CHUNK]..., SET PATH... or PATH..., or SET with --offset and
 * --length.  0, or an exit code with the error said; target_free() in any case.
 */
int target_parse(const struct args *args, const char *command, unsigned int flags, struct target *t);
void target_free(struct target *t);

/* Whether a word names a file, directory or block device rather than a set. */
bool is_path(const struct set_list *list, const char *word);

#endif
