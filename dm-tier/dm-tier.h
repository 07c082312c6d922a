/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The objects of the tier target and what its files offer each other.
 *
 * Locks, outermost first:
 *   set->config         the list of tiers and the set's configuration
 *   tier_registry_lock  the list of targets; who uses which device
 *   set->commit         the metadata transaction, from the first change to the
 *                       moment the result is published in the map
 *   set->policy_lock    calls into the policy
 *   set->lock           spinlock, irq-safe: map words, lists, free places
 */
#ifndef DM_TIER_H
#define DM_TIER_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/dm-kcopyd.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mempool.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "compat/compat.h"
#include "dm-tier-format.h"
#include "dm-tier-metadata.h"
#include "dm-tier-policy.h"

#define DM_MSG_PREFIX "tier"

/*
 * A chunk's word in core: a mapping entry (place, tier id, pin, MAPPED) plus
 * flags that live in memory only.
 */
#define TIER_WORD_NEW		BIT_ULL(57)	/* allocated, not committed yet */
#define TIER_WORD_MOVING	BIT_ULL(58)	/* writes are guarded by a migration */
#define TIER_WORD_HELD		BIT_ULL(59)	/* writes wait for a migration */
#define TIER_WORD_REASON_SHIFT	60		/* enum tier_reason: why it is there */

#define TIER_PIECE_SECTORS	128		/* 64 KiB: what a guarded write dirties */
#define TIER_STEP_PIECES	16		/* copied at once: 1 MiB */
#define TIER_NO_PLACE		(~0ULL)
#define TIER_STALL_NS		(5 * NSEC_PER_SEC)	/* without progress: it hangs */
#define TIER_OBSERVE_MS		20	/* from an access to what the policy makes of it */

/* The numbers are known to the tracepoints and must fit 4 bits. */
enum tier_reason {
	TIER_REASON_UNMAPPED,
	TIER_REASON_LOADED,	/* as the metadata said at activation */
	TIER_REASON_FIRST_WRITE,
	TIER_REASON_POLICY,
	TIER_REASON_MIGRATE,
	TIER_REASON_PIN,
	TIER_REASON_EVACUATE,
	TIER_REASON_HOME,
	TIER_REASON_MAKE_ROOM,
};

enum tier_mode {
	TIER_MODE_RW,
	TIER_MODE_RO,		/* the mapping is frozen; decided chunks are served */
	TIER_MODE_FAIL,		/* nothing is served */
};

struct tier_set;

struct tier_stats {
	u64 reads;
	u64 writes;
	u64 sampled_ns;		/* service time of the sampled small accesses */
	u64 sampled;
};

/* Someone who waits for a flush of one tier; fn may be called from irq. */
struct tier_flush_wait {
	struct list_head list;
	unsigned int slot;
	void (*fn)(struct tier_flush_wait *wait, blk_status_t status);
};

#define TIER_MAX_UNTOLD 16

/*
 * A FLUSH that failed with data behind it: the core tells nobody, and sends the data.
 * That write fails in its place; where it is not recognized, a number of FUA writes.
 */
struct tier_untold {
	const struct bio_vec *data;	/* compared, never followed */
	unsigned int fuas;
};

/* A tier that belongs to the set.  Created and freed while suspended. */
struct tier {
	struct tier_set *set;
	struct block_device *bdev;	/* NULL: missing.  Changes while suspended. */
	struct tier_meta_tier rec;	/* set->config */

	struct srcu_struct readers;	/* I/O that looked up a place of this tier */
	struct tier_stats __percpu *stats;
	atomic64_t errors;		/* since activation */
	unsigned long flags;		/* TIER_FLAG_*, atomic bit operations */
	int unflushed;			/* TIER_UNFLUSHED*: what a flush has to cover */

	/* Free places; set->lock. */
	unsigned long *used_map;	/* bit = place - first_place */
	u64 used;
	u64 hint;
	u32 room_seq;			/* counts what may let chunks make room here; set->lock */
	u32 stuck_seq;			/* room_seq when none might; of the mover */

	/* First writes; set->lock. */
	unsigned int nr_births;		/* in progress or born */
	unsigned int nr_uncommitted;	/* born, on their way to a commit */
	u64 birth_ns;			/* when one ended last, or the first one began */
	struct bio_list crowded;	/* those that have to wait for their turn */
	struct llist_head to_zero;	/* those whose place is to be zeroed */
	struct work_struct zero_work;

