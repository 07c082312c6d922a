// SPDX-License-Identifier: GPL-2.0-only
#include "base/util.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *program = "tierctl";

void out_of_memory(void)
{
	fprintf(stderr, "%s: out of memory\n", program);
	exit(EXIT_FAILED);
}

static void *checked(void *p)
{
	if (!p)
		out_of_memory();
	return p;
}

void *xcalloc(size_t nr, size_t size)
{
	return checked(calloc(nr ? nr : 1, size));
}

void *xrealloc(void *p, size_t nr, size_t size)
{
	return checked(reallocarray(p, nr ? nr : 1, size));
}

char *xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *xstrndup(const char *s, size_t len)
{
	return checked(strndup(s, len));
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *s;

	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	return checked(s);
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}

void text_add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);

	if (t->len + len + 1 > t->room) {
		t->room = 2 * (t->len + len + 1);
		t->s = xrealloc(t->s, t->room, 1);
	}
	va_start(ap, fmt);
	vsnprintf(t->s + t->len, t->room - t->len, fmt, ap);
	va_end(ap);
	t->len += len;
}

void text_free(struct text *t)
{
	free(t->s);
	memset(t, 0, sizeof(*t));
}

void copy_string(char *to, size_t size, const char *from)
{
	size_t len = strnlen(from, size - 1);

	memcpy(to, from, len);
	to[len] = '\0';
}

/* Bytes of the UTF-8 character that s begins with, 0 if there is none. */
static size_t utf8_length(const char *s)
{
	const unsigned char *c = (const unsigned char *)s;
	size_t len = *c < 0x80 ? 1 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf5 ? 4 : 0, i;

	for (i = 1; i < len; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	/*
	 * Spelt too long, half of a UTF-16 pair, beyond the last character, or never a
	 * character.
	 */
	if ((*c == 0xe0 && c[1] < 0xa0) || (*c == 0xed && c[1] > 0x9f) || (*c == 0xf0 && c[1] < 0x90) ||
	    (*c == 0xf4 && c[1] > 0x8f) || (*c == 0xef && c[1] == 0xbf && c[2] > 0xbd))
		return 0;
	return len;
}

void make_printable(char *s)
{
	size_t len;

	for (; *s; s += len) {
		const unsigned char *c = (const unsigned char *)s;

		len = utf8_length(s);
		/* U+0080 to U+009F are control characters, too. */
		if (!len || *c < ' ' || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0)) {
			len += !len;
			memset(s, '_', len);
		}
	}
}

char *to_utf8(const char *s)
{
	struct text t = { 0 };
	size_t len;

	text_add(&t, "%s", "");
	for (; *s; s += len) {
		len = utf8_length(s);
		if (len)
			text_add(&t, "%.*s", (int)len, s);
		else
			text_add(&t, "\xef\xbf\xbd");
		len += !len;
	}
	return t.s;
}

const char *format_time(char buf[TIME_TEXT], time_t when)
{
	struct tm tm;

	*buf = '\0';
	if (localtime_r(&when, &tm))
		strftime(buf, TIME_TEXT, "%Y-%m-%d %H:%M:%S", &tm);
	return buf;
}

uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void hold_signals(sigset_t *before)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGHUP);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGQUIT);
	sigaddset(&held, SIGPIPE);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGTSTP);
	sigaddset(&held, SIGTTIN);
	sigaddset(&held, SIGTTOU);
	sigprocmask(SIG_BLOCK, &held, before);
}

void release_signals(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}

volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

void detach_on_interrupt(void)
{
	struct sigaction sa = { .sa_handler = on_interrupt };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

void sleep_ms(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000L };

	if (!interrupted)
		nanosleep(&ts, NULL);
}

int write_fully(int fd, uint64_t offset, const void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pwrite(fd, (const char *)buf + done, len - done, offset + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += n;
	}
	return 0;
}
