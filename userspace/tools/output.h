/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a tool writes to: what it may write to, and that it is left alone on failure. */
#ifndef TIER_TOOLS_OUTPUT_H
#define TIER_TOOLS_OUTPUT_H

#include <sys/stat.h>

#include "base/context.h"
#include "format/content.h"

/* Whether a file that is missing may be made: in /dev it would be a name misspelt. */
bool output_may_create(struct tier_context *ctx, const char *path);

/* Whether nothing shows the file, as a loop device does; false with the error said. */
bool output_is_free(struct tier_context *ctx, const char *path, const struct stat *st);

/* The same of one that text or a picture is to replace: it may be no part of a set, either. */
bool output_may_replace(struct tier_context *ctx, const char *path, const struct stat *st);

/* Whether metadata may be written over what the open device or file is; false with the error said. */
bool output_may_overwrite(struct tier_context *ctx, int fd, const char *path);

/* Whether both are one device or file, or one is a part of the other. */
bool output_is(const char *path, const char *other);

/*
 * Writes metadata to a block device that is not in use, or to a file.  A file that is
 * missing or empty gets the size that is recommended.  Nothing is written unless
 * there is room, nor over a tier, but for a device with --force.  input must be another
 * one.  False with the error said.
 */
bool output_metadata(struct tier_context *ctx, const char *path, const char *input, const struct md_content *c);

#endif
