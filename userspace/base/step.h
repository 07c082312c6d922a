/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The steps of a command that can be interrupted. In a test build the process dies here if
 * TIERCTL_DIE_AT names the step ("WHAT-STEP"), and stops if TIERCTL_STOP_AT names it (see
 * tests/functional/lib-reshape.sh).
 */
#ifndef TIERCTL_STEP_H
#define TIERCTL_STEP_H

#ifdef TIERCTL_STEPS
void step_reached(const char *what, const char *step);
#else
static inline void step_reached(const char *what, const char *step)
{
	(void)what;
	(void)step;
}
#endif

#endif
