/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Blocks of 4 KiB, read or written by a bio of their own: past the page cache and past dm-bufio.
 */
#ifndef DM_TIER_BLOCKIO_H
#define DM_TIER_BLOCKIO_H

#include <linux/bio.h>
#include <linux/blkdev.h>

#define TIER_BLOCKIO_SIZE	4096

/*
 * data: from kmalloc, aligned to a block.  bytes: a multiple of a block.
 * opf: REQ_OP_READ or REQ_OP_WRITE with flags.  May sleep.
 */
static inline int tier_blockio_many(struct block_device *bdev, blk_opf_t opf,
				    sector_t sector, void *data, unsigned int bytes)
{
	struct bio_vec bvec;
	struct bio bio;
	int r;

	bio_init(&bio, bdev, &bvec, 1, opf | REQ_SYNC | REQ_META);
	bio.bi_iter.bi_sector = sector;
	__bio_add_page(&bio, virt_to_page(data), bytes, offset_in_page(data));
	r = submit_bio_wait(&bio);
	bio_uninit(&bio);
	return r;
}

/* The same for one block. */
static inline int tier_blockio(struct block_device *bdev, blk_opf_t opf,
			       sector_t sector, void *data)
{
	return tier_blockio_many(bdev, opf, sector, data, TIER_BLOCKIO_SIZE);
}

#endif /* DM_TIER_BLOCKIO_H */
