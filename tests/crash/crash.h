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
#define NR_TIERS	3
#define NR_DISKS	(NR_TIERS + 1)
#define META		0		/* the other disks are tiers */
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

struct model *model_new(uint32_t nr_sectors, uint32_t chunk_sectors);
void model_free(struct model *m);

enum op_kind { OP_WRITE, OP_FUA, OP_ZERO, OP_DISCARD, OP_READ, OP_FLUSH, NR_OPS };

struct op {
	enum op_kind kind;
	uint32_t first, nr;	/* sectors */
	uint32_t seq;
	uint32_t *snapshot;	/* OP_FLUSH: what it makes durable */
};

/* Claims the range; false if another op has some of it. */
bool model_begin(struct model *m, struct op *op);
void model_end(struct model *m, struct op *op, bool ok);
/* The data that an op writes. */
void model_fill(struct model *m, const struct op *op, unsigned char *buffer);
/* Whether what was read is right while the device lives; number of bad sectors. */
unsigned int model_check_live(struct model *m, const struct op *op,
			      const unsigned char *buffer);
/* After a cut: reads all of fd, adopts what it finds; number of bad sectors, or -errno. */
int model_verify(struct model *m, int fd);
/* For the self-test: every write that ended counts as durable; no report. */
extern bool model_believes_all, model_quiet;

/* ---- disks.c: disks with a volatile cache ---- */

struct disk {
	const char *name;
	unsigned int mib;
	unsigned int evicted;		/* percent of the cache that a cut finds on stable storage */
	unsigned int delay_us;		/* of each request */
	bool on;
};

extern struct disk disks[NR_DISKS];

void disks_create(void);
void disks_destroy(void);
void disk_off(struct disk *d);
void disk_on(struct disk *d);
/* All zeroes, on stable storage. */
void disk_blank(struct disk *d);
const char *disk_path(const struct disk *d);
uint64_t disk_sectors(const struct disk *d);

/* ---- set.c: the tiered set, through device-mapper's ioctls ---- */

struct set {
	uint64_t sectors;		/* of the device */
	uint32_t chunk_sectors;
	const char *policy;
	unsigned int order[NR_TIERS];	/* rank -> disk */
	int evacuating[NR_DISKS];	/* 0, 1, or -1: not known */
	bool active, roomy;
};

/* Of a new set with chunks of this size, in sectors. */
uint64_t set_capacity(uint32_t chunk_sectors);
/* The largest device of which any tier can be emptied; not larger than that. */
uint64_t set_roomy_size(uint32_t chunk_sectors);
/* 0, or -errno; says why in the log. */
int set_activate(struct set *s);
int set_deactivate(struct set *s);
int set_open(void);
int set_message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The mode is rw, nothing needs a check, messages that were answered are in force. */
bool set_check_status(struct set *s);
/* The metadata is sound; reads the disk, the set must not be active. */
bool set_check_metadata(const char *checker);

/* ---- trace.c: what the module is at ---- */

enum phase {
	PHASE_COPY, PHASE_MOVE_FLUSH, PHASE_MOVE_COMMIT, PHASE_SWITCH, PHASE_MOVE,
	PHASE_EVACUATION,
	PHASE_FLUSH, PHASE_COMMIT, PHASE_ZEROING, PHASE_BORN, PHASE_DISCARD,
	PHASE_LABEL, PHASE_BUMP, PHASE_FORMAT, PHASE_SUSPEND, NR_PHASES
};

extern const char * const phase_names[NR_PHASES];

void trace_start(void);
void trace_stop(void);
/*
 * Calls fn from the watching thread as soon as the event was seen nth times from
 * now on, or after timeout_ms; event may be NULL, or be followed by a space and what its
 * line must have in it.
 */
void trace_arm(const char *event, unsigned int nth, unsigned int delay_us,
	       unsigned int timeout_ms, void (*fn)(void));
/* Makes an armed call happen now, if it has not yet, and waits for its end. */
void trace_fire(void);
/* Waits for the call's end; true if the event was seen, false if it timed out. */
bool trace_wait(void);
/* Marks the moment of the cut; later trace_phases() tells what was under way then. */
void trace_mark(void);
/* A bit for each phase; forgets what it knows of phases. */
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
