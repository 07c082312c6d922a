// SPDX-License-Identifier: GPL-2.0-only
#include "request.h"

#include "kick.h"
#include "missed.h"
#include "publish.h"

#define SCAN	65536	/* looks in one go */

/* set->lock */
struct tier_requests {
	struct list_head list;		/* struct tier_request, the oldest first */
	struct rb_root tree;		/* those that have chunks, by low: they never overlap */
	u64 nr;				/* so far */
	u64 dropped[256];		/* by id of the tier: requests up to this number are */
};

static bool dropped(struct tier_set *set, const struct tier_request *q)
{
	return q->nr <= set->requests->dropped[q->id];
}

/* The request that has the chunk or, if none has it, the first one above. */
static struct tier_request *__find(struct tier_set *set, u32 chunk)
{
	struct rb_node *node = set->requests->tree.rb_node;
	struct tier_request *q, *found = NULL;

	lockdep_assert_held(&set->lock);
	while (node) {
		q = rb_entry(node, struct tier_request, node);
		if (chunk < q->end)
			found = q;
		node = chunk < q->end ? node->rb_left : node->rb_right;
	}
	return found;
}

static bool lies_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct tier_request, node)->low <
	       rb_entry(b, struct tier_request, node)->low;
}

static void __insert(struct tier_set *set, struct tier_request *q)
{
	rb_add(&q->node, &set->requests->tree, lies_before);
}

/* The request loses its last chunk, or goes. */
static void __erase(struct tier_set *set, struct tier_request *q)
{
	if (!RB_EMPTY_NODE(&q->node))
		rb_erase(&q->node, &set->requests->tree);
	RB_CLEAR_NODE(&q->node);
}

/* Chunks that the request has moved already count: they must not be moved away again. */
bool tier_requested(struct tier_set *set, u32 chunk, u8 id)
{
	struct tier_request *q;
	unsigned long flags;
	bool found;

	if (list_empty(&set->requests->list))
		return false;
	/* Messages add requests and cut them. */
	spin_lock_irqsave(&set->lock, flags);
	q = __find(set, chunk);
	found = q && q->low <= chunk && q->id == id && !dropped(set, q);
	spin_unlock_irqrestore(&set->lock, flags);
	return found;
}

bool __tier_requests_pending(struct tier_set *set)
{
	lockdep_assert_held(&set->lock);
	return !list_empty(&set->requests->list);
}

/*
 * The newest request wins: its chunks are taken off older ones, also those that these have
 * moved already (from low on).  So requests never overlap.  At most one is cut in two, and
 * *rest becomes its upper part.
 */
static void __supersede(struct tier_set *set, u32 first, u32 end, struct tier_request **rest)
{
	unsigned int nr = 0;
	struct tier_request *q;

	while ((q = __find(set, first)) && q->low < end) {
		if (q->low < first && q->end > end) {
			**rest = *q;
			(*rest)->first = max(q->first, end);
			(*rest)->low = end;
			(*rest)->in_flight = 0;
			list_add(&(*rest)->list, &q->list);
			__insert(set, *rest);
			*rest = NULL;
		}
		if (q->low < first) {
			q->end = first;
			q->first = min(q->first, first);
		} else if (q->end > end) {
			q->low = end;
			q->first = max(q->first, end);
		} else {
			q->low = q->end;
			q->first = q->end;
			__erase(set, q);
		}
		if (!(++nr % TIER_MOST_HELD))
			__tier_relax(set);
	}
}

int tier_request_migration(struct tier_set *set, u32 first, u32 nr, struct tier *to,
			   enum tier_reason reason)
{
	struct tier_request *q = kzalloc(sizeof(*q), GFP_KERNEL);
	struct tier_request *rest = kzalloc(sizeof(*rest), GFP_KERNEL);

	if (!q || !rest) {
		kfree(q);
		kfree(rest);
		return -ENOMEM;
	}
	*q = (struct tier_request){
		.first = first, .low = first, .end = first + nr, .id = to->rec.id, .reason = reason,
	};
	spin_lock_irq(&set->lock);
	__supersede(set, first, q->end, &rest);
	q->nr = ++set->requests->nr;
	list_add_tail(&q->list, &set->requests->list);
	__insert(set, q);
	__tier_chunks_may_go(set);
	spin_unlock_irq(&set->lock);
	kfree(rest);
	tier_kick_mover(set);
	return 0;
}

