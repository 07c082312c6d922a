/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernel versions that dm-tier builds for: 6.1, 6.12
 * and 7.x.  Nothing outside this folder asks for the kernel's version.
 */
#ifndef DM_TIER_COMPAT_H
#define DM_TIER_COMPAT_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/device-mapper.h>
#include <linux/srcu.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)	/* before, kernel.h had hex2bin() */
#include <linux/hex.h>
#endif

#ifndef CONFIG_64BIT
#error "dm-tier reads its 64-bit chunk words without a lock and so needs a 64-bit kernel"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
typedef fmode_t tier_open_mode_t;
#define TIER_OPEN_WRITE	FMODE_WRITE
#else
typedef blk_mode_t tier_open_mode_t;
#define TIER_OPEN_WRITE	BLK_OPEN_WRITE
#endif

/*
 * A reader that locks in map() and unlocks in end_io(), in another context.  Sparse expects to
 * find both ends in one function.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
/* There is no name for that yet, and lockdep must not hear of it. */
static inline int tier_srcu_enter(struct srcu_struct *readers)
{
	int idx = __srcu_read_lock(readers);

	__release(readers);
	return idx;
}

static inline void tier_srcu_leave(struct srcu_struct *readers, int idx)
{
	__acquire(readers);
	__srcu_read_unlock(readers, idx);
}
#else
static inline int tier_srcu_enter(struct srcu_struct *readers)
{
	int idx = srcu_down_read(readers);

	__release(readers);
	return idx;
}

static inline void tier_srcu_leave(struct srcu_struct *readers, int idx)
{
	__acquire(readers);
	srcu_up_read(readers, idx);
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
/* "The request is invalid": 6.1 has no such status and gives none of this value. */
#define BLK_STS_INVAL	((__force blk_status_t)19)
#endif

/* Whether a bio does not begin with the first byte of its first page: it is what a split left. */
static inline bool tier_bio_is_rest(const struct bio *bio)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
	return bio->bi_iter.bi_idx || bio->bi_iter.bi_bvec_done;
#else
	return bio->bi_iter.bi_idx || bio->bi_iter.bi_offset;
#endif
}

/* The discard limit a target may set: the core recomputes the soft one. */
static inline void tier_limit_discards(struct queue_limits *limits, u32 sectors)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
	limits->max_discard_sectors = sectors;
#else
	limits->max_hw_discard_sectors = sectors;
#endif
}

/* Whether stacked devices have no alignment in common, which is then forgotten. */
static inline bool tier_take_misaligned(struct queue_limits *limits)
{
	bool misaligned;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
	misaligned = limits->misaligned;
	limits->misaligned = 0;
#else
	misaligned = limits->flags & BLK_FLAG_MISALIGNED;
	limits->flags &= ~BLK_FLAG_MISALIGNED;
#endif
	return misaligned;
}

#endif /* DM_TIER_COMPAT_H */
