/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the metadata of a set from user space. Trusts no byte: the checksum, number and sizes of
 * every block are checked before use.
 */
#ifndef TIER_LIB_METADATA_H
#define TIER_LIB_METADATA_H

#include "format/pd.h"

/*
 * All functions read from fd, a block device or a file, from where it stands (lseek) on. They return 0, or a negative errno with
 * *reason set, in words without the device's name: -EIO unreadable, -EILSEQ damaged;
 * md_read_superblock() also returns the errors of tier_superblock_unpack().
 */
int md_read_superblock(int fd, struct tier_meta_info *info, struct tier_meta_roots *roots,
		       const char **reason);

/* The records of the tiers, in order of id. */
int md_read_tiers(int fd, const struct tier_meta_roots *roots,
		  struct tier_meta_tier tiers[TIER_MAX_TIERS], unsigned int *nr, const char **reason);

/*
 * Calls fn for every chunk, in no particular order, until fn returns non-zero, which is
 * returned.
 */
int md_read_map(int fd, const struct tier_meta_roots *roots, u64 nr_chunks,
		int (*fn)(void *context, u64 chunk, u64 entry), void *context, const char **reason);

/*
 * Changes the state in the superblock, and waits until it is on the disk. survivor: in the states
 * TIER_STATE_REVERTING and _RETIRED, the id of the tier that takes the set's place. For an
 * active set, fd must be open with O_DIRECT and the set suspended.
 */
int md_set_state(int fd, u32 state, unsigned int survivor, const char **reason);

/*
 * Changes owner, compat_flags and TIER_SB_CLEAN in the superblock from those of *from to those of
 * *to, and waits until it is on the disk. -ESTALE: the superblock is not as *from says.
 */
int md_set_owner(int fd, const struct tier_meta_info *from, const struct tier_meta_info *to,
		 const char **reason);

#endif
