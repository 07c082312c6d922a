// SPDX-License-Identifier: GPL-2.0-only
/* check, dump, restore, repair */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/step.h"
#include "base/util.h"
#include "block/device.h"
#include "block/signature.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "dm/dm.h"
#include "dm/status.h"
#include "format/content.h"
#include "ops/relabel.h"
#include "set/candidate.h"
#include "set/lock.h"
#include "set/member.h"
#include "set/message.h"
#include "set/mirror.h"
#include "set/owner.h"
#include "set/set.h"
#include "tools/check-run.h"
#include "tools/dump-run.h"
#include "tools/output.h"
#include "tools/terminal.h"
#include "tools/tool.h"
#include "view/render.h"

/* The metadata of a command: that of a set, or on a device or in a file. */
struct target {
	struct set_list list;
	struct set *set;		/* NULL: only path counts */
	struct device dev;		/* the named device, if it is one */
	const char *path;
	uint64_t at;			/* byte of it where the metadata begins */
	int lock;			/* no other process reserves a metadata snapshot; -1 */
	bool reserved;			/* we have a snapshot and must release it */
	bool left;			/* the snapshot could not be released */
	sigset_t before;		/* if reserved */
};

/* The set with this metadata device; *member: the device belongs to a set, at least. */
static struct set *set_of(struct target *t, dev_t dev, bool *member)
{
	const struct set *owner = NULL;
	char *role = sets_role(&t->list, dev, &owner);

	*member = role;
	free(role);
	return owner && owner->have_meta && owner->meta_dev.dev == dev ? (struct set *)owner : NULL;
}

static bool is_file(const char *name)
{
	struct stat st;

	return !stat(name, &st) && S_ISREG(st.st_mode);
}

/* Messages use the name that users know, if it can be opened. */
static void call_by_name(struct device *d)
{
	char *path = xasprintf("%s%s", *d->name == '/' ? "" : "/dev/", d->name);
	struct stat st;

	if (!stat(path, &st) && S_ISBLK(st.st_mode) && st.st_rdev == d->dev) {
		free(d->path);
		d->path = path;
	} else {
		free(path);
	}
}

/* False with the error said. */
static bool find_target(struct tier_context *ctx, struct target *t, const char *name)
{
	bool is_device, by_name, member = false;
	struct device *dev;
	char *reason;

	memset(t, 0, sizeof(*t));
	t->list.ctx = ctx;
	t->lock = -1;
	if (!dm_ask(&reason)) {
		sets_load(ctx, &t->list, true);
	} else {
		/*
		 * A file is read without device-mapper; a file of a loop device is refused
		 * anyway.
		 */
		if (!is_file(name))
			err(ctx, ERR_KERNEL_REFUSED, "%s: %s.", name, reason);
		free(reason);
		if (!is_file(name))
			return false;
	}
	is_device = !device_from_name(name, &t->dev);
	t->set = sets_find(&t->list, name);
	by_name = t->set;
	if (!t->set && is_device)
		t->set = set_of(t, t->dev.dev, &member);
	else if (t->set && !sets_need(&t->list, name))
		return false;
	if (t->set)
		context_set(ctx, t->set->hex, t->set->name);
	dev = t->set ? (struct device *)set_metadata(t->set, &t->at) : is_device ? &t->dev : NULL;
	if (t->set && !dev) {
		err(ctx, ERR_DEGRADED, "%s: its metadata device is missing.", t->set->name);
		return false;
	}
	if (by_name && t->set->meta_doubled && !t->set->active) {
		err(ctx, ERR_AMBIGUOUS, "%s: %s. Which of them? Name the device.", t->set->name,
		    t->set->problem);
		return false;
	}
	if (dev)
		call_by_name(dev);
	t->path = dev ? dev->path : name;
	if (t->set || (is_device && !member) || (!is_device && !access(name, F_OK)))
		return true;
	/* Says that the device is a tier, or no member at all. */
	return sets_need(&t->list, name);
}

