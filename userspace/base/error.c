// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"

#include <errno.h>

const struct error_def error_defs[NR_ERRORS] = {
	[ERR_USAGE]	     = { "usage", "The command line is wrong." },
	[ERR_NOT_FOUND]	     = { "not_found", "There is no such set, tier, device or file." },
	[ERR_EXISTS]	     = { "exists", "The name, device or file is there already." },
	[ERR_AMBIGUOUS]	     = { "ambiguous", "Two sets or devices are meant by it." },
	[ERR_IN_USE]	     = { "in_use", "A device is mounted, open, or part of something else." },
	[ERR_BUSY]	     = { "busy", "Another command or migration is at work; try again later." },
	[ERR_ACTIVE]	     = { "active", "The set must be deactivated first." },
	[ERR_ELSEWHERE]	     = { "elsewhere", "Another machine uses the set, or was cut off from it." },
	[ERR_INACTIVE]	     = { "inactive", "The set, or a volume of it, must be activated first." },
	[ERR_UNFINISHED]     = { "unfinished", "A change is not complete; the message says how to go on." },
	[ERR_CHANGED]	     = { "changed", "A device or set was changed by somebody else meanwhile." },
	[ERR_UNSUITABLE]     = { "unsuitable", "A device, file or name does not fit what it is to be used for." },
	[ERR_NEEDS_FORCE]    = { "needs_force", "Something would be lost; --force does it all the same." },
	[ERR_DECLINED]	     = { "declined", "The answer to a question was no, or nobody could be asked." },
	[ERR_NO_SPACE]	     = { "no_space", "There is not enough room, or a limit is reached." },
	[ERR_DEGRADED]	     = { "degraded", "Devices of the set are missing." },
	[ERR_STALE]	     = { "stale", "Devices of the set are of different times." },
	[ERR_DAMAGED]	     = { "damaged", "Metadata, a label, a record or a dump is damaged." },
	[ERR_FAILED]	     = { "failed", "The set has failed; the kernel log says why." },
	[ERR_READ_ONLY]	     = { "read_only", "The set has fallen to read-only; the kernel log says why." },
	[ERR_UNREACHABLE]    = { "unreachable", "A device or set does not answer." },
	[ERR_IO]	     = { "io_error", "A device or file cannot be read or written." },
	[ERR_KERNEL_REFUSED] = { "kernel_refused", "Device-mapper or the tier target refused it." },
	[ERR_LVM_REFUSED]    = { "lvm_refused", "An LVM command failed, or would fail." },
	[ERR_SYSTEM]	     = { "system", "Something else on this machine, such as systemd, failed." },
	[ERR_UNSUPPORTED]    = { "unsupported", "This version, or the file system, cannot do it." },
	[ERR_PERMISSION]     = { "permission", "The user may not do it." },
	[ERR_TIMED_OUT]	     = { "timed_out", "The time that was given is over." },
};

enum error_code error_from(int error)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return ERR_NOT_FOUND;
	case EEXIST:
		return ERR_EXISTS;
	case EBUSY:
		return ERR_IN_USE;
	case EACCES:
	case EPERM:
		return ERR_PERMISSION;
	case ENOSPC:
	case EDQUOT:
		return ERR_NO_SPACE;
	case ETIMEDOUT:
		return ERR_TIMED_OUT;
	case ESTALE:
		return ERR_CHANGED;
	case EINVAL:
	case EROFS:
		return ERR_UNSUITABLE;
	case ENOMEM:
		return ERR_SYSTEM;
	case EOPNOTSUPP:
	case ENOSYS:
		return ERR_UNSUPPORTED;
	default:
		return ERR_IO;
	}
}
