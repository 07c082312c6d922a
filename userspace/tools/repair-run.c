// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"
#include "format/check.h"
#include "format/content.h"
#include "format/labels.h"
#include "format/problems.h"
#include "format/repair.h"
#include "format/source.h"
#include "tools/dump-run.h"
#include "tools/output.h"
#include "tools/tool.h"

static bool read_labels(const struct repair_run *run, struct md_label_source *labels)
{
	const char *reason = NULL;
	unsigned int i;

	for (i = 0; i < run->nr_tiers; i++) {
		int fd;

		if (output_is(run->output, run->tiers[i])) {
			err(run->ctx, ERR_UNSUITABLE,
			    "%s: is one of the tiers. Name another device or file.", run->output);
			return false;
		}
		fd = tool_open(run->ctx, run->tiers[i], O_RDONLY, true);
		if (fd < 0)
			return false;
		labels[i].name = run->tiers[i];
		if (md_read_label(fd, &labels[i].label, &reason)) {
			err(run->ctx, ERR_UNSUITABLE,
			    "%s: %s. Repair the metadata without it, which works unless the records of tiers are lost; then, if it is a tier: tierctl repair --label RANK %s SET",
			    run->tiers[i], reason, run->tiers[i]);
			close(fd);
			return false;
		}
		close(fd);
	}
	return true;
}

/* Checks the result like any other metadata. */
static bool check_output(struct tier_context *ctx, const char *output)
{
	struct tool_input input = { ctx, output };
	struct md_problems p = { .say = tool_say_problem, .context = &input };
	struct md_check check = { 0 };
	struct md_source src;

	if (!tool_open_source(ctx, output, 0, false, &src))
		return false;
	md_check(&check, &src, &p);
	md_problems_end(&p);
	tool_close_source(&src);
	return !p.errors && !p.minor;
}

static void say_loss(void *context, const char *text)
{
	const struct repair_run *run = context;

	say(run->ctx, "%s: %s", run->input, text);
}

bool repair_run(const struct repair_run *run)
{
	struct md_problems p = { .say = say_loss, .context = (void *)run };
	struct md_label_source labels[TIER_MAX_TIERS] = { 0 };
	struct md_source src;
	struct md_repair repair = {
		.src = &src, .p = &p, .nr_labels = run->nr_tiers, .labels = labels,
		.lose_tiers = run->lose_tiers,
	};
	bool good;

	if (run->nr_tiers > TIER_MAX_TIERS) {
		err(run->ctx, ERR_USAGE, "%u tiers: a set has %u at most.", run->nr_tiers, TIER_MAX_TIERS);
		return false;
	}
	if (!read_labels(run, labels) || !tool_open_source(run->ctx, run->input, run->at, false, &src))
		return false;
	good = md_repair(&repair);
	md_problems_end(&p);
	tool_close_source(&src);
	if (!good)
		err(run->ctx, ERR_DAMAGED, "%s: %s.", run->input, repair.refusal);
	else if (run->may_lose && repair.given_up)
		good = run->may_lose(run, repair.given_up);
	if (good)
		good = output_metadata(run->ctx, run->output, run->input, &repair.content) &&
		       check_output(run->ctx, run->output);
	if (good)
		say(run->ctx, "%s: repaired; %s", run->output,
		    p.errors ? "what is named above is lost" : "nothing was lost");
	free(repair.refusal);
	md_content_free(&repair.content);
	return good;
}
