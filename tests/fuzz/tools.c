// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damaged metadata for the tools of user space: the check, the repair and the dump.
 *
 *   fuzztools N SEED
 *
 * N images, damaged as those for the kernel are.  None may crash the tools or keep
 * them for long.  What the check is content with has no two chunks on one place,
 * and no place that its tier does not have, which is looked for here by other means.
 * What the repair saves passes the check, and lacks only what was in the damaged block, if
 * that is one whose checksum tells; what the check passes, a dump and its
 * restoration keep.
 *
 * Ends with status 1 at the first thing that must not be, or that takes too long, having
 * said which seed shows it.  The n-th image of seed S is the first of seed S + n.
 */
#include "fuzz.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/check.h"
#include "content-raw.h"
#include "format/record.h"
#include "format/repair.h"
#include "../unit/userspace/reseal.h"
#include "../unit/userspace/same-content.h"

/* The tools read as many chunks as a superblock claims: seconds, if it claims a billion. */
#define MAX_CHUNKS	(1U << 20)
#define SECONDS		20	/* for one image */

static uint64_t seed;
static char woken[100];

void die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fprintf(stderr, "fuzztools: seed %" PRIu64 ": ", seed);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static void check_fd(int fd, struct md_problems *p, struct md_check *check)
{
	struct md_source src;

	*p = (struct md_problems){ 0 };
	*check = (struct md_check){ 0 };
	if (md_source_init(&src, fd))
		die("no size");
	md_check(check, &src, p);
	md_source_free(&src);
}

/* ---- the mapping, read without the library ---- */

static uint32_t shown_by[256][1024];	/* chunk + 1, by tier id and place */
static bool doubled, misplaced;

static void note_entry(uint64_t chunk, uint64_t entry)
{
	uint64_t place = entry & TIER_ENTRY_PLACE_MASK;
	unsigned int id = entry >> TIER_ENTRY_ID_SHIFT & 0xff;

	if (!(entry & TIER_ENTRY_MAPPED))
		return;
	if (id >= NR_TIERS || place < FIRST_PLACE || place >= FIRST_PLACE + PLACES) {
		misplaced = true;
		return;
	}
	if (shown_by[id][place])
		doubled = true;
	shown_by[id][place] = chunk + 1;
}

/* Whether the whole mapping could be read; errors are counted in doubled and misplaced. */
static bool read_raw(const uint8_t *image, size_t len)
{
	memset(shown_by, 0, sizeof(shown_by));
	doubled = false;
	misplaced = false;
	return raw_walk(image, len, note_entry);
}

/* ---- results of the tools ---- */

static unsigned int sound, damaged, nr_doubled, saved, refused, nr_kept;

/* Bytes behind the end of a name mean nothing and are not kept. */
static void tidy(char *name, size_t size)
{
	size_t len = strnlen(name, size);

	memset(name + len, 0, size - len);
}

/* A dump of c, restored, must give c again. */
static void check_dump(struct md_content *c, bool json)
{
	struct md_content again = { 0 };
	struct md_undump u = { .content = &again };
	size_t len;
	char *text;
	FILE *f = open_memstream(&text, &len);
	unsigned int i;

	if (!f)
		die("out of memory");
	tidy(c->info.name, sizeof(c->info.name));
	tidy(c->info.policy, sizeof(c->info.policy));
	for (i = 0; i < c->tiers.nr; i++)
		tidy(c->tiers.tier[i].last_seen, sizeof(c->tiers.tier[i].last_seen));
	for (i = 0; i < c->tunables.nr; i++)
		tidy(c->tunables.tunable[i].name, sizeof(c->tunables.tunable[i].name));
	if (json)
		md_write_json(c, f);
	else
		md_write_xml(c, f);
	fclose(f);
	f = fmemopen(text, len, "r");
	if (!f)
		die("out of memory");
	if (!(json ? md_parse_json(f, &u) : md_parse_xml(f, &u)))
		die("the dump is refused: %s", u.error);
	if (!same_content(c, &again))
		die("the dump is not what was dumped");
	fclose(f);
	free(text);
	md_content_free(&again);
}

static void check_sound(int fd, const uint8_t *image, size_t len)
{
	struct md_problems p = { 0 };
	struct md_source src;
	struct md_image md = { .src = &src, .p = &p };
	struct md_content c;

	if (!read_raw(image, len))
		die("the check is content with a mapping that cannot be read");
	if (doubled)
		die("the check is content with two chunks on one place");
	if (misplaced)
		die("the check is content with a place that is not there");
	if (md_source_init(&src, fd) || !md_image_open(&md))
		die("the check is content with a superblock that cannot be read");
	md_content_read(&c, &md);
	if (p.errors)
		die("the dump finds errors where the check does not");
	c.info.held_root = 0;
	check_dump(&c, seed & 1);
	md_content_free(&c);
	md_source_free(&src);
}

/*
 * Losses that one damaged block explains; known: just one block is damaged, and its checksum
 * shows it.
 */
struct harm {
	bool known;
	uint64_t first, end;	/* mapping of these chunks */
};

static const uint8_t *good_image;
static const struct md_content *good_content;

/* For the good image: the place of its mapping. */
static struct harm harm_of_block(uint64_t number)
{
	const struct tier_superblock *sb = (const void *)good_image;
	uint64_t root = le64_to_cpu(sb->mapping_root), i;
	struct harm harm = { .known = number && number != le64_to_cpu(sb->tiers_root) };
	const struct md_btree_node *leaf = (const void *)(good_image + root * MD_BLOCK);

	if (number == root)
		harm.end = NR_CHUNKS;
	for (i = 0; i < le32_to_cpu(leaf->nr_entries); i++) {
		__le64 block;

		memcpy(&block, md_node_value(leaf, i), sizeof(block));
		if (le64_to_cpu(block) != number)
			continue;
		harm.first = md_node_key(leaf, i) * 509;
		harm.end = harm.first + 509;
	}
	return harm;
}

