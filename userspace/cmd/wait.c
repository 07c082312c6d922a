// SPDX-License-Identifier: GPL-2.0-only
#include "base/context.h"
#include "base/size.h"
#include "base/util.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "ops/wait.h"
#include "set/find.h"
#include "set/report.h"
#include "set/set.h"
#include "set/tier.h"
#include "set/volumes.h"
#include "tools/terminal.h"
#include "view/render.h"

int cmd_wait(const struct args *args)
{
	uint64_t timeout = 0;
	unsigned int rank = 0;
	struct report *report;
	struct set_list list;
	struct set *s;
	int code = EXIT_FAILED;

	if (args->given[OPT_TIMEOUT] &&
	    (parse_number(args->value[OPT_TIMEOUT], &timeout) || !timeout || timeout > UINT32_MAX)) {
		err(args->ctx, ERR_USAGE, "wait: --timeout %s is not a number of seconds from 1 to %u.",
		    args->value[OPT_TIMEOUT], UINT32_MAX);
		return EXIT_USAGE;
	}
	s = need_active(args->ctx, &list, args->word[0]);
	if (s && (!args->given[OPT_EVACUATED] || parse_rank(s, args->value[OPT_EVACUATED], &rank))) {
		code = wait_for(s, args->given[OPT_EVACUATED] ? (int)rank : -1, timeout * 1000);
		if (terminal_of(args->ctx)->json) {
			report = reports_make(&s, 1, 0);
			reports_look_at_volumes(report, 1);
			json_add_report(report);
			reports_free(report, 1);
		}
	}
	sets_free(&list);
	return code;
}
