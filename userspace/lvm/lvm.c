// SPDX-License-Identifier: GPL-2.0-only
#include "lvm/lvm.h"

#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <json-c/json_pointer.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/context.h"
#include "base/size.h"
#include "base/util.h"

void lvm_volume_free(struct lvm_volume *v)
{
	free(v->vg);
	free(v->lv);
	memset(v, 0, sizeof(*v));
}

char *lvm_name(const struct lvm_volume *v)
{
	return xasprintf("%s/%s", v->vg, v->lv);
}

char *lvm_command(const char *const *argv)
{
	struct text line = { 0 };

	for (; *argv; argv++)
		text_add(&line, "%s%s", line.len ? " " : "", *argv);
	return line.s;
}

/* Behind a command that reports, which gives the same report then whatever lvm.conf has for people. */
static const char *const report_words[] = {
	"--config", "report { compact_output=0 compact_output_cols=\"\" buffered=1 columns_as_rows=0 prefixes=0 "
		    "list_item_separator=\",\" } "
		    "log { report_command_log=0 command_names=0 prefix=\"  \" verbose=0 }",
	"--reportformat", "json", "--units", "b", "--nosuffix", NULL
};
#define REPORT_ARGV	32

/* A report, if there is to be one, goes to a file of its own, as warnings come along with it. */
static void become(const char *const *argv, int out, int report)
{
	const char *all[REPORT_ARGV];
	unsigned int i, n = 0;

	/* This program reads the output, and LVM must not complain about our descriptors. */
	setenv("LC_ALL", "C", 1);
	setenv("LVM_SUPPRESS_FD_WARNINGS", "1", 1);
	/* Options stand behind names as well. */
	unsetenv("POSIXLY_CORRECT");
	dup2(report < 0 ? out : report, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	if (report >= 0) {
		for (; argv[n]; n++)
			all[n] = argv[n];
		for (i = 0; i < sizeof(report_words) / sizeof(*report_words); i++)
			all[n + i] = report_words[i];
		argv = all;
	}
	execvp(argv[0], (char *const *)argv);
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Lines of LVM besides the reason; each is the beginning of a line. */
static bool is_noise(const char *line, size_t len)
{
	static const char *const noise[] = {
		"WARNING:", "TEST MODE", "Test mode:", "Run `", "Rounding ", "Wiping ", "Cannot process volume group ",
	};
	unsigned int i;

	for (i = 0; i < sizeof(noise) / sizeof(*noise); i++)
		if (len >= strlen(noise[i]) && !strncmp(line, noise[i], strlen(noise[i])))
			return true;
	return false;
}

/* The next line without its indentation and full stop; false at the end. */
static bool next_line(const char **text, const char **line, size_t *len)
{
	const char *end = strchrnul(*text, '\n');

	if (!**text)
		return false;
	*line = *text;
	*text = *end ? end + 1 : end;
	while (*line < end && isspace((unsigned char)**line))
		(*line)++;
	while (end > *line && (isspace((unsigned char)end[-1]) || strchr(".!", end[-1])))
		end--;
	*len = end - *line;
	return true;
}

/*
 * LVM prints the reason first, and then the consequences, so the first lines count. If all of
 * its lines are noise, the last may hold the reason after all.
 */
#define REASON_LINES	3

char *lvm_reason(const char *output)
{
	const char *line, *last = "";
	struct text reason = { 0 };
	size_t len, last_len = 0;
	unsigned int n = 0;

	text_add(&reason, "%s", "");
	while (n < REASON_LINES && next_line(&output, &line, &len)) {
		if (!len)
			continue;
		last = line;
		last_len = len;
		if (!is_noise(line, len))
			text_add(&reason, "%s%.*s", n++ ? "; " : "", (int)len, line);
	}
	if (!n)
		text_add(&reason, "%.*s", (int)last_len, last);
	if (!reason.len)
		text_add(&reason, "failed");
	return reason.s;
}

/* As read(); -1 with ETIMEDOUT if nothing came within ms; a negative ms waits for ever. */
static ssize_t read_within(int fd, void *buf, size_t size, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	do {
		n = poll(&p, 1, ms);
		if (n > 0)
			n = read(fd, buf, size);
		else if (!n) {
			errno = ETIMEDOUT;
			n = -1;
		}
	} while (n < 0 && errno == EINTR);
	return n;
}

/*
 * LVM waits for udev without end, and must not be killed while it changes a volume. So the user
 * is told how to free it.
 */
#define PATIENCE_MS	60000

static ssize_t read_patiently(struct tier_context *ctx, int fd, void *buf, size_t size,
			      const char *command, bool *told)
{
	ssize_t n = read_within(fd, buf, size, *told ? -1 : PATIENCE_MS);

	if (n >= 0 || errno != ETIMEDOUT)
		return n;
	warn(ctx, "%s: takes more than %u s. If udevd hangs, LVM waits for it: dmsetup udevcomplete_all",
	     command, PATIENCE_MS / 1000);
	*told = true;
	return read_within(fd, buf, size, -1);
}

/*
 * As lvm_run(), but *why says why it failed, for the caller to free, and it has failed when it says
 * nothing for so many milliseconds, unless these are negative.
 */
static int run(struct tier_context *ctx, const char *const *argv, int report, char **output, int ms, char **why)
{
	char *command = lvm_command(argv), buf[1024];
	struct text said = { 0 };
	int fds[2], status = 0, r = -1;
	ssize_t n = 0;
	bool late, told = false;
	pid_t pid;

	verbose(ctx, "running: %s", command);
	if (pipe(fds)) {
		*why = xstrdup(strerror(errno));
		free(command);
		return -1;
	}
	fflush(NULL);
	pid = fork();
	if (!pid)
		become(argv, fds[1], report);
	close(fds[1]);
	text_add(&said, "%s", "");
	while (pid > 0 && (n = ms < 0 ? read_patiently(ctx, fds[0], buf, sizeof(buf), command, &told) :
					read_within(fds[0], buf, sizeof(buf), ms)) > 0)
		text_add(&said, "%.*s", (int)n, buf);
	late = n < 0 && errno == ETIMEDOUT;
	close(fds[0]);
	/* A process that waits for a disk cannot even be killed. */
	if (late)
		kill(pid, SIGKILL);
	while (pid > 0 && !late && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (late)
		*why = xstrdup("does not answer");
	else if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		r = 0;
	else
		*why = lvm_reason(said.s);
	free(command);
	if (!r && output)
		*output = said.s;
	else
		text_free(&said);
	return r;
}

static void say_why(struct tier_context *ctx, const char *const *argv, char *why)
{
	char *command = lvm_command(argv);

	err(ctx, ERR_LVM_REFUSED, "%s: %s.", command, why);
	free(command);
	free(why);
}

int lvm_run(struct tier_context *ctx, const char *const *argv, char **output)
{
	char *why;
	int r = run(ctx, argv, -1, output, -1, &why);

	if (r)
		say_why(ctx, argv, why);
	return r;
}

int lvm_try(struct tier_context *ctx, const char *const *argv, char **why)
{
	return run(ctx, argv, -1, NULL, -1, why);
}

/* LVM escapes quotes, but not the backslashes in names like /dev/mapper/my\x20disk. */
static struct json_object *read_report(FILE *f)
{
	struct json_object *report;
	struct text s = { 0 };
	int c, before = 0;

	text_add(&s, "%s", "");
	for (; (c = getc(f)) != EOF; before = c)
		text_add(&s, "%s%c", before == '\\' && c != '"' ? "\\" : "", c);
	report = json_tokener_parse(s.s);
	text_free(&s);
	return report;
}

static struct json_object *get_report(struct tier_context *ctx, const char *const *argv, int ms, char **why)
{
	int fd = memfd_create("report", MFD_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct json_object *report = NULL, *rows = NULL;

	if (!f) {
		*why = xstrdup(strerror(errno));
	} else if (!run(ctx, argv, fd, NULL, ms, why)) {
		rewind(f);
		report = read_report(f);
		/* { "report": [ { "lv": [ ROW... ] } ] }, and "pv" from pvs */
		if (json_pointer_getf(report, &rows, "/report/0/%.2s", argv[0]))
			*why = xstrdup("did not answer with a report");
	}
	json_object_get(rows);
	json_object_put(report);
	if (f)
		fclose(f);
	return rows;
}

struct json_object *lvm_report(struct tier_context *ctx, const char *const *argv, int ms)
{
	char *why = NULL;
	struct json_object *rows = get_report(ctx, argv, ms, &why);

	if (!rows)
		say_why(ctx, argv, why);
	return rows;
}

struct json_object *lvm_report_quietly(struct tier_context *ctx, const char *const *argv, int ms)
{
	char *why = NULL;
	struct json_object *rows = get_report(ctx, argv, ms, &why);

	free(why);
	return rows;
}

const char *lvm_field(const struct json_object *rows, size_t row, const char *name)
{
	struct json_object *value;

	if (!json_object_object_get_ex(json_object_array_get_idx(rows, row), name, &value))
		return "";
	return json_object_get_string(value) ?: "";
}

bool lvm_number(const struct json_object *rows, size_t row, const char *name, uint64_t *n)
{
	return !parse_number(lvm_field(rows, row, name), n);
}

int lvm_change(struct tier_context *ctx, const char *const *argv)
{
	char *command;
	int r;

	if (!ctx->dry_run) {
		r = lvm_run(ctx, argv, NULL);
		ctx->changed |= !r;
		return r;
	}
	command = lvm_command(argv);
	say(ctx, "Would run: %s", command);
	free(command);
	return 0;
}

static bool is_installed(const char *command)
{
	const char *path = getenv("PATH"), *end;
	bool found = false;
	char *file;

	for (; path && *path && !found; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		file = xasprintf("%.*s/%s", (int)(end - path), path, command);
		found = !access(file, X_OK);
		free(file);
	}
	return found;
}

bool lvm_installed(void)
{
	return is_installed("lvs");
}

/* In any group, if there is no vg. */
static bool volume_exists(const char *vg, const char *lv, const struct json_object *all)
{
	size_t i;

	for (i = 0; i < json_object_array_length(all); i++)
		if (!strcmp(lvm_field(all, i, "lv_name"), lv) && (!vg || !strcmp(lvm_field(all, i, "vg_name"), vg)))
			return true;
	return false;
}

bool same_device(const char *a, const char *b)
{
	struct stat x, y;

	return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && x.st_rdev == y.st_rdev);
}

/*
 * A set's name may have letters that a volume's may not. The name must be free in all groups, as
 * two volumes of a set with one name would be taken for copies (lvm_list_set()).
 */
static char *free_name(const char *set_name, const struct json_object *all)
{
	char *base = xstrdup(set_name), *c, *lv;
	unsigned int i;

	for (c = base; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("+_.-", *c))
			*c = '_';
	if (*base == '-')
		*base = '_';
	for (i = 0;; i++) {
		lv = xasprintf("%s_tvol%u", base, i);
		if (!volume_exists(NULL, lv, all))
			break;
		free(lv);
	}
	free(base);
	return lv;
}

bool lvm_plan(struct tier_context *ctx, const char *pv, const char *vg, uint64_t size,
	      const char *set_name, const char *lv, struct lvm_volume *v)
{
	/* All physical volumes: for a device that is none, pvs would print only an error. */
	const char *const pvs[] = { "pvs", "-o", "pv_name,vg_name,pv_free,vg_extent_size", NULL };
	const char *const lvs[] = { "lvs", "-o", "vg_name,lv_name", NULL };
	struct json_object *all = lvm_report(ctx, pvs, -1);
	uint64_t room, extent = 0;
	char a[SIZE_TEXT], b[SIZE_TEXT];
	bool good = false;
	size_t i;

	memset(v, 0, sizeof(*v));
	if (!all)
		return false;
	for (i = 0; !v->vg && i < json_object_array_length(all); i++) {
		if (*lvm_field(all, i, "vg_name") && lvm_number(all, i, "pv_free", &room) &&
		    lvm_number(all, i, "vg_extent_size", &extent) && extent &&
		    same_device(lvm_field(all, i, "pv_name"), pv))
			v->vg = xstrdup(lvm_field(all, i, "vg_name"));
	}
	json_object_put(all);
	if (!v->vg) {
		err(ctx, ERR_UNSUITABLE, "%s: belongs to no volume group. Type: vgextend %s %s", pv, vg, pv);
		return false;
	}
	v->size = (size + extent - 1) / extent * extent;
	if (v->size > room) {
		err(ctx, ERR_NO_SPACE, "%s: %s free, %s asked for.", pv, format_size(a, room),
		    format_size(b, v->size));
		return false;
	}

	all = lvm_report(ctx, lvs, -1);
	if (!all)
		return false;
	if (lv && volume_exists(v->vg, lv, all))
		err(ctx, ERR_EXISTS, "%s/%s: exists already. Choose another --name.", v->vg, lv);
	else
		good = true;
	v->lv = lv ? xstrdup(lv) : free_name(set_name, all);
	json_object_put(all);
	return good;
}

int lvm_create(struct tier_context *ctx, const struct lvm_volume *v, const char *pv, const char *set_hex)
{
	char *size = xasprintf("%llub", (unsigned long long)v->size);
	char *set_tag = xasprintf(LVM_TAG ".set=%s", set_hex);
	const char *const argv[] = {
		"lvcreate", "-y", "-Wy", "-Zy", "-L", size, "-n", v->lv, "--addtag", LVM_TAG, "--addtag", set_tag,
		"--addtag", LVM_TAG ".role=tvol", v->vg, pv, NULL
	};
	int r = lvm_change(ctx, argv);

	free(size);
	free(set_tag);
	return r;
}

int lvm_remove(struct tier_context *ctx, const char *name)
{
	const char *const argv[] = { "lvremove", "-y", name, NULL };

	return lvm_change(ctx, argv);
}
