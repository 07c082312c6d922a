// SPDX-License-Identifier: GPL-2.0-only
/* Why chunks were not moved lately: the last few of any kind, all whose copy failed. */
#include "missed.h"

#include <linux/xarray.h>

#define RING 64

struct tier_missed {
	/* set->lock */
	struct {
		u32 chunk;
		const char *why;
	} ring[RING];
	unsigned int next;

	struct xarray copy_failed;	/* by chunk; its own lock */
};

const char *__tier_missed(struct tier_set *set, u32 chunk)
{
	struct tier_missed *missed = set->missed;
	unsigned int i;

	lockdep_assert_held(&set->lock);
	for (i = 0; i < RING; i++)
		if (missed->ring[i].why && missed->ring[i].chunk == chunk)
			return missed->ring[i].why;
	return tier_copy_failed(set, chunk) ? "io_error" : NULL;
}

static void forget(struct tier_missed *missed, u32 chunk)
{
	unsigned int i;

	for (i = 0; i < RING; i++)
		if (missed->ring[i].chunk == chunk)
			missed->ring[i].why = NULL;
}

void __tier_note_missed(struct tier_set *set, u32 chunk, const char *why)
{
	struct tier_missed *missed = set->missed;

	lockdep_assert_held(&set->lock);
	forget(missed, chunk);
	missed->ring[missed->next].chunk = chunk;
	missed->ring[missed->next].why = why;
	missed->next = (missed->next + 1) % RING;
}

void __tier_forget_missed(struct tier_set *set, u32 chunk)
{
	lockdep_assert_held(&set->lock);
	forget(set->missed, chunk);
	tier_forget_copy_failed(set, chunk);
}

void tier_forget_all_missed(struct tier_set *set)
{
	spin_lock_irq(&set->lock);
	memset(set->missed->ring, 0, sizeof(set->missed->ring));
	spin_unlock_irq(&set->lock);
	xa_destroy(&set->missed->copy_failed);
}

bool tier_note_copy_failed(struct tier_set *set, u32 chunk)
{
	struct xarray *failed = &set->missed->copy_failed;
	unsigned long flags;
	void *r;

	xa_lock_irqsave(failed, flags);
	r = __xa_store(failed, chunk, xa_mk_value(1), GFP_NOWAIT | __GFP_NOWARN);
	xa_unlock_irqrestore(failed, flags);
	return !xa_is_err(r);
}

bool tier_copy_failed(struct tier_set *set, u32 chunk)
{
	return xa_load(&set->missed->copy_failed, chunk);
}

bool tier_forget_copy_failed(struct tier_set *set, u32 chunk)
{
	struct xarray *failed = &set->missed->copy_failed;
	unsigned long flags;
	bool found;

	xa_lock_irqsave(failed, flags);
	found = __xa_erase(failed, chunk);
	xa_unlock_irqrestore(failed, flags);
	return found;
}

static int init(struct tier_set *set)
{
	xa_init_flags(&set->missed->copy_failed, XA_FLAGS_LOCK_IRQ);
	return 0;
}

const struct tier_set_room tier_missed_room = TIER_SET_ROOM(missed, init, NULL);
