/* SPDX-License-Identifier: GPL-2.0-only */
/* Arguments of a command that select chunks, by number or by file. */
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
	struct ranges chunks;	/* all selected chunks, settled */
	struct ranges numbered;	/* chunks selected by number, settled */
	unsigned int nr_paths;
	struct target_path *path;
	bool all;		/* only the set was named */
};

enum target_flags {
	TARGET_WHOLE = 1,	/* SET alone means all its chunks */
	TARGET_SYNC = 2,	/* data of files that is only in memory is written first */
	TARGET_EMPTY = 4,	/* files without blocks are allowed */
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