/* A snapshot of the user's, or of a call that was killed: it is used, and kept. */
static void warn_of_held(const struct set *s)
{
	struct tier_superblock *sb = block_buffer(TIER_METADATA_BLOCK_SIZE);
	u64 at = s->status.held_root;
	const char *reason;
	int fd = device_open(&s->meta_dev, O_RDONLY);

	/* The caller reports a read error. */
	if (fd >= 0 && !read_blocks(fd, at * TIER_METADATA_BLOCK_SIZE, sb, TIER_METADATA_BLOCK_SIZE) &&
	    !tier_superblock_verify(sb, at, &reason))
		warn(s->ctx,
		     "%s: a metadata snapshot was there already, so this is the set as it was then, in transaction %llu. To have it as it is: dmsetup message %s 0 release_metadata_snap",
		     s->name, (unsigned long long)le64_to_cpu(sb->trans_id), s->dm_name);
	if (fd >= 0)
		close(fd);
	free(sb);
}

/*
 * Reserves the metadata snapshot through which an active set is read. old: an older snapshot is
 * good enough. Otherwise an outdated dump could be restored one day.
 */
static bool reserve(struct target *t, bool old)
{
	if (!t->set || !t->set->active)
		return true;
	/* Another call's snapshot is released when that call ends. */
	t->lock = set_lock(t->set->hex, LOCK_SNAPSHOT, true);
	if (t->lock < 0) {
		err(t->list.ctx, error_from(errno),
		    "%s: no lock can be had in /run/dm-tier: %s. To read it without: tierctl deactivate %s",
		    t->set->name, strerror(errno), t->set->name);
		return false;
	}
	if (!t->set->have_table || set_refresh(t->set) || t->set->status.kind != STATUS_OK) {
		err(t->list.ctx, ERR_FAILED, "%s: its status cannot be queried; deactivate it first.",
		    t->set->name);
		return false;
	}
	if (t->set->status.held && !old) {
		err(t->list.ctx, ERR_BUSY,
		    "%s: a metadata snapshot is held already, and shows the set as it was then. Release it: dmsetup message %s 0 release_metadata_snap; or repeat with --force, to have that.",
		    t->set->name, t->set->dm_name);
		return false;
	}
	if (t->set->status.held) {
		warn_of_held(t->set);
		return true;
	}
	/* A signal now would leave the snapshot behind. */
	hold_signals(&t->before);
	t->reserved = !send_message(t->set, "reserve_metadata_snap");
	if (!t->reserved)
		release_signals(&t->before);
	step_reached("snapshot", "reserved");
	return t->reserved;
}

/* Called before anything is written, as output may block for ever. */
static void release(void *context)
{
	struct target *t = context;

	if (t->reserved) {
		t->left = send_message(t->set, "release_metadata_snap");
		release_signals(&t->before);
		if (t->left)
			err(t->list.ctx, ERR_UNFINISHED,
			    "%s: holds the metadata snapshot still. Release it: dmsetup message %s 0 release_metadata_snap",
			    t->set->name, t->set->dm_name);
	}
	t->reserved = false;
	if (t->lock >= 0)
		close(t->lock);
	t->lock = -1;
}

static void free_target(struct target *t)
{
	release(t);
	device_free(&t->dev);
	sets_free(&t->list);
}

/* Paths of the tiers that are there, in order of rank. */
static unsigned int tier_paths(struct set *s, const char *paths[TIER_MAX_TIERS])
{
	unsigned int i, nr = 0;

	for (i = 0; s && i < s->nr_tiers; i++) {
		if (!s->tier[i].present || !s->tier[i].dev.path)
			continue;
		call_by_name(&s->tier[i].dev);
		paths[nr++] = s->tier[i].dev.path;
	}
	return nr;
}

/*
 * The metadata can be checked even if it cannot be written, in a file on a read-only mount for
 * example.
 */
static bool may_write(const char *path)
{
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno != EROFS && errno != EACCES && errno != EPERM;
	close(fd);
	return true;
}

static int run_check(struct target *t)
{
	const char *paths[TIER_MAX_TIERS];
	struct check_run run = {
		.ctx = t->list.ctx,
		.input = t->path,
		.at = t->at,
		.clear_needs_check = true,
		.tiers = paths,
		.was_read = release,
		.context = t,
	};
	bool live = t->set && t->set->active, fine;

	/* A leg is not written without the other. */
	if (t->list.ctx->dry_run || live || t->at || !may_write(t->path))
		run.clear_needs_check = false;
	run.snapshot = live;
	if (!live)
		run.nr_tiers = tier_paths(t->set, paths);
	fine = check_run(&run);
	if (terminal_of(t->list.ctx)->json)
		json_add_check(t->set ? t->set->name : t->path, &run, fine);
	if (fine && run.cleared)
		say(t->list.ctx, "%s: the flag needs_check was set, and is cleared now", t->path);
	free(run.first);
	if (fine)
		return t->left ? EXIT_FAILED : EXIT_DONE;
	return run.errors || run.minor ? EXIT_ATTENTION : EXIT_FAILED;
}

