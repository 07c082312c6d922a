/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading blocks of metadata from a device or a file, in large pieces. */
#ifndef TIER_LIB_SOURCE_H
#define TIER_LIB_SOURCE_H

#include "format/pd.h"

struct md_source {
	int fd;			/* may be O_DIRECT; belongs to the caller */
	u64 base;		/* bytes before the first block */
	u64 nr_blocks;
	const void *superblock;	/* used in place of block 0, unless NULL */
	u8 *piece;
};

/* The metadata begins where the file stands. 0 or -errno: -EIO if the size is unknown. */
int md_source_init(struct md_source *src, int fd);
void md_source_free(struct md_source *src);

/* Reads one block into data, which is aligned.  -EIO, -ENODATA past the end. */
int md_source_read(struct md_source *src, u64 block, void *data);

/* A block that a node points to, and the keys below it, as the node says. */
struct md_ref {
	u64 block;
	u64 first, end;		/* keys from first to end - 1 */
	bool fresh;		/* the first reference to the block */
};

struct md_refs {
	struct md_ref *ref;
	size_t nr, room;
};

void md_refs_add(struct md_refs *refs, const struct md_ref *ref);
void md_refs_free(struct md_refs *refs);

/*
 * Sorts by block and calls fn for each block. data is NULL if the block cannot be read, and
 * valid until fn returns.
 */
void md_source_read_all(struct md_source *src, struct md_refs *refs,
			void (*fn)(void *context, const struct md_ref *ref, const void *data),
			void *context);

#endif
