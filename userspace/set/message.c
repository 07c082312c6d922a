// SPDX-License-Identifier: GPL-2.0-only
#include "set/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"

#define TRIES	100
#define PAUSE	100000	/* microseconds */

/* A suspend ends a pin or unpin of many chunks in the middle; the same again does the rest. */
static int send_again(const struct set *s, const char *message, char **reason)
{
	bool again = !strncmp(message, "pin ", 4) || !strncmp(message, "unpin ", 6);
	unsigned int tries;
	int r;

	for (tries = 0; (r = dm_message(s->dm.name, message, NULL, reason)) == -EBUSY && again &&
	     !s->dm.suspended && tries < TRIES; tries++) {
		free(*reason);
		usleep(PAUSE);
	}
	return r;
}

int send_message(const struct set *s, const char *fmt, ...)
{
	char *message, *reason, *resume;
	va_list ap;
	int r = 0;

	va_start(ap, fmt);
	message = xvasprintf(fmt, ap);
	va_end(ap);

	verbose(s->ctx, "message to %s: %s", s->dm.name, message);
	if (s->ctx->dry_run) {
		say(s->ctx, "Would tell %s: %s", s->name, message);
	} else {
		r = send_again(s, message, &reason);
		if (r) {
			resume = s->dm.suspended ? set_resume_command(s) : NULL;
			err(s->ctx, ERR_KERNEL_REFUSED, "%s: %s: %s.%s%s", s->name, message, reason,
			    resume ? " It is suspended. First: " : "", resume ? resume : "");
			free(resume);
			free(reason);
		} else {
			s->ctx->changed = true;
		}
	}
	free(message);
	return r;
}
