// SPDX-License-Identifier: GPL-2.0-only
#include "format/metadata.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/content.h"
#include "format/problems.h"
#include "format/rules.h"
#include "format/source.h"
#include "format/tree.h"

int md_read_superblock(int fd, struct tier_meta_info *info, struct tier_meta_roots *roots,
		       const char **reason)
{
	struct md_source src;
	void *block;
	int r;

	r = md_source_init(&src, fd);
	if (r || posix_memalign(&block, MD_BLOCK, MD_BLOCK)) {
		*reason = "metadata cannot be read";
		return -EIO;
	}
	if (md_source_read(&src, TIER_SUPERBLOCK_LOCATION, block)) {
		*reason = "metadata cannot be read";
		r = -EIO;
	} else {
		r = tier_superblock_unpack(block, info, reason);
	}
	if (!r)
		tier_superblock_unpack_roots(block, roots);
	free(block);
	md_source_free(&src);
	return r;
}

int md_read_tiers(int fd, const struct tier_meta_roots *roots,
		  struct tier_meta_tier tiers[TIER_MAX_TIERS], unsigned int *nr, const char **reason)
{
	struct md_problems p = { 0 };
	struct md_source src;
	struct md_image image = { .src = &src, .p = &p, .roots = *roots };
	struct md_tiers read;

	*nr = 0;
	if (md_source_init(&src, fd)) {
		*reason = "metadata cannot be read";
		return -EIO;
	}
	md_image_tiers(&image, &read);
	md_source_free(&src);
	if (p.errors) {
		*reason = "metadata is damaged (tiers)";
		return -EILSEQ;
	}
	*nr = read.nr;
	memcpy(tiers, read.tier, read.nr * sizeof(*tiers));
	return 0;
}

struct map_walk {
	int (*fn)(void *context, u64 chunk, u64 entry);
	void *context;
	int r;
};

static void take_entries(void *context, u64 first, u32 nr, const void *values)
{
	struct map_walk *w = context;
	u32 i;

	for (i = 0; i < nr && !w->r; i++) {
		__le64 entry;

		memcpy(&entry, (const u8 *)values + i * sizeof(entry), sizeof(entry));
		w->r = w->fn(w->context, first + i, le64_to_cpu(entry));
	}
}

static void lost(void *context, u64 first, u64 end, u64 block, const char *why)
{
	struct map_walk *w = context;

	(void)first;
	(void)end;
	(void)block;
	(void)why;
	if (!w->r)
		w->r = -EILSEQ;
}

int md_read_map(int fd, const struct tier_meta_roots *roots, u64 nr_chunks,
		int (*fn)(void *context, u64 chunk, u64 entry), void *context, const char **reason)
{
	struct map_walk walk = { .fn = fn, .context = context };
	struct md_source src;
	struct md_array array = {
		.src = &src,
		.value_size = sizeof(__le64),
		.nr = nr_chunks,
		.values = take_entries,
		.lost = lost,
		.context = &walk,
	};

	if (md_source_init(&src, fd)) {
		*reason = "metadata cannot be read";
		return -EIO;
	}
	md_array_walk(&array, roots->mapping);
	md_source_free(&src);
	if (walk.r == -EILSEQ)
		*reason = "metadata is damaged (mapping)";
	return walk.r;
}

/* Calls fn to change the superblock, and waits until that is on the disk. */
static int change_superblock(int fd, int (*fn)(void *context, struct tier_meta_info *info), void *context,
			     const char **reason)
{
	struct tier_meta_roots roots;
	struct tier_meta_info info;
	ssize_t written;
	void *block;
	int r = -EIO;

	*reason = "metadata cannot be written";
	if (posix_memalign(&block, MD_BLOCK, MD_BLOCK))
		return -ENOMEM;
	if (pread(fd, block, MD_BLOCK, 0) != MD_BLOCK)
		goto out;
	r = tier_superblock_unpack(block, &info, reason);
	if (r)
		goto out;
	tier_superblock_unpack_roots(block, &roots);
	r = fn(context, &info);
	if (r)
		goto out;
	tier_superblock_pack(block, &info, &roots);
	tier_superblock_seal(block, TIER_SUPERBLOCK_LOCATION);
	/* The superblock fits a sector, so it is written whole or not at all. */
	written = pwrite(fd, block, MD_BLOCK, 0);
	if (written != MD_BLOCK || fsync(fd)) {
		*reason = "metadata cannot be written";
		r = written >= 0 && written < MD_BLOCK ? -EIO : -errno;
	}
out:
	free(block);
	return r;
}

struct new_state {
	u32 state;
	unsigned int survivor;
};

static int change_state(void *context, struct tier_meta_info *info)
{
	const struct new_state *new = context;

	info->state = new->state;
	info->flags &= ~TIER_SB_HOME_MASK;
	if (md_has_survivor(new->state)) {
		info->flags |= new->survivor << TIER_SB_HOME_SHIFT;
		/* It was suspended for this, and yet it is no other machine's. */
		info->flags &= ~TIER_SB_CLEAN;
	}
	return 0;
}

int md_set_state(int fd, u32 state, unsigned int survivor, const char **reason)
{
	struct new_state new = { .state = state, .survivor = survivor };

	return change_superblock(fd, change_state, &new, reason);
}

struct new_owner {
	const struct tier_meta_info *from, *to;
};

static int change_owner(void *context, struct tier_meta_info *info)
{
	const struct new_owner *new = context;
	const struct tier_meta_info *from = new->from, *to = new->to;

	if (memcmp(info->uuid, from->uuid, sizeof(info->uuid)) || info->trans_id != from->trans_id ||
	    (info->flags ^ from->flags) & TIER_SB_CLEAN ||
	    memcmp(&info->owner, &from->owner, sizeof(info->owner)))
		return -ESTALE;
	info->compat_flags = to->compat_flags;
	info->flags = (info->flags & ~TIER_SB_CLEAN) | (to->flags & TIER_SB_CLEAN);
	info->owner = to->owner;
	return 0;
}

int md_set_owner(int fd, const struct tier_meta_info *from, const struct tier_meta_info *to, const char **reason)
{
	struct new_owner new = { .from = from, .to = to };
	int r = change_superblock(fd, change_owner, &new, reason);

	if (r == -ESTALE)
		*reason = "another machine or command has changed the metadata just now";
	return r;
}