static struct harm harm_of(const uint8_t *image, size_t len)
{
	uint64_t blocks = len / MD_BLOCK, hit = blocks, i;
	uint8_t block[MD_BLOCK] __attribute__((aligned(8)));

	for (i = 0; i < blocks; i++) {
		if (!memcmp(image + i * MD_BLOCK, good_image + i * MD_BLOCK, MD_BLOCK))
			continue;
		if (hit < blocks)
			return (struct harm){ 0 };
		hit = i;
	}
	if (hit == blocks)
		return (struct harm){ .known = true };
	memcpy(block, image + hit * MD_BLOCK, MD_BLOCK);
	/* With a correct checksum the block would be the same: then no damage shows. */
	if (reseal(block, good_image + hit * MD_BLOCK, hit) &&
	    !memcmp(block, image + hit * MD_BLOCK, sizeof(__le32)))
		return (struct harm){ 0 };
	return harm_of_block(hit);
}

/* Only losses that the harm explains are allowed. */
static void check_kept(const struct md_content *c, const struct harm *harm)
{
	uint64_t i;

	for (i = 0; i < NR_CHUNKS; i++) {
		bool may_be_lost = i >= harm->first && i < harm->end;

		if (c->mapping[i] != good_content->mapping[i] && !(may_be_lost && !c->mapping[i]))
			die("the repair has lost chunk %" PRIu64 ", whose entry was whole", i);
	}
}

static void check_repair(int fd, const struct harm *harm)
{
	struct md_problems p = { 0 };
	struct md_source src;
	struct md_repair r = { .src = &src, .p = &p };
	struct md_check check;
	uint8_t *image;
	off_t len;
	int out;

	if (md_source_init(&src, fd))
		die("no size");
	if (!md_repair(&r)) {
		if (!r.refusal)
			die("the repair fails without a reason");
		if (harm->known)
			die("the repair refuses what can be saved: %s", r.refusal);
		refused++;
		free(r.refusal);
		md_content_free(&r.content);
		md_source_free(&src);
		return;
	}
	saved++;
	if (harm->known) {
		nr_kept++;
		check_kept(&r.content, harm);
	}
	out = write_content(&r.content);
	check_fd(out, &p, &check);
	if (p.errors || p.minor)
		die("what was saved has errors");
	len = lseek(out, 0, SEEK_END);
	image = mmap(NULL, len, PROT_READ, MAP_PRIVATE, out, 0);
	if (image == MAP_FAILED)
		die("out of memory");
	if (!read_raw(image, len) || doubled || misplaced)
		die("what was saved has two chunks on one place, or a place that is not there");
	munmap(image, len);
	close(out);
	md_content_free(&r.content);
	md_source_free(&src);
}

static void try_image(int fd, const uint8_t *image, size_t len)
{
	const struct tier_superblock *sb = (const void *)image;
	struct harm harm = harm_of(image, len);
	struct md_problems p;
	struct md_check check;

	/* For the signal handler, which may call few functions. */
	snprintf(woken, sizeof(woken), "fuzztools: seed %" PRIu64 ": takes longer than %u s\n", seed, SECONDS);
	if (pwrite(fd, image, len, 0) != (ssize_t)len)
		die("cannot write the image");
	alarm(SECONDS);
	check_fd(fd, &p, &check);
	if (p.errors)
		damaged++;
	else
		sound++;
	if (read_raw(image, len))
		nr_doubled += doubled;
	if (!p.errors)
		check_sound(fd, image, len);
	if (le64_to_cpu(sb->nr_chunks) <= MAX_CHUNKS)
		check_repair(fd, &harm);
	alarm(0);
}

static void on_alarm(int signal)
{
	(void)signal;
	_exit(write(STDERR_FILENO, woken, strlen(woken)) > 0 ? 1 : 2);
}

int main(int argc, char **argv)
{
	struct md_content content;
	uint64_t n, first, i;
	uint8_t *good, *bad;
	size_t len;
	int fd;

	if (argc != 3) {
		fputs("usage: fuzztools N SEED\n", stderr);
		return 2;
	}
	n = strtoull(argv[1], NULL, 10);
	first = strtoull(argv[2], NULL, 10);
	make_content(&content);
	fd = write_content(&content);
	len = lseek(fd, 0, SEEK_END);
	if (posix_memalign((void **)&good, MD_BLOCK, len) || posix_memalign((void **)&bad, MD_BLOCK, len))
		die("out of memory");
	if (pread(fd, good, len, 0) != (ssize_t)len)
		die("cannot read the image");
	damage_init(good, len);
	good_image = good;
	good_content = &content;
	signal(SIGALRM, on_alarm);
	try_image(fd, good, len);
	if (!sound || !saved || doubled)
		die("the image is damaged before it is");
	for (i = 0; i < n; i++) {
		struct rng rng = { .state = first + i };

		seed = first + i;
		/* The kernel's images begin in the same way. */
		rng_chance(&rng, 2);
		damage(&rng, good, bad, len);
		try_image(fd, bad, len);
	}
	md_content_free(&content);
	free(good);
	free(bad);
	close(fd);
	printf("%" PRIu64 " images of %u blocks for the tools: %u sound, %u damaged, %u of them with two chunks on one place; %u saved, %u refused; %u judged by what was lost\n",
	       n, damage_blocks(), sound - 1, damaged, nr_doubled, saved - 1, refused, nr_kept - 1);
	/* A few images prove nothing. */
	return n >= 1000 && !(sound > 1 && nr_doubled && saved > 1 && refused && nr_kept > 1);
}
