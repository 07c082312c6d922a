// SPDX-License-Identifier: GPL-2.0-only
/*
 * Direct I/O with data that tells where it belongs.
 *
 * Each 512-byte sector written carries the seed and the sector number it was
 * written for, so that a check can say not only that data is wrong but whose
 * data it is.  Seed 0 stands for zeroes.
 *
 *   tierio write   DEV at= len= seed= [block=] [as=] [flags=fua|fua_alone|nowait|buffered|odd]
 *   tierio check   DEV at= len= seed= [block=] [as=] [flags=nowait|buffered]
 *   tierio scatter DEV at= len= chunk= seed= model=FILE [block=]
 *                                     write the first block of each chunk, all of them
 *                                     at once; says so when they are under way
 *   tierio sync    DEV
 *   tierio sums    DEV...             a line each that tells whether it has changed
 *   tierio hold    DEV                open exclusively until killed, or until who started it is
 *   tierio seal    DEV at= len= xor=  write the crc32c of bytes at+4 .. at+len
 *   tierio torture DEV at= len= chunk= seconds= seed= model=FILE [discard=0] [again=1]
 *   tierio recheck DEV at= len= model=FILE
 *
 * Sizes are bytes and take k, m, g.  as= is the offset that the data is (to be)
 * stamped with, if it is not at=.  After a write with fua the kernel sends a
 * FLUSH as well; with fua_alone, as file systems do it, it does not.  odd: from a buffer
 * at an odd address, which no device takes.  The exit status is the errno of the first
 * I/O that failed, 200 for wrong data, 201 for wrong usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/aio_abi.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SECTOR		512
#define WORDS		(SECTOR / 8)
#define WRONG_DATA	200
#define WRONG_USAGE	201
#define BLOCK_MAX	(1U << 20)

/* A sector of the model: its data, and whether it may be zero instead. */
#define MAYBE_ZERO	(1U << 31)
#define MAX_REPORTS	8

static const char *device;
static uint64_t at, len, block = 65536, stamp_at, chunk, xor_with;
static uint32_t seed;
static unsigned int seconds;
static bool stamp_given, fua, fua_alone, nowait, buffered, odd, discards = true, again;
static const char *model_path;
static int fd;
static unsigned char *buffer;
static unsigned int reports;

static void die(int status, const char *what)
{
	fprintf(stderr, "tierio: %s: %s\n", device ? device : "?", what);
	exit(status);
}

static void die_io(const char *op, uint64_t offset)
{
	int error = errno;

	fprintf(stderr, "tierio: %s: %s at byte %llu: %s\n", device, op,
		(unsigned long long)offset, strerror(error));
	exit(error);
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	return x;
}

static void stamp(unsigned char *to, uint64_t sector, uint32_t value)
{
	uint64_t word[WORDS];
	uint64_t base;
	unsigned int i;

	if (!value) {
		memset(to, 0, SECTOR);
		return;
	}
	word[0] = value;
	word[1] = sector;
	base = mix(sector * 0x9e3779b97f4a7c15ULL + value);
	for (i = 2; i < WORDS; i++)
		word[i] = base + i * 0x94d049bb133111ebULL;
	memcpy(to, word, SECTOR);
}

static void report(uint64_t sector, uint32_t want, const unsigned char *found)
{
	static const unsigned char zero[SECTOR];
	unsigned char genuine[SECTOR];
	uint64_t word[2];

	if (reports++ >= MAX_REPORTS)
		return;
	memcpy(word, found, sizeof(word));
	fprintf(stderr, "tierio: %s: sector %llu: expected ", device,
		(unsigned long long)sector);
	if (want & ~MAYBE_ZERO)
		fprintf(stderr, "seed %u%s", want & ~MAYBE_ZERO,
			want & MAYBE_ZERO ? " or zeroes" : "");
	else
		fputs("zeroes", stderr);
	stamp(genuine, word[1], word[0]);
	if (!memcmp(found, zero, SECTOR))
		fputs(", found zeroes\n", stderr);
	else if (!memcmp(found, genuine, SECTOR))
		fprintf(stderr, ", found seed %llu of sector %llu\n",
			(unsigned long long)word[0], (unsigned long long)word[1]);
	else
		fprintf(stderr, ", found garbage %016llx %016llx\n",
			(unsigned long long)word[0], (unsigned long long)word[1]);
}

