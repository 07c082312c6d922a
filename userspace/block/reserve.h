/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Persistent reservations of SCSI and NVMe disks. Only machines that have registered a key with the
 * disk may write to it while a reservation of the type "write exclusive, registrants only" holds;
 * taking a key away shuts its machine out, whatever that does.
 *
 * dm-tier's keys have RESERVE_MARK in their upper 16 bits. All others are someone else's, a
 * cluster's fence or LVM, and are left alone.
 */
#ifndef TIERCTL_RESERVE_H
#define TIERCTL_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "block/device.h"

#define RESERVE_MARK		0x7469ULL
#define RESERVE_KEYS_MAX	64

struct reservation {
	bool held;
	uint64_t holder;		/* its key; only if held */
	unsigned int nr_keys;		/* of those below, one for each path */
	uint64_t key[RESERVE_KEYS_MAX];	/* registered */
};

static inline bool reserve_key_is_ours(uint64_t key) { return key >> 48 == RESERVE_MARK; }

/*
 * Why a reservation cannot be of this device alone, "is a logical volume" for one; NULL if it can.
 * Does not ask the disk.
 */
const char *reserve_unfit(const struct device *d);

/*
 * All of these open the device: 0, -errno, -EOPNOTSUPP if the disk knows no reservations, -EOVERFLOW
 * if it has more keys than fit here.
 */
int reserve_read(const struct device *d, struct reservation *r);
/*
 * Registers this machine's key, and reserves the disk if no reservation is held: -EBUSY if another
 * key was faster.
 */
int reserve_take(const struct device *d, uint64_t key);
/*
 * Takes the other key away, with the reservation if that holds it; I/O of its machine is aborted. With
 * the own key: takes over what the key holds on a path that is gone.
 */
int reserve_preempt(const struct device *d, uint64_t key, uint64_t other);
/* Takes this machine's key back, and so the reservation, if the key holds it. */
int reserve_drop(const struct device *d, uint64_t key);

#endif
