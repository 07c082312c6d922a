// SPDX-License-Identifier: GPL-2.0-only
#include "format/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

#define LL(n)		((unsigned long long)(n))
#define SECTOR		512ULL

/* *lost: a slot is neither empty nor a label. */
static int read_label(int fd, struct tier_label_info *label, bool *lost, const char **reason)
{
	void *slot[TIER_LABEL_SLOTS], *read[TIER_LABEL_SLOTS];
	struct tier_label_info one;
	const char *why;
	unsigned int i;
	int r;

	for (i = 0; i < TIER_LABEL_SLOTS; i++) {
		if (posix_memalign(&slot[i], TIER_LABEL_SLOT_SIZE, TIER_LABEL_SLOT_SIZE))
			out_of_memory();
		read[i] = pread(fd, slot[i], TIER_LABEL_SLOT_SIZE, i * TIER_LABEL_SLOT_SIZE) ==
			  TIER_LABEL_SLOT_SIZE ? slot[i] : NULL;
	}
	r = tier_label_choose(read[0], read[1], label, reason);
	if (!r)
		make_printable(label->name);
	*lost = false;
	for (i = 0; i < TIER_LABEL_SLOTS; i++) {
		int alone = tier_label_choose(read[i], read[i], &one, &why);

		*lost |= alone && alone != -ENODATA;
		free(slot[i]);
	}
	return r;
}

int md_read_label(int fd, struct tier_label_info *label, const char **reason)
{
	bool lost;

	return read_label(fd, label, &lost, reason);
}

/* Compares a tier's label with its record. */
static void compare(const struct tier_meta_info *info, const struct tier_meta_tier *t,
		    const struct tier_label_info *label, u64 sectors, const char *name,
		    struct md_problems *p)
{
	bool current = tier_label_current(t->generation, t->next_generation, label->generation);
	bool older = label->generation < t->generation;

	if (!current && older && label->slot_lost)
		md_error(p, "%s: a label slot cannot be read; the other has generation %llu, the metadata knows %llu", name,
			 LL(label->generation), LL(t->generation));
	else if (!current)
		md_error(p, "%s: %s stale: its label has generation %llu, the metadata knows %llu", name,
			 older ? "tier" : "metadata", LL(label->generation),
			 LL(t->generation));
	if (label->chunk_sectors != info->chunk_sectors)
		md_error(p, "%s: its label has chunks of %llu sectors, the set of %llu", name,
			 LL(label->chunk_sectors), LL(info->chunk_sectors));
	if (label->places_at != t->first_place * info->chunk_sectors)
		md_error(p, "%s: its label says that places begin at sector %llu, the metadata %llu", name,
			 LL(label->places_at), LL(t->first_place * info->chunk_sectors));
	/*
	 * The next label of a tier that has grown has the new size; the record has it once all
	 * labels are written. The set's name is not compared: a label that could not be written
	 * has the old name.
	 */
	if (label->generation == t->generation && !t->next_generation && label->size != t->size)
		md_minor(p, "%s: its label says %llu sectors, the metadata %llu; the next activation for writing writes it anew",
			 name, LL(label->size), LL(t->size));
	if (sectors < t->size)
		md_error(p, "%s: has %llu sectors, tier id %u has %llu", name, LL(sectors), t->id,
			 LL(t->size));
}

const struct tier_meta_tier *md_check_label(const struct tier_meta_info *info, const struct md_tiers *tiers, int fd,
					    const char *name, struct md_problems *p)
{
	const struct tier_meta_tier *t;
	struct tier_label_info label;
	const char *reason;
	off_t size = lseek(fd, 0, SEEK_END);
	bool lost;
	int r;

	r = read_label(fd, &label, &lost, &reason);
	if (r == -EIO) {
		md_error(p, "%s: %s", name, reason);
		return NULL;
	}
	if (r) {
		md_error(p, "%s: %s. If it is a tier of the set all the same: tierctl repair --label RANK %s SET",
			 name, reason, name);
		return NULL;
	}
	if (memcmp(label.set_uuid, info->uuid, sizeof(info->uuid))) {
		md_error(p, "%s: a tier of another set, \"%s\"", name, label.name);
		return NULL;
	}
	t = md_find_tier(tiers, label.id);
	if (!t || memcmp(t->uuid, label.tier_uuid, sizeof(t->uuid))) {
		md_error(p, "%s: once was tier id %u of this set, but is none now", name, label.id);
		return NULL;
	}
	compare(info, t, &label, size < 0 ? 0 : (u64)size / SECTOR, name, p);
	/*
	 * A tier that is being converted still has data there, and a stale tier is not
	 * activated.
	 */
	if (lost && info->state == TIER_STATE_LIVE &&
	    tier_label_current(t->generation, t->next_generation, label.generation))
		md_minor(p, "%s: one of the two copies of its label is lost; the next activation for writing writes both", name);
	return t;
}
