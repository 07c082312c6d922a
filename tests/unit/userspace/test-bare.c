// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is a device without a label the device that takes a set's place? Files in memory take the
 * place of devices.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "set/bare.h"
#include "format/build.h"
#include "format/metadata.h"
#include "../tap.h"
#include "base/util.h"

#define CHUNK		128	/* sectors; the label area is 16 chunks */
#define BYTES		(CHUNK * 512)
#define AREA		16
#define CHUNKS		40
#define FAST_ID		3
#define HOME_ID		5

static void make_file(struct device *d, const char *name)
{
	int fd = memfd_create(name, 0);

	memset(d, 0, sizeof(*d));
	d->path = xasprintf("/proc/self/fd/%d", fd);
	d->name = xstrdup(name);
	d->logical_block = 512;
	d->size = (AREA + CHUNKS) * BYTES;
	if (fd < 0 || ftruncate(fd, d->size))
		exit(1);
}

static void write_at(const struct device *d, uint64_t at, const void *data, size_t len)
{
	int fd = open(d->path, O_RDWR);

	if (fd < 0 || write_fully(fd, at, data, len))
		exit(1);
	close(fd);
}

/* A recognizable chunk. */
static void write_chunk(const struct device *d, uint64_t place, int of)
{
	u8 data[BYTES];
	unsigned int i;

	for (i = 0; i < BYTES; i++)
		data[i] = of * 7 + i / 512;
	write_at(d, place * BYTES, data, BYTES);
}

/*
 * All chunks are in their own places, except those in the label area; the second of these is
 * unmapped.
 */
static void make_set(struct set *s)
{
	struct tier_meta_info info = {
		.policy = "static", .state = TIER_STATE_REVERTING, .logical_block_size = 512,
		.chunk_sectors = CHUNK, .nr_chunks = CHUNKS, .length = CHUNKS * CHUNK, .reserve = 2,
		.generation = 2, .next_generation = 2, .flags = HOME_ID << TIER_SB_HOME_SHIFT,
	};
	struct md_content c;
	const char *reason;
	unsigned int v;
	int fd;

	md_content_init(&c, &info);
	for (v = 0; v < CHUNKS; v++)
		c.mapping[v] = TIER_ENTRY_MAPPED | (v < AREA ? AREA + v : v) |
			       (u64)(v < AREA ? FAST_ID : HOME_ID) << TIER_ENTRY_ID_SHIFT;
	c.mapping[1] = 0;
	make_file(&s->meta_dev, "meta");
	fd = open(s->meta_dev.path, O_RDWR);
	if (fd < 0 || ftruncate(fd, 16 << 20) || md_build(fd, 4096, &c) ||
	    md_read_superblock(fd, &s->info, &s->roots, &reason))
		exit(1);
	close(fd);
	md_content_free(&c);
	s->have_meta = s->have_info = s->have_records = true;
	s->chunk_sectors = CHUNK;
	s->length = CHUNKS * CHUNK;
	s->nr_tiers = 2;
	s->tier[0] = (struct set_tier){ .id = FAST_ID, .present = true };
	s->tier[1] = (struct set_tier){ .id = HOME_ID };
	make_file(&s->tier[0].dev, "fast");
}

static const u8 zeroes[BYTES];

static void write_label(const struct device *d, uint64_t at)
{
	struct tier_label_info label = {
		.id = HOME_ID, .size = (AREA + CHUNKS) * CHUNK, .places_at = AREA * CHUNK, .chunk_sectors = CHUNK,
		.generation = 2,
	};
	u8 slot[TIER_LABEL_SLOT_SIZE] = { 0 };

	tier_label_pack(slot, &label);
	write_at(d, at, slot, TIER_LABEL_SIZE);
}

/* Both have the same contents in the label area. */
static void written(struct set *s, const struct device *survivor)
{
	char *command;

	ok(!bare_area_written(s, survivor), "as the set has it");
	write_label(survivor, 0);
	ok(!bare_area_written(s, survivor), "and a label");
	write_at(survivor, BYTES + BYTES / 2, zeroes, BYTES);
	ok(!bare_area_written(s, survivor), "and zeroes");
	write_label(survivor, TIER_LABEL_SLOT_SIZE);
	ok(!bare_area_written(s, survivor), "and the label before");
	write_at(survivor, AREA * BYTES, "y", 1);
	ok(!bare_area_written(s, survivor), "what is no label area does not matter");
	write_label(survivor, 2 * TIER_LABEL_SLOT_SIZE);
	ok(bare_area_written(s, survivor) == 1, "a label elsewhere");
	write_at(survivor, 2 * TIER_LABEL_SLOT_SIZE, zeroes, 512);
	write_at(survivor, BYTES + 100, "x", 1);
	ok(bare_area_written(s, survivor) == 1, "data in the place of an unmapped chunk");
	write_at(survivor, BYTES + 100, zeroes, 1);
	write_at(survivor, TIER_LABEL_SIZE, "x", 1);
	ok(bare_area_written(s, survivor) == 1, "data behind the label");
	write_at(survivor, TIER_LABEL_SIZE, zeroes, 1);
	write_at(survivor, AREA * BYTES - 1, "x", 1);
	ok(bare_area_written(s, survivor) == 1, "another last byte");
	command = bare_label_command(s, survivor, TIER_LABEL_SLOT_SIZE);
	ok(command && strstr(command, " bs=512 skip=2056 seek=8 count=1"), "where the block of the label is kept");
	free(command);
	s->tier[0].present = false;
	ok(bare_area_written(s, survivor) < 0, "nobody can say without the tier that has it");
}

int main(void)
{
	struct device survivor, missing = { 0 };
	struct set s = { 0 };
	unsigned int v;

	make_set(&s);
	make_file(&survivor, "home");
	missing.path = xstrdup("/proc/self/fd/nothing");
	ok(!bare_begins_as(&s, &survivor), "nothing but zeroes is no proof");
	for (v = 0; v < AREA; v++)
		if (v != 1)
			write_chunk(&s.tier[0].dev, AREA + v, v + 1);
	ok(!bare_begins_as(&s, &survivor), "zeroes in the place of data");
	for (v = 0; v < AREA; v++)
		if (v != 1)
			write_chunk(&survivor, v, v + 1);
	ok(bare_begins_as(&s, &survivor), "what the set has, on it");
	ok(!bare_begins_as(&s, &missing), "a device that cannot be opened");
	write_at(&survivor, 1 * BYTES + 100, "x", 1);
	ok(!bare_begins_as(&s, &survivor), "data in the place of an unmapped chunk");
	write_at(&survivor, 1 * BYTES, zeroes, BYTES);
	write_at(&survivor, AREA * BYTES - 1, "x", 1);
	ok(!bare_begins_as(&s, &survivor), "another last byte");
	write_chunk(&survivor, AREA - 1, AREA);
	write_at(&survivor, AREA * BYTES, "x", 1);
	ok(bare_begins_as(&s, &survivor), "what lies behind the label area does not matter");
	written(&s, &survivor);
	ok(!bare_begins_as(&s, &survivor), "the tier that has it is missing");

	device_free(&s.meta_dev);
	device_free(&s.tier[0].dev);
	device_free(&survivor);
	device_free(&missing);
	return tap_done();
}
