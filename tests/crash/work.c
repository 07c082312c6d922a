// SPDX-License-Identifier: GPL-2.0-only
/*
 * The load: several writers that also flush, discard and read back, and one thread that sends
 * messages: moves and pins chunks, empties tiers.
 */
#include "crash.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NR_WRITERS	4
#define FUA_MAX		512	/* sectors */
#define BUSY_SECTORS	4096	/* at the beginning of the device */

unsigned int work_bad, work_ops[NR_OPS], work_errors;

static struct model *model;
static struct set *the_set;
static bool stopping;
static unsigned int in_flight[NR_OPS];
static pthread_t threads[NR_WRITERS + 1];
static struct writer { struct rng rng; } writers[NR_WRITERS + 1];

static uint32_t some_size(struct rng *rng)
{
	switch (rng_below(rng, 10)) {
	case 0:
		return 1 + rng_below(rng, IO_MAX / SECTOR);
	case 1 ... 3:
		return 32 + rng_below(rng, 225);
	default:
		return 1 + rng_below(rng, 32);
	}
}

/* Often the same 2 MiB, often whole chunks. */
static void choose_range(struct rng *rng, struct op *op)
{
	/* The device may grow meanwhile. */
	uint32_t all = __atomic_load_n(&the_set->sectors, __ATOMIC_RELAXED);
	uint32_t size = all, chunk = the_set->chunk_sectors;

	if (rng_percent(rng, 30) && size > BUSY_SECTORS)
		size = BUSY_SECTORS;
	if (rng_percent(rng, 20)) {
		op->nr = chunk * (1 + rng_below(rng, 3));
		op->first = rng_below(rng, size / chunk) * chunk;
	} else {
		op->nr = some_size(rng);
		op->first = rng_below(rng, size);
	}
	if (op->kind == OP_FUA && op->nr > FUA_MAX)
		op->nr = FUA_MAX;
	if ((op->kind == OP_WRITE || op->kind == OP_READ) && op->nr > IO_MAX / SECTOR)
		op->nr = IO_MAX / SECTOR;
	if (op->nr > all - op->first)
		op->nr = all - op->first;
}

/*
 * A write with only FUA: a synchronous RWF_DSYNC write of a block device sends a FLUSH after it.
 */
static bool write_fua(aio_context_t aio, int fd, const void *buffer, const struct op *op)
{
	struct iocb cb = {
		.aio_fildes = fd,
		.aio_lio_opcode = IOCB_CMD_PWRITE,
		.aio_rw_flags = RWF_DSYNC,
		.aio_buf = (uintptr_t)buffer,
		.aio_nbytes = (uint64_t)op->nr * SECTOR,
		.aio_offset = (uint64_t)op->first * SECTOR,
	};
	struct iocb *cbs[] = { &cb };
	struct io_event event = { };

	if (syscall(SYS_io_submit, aio, 1L, cbs) != 1)
		return false;
	while (syscall(SYS_io_getevents, aio, 1L, 1L, &event, NULL) != 1)
		;
	return event.res == (int64_t)cb.aio_nbytes;
}

static bool run(int fd, aio_context_t aio, struct op *op, unsigned char *buffer)
{
	uint64_t at = (uint64_t)op->first * SECTOR, bytes = (uint64_t)op->nr * SECTOR;
	uint64_t range[2] = { at, bytes };

	switch (op->kind) {
	case OP_WRITE:
		return pwrite(fd, buffer, bytes, at) == (ssize_t)bytes;
	case OP_FUA:
		return write_fua(aio, fd, buffer, op);
	case OP_ZERO:
		return !ioctl(fd, BLKZEROOUT, range);
	case OP_DISCARD:
		return !ioctl(fd, BLKDISCARD, range);
	case OP_READ:
		return pread(fd, buffer, bytes, at) == (ssize_t)bytes;
	default:
		return !fdatasync(fd);
	}
}

static enum op_kind choose_kind(struct rng *rng)
{
	unsigned int n = rng_below(rng, 100);

	if (n < 48)
		return OP_WRITE;
	if (n < 60)
		return OP_FUA;
	if (n < 64)
		return OP_ZERO;
	if (n < 73)
		return OP_DISCARD;
	if (n < 87)
		return OP_READ;
	return OP_FLUSH;
}

static void *write_away(void *context)
{
	struct writer *w = context;
	unsigned char *buffer = alloc_buffer(IO_MAX);
	uint32_t *snapshot = model_snapshot(model);
	aio_context_t aio = 0;
	int fd = set_open();

	if (syscall(SYS_io_setup, 4L, &aio))
		die("a writer cannot start: %s", strerror(errno));
	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED)) {
		struct op op = { .kind = choose_kind(&w->rng), .snapshot = snapshot };
		bool ok;

		if (op.kind != OP_FLUSH)
			choose_range(&w->rng, &op);
		if (!model_begin(model, &op))
			continue;
		if (op.kind == OP_WRITE || op.kind == OP_FUA)
			model_fill(model, &op, buffer);
		__atomic_fetch_add(&in_flight[op.kind], 1, __ATOMIC_RELAXED);
		ok = run(fd, aio, &op, buffer) && !set_given_up();
		__atomic_fetch_sub(&in_flight[op.kind], 1, __ATOMIC_RELAXED);
		if (ok && op.kind == OP_READ)
			__atomic_fetch_add(&work_bad, model_check_live(model, &op, buffer),
					   __ATOMIC_RELAXED);
		model_end(model, &op, ok);
		__atomic_fetch_add(&work_ops[op.kind], 1, __ATOMIC_RELAXED);
		if (ok)
			continue;
		__atomic_fetch_add(&work_errors, 1, __ATOMIC_RELAXED);
		if (!cut_begun()) {
			note("BAD: an op of kind %u on %u sectors at %u failed with the power on: %s",
			     op.kind, op.nr, op.first, strerror(errno));
			__atomic_fetch_add(&work_bad, 1, __ATOMIC_RELAXED);
		}
		nap_ms(2);
	}
	syscall(SYS_io_destroy, aio);
	close(fd);
	free(snapshot);
	free(buffer);
	return NULL;
}

static void *give_orders(void *context)
{
	struct rng *rng = &((struct writer *)context)->rng;

	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED)) {
		orders_send(rng);
		nap_ms(rng_below(rng, 40));
	}
	return NULL;
}

void work_start(struct model *m, struct set *s, uint64_t seed)
{
	unsigned int i;

	model = m;
	the_set = s;
	stopping = false;
	for (i = 0; i <= NR_WRITERS; i++) {
		writers[i].rng.state = seed + i;
		if (pthread_create(&threads[i], NULL, i < NR_WRITERS ? write_away : give_orders,
				   &writers[i]))
			die("no thread");
	}
}

void work_stop(void)
{
	unsigned int i;

	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	for (i = 0; i <= NR_WRITERS; i++)
		pthread_join(threads[i], NULL);
}

unsigned int work_under_way(void)
{
	unsigned int i, bits = 0;

	for (i = 0; i < NR_OPS; i++)
		if (__atomic_load_n(&in_flight[i], __ATOMIC_RELAXED))
			bits |= 1U << i;
	return bits;
}