int cmd_check(const struct args *args)
{
	struct target t;
	int code = EXIT_FAILED;

	if (find_target(args->ctx, &t, args->word[0]) && reserve(&t, true)) {
		if (args->ctx->dry_run && t.reserved) {
			say(args->ctx, "Would check what that shows");
			code = EXIT_DONE;
		} else {
			code = run_check(&t);
		}
	}
	free_target(&t);
	return code;
}

/* run has the output, and its form. */
static bool dump_target(struct dump_run *run, const char *name)
{
	struct tier_context *ctx = run->ctx;
	struct target t;
	bool good = false;

	if (find_target(ctx, &t, name) && reserve(&t, ctx->force)) {
		run->input = t.path;
		run->at = t.at;
		run->snapshot = t.set && t.set->active;
		run->was_read = release;
		run->context = &t;
		good = dump_run(run) && !t.left;
	}
	free_target(&t);
	return good;
}

bool dump_metadata(struct tier_context *ctx, const char *name, const char *output, struct tier_meta_info *info)
{
	struct dump_run run = { .ctx = ctx, .output = output, .info = info };

	return dump_target(&run, name);
}

int cmd_dump(const struct args *args)
{
	struct dump_run run = { .ctx = args->ctx, .output = args->value[OPT_OUTPUT] };
	const char *format = args->given[OPT_FORMAT] ? args->value[OPT_FORMAT] : args->given[OPT_JSON] ? "json" : "xml";

	if (strcmp(format, "xml") && strcmp(format, "json")) {
		err(args->ctx, ERR_USAGE, "dump: no format %s: xml, json.", format);
		return EXIT_USAGE;
	}
	run.json = !strcmp(format, "json");
	if (args->given[OPT_JSON] && !run.json) {
		err(args->ctx, ERR_USAGE, "dump: --json and --format xml: one of the two. Try: tierctl dump --help");
		return EXIT_USAGE;
	}
	return dump_target(&run, args->word[0]) ? EXIT_DONE : EXIT_FAILED;
}

/*
 * The part of a set that would be lost with the device by mistake: a tier, metadata of another
 * set than own (32 hex digits or ""), or damaged metadata. NULL for none; the caller frees.
 */
static char *part_of_set(const struct member *m, const char *own)
{
	char hex[UUID_HEX];

	if (m->kind == MEMBER_TIER || m->kind == MEMBER_DAMAGED ||
	    (m->kind == MEMBER_METADATA && strcmp(uuid_to_hex(hex, m->meta.uuid), own)))
		return candidate_describe(m);
	return NULL;
}

/* The metadata to write: its set, 32 hex digits or "", and its age. */
struct origin {
	const char *name;
	char hex[UUID_HEX];
	struct tier_meta_info info;	/* generation and transaction */
};

/* The part of a set in words, with the age of metadata of that set (own); the caller frees. */
static char *of_set(const struct member *m, const char *own)
{
	char *text = part_of_set(m, own), *age;

	if (!text && m->kind == MEMBER_METADATA) {
		age = metadata_age(&m->meta);
		text = xasprintf("metadata of that set, %s", age);
		free(age);
	}
	return text;
}

static bool ask_of_file(struct tier_context *ctx, const char *path, const struct origin *from)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct member m = { 0 };
	char *carries = NULL;
	bool may;

	if (fd < 0) {
		err(ctx, error_from(errno), "%s: %s.", path, strerror(errno));
		return false;
	}
	may = output_may_overwrite(ctx, fd, path);
	if (may && !ctx->dry_run) {
		member_judge(fd, &m);
		carries = of_set(&m, from->hex);
		if (carries)
			make_printable(carries);
		may = ask(ctx, "Overwrite the file %s%s%s%s?", path, carries ? " (" : "",
			  carries ? carries : "", carries ? ")" : "");
	}
	free(carries);
	close(fd);
	return may;
}

