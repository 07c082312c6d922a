/* SPDX-License-Identifier: GPL-2.0-only */
/* Corrects checksums of metadata blocks that were changed. */
#ifndef RESEAL_H
#define RESEAL_H

#include <stdbool.h>

#include "format/pd.h"

/*
 * Seals a block for number, as the kind of the block before, which was sealed for was; false:
 * before has no kind.
 */
static inline bool reseal_as(void *block, const void *before, u64 was, u64 number)
{
	const char *reason;

	if (!tier_superblock_verify(before, was, &reason))
		tier_superblock_seal(block, number);
	else if (!md_judge_index(before, was))
		md_seal_index(block, number);
	else if (!md_judge_bitmap(before, was))
		md_seal_bitmap(block, number);
	else if (!md_judge_array(before, was, 8) || !md_judge_array(before, was, 4))
		md_seal_array(block, number);
	else if (!md_judge_node(before, was, 8) || !md_judge_node(before, was, 4) ||
		 !md_judge_node(before, was, sizeof(struct tier_record)) ||
		 !md_judge_node(before, was, sizeof(struct tier_tunable_record)))
		md_seal_node(block, number);
	else
		return false;
	return true;
}

static inline bool reseal(void *block, const void *before, u64 number)
{
	return reseal_as(block, before, number, number);
}

#endif
