/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Members of a tiered set (device-mapper target "tier"): a tier, by either slot of its label, and
 * the device of the set's metadata, by the superblock.
 */
#include <stddef.h>
#include <stdint.h>

#include "crc32c.h"
#include "superblocks.h"

#define LABEL_MAGIC	"TIERLABL"
#define LABEL_XOR	0x3d90b64eU
#define LABEL_SIZE	512		/* csum covers the rest of it */
#define LABEL_SLOT	4096		/* bytes from one slot to the other */

#define SUPER_MAGIC	"DTIERBLK"
#define SUPER_XOR	0x7e12a5c3U
#define SUPER_SIZE	4096

#define NAME_SIZE	128		/* NUL-terminated */

/* All numbers are little-endian. */
struct tier_label {
	uint32_t csum;			/* crc32c of what follows */
	uint32_t version;
	unsigned char magic[8];
	unsigned char set_uuid[16];
	unsigned char tier_uuid[16];
	uint32_t id;
	uint32_t features[3];
	uint64_t size, places_at, chunk_sectors;
	uint64_t generation;		/* the newer one of two counts */
	unsigned char name[NAME_SIZE];	/* of the set */
} __attribute__((packed));

struct tier_super {
	uint32_t csum;
	uint32_t flags;
	uint64_t blocknr;
	unsigned char set_uuid[16];
	unsigned char magic[8];
	uint32_t version;
	unsigned char unused[268];
	unsigned char name[NAME_SIZE];
} __attribute__((packed));

static int csum_fits(const unsigned char *data, size_t size, uint32_t flip)
{
	uint32_t csum = crc32c(~0U, data + sizeof(csum), size - sizeof(csum)) ^ flip;

	return csum == le32_to_cpu(*(const uint32_t *) data);
}

static const struct tier_label *get_label(blkid_probe pr, unsigned int slot)
{
	unsigned char *buf = blkid_probe_get_buffer(pr, slot * LABEL_SLOT, LABEL_SIZE);
	const struct tier_label *label = (const struct tier_label *) buf;

	if (!buf || memcmp(label->magic, LABEL_MAGIC, sizeof(label->magic)) != 0 ||
	    !csum_fits(buf, LABEL_SIZE, LABEL_XOR))
		return NULL;
	return label;
}

static int set_all(blkid_probe pr, const unsigned char *uuid, const unsigned char *name,
		   uint32_t version)
{
	return blkid_probe_set_uuid(pr, (unsigned char *) uuid) ||
	       (*name && blkid_probe_set_label(pr, name, NAME_SIZE)) ||
	       blkid_probe_sprintf_version(pr, "%u", le32_to_cpu(version));
}

static int probe_tier(blkid_probe pr)
{
	const struct tier_label *label = get_label(pr, 0), *other = get_label(pr, 1);

	if (!label || (other && le64_to_cpu(other->generation) > le64_to_cpu(label->generation)))
		label = other;
	if (!label)
		return errno ? -errno : 1;
	return set_all(pr, label->set_uuid, label->name, label->version) ||
	       blkid_probe_set_uuid_as(pr, (unsigned char *) label->tier_uuid, "UUID_SUB");
}

static int probe_dm_tier(blkid_probe pr, const struct blkid_idmag *mag)
{
	const struct tier_super *super;
	unsigned char *buf;

	errno = 0;
	if (!memcmp(mag->magic, LABEL_MAGIC, mag->len))
		return probe_tier(pr);
	buf = blkid_probe_get_buffer(pr, 0, SUPER_SIZE);
	if (!buf)
		return errno ? -errno : 1;
	super = (const struct tier_super *) buf;
	if (!csum_fits(buf, SUPER_SIZE, SUPER_XOR))
		return 1;
	return set_all(pr, super->set_uuid, super->name, super->version);
}

const struct blkid_idinfo dm_tier_idinfo = {
	.name		= "dm_tier_member",
	.usage		= BLKID_USAGE_RAID,
	.probefunc	= probe_dm_tier,
	.minsz		= LABEL_SLOT + LABEL_SIZE,
	.magics		= {
		{ .magic = LABEL_MAGIC, .len = 8, .kboff = 0, .sboff = 8 },
		{ .magic = LABEL_MAGIC, .len = 8, .kboff = 4, .sboff = 8 },
		{ .magic = SUPER_MAGIC, .len = 8, .kboff = 0, .sboff = 32 },
		{ NULL }
	}
};