/* Whether a file may be overwritten, or made. */
static bool may_overwrite_file(struct tier_context *ctx, const char *path, const struct origin *from)
{
	struct stat st;

	if (stat(path, &st))
		return output_may_create(ctx, path);
	if (S_ISBLK(st.st_mode)) {
		err(ctx, ERR_USAGE, "%s: is a block device. Its path begins with / or ./", path);
		return false;
	}
	if (!output_is_free(ctx, path, &st))
		return false;
	return !S_ISREG(st.st_mode) || !st.st_size || ask_of_file(ctx, path, from);
}

/* In words, NULL for nothing; the caller frees. */
static char *contents(const struct device *d, const struct member *m, const char *own, int *error)
{
	char *text = of_set(m, own);

	*error = 0;
	return text ? text : signatures_find(d->path, error);
}

/* While the question waited for its answer, the name may have been given to another device. */
static bool unchanged(struct tier_context *ctx, const char *path, const struct device *then,
		      const char *own, const char *carried)
{
	struct candidate c = { .typed = path, .dev = *then };
	char *carries;
	struct member m;
	bool same;
	int error;

	step_reached("overwrite", "agreed");
	if (!candidate_same(ctx, &c))
		return false;
	member_read(then, &m);
	carries = contents(then, &m, own, &error);
	member_free(&m);
	same = !error && !strcmp(carries ?: "", carried ?: "");
	if (!same)
		err(ctx, ERR_CHANGED, "%s: is not what it was any more, and stays as it is. Try again.",
		    then->name);
	free(carries);
	return same;
}

/*
 * Whether the device, named path in messages, may be overwritten: asks if it carries something.
 * If not, an error was said.
 */
static bool may_overwrite(struct tier_context *ctx, const struct device *d, const char *path,
			  const struct origin *from)
{
	char *usage, *carries, *age, hex[UUID_HEX];
	struct member m;
	bool may = true, blank, same, newer;
	const char *advice;
	int error = 0;

	usage = device_usage(d);
	if (usage) {
		err(ctx, ERR_IN_USE, "%s: is %s. Free it first.", d->name, usage);
		free(usage);
		return false;
	}
	member_read(d, &m);
	blank = m.kind == MEMBER_NONE && m.blank;
	carries = contents(d, &m, from->hex, &error);
	same = m.kind == MEMBER_METADATA && !strcmp(uuid_to_hex(hex, m.meta.uuid), from->hex);
	advice = m.kind == MEMBER_TIER || m.kind == MEMBER_METADATA ? "tierctl destroy that set" :
		 m.kind != MEMBER_DAMAGED ? "wipefs -a it" :
		 m.is_label ? "tierctl destroy it" :
		 m.is_whole ? "a newer version of this tool may know it" : "tierctl repair may read it still";
	newer = same && metadata_compare(&m.meta, &from->info) > 0;
	member_free(&m);
	if (error) {
		err(ctx, ERR_IO, "%s: cannot be read.", d->name);
		may = false;
	} else if (newer && !ctx->force) {
		age = metadata_age(&from->info);
		err(ctx, ERR_NEEDS_FORCE,
		    "%s: carries %s, which is newer than %s (%s). To lose it, repeat with --force.",
		    d->name, carries, from->name, age);
		free(age);
		may = false;
	} else if (carries && !same && !ctx->force) {
		err(ctx, ERR_NEEDS_FORCE,
		    "%s: carries %s. It would be lost: %s, or repeat with --force.", d->name, carries,
		    advice);
		may = false;
	} else if (!ctx->dry_run && (carries || !blank)) {
		may = ask(ctx, "Overwrite %s%s%s%s?", d->name, carries ? " (" : "", carries ? carries : "",
			  carries ? ")" : "") && unchanged(ctx, path, d, from->hex, carries);
	}
	free(carries);
	return may;
}

/*
 * False with the error said if the set has metadata already: with two metadata devices nobody
 * knows which is right, and the set cannot be activated.
 */
static bool may_write_over(const struct set *s)
{
	return s->ctx->force || owner_not_elsewhere(s, "To restore it all the same, repeat with --force.");
}

