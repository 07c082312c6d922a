// SPDX-License-Identifier: GPL-2.0-only
#include "set/owner.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"
#include "dm/dm.h"
#include "format/metadata.h"
#include "set/member.h"

/* The first is for a machine whose own id is another one after each boot. */
static const char *const machine_files[] = { "/etc/dm-tier/machine-id", "/etc/machine-id" };
#define BOOT_FILE	"/proc/sys/kernel/random/boot_id"

/* 32 hexadecimal digits, with or without dashes; false, and all zero, if the file has no such id. */
static bool read_id(const char *path, u8 id[TIER_UUID_SIZE])
{
	FILE *f = fopen(path, "re");
	unsigned int nr = 0;
	int c;

	memset(id, 0, TIER_UUID_SIZE);
	if (!f)
		return false;
	while (nr < 2 * TIER_UUID_SIZE && (c = getc(f)) != EOF) {
		if (c == '-')
			continue;
		if (!isxdigit(c))
			break;
		id[nr / 2] = id[nr / 2] << 4 | (isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
		nr++;
	}
	fclose(f);
	if (nr < 2 * TIER_UUID_SIZE)
		memset(id, 0, TIER_UUID_SIZE);
	return nr == 2 * TIER_UUID_SIZE;
}

void owner_this_machine(u8 id[TIER_UUID_SIZE])
{
	if (access(IN_INITRAMFS, F_OK) && (read_id(machine_files[0], id) || read_id(machine_files[1], id)))
		return;
	memset(id, 0, TIER_UUID_SIZE);
}

bool owner_not_elsewhere(const struct set *s, const char *advice)
{
	const struct tier_owner *owner = &s->info.owner;
	char machine[UUID_HEX], when[TIME_TEXT];
	u8 mine[TIER_UUID_SIZE];

	owner_this_machine(mine);
	if (s->active || !(s->info.compat_flags & TIER_COMPAT_OWNER) || s->info.flags & TIER_SB_CLEAN ||
	    owner->trans_id != s->info.trans_id || tier_all_zero(owner->machine, sizeof(owner->machine)) ||
	    tier_all_zero(mine, sizeof(mine)) || !memcmp(owner->machine, mine, sizeof(mine)))
		return true;
	err(s->ctx, ERR_ELSEWHERE, "%s: the machine %s activated it at %s and has not deactivated it. %s", s->name,
	    uuid_to_hex(machine, owner->machine), format_time(when, owner->time), advice);
	return false;
}

static int set_owner(const struct set *s, const struct tier_meta_info *from, const struct tier_meta_info *to,
		     const char **reason)
{
	int fd = device_open(&s->meta_dev, O_RDWR | O_DIRECT), r = fd;

	*reason = "metadata cannot be opened";
	if (fd >= 0) {
		r = md_set_owner(fd, from, to, reason);
		close(fd);
	}
	return r;
}

bool owner_claim(const struct set *s, struct tier_meta_info *now)
{
	const char *reason;
	int r = 0;

	*now = s->info;
	/* Only a newer version may write to it. */
	if (tier_features_read_only(s->info.compat_ro_flags))
		return true;
	now->compat_flags |= TIER_COMPAT_OWNER;
	now->flags &= ~TIER_SB_CLEAN;
	owner_this_machine(now->owner.machine);
	read_id(BOOT_FILE, now->owner.boot);
	now->owner.time = time(NULL);
	now->owner.trans_id = s->info.trans_id;
	r = set_owner(s, &s->info, now, &reason);
	if (r)
		err(s->ctx, r == -ESTALE ? ERR_CHANGED : r == -EBADE ? ERR_ELSEWHERE : ERR_IO, "%s: %s (%s).%s", s->name,
		    reason, s->meta_dev.name,
		    r == -ESTALE ? " Try again." :
		    r == -EBADE ? " Another machine has reserved it: see --reserve in tierctl-activate(8)." : "");
	return !r;
}

void owner_unclaim(const struct set *s, const struct tier_meta_info *now)
{
	const char *reason;
	int r;

	if (tier_features_read_only(s->info.compat_ro_flags))
		return;
	r = set_owner(s, now, &s->info, &reason);
	/* Whoever has changed it since then knows better. */
	if (r && r != -ESTALE)
		warn(s->ctx, "%s: is recorded as used by this machine, as %s (%s).", s->name, reason, s->meta_dev.name);
}

void owner_record(struct tier_context *ctx, const char *name)
{
	char hex[2][UUID_HEX], *message, *reason;
	u8 machine[TIER_UUID_SIZE], boot[TIER_UUID_SIZE];
	int r;

	owner_this_machine(machine);
	read_id(BOOT_FILE, boot);
	message = xasprintf("owner %s %s", uuid_to_hex(hex[0], machine), uuid_to_hex(hex[1], boot));
	verbose(ctx, "message to %s: %s", name, message);
	r = dm_message(name, message, NULL, &reason);
	/* Modules that are older than this tool do not know the message. */
	if (r && r != -EINVAL)
		warn(ctx, "%s: that this machine uses it is not recorded: %s.", name, reason);
	if (r)
		free(reason);
	free(message);
}
