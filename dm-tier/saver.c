// SPDX-License-Identifier: GPL-2.0-only
/*
 * Heat in memory and in the metadata, block by block: the counters that one block of the metadata
 * holds.
 *
 * After an activation the blocks are read in order, some at a time, and what accesses have added
 * to the counters meanwhile is kept.  A block that was not read is never written.
 *
 * While heat changes, a hand goes round all blocks once in heat_interval and saves those that
 * have changed, in steps of some blocks and a commit.  A FLUSH waits for one such step at most.
 * Each step also saves the wear of tiers, and one is made in each heat_interval even if no policy
 * notes heat.
 */
#include "saver.h"

#include "commit.h"
#include "gauge.h"
#include "kick.h"
#include "metadata/metadata.h"
#include "wear.h"

#define READ_PAUSE	msecs_to_jiffies(20)
#define SAVE_PAUSE	msecs_to_jiffies(100)	/* at least */
#define WAKE_PAUSE	(30 * HZ)	/* between looks whether a tier is awake again */

struct tier_saver {
	u32 nr_blocks;
	u32 nr_read;			/* these, from the first on; set->policy_lock to write */
	bool reading;			/* goes on */
	unsigned int quiet_steps;	/* since heat has changed; of the work */
	bool unsaved;			/* a round has not ended; of the work */
	bool asleep;			/* a tier is; of the work */
	bool behind;			/* no round has ended since the disk slept */
	u32 found[TIER_HEAT_PER_BLOCK];	/* of the work, or while suspended */

	/* set->lock */
	unsigned long pause;		/* that the work was queued with */
	bool busy;

	/* set->commit */
	u32 hand;			/* the block to look at next */
	unsigned int nr_listed;
	u32 list[TIER_HEAT_BATCH];		/* blocks to be written */
};

static unsigned int nr_steps(const struct tier_saver *s)
{
	return DIV_ROUND_UP(s->nr_blocks, TIER_HEAT_BATCH);
}

/* ---- reading ---- */

static u32 sum(u32 a, u32 b)
{
	return min(TIER_HEAT_READS(a) + TIER_HEAT_READS(b), 0xffffU) |
	       min(TIER_HEAT_WRITES(a) + TIER_HEAT_WRITES(b), 0xffffU) << 16;
}

/* An error: the rest cannot be read. */
static int read_blocks(struct tier_set *set)
{
	struct tier_saver *s = set->saver;
	u32 end = min(s->nr_read + TIER_HEAT_BATCH, s->nr_blocks), i, *heat;
	int r = 0;

	/* A suspend waits for one block, not for the rest of a slow device's. */
	while (s->nr_read < end && !(s->busy && !READ_ONCE(set->running))) {
		r = tier_metadata_read_heat(set->metadata, s->nr_read, s->found);
		if (r)
			break;
		mutex_lock(&set->policy_lock);
		heat = set->heat + s->nr_read * TIER_HEAT_PER_BLOCK;
		for (i = 0; i < TIER_HEAT_PER_BLOCK; i++)
			heat[i] = sum(heat[i], s->found[i]);
		WRITE_ONCE(s->nr_read, s->nr_read + 1);
		mutex_unlock(&set->policy_lock);
	}
	if (r)
		DMERR("%s: heat cannot be read (%d); from chunk %llu on it begins anew, unsaved",
		      dm_device_name(set->md), r, (u64)s->nr_read * TIER_HEAT_PER_BLOCK);
	WRITE_ONCE(s->reading, !r && s->nr_read < s->nr_blocks);
	if (!s->reading)
		tier_kick_mover(set);
	return r;
}

bool tier_saver_reads(struct tier_set *set)
{
	return READ_ONCE(set->saver->reading);
}

void tier_saver_end(struct tier_set *set)
{
	vfree(set->heat);
	set->heat = NULL;
	vfree(set->heat_blocks);
	set->heat_blocks = NULL;
	set->saver->nr_blocks = 0;
	set->saver->nr_read = 0;
	set->saver->reading = false;
	set->saver->unsaved = false;
}

