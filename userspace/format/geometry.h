/* SPDX-License-Identifier: GPL-2.0-only */
/* The sizes of a set to be: pure arithmetic, the kernel's rules. */
#ifndef TIERCTL_GEOMETRY_H
#define TIERCTL_GEOMETRY_H

#include <stdint.h>

/* Sectors at the beginning of a tier that are no places. */
uint64_t geometry_label_area(uint64_t chunk_sectors);

/* Usable places of a tier of so many sectors: what is left of it after the label area. */
uint64_t geometry_places(uint64_t sectors, uint64_t chunk_sectors);

/* Places kept free for moving in a set with so many usable places. */
uint64_t geometry_reserve(uint64_t places);

/* Bytes of metadata that so many chunks need at least, and that are good to have. */
uint64_t geometry_metadata_min(uint64_t chunks);
uint64_t geometry_metadata_good(uint64_t chunks);

#endif
