// SPDX-License-Identifier: GPL-2.0-only
/*
 * Superblock, tier records and labels: bytes to structs and back.  Compiled by
 * the kernel and by user space, so that both judge the same bytes alike.
 */
#include "format-code.h"

u32 tier_checksum(const void *data, size_t len, u32 xor)
{
	return crc32c(~(u32)0, data, len) ^ xor;
}

bool tier_all_zero(const void *data, size_t len)
{
	const u8 *p = data;

	while (len--)
		if (*p++)
			return false;
	return true;
}

static bool power_of_two(u64 n)
{
	return n && !(n & (n - 1));
}

/* dst has the size of src and src a NUL: nothing of older contents remains. */
static void copy_text(void *dst, const void *src, size_t size)
{
	size_t len = strnlen(src, size - 1);

	memset(dst, 0, size);
	memcpy(dst, src, len);
}

static bool chunk_sectors_valid(u64 chunk_sectors)
{
	return chunk_sectors >= TIER_CHUNK_SECTORS_MIN && chunk_sectors <= TIER_CHUNK_SECTORS_MAX &&
	       power_of_two(chunk_sectors);
}

/* ---- superblock ---- */

static u32 superblock_csum(const void *block)
{
	return tier_checksum((const u8 *)block + sizeof(__le32),
			     TIER_METADATA_BLOCK_SIZE - sizeof(__le32), TIER_SUPERBLOCK_CSUM_XOR);
}

void tier_superblock_seal(void *block, u64 blocknr)
{
	struct tier_superblock *sb = block;

	sb->blocknr = cpu_to_le64(blocknr);
	sb->csum = cpu_to_le32(superblock_csum(block));
}

int tier_superblock_verify(const void *block, u64 blocknr, const char **reason)
{
	const struct tier_superblock *sb = block;
	const struct tier_label *label = block;

	if (le64_to_cpu(sb->magic) != TIER_SUPERBLOCK_MAGIC)
		return tier_refuse(reason, -EINVAL, le64_to_cpu(label->magic) == TIER_LABEL_MAGIC ?
				   "metadata device is a tier, not metadata" :
				   "metadata device holds something that is not tier metadata");
	if (le32_to_cpu(sb->csum) != superblock_csum(block))
		return tier_refuse(reason, -EILSEQ, "metadata superblock is damaged: checksum");
	if (le64_to_cpu(sb->blocknr) != blocknr)
		return tier_refuse(reason, -EILSEQ,
				   "metadata superblock is damaged: it belongs to another block");
	return 0;
}

bool tier_meta_info_valid(const struct tier_meta_info *info)
{
	return info->state >= TIER_STATE_FORMATTING && info->state <= TIER_STATE_RETIRED &&
	       chunk_sectors_valid(info->chunk_sectors) &&
	       info->nr_chunks && info->nr_chunks <= TIER_MAX_CHUNKS &&
	       info->length && info->length <= info->nr_chunks * info->chunk_sectors &&
	       info->logical_block_size >= 512 &&
	       info->logical_block_size <= TIER_METADATA_BLOCK_SIZE &&
	       power_of_two(info->logical_block_size) &&
	       info->next_generation >= info->generation &&
	       info->owner.trans_id <= info->trans_id &&
	       memchr(info->policy, 0, sizeof(info->policy)) &&
	       memchr(info->name, 0, sizeof(info->name));
}

