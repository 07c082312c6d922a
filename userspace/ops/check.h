/* SPDX-License-Identifier: GPL-2.0-only */
/* The check of a set's metadata, for other commands. */
#ifndef TIERCTL_METADATA_CHECK_H
#define TIERCTL_METADATA_CHECK_H

#include "set/set.h"

/*
 * An inactive set, about to be activated for writing. Clears needs_check if nothing at all is
 * wrong; if the flag is not set, minor errors do not matter. False with the error said.
 */
bool check_before_activation(const struct set *s);

#endif
