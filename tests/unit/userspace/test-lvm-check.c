// SPDX-License-Identifier: GPL-2.0-only
/* Refusals before a commit point, by LVM's reports on its groups and lvm.conf. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "lvm/lvm-check.h"
#include "../tap.h"
#include "base/util.h"
#include "context.h"

/* LVM's answers: on the groups a and b, by lvmconfig, on the system ID, and to --test. */
static const char *group_a, *config, *system_id, *test;
static const char group_b[] = "  b|y||||-wi-a-----|wz--n-|||0|1|520192\n";

int __wrap_lvm_run(struct tier_context *ctx, const char *const *argv, char **output);
int __wrap_lvm_run(struct tier_context *ctx, const char *const *argv, char **output)
{
	(void)ctx;
	*output = xstrdup(!strcmp(argv[0], "lvmconfig") ? config : system_id);
	return 0;
}

struct json_object *__wrap_lvm_report(struct tier_context *ctx, const char *const *argv, int ms);
struct json_object *__wrap_lvm_report(struct tier_context *ctx, const char *const *argv, int ms)
{
	struct json_object *rows = json_object_new_array(), *row;
	char *text, *line, *field, *name, *names, *name_save, *save;
	unsigned int i;

	(void)ctx;
	(void)ms;
	for (i = 0; argv[i + 1]; i++)
		;
	text = xstrdup(strcmp(argv[i], "b") ? group_a : group_b);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		row = json_object_new_object();
		names = xstrdup(argv[i - 1]);
		for (name = strtok_r(names, ",", &name_save); name; name = strtok_r(NULL, ",", &name_save)) {
			field = strsep(&line, "|");
			json_object_object_add(row, name, json_object_new_string(field + strspn(field, " ")));
		}
		json_object_array_add(rows, row);
		free(names);
	}
	free(text);
	return rows;
}

bool __wrap_lvm_installed(void);
bool __wrap_lvm_installed(void)
{
	return true;
}

/* Of all groups */
struct json_object *__wrap_lvm_report_quietly(struct tier_context *ctx, const char *const *argv, int ms);
struct json_object *__wrap_lvm_report_quietly(struct tier_context *ctx, const char *const *argv, int ms)
{
	const char *const all[] = { argv[5], "a", NULL };

	return __wrap_lvm_report(ctx, all, ms);
}

int __wrap_lvm_try(struct tier_context *ctx, const char *const *argv, char **why);
int __wrap_lvm_try(struct tier_context *ctx, const char *const *argv, char **why)
{
	(void)ctx;
	if (!test || strcmp(argv[0], test))
		return 0;
	*why = xstrdup("the reason");
	return -1;
}

static const struct lvm_steps blank = { .set = "a/data" };

static void usual(struct lvm_steps *s)
{
	group_a = "  a|data|||-wi-a-----|wz--n-|||0|2|520192\n"
		  "  a|m|||rwi-a-r---|wz--n-|||0|2|520192\n"
		  "  a|[m_rimage_0]|m||iwi-aor---|wz--n-|||0|2|520192\n"
		  "  a|[m_rmeta_0]|[m]||ewi-aor---|wz--n-|||0|2|520192\n";
	config = "";
	test = NULL;
	*s = blank;
	s->ctx = test_context();
}

/* want is a part of the one error; NULL: no error is expected. */
static void outcome(const char *name, struct lvm_steps *s, const char *want)
{
	bool possible = lvm_steps_possible(s);
	const char *said = terminal.nr_lines ? terminal.line[terminal.nr_lines - 1].text : "";

	ok(want ? !possible && terminal.nr_lines == 1 && strstr(said, want) : possible && !terminal.nr_lines, "%s: %s", name, said);
	ok(!s->nr && !s->step, "the steps are freed");
	terminal_free(&terminal);
}

/* want is a part of the answer; NULL: none is expected. */
static void foreign(const char *name, const char *id, const char *settings, const char *group, const char *want)
{
	struct strings groups = { 0 };
	char *text;

	group_a = "  a|\n  b|mine\n  c|theirs\n";
	system_id = id;
	config = settings;
	if (group)
		strings_add(&groups, group);
	text = lvm_foreign_group(test_context(), group ? &groups : NULL);
	ok(want ? text && strstr(text, want) : !text, "%s: %s", name, text ? text : "none");
	free(text);
	strings_free(&groups);
	terminal_free(&terminal);
}

static char *letters(unsigned int n, char c)
{
	char *s = xcalloc(n + 1, 1);

	memset(s, c, n);
	return s;
}

/* The longest allowed name, and one longer by one. */
static void length(const char *what, const char *vg, const char *lv, unsigned int most, char c)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct lvm_steps s;
		char *name = letters(most + i, c);

		usual(&s);
		lvm_steps_rename(&s, vg, lv, name);
		outcome(what, &s, i ? "1 characters too long" : NULL);
		free(name);
	}
}

static void words(const char *what, const char *setting, bool back, const char *want)
{
	struct lvm_steps s;

	usual(&s);
	config = setting;
	s.back = back;
	lvm_steps_rename(&s, "a", "data", "data_torig");
	outcome(what, &s, want);
}

