// SPDX-License-Identifier: GPL-2.0-only
#include "set/message.h"

#include <stdlib.h>

#include "base/context.h"
#include "base/util.h"

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
		r = dm_message(s->dm.name, message, NULL, &reason);
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
