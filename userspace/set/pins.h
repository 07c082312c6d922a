/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which files of a file system are pinned, so that tierctl pin --refresh can
 * follow them when the file system has moved them.
 *
 * That is kept in a file of the file system itself, in its root: it goes where
 * the disks go, goes away with what it is about, and is no longer than it needs
 * to be.  A file is known by its handle, which stays when it is renamed and is
 * never used again; its path is for messages and for files that were replaced.
 */
#ifndef TIERCTL_PINS_H
#define TIERCTL_PINS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/context.h"
#include "block/mounts.h"
#include "base/ranges.h"

#define PINS_FILE	".tierctl-pins"

struct pin {
	char set[33];		/* UUID, hex */
	unsigned int tier_id;
	char *handle;		/* "TYPE:HEX" */
	char *path;		/* from the root of the file system, "." for it */
	struct ranges chunks;	/* that were pinned for it */
};

struct pins {
	struct tier_context *ctx;
	int root;		/* the root directory of the file system */
	char *where;		/* the file, for messages */
	char *point;		/* where the file system is mounted, "" for / */
	unsigned int nr;
	struct pin *pin;
};

/*
 * Reads those of a mounted file system; a file of another one, a copy of it for
 * example, counts as empty.  False with the error said.  pins_close() in any case.
 */
bool pins_open(struct tier_context *ctx, struct pins *pins, const struct mounts *mounts, dev_t dev);
void pins_close(struct pins *pins);
/* All or nothing, and durable.  False with the error said. */
bool pins_write(struct pins *pins);

/* What to call a path that is kept, for messages; the caller frees. */
char *pins_name(const struct pins *pins, const char *path);

/* Handle and path of an open file as they are kept; false if it has none. */
bool pin_identify(const struct pins *pins, int fd, char **handle, char **path);
/* Index of the entry for a handle, -1 if there is none. */
int pins_find(const struct pins *pins, const char *handle);
/* A new, empty entry. */
struct pin *pins_add(struct pins *pins);
void pins_remove(struct pins *pins, unsigned int i);

/*
 * Opens what an entry is about: by its handle or, if that is gone, by its path.
 * A file descriptor or -errno; -ENOENT: it is gone.  *path is where it is now, or
 * where it was if that cannot be told; the caller frees.
 */
int pin_open(const struct pins *pins, const struct pin *pin, char **path);

/* Chunks of the set that entries other than except pin. */
void pins_chunks(const struct pins *pins, const char *set, int except, struct ranges *chunks);

/* A line of the file, and back; false if it is none. */
struct text;
void pin_to_line(const struct pin *pin, struct text *t);
bool pin_from_line(const char *line, struct pin *pin);
void pin_free(struct pin *pin);

#endif