static void superblock_to_info(const struct tier_superblock *sb, struct tier_meta_info *info)
{
	memset(info, 0, sizeof(*info));
	memcpy(info->uuid, sb->uuid, sizeof(info->uuid));
	memcpy(info->name, sb->name, sizeof(info->name));
	memcpy(info->policy, sb->policy_name, sizeof(info->policy));
	info->state = le32_to_cpu(sb->state);
	info->flags = le32_to_cpu(sb->flags);
	info->compat_flags = le32_to_cpu(sb->compat_flags);
	info->compat_ro_flags = le32_to_cpu(sb->compat_ro_flags);
	info->incompat_flags = le32_to_cpu(sb->incompat_flags);
	info->logical_block_size = le32_to_cpu(sb->logical_block_size);
	info->chunk_sectors = le64_to_cpu(sb->chunk_sectors);
	info->nr_chunks = le64_to_cpu(sb->nr_chunks);
	info->length = le64_to_cpu(sb->length);
	info->reserve = le64_to_cpu(sb->reserve);
	info->generation = le64_to_cpu(sb->generation);
	info->next_generation = le64_to_cpu(sb->next_generation);
	info->trans_id = le64_to_cpu(sb->trans_id);
	info->held_root = le64_to_cpu(sb->held_root);
	if (!(info->compat_flags & TIER_COMPAT_OWNER))
		return;
	memcpy(info->owner.machine, sb->owner_machine, sizeof(info->owner.machine));
	memcpy(info->owner.boot, sb->owner_boot, sizeof(info->owner.boot));
	info->owner.time = le64_to_cpu(sb->owner_time);
	info->owner.trans_id = le64_to_cpu(sb->owner_trans_id);
}

int tier_superblock_unpack(const void *block, struct tier_meta_info *info, const char **reason)
{
	const struct tier_superblock *sb = block;
	int r;

	if (tier_all_zero(block, TIER_METADATA_BLOCK_SIZE))
		return tier_refuse(reason, -ENODATA, "metadata device is blank");

	r = tier_superblock_verify(block, TIER_SUPERBLOCK_LOCATION, reason);
	if (r)
		return r;

	if (le32_to_cpu(sb->version) != TIER_FORMAT_VERSION)
		return tier_refuse(reason, -EINVAL, "metadata has an unknown format version");
	if (le32_to_cpu(sb->incompat_flags) & ~TIER_FEATURES_INCOMPAT)
		return tier_refuse(reason, -EINVAL, "metadata has unknown features");
	if (le32_to_cpu(sb->metadata_block_size) != TIER_METADATA_BLOCK_SECTORS)
		return tier_refuse(reason, -EINVAL, "metadata has an unknown block size");
	if (!sb->mapping_root || !sb->heat_root || !sb->tiers_root || !sb->tunables_root ||
	    le32_to_cpu(sb->nr_tunables) > TIER_MAX_TUNABLES)
		return tier_refuse(reason, -EILSEQ,
				   "metadata superblock is damaged: missing roots");

	superblock_to_info(sb, info);
	if (!tier_meta_info_valid(info))
		return tier_refuse(reason, -EILSEQ,
				   "metadata superblock is damaged: impossible values");
	return 0;
}

void tier_superblock_unpack_roots(const void *block, struct tier_meta_roots *roots)
{
	const struct tier_superblock *sb = block;

	roots->mapping = le64_to_cpu(sb->mapping_root);
	roots->heat = le64_to_cpu(sb->heat_root);
	roots->tiers = le64_to_cpu(sb->tiers_root);
	roots->tunables = le64_to_cpu(sb->tunables_root);
	roots->nr_tunables = le32_to_cpu(sb->nr_tunables);
	memcpy(roots->space_map, sb->metadata_space_map_root, sizeof(roots->space_map));
}

