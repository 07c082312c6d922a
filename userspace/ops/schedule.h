/* SPDX-License-Identifier: GPL-2.0-only */
/* The hours of migration of a set: makes, reads, follows and removes a timer of systemd. */
#ifndef TIERCTL_SCHEDULE_H
#define TIERCTL_SCHEDULE_H

#include "base/context.h"
#include "base/util.h"
#include "base/words.h"
#include "set/set.h"

struct schedule {
	struct tier_context *ctx;
	struct set *set;
	char *unit;			/* name of the timer */
	char *timer, *service;		/* their files */
	struct strings windows;
};

void schedule_init(struct tier_context *ctx, struct schedule *d, const char *set_hex);
void schedule_free(struct schedule *d);
/* Reads the installed windows. */
void schedule_read(struct schedule *d);
/* Whether now is one of those hours. */
bool schedule_inside(const struct schedule *d);
void schedule_join(const struct schedule *d, const char *separator, struct text *t);

/* Pauses or resumes migration, unless it is in that state already. An exit code. */
int schedule_set_paused(struct set *s, bool paused);
/* Replaces the windows before; false with the error said, and these unchanged. */
bool schedule_install(struct schedule *d, const struct strings *before);
/* Migration runs at all hours again.  An exit code. */
int schedule_clear(const struct schedule *d);

/* Removes the timer of a set that is gone, if there is one. */
void schedule_forget(struct tier_context *ctx, const char *set_hex);
/* Pauses or resumes a set that was activated, if it has hours. */
void schedule_follow(struct tier_context *ctx, const char *set_hex);

#endif
