/* SPDX-License-Identifier: GPL-2.0-only */
/* CRC-32C (Castagnoli), with the kernel's conventions: nothing is inverted. */
#ifndef TIER_CRC32C_H
#define TIER_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(uint32_t crc, const void *data, size_t len);

#endif /* TIER_CRC32C_H */
