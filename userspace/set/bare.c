// SPDX-License-Identifier: GPL-2.0-only
#include "set/bare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"
#include "format/metadata.h"

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

/* Compares bytes of both devices; *data: they are not all zeroes. */
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

static const struct set_tier *tier_with(const struct set *s, u64 entry)
{
	int rank = set_rank_of(s, entry);

	return rank >= 0 && s->tier[rank].present ? &s->tier[rank] : NULL;
}

static bool same_chunk(const struct set *s, int fd, uint64_t chunk, u64 entry, bool *data)
{
	uint64_t bytes = s->chunk_sectors * SECTOR_SIZE, at = chunk * bytes, end = s->length * SECTOR_SIZE;
	uint64_t len = at + bytes > end ? end - at : bytes;
	const struct set_tier *t = tier_with(s, entry);
	int other;
	bool same;

	if (!(entry & TIER_ENTRY_MAPPED))
		return same_bytes(fd, at, -1, 0, len, data);
	other = t ? device_open(&t->dev, O_RDONLY) : -1;
	if (other < 0)
		return false;
	same = same_bytes(fd, at, other, (entry & TIER_ENTRY_PLACE_MASK) * bytes, len, data);
	close(other);
	return same;
}

bool bare_begins_as(const struct set *s, const struct device *d)
{
	struct beginning b = { .chunks = tier_label_area(s->chunk_sectors) / s->chunk_sectors };
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

static bool is_label(uint64_t at, const void *sector)
{
	const struct tier_label *label = sector;

	return !(at % TIER_LABEL_SLOT_SIZE) && at / TIER_LABEL_SLOT_SIZE < TIER_LABEL_SLOTS &&
	       label->magic == cpu_to_le64(TIER_LABEL_MAGIC);
}

/*
 * Whether a sector, other than the label's, is neither zero nor the same as on the other device,
 * if there is one.
 */
static int piece_written(int fd, uint64_t at, int other, uint64_t other_at, size_t len)
{
	char *own = block_buffer(len), *kept = block_buffer(len);
	int r = read_blocks(fd, at, own, len);
	size_t i;

	if (!r && other >= 0)
		r = read_blocks(other, other_at, kept, len);
	for (i = 0; !r && i < len; i += SECTOR_SIZE)
		r = !tier_all_zero(own + i, SECTOR_SIZE) && memcmp(own + i, kept + i, SECTOR_SIZE) &&
		    !is_label(at + i, own + i);
	free(own);
	free(kept);
	return r;
}

static int chunk_written(const struct set *s, int fd, uint64_t chunk, u64 entry)
{
	uint64_t bytes = s->chunk_sectors * SECTOR_SIZE, done;
	bool mapped = entry & TIER_ENTRY_MAPPED;
	const struct set_tier *t = mapped ? tier_with(s, entry) : NULL;
	int other = t ? device_open(&t->dev, O_RDONLY) : -1, r = mapped && other < 0 ? -ENODEV : 0;

	for (done = 0; !r && done < bytes; done += PIECE_BYTES)
		r = piece_written(fd, chunk * bytes + done, other, (entry & TIER_ENTRY_PLACE_MASK) * bytes + done,
				  bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES);
	if (other >= 0)
		close(other);
	return r;
}

int bare_area_written(const struct set *s, const struct device *d)
{
	struct beginning b = { .chunks = tier_label_area(s->chunk_sectors) / s->chunk_sectors };
	int fd = device_open(d, O_RDONLY), r = fd < 0 ? fd : 0;
	uint64_t v;

	b.entry = xcalloc(b.chunks, sizeof(*b.entry));
	if (!r && !read_entries(s, &b))
		r = -EIO;
	for (v = 0; !r && v < b.chunks; v++)
		r = chunk_written(s, fd, v, b.entry[v]);
	if (fd >= 0)
		close(fd);
	free(b.entry);
	return r;
}

char *bare_label_command(const struct set *s, const struct device *d, uint64_t label)
{
	struct beginning b = { .chunks = 1, .entry = (u64[]){ 0 } };
	unsigned int unit = d->logical_block;
	const struct set_tier *t;
	uint64_t skip;

	if (!read_entries(s, &b))
		return NULL;
	t = *b.entry & TIER_ENTRY_MAPPED ? tier_with(s, *b.entry) : NULL;
	skip = t ? (*b.entry & TIER_ENTRY_PLACE_MASK) * s->chunk_sectors * SECTOR_SIZE + label : 0;
	return xasprintf("dd if=%s of=%s bs=%u skip=%llu seek=%llu count=1 conv=fsync", t ? t->dev.path : "/dev/zero",
			 d->path, unit, (unsigned long long)(skip / unit), (unsigned long long)(label / unit));
}
