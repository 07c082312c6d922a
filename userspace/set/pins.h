/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pinned files of a file system, so that tierctl pin --refresh can follow them when the file
 * system has moved them.
 *
 * The list is a file in the root of the file system: it moves with the disks, goes away with the
 * pins, and stays short. A file is identified by its handle, which stays when the file is
 * renamed and is never used again; its path is for messages and for files that were replaced.
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
	char *path;		/* from the root of the file system, "." for the root */
	struct ranges chunks;	/* that were pinned for the file */
};

struct pins {
	struct tier_context *ctx;
	int root;		/* the root directory of the file system */
	char *where;		/* the path of the list, for messages */
	char *point;		/* where the file system is mounted, "" for / */
	unsigned int nr;
	struct pin *pin;
};

/*
 * Reads the list of a mounted file system; the list of another file system, for example of its
 * original, counts as empty. False with the error said. Call pins_close() in any case.
 */
bool pins_open(struct tier_context *ctx, struct pins *pins, const struct mounts *mounts, dev_t dev);
void pins_close(struct pins *pins);
/* Writes all of the list or nothing, durably. False with the error said. */
bool pins_write(struct pins *pins);

/* The name of a path in the list, for messages; the caller frees. */
char *pins_name(const struct pins *pins, const char *path);

/* Handle and path of an open file, as the list has them; false if the file has none. */
bool pin_identify(const struct pins *pins, int fd, char **handle, char **path);
/* Index of the entry for a handle, -1 if there is none. */
int pins_find(const struct pins *pins, const char *handle);
/* A new, empty entry. */
struct pin *pins_add(struct pins *pins);
void pins_remove(struct pins *pins, unsigned int i);

/*
 * Opens the file of an entry: by its handle or, if that is gone, by its path. Returns a file
 * descriptor or -errno; -ENOENT: it is gone. *path is its path now, or its old path if unknown;
 * the caller frees.
 */
int pin_open(const struct pins *pins, const struct pin *pin, char **path);

/* The chunks of the set that are pinned by entries other than except. */
void pins_chunks(const struct pins *pins, const char *set, int except, struct ranges *chunks);

/* To a line of the list, and back; false if the line is no entry. */
struct text;
void pin_to_line(const struct pin *pin, struct text *t);
bool pin_from_line(const char *line, struct pin *pin);
void pin_free(struct pin *pin);

#endif
