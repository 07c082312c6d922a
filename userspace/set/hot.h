/* SPDX-License-Identifier: GPL-2.0-only */
/* The hottest chunks of a set, and the files that lie in them. */
#ifndef TIERCTL_HOT_H
#define TIERCTL_HOT_H

#include "set/files.h"
#include "set/heat.h"

/* The places of all files on the sets, at some moment. */
struct file_index {
	unsigned int nr_files, nr_places;
	char **file;
	struct place {
		const struct set *set;
		uint64_t at, count;	/* sectors of the set's device */
		uint64_t reach;		/* largest end of this place and all before it on the set */
		unsigned int file;
	} *place;			/* by set and at */
	bool cut;			/* there are more places than an index takes */
	uint64_t made_ms, took_ms;
};

/* Reads all file systems that are mounted on the sets; may take a while. */
void file_index_make(struct file_index *index, const struct set_list *sets);
/* Sorts the places, once all are added. */
void file_index_sort(struct file_index *index);
void file_index_free(struct file_index *index);

struct hot_file {
	const char *path;	/* belongs to the index */
	uint64_t heat;		/* its part of the heat of hot chunks */
	uint64_t on_rank[TIER_MAX_TIERS];	/* its bytes in hot chunks */
};

struct hot {
	const struct set *set;
	unsigned int nr_chunks;
	struct heat_bucket *chunk;	/* hottest first */
	bool have_files;
	unsigned int nr_files;
	struct hot_file *file;		/* hottest first */
};

/*
 * max: chunks, and files. index: NULL if no files are wanted; it must outlive *hot. False with
 * the error said; call hot_free() in any case.
 */
bool hot_find(struct hot *hot, const struct set *s, unsigned int max, const struct file_index *index);
void hot_free(struct hot *hot);

/* The file with most of the chunk, NULL if none is known. */
const char *hot_owner(const struct file_index *index, const struct set *s, uint64_t chunk);

#endif
