// SPDX-License-Identifier: GPL-2.0-only
#include "tools/check-run.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"
#include "format/check.h"
#include "format/labels.h"
#include "format/pd.h"
#include "format/problems.h"
#include "format/source.h"
#include "tools/tool.h"

static bool write_superblock(int fd, void *block)
{
	const char *reason;
	struct tier_meta_info info;
	struct tier_superblock *sb = block;

	if (pread(fd, block, MD_BLOCK, 0) != MD_BLOCK || tier_superblock_unpack(block, &info, &reason))
		return false;
	sb->flags &= cpu_to_le32(~TIER_SB_NEEDS_CHECK);
	tier_superblock_seal(block, TIER_SUPERBLOCK_LOCATION);
	return pwrite(fd, block, MD_BLOCK, 0) == MD_BLOCK && !fsync(fd);
}

/* Uses the descriptor of the check: nobody else can have written since. */
static bool clear_flag(const struct check_run *run, int fd, const struct tier_meta_info *info)
{
	void *block;
	bool written;

	if (tier_features_read_only(info->compat_ro_flags)) {
		err(run->ctx, ERR_UNSUPPORTED,
		    "%s: the flag needs_check stays: it has features that only allow this version to read it.",
		    run->input);
		return false;
	}
	if (posix_memalign(&block, MD_BLOCK, MD_BLOCK))
		out_of_memory();
	run->ctx->changed = true;
	written = write_superblock(fd, block);
	free(block);
	if (!written)
		err(run->ctx, ERR_IO, "%s: superblock: cannot be written.", run->input);
	return written;
}

static bool judge_labels(const struct check_run *run, const struct md_check *check,
			 struct md_problems *p)
{
	const char *seen[TIER_MAX_ID + 1] = { NULL };
	unsigned int i;

	if (!check->have_tiers) {
		err(run->ctx, ERR_DAMAGED,
		    "%s: the labels cannot be compared without the records of the tiers.", run->input);
		return false;
	}
	for (i = 0; i < run->nr_tiers; i++) {
		int fd = tool_open(run->ctx, run->tiers[i], O_RDONLY, true);
		const struct tier_meta_tier *t;

		if (fd < 0)
			return false;
		t = md_check_label(&check->info, &check->tiers, fd, run->tiers[i], p);
		if (t && seen[t->id])
			md_error(p, "%s: is tier id %u, as %s is", run->tiers[i], t->id, seen[t->id]);
		else if (t)
			seen[t->id] = run->tiers[i];
		close(fd);
	}
	return true;
}

static void take_problem(void *context, const char *text)
{
	struct check_run *run = context;
	struct tool_input input = { run->ctx, run->input };

	if (!run->first)
		run->first = xstrdup(text);
	if (!run->in_silence)
		tool_say_problem(&input, text);
}

bool check_run(struct check_run *run)
{
	struct md_check check = {
		.superblock_only = run->superblock_only,
		.skip_mappings = run->skip_mappings,
		.snapshot = run->snapshot,
	};
	struct md_problems p = {
		.say = take_problem,
		.context = run,
	};
	struct md_source src;
	bool fine = true;
	int fd;

	fd = tool_open(run->ctx, run->input, run->clear_needs_check ? O_RDWR : O_RDONLY, run->snapshot);
	if (fd >= 0 && lseek(fd, run->at, SEEK_SET) < 0)
		verbose(run->ctx, "%s: ends before its metadata", run->input);
	if (fd < 0)
		return false;
	if (md_source_init(&src, fd)) {
		err(run->ctx, ERR_IO, "%s: its size cannot be learnt.", run->input);
		close(fd);
		return false;
	}
	md_check(&check, &src, &p);
	if (run->nr_tiers && check.have_info)
		fine = judge_labels(run, &check, &p);
	if (run->was_read)
		run->was_read(run->context);
	md_problems_end(&p);
	md_source_free(&src);

	run->errors = p.errors;
	run->minor = p.minor;
	run->needs_check = check.have_info && check.info.flags & TIER_SB_NEEDS_CHECK;
	fine = fine && !p.errors && (!p.minor || run->ignore_minor);
	if (fine && run->clear_needs_check && run->needs_check) {
		fine = clear_flag(run, fd, &check.info);
		run->needs_check = !fine;
		run->cleared = fine;
	}
	close(fd);
	if (fine && !run->in_silence)
		say(run->ctx, "%s: nothing is wrong%s", run->input,
		    run->needs_check ? "; the flag needs_check is set" : "");
	return fine;
}
