// SPDX-License-Identifier: GPL-2.0-only
/* Headers of legs (format/leg.h), and which legs a mirror is made of (set/legs.h). */
#include <stdlib.h>
#include <string.h>

#include "format/leg.h"
#include "set/legs.h"
#include "../tap.h"

static u64 block[LEG_HEADER_SIZE / sizeof(u64)];

static struct leg_info info = {
	.set_uuid = "set", .tier_uuid = "tier", .index = 1, .nr = 2, .flags = LEG_SLOW, .generation = 3, .size = 8192,
	.used = 1700000000,
};

static void headers(void)
{
	struct leg_info found;
	unsigned int i, taken = 0;

	memset(&found, 0, sizeof(found));
	leg_pack(block, &info);
	ok(leg_unpack(block, &found) && !memcmp(&found, &info, sizeof(info)), "a header says what was packed");
	/* What is damaged is no header; the rest of the block does not count, as it may be torn. */
	for (i = 0; i < 512; i++) {
		((u8 *)block)[i] ^= 4;
		taken += leg_unpack(block, &found);
		((u8 *)block)[i] ^= 4;
	}
	ok(!taken, "each changed byte of the sector is noticed");
	((u8 *)block)[512] ^= 4;
	ok(leg_unpack(block, &found), "what lies behind the sector does not count");
	memset(block, 0, sizeof(block));
	ok(!leg_unpack(block, &found), "zeroes are no header");

	info.index = 2;
	leg_pack(block, &info);
	ok(!leg_unpack(block, &found), "no third leg of two");
	info.index = 1;
	info.nr = LEGS_MAX + 1;
	leg_pack(block, &info);
	ok(!leg_unpack(block, &found), "not more legs than there can be");
	info.nr = 2;
	info.size = 8191;
	leg_pack(block, &info);
	ok(!leg_unpack(block, &found), "metadata has whole blocks");
	info.size = 8192;
}

/* As the kernel writes it. */
static void raid_superblock(u32 magic, u64 events, u64 failed, u64 filled)
{
	__le32 *word = (void *)block;

	memset(block, 0, sizeof(block));
	word[0] = cpu_to_le32(magic);
	block[2] = cpu_to_le64(events);
	block[3] = cpu_to_le64(failed);
	block[4] = cpu_to_le64(filled);
	block[11] = cpu_to_le64(8192);
}

static void superblocks(void)
{
	struct leg_raid raid;

	raid_superblock(0x64526d44, 17, 2, UINT64_MAX);
	ok(leg_raid_unpack(block, &raid) && raid.events == 17 && raid.failed == 2 && raid.whole &&
	   raid.size == 8192, "dm-raid's superblock");
	raid_superblock(0x64526d44, 17, 0, 4096);
	ok(leg_raid_unpack(block, &raid) && !raid.whole, "a leg that is being filled");
	raid_superblock(0x64526d45, 17, 0, UINT64_MAX);
	ok(!leg_raid_unpack(block, &raid), "another magic");
}

/* A tier with a leg. */
static struct member tier(unsigned int index, u64 generation, u64 trans_id)
{
	struct member m = { .kind = MEMBER_TIER, .label = { .chunk_sectors = 2048, .places_at = 65536, .id = index } };

	m.dev.path = m.dev.name = "";
	m.leg.there = m.leg.in_raid = m.leg.readable = true;
	m.leg.info = info;
	m.leg.info.index = index;
	m.leg.info.generation = generation;
	m.leg.info.tag = generation;
	m.leg.raid.whole = true;
	m.leg.raid.events = 10;
	m.leg.raid.size = info.size;
	m.leg.meta.flags = TIER_SB_CLEAN;
	m.leg.meta.trans_id = trans_id;
	return m;
}

static bool all_usable(void *unused, const struct mirror_leg *leg)
{
	(void)unused;
	(void)leg;
	return true;
}

static bool not_the_second(void *unused, const struct mirror_leg *leg)
{
	(void)unused;
	return leg->id != 1;
}

