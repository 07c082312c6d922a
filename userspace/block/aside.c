// SPDX-License-Identifier: GPL-2.0-only
#include "block/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"

/* Processes at a time */
#define MOST	32

struct reader {
	pid_t pid;
	int fd;			/* of the pipe with its answer */
	uint64_t end;		/* now_ms() when it is late */
	unsigned int reading;
	dev_t dev;
};

/* Readers that were given up. The kernel ends them when their device answers. */
static struct reader *given_up;
static unsigned int nr_given_up;

/* Whether a reader that was given up still waits for the device. */
static bool still_hangs(dev_t dev)
{
	unsigned int i;

	for (i = 0; i < nr_given_up; i++) {
		struct pollfd p = { .fd = given_up[i].fd, .events = POLLIN };

		if (given_up[i].dev != dev)
			continue;
		if (!poll(&p, 1, 0))
			return true;
		close(given_up[i].fd);
		waitpid(given_up[i].pid, NULL, 0);
		given_up[i] = given_up[--nr_given_up];
		return false;
	}
	return false;
}

/*
 * The reader may stay for as long as its device hangs. So it keeps nothing that another process
 * waits for: no lock, no output, no terminal.
 */
__attribute__((noreturn))
static void be_reader(const struct reading *r, size_t size, void (*fn)(const struct device *dev, void *result),
		      int out)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	dup2(out, STDERR_FILENO + 1);
	close_range(STDERR_FILENO + 2, ~0U, 0);
	fn(r->dev, r->result);
	_exit(write(STDERR_FILENO + 1, r->result, size) == (ssize_t)size ? EXIT_DONE : EXIT_FAILED);
}

static bool start(struct reader *reader, const struct reading *r, size_t size,
		  void (*fn)(const struct device *dev, void *result))
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return false;
	reader->pid = fork();
	if (!reader->pid)
		be_reader(r, size, fn, fds[1]);
	close(fds[1]);
	if (reader->pid < 0) {
		close(fds[0]);
		return false;
	}
	reader->fd = fds[0];
	reader->end = now_ms() + ASIDE_MS;
	reader->dev = r->dev->dev;
	return true;
}

/* False if the answer is incomplete: somebody has killed the reader. */
static bool take_answer(const struct reader *reader, void *result, size_t size)
{
	char *answer = xcalloc(1, size);
	size_t done = 0;
	ssize_t n;

	do {
		n = read(reader->fd, answer + done, size - done);
		if (n > 0)
			done += n;
	} while ((n > 0 && done < size) || (n < 0 && errno == EINTR));
	if (done == size)
		memcpy(result, answer, size);
	free(answer);
	close(reader->fd);
	waitpid(reader->pid, NULL, 0);
	return done == size;
}

static void give_up(const struct reader *reader)
{
	kill(reader->pid, SIGKILL);
	given_up = xrealloc(given_up, nr_given_up + 1, sizeof(*given_up));
	given_up[nr_given_up++] = *reader;
}

/* Waits for answers; returns how many readers are left. */
static unsigned int wait_for_some(struct reader *running, unsigned int nr, struct reading *readings, size_t size)
{
	uint64_t now = now_ms(), end = now + ASIDE_MS;
	struct pollfd p[MOST];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		p[i] = (struct pollfd){ .fd = running[i].fd, .events = POLLIN };
		if (running[i].end < end)
			end = running[i].end;
	}
	if (poll(p, nr, end > now ? end - now : 0) < 0)
		return nr;
	now = now_ms();
	for (i = nr; i-- > 0;) {
		struct reading *r = &readings[running[i].reading];

		if (p[i].revents) {
			r->late = !take_answer(&running[i], r->result, size);
		} else if (now >= running[i].end) {
			give_up(&running[i]);
			r->late = true;
		} else {
			continue;
		}
		running[i] = running[--nr];
	}
	return nr;
}

void read_aside(struct reading *readings, unsigned int nr, size_t size,
		void (*fn)(const struct device *dev, void *result))
{
	struct reader running[MOST];
	unsigned int next = 0, nr_running = 0;

	while (next < nr || nr_running) {
		while (next < nr && nr_running < MOST) {
			struct reading *r = &readings[next];

			r->late = still_hangs(r->dev->dev);
			running[nr_running].reading = next++;
			if (r->late)
				continue;
			if (start(&running[nr_running], r, size, fn))
				nr_running++;
			else
				fn(r->dev, r->result);
		}
		if (nr_running)
			nr_running = wait_for_some(running, nr_running, readings, size);
	}
}
