/* SPDX-License-Identifier: GPL-2.0-only */
/* What libblkid knows of a device's content. */
#ifndef TIERCTL_SIGNATURE_H
#define TIERCTL_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What the device carries, 'xfs "photos", gpt partition table' for example;
 * NULL for nothing known.  The caller frees.  *error is -EIO when it could not
 * be read, else 0.
 */
char *signatures_find(const char *path, int *error);

/* The first that does not lie in the first so many bytes, and where its magic number is. */
char *signatures_beyond(const char *path, uint64_t bytes, uint64_t *at, int *error);

/* The first that does. */
char *signatures_within(const char *path, uint64_t bytes, int *error);

/* Whether one of those beyond is an array's, md's for example: it is a part of that. */
bool signatures_array(const char *path, uint64_t bytes);

/* A file system or encrypted data that begins in the first so many bytes; NULL for none. */
char *signatures_data(const char *path, uint64_t bytes);

/* Takes them all away; fd open for writing. */
int signatures_wipe(int fd);

#endif
