/* SPDX-License-Identifier: GPL-2.0-only */
/* Other programs, and files that they read. */
#ifndef TIERCTL_PROGRAM_H
#define TIERCTL_PROGRAM_H

#include <stdbool.h>

#include "base/context.h"

/*
 * Runs a program and waits for it. What it prints goes to stderr, as stdout may be a report. 0,
 * or the reason, "failed" if it ended by itself with another exit status than 0.
 */
const char *program_run(const char *const *argv);

/* Writes the whole file or nothing; with --dry-run prints it. False with the error said. */
bool file_write(struct tier_context *ctx, const char *path, const char *text);
/* A file that is not there is no error; with --dry-run only says so. False with the error said. */
bool file_remove(struct tier_context *ctx, const char *path);

#endif
