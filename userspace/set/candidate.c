// SPDX-License-Identifier: GPL-2.0-only
#include "set/candidate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"
#include "block/filter.h"
#include "block/signature.h"
#include "lvm/lvm-check.h"
#include "lvm/lvm-part.h"
#include "set/fit.h"
#include "set/tier.h"
#include "set/twin.h"

/* Whether the volume VG/LV is another machine's, with that said. */
static bool in_foreign_group(struct tier_context *ctx, const char *typed, const char *volume)
{
	struct strings groups = { 0 };
	char *vg = xstrndup(volume, strcspn(volume, "/")), *text = NULL;
	bool foreign;

	strings_add(&groups, vg);
	if (*vg && strcmp(vg, volume))
		text = lvm_foreign_group(ctx, &groups);
	foreign = text;
	if (text)
		err(ctx, ERR_ELSEWHERE, "%s: %s", typed, text);
	free(text);
	free(vg);
	strings_free(&groups);
	return foreign;
}

bool candidate_find(struct tier_context *ctx, struct candidate *d)
{
	int r = device_from_name(d->typed, &d->dev);

	/* LVM does not activate another machine's volumes. */
	if (r && !in_foreign_group(ctx, d->typed, d->typed))
		device_not_found(ctx, d->typed, r);
	return !r;
}

bool candidate_find_made(struct tier_context *ctx, struct candidate *d)
{
	if (!candidate_find(ctx, d))
		return false;
	if (!strcmp(d->dev.name, d->typed))
		return true;
	err(ctx, ERR_UNSUITABLE, "%s: names %s, and not the logical volume that was made.", d->typed,
	    d->dev.name);
	return false;
}

/*
 * I/O to the set would wait for the device; and the device, which lies on the set, would wait
 * for the set while it is suspended.
 */
static bool is_apart(struct tier_context *ctx, const char *typed, dev_t dev, dev_t above)
{
	if (!above || !device_stands_on(dev, above))
		return true;
	err(ctx, ERR_UNSUITABLE, "%s: lies on the device that it is to become part of.", typed);
	return false;
}

bool candidate_pv_apart(struct tier_context *ctx, const char *pv, dev_t above)
{
	struct device d;
	bool good;

	if (device_from_name(pv, &d))
		return true;	/* LVM reports unknown names */
	good = is_apart(ctx, pv, d.dev, above);
	device_free(&d);
	return good;
}

/*
 * A second path to a part of an active set, which the kernel takes for another device. If the
 * label of the part is missing in the copy seen here, this is no such path. Without --force the
 * label alone is refused.
 */
static bool is_second_path(const struct candidate *d, const struct set_list *sets)
{
	const struct device *part;
	struct role role;
	struct member m;
	unsigned int i;
	int r = 0;

	member_read(&d->dev, &m);
	role_of(&m, sets, &role);
	member_free(&m);
	if (!role.set || !role.set->active)
		return false;
	for (i = 0; !r && i <= role.set->nr_tiers; i++) {
		part = i < role.set->nr_tiers ? &role.set->tier[i].dev : &role.set->meta_dev;
		r = part->path ? twins_alike(&d->dev, part) : 0;
		if (r > 0)
			err(sets->ctx, ERR_IN_USE,
			    "%s: may be the same disk as %s, which is in use. To find out, deactivate %s first: tierctl destroy %s",
			    d->typed, part->name, role.set->name, d->typed);
		else if (r)
			err(sets->ctx, error_from(-r), "%s, %s: cannot be compared: %s.", d->typed,
			    part->name, strerror(-r));
	}
	return r;
}

bool candidate_suitable(const struct candidate *d, const struct set_list *sets, dev_t above)
{
	const struct set *owner;
	unsigned int i;
	bool good = false;
	char *text;

	if (device_is_volume(d->dev.dev) && in_foreign_group(sets->ctx, d->typed, d->dev.name))
		return false;
	text = sets_role(sets, d->dev.dev, &owner);
	if (text) {
		err(sets->ctx, ERR_IN_USE, "%s: is %s, which is active.", d->typed, text);
		goto out;
	}
	for (i = 0; i < sets->nr; i++) {
		if (sets->set[i].dm.dev == d->dev.dev) {
			err(sets->ctx, ERR_UNSUITABLE, "%s: is a tiered device itself.", d->typed);
			goto out;
		}
	}
	if (!is_apart(sets->ctx, d->typed, d->dev.dev, above))
		goto out;
	text = fit_kind(&d->dev, true);
	if (text)
		err(sets->ctx, ERR_UNSUITABLE, "%s: %s.", d->typed, text);
	good = !text;
out:
	free(text);
	return good;
}

