/* SPDX-License-Identifier: GPL-2.0-only */
/* Sizes of a new set: pure arithmetic, by the kernel's rules. */
#ifndef TIERCTL_GEOMETRY_H
#define TIERCTL_GEOMETRY_H

#include <stdint.h>

/* Usable places of a tier of so many sectors: those behind the label area. */
uint64_t geometry_places(uint64_t sectors, uint64_t chunk_sectors);

/*
 * Sectors of a chunk, for sets of so many sectors that say nothing else: 1 MiB, or as much more
 * as makes at most 384 Mi chunks, whose map and heat take 5 GiB of memory.
 */
uint64_t geometry_chunk_sectors(uint64_t sectors);

/* Places kept free for moving in a set with so many usable places. */
uint64_t geometry_reserve(uint64_t places);

/* Bytes of metadata for so many chunks: the minimum, and the recommended size. */
uint64_t geometry_metadata_min(uint64_t chunks);
uint64_t geometry_metadata_good(uint64_t chunks);

#endif