/* An asynchronous write is not followed by a FLUSH when it ends. */
static ssize_t write_fua_alone(const struct iovec *iov, uint64_t offset)
{
	static aio_context_t context;
	struct iocb cb = {
		.aio_fildes = fd,
		.aio_lio_opcode = IOCB_CMD_PWRITE,
		.aio_rw_flags = RWF_DSYNC,
		.aio_buf = (uintptr_t)iov->iov_base,
		.aio_nbytes = iov->iov_len,
		.aio_offset = offset,
	};
	struct iocb *cbs[] = { &cb };
	struct io_event event;

	if (!context && syscall(SYS_io_setup, 1, &context))
		return -1;
	if (syscall(SYS_io_submit, context, 1, cbs) != 1)
		return -1;
	if (syscall(SYS_io_getevents, context, 1, 1, &event, NULL) != 1)
		return -1;
	if (event.res < 0) {
		errno = -event.res;
		return -1;
	}
	return event.res;
}

static void transfer(bool write, uint64_t offset, uint64_t count)
{
	struct iovec iov = { .iov_base = buffer, .iov_len = count };
	int flags = (nowait ? RWF_NOWAIT : 0) | (write && fua ? RWF_DSYNC : 0);
	ssize_t done;

	while (count) {
		iov.iov_len = count;
		done = write && fua_alone ? write_fua_alone(&iov, offset) :
		       write ? pwritev2(fd, &iov, 1, offset, flags)
			     : preadv2(fd, &iov, 1, offset, flags);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			die_io(write ? "write" : "read", offset);
		if (!done)
			die(WRONG_DATA, "end of device");
		iov.iov_base = (char *)iov.iov_base + done;
		offset += done;
		count -= done;
	}
}

static void stamp_and_write(uint64_t offset, uint64_t count, uint64_t as, uint32_t value)
{
	uint64_t i;

	for (i = 0; i < count; i += SECTOR)
		stamp(buffer + i, (as + i) / SECTOR, value);
	transfer(true, offset, count);
}

static void do_write(void)
{
	uint64_t done, count;

	for (done = 0; done < len; done += count) {
		count = len - done < block ? len - done : block;
		stamp_and_write(at + done, count, stamp_at + done, seed);
	}
}

static void do_check(void)
{
	unsigned char want[SECTOR];
	uint64_t done, count, i;

	for (done = 0; done < len; done += count) {
		count = len - done < block ? len - done : block;
		transfer(false, at + done, count);
		for (i = 0; i < count; i += SECTOR) {
			stamp(want, (stamp_at + done + i) / SECTOR, seed);
			if (memcmp(buffer + i, want, SECTOR))
				report((at + done + i) / SECTOR, seed, buffer + i);
		}
	}
}

static void do_seal(void)
{
	uint32_t crc = ~0U;
	uint64_t i;
	int bit;

	if (len > BLOCK_MAX || len < 8)
		die(WRONG_USAGE, "len=");
	transfer(false, at, len);
	for (i = 4; i < len; i++) {
		crc ^= buffer[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0);
	}
	crc ^= (uint32_t)xor_with;
	for (i = 0; i < 4; i++)
		buffer[i] = crc >> 8 * i;
	transfer(true, at, len);
	if (fsync(fd))
		die_io("fsync", at);
}

static uint64_t state;

static uint64_t draw(uint64_t below)
{
	state += 0x9e3779b97f4a7c15ULL;
	return mix(mix(state)) % below;
}

static void check_model(const uint32_t *model, uint64_t offset, uint64_t count)
{
	unsigned char want[SECTOR], zero[SECTOR] = { 0 };
	uint64_t i;

	transfer(false, offset, count);
	for (i = 0; i < count; i += SECTOR) {
		uint32_t m = model[(offset - at + i) / SECTOR];

		stamp(want, (offset + i) / SECTOR, m & ~MAYBE_ZERO);
		if (!memcmp(buffer + i, want, SECTOR))
			continue;
		if ((m & MAYBE_ZERO) && !memcmp(buffer + i, zero, SECTOR))
			continue;
		report((offset + i) / SECTOR, m, buffer + i);
	}
}

static void set_model(uint32_t *model, uint64_t offset, uint64_t count, uint32_t value)
{
	uint64_t i;

	for (i = 0; i < count; i += SECTOR)
		model[(offset - at + i) / SECTOR] = value;
}

