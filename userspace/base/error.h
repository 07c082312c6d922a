/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kind of error it is: the code that --json gives beside each message, for scripts.  A
 * code never changes its name or its meaning; tierctl(8) lists them, under ERROR CODES.
 */
#ifndef TIERCTL_ERROR_H
#define TIERCTL_ERROR_H

enum error_code {
	ERR_USAGE,
	ERR_NOT_FOUND,
	ERR_EXISTS,
	ERR_AMBIGUOUS,
	ERR_IN_USE,
	ERR_BUSY,
	ERR_ACTIVE,
	ERR_ELSEWHERE,
	ERR_INACTIVE,
	ERR_UNFINISHED,
	ERR_CHANGED,
	ERR_UNSUITABLE,
	ERR_NEEDS_FORCE,
	ERR_DECLINED,
	ERR_NO_SPACE,
	ERR_DEGRADED,
	ERR_STALE,
	ERR_DAMAGED,
	ERR_FAILED,
	ERR_READ_ONLY,
	ERR_UNREACHABLE,
	ERR_IO,
	ERR_KERNEL_REFUSED,
	ERR_LVM_REFUSED,
	ERR_SYSTEM,
	ERR_UNSUPPORTED,
	ERR_PERMISSION,
	ERR_TIMED_OUT,
	NR_ERRORS,
};

struct error_def {
	const char *name;	/* as in --json */
	const char *meaning;	/* as in tierctl(8) */
};
extern const struct error_def error_defs[NR_ERRORS];

/* The code of an errno. */
enum error_code error_from(int error);

#endif
