// SPDX-License-Identifier: GPL-2.0-only
#include "ops/check.h"

#include <stdlib.h>

#include "base/context.h"
#include "base/util.h"
#include "tools/check-run.h"

bool check_before_activation(const struct set *s)
{
	/* The kernel checks the labels. */
	struct check_run run = {
		.ctx = s->ctx,
		.input = s->meta_dev.path,
		.clear_needs_check = true,
		.in_silence = true,
	};
	bool may = check_run(&run);

	if (run.errors) {
		err(s->ctx, ERR_DAMAGED,
		    "%s: its metadata is damaged: %s. What is wrong: tierctl check %s; what can be saved: tierctl repair %s DEV",
		    s->name, run.first, s->name, s->name);
	} else if (run.minor && run.needs_check) {
		/* The kernel would activate it read-only. */
		err(s->ctx, ERR_DAMAGED,
		    "%s: the flag needs_check is set and cannot be cleared: %s. What is wrong: tierctl check %s; to have it mended: tierctl repair %s DEV; to read only: tierctl activate --read-only %s",
		    s->name, run.first, s->name, s->name, s->name);
	} else if (run.minor) {
		may = true;
	}
	if (run.cleared)
		say(s->ctx, "%s: the flag needs_check was set; nothing is wrong, it is cleared.", s->name);
	free(run.first);
	return may;
}
