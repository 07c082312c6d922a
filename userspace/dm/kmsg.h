/* SPDX-License-Identifier: GPL-2.0-only */
/* The reason of a refusal, from the kernel log. */
#ifndef TIERCTL_KMSG_H
#define TIERCTL_KMSG_H

/* Start to listen; a handle for kmsg_reason(), negative if the log cannot be read. */
int kmsg_open(void);

/*
 * The text that device-mapper has logged about a tier target since then, without its prefixes;
 * NULL if there is none. The caller frees. Closes the handle.
 */
char *kmsg_reason(int handle);

/*
 * The same from one line of the log; NULL if the line is about something else. Of several lines,
 * the first with the highest *weight is the best reason.
 */
char *kmsg_line_reason(const char *line, int *weight);

#endif
