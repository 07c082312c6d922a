// SPDX-License-Identifier: GPL-2.0-only
/* The reason, of what LVM says when a command fails. */
#include <stdlib.h>
#include <string.h>

#include "lvm/lvm.h"
#include "../tap.h"

static void reason(const char *output, const char *want)
{
	char *got = lvm_reason(output);

	ok(!strcmp(got, want), "%s", got);
	free(got);
}

int main(void)
{
	reason("  New logical volume path exceeds maximum length of 120!\n"
	       "  Run `lvrename --help' for more information.\n", "New logical volume path exceeds maximum length of 120");
	reason("  WARNING: Couldn't find device with uuid 2jTqvy-x.\n"
	       "  WARNING: VG vg is missing PV 2jTqvy-x (last written to /dev/sdb).\n"
	       "  Cannot change VG vg while PVs are missing.\n"
	       "  See vgreduce --removemissing and vgextend --restoremissing.\n"
	       "  Cannot process volume group vg\n",
	       "Cannot change VG vg while PVs are missing; See vgreduce --removemissing and vgextend --restoremissing");
	reason("  TEST MODE: Metadata will NOT be updated and volumes will not be (de)activated.\n"
	       "  Volume group vg is exported\n", "Volume group vg is exported");
	reason("  Rounding up size to full physical extent 4.00 MiB\n"
	       "  Wiping ext4 signature on /dev/vg/x.\n"
	       "  Volume group \"vg\" has insufficient free space (1 extents): 5 required.\n",
	       "Volume group \"vg\" has insufficient free space (1 extents): 5 required");
	reason("  device-mapper: rename ioctl on  (253:5) failed: Device or resource busy\n"
	       "  Failed to rename x.\n\n  a\n  b\n",
	       "device-mapper: rename ioctl on  (253:5) failed: Device or resource busy; Failed to rename x; a");
	reason("  WARNING: nothing else\n", "WARNING: nothing else");
	reason("  \n\n", "failed");
	reason("", "failed");
	reason("no lvresize", "no lvresize");
	return tap_done();
}
