// SPDX-License-Identifier: GPL-2.0-only
/*
 * The io work: begins discards, and sends bios on their way that could not be mapped at once,
 * or were held back.
 */
#include "deferred.h"

#include "birth.h"
#include "discard.h"
#include "kick.h"
#include "migrate.h"

int tier_act(struct tier_set *set, struct bio *bio, struct tier_io *io, enum tier_route route)
{
	for (;;) {
		switch (route) {
		case TIER_REMAPPED:
			return DM_MAPIO_REMAPPED;
		case TIER_KILL:
			return DM_MAPIO_KILL;
		case TIER_ENDED:
			return DM_MAPIO_SUBMITTED;
		case TIER_AGAIN:
			route = tier_map_bio(set, bio, io);
			break;
		case TIER_FIRST:
			route = tier_first_write(set, bio, io);
			break;
		case TIER_PARTIAL:
			route = tier_map_partial(set, bio, io);
			break;
		case TIER_GUARD:
			route = tier_guard_write(set, bio);
			if (route == TIER_AGAIN && tier_wait_for_discard(set, bio))
				route = TIER_ENDED;
			break;
		}
	}
}

/* Maps a bio that was held back and sends it on its way. */
static void remap(struct tier_set *set, struct bio *bio)
{
	struct tier_io *io = tier_bio_io(bio);

	switch (tier_act(set, bio, io, tier_map_bio(set, bio, io))) {
	case DM_MAPIO_REMAPPED:
		tier_post(io->tier, bio);
		break;
	case DM_MAPIO_KILL:
		bio_io_error(bio);
		break;
	}
}

static void do_bio(struct tier_set *set, struct bio *bio)
{
	struct tier_io *io = tier_bio_io(bio);

	if (!io->discards_chunks) {
		remap(set, bio);
		return;
	}
	while (!tier_discard_chunks(set, bio))
		if (tier_cancel_migration(set, io->last_left, bio))
			return;
}

static void do_deferred(struct tier_set *set)
{
	struct bio_list bios;
	struct bio *bio;

	spin_lock_irq(&set->lock);
	bios = set->deferred;
	bio_list_init(&set->deferred);
	spin_unlock_irq(&set->lock);

	while ((bio = tier_next_crowded(set)))
		remap(set, bio);
	while ((bio = bio_list_pop(&bios)))
		do_bio(set, bio);
}

static void do_io(struct work_struct *work)
{
	struct tier_set *set = container_of(work, struct tier_set, io_work);

	do_deferred(set);
	wake_up(&set->idle_wait);
}

void tier_deferred_init(struct tier_set *set)
{
	INIT_WORK(&set->io_work, do_io);
	bio_list_init(&set->deferred);
	bio_list_init(&set->starved);
	bio_list_init(&set->undecided);
}