static bool may_restore(struct tier_context *ctx, const struct origin *from, const struct device *d)
{
	struct set_list list;
	const struct set *s;
	bool may = false;
	int r = sets_load(ctx, &list, true);

	s = sets_find(&list, from->hex);
	if (r)
		may = false;	/* the error was said */
	else if (s && s->active)
		err(ctx, ERR_ACTIVE,
		    "%s: is active, and knows better than any dump. Type: tierctl deactivate %s",
		    s->name, s->name);
	else if (s && !may_write_over(s))
		may = false;	/* the same */
	else if (s && !s->have_meta && s->mirror.nr && !ctx->force && !mirror_is_device(d->dev))
		err(ctx, ERR_NEEDS_FORCE,
		    "%s: its metadata lies on its tiers; with that and %s it cannot be activated. Restore to %s, or repeat with --force.",
		    s->name, d->name, s->name);
	else if (s && s->have_meta && s->meta_dev.dev != d->dev && !ctx->force)
		err(ctx, ERR_NEEDS_FORCE,
		    "%s: its metadata is on %s; with two of them it cannot be activated. Restore to %s, or repeat with --force and take that one away.",
		    s->name, s->meta_dev.name, s->meta_dev.name);
	else
		may = true;
	sets_free(&list);
	return may;
}

/* The metadata on the tiers of an inactive set, to be written. */
struct on_tiers {
	char hex[UUID_HEX];
	char *name;		/* NULL: the output is no such set */
	char *path;
	int lock;
};

/* False with the error said. */
static bool bring_metadata(struct tier_context *ctx, const char *name, struct on_tiers *t)
{
	struct set_list list;
	const struct set *s;
	bool good = true;
	char *reason;

	memset(t, 0, sizeof(*t));
	t->lock = -1;
	/* A new file; or device-mapper is not there, and then no set can be meant. */
	if (strchr(name, '/') || !access(name, F_OK))
		return true;
	if (dm_ask(&reason)) {
		free(reason);
		return true;
	}
	sets_load(ctx, &list, true);
	s = sets_find(&list, name);
	if (s && !s->active && s->mirror.nr) {
		copy_string(t->hex, sizeof(t->hex), s->hex);
		t->name = xstrdup(s->name);
		t->path = mirror_device_path(s->hex);
		t->lock = set_lock(s->hex, LOCK_DEVICE, true);
		if (!may_write_over(s)) {
			sets_free(&list);
			return false;
		}
		/* With --force to those legs that are there: what they have is lost anyway. */
		good = ((ctx->force && mirror_legs(&s->mirror) && !s->mirror.split && !s->mirror.doubled) ||
			mirror_may_assemble(ctx, s->name, &s->mirror, false)) &&
		       (ctx->dry_run || !mirror_assemble(ctx, s->hex, s->name, &s->mirror, ctx->force, false));
	}
	sets_free(&list);
	return good;
}

static int put_back_metadata(struct tier_context *ctx, struct on_tiers *t, int code)
{
	if (t->name && !ctx->dry_run && mirror_release(ctx, t->hex, t->name))
		code = EXIT_FAILED;
	if (t->lock >= 0)
		close(t->lock);
	free(t->name);
	free(t->path);
	return code;
}

static int restore(const struct args *args, const char *input, const char *output, const struct on_tiers *t)
{
	struct origin from = { .name = input };
	struct md_content content;
	struct device d;
	bool is_device = !device_from_name(output, &d), may;
	const char *path = is_device ? d.path : output;
	int code = EXIT_FAILED;

	if (restore_read(args->ctx, input, path, &content)) {
		uuid_to_hex(from.hex, content.info.uuid);
		from.info = content.info;
		context_set(args->ctx, from.hex, content.info.name);
		/* Who had the set when it was dumped does not use what is restored now. */
		if (is_device) {
			content.info.compat_flags &= ~TIER_COMPAT_OWNER;
			memset(&content.info.owner, 0, sizeof(content.info.owner));
		}
		if (t->name && strcmp(t->hex, from.hex)) {
			err(args->ctx, ERR_UNSUITABLE, "%s: is a dump of another set than %s.", input, t->name);
			may = false;
		} else if (t->name && args->ctx->dry_run) {
			may = true;
		} else {
			/* A file does not prevent an activation. */
			may = is_device ? may_restore(args->ctx, &from, &d) && may_overwrite(args->ctx, &d, output, &from) :
			      may_overwrite_file(args->ctx, output, &from);
		}
		if (may && args->ctx->dry_run)
			say(args->ctx, "Would restore %s to %s.", input, output);
		if (may && (args->ctx->dry_run || output_metadata(args->ctx, path, input, &content)))
			code = EXIT_DONE;
		if (!args->ctx->dry_run && code == EXIT_DONE)
			say(args->ctx, "%s: restored.", output);
		md_content_free(&content);
	}
	if (is_device)
		device_free(&d);
	return code;
}

