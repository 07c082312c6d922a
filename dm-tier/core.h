/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every room knows of a set and of a tier.  What belongs to one room alone is a
 * struct of that room's source, described by a struct tier_set_room or tier_room.
 *
 * Locks, outermost first:
 *   set->config         the list of tiers and the set's configuration
 *   tier_registry_lock  the list of targets; who uses which device
 *   set->commit         the metadata transaction, from the first change to the
 *                       moment the result is published in the map
 *   set->policy_lock    calls into the policy
 *   set->lock           spinlock, irq-safe: map words, lists, free places
 *
 * A function that begins with two underscores is called with set->lock held, or while the
 * set is suspended; in metadata/ with the metadata's own lock.
 */
#ifndef DM_TIER_CORE_H
#define DM_TIER_CORE_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "compat/compat.h"
#include "conf.h"
#include "format-code.h"
#include "word.h"

#define DM_MSG_PREFIX "tier"

#define TIER_PIECE_SECTORS	128	/* 64 KiB: what a guarded write dirties */
#define TIER_GROUP_SHIFT	16	/* log2 of the chunks that share a bit */
#define TIER_GROUPS		(1 << (32 - TIER_GROUP_SHIFT))
#define TIER_STALL_NS		(5 * NSEC_PER_SEC)	/* without progress for so long: hangs */

enum tier_mode {
	TIER_MODE_RW,
	TIER_MODE_RO,		/* the mapping is frozen; decided chunks are served */
	TIER_MODE_FAIL,		/* nothing is served */
};

#define TIER_SAMPLE_STREAMS	4
#define TIER_SAMPLE_EVERY	64	/* at least one access in so many is sampled; 2^n */

struct tier_stats {
	u64 reads, writes;
	u64 written;		/* sectors, by anyone */
	/*
	 * Of reads, of writes: how many until the next sample, for how many accesses that will
	 * stand, and where the last ones ended.
	 */
	int left[2];
	u8 every[2];
	sector_t ends[2][TIER_SAMPLE_STREAMS];
	/* Of the sampled accesses, by enum tier_class: their time, and how many pieces. */
	u64 sampled_ns[TIER_NR_CLASSES];
	u64 sampled[TIER_NR_CLASSES];
	u64 busy_ns;		/* the time of all accesses, as far as the samples tell */
	/* The burst: when it began, ns, and samples since. */
	u64 burst_ns;
	unsigned int burst;
};

/* A tier that belongs to the set.  Created and freed while suspended. */
struct tier {
	/* Read by every I/O to it. */
	struct block_device *bdev;	/* NULL: missing.  Changes while suspended. */
	struct tier_stats __percpu *stats;
	struct tier_set *set;
	unsigned long flags;		/* TIER_FLAG_*, atomic bit operations */
	unsigned int sample_every;	/* one access in so many is sampled, see gauge.c */
	struct srcu_struct readers;	/* I/O that looked up a place of this tier */

	/* Written when the first write since the last flush was sent has ended. */
	int unflushed ____cacheline_aligned_in_smp;	/* TIER_UNFLUSHED*: to be flushed */

	struct tier_meta_tier rec ____cacheline_aligned_in_smp;	/* set->config */
	atomic64_t errors;		/* since activation */
	bool evacuating;		/* an event is due when it is empty */

	/* set->lock */
	u64 used;			/* places taken */
	unsigned int nr_births;		/* of these, by chunks that are not whole yet */
	u32 room_seq;			/* counts events after which chunks may leave */
	u32 stuck_seq;			/* room_seq when no chunk could leave; of the mover */

	struct workqueue_struct *wq;	/* for works that may wait for the device */
	struct work_struct flush_work;	/* for the next flush, if someone wants one */

	/* Of the rooms of these names. */
	struct tier_space *space;	/* alloc */
	struct tier_flusher *flusher;	/* flush */
	struct tier_outbox *outbox;	/* kick */
	struct tier_landing *landing;	/* birth */
	struct tier_gauge *gauge;	/* gauge */
	struct tier_pace *pace;		/* budget */
	struct tier_wear *wear;		/* wear */
	struct tier_arrivals *arrivals;	/* migrate */
};

#define TIER_UNFLUSHED		1	/* written since the last flush was sent */
#define TIER_UNFLUSHED_TOLD	2	/* the same, but the writer hears of a failing flush */

#define TIER_FLAG_ERRORS	0	/* I/O failed since activation */
#define TIER_FLAG_WRITE_FAILED	1	/* no placement until admitted */

/* One constructed table: ti->private. */
struct tier_target {
	struct list_head list;		/* tier_registry_lock */
	struct dm_target *ti;
	struct mapped_device *md;
	struct tier_set *set;
	char *args;			/* as the constructor got them */

	struct dm_dev *metadata;
	unsigned int nr_tiers;
	struct dm_dev *devs[TIER_MAX_TIERS];	/* by rank; NULL: missing */
	u64 chunk_sectors;
	u32 logical_block_size;		/* of the set, 0 = not formatted */

