/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the set of a command, and checks that the set is fit for it. */
#ifndef TIERCTL_FIND_H
#define TIERCTL_FIND_H

#include "base/context.h"
#include "set/set.h"

/* Whether there is a set of that name, active or not; with the error said. */
bool need_known(struct tier_context *ctx, struct set_list *list, const char *name);

/*
 * The set of that name, which must be active and in working order; NULL with the error said.
 * Fills *list, which the caller frees in any case.
 */
struct set *need_active(struct tier_context *ctx, struct set_list *list, const char *name);

/* Whether the set is active and in working order; false with the error said. */
bool check_active(const struct set *s);

/* By the digits of its UUID; NULL if there is none. */
struct set *sets_find_hex(const struct set_list *list, const char *set_hex);

/* Whether no part of the set is there twice; false with the error said. */
bool set_parts_known(const struct set *s);

/* Whether the set's table is still the table in *s; false with the error said. */
bool set_unchanged(const struct set *s);

/* Whether nobody has the set's device open; false with the error said. */
bool check_closed(const struct set *s, const char *command);

/* Whether the text can be a set's name. */
bool is_name(const char *name);

#endif