	/* Flush; set->lock. */
	bool flushing;
	bool flush_covers_new;		/* writes that no failed flush has covered */
	bool flush_lost;		/* one failed over such, and no FLUSH has heard of it */
	u64 flush_ns;			/* when the last one was sent */
	bool flush_failed;		/* the one that ended last did */
	unsigned int failed_flushes;	/* since activation */
	bool flush_again;		/* births came while one was under way */
	struct list_head flush_waiting;	/* for the next flush */
	struct list_head flush_running;	/* for the one that was sent */
	struct list_head births;	/* struct tier_op: data written, not flushed */
	struct list_head births_flushing;
	struct bio_list fua_waiting;	/* FUA writes to new chunks, for the next flush */
	struct bio_list fua_running;	/* for the one that was sent */
	struct bio flush_bio;
	struct work_struct flush_work;

	struct bio_list outbox;		/* to be submitted; set->lock */
	struct work_struct outbox_work;

	bool evacuating;		/* an event is due when it is empty */

	u32 random_ns;			/* of the mover */
	/* Means of measurements, of which one may get lost: no lock. */
	u32 chunk_ns, least_chunk_ns;
	u64 copied_ns;			/* when chunk_ns changed last */
	u64 last_sampled_ns, last_sampled;
	u64 wear_left;			/* sectors migration may still write; set->lock */
	u64 wear_stamp;			/* ns */
};

#define TIER_UNFLUSHED		1	/* written since the last flush was sent */
#define TIER_UNFLUSHED_TOLD	2	/* whoever wrote hears of a flush that fails, or has */

#define TIER_FLAG_ERRORS	0	/* I/O failed since activation */
#define TIER_FLAG_WRITE_FAILED	1	/* no placement until admitted */

/* A change of one chunk's mapping on its way into the metadata. */
struct tier_op {
	struct list_head list;
	u32 chunk;
	u64 entry;		/* place, tier id and MAPPED; the pin is added */
	/* In process context, set->commit held.  committed: it is on disk. */
	void (*done)(struct tier_set *set, struct tier_op *op, bool committed);
};

/* Per-bio data. */
struct tier_io {
	struct tier *tier;		/* whose SRCU is held, or NULL */
	int srcu_idx;
	bool sampled;			/* its latency is measured */
	bool discards_chunk;		/* a discard of the whole chunk */
	struct tier_migration *migration;	/* that guards this write */
	u32 first_piece, last_piece;
	u64 start_ns;
	struct bvec_iter iter;		/* as it came, for another try */
	bio_end_io_t *end_io;		/* saved while hooked */
	void *owner;			/* of the hook */
};

#define TIER_RING_SIZE 512

struct tier_ring {
	unsigned int head;		/* written by the CPU that owns the ring */
	unsigned int tail;		/* written by the mover */
	unsigned int burst;		/* accesses still to note */
	int skip;			/* and to pass over */
	struct tier_access slot[TIER_RING_SIZE];
};

enum tier_tunable {
	TIER_TUNABLE_BANDWIDTH,
	TIER_TUNABLE_DEPTH,
	TIER_TUNABLE_LATENCY_GUARD,
	TIER_NR_TUNABLES,
};

enum tier_tier_tunable {
	TIER_TIER_ENDURANCE,
	TIER_TIER_RESERVE,
	TIER_TIER_LANDING,
	TIER_NR_TIER_TUNABLES,
};

struct tier_key {
	const char *name;
	u64 min, max, initial;
};

extern const struct tier_key tier_keys[TIER_NR_TUNABLES];
extern const struct tier_key tier_tier_keys[TIER_NR_TIER_TUNABLES];

#define TIER_MAX_POLICY_KEYS 8

/* A value that the table gives, in force while the table lives. */
struct tier_override {
	bool given;
	u64 value;
};

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

	bool paused, no_discard_passdown, skip_zeroing, read_only;
	unsigned int nr_core_args;
	struct tier_override core[TIER_NR_TUNABLES];
	struct tier_override tier_core[TIER_MAX_TIERS][TIER_NR_TIER_TUNABLES];
	struct tier_policy_type *policy;	/* a reference is held */
	struct tier_override policy_core[TIER_MAX_POLICY_KEYS];
};

