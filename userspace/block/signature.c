// SPDX-License-Identifier: GPL-2.0-only
#include "block/signature.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

static blkid_probe new_probe(int fd)
{
	blkid_probe pr = blkid_new_probe();

	if (!pr)
		return NULL;
	if (blkid_probe_set_device(pr, fd, 0, 0)) {
		blkid_free_probe(pr);
		return NULL;
	}
	blkid_probe_enable_superblocks(pr, 1);
	blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL |
					  BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_BADCSUM);
	blkid_probe_enable_partitions(pr, 1);
	blkid_probe_set_partitions_flags(pr, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
	return pr;
}

static void describe(blkid_probe pr, struct text *found)
{
	const char *type, *label;

	if (!blkid_probe_lookup_value(pr, "TYPE", &type, NULL)) {
		text_add(found, "%s%s", found->len ? ", " : "", type);
		if (!blkid_probe_lookup_value(pr, "LABEL", &label, NULL))
			text_add(found, " \"%s\"", label);
	} else if (!blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL)) {
		text_add(found, "%s%s partition table", found->len ? ", " : "", type);
	}
	if (found->s)
		make_printable(found->s);
}

char *signatures_find(const char *path, int *error)
{
	/* Through the cache, unlike labels: libblkid reads a few bytes anywhere. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	blkid_probe pr = fd < 0 ? NULL : new_probe(fd);
	struct text found = { 0 };
	int r = -1;

	if (pr) {
		while (!(r = blkid_do_probe(pr)))
			describe(pr, &found);
		blkid_free_probe(pr);
	}
	if (fd >= 0)
		close(fd);
	*error = r < 0 ? -EIO : 0;
	return found.s;
}

static uint64_t magic_offset(blkid_probe pr)
{
	const char *text;

	if (blkid_probe_lookup_value(pr, "SBMAGIC_OFFSET", &text, NULL) &&
	    blkid_probe_lookup_value(pr, "PTMAGIC_OFFSET", &text, NULL))
		return 0;
	return strtoull(text, NULL, 10);
}

/*
 * The first signature between the two offsets, and its offset in *at, of that use
 * (BLKID_USAGE_*, 0 for any).
 */
static char *find_between(const char *path, uint64_t from, uint64_t end, int usage, uint64_t *at, int *error)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	blkid_probe pr = fd < 0 ? NULL : new_probe(fd);
	struct text found = { 0 };
	int r = -1;

	if (pr && usage) {
		blkid_probe_enable_partitions(pr, 0);
		blkid_probe_filter_superblocks_usage(pr, BLKID_FLTR_ONLYIN, usage);
	}
	if (pr) {
		/*
		 * A signature that was found is hidden in memory, so that one behind it is
		 * found, too.
		 */
		while (!found.s && !(r = blkid_do_probe(pr))) {
			*at = magic_offset(pr);
			if (*at >= from && *at < end)
				describe(pr, &found);
			else if (blkid_do_wipe(pr, 1))
				r = -1;
			if (r < 0)
				break;
		}
		blkid_free_probe(pr);
	}
	if (fd >= 0)
		close(fd);
	*error = r < 0 ? -EIO : 0;
	return found.s;
}

char *signatures_beyond(const char *path, uint64_t bytes, uint64_t *at, int *error)
{
	return find_between(path, bytes, UINT64_MAX, 0, at, error);
}

char *signatures_within(const char *path, uint64_t bytes, int *error)
{
	return find_between(path, 0, bytes, 0, &(uint64_t){ 0 }, error);
}

bool signatures_array(const char *path, uint64_t bytes)
{
	char *found = find_between(path, bytes, UINT64_MAX, BLKID_USAGE_RAID, &(uint64_t){ 0 }, &(int){ 0 });
	bool is = found;

	free(found);
	return is;
}

char *signatures_data(const char *path, uint64_t bytes)
{
	return find_between(path, 0, bytes, BLKID_USAGE_FILESYSTEM | BLKID_USAGE_CRYPTO, &(uint64_t){ 0 },
			    &(int){ 0 });
}

int signatures_wipe(int fd)
{
	blkid_probe pr = new_probe(fd);
	int r = -1;

	if (pr) {
		/* A wiped signature can have hidden another, so each wipe steps back. */
		while (!(r = blkid_do_probe(pr)))
			if (blkid_do_wipe(pr, 0)) {
				r = -1;
				break;
			}
		blkid_free_probe(pr);
	}
	if (r < 0 || fsync(fd))
		return -EIO;
	return 0;
}