static void mirrors(void)
{
	struct member first = tier(0, 3, 7), second = tier(1, 3, 7), old = tier(1, 2, 9), alone = tier(1, 3, 7);
	struct member next = tier(1, 4, 8);
	struct mirror m = { 0 };

	ok(!mirror_legs(&m) && mirror_newest(&m) == LEGS_MAX, "no leg");
	mirror_add(&m, &first);
	ok(m.nr == 2 && mirror_legs(&m) == 1 && mirror_newest(&m) == 0 && !mirror_in_sync(&m), "one of two legs");
	mirror_add(&m, &old);
	ok(mirror_legs(&m) == 1 && !m.doubled && !m.split, "a leg of a lower generation is out of date");
	mirror_add(&m, &second);
	ok(mirror_legs(&m) == 2 && mirror_in_sync(&m), "two that are the same");
	mirror_settle(&m, all_usable, NULL);
	ok(!m.leg[1].out && mirror_in_sync(&m), "the older one is not needed");

	m.leg[1].look.meta.trans_id++;
	ok(mirror_newest(&m) == 1 && !mirror_in_sync(&m), "later metadata is newer");
	m.leg[0].look.raid.events++;
	ok(mirror_newest(&m) == 1, "whatever dm-raid has counted");
	m.leg[1].look.raid.failed = 1;
	ok(mirror_newest(&m) == 1, "a leg knows that the other dropped out");
	m.leg[1].look.raid.failed = 0;
	m.leg[0].look.raid.failed = 2;
	ok(mirror_newest(&m) == 0, "or has dropped out itself");
	m.leg[0].look.raid.failed = 0;
	m.leg[1].look.raid.whole = false;
	ok(mirror_newest(&m) == 0, "a leg that is being filled is not the newest");
	m.leg[1].look.raid.whole = true;
	m.leg[1].look.meta.trans_id--;
	m.leg[0].look.raid.events--;
	ok(mirror_in_sync(&m), "as before");
	m.leg[0].look.meta.flags = m.leg[1].look.meta.flags = 0;
	ok(!mirror_in_sync(&m), "after a crash nobody knows");

	mirror_add(&m, &second);
	ok(m.doubled, "the same leg twice");
	mirror_add(&m, &next);
	ok(mirror_legs(&m) == 1 && m.generation == 4 && m.leg[1].there && !m.doubled, "a leg of a higher generation counts alone");
	mirror_settle(&m, all_usable, NULL);
	ok(mirror_legs(&m) == 2 && m.leg[0].out && mirror_newest(&m) == 1 && !mirror_in_sync(&m), "until it fills the other one");
	mirror_free(&m);

	mirror_add(&m, &first);
	mirror_add(&m, &next);
	mirror_settle(&m, not_the_second, NULL);
	ok(mirror_legs(&m) == 1 && m.leg[0].out, "a leg on a tier that is not usable is dropped");
	mirror_free(&m);

	alone.leg.info.tag++;
	mirror_add(&m, &first);
	mirror_add(&m, &alone);
	ok(m.split && !m.doubled, "each was used without the other");
	mirror_free(&m);

	first.hidden = "a path";
	mirror_add(&m, &first);
	ok(!m.nr, "a leg on a hidden device does not count");
	mirror_free(&m);
}

static void sizes(void)
{
	struct member first = tier(0, 3, 7), second = tier(1, 3, 7), older = tier(0, 2, 5);
	struct mirror m = { 0 };

	first.leg.info.size = second.leg.info.size = 16384;
	mirror_add(&m, &first);
	mirror_add(&m, &second);
	ok(m.size == 16384 && mirror_in_sync(&m), "legs that have grown");
	ok(mirror_has_noted(&m, 8192) && !mirror_has_noted(&m, 16384), "dm-raid knows of none");
	m.leg[1].look.raid.size = 16384;
	ok(!mirror_has_noted(&m, 16384) && !mirror_in_sync(&m), "or has only one of them");
	m.leg[1].look.raid.failed = 1;
	ok(mirror_has_noted(&m, 16384), "but the other one has failed");
	mirror_free(&m);

	first.leg.info.size = 8192;
	mirror_add(&m, &second);
	mirror_add(&m, &first);
	ok(m.size == 8192, "one was cut short");
	mirror_free(&m);

	mirror_add(&m, &second);
	mirror_add(&m, &older);
	mirror_settle(&m, all_usable, NULL);
	ok(mirror_legs(&m) == 2 && m.leg[0].out, "an older leg has room for what has grown");
	mirror_free(&m);
	older.label.places_at = 2048 + LEG_DATA_AT + 16384 - 8;
	mirror_add(&m, &second);
	mirror_add(&m, &older);
	mirror_settle(&m, all_usable, NULL);
	ok(mirror_legs(&m) == 1 && !m.leg[0].there, "or has not");
	mirror_free(&m);
	ok(!mirror_has_noted(&m, 0), "no leg has noted anything");
}

int main(void)
{
	headers();
	superblocks();
	mirrors();
	sizes();
	return tap_done();
}