int main(void)
{
	struct lvm_steps s;

	usual(&s);
	outcome("no step", &s, NULL);
	length("a volume", "a", "data", 123, 'x');
	length("a mirror", "a", "m", 104, 'x');
	length("hyphens", "a", "data", 62, '-');

	usual(&s);
	lvm_steps_rename(&s, "a", "data", "m");
	outcome("a name that is taken", &s, "a/m: exists");
	usual(&s);
	lvm_steps_rename(&s, "b", "y", "m");
	outcome("in another group", &s, NULL);
	usual(&s);
	s.back = true;
	lvm_steps_rename(&s, "a", "data", "m");
	outcome("on the way back", &s, "lvrename a m OTHER");
	usual(&s);
	lvm_steps_rename(&s, "a", "m", "n");
	lvm_steps_rename(&s, "a", "data", "m");
	outcome("one that makes way", &s, NULL);

	usual(&s);
	group_a = "  a|data|||-wi-a-----|wz--n-|||2|1|520192\n";
	lvm_steps_placeholder(&s, "a", "data", "data_torig");
	outcome("room for one more", &s, NULL);
	usual(&s);
	group_a = "  a|data|||-wi-a-----|wz--n-|||2|1|520192\n";
	lvm_steps_placeholder(&s, "a", "data", "data_torig");
	lvm_steps_make(&s, "a", "x", false);
	outcome("for two", &s, "vgchange -l 3 a");
	usual(&s);
	group_a = "  a|data|||-wi-a-----|wz--n-|||0|1|512\n";
	lvm_steps_placeholder(&s, "a", "data", "data_torig");
	outcome("no room for LVM's metadata", &s, "512 bytes left");

	usual(&s);
	group_a = "  a|data|||-wi-a-----|rz--n-|||0|1|520192\n";
	lvm_steps_change(&s, "a", "data");
	outcome("a read-only group", &s, "read-only");
	usual(&s);
	group_a = "  a|data|||-wi-a-----|wzx-n-|||0|1|520192\n";
	lvm_steps_change(&s, "a", "data");
	outcome("exported", &s, "vgimport");
	usual(&s);
	group_a = "  a|data|||-wi-a-----|wz-pn-|||0|1|520192\n";
	lvm_steps_change(&s, "a", "data");
	outcome("incomplete", &s, "missing");
	usual(&s);
	group_a = "  a|data|||-wi-a-----|wz--ns|||0|1|520192\n";
	lvm_steps_change(&s, "b", "y");
	lvm_steps_change(&s, "a", "data");
	outcome("shared, the second", &s, "a/data: its volume group is shared");

	usual(&s);
	group_a = "  a|data|||owi---s--k|wz--n-|||0|2|520192\n  a|snap||data|swi---s---|wz--n-|||0|2|520192\n";
	lvm_steps_remove(&s, "a", "data");
	outcome("a snapshot", &s, "lvremove a/snap");

	words("another setting", "activation {\n\tvolume_list_of_others=[\"b\"]\n}\n", false, NULL);
	words("the group", "activation {\n\tvolume_list=[\"b\",\"a\"]\n}\n", false, NULL);
	words("the old name", "activation {\n\tvolume_list=[\"a/data\"]\n}\n", false, "volume_list in lvm.conf");
	words("both names", "activation {\n\tvolume_list=[\"a/data\",\"a/data_torig\"]\n}\n", false, NULL);
	words("neither name", "activation {\n\tvolume_list=[]\n}\n", false, NULL);
	words("our tag", "activation {\n\tvolume_list=[\"@dm-tier\"]\n}\n", false, NULL);
	words("our tag when it goes", "activation {\n\tvolume_list=[\"@dm-tier\"]\n}\n", true, "volume_list");
	words("tags of the host", "activation {\n\tvolume_list=\"@*\"\n}\n", false, NULL);
	words("at boot", "activation {\n\tauto_activation_volume_list=\"a/data\"\n}\n", false, "auto_activation_volume_list");
	words("read-only by the host", "activation {\n\tread_only_volume_list=[\"@*\"]\n}\n", false, NULL);
	words("read-only", "activation {\n\tread_only_volume_list=\"a/data_torig\"\n}\n", false, "read-only");
	words("read-only by either name", "activation {\n\tread_only_volume_list=\"a\"\n}\n", false, NULL);

	usual(&s);
	test = "lvrename";
	lvm_steps_rename(&s, "a", "data", "x");
	outcome("what LVM tries", &s, "the reason");
	usual(&s);
	test = "lvrename";
	s.back = true;
	lvm_steps_rename(&s, "a", "data", "x");
	outcome("is not asked while the name is taken", &s, NULL);

	foreign("no system ID", "  system ID: mine\n", "", "a", NULL);
	foreign("the machine's own", "  system ID: mine\n", "", "b", NULL);
	foreign("another one", "  system ID: mine\n", "", "c",
		"vgchange --config 'local/extra_system_ids=[\"theirs\"]' --systemid \"mine\" c && vgchange -ay c");
	foreign("any group", "  system ID: mine\n", "", NULL, "group c ");
	foreign("lvm.conf allows it", "  system ID: mine\n", "local {\n\textra_system_ids=[\"x\",\"theirs\"]\n}\n", "c", NULL);
	foreign("a machine without one", "  system ID: \n", "", "b", "--systemid \"\" b ");
	foreign("LVM says nothing", "", "", "c", NULL);
	return tap_done();
}