void tier_superblock_pack(void *block, const struct tier_meta_info *info,
			  const struct tier_meta_roots *roots)
{
	struct tier_superblock *sb = block;

	sb->flags = cpu_to_le32(info->flags);
	memcpy(sb->uuid, info->uuid, sizeof(sb->uuid));
	sb->magic = cpu_to_le64(TIER_SUPERBLOCK_MAGIC);
	sb->version = cpu_to_le32(TIER_FORMAT_VERSION);
	sb->state = cpu_to_le32(info->state);
	sb->compat_flags = cpu_to_le32(info->compat_flags);
	sb->compat_ro_flags = cpu_to_le32(info->compat_ro_flags);
	sb->incompat_flags = cpu_to_le32(info->incompat_flags);
	sb->metadata_block_size = cpu_to_le32(TIER_METADATA_BLOCK_SECTORS);
	memcpy(sb->metadata_space_map_root, roots->space_map, sizeof(sb->metadata_space_map_root));
	sb->mapping_root = cpu_to_le64(roots->mapping);
	sb->heat_root = cpu_to_le64(roots->heat);
	sb->tiers_root = cpu_to_le64(roots->tiers);
	sb->tunables_root = cpu_to_le64(roots->tunables);
	sb->held_root = cpu_to_le64(info->held_root);
	sb->trans_id = cpu_to_le64(info->trans_id);
	sb->chunk_sectors = cpu_to_le64(info->chunk_sectors);
	sb->nr_chunks = cpu_to_le64(info->nr_chunks);
	sb->length = cpu_to_le64(info->length);
	sb->reserve = cpu_to_le64(info->reserve);
	sb->generation = cpu_to_le64(info->generation);
	sb->next_generation = cpu_to_le64(info->next_generation);
	sb->logical_block_size = cpu_to_le32(info->logical_block_size);
	sb->nr_tunables = cpu_to_le32(roots->nr_tunables);
	copy_text(sb->policy_name, info->policy, sizeof(sb->policy_name));
	copy_text(sb->name, info->name, sizeof(sb->name));
	memcpy(sb->owner_machine, info->owner.machine, sizeof(sb->owner_machine));
	memcpy(sb->owner_boot, info->owner.boot, sizeof(sb->owner_boot));
	sb->owner_time = cpu_to_le64(info->owner.time);
	sb->owner_trans_id = cpu_to_le64(info->owner.trans_id);
}

/* ---- tier records ---- */

int tier_record_unpack(u64 id, const struct tier_record *record, struct tier_meta_tier *tier)
{
	u64 first_place = le64_to_cpu(record->first_place);
	u64 places = le64_to_cpu(record->places);
	u32 latency = le32_to_cpu(record->latency);
	u16 quiet = le16_to_cpu(record->quiet);
	const u8 *name = (const u8 *)record + offsetof(struct tier_record, last_seen);
	u8 watermark = record->watermark, lands = record->lands;
	u32 residence = le32_to_cpu(record->residence);

	/* Names had 24, 28 and 32 bytes before: what was a part of one is no value. */
	if (!memchr(name, 0, sizeof(record->last_seen)))
		residence = 0;
	if (!memchr(name, 0, offsetof(struct tier_record, quiet) -
		    offsetof(struct tier_record, last_seen))) {
		quiet = 0;
		watermark = 0;
		lands = 0;
	}
	if (!memchr(name, 0, offsetof(struct tier_record, latency) -
		    offsetof(struct tier_record, last_seen)) && latency <= 0xffffff)
		latency = 0;

	if (id > TIER_MAX_ID || le32_to_cpu(record->rank) >= TIER_MAX_TIERS ||
	    le32_to_cpu(record->landing) > TIER_LANDS_ALL || lands == TIER_LANDS_ALL ||
	    lands > TIER_LANDS_STREAMS ||
	    le64_to_cpu(record->endurance) > TIER_MAX_ALLOWANCE ||
	    le64_to_cpu(record->reserve) > TIER_MAX_ALLOWANCE ||
	    first_place > TIER_ENTRY_PLACE_MASK || places > TIER_ENTRY_PLACE_MASK - first_place ||
	    latency > TIER_MAX_LATENCY || watermark > TIER_MAX_WATERMARK)
		return -EILSEQ;

	memset(tier, 0, sizeof(*tier));
	tier->id = id;
	memcpy(tier->uuid, record->uuid, sizeof(tier->uuid));
	tier->size = le64_to_cpu(record->size);
	tier->first_place = first_place;
	tier->places = places;
	tier->generation = le64_to_cpu(record->generation);
	tier->next_generation = le64_to_cpu(record->next_generation);
	tier->flags = le32_to_cpu(record->flags);
	tier->rank = le32_to_cpu(record->rank);
	tier->endurance = le64_to_cpu(record->endurance);
	tier->reserve = le64_to_cpu(record->reserve);
	tier->landing = le32_to_cpu(record->landing);
	if (tier->landing && lands)
		tier->landing = lands;
	tier->latency = latency;
	tier->watermark = watermark;
	tier->quiet = quiet;
	tier->residence = residence;
	tier->wear = le32_to_cpu(record->wear);
	copy_text(tier->last_seen, record->last_seen, sizeof(tier->last_seen));
	return 0;
}

