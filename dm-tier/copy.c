// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies from tier to tier.
 *
 * dm-kcopyd takes new pages for each copy, and a kernel that clears what it allocates spends
 * as much time on them as on reading.  Here a copy's pages serve the next one, until nothing
 * more is being copied.
 */
#include "copy.h"

#include <linux/mm.h>

#include "kick.h"

#define MOST_ORDER	get_order(SZ_64K)

struct tier_copy {
	struct list_head list;
	struct tier *from, *to;
	sector_t to_sector;
	u32 bytes;
	tier_copied_fn fn;
	void *context;
	struct bio bio;
	unsigned int nr_vecs;
	struct bio_vec vecs[TIER_COPY_SECTORS / PAGE_SECTORS];
};

/* set->lock */
struct tier_copies {
	struct list_head kept;		/* struct tier_copy */
};

static void copy_endio(struct bio *bio);

static void send(struct tier_copy *c, struct tier *t, blk_opf_t opf, sector_t sector)
{
	bio_init(&c->bio, NULL, c->vecs, ARRAY_SIZE(c->vecs), opf);
	c->bio.bi_vcnt = c->nr_vecs;
	c->bio.bi_iter.bi_sector = sector;
	c->bio.bi_iter.bi_size = c->bytes;
	c->bio.bi_end_io = copy_endio;
	tier_post(t, &c->bio);
}

static void copy_endio(struct bio *bio)
{
	struct tier_copy *c = container_of(bio, struct tier_copy, bio);
	bool read = bio_op(bio) == REQ_OP_READ;
	blk_status_t status = bio->bi_status;

	bio_uninit(bio);
	/* Flags of direct I/O: blk-wbt would hold up writeback, and this has a budget. */
	if (read && !status)
		send(c, c->to, REQ_OP_WRITE | REQ_SYNC | REQ_IDLE, c->to_sector);
	else
		c->fn(c->context, !read, status);
}

void tier_copy(struct tier_copy *c, struct tier *from, u64 from_place, struct tier *to,
	       u64 to_place, u32 offset, u32 count, tier_copied_fn fn, void *context)
{
	struct tier_set *set = from->set;

	c->from = from;
	c->to = to;
	c->to_sector = tier_place_sector(set, to_place) + offset;
	c->bytes = to_bytes(count);
	c->fn = fn;
	c->context = context;
	send(c, from, REQ_OP_READ, tier_place_sector(set, from_place) + offset);
}

static void free_copy(struct tier_copy *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_vecs; i++)
		__free_pages(c->vecs[i].bv_page, get_order(c->vecs[i].bv_len));
	kvfree(c);
}

/* Pages in a row make fewer segments, but are taken only if there are some at once. */
static struct tier_copy *new_copy(unsigned int bytes)
{
	struct tier_copy *c = kvzalloc(sizeof(*c), GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
	unsigned int order = MOST_ORDER;

	while (c && bytes) {
		gfp_t gfp = order ? GFP_NOWAIT | __GFP_COMP : GFP_NOIO | __GFP_NORETRY;
		struct page *page = alloc_pages(gfp | __GFP_NOWARN, order);

		if (page) {
			bvec_set_page(&c->vecs[c->nr_vecs++], page, PAGE_SIZE << order, 0);
			bytes -= PAGE_SIZE << order;
		} else if (order) {
			order = 0;
		} else {
			free_copy(c);
			c = NULL;
		}
	}
	return c;
}

struct tier_copy *tier_copy_get(struct tier_set *set)
{
	struct tier_copy *c;

	spin_lock_irq(&set->lock);
	c = list_first_entry_or_null(&set->copies->kept, struct tier_copy, list);
	if (c)
		list_del(&c->list);
	spin_unlock_irq(&set->lock);
	return c ? : new_copy(to_bytes(min(set->chunk_sectors, TIER_COPY_SECTORS)));
}

void __tier_copy_put(struct tier_set *set, struct tier_copy *c)
{
	lockdep_assert_held(&set->lock);
	list_add(&c->list, &set->copies->kept);
}

void tier_copy_shrink(struct tier_set *set)
{
	struct tier_copy *c, *next;
	LIST_HEAD(kept);

	spin_lock_irq(&set->lock);
	list_splice_init(&set->copies->kept, &kept);
	spin_unlock_irq(&set->lock);
	list_for_each_entry_safe(c, next, &kept, list)
		free_copy(c);
}

static int init(struct tier_set *set)
{
	INIT_LIST_HEAD(&set->copies->kept);
	return 0;
}

const struct tier_set_room tier_copy_room = TIER_SET_ROOM(copies, init, tier_copy_shrink);
