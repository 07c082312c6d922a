// SPDX-License-Identifier: GPL-2.0-only
#include "format/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

#define PIECE_BLOCKS	1024	/* 4 MiB */
/* A gap of at most so many blocks is read, not skipped. */
#define GAP_BLOCKS	16

int md_source_init(struct md_source *src, int fd)
{
	off_t base = lseek(fd, 0, SEEK_CUR), size = lseek(fd, 0, SEEK_END);
	size_t blocks;

	memset(src, 0, sizeof(*src));
	src->fd = fd;
	if (base < 0 || size < base || lseek(fd, base, SEEK_SET) < 0)
		return -EIO;
	src->base = base;
	src->nr_blocks = (u64)(size - base) / MD_BLOCK;
	blocks = src->nr_blocks < PIECE_BLOCKS ? src->nr_blocks + 1 : PIECE_BLOCKS;
	if (posix_memalign((void **)&src->piece, MD_BLOCK, blocks * MD_BLOCK))
		return -ENOMEM;
	return 0;
}

void md_source_free(struct md_source *src)
{
	free(src->piece);
	src->piece = NULL;
}

static int read_fully(int fd, void *buf, size_t len, u64 offset)
{
	u8 *p = buf;
	ssize_t n;

	while (len) {
		n = pread(fd, p, len, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		p += n;
		offset += n;
		len -= n;
	}
	return 0;
}

int md_source_read(struct md_source *src, u64 block, void *data)
{
	if (block >= src->nr_blocks)
		return -ENODATA;
	if (!block && src->superblock) {
		memcpy(data, src->superblock, MD_BLOCK);
		return 0;
	}
	return read_fully(src->fd, data, MD_BLOCK, src->base + block * MD_BLOCK);
}

void md_refs_add(struct md_refs *refs, const struct md_ref *ref)
{
	if (refs->nr == refs->room) {
		refs->room = refs->room ? 2 * refs->room : 64;
		refs->ref = xrealloc(refs->ref, refs->room, sizeof(*refs->ref));
	}
	refs->ref[refs->nr++] = *ref;
}

void md_refs_free(struct md_refs *refs)
{
	free(refs->ref);
	memset(refs, 0, sizeof(*refs));
}

/* Equal blocks are sorted by key, so that messages have the same order each time. */
static int by_block(const void *a, const void *b)
{
	const struct md_ref *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* How many refs, from ref on, one read covers. */
static size_t group(const struct md_source *src, const struct md_ref *ref, size_t nr)
{
	size_t i;

	for (i = 1; i < nr; i++)
		if (ref[i].block >= src->nr_blocks || ref[i].block - ref->block >= PIECE_BLOCKS ||
		    ref[i].block - ref[i - 1].block > GAP_BLOCKS)
			break;
	return i;
}

void md_source_read_all(struct md_source *src, struct md_refs *refs,
			void (*fn)(void *context, const struct md_ref *ref, const void *data),
			void *context)
{
	size_t i, j, nr;

	if (!refs->nr)
		return;
	qsort(refs->ref, refs->nr, sizeof(*refs->ref), by_block);
	for (i = 0; i < refs->nr; i += nr) {
		const struct md_ref *ref = &refs->ref[i];
		u64 start = ref->block;
		bool together;

		if (start >= src->nr_blocks) {
			nr = 1;
			fn(context, ref, NULL);
			continue;
		}
		nr = group(src, ref, refs->nr - i);
		together = !read_fully(src->fd, src->piece, (ref[nr - 1].block - start + 1) * MD_BLOCK,
				       src->base + start * MD_BLOCK);
		for (j = 0; j < nr; j++) {
			const u8 *data = src->piece + (ref[j].block - start) * MD_BLOCK;

			/* One of the blocks is bad: read each alone. */
			if (!together) {
				data = src->piece;
				if (md_source_read(src, ref[j].block, src->piece))
					data = NULL;
			}
			fn(context, &ref[j], data);
		}
	}
}