/* What is in memory moves along. */
static int resize(struct tier_set *set, u32 nr)
{
	struct tier_saver *s = set->saver;
	u32 kept = min(nr, s->nr_blocks), nr_read = min(nr, s->nr_read);
	const size_t size = sizeof(*set->heat) * TIER_HEAT_PER_BLOCK;
	u32 *heat = vzalloc(array_size(nr, size));
	u8 *blocks = vzalloc(nr);

	if (!heat || !blocks) {
		vfree(heat);
		vfree(blocks);
		return -ENOMEM;
	}
	if (kept) {
		memcpy(heat, set->heat, kept * size);
		memcpy(blocks, set->heat_blocks, kept);
	}
	tier_saver_end(set);
	set->heat = heat;
	set->heat_blocks = blocks;
	s->nr_blocks = nr;
	s->nr_read = nr_read;
	s->hand = 0;
	return 0;
}

int tier_saver_begin(struct tier_set *set, u64 nr_chunks)
{
	u64 nr = max(nr_chunks, set->info.nr_chunks);
	u32 nr_blocks = DIV_ROUND_UP_ULL(nr, TIER_HEAT_PER_BLOCK);
	struct tier_saver *s = set->saver;
	int r = 0;

	if (nr_blocks != s->nr_blocks)
		r = resize(set, nr_blocks);
	if (r)
		return r;
	/* Chunks that a shorter set has lost come back cold. */
	memset(set->heat + nr, 0,
	       ((u64)nr_blocks * TIER_HEAT_PER_BLOCK - nr) * sizeof(*set->heat));
	if (!set->active)
		return read_blocks(set);
	/* A set in use reads on in the background, and does not wait for it. */
	WRITE_ONCE(s->reading, s->nr_read < s->nr_blocks);
	return 0;
}

/* ---- saving ---- */

/*
 * Writes the blocks of the list.  A counter that changes meanwhile marks its block again.  Not
 * inlined, as the crash tests watch it.
 */
static noinline int write_list(struct tier_set *set)
{
	struct tier_saver *s = set->saver;
	unsigned int i, nr = s->nr_listed;
	int r;

	s->nr_listed = 0;
	mutex_lock(&set->policy_lock);
	for (i = 0; i < nr; i++)
		set->heat_blocks[s->list[i]] = 0;
	mutex_unlock(&set->policy_lock);
	r = tier_metadata_write_heat(set->metadata, s->list, nr, set->heat);
	for (i = 0; r && i < nr; i++)
		WRITE_ONCE(set->heat_blocks[s->list[i]], 1);
	return r;
}

/* Looks at so many blocks, from the hand on, and saves those that have changed. */
static int save_blocks(struct tier_set *set, u32 look)
{
	struct tier_saver *s = set->saver;
	unsigned int saved = 0;
	int r = 0;

	lockdep_assert_held(&set->commit);
	if (tier_set_frozen(set))
		return -EROFS;
	for (; look && !r && saved < TIER_HEAT_BATCH; look--) {
		u32 block = s->hand;

		if (READ_ONCE(set->heat_blocks[block]) && block < READ_ONCE(s->nr_read)) {
			s->list[s->nr_listed++] = block;
			saved++;
		}
		s->hand = block + 1 < s->nr_blocks ? block + 1 : 0;
		/* A list is in order. */
		if (!s->hand && s->nr_listed)
			r = write_list(set);
	}
	if (!r && s->nr_listed)
		r = write_list(set);
	if (!r) {
		r = tier_wear_store(set);
		saved += r > 0;
		/* The heat is committed also if the wear cannot be stored now. */
		if (r > 0 || !tier_metadata_doomed(set->metadata))
			r = 0;
	}
	/* Where the room ends, what was written is committed. */
	if (saved && (!r || r == -ENOSPC) && !tier_metadata_doomed(set->metadata))
		r = tier_metadata_commit(set->metadata, false) ? : r;
	tier_settle_error(set, r);
	tier_watch_space(set);
	return r;
}

void tier_saver_save(struct tier_set *set)
{
	struct tier_saver *s = set->saver;
	unsigned int steps = s->behind ? nr_steps(s) : 1;

	while (steps-- && !save_blocks(set, s->nr_blocks))
		;
	s->behind = false;
}

