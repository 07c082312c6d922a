/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a tool writes to: what it may write to, and that it is left alone on failure. */
#ifndef TIER_TOOLS_OUTPUT_H
#define TIER_TOOLS_OUTPUT_H

#include <sys/stat.h>

#include "../lib/content.h"

/* Whether a file that is missing may be made: in /dev it would be a name misspelt. */
bool output_may_create(const char *path);

/* Whether nothing shows the file, as a loop device does; false with the error said. */
bool output_is_free(const char *path, const struct stat *st);

/* Whether both are one device or file. */
bool output_is(const char *path, const char *other);

/*
 * Writes metadata to a block device that is not in use, or to a file.  A file that is
 * missing or empty gets the size that is recommended.  Nothing is written unless
 * there is room, nor over a tier without --force.  input must be another one.
 * False with the error said.
 */
bool output_metadata(const char *path, const char *input, const struct md_content *c);

#endif
