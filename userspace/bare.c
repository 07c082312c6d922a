// SPDX-License-Identifier: GPL-2.0-only
#include "bare.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/metadata.h"
#include "plan.h"
#include "size.h"
#include "util.h"

#define PIECE_BYTES	(1ULL << 20)

struct beginning {
	uint64_t chunks;
	u64 *entry;
};

static int note_entry(void *context, u64 chunk, u64 entry)
{
	struct beginning *b = context;

	if (chunk < b->chunks)
		b->entry[chunk] = entry;
	return 0;
}

static bool read_entries(const struct set *s, struct beginning *b)
{
	int fd = device_open(&s->meta_dev, O_RDONLY), r = fd;
	const char *reason;

	if (fd >= 0) {
		r = md_read_map(fd, &s->roots, s->info.nr_chunks, note_entry, b, &reason);
		close(fd);
	}
	return !r;
}

/* Compares bytes of both; *data: there is more than zeroes. */
static bool same_bytes(int fd, uint64_t at, int other, uint64_t other_at, uint64_t len, bool *data)
{
	void *a = block_buffer(PIECE_BYTES), *b = block_buffer(PIECE_BYTES);
	bool same = true;
	uint64_t done;

	for (done = 0; same && done < len; done += PIECE_BYTES) {
		size_t piece = len - done < PIECE_BYTES ? len - done : PIECE_BYTES;

		same = !read_blocks(fd, at + done, a, piece) &&
		       (other < 0 || !read_blocks(other, other_at + done, b, piece)) && !memcmp(a, b, piece);
		*data |= same && !tier_all_zero(a, piece);
	}
	free(a);
	free(b);
	return same;
}

static bool same_chunk(const struct set *s, int fd, uint64_t chunk, u64 entry, bool *data)
{
	uint64_t bytes = s->chunk_sectors * SECTOR_SIZE, at = chunk * bytes, end = s->length * SECTOR_SIZE;
	uint64_t len = at + bytes > end ? end - at : bytes;
	int rank = set_rank_of(s, entry), other;
	bool same;

	if (!(entry & TIER_ENTRY_MAPPED))
		return same_bytes(fd, at, -1, 0, len, data);
	other = rank >= 0 && s->tier[rank].present ? device_open(&s->tier[rank].dev, O_RDONLY) : -1;
	if (other < 0)
		return false;
	same = same_bytes(fd, at, other, (entry & TIER_ENTRY_PLACE_MASK) * bytes, len, data);
	close(other);
	return same;
}

bool bare_begins_as(const struct set *s, const struct device *d)
{
	struct beginning b = { .chunks = plan_label_area(s->chunk_sectors) / s->chunk_sectors };
	int fd = device_open(d, O_RDONLY);
	bool same = fd >= 0 && s->have_info && b.chunks <= s->info.nr_chunks, data = false;
	uint64_t v;

	b.entry = xcalloc(b.chunks, sizeof(*b.entry));
	same = same && read_entries(s, &b);
	for (v = 0; same && v < b.chunks; v++)
		same = same_chunk(s, fd, v, b.entry[v], &data);
	if (fd >= 0)
		close(fd);
	free(b.entry);
	return same && data;
}