/* Chunks that a message asked to move; done from first to end. */
struct tier_request {
	struct list_head list;
	u32 first, end;
	u32 low;		/* what lies below has a newer request */
	u8 id;			/* of the tier they go to */
	enum tier_reason reason;
	unsigned int in_flight;
	bool dropped;
};

#define TIER_MISSED_RING 64

struct tier_set {
	/* Read by every I/O; written while suspended or when a mode changes. */
	u64 *map ____cacheline_aligned_in_smp;
	struct tier *by_id[256];
	unsigned int chunk_shift;
	u32 chunk_sectors;
	u32 nr_chunks;
	enum tier_mode mode;		/* set->lock to write */
	bool no_writes;			/* read-only table or feature */
	bool discard_passdown;
	bool skip_zeroing;
	bool observing;			/* the policy wants to see accesses */
	int observe_armed;		/* the mover will look at the rings soon */
	struct tier_ring __percpu *rings;

	spinlock_t lock ____cacheline_aligned_in_smp;

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

	bool resumed;			/* between resume and presuspend; set->lock */
	bool running;			/* and not about to hibernate; set->lock */
	bool paused, table_paused;
	struct tier *home;		/* that all goes back to, or NULL; set->lock to write */
	atomic64_t pinned;		/* chunks with a pin */
	u64 mapped;			/* chunks; set->lock */

	/* First writes and discards: dm-tier-io.c, dm-tier-discard.c. */
	struct workqueue_struct *wq;
	struct bio_list deferred;	/* set->lock */
	struct bio_list starved;	/* no free place; set->lock */
	struct bio_list undecided;	/* retried after the next commit; set->lock */
	struct list_head births;	/* struct tier_birth in progress; set->lock */
	struct list_head born;		/* data on the tier; set->lock */
	DECLARE_HASHTABLE(birth_hash, 10);	/* both; set->lock */
	struct list_head unmapped;	/* struct tier_unmap, readers gone; set->lock */
	unsigned int freeing;		/* places on their way to being free; set->lock */
	mempool_t birth_pool;
	mempool_t unmap_pool;
	struct work_struct io_work;

	/* Flush cycle: dm-tier-flush.c; set->lock. */
	struct bio_list flush_waiting;
	struct bio_list flush_batch;
	bool cycle_running;
	atomic_t cycle_pending;
	blk_status_t cycle_status;
	bool flush_lost;		/* as of tiers that are gone; set->lock */
	bool flush_untold;		/* one failed with data behind it; set->lock */
	struct tier_untold untold[TIER_MAX_UNTOLD];	/* by those; set->lock */
	unsigned int nr_untold;		/* set->lock to write */
	struct tier_flush_wait cycle_wait[TIER_MAX_TIERS];
	struct work_struct cycle_work;

	/* Commit: dm-tier-commit.c; set->lock. */
	struct list_head ops;
	u64 ops_queued, ops_decided;	/* counts of ops */
	bool cycle_wants_commit;
	u64 cycle_upto;			/* of ops_queued, what its commit has to decide */
	struct bio_list fua_flushed;	/* FUA writes that wait for the next commit */
	struct bio_list fua_committing;	/* those that wait for this one */
	u64 fua_flushed_upto, fua_upto;	/* of ops_queued, what they need decided */
	struct list_head unwritten;	/* births that the metadata has no room for */
	bool births_lost;		/* a failed commit left births out */
	bool metadata_low;		/* set->commit */
	struct work_struct commit_work;
	struct delayed_work commit_timer;
	bool commit_timer_armed;

	/* Migration: dm-tier-migrate.c, dm-tier-mover.c. */
	struct xarray copiers;		/* see tier_copier() */
	struct list_head migrations;	/* set->lock */
	DECLARE_HASHTABLE(migration_hash, 6);	/* set->lock */
	unsigned int nr_migrations;	/* set->lock */
	wait_queue_head_t idle_wait;	/* migrations, births, ops, flushes ended */
	struct list_head requests;	/* struct tier_request; set->lock */
	bool astray;			/* pins or evacuations may have work; set->lock */
	u32 astray_seq;			/* counts what may have set chunks astray; set->lock */
	u32 astray_cursor, astray_pass_seq;	/* of the mover */
	bool astray_found;
	struct delayed_work mover_work;
	s64 budget;			/* sectors; set->lock */
	u64 budget_stamp;		/* ns */
	u64 backoff_until;		/* ns: the latency guard holds migrations back */
	u64 promotions, demotions, aborted, failed, migrated_sectors;	/* set->lock */
	struct {
		u32 chunk;
		const char *why;
	} missed[TIER_MISSED_RING];	/* chunks that were not moved; set->lock */
	unsigned int missed_next;
	struct xarray copy_failed;	/* chunks whose last copy met an I/O error */
	u32 *home_owner;		/* place - first_place -> chunk, while homing; set->lock */
	u32 home_places;
	u8 home_id;

