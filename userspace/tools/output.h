/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a tool writes to: what it may write to, and that it is left alone on failure. */
#ifndef TIER_TOOLS_OUTPUT_H
#define TIER_TOOLS_OUTPUT_H

#include "../lib/content.h"

/*
 * Writes metadata to a block device that is not in use, or to a file.  A file that is
 * missing or empty gets the size that is recommended.  Nothing is written unless
 * there is room.  input, which may be NULL, must be another one.  False with the
 * error said.
 */
bool output_metadata(const char *path, const char *input, const struct md_content *c);

#endif
