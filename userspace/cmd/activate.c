// SPDX-License-Identifier: GPL-2.0-only
/* activate, deactivate */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"
#include "base/words.h"
#include "block/mounts.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/dm.h"
#include "lvm/lvm-check.h"
#include "ops/activate.h"
#include "ops/mirrored.h"
#include "set/find.h"
#include "set/lock.h"
#include "set/mirror.h"
#include "set/reserved.h"
#include "set/set.h"
#include "tools/terminal.h"

static int check_which(const struct args *args, const char *command)
{
	bool all = args->given[OPT_ALL] || args->given[OPT_AUTO];

	if (all && args->given[OPT_ALL] && args->nr) {
		err(args->ctx, ERR_USAGE, "%s: name sets or say --all, not both.", command);
		return EXIT_USAGE;
	}
	if (!all && !args->nr) {
		err(args->ctx, ERR_USAGE, "%s: name a set, or say --all.", command);
		return EXIT_USAGE;
	}
	if ((args->given[OPT_TAKE_OVER] || args->given[OPT_RESERVE]) && !args->nr) {
		err(args->ctx, ERR_USAGE, "%s: %s goes with sets that are named.", command,
		    args->given[OPT_RESERVE] ? "--reserve" : "--take-over");
		return EXIT_USAGE;
	}
	if (args->given[OPT_NAME] && args->nr != 1) {
		err(args->ctx, ERR_USAGE, "%s: --name goes with one set.", command);
		return EXIT_USAGE;
	}
	return 0;
}

/*
 * Without systemd udev's rules start this within the event of a member. The program that made
 * the member appear waits for the event, perhaps while it holds LVM's lock, which is needed to
 * finish what convert left. So the event must not wait for this process.
 */
static void leave_event(struct tier_context *ctx)
{
	if (getenv("SEQNUM") && daemon(1, 1))
		err(ctx, error_from(errno), "activate: this goes on within the event of udev: %s.",
		    strerror(errno));
}

static int activate_by_event(const struct args *args, const struct activation *options)
{
	int code = EXIT_DONE;
	unsigned int i;

	terminal_of(args->ctx)->quiet = true;
	leave_event(args->ctx);
	for (i = 0; i < args->nr; i++)
		code = worse_exit_code(code, activate_auto_named(args->ctx, args->word[i], options));
	return args->nr ? code : activate_auto_all(args->ctx, options);
}

static int activate_by_user(const struct args *args, const struct activation *options)
{
	struct set_list list;
	int code = EXIT_DONE;
	unsigned int i;

	sets_load(args->ctx, &list, true);
	for (i = 0; i < args->nr; i++) {
		struct set *s = sets_find(&list, args->word[i]);
		char *foreign = s ? NULL : lvm_foreign_group(args->ctx, NULL);

		if (foreign)
			err(args->ctx, ERR_NOT_FOUND, "%s: no such set here; but %s", args->word[i], foreign);
		else
			s = sets_need(&list, args->word[i]);
		free(foreign);
		code = worse_exit_code(code, s ? activate_or_finish(s, options) : EXIT_FAILED);
	}
	for (i = 0; !args->nr && i < list.nr; i++)
		if (!list.set[i].dm.table)
			code = worse_exit_code(code, activate_or_finish(&list.set[i], options));
	sets_free(&list);
	return code;
}

int cmd_activate(const struct args *args)
{
	struct activation options = {
		.name = args->given[OPT_NAME] ? args->value[OPT_NAME] : NULL,
		.read_only = args->given[OPT_READ_ONLY],
		.degraded = args->given[OPT_DEGRADED],
		.automatic = args->given[OPT_AUTO],
		.unchecked = args->given[OPT_NO_CHECK],
		.take_over = args->given[OPT_TAKE_OVER],
		.reserve = args->given[OPT_RESERVE],
		.named = args->nr,
	};
	int code = check_which(args, "activate");

	if (!code && options.name)
		code = check_name(args->ctx, options.name, "activate");
	if (!code)
		code = parse_features(args, "activate", &options.features);
	if (!code && options.read_only)
		strings_add(&options.features, "read_only");
	if (!code)
		code = options.automatic ? activate_by_event(args, &options) : activate_by_user(args, &options);
	strings_free(&options.features);
	return code;
}

