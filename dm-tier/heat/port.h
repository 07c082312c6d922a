/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few things the heat engine needs from where it runs.  This is the only
 * place that knows whether that is the kernel or a test in user space.
 */
#ifndef DM_TIER_HEAT_PORT_H
#define DM_TIER_HEAT_PORT_H

#ifdef __KERNEL__

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#else

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define min_t(type, a, b) ({ type a_ = (a), b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b) ({ type a_ = (a), b_ = (b); a_ > b_ ? a_ : b_; })
#define div64_u64(dividend, divisor) ((u64)(dividend) / (u64)(divisor))

#endif /* __KERNEL__ */

#endif /* DM_TIER_HEAT_PORT_H */