bool candidate_usable(const struct candidate *d, const struct set_list *sets, dev_t above)
{
	bool good = candidate_suitable(d, sets, above);
	char *text = good ? device_usage(&d->dev) : NULL;

	if (text) {
		err(sets->ctx, ERR_IN_USE, "%s: %s. Free it first, --force does not help.", d->typed, text);
		free(text);
		return false;
	}
	good = good && (!sets->ctx->force || !is_second_path(d, sets));
	if (good)
		fit_warn(sets->ctx, d->typed, &d->dev);
	return good;
}

bool candidate_blocks_fit(struct tier_context *ctx, const struct candidate *d, const char *set,
			  unsigned int block, const char *so)
{
	char *text = fit_blocks(&d->dev, set, block);

	if (text)
		err(ctx, ERR_UNSUITABLE, "%s: %s%s.", d->typed, text, so);
	free(text);
	return !text;
}

char *candidate_describe(const struct member *m)
{
	char hex[UUID_HEX];

	switch (m->kind) {
	case MEMBER_METADATA:
		return xasprintf("the metadata of the set \"%s\" (%s)", m->meta.name,
				 uuid_to_hex(hex, m->meta.uuid));
	case MEMBER_TIER:
		return xasprintf("the label of tier id %u of the set \"%s\" (%s)", m->label.id,
				 m->label.name, uuid_to_hex(hex, m->label.set_uuid));
	case MEMBER_DAMAGED:
		return xasprintf("something of a tiered set: %s", m->reason);
	default:
		return NULL;
	}
}

bool candidate_begins_blank(const struct device *d)
{
	int fd = device_open(d, O_RDONLY);
	bool zero;
	void *buf;

	if (fd < 0)
		return false;
	buf = block_buffer(TIER_METADATA_BLOCK_SIZE);
	zero = !read_blocks(fd, 0, buf, TIER_METADATA_BLOCK_SIZE) &&
	       tier_all_zero(buf, TIER_METADATA_BLOCK_SIZE);
	free(buf);
	close(fd);
	return zero;
}

bool candidate_look_inside(struct tier_context *ctx, struct candidate *d, bool metadata)
{
	char *hidden = filter_reason(d->dev.dev, NULL);
	bool good = false, unknown;
	struct member m;
	int error;

	if (!metadata && set_volume_is_origin(&d->dev)) {
		err(ctx, ERR_UNSUITABLE,
		    "%s: its name ends in " LVM_ORIGIN_SUFFIX ", by which a volume that was converted is known. Rename it first.",
		    d->typed);
		free(hidden);
		return false;
	}
	member_read(&d->dev, &m);
	if (m.kind == MEMBER_UNREADABLE) {
		err(ctx, ERR_IO, "%s: %s.", d->typed, m.reason);
		goto out;
	}
	d->carries = candidate_describe(&m);
	if (!d->carries) {
		d->carries = signatures_find(d->dev.path, &error);
		if (error) {
			err(ctx, ERR_IO, "%s: cannot be read.", d->typed);
			goto out;
		}
	}
	/* Metadata behind its first block does not matter. */
	unknown = !d->carries && !(metadata ? candidate_begins_blank(&d->dev) : m.blank);
	if (unknown)
		d->carries = xstrdup("something unknown in its first 8 KiB");
	/*
	 * The device may be blank. If udev hides it for the type of its contents, the contents
	 * tell more.
	 */
	if (hidden && !(d->carries && strstr(hidden, "ID_FS_TYPE")))
		warn(ctx,
		     "%s: is %s. A set is not activated on it by itself, but on what is made of it; if udev is wrong: udevadm trigger %s",
		     d->typed, hidden, d->dev.path);

	if (!d->carries || ctx->force)
		good = true;
	else if (m.kind == MEMBER_METADATA || m.kind == MEMBER_TIER)
		err(ctx, ERR_NEEDS_FORCE,
		    "%s: carries %s. Its data would be lost: tierctl destroy that set, or repeat with --force.",
		    d->typed, d->carries);
	else if (unknown)
		err(ctx, ERR_NEEDS_FORCE,
		    "%s: carries %s. Its data would be lost: dd if=/dev/zero of=%s%s bs=8k count=1 oflag=direct, or repeat with --force.",
		    d->typed, d->carries, *d->dev.name == '/' ? "" : "/dev/", d->dev.name);
	else
		err(ctx, ERR_NEEDS_FORCE,
		    "%s: carries %s. Its data would be lost: %s it%s, or repeat with --force.", d->typed,
		    d->carries, m.kind == MEMBER_DAMAGED ? "tierctl destroy" : "wipefs -a", m.is_label &&
		    !m.is_whole ? " (or, if it is a tier that is missing, see tierctl repair --label)" : "");
out:
	free(hidden);
	member_free(&m);
	return good;
}

