/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by fuzztools and the reader's fuzzer. */
#ifndef CONTENT_RAW_H
#define CONTENT_RAW_H

#include "format/content.h"

#define NR_CHUNKS	1100
#define PLACES		800
#define FIRST_PLACE	16
#define NR_TIERS	2

void make_content(struct md_content *c);
/* A file in memory; the caller closes it. */
int write_content(const struct md_content *c);

/* Calls note for each entry of the mapping; false if the mapping cannot be read. */
bool raw_walk(const uint8_t *image, size_t len, void (*note)(uint64_t chunk, uint64_t entry));

#endif