void tier_drop_requests(struct tier_set *set, const struct tier *to)
{
	spin_lock_irq(&set->lock);
	set->requests->dropped[to->rec.id] = set->requests->nr;
	__tier_chunks_may_go(set);
	spin_unlock_irq(&set->lock);
}

void tier_bound_requests(struct tier_set *set)
{
	struct tier_request *q;

	list_for_each_entry(q, &set->requests->list, list) {
		q->end = min(q->end, set->nr_chunks);
		q->first = min(q->first, q->end);
		if (q->low >= q->end)
			__erase(set, q);
	}
}

void tier_free_requests(struct tier_set *set)
{
	struct tier_request *q, *next;

	list_for_each_entry_safe(q, next, &set->requests->list, list) {
		list_del(&q->list);
		kfree(q);
	}
	set->requests->tree = RB_ROOT;
}

/* Passes over chunks for which there is nothing to do; whether there were any. */
static bool __pass_over(struct tier_set *set, struct tier_request *q)
{
	u32 begin = q->first;

	while (q->first < q->end && q->first - begin < TIER_MOST_HELD &&
	       tier_request_met(q, q->first, tier_get_word(set, q->first)))
		q->first++;
	return q->first != begin;
}

bool tier_request_next(struct tier_set *set,
		       int (*start)(struct tier_set *set, struct tier_request *q, u32 chunk),
		       bool *more)
{
	struct tier_request *q, *next;
	unsigned int looked = 0, nr = 0;
	bool idle;
	u32 chunk;
	int r;

	/* Only this work takes requests off the list. */
	spin_lock_irq(&set->lock);
	list_for_each_entry_safe(q, next, &set->requests->list, list) {
		while (q->first < q->end && !dropped(set, q) && set->running &&
		       looked++ < SCAN) {
			if (__pass_over(set, q)) {
				__tier_relax(set);
				continue;
			}
			chunk = q->first;
			spin_unlock_irq(&set->lock);
			r = start(set, q, chunk);
			spin_lock_irq(&set->lock);
			if (r == -EAGAIN || r == -ENOMEM)
				break;
			/* Unless a newer request has taken the chunk away. */
			if (q->first == chunk)
				q->first++;
			if (!r) {
				spin_unlock_irq(&set->lock);
				return true;
			}
			if (r != -ENOENT) {
				set->failed++;
				__tier_note_missed(set, chunk, r == -ENOSPC ?
						   "tier_full" : "tier_unusable");
			}
			if (!(q->first & 0xfff))
				__tier_relax(set);
		}
		if ((dropped(set, q) || q->first >= q->end) && !q->in_flight) {
			__erase(set, q);
			list_del(&q->list);
			kfree(q);
			__tier_chunks_may_go(set);
		}
		/* What is next stays in the list: only this work takes requests off. */
		if (!(++nr % TIER_MOST_HELD))
			__tier_relax(set);
	}
	*more = looked > SCAN;
	idle = list_empty(&set->requests->list);
	spin_unlock_irq(&set->lock);
	if (idle)
		tier_drop_owners(set);
	return false;
}

/*
 * A move that a suspend or full metadata has stopped is tried again, by that part of the
 * request that has the chunk if the request was cut in two.
 */
void tier_request_ended(struct tier_set *set, struct tier_request *q, u32 chunk, bool again)
{
	u8 id = q->id;

	spin_lock_irq(&set->lock);
	q->in_flight--;
	q = again ? __find(set, chunk) : NULL;
	if (q && q->low <= chunk && q->id == id)
		q->first = min(q->first, chunk);
	spin_unlock_irq(&set->lock);
}

static int init(struct tier_set *set)
{
	INIT_LIST_HEAD(&set->requests->list);
	set->requests->tree = RB_ROOT;
	return 0;
}

const struct tier_set_room tier_request_room = TIER_SET_ROOM(requests, init, NULL);