void tier_record_pack(struct tier_record *record, const struct tier_meta_tier *tier)
{
	memset(record, 0, sizeof(*record));
	memcpy(record->uuid, tier->uuid, sizeof(record->uuid));
	record->size = cpu_to_le64(tier->size);
	record->first_place = cpu_to_le64(tier->first_place);
	record->places = cpu_to_le64(tier->places);
	record->generation = cpu_to_le64(tier->generation);
	record->next_generation = cpu_to_le64(tier->next_generation);
	record->flags = cpu_to_le32(tier->flags);
	record->rank = cpu_to_le32(tier->rank);
	record->endurance = cpu_to_le64(tier->endurance);
	record->reserve = cpu_to_le64(tier->reserve);
	record->landing = cpu_to_le32(!!tier->landing);
	record->lands = tier->landing > TIER_LANDS_ALL ? tier->landing : 0;
	record->latency = cpu_to_le32(tier->latency);
	record->watermark = tier->watermark;
	record->quiet = cpu_to_le16(tier->quiet);
	record->residence = cpu_to_le32(tier->residence);
	record->wear = cpu_to_le32(tier->wear);
	copy_text(record->last_seen, tier->last_seen, sizeof(record->last_seen));
}

/* ---- labels ---- */

static u32 label_csum(const struct tier_label *label)
{
	return tier_checksum((const u8 *)label + sizeof(label->csum),
			     TIER_LABEL_SIZE - sizeof(label->csum), TIER_LABEL_CSUM_XOR);
}

void tier_label_pack(void *slot, const struct tier_label_info *info)
{
	struct tier_label *label = slot;

	memset(slot, 0, TIER_LABEL_SLOT_SIZE);
	label->version = cpu_to_le32(TIER_FORMAT_VERSION);
	label->magic = cpu_to_le64(TIER_LABEL_MAGIC);
	memcpy(label->set_uuid, info->set_uuid, sizeof(label->set_uuid));
	memcpy(label->tier_uuid, info->tier_uuid, sizeof(label->tier_uuid));
	label->id = cpu_to_le32(info->id);
	label->compat_flags = cpu_to_le32(info->compat_flags);
	label->compat_ro_flags = cpu_to_le32(info->compat_ro_flags);
	if (info->places_at > tier_label_area(info->chunk_sectors))
		label->incompat_flags = cpu_to_le32(TIER_INCOMPAT_ROOM);
	label->size = cpu_to_le64(info->size);
	label->places_at = cpu_to_le64(info->places_at);
	label->chunk_sectors = cpu_to_le64(info->chunk_sectors);
	label->generation = cpu_to_le64(info->generation);
	copy_text(label->name, info->name, sizeof(label->name));
	label->csum = cpu_to_le32(label_csum(label));
}

enum slot_state {
	SLOT_VALID,
	SLOT_ZERO,		/* never written */
	SLOT_UNREADABLE,
	SLOT_DAMAGED,		/* a label once */
	SLOT_FOREIGN,		/* not a label */
	SLOT_METADATA,		/* a superblock */
	SLOT_UNKNOWN,		/* a whole label that this version must not touch */
};

static bool label_fields_valid(const struct tier_label *label)
{
	u64 chunk_sectors = le64_to_cpu(label->chunk_sectors);
	u64 at = le64_to_cpu(label->places_at);

	return le32_to_cpu(label->id) <= TIER_MAX_ID && chunk_sectors_valid(chunk_sectors) &&
	       at >= tier_label_area(chunk_sectors) && at <= le64_to_cpu(label->size) &&
	       !(at & (chunk_sectors - 1)) &&
	       memchr(label->name, 0, sizeof(label->name));
}

static enum slot_state judge_slot(const void *slot)
{
	const struct tier_superblock *sb = slot;
	const struct tier_label *label = slot;

