/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages to the kernel. */
#ifndef TIERCTL_MESSAGE_H
#define TIERCTL_MESSAGE_H

#include "set/set.h"

/* Sends a message, or prints it (--dry-run). 0 or -errno, with the error said. */
int send_message(const struct set *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