int cmd_restore(const struct args *args)
{
	struct on_tiers t;
	int code = EXIT_FAILED;

	if (bring_metadata(args->ctx, args->word[1], &t))
		code = restore(args, args->word[0], t.path && !args->ctx->dry_run ? t.path : args->word[1], &t);
	return put_back_metadata(args->ctx, &t, code);
}

/* Volumes may be named as VG/LV. */
static unsigned int named_tiers(const struct args *args, struct device d[TIER_MAX_TIERS],
				const char *paths[TIER_MAX_TIERS])
{
	unsigned int i, nr = args->nr - 2;

	for (i = 0; i < nr; i++)
		paths[i] = device_from_name(args->word[2 + i], &d[i]) ? args->word[2 + i] : d[i].path;
	return nr;
}

/* Meanwhile the output's name may have been given to another device. */
static bool may_lose(const struct repair_run *run, unsigned long long chunks)
{
	const struct candidate *output = run->context;

	return ask(run->ctx, "%s: give up %llu chunks on tiers that are not named?", run->input, chunks) &&
	       (!output || candidate_same(run->ctx, output));
}

int cmd_repair(const struct args *args)
{
	const char *paths[TIER_MAX_TIERS], *output = args->word[1];
	struct device named[TIER_MAX_TIERS] = { 0 };
	struct candidate device = { .typed = output };
	struct repair_run run = {
		.ctx = args->ctx,
		.tiers = paths,
		.lose_tiers = args->ctx->force,
		.may_lose = may_lose,
	};
	struct origin from = { 0 };
	bool is_device = false;
	struct device d;
	const char *wrong = tool_tiers_wrong(args->nr - 2, args->given[OPT_TIERS]);
	struct target t;
	unsigned int i;
	int code = EXIT_FAILED;

	if (args->given[OPT_LABEL] && args->nr != 2)
		wrong = "with --label RANK goes DEV SET, nothing else";
	if (!wrong && args->given[OPT_LABEL])
		return relabel(args->ctx, args->value[OPT_LABEL], args->word[0], args->word[1]);
	if (wrong) {
		err(args->ctx, ERR_USAGE, "repair: %s. Try: tierctl repair --help", wrong);
		return EXIT_USAGE;
	}
	if (find_target(args->ctx, &t, args->word[0])) {
		run.input = from.name = t.path;
		run.at = t.at;
		if (t.set) {
			copy_string(from.hex, sizeof(from.hex), t.set->hex);
			if (t.set->have_info)
				from.info = t.set->info;
		}
		is_device = !device_from_name(output, &d);
		if (t.set && t.set->active)
			err(args->ctx, ERR_ACTIVE, "%s: is active. Type: tierctl deactivate %s",
			    t.set->name, t.set->name);
		else if (is_device ? may_overwrite(args->ctx, &d, output, &from) : may_overwrite_file(args->ctx, output, &from))
			code = EXIT_DONE;
	}
	if (code == EXIT_DONE) {
		if (is_device)
			call_by_name(&d);
		run.output = is_device ? d.path : output;
		device.dev = d;
		run.context = is_device ? &device : NULL;
		/* Without records the order of the tiers is unknown. */
		run.nr_tiers = named_tiers(args, named, paths);
		if (!run.nr_tiers && t.set && !set_missing(t.set))
			run.nr_tiers = tier_paths(t.set, paths);
		if (args->ctx->dry_run)
			say(args->ctx, "Would repair %s to %s.", t.path, output);
		else if (!repair_run(&run))
			code = EXIT_FAILED;
		else if (is_device && t.set && t.at)
			say(args->ctx,
			    "%s: its metadata lies on its tiers. To have that of %s there: tierctl dump %s -o FILE, wipe it: wipefs -a %s, and: tierctl restore -f FILE %s",
			    t.set->name, run.output, run.output, run.output, t.set->name);
		else if (is_device && t.set)
			say(args->ctx,
			    "%s: %s holds metadata of it, too: with both it cannot be activated. Take that away, or, when a copy is kept (dd if=%s of=FILE bs=1M), wipe it: dd if=/dev/zero of=%s bs=4k count=1 oflag=direct",
			    t.set->name, t.path, t.path, t.path);
	}
	for (i = 0; i < TIER_MAX_TIERS; i++)
		device_free(&named[i]);
	if (is_device)
		device_free(&d);
	free_target(&t);
	return code;
}
