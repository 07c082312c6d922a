/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the metadata of a set from user space.  Trusts nothing it reads: every
 * block's checksum, number and sizes are judged before they are used.
 */
#ifndef TIER_LIB_METADATA_H
#define TIER_LIB_METADATA_H

#include "format/pd.h"

/*
 * All functions read from fd, a block device or a file.  0, or a negative errno
 * with *reason set, in words that name no device: -EIO unreadable, -EILSEQ
 * damaged; those of tier_superblock_unpack() from md_read_superblock().
 */
int md_read_superblock(int fd, struct tier_meta_info *info, struct tier_meta_roots *roots,
		       const char **reason);

/* The records of the tiers, in order of id. */
int md_read_tiers(int fd, const struct tier_meta_roots *roots,
		  struct tier_meta_tier tiers[TIER_MAX_TIERS], unsigned int *nr, const char **reason);

/*
 * Calls fn for every chunk, in no particular order; the first non-zero answer is
 * returned, and fn not called again.
 */
int md_read_map(int fd, const struct tier_meta_roots *roots, u64 nr_chunks,
		int (*fn)(void *context, u64 chunk, u64 entry), void *context, const char **reason);

/*
 * Changes the state that the superblock says, and waits until that is on the disk.
 * home: with TIER_STATE_REVERTING and _RETIRED, the id of the tier that takes the set's
 * place.  Of a live set, fd is to be open with O_DIRECT and the set suspended.
 */
int md_set_state(int fd, u32 state, unsigned int home, const char **reason);

#endif
