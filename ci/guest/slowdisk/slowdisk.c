// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hard disk for benchmarks, as a plugin of nbdkit: one actuator that serves
 * one request at a time, whatever the queue's depth.
 *
 *	nbdkit --unix SOCKET ./slowdisk.so size=8G [rate=160M] [file=PATH]
 *
 * A request that begins where the last one ended costs its transfer time only.
 * Any other costs a seek, which grows with the square root of the distance, and
 * a random part of a turn at 7200 rpm: about 120 random 4 KiB requests a second
 * over the whole disk.
 *
 * The data lives in memory, sparse, or in the file that is named.  Nothing is
 * cached: a write has reached the medium when it is answered.
 */
#define _GNU_SOURCE
#define NBDKIT_API_VERSION 2
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <nbdkit-plugin.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_SERIALIZE_ALL_REQUESTS

#define SEEK_MIN	0.0008		/* s: to the next track, with settling */
#define SEEK_FULL	0.0065		/* s: from one edge to the other, on top */
#define TURN		(60.0 / 7200)	/* s */

static int64_t size = -1;
static int64_t rate = 160 << 20;	/* bytes/s */
static char *path;
static int fd = -1;

static uint64_t head;			/* end of the last request, bytes */
static double free_at;			/* when the actuator has done all requests so far, s */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Waits for the time that the disk needs for a request. */
static void serve(uint64_t offset, uint32_t count)
{
	double t = now(), cost = (double)count / rate;
	struct timespec until;

	if (offset != head) {
		double distance = fabs((double)offset - head) / size;

		cost += SEEK_MIN + SEEK_FULL * sqrt(distance) + TURN * drand48();
	}
	head = offset + count;

	/*
	 * If this request was waiting, count from the end of the last one, so that a sleep which
	 * lasts too long does not slow a stream down.
	 */
	if (free_at < t - 0.001)
		free_at = t;
	free_at += cost;
	until.tv_sec = free_at;
	until.tv_nsec = (free_at - until.tv_sec) * 1e9;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static int sd_config(const char *key, const char *value)
{
	int64_t *number = NULL;

	if (!strcmp(key, "size"))
		number = &size;
	else if (!strcmp(key, "rate"))
		number = &rate;

	if (number) {
		*number = nbdkit_parse_size(value);
		return *number > 0 ? 0 : -1;
	}
	if (!strcmp(key, "file")) {
		free(path);
		path = nbdkit_absolute_path(value);
		return path ? 0 : -1;
	}
	nbdkit_error("unknown parameter: %s", key);
	return -1;
}

static int sd_config_complete(void)
{
	if (size < 0) {
		nbdkit_error("size=BYTES is missing");
		return -1;
	}
	return 0;
}

static int sd_get_ready(void)
{
	fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) :
		    memfd_create("slowdisk", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, size)) {
		nbdkit_error("cannot make the disk: %m");
		return -1;
	}
	return 0;
}

static void sd_unload(void)
{
	if (fd >= 0)
		close(fd);
	free(path);
}

static void *sd_open(int readonly)
{
	(void)readonly;
	return NBDKIT_HANDLE_NOT_NEEDED;
}

static int64_t sd_get_size(void *handle)
{
	(void)handle;
	return size;
}

static int sd_pread(void *handle, void *buf, uint32_t count, uint64_t offset, uint32_t flags)
{
	(void)handle;
	(void)flags;
	serve(offset, count);
	while (count) {
		ssize_t n = pread(fd, buf, count, offset);

		if (n <= 0) {
			nbdkit_error("read: %m");
			return -1;
		}
		buf = (char *)buf + n;
		offset += n;
		count -= n;
	}
	return 0;
}

static int sd_pwrite(void *handle, const void *buf, uint32_t count, uint64_t offset,
		     uint32_t flags)
{
	(void)handle;
	(void)flags;
	serve(offset, count);
	while (count) {
		ssize_t n = pwrite(fd, buf, count, offset);

		if (n <= 0) {
			nbdkit_error("write: %m");
			return -1;
		}
		buf = (const char *)buf + n;
		offset += n;
		count -= n;
	}
	return 0;
}

static int sd_flush(void *handle, uint32_t flags)
{
	(void)handle;
	(void)flags;
	return 0;
}

static struct nbdkit_plugin plugin = {
	.name		= "slowdisk",
	.longname	= "simulated hard disk",
	.description	= "one actuator: seek, rotation and transfer take their time",
	.config		= sd_config,
	.config_complete = sd_config_complete,
	.config_help	= "size=SIZE   (required)\n"
			  "rate=BYTES  a second when sequential (160M)\n"
			  "file=PATH   keep the data there instead of in memory",
	.get_ready	= sd_get_ready,
	.unload		= sd_unload,
	.open		= sd_open,
	.get_size	= sd_get_size,
	.pread		= sd_pread,
	.pwrite		= sd_pwrite,
	.flush		= sd_flush,
};

NBDKIT_REGISTER_PLUGIN(plugin)
