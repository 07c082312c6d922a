/* SPDX-License-Identifier: GPL-2.0-only */
/* The hottest chunks of a set, and the files that lie in them. */
#ifndef TIERCTL_HOT_H
#define TIERCTL_HOT_H

#include "set/files.h"
#include "set/heat.h"

/* Where all files of the sets lie, as of some moment. */
struct file_index {
	unsigned int nr_files, nr_places;
	char **file;
	struct place {
		const struct set *set;
		uint64_t at, count;	/* sectors of the set's device */
		uint64_t reach;		/* where this one and all before it on the set end */
		unsigned int file;
	} *place;			/* by set and at */
	bool cut;			/* there are more than it takes */
	uint64_t made_ms, took_ms;
};

/* Looks at all file systems that are mounted on the sets; may take a while. */
void file_index_make(struct file_index *index, const struct set_list *sets);
/* Puts the places in order, once they are all there. */
void file_index_sort(struct file_index *index);
void file_index_free(struct file_index *index);

struct hot_file {
	const char *path;	/* the index's */
	uint64_t heat;		/* its share in that of hot chunks */
	uint64_t on_rank[TIER_MAX_TIERS];	/* bytes of it in hot chunks */
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
 * max: chunks, and files.  index: NULL if no files are wanted; it must outlive
 * *hot.  False with the error said; hot_free() in any case.
 */
bool hot_find(struct hot *hot, const struct set *s, unsigned int max, const struct file_index *index);
void hot_free(struct hot *hot);

/* The file that most of the chunk belongs to, NULL if none is known. */
const char *hot_owner(const struct file_index *index, const struct set *s, uint64_t chunk);

#endif