	bool features[TIER_NR_FEATURES];
	struct tier_overrides overrides;
	struct tier_policy_type *policy;	/* a reference is held */
};

struct tier_set {
	/* Read by every I/O; written while suspended or when a mode changes. */
	u64 *map ____cacheline_aligned_in_smp;
	struct tier_ring __percpu *rings;	/* of accesses, for the policy */
	enum tier_mode mode;		/* set->lock to write */
	unsigned int chunk_shift;
	u32 chunk_sectors;
	bool no_writes;			/* read-only table or feature */
	bool discard_passdown, skip_zeroing;
	bool observing;			/* accesses are noted now, see sampling.h */
	int observe_armed;		/* the mover will look at the rings soon */
	u32 nr_chunks;
	struct tier *home;		/* all chunks go back to it, or NULL; set->lock to write */
	struct tier *by_id[256];

	spinlock_t lock ____cacheline_aligned_in_smp;

	/* set->lock */
	bool resumed;			/* between resume and presuspend */
	bool running;			/* resumed, and the machine does not hibernate */
	u64 mapped;			/* chunks */
	unsigned int discarding;	/* discards of whole chunks under way */
	u64 freeing;			/* places of unmapped chunks that are not free yet */
	unsigned int nr_migrations;
	u64 promotions, demotions, aborted, failed, migrated_sectors;
	bool astray;			/* see __tier_mark_astray() */
	u32 astray_seq;			/* counts events that may have set astray */
	DECLARE_BITMAP(astray_groups, TIER_GROUPS);	/* see __tier_note_astray() */
	struct bio_list deferred;	/* for the io work */
	struct bio_list starved;	/* no free place */
	struct bio_list undecided;	/* retried after the next commit */
	bool crowded;			/* first writes wait for their turn on a tier */

	/*
	 * Works that any room may queue; idle_wait is woken when something has ended.  Each queue
	 * has a thread that goes on without memory, so a work that waits for a device is in
	 * a queue for that device alone: commit_wq for metadata, and a queue of each tier.
	 */
	struct workqueue_struct *wq, *commit_wq;
	struct work_struct io_work;	/* deferred bios */
	struct work_struct commit_work;
	struct delayed_work commit_timer;	/* new chunks become whole and durable */
	struct delayed_work mover_work;
	struct delayed_work saver_work;	/* heat to and from the metadata */
	struct work_struct event_work;
	wait_queue_head_t idle_wait;	/* migrations, births, ops, flushes ended */

	/* Identity; tier_registry_lock. */
	struct list_head list;
	struct mapped_device *md;
	dev_t metadata_dev;
	unsigned int refs;

	struct mutex config;		/* the list of tiers, tunables, messages, status */
	struct mutex commit;		/* the metadata transaction until it is published */
	struct mutex policy_lock;	/* calls into the policy */

	/* set->config; change only while suspended. */
	bool active;			/* metadata open, map loaded */
	bool read_only_activation;
	struct tier_target *bound;	/* the table that was resumed last */
	struct tier_metadata *metadata;
	struct tier_meta_info info;
	unsigned int nr_tiers;
	struct tier *tiers[TIER_MAX_TIERS];	/* by rank */
	u64 tunables[TIER_NR_TUNABLES];		/* stored */
	u64 policy_tunables[TIER_MAX_POLICY_KEYS];
	bool needs_check;
	bool paused, table_paused;
	atomic64_t pinned;		/* chunks with a pin */
	u32 *heat;			/* counters by chunk; set->policy_lock to write */
	u8 *heat_blocks;		/* see struct tier_policy_env; set->policy_lock to set */
	bool heat_changed;		/* since the saver looked; set->policy_lock to set */

	/* Of the rooms of these names. */
	struct tier_commits *commits;
	struct tier_flushes *flushes;
	struct tier_cycle *cycle;
	struct tier_owners *owners;
	struct tier_residence *residence;
	struct tier_found *found;	/* plan */
	struct tier_missed *missed;
	struct tier_copies *copies;	/* copy */
	struct tier_budget *budget;
	struct tier_requests *requests;
	struct tier_policies *policies;
	struct tier_saver *saver;
	struct tier_births *births;
	struct tier_discards *discards;
	struct tier_moves *moves;
	struct tier_mover *mover;
};

/*
 * What a room keeps of a set, or of a tier: memory, all zeroes, that the pointer of that
 * name in struct tier_set or struct tier leads to.  init and exit may be NULL; exit is
 * called even if init has failed.
 */
struct tier_set_room {
	size_t size, pointer;
	int (*init)(struct tier_set *set);
	void (*exit)(struct tier_set *set);
};

struct tier_room {
	size_t size, pointer;
	int (*init)(struct tier *t);
	void (*exit)(struct tier *t);
};

/* The room keeps a struct tier_MEMBER. */
#define TIER_ROOM_OF(owner, member, begin, end) {	\
	.size = sizeof(struct tier_##member),		\
	.pointer = offsetof(owner, member),		\
	.init = begin, .exit = end,			\
}

