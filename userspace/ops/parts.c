// SPDX-License-Identifier: GPL-2.0-only
#include "ops/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/util.h"
#include "block/device.h"
#include "set/candidate.h"

int parts_release(struct tier_context *ctx, const struct lvm_part *p)
{
	char *what = NULL, *name = lvm_tag(p, "name");
	struct lvm_part now = *p;
	const char *old = name;
	struct device d;
	int r = 0;

	if (!old && !lvm_is_home(p)) {
		/* In a dry run the volume is still in use. */
		if (!ctx->dry_run) {
			if (device_from_name(p->name, &d))
				what = xstrdup("what nobody can look at, as it is not active");
			else
				what = candidate_foreign(NULL, &d);
			device_free(&d);
		}
		if (!what)
			return lvm_remove_made(ctx, p);
		warn(ctx,
		     "%s: was made for the set, but carries %s, so it stays. To remove it: lvremove %s",
		     p->name, what, p->name);
		free(what);
		return lvm_untag_part(ctx, p);
	}
	/* If the origin lost its name, it gets it back before; not in a dry run. */
	if (!old || (lvm_has_role(p, LVM_ROLE_ORIGIN) && !ctx->dry_run))
		old = p->lv;
	now.name = xasprintf("%s/%s", p->vg, old);
	if (strcmp(p->lv, old) && !lvm_has_role(p, LVM_ROLE_ORIGIN))
		r = lvm_rename(ctx, p->vg, p->lv, old);
	if (!r)
		r = lvm_untag_part(ctx, &now);
	free(now.name);
	free(name);
	return r;
}

int parts_mark_home(struct tier_context *ctx, const char *set_hex, dev_t survivor)
{
	struct lvm_parts fast;
	int r = lvm_list_fast(ctx, set_hex, &fast);
	unsigned int i;

	for (i = 0; !r && i < fast.nr; i++) {
		const struct lvm_part *p = &fast.part[i];
		bool is_home = lvm_was_made(p) && lvm_is_device(p, survivor);

		if (is_home != lvm_is_home(p))
			r = lvm_mark_home(ctx, p, is_home);
	}
	lvm_parts_free(&fast);
	return r;
}

int parts_release_all(struct tier_context *ctx, const char *set_hex, dev_t survivor)
{
	struct lvm_parts parts;
	int r = lvm_list_set(ctx, set_hex, &parts);
	unsigned int i;
	bool last = false;

	do {
		for (i = 0; !r && i < parts.nr; i++) {
			const struct lvm_part *p = &parts.part[i];

			/* The placeholder makes way before; in a dry run it is still there. */
			if (lvm_has_role(p, LVM_ROLE_ORIGIN) != last || lvm_has_role(p, LVM_ROLE_PLACEHOLDER))
				continue;
			r = lvm_was_made(p) && lvm_is_device(p, survivor) ? lvm_untag_part(ctx,
					 p) : parts_release(ctx, p);
		}
		last = !last;
	} while (last);
	lvm_parts_free(&parts);
	return r;
}
