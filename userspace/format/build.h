/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes metadata anew, from contents in memory. */
#ifndef TIER_LIB_BUILD_H
#define TIER_LIB_BUILD_H

#include "format/content.h"

/* 4 KiB blocks that the kernel wants at least for so many chunks. */
u64 md_build_needs(u64 nr_chunks);
/* Whether metadata, which has at most a fixed number of blocks, can hold so many chunks. */
bool md_build_fits(u64 nr_chunks);

/*
 * Writes metadata to fd, which has nr_blocks blocks, at least md_build_needs(). The old
 * superblock is wiped first. The new superblock is written last, when all else is on stable
 * storage. Returns 0, or -errno, after which there is no superblock.
 */
int md_build(int fd, u64 nr_blocks, const struct md_content *c);

#endif