/* One step of the round. */
static void save_step(struct tier_set *set)
{
	struct tier_saver *s = set->saver;
	int r;

	s->quiet_steps++;
	if (READ_ONCE(set->heat_changed)) {
		WRITE_ONCE(set->heat_changed, false);
		s->quiet_steps = 0;
	}
	mutex_lock(&set->commit);
	r = save_blocks(set, min_t(u32, s->nr_blocks, TIER_HEAT_BATCH));
	mutex_unlock(&set->commit);
	if (r)
		s->quiet_steps = 0;
	WRITE_ONCE(s->unsaved, s->quiet_steps <= nr_steps(s));
	s->behind &= s->unsaved;
}

/*
 * Looks which tiers sleep.  True: the metadata lies on the disk of one, which a commit would wake.
 * The policy may move chunks of those that wake up.
 */
static bool disk_sleeps(struct tier_set *set)
{
	struct gendisk *disk = tier_metadata_bdev(set->metadata)->bd_disk;
	bool asleep = false, disk_asleep = false;
	unsigned int rank;

	for (rank = 0; rank < set->nr_tiers; rank++) {
		struct tier *t = set->tiers[rank];

		if (!t->bdev || !tier_asleep(t))
			continue;
		asleep = true;
		disk_asleep |= t->bdev->bd_disk == disk;
	}
	if (set->saver->asleep && !asleep)
		tier_kick_mover(set);
	WRITE_ONCE(set->saver->asleep, asleep);
	return disk_asleep;
}

/* ---- the work ---- */

/* With the lock held: a suspend ends what was queued before. */
static void __queue(struct tier_set *set)
{
	struct tier_saver *s = set->saver;
	unsigned long pause = READ_PAUSE;

	lockdep_assert_held(&set->lock);
	if (!set->running)
		return;
	if (!READ_ONCE(s->reading)) {
		pause = tier_tunable(set, TIER_TUNABLE_HEAT_INTERVAL) * HZ;
		if (READ_ONCE(set->heat_changed) || READ_ONCE(s->unsaved))
			pause = max(pause / nr_steps(s), SAVE_PAUSE);
		if (READ_ONCE(s->behind))
			pause = READ_ONCE(s->asleep) ? WAKE_PAUSE : SAVE_PAUSE;
		else if (READ_ONCE(s->asleep))
			pause = min_t(unsigned long, pause, WAKE_PAUSE);
	}
	/* The interval may have become shorter. */
	if (pause < s->pause)
		mod_delayed_work(set->commit_wq, &set->saver_work, pause);
	else
		queue_delayed_work(set->commit_wq, &set->saver_work, pause);
	s->pause = pause;
}

void tier_saver_watch(struct tier_set *set)
{
	if (!READ_ONCE(set->saver->reading) && tier_set_frozen(set))
		return;
	spin_lock_irq(&set->lock);
	__queue(set);
	spin_unlock_irq(&set->lock);
}

bool tier_saver_busy(struct tier_set *set)
{
	return READ_ONCE(set->saver->busy);
}

static void do_saver(struct work_struct *work)
{
	struct tier_set *set = container_of(work, struct tier_set, saver_work.work);
	struct tier_saver *s = set->saver;

	spin_lock_irq(&set->lock);
	s->busy = set->running;
	spin_unlock_irq(&set->lock);
	if (!s->busy)
		return;
	if (s->reading)
		read_blocks(set);
	else if (disk_sleeps(set))
		s->behind = true;
	else
		save_step(set);
	spin_lock_irq(&set->lock);
	s->busy = false;
	__tier_wake_idle(set);
	if (s->reading || !tier_set_frozen(set))
		__queue(set);
	spin_unlock_irq(&set->lock);
}

static int init(struct tier_set *set)
{
	INIT_DELAYED_WORK(&set->saver_work, do_saver);
	return 0;
}

static void release(struct tier_set *set)
{
	tier_saver_end(set);
}

const struct tier_set_room tier_saver_room = TIER_SET_ROOM(saver, init, release);
