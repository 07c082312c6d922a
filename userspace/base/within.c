// SPDX-License-Identifier: GPL-2.0-only
#include "base/within.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"

/* The most processes that are left behind */
#define MOST	8

struct shared {
	int answer;
	_Alignas(max_align_t) char result[];
};

static pid_t left[MOST];

/*
 * An entry for one more process that is left behind, or NULL. The kernel ends these processes
 * when their devices answer.
 */
static pid_t *place_for_one(void)
{
	pid_t *place = NULL;
	unsigned int i;

	for (i = 0; i < MOST; i++) {
		if (left[i] && waitpid(left[i], NULL, WNOHANG))
			left[i] = 0;
		if (!left[i])
			place = &left[i];
	}
	return place;
}

/*
 * The process may outlive the tool: a program that waits for the end of the tool's output, or
 * for its lock, must not wait for this process.
 */
static void leave_files(int pipe)
{
	int null = open("/dev/null", O_RDWR), fd;

	for (fd = 0; fd < 3; fd++)
		dup2(null, fd);
	dup2(pipe, 3);
	close_range(4, ~0U, 0);
}

/* A process that has ended has closed its end of the pipe. */
static bool ends_within(int pipe, uint64_t ms)
{
	struct pollfd p = { .fd = pipe, .events = POLLIN };
	uint64_t end = now_ms() + ms, now;
	int r;

	do {
		now = now_ms();
		r = poll(&p, 1, now < end ? (int)(end - now) : 0);
	} while (r < 0 && errno == EINTR && now < end);
	return r > 0;
}

int run_within(uint64_t ms, int (*fn)(void *context, void *result), void *context, void *result, size_t len)
{
	struct shared *shared = mmap(NULL, sizeof(*shared) + len, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child, *place = place_for_one();
	int ends[2], r = -ETIMEDOUT;

	if (shared == MAP_FAILED)
		return -errno;
	if (!place) {
		munmap(shared, sizeof(*shared) + len);
		return r;
	}
	if (pipe2(ends, O_CLOEXEC)) {
		r = -errno;
		munmap(shared, sizeof(*shared) + len);
		return r;
	}
	shared->answer = -EIO;
	child = fork();
	if (!child) {
		leave_files(ends[1]);
		shared->answer = fn(context, shared->result);
		_exit(0);
	}
	if (child < 0)
		r = -errno;
	close(ends[1]);
	if (child > 0 && ends_within(ends[0], ms)) {
		waitpid(child, NULL, 0);
		r = shared->answer;
		memcpy(result, shared->result, len);
	} else if (child > 0) {
		kill(child, SIGKILL);
		*place = child;
	}
	close(ends[0]);
	munmap(shared, sizeof(*shared) + len);
	return r;
}
