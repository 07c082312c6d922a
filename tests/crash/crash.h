/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The power-cut harness.  See README.md for what it does; each part of this
 * header is one source file.
 */
#ifndef CRASH_H
#define CRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECTOR		512
#define META		0		/* the other disks are tiers, or spare */
#define NR_DISKS	5
#define MAX_TIERS	(NR_DISKS - 1)
#define NEW_TIERS	3		/* of a new set */
#define MAX_GROWTH	8		/* MiB, of each disk */
#define IO_MAX		(1U << 20)	/* bytes */

/* ---- util.c ---- */

struct rng { uint64_t state; };

uint64_t rng_next(struct rng *rng);
/* 0 .. n - 1 */
unsigned int rng_below(struct rng *rng, unsigned int n);
static inline bool rng_percent(struct rng *rng, unsigned int percent)
{
	return rng_below(rng, 100) < percent;
}
void rng_shuffle(struct rng *rng, unsigned int *what, unsigned int n);

__attribute__((format(printf, 1, 2), noreturn)) void die(const char *fmt, ...);
/* A line of the log: a comment of TAP. */
__attribute__((format(printf, 1, 2))) void note(const char *fmt, ...);
void nap_ms(unsigned int ms);
uint64_t now_ms(void);
void *alloc_buffer(size_t bytes);
/* 0 or -errno */
int write_text(const char *path, const char *text);

/* ---- model.c: what each sector may hold ---- */

struct model;

struct model *model_new(uint32_t nr_sectors, uint32_t nr_max, uint32_t chunk_sectors);
void model_free(struct model *m);
/* At most nr_max sectors; new sectors have never been written. */
void model_resize(struct model *m, uint32_t nr_sectors);
/* Room for all sectors that a FLUSH makes durable, however long the device becomes. */
uint32_t *model_snapshot(const struct model *m);

enum op_kind { OP_WRITE, OP_FUA, OP_ZERO, OP_DISCARD, OP_READ, OP_FLUSH, NR_OPS };

struct op {
	enum op_kind kind;
	uint32_t first, nr;	/* sectors */
	uint32_t seq;
	uint32_t *snapshot;	/* OP_FLUSH: the ops that it makes durable, for nr sectors */
};

/* Claims the range; false if another op has part of it. */
bool model_begin(struct model *m, struct op *op);
void model_end(struct model *m, struct op *op, bool ok);
/* The data that an op writes. */
void model_fill(struct model *m, const struct op *op, unsigned char *buffer);
/* Checks data read while the device lives; returns the number of bad sectors. */
unsigned int model_check_live(struct model *m, const struct op *op,
			      const unsigned char *buffer);
/*
 * After a cut: reads all of fd and takes the data found as the new state; returns the number of
 * bad sectors, or -errno.
 */
int model_verify(struct model *m, int fd);
/* For the self-test: every write that ended counts as durable; no report. */
extern bool model_believes_all, model_quiet;

/* ---- disks.c: disks with a volatile cache ---- */

struct disk {
	const char *name;
	unsigned int mib, grown;	/* size at first, and by how many MiB it has grown */
	unsigned int evicted;		/* percent of the cache on stable storage at a cut */
	unsigned int delay_us;		/* of each request */
	bool on;
	/* Of the sectors in the cache at the last cut: how many survived, how many were lost. */
	unsigned int survived, lost;
};

extern struct disk disks[NR_DISKS];

/*
 * Called for each sector that comes to stable storage, and with NULL at the end of each FLUSH or
 * FUA write, before it is answered. All disks share one order.
 */
typedef void disk_recorder(const struct disk *d, uint64_t sector, const void *data);
extern disk_recorder *disk_record;

void disks_create(uint64_t seed);
void disks_destroy(void);
void disk_off(struct disk *d);
void disk_on(struct disk *d);
/* All zeroes, on stable storage. */
void disk_blank(struct disk *d);
/* Wipes only the sectors by which a disk is not blank. */
void disk_wipe(struct disk *d);
/* mib more than at first, whether the disk is in use or not. */
void disk_grow(struct disk *d, unsigned int mib);
const char *disk_path(const struct disk *d);
uint64_t disk_sectors(const struct disk *d);

/* ---- set.c: the tiered set, through device-mapper's ioctls ---- */

struct set {
	uint64_t sectors;		/* of the device */
	uint32_t chunk_sectors;
	uint64_t reserve;		/* chunks */
	const char *policy;
	unsigned int nr_tiers;
	unsigned int order[MAX_TIERS];	/* disk of each rank */
	bool active;
};

struct set_status {
	bool snapshot, good, paused;	/* good: rw, no check is needed */
	unsigned long long pinned, guard;
	unsigned long long used[MAX_TIERS], endurance[MAX_TIERS];
	bool evacuating[MAX_TIERS];
};

