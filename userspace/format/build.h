/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes metadata anew, from contents in memory. */
#ifndef TIER_LIB_BUILD_H
#define TIER_LIB_BUILD_H

#include "format/content.h"

/* 4 KiB blocks: what the kernel wants at least for so many chunks. */
u64 md_build_needs(u64 nr_chunks);
/* Whether metadata, which has no room for more than so many blocks, can hold so many chunks. */
bool md_build_fits(u64 nr_chunks);

/*
 * Writes to fd, open for writing, with so many blocks, at least md_build_needs() of
 * them.  The superblock comes last, when all else is on stable storage; the one
 * that was there is wiped first.  0 or -errno, after which no superblock is there.
 */
int md_build(int fd, u64 nr_blocks, const struct md_content *c);

#endif
