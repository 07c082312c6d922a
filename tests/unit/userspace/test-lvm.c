// SPDX-License-Identifier: GPL-2.0-only
/* LVM's reports, and the reason in LVM's output when a command fails. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "lvm/lvm.h"
#include "../tap.h"
#include "base/util.h"
#include "context.h"

static void reason(const char *output, const char *want)
{
	char *got = lvm_reason(output);

	ok(!strcmp(got, want), "%s", got);
	free(got);
}

/* A report with warnings: field "n" of each row, or the error. */
static void report(const char *json, const char *want)
{
	char *script = xasprintf("echo '  WARNING: not yet' >&2; cat <<'END'\n%s\nEND", json);
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct json_object *rows = lvm_report(test_context(), argv, 10000);
	struct text got = { 0 };
	uint64_t n;
	size_t i;

	if (rows)
		text_add(&got, "%s", "");
	else
		text_add(&got, "%s", terminal.line[0].text + strlen(terminal.line[0].text) - strlen(want));
	for (i = 0; rows && i < json_object_array_length(rows); i++)
		text_add(&got, "%s%s ", lvm_field(rows, i, "n"), lvm_number(rows, i, "n", &n) ? "" : "?");
	ok(!strcmp(got.s, want), "report: %s", got.s);
	text_free(&got);
	json_object_put(rows);
	terminal_free(&terminal);
	free(script);
}

/* It would end the options at the first name. */
static void posix(void)
{
	const char *const argv[] = { "printenv", "POSIXLY_CORRECT", NULL };
	char *why = NULL;

	setenv("POSIXLY_CORRECT", "1", 1);
	ok(lvm_try(test_context(), argv, &why), "LVM finds no POSIXLY_CORRECT");
	free(why);
	unsetenv("POSIXLY_CORRECT");
	terminal_free(&terminal);
}

int main(void)
{
	report("{\"report\":[{\"sh\":[{\"n\":\"12\"},{\"n\":\"a|b \\\"c\"},{\"m\":\"1\"}]}]}", "12 a|b \"c? ? ");
	/* LVM escapes no backslash, and a quote behind one all the same. */
	report("{\"report\":[{\"sh\":[{\"n\":\"/dev/my\\x20disk\"},{\"n\":\"a\\\\\"b\"}]}]}", "/dev/my\\x20disk? a\\\"b? ");
	posix();
	report("{\"report\":[{\"sh\":[]}],\"log\":[]}", "");
	report("{\"report\":[]}", "did not answer with a report.");
	report("  vg/x 12", "did not answer with a report.");
	reason("  New logical volume path exceeds maximum length of 120!\n"
	       "  Run `lvrename --help' for more information.\n", "New logical volume path exceeds maximum length of 120");
	reason("  WARNING: Couldn't find device with uuid 2jTqvy-x.\n"
	       "  WARNING: VG vg is missing PV 2jTqvy-x (last written to /dev/sdb).\n"
	       "  Cannot change VG vg while PVs are missing.\n"
	       "  See vgreduce --removemissing and vgextend --restoremissing.\n"
	       "  Cannot process volume group vg\n",
	       "Cannot change VG vg while PVs are missing; See vgreduce --removemissing and vgextend --restoremissing");
	reason("  TEST MODE: Metadata will NOT be updated and volumes will not be (de)activated.\n"
	       "  Volume group vg is exported\n", "Volume group vg is exported");
	reason("  Rounding up size to full physical extent 4.00 MiB\n"
	       "  Wiping ext4 signature on /dev/vg/x.\n"
	       "  Volume group \"vg\" has insufficient free space (1 extents): 5 required.\n",
	       "Volume group \"vg\" has insufficient free space (1 extents): 5 required");
	reason("  device-mapper: rename ioctl on  (253:5) failed: Device or resource busy\n"
	       "  Failed to rename x.\n\n  a\n  b\n",
	       "device-mapper: rename ioctl on  (253:5) failed: Device or resource busy; Failed to rename x; a");
	reason("  WARNING: nothing else\n", "WARNING: nothing else");
	reason("  \n\n", "failed");
	reason("", "failed");
	reason("no lvresize", "no lvresize");
	return tap_done();
}
