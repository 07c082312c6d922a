/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel log's word on why something was refused. */
#ifndef TIERCTL_KMSG_H
#define TIERCTL_KMSG_H

/* Start to listen; a handle for kmsg_reason(), negative if the log cannot be read. */
int kmsg_open(void);

/*
 * What device-mapper said of a tier target since then, without its prefixes;
 * NULL if nothing.  The caller frees.  Closes the handle.
 */
char *kmsg_reason(int handle);

/*
 * The same from one line of the log; NULL if it is about something else.  Of
 * several lines, the first with the highest *weight says it best.
 */
char *kmsg_line_reason(const char *line, int *weight);

#endif