/* Afterwards a whole chunk reads as zeroes; for a part nothing is promised. */
static void discard(uint32_t *model, uint64_t offset, uint64_t count)
{
	uint64_t range[2] = { offset, count }, i;

	if (ioctl(fd, BLKDISCARD, range))
		die_io("discard", offset);
	for (i = 0; i < count; i += SECTOR) {
		uint64_t first = (offset + i) / chunk * chunk;
		uint32_t *m = &model[(offset - at + i) / SECTOR];

		if (first >= offset && first + chunk <= offset + count)
			*m = 0;
		else
			*m |= MAYBE_ZERO;
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void write_model(const uint32_t *model)
{
	FILE *f = fopen(model_path, "w");

	if (!f || fwrite(model, sizeof(*model), len / SECTOR, f) != len / SECTOR || fclose(f))
		die(errno, model_path);
}

static uint32_t *new_model(void)
{
	uint32_t *model = calloc(len / SECTOR, sizeof(*model));

	if (!model)
		die(ENOMEM, "no memory");
	return model;
}

static void read_model(uint32_t *model)
{
	FILE *f = fopen(model_path, "r");

	if (!f || fread(model, sizeof(*model), len / SECTOR, f) != len / SECTOR || fclose(f))
		die(WRONG_USAGE, model_path);
}

static volatile sig_atomic_t asked_to_end;

static void on_term(int sig)
{
	(void)sig;
	asked_to_end = 1;
}

/* Sectors that are not written count as zeroes. */
static void do_scatter(void)
{
	uint32_t *model = new_model();
	unsigned int i, n = len / chunk;
	struct iocb **cbs = calloc(n, sizeof(*cbs));
	struct iocb *cb = calloc(n, sizeof(*cb));
	aio_context_t context = 0;
	struct io_event event;
	uint64_t offset;
	long sent = 0, r;

	if (!cbs || !cb)
		die(ENOMEM, "no memory");
	if (!n || n * block > BLOCK_MAX)
		die(WRONG_USAGE, "len=");
	if (syscall(SYS_io_setup, n, &context))
		die_io("io_setup", at);
	for (i = 0; i < n; i++) {
		unsigned char *data = buffer + i * block;
		uint64_t done;

		offset = at + i * chunk;
		for (done = 0; done < block; done += SECTOR)
			stamp(data + done, (offset + done) / SECTOR, seed);
		set_model(model, offset, block, seed);
		cbs[i] = &cb[i];
		cb[i].aio_fildes = fd;
		cb[i].aio_lio_opcode = IOCB_CMD_PWRITE;
		cb[i].aio_buf = (uintptr_t)data;
		cb[i].aio_nbytes = block;
		cb[i].aio_offset = offset;
	}
	while (sent < n) {
		r = syscall(SYS_io_submit, context, n - sent, cbs + sent);
		if (r <= 0)
			die_io("io_submit", at);
		sent += r;
	}
	puts("under way");
	fflush(stdout);
	for (i = 0; i < n; i++) {
		if (syscall(SYS_io_getevents, context, 1, 1, &event, NULL) != 1)
			die_io("io_getevents", at);
		if (event.res < 0) {
			errno = -event.res;
			die_io("write", ((struct iocb *)(uintptr_t)event.obj)->aio_offset);
		}
	}
	write_model(model);
}

/*
 * Starts on unwritten space, which reads as zeroes, or with again=1 on the state that the model
 * has. SIGTERM ends it early, in order.
 */
static void do_torture(void)
{
	struct sigaction action = { .sa_handler = on_term, .sa_flags = SA_RESTART };
	uint32_t *model = new_model();
	uint32_t written = 0, i;
	double end = now() + seconds;
	uint64_t range[2], offset, count, op, ops = 0;
	int granule;

	sigaction(SIGTERM, &action, NULL);
	if (ioctl(fd, BLKSSZGET, &granule))
		die_io("BLKSSZGET", 0);
	if (again)
		read_model(model);
	/* New data differs from all older data. */
	for (i = 0; i < len / SECTOR; i++)
		if ((model[i] & ~MAYBE_ZERO) > written)
			written = model[i] & ~MAYBE_ZERO;
	state = seed;
	while (now() < end && !reports && !asked_to_end) {
		ops++;
		count = ((BLOCK_MAX >> draw(12)) >> draw(2)) / granule;
		count = (1 + draw(count ? count : 1)) * granule;
		if (count > len)
			count = len;
		offset = at + draw((len - count) / granule + 1) * granule;
		op = draw(100);
		if (op < 42) {
			fua = op < 4;
			written++;
			stamp_and_write(offset, count, offset, written);
			set_model(model, offset, count, written);
			fua = false;
		} else if (op < 82) {
			check_model(model, offset, count);
		} else if (op < 90) {
			/* Half of the ranges begin at a chunk, so that whole chunks occur. */
			if (draw(2) && offset / chunk * chunk >= at)
				offset = offset / chunk * chunk;
			if (!discards)
				continue;
			discard(model, offset, count);
		} else if (op < 94) {
			range[0] = offset;
			range[1] = count;
			if (ioctl(fd, BLKZEROOUT, range))
				die_io("write zeroes", offset);
			set_model(model, offset, count, 0);
		} else if (fsync(fd)) {
			die_io("fsync", 0);
		}
	}
	write_model(model);
	printf("%llu operations\n", (unsigned long long)ops);
}

static void do_recheck(void)
{
	uint32_t *model = new_model();
	uint64_t done, count;

	read_model(model);
	for (done = 0; done < len; done += count) {
		count = len - done < BLOCK_MAX ? len - done : BLOCK_MAX;
		check_model(model, at + done, count);
	}
}

/* A sum that shows any change; it need not resist forgery. */
static void do_sum(const char *path)
{
	uint64_t sum = 0, offset = 0, word;
	ssize_t got, i;

	device = path;
	fd = open(path, O_RDONLY | O_DIRECT);
	if (fd < 0)
		die_io("open", 0);
	while ((got = pread(fd, buffer, BLOCK_MAX, offset)) > 0) {
		for (i = 0; i + 8 <= got; i += 8) {
			memcpy(&word, buffer + i, 8);
			sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
			sum ^= sum >> 29;
		}
		offset += got;
	}
	if (got < 0)
		die_io("read", offset);
	close(fd);
	printf("%s %llu %016llx\n", path, (unsigned long long)offset, (unsigned long long)sum);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 0);
	switch (*end) {
	case 'g':
		value <<= 10;
		/* fall through */
	case 'm':
		value <<= 10;
		/* fall through */
	case 'k':
		value <<= 10;
		end++;
	}
	if (errno || end == text || *end)
		die(WRONG_USAGE, text);
	return value;
}

static void parse(char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		die(WRONG_USAGE, word);
	*value++ = '\0';
	if (!strcmp(word, "at"))
		at = number(value);
	else if (!strcmp(word, "len"))
		len = number(value);
	else if (!strcmp(word, "block"))
		block = number(value);
	else if (!strcmp(word, "seed"))
		seed = number(value);
	else if (!strcmp(word, "chunk"))
		chunk = number(value);
	else if (!strcmp(word, "seconds"))
		seconds = number(value);
	else if (!strcmp(word, "discard"))
		discards = number(value);
	else if (!strcmp(word, "again"))
		again = number(value);
	else if (!strcmp(word, "xor"))
		xor_with = number(value);
	else if (!strcmp(word, "model"))
		model_path = value;
	else if (!strcmp(word, "as"))
		stamp_at = number(value), stamp_given = true;
	else if (!strcmp(word, "flags") && !strcmp(value, "fua"))
		fua = true;
	else if (!strcmp(word, "flags") && !strcmp(value, "fua_alone"))
		fua_alone = true;
	else if (!strcmp(word, "flags") && !strcmp(value, "nowait"))
		nowait = true;
	else if (!strcmp(word, "flags") && !strcmp(value, "buffered"))
		buffered = true;
	else if (!strcmp(word, "flags") && !strcmp(value, "odd"))
		odd = true;
	else
		die(WRONG_USAGE, word);
}

int main(int argc, char **argv)
{
	const char *command = argc > 2 ? argv[1] : "";
	bool reads = !strcmp(command, "check") || !strcmp(command, "recheck");
	int i, mode;

	if (argc < 3)
		die(WRONG_USAGE, "usage: tierio COMMAND DEV [KEY=VALUE]...");
	if (posix_memalign((void **)&buffer, 4096, BLOCK_MAX + SECTOR))
		die(ENOMEM, "no memory");
	if (!strcmp(command, "sums")) {
		for (i = 2; i < argc; i++)
			do_sum(argv[i]);
		return 0;
	}
	device = argv[2];
	for (i = 3; i < argc; i++)
		parse(argv[i]);
	if (!stamp_given)
		stamp_at = at;
	buffer += odd;
	if (!block || block > BLOCK_MAX || block % SECTOR || at % SECTOR || len % SECTOR)
		die(WRONG_USAGE, "block, at and len are sectors; block at most 1m");
	mode = (reads ? O_RDONLY : O_RDWR) | (buffered ? 0 : O_DIRECT) |
	       (!strcmp(command, "hold") ? O_EXCL : 0);
	fd = open(device, mode);
	if (fd < 0)
		die_io("open", 0);

	if (!strcmp(command, "write")) {
		do_write();
	} else if (!strcmp(command, "check")) {
		do_check();
	} else if (!strcmp(command, "scatter") && chunk && block <= chunk && model_path) {
		do_scatter();
	} else if (!strcmp(command, "sync")) {
		if (fsync(fd))
			die_io("fsync", 0);
	} else if (!strcmp(command, "hold")) {
		/* A test kills the shell that runs this in the background. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		puts("held");
		fflush(stdout);
		pause();
	} else if (!strcmp(command, "seal")) {
		do_seal();
	} else if (!strcmp(command, "torture") && chunk && seconds && model_path) {
		do_torture();
	} else if (!strcmp(command, "recheck") && model_path) {
		do_recheck();
	} else {
		die(WRONG_USAGE, command);
	}
	if (reports > MAX_REPORTS)
		fprintf(stderr, "tierio: %s: %u wrong sectors in all\n", device, reports);
	return reports ? WRONG_DATA : 0;
}