	/* Policy: dm-tier-policy.c; set->policy_lock. */
	struct tier_policy_type *policy_type;
	struct tier_policy *policy;
	struct tier_policy_env policy_env;
	struct tier_view views[TIER_MAX_TIERS];
	u32 *heat;
	bool heat_changed;
	unsigned int observe_skip;	/* bursts passed over after each noted one */
	u64 noted, drained_ns;

	struct work_struct event_work;
};

/* A migration under way. */
struct tier_migration {
	struct list_head list;
	struct hlist_node hash;
	struct tier_set *set;
	struct tier *from, *to;
	u64 from_place, to_place;
	u32 chunk;
	enum tier_reason reason;
	bool proposed;			/* by the policy: it is told the end */
	struct dm_kcopyd_client *copier;
	struct tier_request *request;	/* that it is part of, or NULL */
	void (*step)(struct tier_migration *m);	/* what its work does next */
	struct delayed_work work;

	/* set->lock */
	struct bio_list held;
	unsigned int writers;		/* guarded writes in flight */
	unsigned int writing;		/* pieces that they write */
	bool waiting_for_writers;
	bool cancelled;
	bool stopped;			/* cancelled by a suspend */
	bool committing;		/* its op is queued: too late to cancel */
	bool pressing;			/* writes pass a few at a time */
	int quota;			/* pieces that may be written, times PRESSING_SHARE */
	unsigned int failed_flushes;	/* of the destination when it began */

	unsigned int passes;
	unsigned int next_piece;
	unsigned int nr_pieces;
	unsigned int copied_pieces;
	unsigned int last_run;		/* pieces of the last copy */
	int error;
	u64 run_start_ns, copy_ns;	/* of the copy under way; of all so far */
	u64 progress_ns;
	struct rcu_head rcu;
	struct tier_flush_wait flush;
	struct tier_op op;
	unsigned long dirty[];		/* a bit for each piece */
};

/* ---- words ---- */

static inline u64 tier_word(u64 place, u8 id)
{
	return place | (u64)id << TIER_ENTRY_ID_SHIFT | TIER_ENTRY_MAPPED;
}

static inline u64 tier_word_place(u64 word)
{
	return word & TIER_ENTRY_PLACE_MASK;
}

static inline u8 tier_word_id(u64 word)
{
	return word >> TIER_ENTRY_ID_SHIFT;
}

/* Tier id + 1, or 0. */
static inline u8 tier_word_pin(u64 word)
{
	return word >> TIER_ENTRY_PIN_SHIFT;
}

static inline u64 tier_pin_bits(unsigned int pin)
{
	return (u64)pin << TIER_ENTRY_PIN_SHIFT;
}

static inline u64 tier_reason_bits(enum tier_reason reason)
{
	return (u64)reason << TIER_WORD_REASON_SHIFT;
}

/* What of a word says where the chunk lies and who guards it. */
#define TIER_WORD_LOCATION_MASK (TIER_ENTRY_PLACE_MASK | 0xffULL << TIER_ENTRY_ID_SHIFT)
#define TIER_WORD_PIN_MASK	(0xffULL << TIER_ENTRY_PIN_SHIFT)