	if (!slot)
		return SLOT_UNREADABLE;
	if (tier_all_zero(slot, TIER_LABEL_SLOT_SIZE))
		return SLOT_ZERO;
	if (le64_to_cpu(label->magic) != TIER_LABEL_MAGIC)
		return le64_to_cpu(sb->magic) == TIER_SUPERBLOCK_MAGIC ?
		       SLOT_METADATA : SLOT_FOREIGN;
	if (le32_to_cpu(label->csum) != label_csum(label))
		return SLOT_DAMAGED;
	if (le32_to_cpu(label->version) != TIER_FORMAT_VERSION ||
	    le32_to_cpu(label->incompat_flags) & ~TIER_FEATURES_INCOMPAT)
		return SLOT_UNKNOWN;
	return label_fields_valid(label) ? SLOT_VALID : SLOT_DAMAGED;
}

static void label_to_info(const struct tier_label *label, struct tier_label_info *info)
{
	memset(info, 0, sizeof(*info));
	memcpy(info->set_uuid, label->set_uuid, sizeof(info->set_uuid));
	memcpy(info->tier_uuid, label->tier_uuid, sizeof(info->tier_uuid));
	copy_text(info->name, label->name, sizeof(info->name));
	info->id = le32_to_cpu(label->id);
	info->compat_flags = le32_to_cpu(label->compat_flags);
	info->compat_ro_flags = le32_to_cpu(label->compat_ro_flags);
	info->size = le64_to_cpu(label->size);
	info->places_at = le64_to_cpu(label->places_at);
	info->chunk_sectors = le64_to_cpu(label->chunk_sectors);
	info->generation = le64_to_cpu(label->generation);
}

static bool same_tier(const struct tier_label *a, const struct tier_label *b)
{
	return !memcmp(a->set_uuid, b->set_uuid, sizeof(a->set_uuid)) &&
	       !memcmp(a->tier_uuid, b->tier_uuid, sizeof(a->tier_uuid)) && a->id == b->id;
}

int tier_label_choose(const void *slot0, const void *slot1,
		      struct tier_label_info *info, const char **reason)
{
	const struct tier_label *labels[TIER_LABEL_SLOTS] = { slot0, slot1 };
	unsigned int seen[SLOT_UNKNOWN + 1] = { 0 };
	enum slot_state state[TIER_LABEL_SLOTS];
	unsigned int i, best;

	for (i = 0; i < TIER_LABEL_SLOTS; i++) {
		state[i] = judge_slot(labels[i]);
		seen[state[i]]++;
	}

	/* A newer version was here: even a good slot next to it is no excuse. */
	if (seen[SLOT_UNKNOWN])
		return tier_refuse(reason, -EINVAL,
				   "tier label has an unknown format version or unknown features");
	if (seen[SLOT_VALID] == TIER_LABEL_SLOTS && !same_tier(labels[0], labels[1]))
		return tier_refuse(reason, -EILSEQ,
				   "tier label is damaged: its slots name different tiers");
	if (seen[SLOT_VALID]) {
		best = state[0] != SLOT_VALID;
		if (seen[SLOT_VALID] == TIER_LABEL_SLOTS)
			best = le64_to_cpu(labels[1]->generation) >
			       le64_to_cpu(labels[0]->generation);
		label_to_info(labels[best], info);
		info->slot = best;
		info->slot_lost = seen[SLOT_UNREADABLE];
		return 0;
	}
	if (seen[SLOT_UNREADABLE])
		return tier_refuse(reason, -EIO, "tier label cannot be read");
	if (seen[SLOT_DAMAGED])
		return tier_refuse(reason, -EILSEQ, "tier label is damaged");
	if (seen[SLOT_METADATA])
		return tier_refuse(reason, -EINVAL, "tier is a metadata device, not a tier");
	if (seen[SLOT_FOREIGN])
		return tier_refuse(reason, -EINVAL,
				   "tier holds something that is not a tier label");
	return tier_refuse(reason, -ENODATA, "tier is blank");
}
