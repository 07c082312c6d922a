/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What plain C code shared by the kernel and user space needs: fixed-width
 * types, byte order, errno values, string functions and crc32c(), spelt the
 * kernel's way.  The one place where the two environments differ.
 */
#ifndef TIER_PLAIN_C_H
#define TIER_PLAIN_C_H

#ifdef __KERNEL__

#include <linux/build_bug.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#else

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>
#include "format/crc32c.h"

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#define cpu_to_le16(x)	((__le16)htole16(x))
#define cpu_to_le32(x)	((__le32)htole32(x))
#define cpu_to_le64(x)	((__le64)htole64(x))
#define le16_to_cpu(x)	((u16)le16toh(x))
#define le32_to_cpu(x)	((u32)le32toh(x))
#define le64_to_cpu(x)	((u64)le64toh(x))

static inline u64 DIV_ROUND_UP_ULL(u64 n, u64 d)
{
	/* What comes from a disk may be as large as it likes. */
	return n / d + !!(n % d);
}

#endif

#endif /* TIER_PLAIN_C_H */