static inline u64 tier_get_word(struct tier_set *set, u32 chunk)
{
	return READ_ONCE(set->map[chunk]);
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

static inline bool tier_present(const struct tier *t)
{
	return t->bdev;
}

/*
 * Whether the submitter asked for BLK_STS_AGAIN where its bio would have to wait, and
 * can wait elsewhere.  A polled bio would be tried again with the same mark: by
 * device-mapper from a work, on 6.1 also by a worker of io_uring, whose bio has lost
 * REQ_POLLED where the device cannot be polled.  Threads of the kernel and those workers
 * are the tasks that have a worker_private.
 *
 * A part of a bio that was split, at a chunk or at what a tier takes at once, does not
 * hear of it either, nor does what looks like one: the first part is as long as may be, or
 * ends with its chunk; the others do not begin with the first page.  Where another part is
 * under way, the bio ends in an interrupt, from which io_uring (6.1, 6.12) tries nothing
 * again but hands the error to the program.
 */
static inline bool tier_wants_again(const struct tier_set *set, const struct bio *bio)
{
	return (bio->bi_opf & (REQ_NOWAIT | REQ_POLLED)) == REQ_NOWAIT &&
	       !current->worker_private && !tier_bio_is_rest(bio) &&
	       bio_sectors(bio) < queue_max_sectors(dm_disk(set->md)->queue) &&
	       (bio_end_sector(bio) & (set->chunk_sectors - 1));
}

/*
 * Lists a bio that a work will submit: the work may wait, and nobody polls the queue
 * that it will be in.  Who polls for the bio itself finds it ended all the same.
 */
static inline void tier_put_aside(struct bio_list *list, struct bio *bio)
{
	bio_clear_polled(bio);
	bio->bi_opf &= ~REQ_NOWAIT;
	bio_list_add(list, bio);
}

/* Whether chunks may be placed there. */
static inline bool tier_open(const struct tier *t)
{
	return t->bdev && !(READ_ONCE(t->rec.flags) & TIER_RECORD_EVACUATE) &&
	       !test_bit(TIER_FLAG_WRITE_FAILED, &t->flags);
}

/* ---- dm-tier-map.c: the hot path ---- */

/* As a target's map function; the bio lies within one chunk. */
int tier_map_bio(struct tier_set *set, struct bio *bio, struct tier_io *io);
/* Maps a bio that was held back and sends it on its way; process context. */
void tier_remap_bio(struct tier_set *set, struct bio *bio);
void tier_remap_bios(struct tier_set *set, struct bio_list *bios);
int tier_end_io(struct tier_set *set, struct bio *bio, blk_status_t *error);
/* Sends a bio to a place, past the map; the caller guards the place. */
void tier_submit_to(struct tier_set *set, struct bio *bio, struct tier *t, u64 place);
void tier_map_init_tier(struct tier *t);
/* The bio failed as its device turned out not to know the command: the device has not. */
bool tier_rejected(struct tier *t, struct bio *bio, blk_status_t status);
void tier_note_error(struct tier *t, bool write, blk_status_t status);
void tier_mark_unflushed(struct tier *t);

/* ---- dm-tier-alloc.c: free places of a tier; set->lock held by the caller ---- */

/* TIER_NO_PLACE if the tier is full. */
u64 tier_alloc_place(struct tier *t);
bool tier_alloc_exactly(struct tier *t, u64 place);
void __tier_free_place(struct tier *t, u64 place);
void __tier_wake_starved(struct tier_set *set);
static inline u64 tier_free_places(const struct tier *t)
{
	return t->rec.places - READ_ONCE(t->used);
}

int tier_alloc_init(struct tier *t);
void tier_alloc_exit(struct tier *t);

/* ---- dm-tier-io.c: first writes ---- */

int tier_io_init(struct tier_set *set);
/*
 * Puts an unmapped chunk, which reads as zeroes, onto that place, as zeroes.  0: begun;
 * -ENOENT: it is mapped; -EAGAIN, -ENOMEM: not now; -ENOSPC: the place is taken.
 */
int tier_materialise(struct tier_set *set, u32 chunk, struct tier *t, u64 place);
/*
 * A chunk has not been unmapped: it is as word says, unless a first write since then
 * has found it unmapped and takes it to another place.  set->lock held.
 */
void __tier_undo_unmap(struct tier_set *set, u32 chunk, u64 word);
bool tier_release_crowded(struct tier_set *set);
void tier_wake_crowded(struct tier_set *set);
/* A FLUSH cannot promise everything: a birth did not make it into the metadata. */
bool tier_births_lost(struct tier_set *set);
bool tier_flush_lost(struct tier_set *set);
bool __tier_write_untold(struct tier_set *set, struct bio *bio);

/* Whether a write is the one behind a FLUSH that failed; true once. */
static inline bool tier_write_untold(struct tier_set *set, struct bio *bio)
{
	return unlikely(READ_ONCE(set->nr_untold)) && __tier_write_untold(set, bio);
}

/* The metadata has room again: births that had to wait are queued. */
void tier_requeue_births(struct tier_set *set);
void __tier_retry_deferred(struct tier_set *set);
void tier_io_init_tier(struct tier *t);
/* Gives up the births of a tier; suspended. */
void tier_drop_births(struct tier *t);
/* Takes a bio that cannot be mapped at once. */
int tier_defer_bio(struct tier_set *set, struct bio *bio);
void tier_hook_bio(struct bio *bio, bio_end_io_t *fn, void *owner);
void tier_unhook_bio(struct bio *bio);

/* ---- dm-tier-discard.c ---- */

int tier_discard_init(struct tier_set *set);
/* From the io work.  False: no memory; the bio is deferred once more. */
bool tier_discard_chunk(struct tier_set *set, struct bio *bio);
void tier_pass_down_unmapped(struct tier_set *set);

/* ---- dm-tier-flush.c ---- */

void tier_flush_init(struct tier_set *set);
void tier_flush_init_tier(struct tier *t);
/* Flushes one tier; wait->fn is called when done. */
void tier_flush_tier(struct tier *t, struct tier_flush_wait *wait);
/* Completes the bio once the tier is flushed and its new chunks are committed.  Any context. */
void tier_flush_births(struct tier *t, struct bio *bio);
/* Completes the bio once all that completed before it is durable and reachable. */
void tier_flush_queue(struct tier_set *set, struct bio *bio);
/* Starts on what was queued; process context. */
void tier_flush_run(struct tier_set *set);
/* The commit that a cycle waited for ended. */
void tier_flush_committed(struct tier_set *set, bool ok);
/* Flushes every present tier that was written; waits.  Process context. */
int tier_flush_all(struct tier_set *set);

/* ---- dm-tier-commit.c ---- */

void tier_commit_init(struct tier_set *set);
/* set->lock held. */
void __tier_queue_op(struct tier_set *set, struct tier_op *op);
void tier_queue_op(struct tier_set *set, struct tier_op *op);
/* New chunks are committed within a second of this. */
void tier_arm_commit_timer(struct tier_set *set);
/* The same with set->lock held; any context. */
void __tier_arm_commit_timer(struct tier_set *set);
/* Written chunks that no flush has made durable; set->lock held, or suspended. */
bool tier_births_unflushed(struct tier_set *set);
/* These, or such as no metadata has had room for; likewise. */
bool tier_births_pending(struct tier_set *set);
/* Puts the births of all tiers on their way into the metadata now. */
void tier_commit_births(struct tier_set *set);
/* Tells once when a batch of changes may no longer find room; set->commit held. */
void tier_watch_space(struct tier_set *set);
/* Commits set->info and tier records that a message changed; set->commit held. */
int tier_commit_now(struct tier_set *set);
/* After a commit failed, set->commit held: true if it is on disk after all. */
bool tier_settle_commit(struct tier_set *set);
/*
 * The same for what commits within the metadata layer: an error that leaves the
 * transaction in doubt is settled at once.  Returns r.
 */
int tier_settle_error(struct tier_set *set, int r);

/* ---- dm-tier-migrate.c ---- */

/*
 * Starts to move a chunk.  place: TIER_NO_PLACE for any.  0, or -EAGAIN if the
 * chunk cannot be moved now, -ENOSPC, -ENOMEM, -ENOENT if there is nothing to
 * move.
 */
int tier_migrate(struct tier_set *set, u32 chunk, struct tier *to, u64 place,
		 enum tier_reason reason, struct tier_request *request,
		 bool proposed);
/*
 * The kcopyd client for copies between two tiers, or zeroes onto one, made when
 * it is first asked for: a tier that hangs has no client in common with copies
 * between others.  Process context; NULL: no memory.
 */
struct dm_kcopyd_client *tier_copier(struct tier_set *set, struct tier *from, struct tier *to);
void tier_free_copiers(struct tier_set *set);
/* It made no progress for 5 seconds; set->lock held. */
bool tier_migration_hangs(struct tier_migration *m);
/* How many do not hang; set->lock held. */
unsigned int __tier_busy_migrations(struct tier_set *set);
/*
 * set->lock held.  Whether one move more than these would take the place of a chunk that is
 * not mapped yet: the first write of that would have to wait for moves to end.
 */
bool __tier_crowds_births(struct tier_set *set, unsigned int busy);
/* Whether a move between the two hangs; takes set->lock. */
bool tier_pair_hangs(struct tier_set *set, const struct tier *from, const struct tier *to);
/* Gives up the moves that hang while they hold writes back; sends these on. */
void tier_release_held(struct tier_set *set);
/* Guards a write; called by the map.  True: the bio was taken (held back). */
bool tier_guard_write(struct tier_set *set, struct bio *bio, u64 *word, bool *again);
void tier_guarded_write_end(struct tier_set *set, struct tier_io *io);
/* Ends a migration early and keeps the bio until it has ended; false: there is none. */
bool tier_cancel_migration(struct tier_set *set, u32 chunk, struct bio *bio);
void tier_cancel_migrations(struct tier_set *set);
/* Why a chunk was not moved lately, or NULL; set->lock held. */
const char *tier_missed(struct tier_set *set, u32 chunk);
void tier_forget_missed(struct tier_set *set);
void tier_note_missed(struct tier_set *set, u32 chunk, const char *why);

/* ---- dm-tier-mover.c ---- */

void tier_mover_init(struct tier_set *set);
void tier_kick_mover(struct tier_set *set);
void tier_watch_stalls(struct tier_set *set);
/* Chunks may lie where a pin or an evacuation does not want them. */
void tier_mark_astray(struct tier_set *set);
int tier_request_migration(struct tier_set *set, u32 first, u32 nr, struct tier *to,
			   enum tier_reason reason);
/* set->lock held: the chunk lies on that place from now on. */
void __tier_note_owner(struct tier_set *set, const struct tier *t, u64 place, u32 chunk);
/* Forgets the requests for a tier; those under way end. */
void tier_drop_requests(struct tier_set *set, const struct tier *to);
/*
 * Cuts requests at the end of a set that became shorter, forgets what was not
 * moved; while suspended.
 */
void tier_bound_requests(struct tier_set *set);
/* Frees all requests and what is known of chunks not moved; while suspended. */
void tier_free_requests(struct tier_set *set);
/* Sectors may be copied now: 0, or how long to wait, in jiffies. */
unsigned long tier_budget_wait(struct tier_set *set);
/* Whether endurance lets migration write a chunk to this tier now; takes set->lock. */
bool tier_wear_left(struct tier_set *set, struct tier *t);
void tier_budget_take(struct tier_set *set, struct tier_migration *m, u32 sectors);
void tier_migration_ended(struct tier_set *set, struct tier_migration *m, bool moved);

/* ---- dm-tier-policy.c ---- */

int tier_policy_init(void);
void tier_policy_exit(void);
/* Takes a reference; loads the module if need be; -EINVAL if there is none; or -ENOMEM. */
struct tier_policy_type *tier_policy_get(const char *name);
void tier_policy_put(struct tier_policy_type *type);
unsigned int tier_policy_nr_keys(const struct tier_policy_type *type);
/*
 * Notes an access for the policy; any context that map() runs in.  True: its
 * latency is wanted too.
 */
bool tier_note_access(struct tier_set *set, struct bio *bio);

/*
 * Lets the policy see an access; whether its latency is to be measured.  Those
 * that are passed over cost no call.  By the time of the second line this may be
 * another CPU, whose count then goes to -1 at worst.
 */
static inline bool tier_observe(struct tier_set *set, struct bio *bio)
{
	if (this_cpu_read(set->rings->skip) > 0) {
		this_cpu_dec(set->rings->skip);
		return false;
	}
	return tier_note_access(set, bio);
}

/* Hands what was noted to the policy; set->policy_lock held. */
void tier_policy_drain(struct tier_set *set);
int tier_policy_start(struct tier_set *set, struct tier_policy_type *type);
void tier_policy_stop(struct tier_set *set);
void tier_policy_refresh(struct tier_set *set);

/* ---- dm-tier-set.c ---- */

extern struct mutex tier_registry_lock;

/* tier_registry_lock held for these two. */
struct tier_set *tier_set_get(struct mapped_device *md, dev_t metadata);
void tier_set_put(struct tier_set *set);
/* -EBUSY and *error if a device of the target is used by another set. */
int tier_set_claim(struct tier_target *tt, char **error);
void tier_set_unclaim(struct tier_target *tt);
/* Before a target goes: the set must not refer to it any more. */
void tier_set_unbind(struct tier_target *tt);

int tier_set_preresume(struct tier_target *tt);
void tier_set_resume(struct tier_target *tt);
/* From module init and exit. */
int tier_set_init(void);
void tier_set_exit(void);
void tier_set_presuspend(struct tier_target *tt);
void tier_set_presuspend_undo(struct tier_target *tt);
void tier_set_postsuspend(struct tier_target *tt);
void tier_set_mode(struct tier_set *set, enum tier_mode mode, const char *why);
/* Whether the set is ro for want of metadata space and nothing else. */
bool tier_set_full(struct tier_set *set);
/* Lets a full set write again if there is room now.  Process context. */
void tier_set_leave_full(struct tier_set *set);
void tier_set_event(struct tier_set *set);
/* Values in force. */
u64 tier_tunable(struct tier_set *set, enum tier_tunable key);
u64 tier_tier_tunable(struct tier_set *set, unsigned int rank, enum tier_tier_tunable key);
u64 tier_policy_tunable(struct tier_set *set, unsigned int key);
/* Whether a loaded table leaves this tier out. */
bool tier_set_being_dropped(struct tier_set *set, const struct tier *t);

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
	return (dm_table_get_mode(tt->ti->table) & TIER_OPEN_WRITE) && !tt->read_only;
}

