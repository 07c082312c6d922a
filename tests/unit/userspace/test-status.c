// SPDX-License-Identifier: GPL-2.0-only
/* Status lines, answers of the heat message and lines of the kernel log. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dm/kmsg.h"
#include "dm/status.h"
#include "../tap.h"

static const char healthy[] =
	"8 101/1024 - 2048 700/2000 3 2 0 A 100/200 11 12 0 1 E 600/1900 13 14 7 "
	"5 6 7 8 9 4096 1 skip_zeroing 4 migration_bandwidth 65536 tier0.landing 1 "
	"heat 2 headroom 2 rw - running";

static void fields(void)
{
	struct status s;

	if (!ok(!status_parse(healthy, &s), "parses"))
		return;
	ok(s.kind == STATUS_OK, "kind");
	ok(s.metadata_block == 8 && s.metadata_used == 101 && s.metadata_total == 1024, "metadata");
	ok(!s.held, "no snapshot");
	ok(s.chunk_sectors == 2048 && s.mapped == 700 && s.chunks == 2000 && s.pinned == 3, "chunks");
	ok(s.nr_tiers == 2 && s.tier[0].id == 0 && s.tier[0].state == 'A' && s.tier[0].used == 100 &&
	   s.tier[0].places == 200 && s.tier[0].reads == 11 && s.tier[0].writes == 12 &&
	   s.tier[0].errors == 0, "tier 0");
	ok(s.tier[1].id == 1 && s.tier[1].state == 'E' && s.tier[1].errors == 7, "tier 1");
	ok(s.promotions == 5 && s.demotions == 6 && s.aborted == 7 && s.failed == 8 &&
	   s.in_flight == 9 && s.migrated == 4096, "migrations");
	ok(s.features.nr == 1 && !strcmp(s.features.s[0], "skip_zeroing"), "features");
	ok(!strcmp(status_tunable(&s, "tier0.landing"), "1"), "a target's tunable");
	ok(!strcmp(status_tunable(&s, "headroom"), "2"), "a policy's tunable");
	ok(!status_tunable(&s, "nothing"), "no tunable");
	ok(!strcmp(s.policy, "heat") && !s.read_only && !s.needs_check && !s.paused, "the end");
	status_free(&s);
}

static void other_lines(void)
{
	struct status s;

	ok(!status_parse("Fail", &s) && s.kind == STATUS_FAIL, "Fail");
	status_free(&s);
	ok(!status_parse("Error", &s) && s.kind == STATUS_ERROR, "Error");
	status_free(&s);

	ok(!status_parse("8 1/2 77 128 0/1 0 1 254 - 0/18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 static 0 "
			 "ro needs_check paused", &s), "degraded");
	ok(s.held && s.held_root == 77 && s.tier[0].id == 254 && s.tier[0].state == '-' &&
	   s.tier[0].places == UINT64_MAX && s.read_only && s.needs_check && s.paused, "its fields");
	status_free(&s);

	ok(!status_parse("8 1/2 - 128 0/1 0 1 0 A 0/1 0 0 0 0 0 0 0 0 0 0 0 static 0 rw - running and more 7",
			 &s), "a newer kernel's line");
	status_free(&s);
}

static void refused(const char *line)
{
	struct status s;

	ok(status_parse(line, &s) == -EINVAL, "refused: \"%s\"", line);
}

static void bad_lines(void)
{
	unsigned int len, whole = 0;
	struct status s;

	refused("");
	refused("Failure");
	refused("8 1/2 - 128 0/1 0 17 0 A 0/1 0 0 0");
	refused("8 1/2 - 128 0/1 0 1 0 X 0/1 0 0 0 0 0 0 0 0 0 0 0 static 0 rw - running");
	refused("8 1/2 - 128 0/1 0 1 256 A 0/1 0 0 0 0 0 0 0 0 0 0 0 static 0 rw - running");
	refused("8 12 - 128 0/1 0 1 0 A 0/1 0 0 0 0 0 0 0 0 0 0 0 static 0 rw - running");
	refused("8 1/2 x 128 0/1 0 1 0 A 0/1 0 0 0 0 0 0 0 0 0 0 0 static 0 rw - running");
	refused("8 1/2 - 128 0/1 0 1 0 A 0/1 0 0 0 0 0 0 0 0 0 0 1 k static 0 rw - running");
	refused("8 1/2 - 128 0/1 0 1 0 A 0/1 0 0 0 0 0 0 0 0 0 0 0 static 0 xx - running");
	refused("8 1/2 - 128 0/1 0 1 0 A 0/1 0 0 0 0 0 0 0 0 0 4000000000 0 static 0 rw - running");

	for (len = 0; len < sizeof(healthy) - 1; len++) {
		char *line = strndup(healthy, len);

		if (!status_parse(line, &s)) {
			whole++;
			status_free(&s);
		}
		free(line);
	}
	ok(!whole, "no beginning of a line passes for one");
}

static void heat(void)
{
	const char *line = "0 4 3 10 20 99 1 2\n4 4 0 0 0 0 0 0\n";
	struct heat_bucket b;

	ok(!heat_parse(&line, 2, &b) && b.first == 0 && b.count == 4 && b.mapped == 3 && b.reads == 10 &&
	   b.writes == 20 && b.heat == 99 && b.on_rank[0] == 1 && b.on_rank[1] == 2, "first bucket");
	ok(!heat_parse(&line, 2, &b) && b.first == 4, "second bucket");
	ok(heat_parse(&line, 2, &b) == -ENODATA, "the end");
	line = "0 4 3 10 20 99 1 2 3";
	ok(heat_parse(&line, 2, &b) == -EINVAL, "too many ranks");
	line = "0 4 3";
	ok(heat_parse(&line, 2, &b) == -EINVAL, "too few words");
}

static void check_log(const char *line, const char *want)
{
	int weight;
	char *reason = kmsg_line_reason(line, &weight);

	ok(want ? reason && !strcmp(reason, want) : !reason, "\"%.*s\" says \"%s\"", (int)strcspn(line, "\n"), line,
	   reason ? reason : "nothing");
	free(reason);
}

static void weights(void)
{
	int verdict, detail, consequence;

	free(kmsg_line_reason("device-mapper: table: 254:0: tier: too small (-EINVAL)", &verdict));
	free(kmsg_line_reason("device-mapper: tier: 8:16 has 7 sectors", &detail));
	free(kmsg_line_reason("device-mapper: table: 254:0: tier: preresume failed, error = -22",
			      &consequence));
	ok(verdict > detail && detail > consequence, "which line says it best");
}

static void logs(void)
{
	check_log("device-mapper: table: 254:0: tier: Metadata device is too small (-ENOSPC)\n",
		  "Metadata device is too small");
	check_log("device-mapper: tier: 253:0: message set: 'foo' is unknown\n", "'foo' is unknown");
	check_log("device-mapper: tier: message set: 'foo' is unknown\n", "'foo' is unknown");
	check_log("device-mapper: tier: 253:0: tier 1 (sdb) has shrunk", "tier 1 (sdb) has shrunk");
	check_log("device-mapper: tier: 253:0: message", "message");
	check_log("device-mapper: table: 254:0: thin: Foo (-EINVAL)", NULL);
	check_log("device-mapper: ioctl: error adding target to table", NULL);
	check_log("device-mapper: frontier: no", NULL);
	check_log("sd 0:0:0:0: tier: foo", NULL);
	check_log("device-mapper: tier: ", NULL);
	check_log("", NULL);
}

int main(void)
{
	fields();
	other_lines();
	bad_lines();
	heat();
	logs();
	weights();
	return tap_done();
}
