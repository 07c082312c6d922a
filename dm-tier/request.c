// SPDX-License-Identifier: GPL-2.0-only
#include "request.h"

#include "kick.h"
#include "missed.h"
#include "publish.h"

#define SCAN	65536	/* chunks looked at in one go */

struct tier_requests {
	struct list_head list;	/* struct tier_request; their chunks never overlap; set->lock */
};

/* Chunks that the request has moved already count: they must not be moved away again. */
bool tier_requested(struct tier_set *set, u32 chunk, u8 id)
{
	struct tier_request *q;
	bool found = false;

	/* Messages add to the list and cut its requests. */
	spin_lock_irq(&set->lock);
	list_for_each_entry(q, &set->requests->list, list)
		found |= q->id == id && !q->dropped && chunk >= q->low && chunk < q->end;
	spin_unlock_irq(&set->lock);
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
static void supersede(struct tier_set *set, u32 first, u32 end, struct tier_request **rest)
{
	struct tier_request *q;

	list_for_each_entry(q, &set->requests->list, list) {
		if (q->end <= first || q->low >= end)
			continue;
		if (q->low < first && q->end > end && *rest) {
			**rest = *q;
			(*rest)->first = max(q->first, end);
			(*rest)->low = end;
			(*rest)->in_flight = 0;
			list_add(&(*rest)->list, &q->list);
			*rest = NULL;
		}
		if (q->low < first) {
			q->end = first;
			q->first = min(q->first, first);
		} else {
			q->low = min(end, q->end);
			q->first = max(q->first, q->low);
		}
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
	supersede(set, first, q->end, &rest);
	list_add_tail(&q->list, &set->requests->list);
	__tier_chunks_may_go(set);
	spin_unlock_irq(&set->lock);
	kfree(rest);
	tier_kick_mover(set);
	return 0;
}

void tier_drop_requests(struct tier_set *set, const struct tier *to)
{
	struct tier_request *q;

	spin_lock_irq(&set->lock);
	list_for_each_entry(q, &set->requests->list, list)
		if (q->id == to->rec.id)
			q->dropped = true;
	__tier_chunks_may_go(set);
	spin_unlock_irq(&set->lock);
}

void tier_bound_requests(struct tier_set *set)
{
	struct tier_request *q;

	list_for_each_entry(q, &set->requests->list, list) {
		q->end = min(q->end, set->nr_chunks);
		q->first = min(q->first, q->end);
	}
}

void tier_free_requests(struct tier_set *set)
{
	struct tier_request *q, *next;

	list_for_each_entry_safe(q, next, &set->requests->list, list) {
		list_del(&q->list);
		kfree(q);
	}
}

bool tier_request_next(struct tier_set *set,
		       int (*start)(struct tier_set *set, struct tier_request *q, u32 chunk),
		       bool *more)
{
	struct tier_request *q, *next;
	unsigned int looked = 0;
	bool idle;
	u32 chunk;
	int r;

	/* Only this work takes requests off the list. */
	spin_lock_irq(&set->lock);
	list_for_each_entry_safe(q, next, &set->requests->list, list) {
		while (q->first < q->end && !q->dropped && set->running && looked++ < SCAN) {
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
			if (!(q->first & 0xfff)) {
				spin_unlock_irq(&set->lock);
				cond_resched();
				spin_lock_irq(&set->lock);
			}
		}
		if ((q->dropped || q->first >= q->end) && !q->in_flight) {
			list_del(&q->list);
			kfree(q);
			__tier_chunks_may_go(set);
		}
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
	if (again)
		list_for_each_entry(q, &set->requests->list, list)
			if (q->id == id && chunk >= q->low && chunk < q->end)
				q->first = min(q->first, chunk);
	spin_unlock_irq(&set->lock);
}

static int init(struct tier_set *set)
{
	INIT_LIST_HEAD(&set->requests->list);
	return 0;
}

const struct tier_set_room tier_request_room = TIER_SET_ROOM(requests, init, NULL);