/* Three tiers, chunks of chunk_sectors, and the largest reserve. */
void set_init(struct set *s, uint32_t chunk_sectors);
uint32_t set_nr_chunks(const struct set *s);
/* Capacity on these tiers. */
uint64_t set_capacity(const struct set *s);
/* The largest size with which any tier can be emptied. */
uint64_t set_roomy_size(const struct set *s);
/* Whether the other tiers have room for all chunks, if none of them is evacuated. */
bool set_can_empty(const struct set *s, unsigned int rank);
/* A disk that is no tier of the set, or 0. */
unsigned int set_spare(const struct set *s);
/* 0, or -errno; says why in the log. */
int set_activate(struct set *s);
/*
 * Suspends and resumes, with a new table if load. If the set cannot be resumed, all waiting I/O
 * gets errors.
 */
int set_reload(struct set *s, bool load, bool noflush);
/* Then results of ops prove nothing any more: FLUSHes and discards "succeed". */
bool set_given_up(void);
int set_deactivate(struct set *s);
int set_open(void);
int set_message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Sends a message that has an answer of at most size bytes. */
int set_ask(char *answer, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void set_get_status(const struct set *s, struct set_status *st);
/* The set's generation on the metadata device; 0: there is no live set. */
uint64_t set_generation(void);
/*
 * The metadata is sound, and the tiers belong to it. Reads the disks; the set must not be
 * active.
 */
bool set_check_metadata(const struct set *s, const char *checker);

/* ---- orders.c: sends messages; checks that answered messages are in force ---- */

extern unsigned int orders_bad;		/* refused without a reason */

/* For a new set. */
void orders_reset(struct set *s);
/* Sends a random message. */
void orders_send(struct rng *rng);
/*
 * Nobody sends messages until orders_unlock(); quiet: after that none that stops or starts
 * moves.
 */
void orders_lock(void);
void orders_unlock(bool quiet);
/* Locked: admits all tiers again, and migrations run. */
void orders_admit_all(void);
/* Locked: empties a tier; 0 or -errno. */
int orders_evacuate(unsigned int rank);
/* Locked: the disk leaves the set, or joins it. */
void orders_leave(unsigned int disk);
void orders_join(unsigned int disk);
/* After an activation; the state that is found counts as ordered from then on. */
bool orders_in_force(void);

/* ---- change.c: the set is changed while it is in use ---- */

enum change { NO_CHANGE, ORDER, JOIN, DROP, GROW, GROW_METADATA };

extern unsigned int changes_undone, changes_done, changes_refused;

/* For a new set. */
void changes_reset(struct set *s, struct model *m);
/* Without load, before the change is made; false if this set cannot have the change. */
bool change_prepare(enum change what, struct rng *rng);
/* Under load; 0 or -errno. */
int change_make(enum change what, struct rng *rng);
/*
 * After a cut, before an activation: reads whether the change is in the metadata. False if the
 * metadata is wrong.
 */
bool change_look(void);
/* After that: takes the old or the new list, as the metadata allows. */
void change_choose(struct rng *rng);
/* Now and then: tries a list that must be refused. False if it is accepted. */
bool change_try_refused(struct rng *rng);
/* An activation succeeded with the power on. */
void change_settled(void);

/* ---- trace.c: what the module is doing ---- */

enum phase {
	PHASE_COPY, PHASE_MOVE_FLUSH, PHASE_MOVE_COMMIT, PHASE_SWITCH, PHASE_MOVE,
	PHASE_EVACUATION,
	PHASE_FLUSH, PHASE_COMMIT, PHASE_PARTIAL, PHASE_ZEROING, PHASE_BORN, PHASE_DISCARD,
	PHASE_LABEL, PHASE_BUMP, PHASE_FORMAT, PHASE_SUSPEND, NR_PHASES
};

extern const char * const phase_names[NR_PHASES];

void trace_start(void);
void trace_stop(void);
/*
 * Calls fn from the watching thread as soon as the event has been seen nth times from now on, or
 * after timeout_ms. event may be NULL, or may be followed by a space and text that its line must
 * contain.
 */
void trace_arm(const char *event, unsigned int nth, unsigned int delay_us,
	       unsigned int timeout_ms, void (*fn)(void));
/* Makes an armed call now, if it has not been made yet, and waits for its end. */
void trace_fire(void);
/* Waits for the call's end; true if the event was seen, false if it timed out. */
bool trace_wait(void);
/* Marks the moment of the cut; later trace_phases() tells which phases were under way then. */
void trace_mark(void);
/* A bit for each phase; clears the record of phases. */
unsigned int trace_phases(void);

/* ---- cut.c ---- */

/* From just before the power goes until all disks are back. */
bool cut_begun(void);

/* ---- work.c: the load ---- */

extern unsigned int work_bad, work_ops[NR_OPS], work_errors;

void work_start(struct model *m, struct set *s, uint64_t seed);
void work_stop(void);
/* A bit for each kind of op that is under way. */
unsigned int work_under_way(void);

#endif