/* ---- dm-tier-plan.c: does a table fit the devices; makes it so ---- */

struct tier_plan {
	struct {
		int error;	/* of tier_label_read() */
		const char *reason;
		struct tier_label_info info;
	} label[TIER_MAX_TIERS];	/* by rank, as found */
	bool format;
	bool changes_list;	/* a tier joins, goes or changes rank */
	bool grows;		/* some tier does */
	bool joining[TIER_MAX_TIERS];
	u8 label_slot[TIER_MAX_TIERS];	/* not the one to be written first */
	bool grown[TIER_MAX_TIERS];
	bool unlabelled[TIER_MAX_TIERS];	/* its label could not be written anew */
	struct tier_meta_tier tiers[TIER_MAX_TIERS];	/* by rank, as they shall be */
	bool known[256];	/* ids of the set before */
	u64 capacity;		/* chunks */
	u64 reserve;		/* chunks */
	struct tier_meta_info info;	/* as found, if not format */
	char reason[160];	/* why it was refused */
};

/* Whether a tier of this id is among the first nr of the plan. */
bool tier_plan_has(const struct tier_plan *plan, unsigned int nr, u8 id);
/* The first step of a plan, without any lock: a tier may be slow to answer. */
void tier_plan_read_labels(struct tier_target *tt, struct tier_plan *plan);
/* Reads only.  Fills *plan; on error plan->reason is one clear line. */
int tier_plan_make(struct tier_target *tt, struct tier_plan *plan);
/* The same for the table in force: whether I/O still reaches what it is meant for. */
int tier_plan_recheck(struct tier_target *tt, struct tier_plan *plan);
/* Writes: formats the set, or bumps the generation and changes the list. */
int tier_plan_format(struct tier_target *tt, struct tier_plan *plan);
int tier_plan_join(struct tier_set *set, struct tier_target *tt, struct tier_plan *plan);
/* dm-tier-set.c: whether a plan that was made may follow the table that is there; plan->reason. */
int tier_set_check_change(struct tier_target *tt, struct tier_plan *plan);

/* ---- dm-tier-table.c ---- */

int tier_table_parse(struct tier_target *tt, unsigned int argc, char **argv, char **error);
/* What no device of a set may be, whenever it is looked at; *why goes behind its name. */
int tier_device_unfit(const struct tier_target *tt, struct block_device *bdev, const char **why);
/* Composes a line for ti->error. */
__printf(2, 3) void tier_reason(char **error, const char *fmt, ...);
/* Index of the key and its rank (-1 for a target tunable); -EINVAL. */
int tier_parse_key(const char *word, int *rank);
int tier_parse_u64(const char *word, u64 max, u64 *value);

/* ---- dm-tier-status.c, dm-tier-message.c ---- */

void tier_status(struct dm_target *ti, status_type_t type, unsigned int status_flags,
		 char *result, unsigned int maxlen);
int tier_message(struct dm_target *ti, unsigned int argc, char **argv,
		 char *result, unsigned int maxlen);
bool tier_heat_of(struct tier_set *set, u32 chunk, u32 *heat);

#endif /* DM_TIER_H */
