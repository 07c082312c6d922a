// SPDX-License-Identifier: GPL-2.0-only
/* metrics: Prometheus' text format */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "set/find.h"
#include "set/report.h"
#include "set/set.h"
#include "set/volumes.h"
#include "tools/output.h"
#include "tools/terminal.h"
#include "view/render.h"

/*
 * Writes a new file and renames it: who reads the old name never sees half of them. The new name does not end
 * in .prom, so that node exporter leaves it alone. False with the error said.
 */
static bool write_file(struct tier_context *ctx, const char *path, const struct report *reports, unsigned int nr)
{
	bool good = false;
	struct stat st;
	char *new;
	FILE *f;
	int fd;

	if (stat(path, &st)) {
		if (!output_may_create(ctx, path))
			return false;
	} else if (!S_ISREG(st.st_mode)) {
		err(ctx, ERR_UNSUITABLE, "%s: is no regular file. Name one.", path);
		return false;
	} else if (!output_may_replace(ctx, path, &st)) {
		return false;
	}
	new = xasprintf("%s.XXXXXX", path);
	fd = mkostemp(new, O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (f) {
		print_metrics(f, reports, nr);
		good = !fflush(f) && !ferror(f) && !fchmod(fd, 0644) && !rename(new, path);
	}
	if (!good)
		err(ctx, error_from(errno), "%s: %s.", path, strerror(errno));
	if (!good && fd >= 0)
		unlink(new);
	if (f)
		fclose(f);
	free(new);
	return good;
}

int cmd_metrics(const struct args *args)
{
	struct set **chosen;
	struct report *reports;
	struct set_list list, other;
	unsigned int i, nr = 0;
	int code = EXIT_DONE;

	sets_load(args->ctx, &list, false);
	chosen = xcalloc(list.nr + args->nr, sizeof(*chosen));
	for (i = 0; i < list.nr && !args->nr; i++)
		chosen[nr++] = &list.set[i];
	for (i = 0; i < args->nr; i++) {
		chosen[nr] = sets_find(&list, args->word[i]);
		if (chosen[nr]) {
			nr++;
		} else {
			/* Says the error. */
			need_active(args->ctx, &other, args->word[i]);
			sets_free(&other);
			code = EXIT_FAILED;
		}
	}
	reports = reports_make(chosen, nr, 0);
	reports_look_at_volumes(reports, nr);
	for (i = 0; i < nr; i++) {
		report_look_at_tiers(&reports[i]);
		if (!report_ask_holds(&reports[i]))
			code = EXIT_FAILED;
	}
	if (terminal_of(args->ctx)->json) {
		for (i = 0; i < nr; i++)
			json_add_report(&reports[i]);
	} else if (!args->given[OPT_OUTPUT]) {
		print_metrics(stdout, reports, nr);
	} else if (!write_file(args->ctx, args->value[OPT_OUTPUT], reports, nr)) {
		code = EXIT_FAILED;
	}
	reports_free(reports, nr);
	free(chosen);
	sets_free(&list);
	return code;
}
