/* SPDX-License-Identifier: GPL-2.0-only */
/* Signatures that libblkid finds on a device. */
#ifndef TIERCTL_SIGNATURE_H
#define TIERCTL_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The contents of the device, 'xfs "photos", gpt partition table' for example; NULL if nothing
 * is known. The caller frees. *error is -EIO if the device could not be read, else 0.
 */
char *signatures_find(const char *path, int *error);

/* The first signature behind the first so many bytes, and the offset of its magic number. */
char *signatures_beyond(const char *path, uint64_t bytes, uint64_t *at, int *error);

/* The first signature within the first so many bytes. */
char *signatures_within(const char *path, uint64_t bytes, int *error);

/* Whether one of those beyond is an array's, md's for example: it is a part of that. */
bool signatures_array(const char *path, uint64_t bytes);

/* A file system or encrypted data that begins in the first so many bytes; NULL for none. */
char *signatures_data(const char *path, uint64_t bytes);

/* Wipes all signatures; fd is open for writing. */
int signatures_wipe(int fd);

#endif
