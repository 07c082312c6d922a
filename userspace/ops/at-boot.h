/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A volume that cannot be closed, such as that of the root file system, is converted by the
 * initramfs before it mounts anything. The order is a file that lies in each initramfs; it holds for
 * the volume of that UUID that has its tag, which the initramfs takes away before it begins. So it is
 * carried out once, and on no other volume. userspace/initramfs/initramfs.in carries it out.
 */
#ifndef TIERCTL_AT_BOOT_H
#define TIERCTL_AT_BOOT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/context.h"
#include "base/words.h"

/* Whether the machine finds its kernel if that volume becomes a set; false with the error said. */
bool at_boot_possible(struct tier_context *ctx, const char *volume, dev_t dev);

/*
 * Leaves the order to call tierctl convert with these words for VG/LV. With --dry-run only says so.
 * An exit code; if it is not EXIT_DONE, there is no order.
 */
int at_boot_order(struct tier_context *ctx, const char *volume, const struct strings *words);

/* Takes the order for that volume back, also one that was carried out. An exit code. */
int at_boot_forget(struct tier_context *ctx, const char *volume);

#endif
