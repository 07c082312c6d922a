// SPDX-License-Identifier: GPL-2.0-only
#include "base/step.h"

#ifdef TIERCTL_STEPS
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

static void signal_at(const char *variable, const char *step, int signal)
{
	const char *wanted = getenv(variable);

	if (wanted && !strcmp(wanted, step)) {
		fflush(NULL);
		unsetenv(variable);	/* once */
		kill(getpid(), signal);
	}
}

void step_reached(const char *what, const char *step)
{
	char *name = xasprintf("%s-%s", what, step);

	signal_at("TIERCTL_DIE_AT", name, SIGKILL);
	signal_at("TIERCTL_STOP_AT", name, SIGSTOP);
	free(name);
}
#endif
