// SPDX-License-Identifier: GPL-2.0-only
#include "format/crc32c.h"

#define POLYNOMIAL 0x82f63b78U	/* bits in reverse order */

static uint32_t table[256];

/* Runs before main(), so that no caller meets a half-filled table. */
__attribute__((constructor)) static void fill_table(void)
{
	uint32_t crc;
	unsigned int i, bit;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
		table[i] = crc;
	}
}

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return crc;
}