static bool find_same(struct tier_context *ctx, const struct candidate *d, struct candidate *now)
{
	*now = (struct candidate){ .typed = d->typed };
	if (!candidate_find(ctx, now))
		return false;
	if (now->dev.dev == d->dev.dev && now->dev.size == d->dev.size)
		return true;
	err(ctx, ERR_CHANGED,
	    "%s: is another device by now, or has another size, and stays as it is. Try again.",
	    d->typed);
	return false;
}

bool candidate_same(struct tier_context *ctx, const struct candidate *d)
{
	struct candidate now;
	bool same = find_same(ctx, d, &now);

	candidate_free(&now);
	return same;
}

bool candidate_unchanged(struct tier_context *ctx, const struct candidate *d, bool metadata)
{
	struct candidate now;
	const char *was, *is;
	bool same = false;

	if (find_same(ctx, d, &now) && candidate_look_inside(ctx, &now, metadata)) {
		was = d->carries ?: "nothing";
		is = now.carries ?: "nothing";
		same = !strcmp(is, was);
		if (!same)
			err(ctx, ERR_CHANGED,
			    "%s: is not what it was any more (then it carried %s, now %s), and stays as it is. Try again.",
			    d->typed, was, is);
	}
	candidate_free(&now);
	return same;
}

void candidate_free(struct candidate *d)
{
	device_free(&d->dev);
	free(d->carries);
	d->carries = NULL;
}

bool candidate_is_leftover(struct set *s, const struct member *m)
{
	struct tier_meta_tier records[TIER_MAX_TIERS];
	unsigned int i, nr;
	char *carries;
	int error;

	if (m->kind != MEMBER_TIER || memcmp(m->label.set_uuid, s->uuid, TIER_UUID_SIZE) ||
	    set_rank_of_device(s, m->dev.dev) >= 0 || set_read_records(s, records, &nr))
		return false;
	/* A copy of a tier, or a label that is newer than this metadata, is not removed. */
	for (i = 0; i < nr; i++)
		if (!memcmp(records[i].uuid, m->label.tier_uuid, TIER_UUID_SIZE))
			return false;
	if (m->label.generation > s->info.next_generation)
		return false;
	/* mkswap, for example, leaves the second slot of the label. */
	carries = signatures_find(m->dev.path, &error);
	free(carries);
	return !carries && !error && !m->foreign;
}

char *candidate_foreign(struct set *s, const struct device *d)
{
	char *what = NULL;
	struct member m;
	int error;

	member_read(d, &m);
	/* A label may survive a write over the rest of the device. */
	what = signatures_find(d->path, &error);
	if (error || m.kind == MEMBER_UNREADABLE) {
		free(what);
		what = xstrdup("what cannot be read");
	}
	if (!what && (s ? !candidate_is_leftover(s, &m) : m.kind != MEMBER_DAMAGED))
		what = candidate_describe(&m);
	/* lvcreate has zeroed only the first block of a volume that nobody has used yet. */
	if (!what && m.kind == MEMBER_NONE && !(s ? m.blank : candidate_begins_blank(d)))
		what = xstrdup("something unknown in its first 8 KiB");
	member_free(&m);
	return what;
}
