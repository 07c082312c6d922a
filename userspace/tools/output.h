/* SPDX-License-Identifier: GPL-2.0-only */
/* The output of a tool: checks what may be overwritten; it stays unchanged on failure. */
#ifndef TIER_TOOLS_OUTPUT_H
#define TIER_TOOLS_OUTPUT_H

#include <sys/stat.h>

#include "base/context.h"
#include "format/content.h"

/* Whether a missing file may be made: in /dev it would be a misspelt name. */
bool output_may_create(struct tier_context *ctx, const char *path);

/* Whether no loop device shows the file; false with the error said. */
bool output_is_free(struct tier_context *ctx, const char *path, const struct stat *st);

/*
 * The same for a file that text or a picture is to replace: it may not be a part of a set
 * either.
 */
bool output_may_replace(struct tier_context *ctx, const char *path, const struct stat *st);

/* Whether metadata may overwrite the open device or file; false with the error said. */
bool output_may_overwrite(struct tier_context *ctx, int fd, const char *path);

/* Whether both are one device or file, or one contains the other. */
bool output_is(const char *path, const char *other);

/*
 * Writes metadata to a block device that is not in use, or to a file. A missing or empty file
 * gets the recommended size. Nothing is written if there is no room, nor over a tier, except a
 * device with --force. input must be another file or device. False with the error said.
 */
bool output_metadata(struct tier_context *ctx, const char *path, const char *input, const struct md_content *c);

#endif
