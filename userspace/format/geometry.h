/* SPDX-License-Identifier: GPL-2.0-only */
/* Sizes of a new set: pure arithmetic, by the kernel's rules. */
#ifndef TIERCTL_GEOMETRY_H
#define TIERCTL_GEOMETRY_H

#include <stdint.h>

/*
 * Usable places of a tier of so many sectors: those behind the label area, or from first_place on
 * if the set's tiers have more room before them.
 */
uint64_t geometry_places(uint64_t sectors, uint64_t chunk_sectors, uint64_t first_place);

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

/* The most chunks whose metadata has room in so many sectors. */
uint64_t geometry_chunks_of_metadata(uint64_t sectors);

/*
 * The first place of the tiers of a set whose metadata lies on them, with so many chunks: behind
 * the label area and a leg, in which the metadata of four times as many chunks has room.
 */
uint64_t geometry_first_place(uint64_t chunks, uint64_t chunk_sectors);

#endif