/* Not while another tierctl activates the set again, and reserves its disks. */
static void drop_alone(const struct set *s)
{
	int lock = set_lock(s->hex, LOCK_DEVICE, true);
	char *uuid = xasprintf("%s%s", DM_UUID_PREFIX, s->hex), *device = dm_name_of_uuid(uuid);

	if (!device)
		reserved_drop(s);
	free(device);
	free(uuid);
	if (lock >= 0)
		close(lock);
}

static int deactivate(const struct set *s)
{
	char *reason;

	if (!check_closed(s, "deactivate"))
		return EXIT_FAILED;
	if (s->ctx->dry_run) {
		say(s->ctx, "Would remove /dev/mapper/%s.", s->dm_name);
		return EXIT_DONE;
	}
	/* Its last commit would wait for ever. */
	if (mirrored_go_on(s))
		return EXIT_FAILED;
	if (dm_remove(s->dm_name, &reason)) {
		err(s->ctx, ERR_KERNEL_REFUSED, "%s: cannot be deactivated: %s.", s->name, reason);
		free(reason);
		return EXIT_FAILED;
	}
	if (set_mirror_assembled(s) && mirror_release_alone(s->ctx, s->hex, s->name))
		return EXIT_FAILED;
	/* Metadata on the tiers was written until now. */
	drop_alone(s);
	say(s->ctx, "%s: inactive.", s->name);
	return EXIT_DONE;
}

/* If the metadata cannot be read, the UUID may be unknown. */
static const struct set *find_again(const struct set_list *active, const struct set *before)
{
	bool known = !tier_all_zero(before->uuid, sizeof(before->uuid));
	unsigned int i;

	for (i = 0; i < active->nr; i++)
		if (!strcmp(active->set[i].hex, before->hex) && (known || active->set[i].dm.dev == before->dm.dev))
			return &active->set[i];
	return NULL;
}

static int is_inactive(const struct set *s)
{
	/* A call that was killed may have left the device of its metadata. */
	if (!s->ctx->dry_run && mirror_release_alone(s->ctx, s->hex, s->name))
		return EXIT_FAILED;
	if (!s->ctx->dry_run)
		drop_alone(s);
	say(s->ctx, "%s: is inactive already.", s->name);
	return EXIT_DONE;
}

/*
 * Waits while another command changes the set. Afterwards the set may have another name or be
 * gone, and its old name may belong to another device.
 */
static int deactivate_alone(const struct set *before)
{
	struct set_list list;
	const struct set *s;
	int code;

	if (!lock_set(before->ctx, before->hex, before->name))
		return EXIT_FAILED;
	sets_load(before->ctx, &list, false);
	s = find_again(&list, before);
	code = s ? deactivate(s) : is_inactive(before);
	sets_free(&list);
	unlock_set();
	return code;
}

/* What the system runs from stays; an initramfs can take it apart when nothing runs any more. */
static bool is_system(const struct set *s)
{
	struct mounts mounts;
	bool system;

	mounts_read(&mounts);
	system = device_stands_on(mounts_device_of(&mounts, "/."), s->dm.dev) ||
		 device_stands_on(mounts_device_of(&mounts, "/usr/."), s->dm.dev);
	mounts_free(&mounts);
	if (system)
		say(s->ctx, "%s: stays active, as the system runs from it.", s->name);
	return system;
}

int cmd_deactivate(const struct args *args)
{
	struct set_list list;
	int code = check_which(args, "deactivate");
	unsigned int i;

	if (code)
		return code;
	/*
	 * From here on udev's rules do not activate these sets again, see
	 * tier-deactivate.service.
	 */
	if (!args->ctx->dry_run)
		unlink("/run/dm-tier/shutdown");
	sets_load(args->ctx, &list, false);
	for (i = 0; i < args->nr; i++)
		if (!sets_find(&list, args->word[i])) {
			sets_free(&list);
			sets_load(args->ctx, &list, true);
			break;
		}
	for (i = 0; i < args->nr; i++) {
		struct set *s = sets_need(&list, args->word[i]);

		if (!s)
			code = EXIT_FAILED;
		else
			code = worse_exit_code(code, s->active ? deactivate_alone(s) : is_inactive(s));
	}
	for (i = 0; !args->nr && i < list.nr; i++)
		if (list.set[i].active && !is_system(&list.set[i]))
			code = worse_exit_code(code, deactivate_alone(&list.set[i]));
	sets_free(&list);
	return code;
}
