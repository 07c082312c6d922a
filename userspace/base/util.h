/* SPDX-License-Identifier: GPL-2.0-only */
/* Needed by all folders: memory, text, signals, exit codes. */
#ifndef TIERCTL_UTIL_H
#define TIERCTL_UTIL_H

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,	/* failed or declined */
	EXIT_USAGE = 2,
	EXIT_ATTENTION = 3,	/* degraded or needs attention */
	EXIT_DETACHED = 130,
};

/* Begins every message. */
extern const char *program;

void out_of_memory(void) __attribute__((noreturn));
/* Never return NULL. */
void *xcalloc(size_t nr, size_t size);
void *xrealloc(void *p, size_t nr, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t len);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

/* Text that grows; .s is NUL-terminated once anything was added, else NULL. */
struct text {
	char *s;
	size_t len, room;
};
void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_free(struct text *t);

/* Copies with truncation, always NUL-terminated. */
void copy_string(char *to, size_t size, const char *from);


/*
 * A disk may hold any bytes: control characters and bytes that are no UTF-8 become underscores.
 */
void make_printable(char *s);

/*
 * A file may have any name, but JSON and XML take only UTF-8: bytes that are no UTF-8 become the
 * replacement character, U+FFFD. The caller frees the result.
 */
char *to_utf8(const char *s);

/* A time of the calendar, in seconds since 1970, as text of this time zone. */
#define TIME_TEXT	32
const char *format_time(char buf[TIME_TEXT], time_t when);

/* Milliseconds of a clock that only goes forward. */
uint64_t now_ms(void);

/*
 * From one to the other nothing but SIGKILL and SIGSTOP ends or stops the tool, not even
 * that nobody reads what it says; then whatever came meanwhile does.
 */
void hold_signals(sigset_t *before);
void release_signals(const sigset_t *before);

/* While detach_on_interrupt() is in force, Ctrl-C sets interrupted and does not end the tool. */
extern volatile sig_atomic_t interrupted;
void detach_on_interrupt(void);
/* Returns early when interrupted. */
void sleep_ms(unsigned int ms);

/* Writes all bytes: 0, or -errno. */
int write_fully(int fd, uint64_t offset, const void *buf, size_t len);

#endif