#define TIER_SET_ROOM(member, init, exit) TIER_ROOM_OF(struct tier_set, member, init, exit)
#define TIER_ROOM(member, init, exit) TIER_ROOM_OF(struct tier, member, init, exit)

extern const struct tier_set_room tier_commit_room, tier_flush_room, tier_cycle_room,
	tier_residence_room, tier_publish_room, tier_missed_room, tier_copy_room,
	tier_budget_room, tier_request_room,
	tier_policy_room, tier_saver_room, tier_birth_room, tier_discard_room,
	tier_migrate_room, tier_mover_room, tier_plan_room;
extern const struct tier_room tier_flusher_room, tier_wear_room, tier_gauge_room,
	tier_pace_room, tier_landing_room, tier_outbox_room, tier_arrivals_room, tier_alloc_room;

struct tier_io;

/*
 * The guard of a chunk is told when a write to the chunk has ended; any context.  True: it
 * keeps the bio, which is not completed now.
 */
struct tier_guard {
	bool (*write_ended)(struct tier_set *set, struct tier_guard *guard, struct bio *bio,
			    blk_status_t status);
};

/* Waits until the first up_to ops are decided; see __tier_wait_for_ops(). */
struct tier_commit_wait {
	struct list_head list;
	u64 up_to;
	void (*fn)(struct tier_commit_wait *wait, bool ok);
};

/* Per-bio data. */
struct tier_io {
	union {
		struct { u32 first_piece, last_piece; };	/* written while a chunk moves */
		struct { u32 first_sector, end_sector; };	/* written of a partial chunk */
		struct { u32 first_left, last_left; };		/* see tier_discard_chunks() */
	};
	bool fua;			/* REQ_FUA as it came: a tier without a cache clears it */
	bool left_out;			/* by a discard: what first_left and last_left say */
	u8 stands_for;			/* so many accesses, if it is sampled */
	u64 start_ns;
	struct bvec_iter iter;		/* as it came, for another try */
	bio_end_io_t *end_io;		/* saved while hooked */
	void *owner;			/* of the hook */
	struct tier_commit_wait wait;	/* of FUA writes that are on the tier: the first one's */

	/* Written for each I/O: last, in the cache line where device-mapper's own data begins. */
	struct tier_guard *guard;	/* of this write, or NULL */
	struct tier *tier;		/* whose SRCU is held, or NULL */
	int srcu_idx;
	u8 sampled;			/* 1 + enum tier_class: its latency is measured */
	bool discards_chunks;		/* a discard of whole chunks */
	u16 pieces;			/* of up to 64 KiB, if it is sampled */
};

static inline u64 tier_get_word(struct tier_set *set, u32 chunk)
{
	return READ_ONCE(set->map[chunk]);
}

static inline void __tier_change_word(struct tier_set *set, u32 chunk, u64 clear, u64 add)
{
	lockdep_assert_held(&set->lock);
	WRITE_ONCE(set->map[chunk], (set->map[chunk] & ~clear) | add);
}

static inline sector_t tier_place_sector(struct tier_set *set, u64 place)
{
	return place << set->chunk_shift;
}

static inline u32 tier_bio_chunk(struct tier_set *set, struct bio *bio)
{
	return bio->bi_iter.bi_sector >> set->chunk_shift;
}

static inline struct tier_io *tier_bio_io(struct bio *bio)
{
	return dm_per_bio_data(bio, sizeof(struct tier_io));
}

/* Sectors are sent to be written to the tier; any context. */
static inline void tier_count_written(struct tier *t, u32 sectors)
{
	this_cpu_add(t->stats->written, sectors);
}

static inline bool tier_present(const struct tier *t)
{
	return t->bdev;
}

/* Others get set->lock, which is held for so many items in one go, as interrupts are off. */
#define TIER_MOST_HELD		64

static inline void __tier_relax(struct tier_set *set)
{
	spin_unlock_irq(&set->lock);
	cond_resched();
	spin_lock_irq(&set->lock);
}

/* Whether chunks may be placed there. */
static inline bool tier_open(const struct tier *t)
{
	return t->bdev && !(READ_ONCE(t->rec.flags) & TIER_RECORD_EVACUATE) &&
	       !test_bit(TIER_FLAG_WRITE_FAILED, &t->flags);
}

static inline bool tier_set_idle(struct tier_set *set)
{
	return !READ_ONCE(set->nr_migrations);
}

/* Neither the policy nor an evacuation starts a migration. */
static inline bool tier_paused(struct tier_set *set)
{
	return READ_ONCE(set->paused) || READ_ONCE(set->table_paused) || READ_ONCE(set->home);
}

/* Nothing more is written to the metadata. */
static inline bool tier_set_frozen(struct tier_set *set)
{
	return READ_ONCE(set->mode) != TIER_MODE_RW || set->no_writes;
}

static inline bool tier_writes_wanted(const struct tier_target *tt)
{
	return (dm_table_get_mode(tt->ti->table) & TIER_OPEN_WRITE) &&
	       !tt->features[TIER_FEATURE_READ_ONLY];
}

#endif /* DM_TIER_CORE_H */
