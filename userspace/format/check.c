// SPDX-License-Identifier: GPL-2.0-only
#include "format/check.h"

#include "format/spacemap.h"

static bool check_small(struct md_image *image, struct md_tiers *tiers)
{
	struct md_tunables tunables;
	bool whole = md_image_tiers(image, tiers);

	if (whole)
		md_rules_tiers(&image->info, tiers, image->p);
	if (md_image_tunables(image, &tunables))
		md_rules_tunables(&tunables, image->p);
	return whole;
}

/* Entries are checked only if all tiers are known, so one lost record is reported once. */
static void check_arrays(struct md_image *image, const struct md_tiers *tiers, bool have_tiers)
{
	struct md_places places;

	if (have_tiers)
		md_places_init(&places, &image->info, tiers);
	md_image_mapping(image, have_tiers ? &places : NULL, NULL);
	if (have_tiers)
		md_places_free(&places);
	md_image_heat(image, NULL);
}

static void check_snapshot(const struct md_check *check, struct md_image *live)
{
	struct md_image snapshot;
	struct md_tiers tiers;
	bool have_tiers;

	live->p->prefix = "metadata snapshot: ";
	if (md_image_snapshot(live, &snapshot)) {
		have_tiers = check_small(&snapshot, &tiers);
		if (!check->skip_mappings)
			check_arrays(&snapshot, &tiers, have_tiers);
		live->broken |= snapshot.broken;
	} else {
		live->broken = true;
	}
	live->p->prefix = NULL;
}

static void check_live(struct md_check *check, struct md_image *image)
{
	check->have_tiers = check_small(image, &check->tiers);
	if (!check->skip_mappings)
		check_arrays(image, &check->tiers, check->have_tiers);
	if (image->info.held_root)
		check_snapshot(check, image);
}

void md_check(struct md_check *check, struct md_source *src, struct md_problems *p)
{
	struct md_image image = { .src = src, .p = p };
	struct md_counts counts, said;

	if (!md_image_open(&image))
		return;
	check->info = image.info;
	check->have_info = true;
	if (check->superblock_only)
		return;
	if (check->snapshot) {
		if (image.info.held_root)
			check_snapshot(check, &image);
		else
			md_error(p, "metadata snapshot: there is none");
		return;
	}

	md_counts_init(&counts, src->nr_blocks < MD_MAX_BLOCKS ? src->nr_blocks : MD_MAX_BLOCKS);
	image.counts = &counts;
	md_count(&counts, TIER_SUPERBLOCK_LOCATION);
	check_live(check, &image);
	image.broken |= !md_spacemap_read(src, image.roots.space_map, &counts, &said, p);
	/* Blocks below a damaged block were not counted. */
	if (!image.broken && !check->skip_mappings)
		md_spacemap_compare(&said, &counts, p);
	md_counts_free(&said);
	md_counts_free(&counts);
}
