// SPDX-License-Identifier: GPL-2.0-only
#include "lvm/lvm.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Reports are read here, whatever lvm.conf has for people. */
#define REPORT	"report { output_format=basic compact_output=0 compact_output_cols=\"\" aligned=1 buffered=1 columns_as_rows=0 " \
		"separator=\" \" list_item_separator=\",\" prefixes=0 quoted=1 } " \
		"log { report_command_log=0 command_names=0 prefix=\"  \" verbose=0 }"
#define REPORT_WORDS	32

static void become(const char *const *argv, int out)
{
	const char *report[REPORT_WORDS] = { argv[0], "--config", REPORT };
	unsigned int i;

	/* What it says is read here, and it must not complain of our descriptors. */
	setenv("LC_ALL", "C", 1);
	setenv("LVM_SUPPRESS_FD_WARNINGS", "1", 1);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	if (!strcmp(argv[0], "lvs") || !strcmp(argv[0], "pvs")) {
		for (i = 1; argv[i] && i < REPORT_WORDS - 3; i++)
			report[i + 2] = argv[i];
		argv = report;
	}
	execvp(argv[0], (char *const *)argv);
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* What LVM says besides the reason; each is the beginning of a line. */
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
 * LVM says the reason first and then what it could not do for that, so the first lines count.
 * Where all of its lines are noise, one may hold the reason after all: the last.
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

/* As read(); -1 with ETIMEDOUT if nothing came for so long, which is for ever if negative. */
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
 * LVM waits for udev without end, and must not be killed while it changes a volume; so whoever
 * waits for LVM is told how to free it.
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

/* As lvm_run_within(), but *why says why it failed; the caller frees. */
static int run(struct tier_context *ctx, const char *const *argv, char **output, int ms, char **why)
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
		become(argv, fds[1]);
	close(fds[1]);
	text_add(&said, "%s", "");
	while (pid > 0 && (n = ms < 0 ? read_patiently(ctx, fds[0], buf, sizeof(buf), command, &told) :
					read_within(fds[0], buf, sizeof(buf), ms)) > 0)
		text_add(&said, "%.*s", (int)n, buf);
	late = n < 0 && errno == ETIMEDOUT;
	close(fds[0]);
	/* One that waits for a disk does not even die. */
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

int lvm_run_within(struct tier_context *ctx, const char *const *argv, char **output, int ms)
{
	char *why = NULL, *command;
	int r = run(ctx, argv, output, ms, &why);

	if (r) {
		command = lvm_command(argv);
		err(ctx, ERR_LVM_REFUSED, "%s: %s.", command, why);
		free(command);
	}
	free(why);
	return r;
}

int lvm_run(struct tier_context *ctx, const char *const *argv, char **output)
{
	return lvm_run_within(ctx, argv, output, -1);
}

int lvm_try(struct tier_context *ctx, const char *const *argv, char **why)
{
	return run(ctx, argv, NULL, -1, why);
}

int lvm_change(struct tier_context *ctx, const char *const *argv)
{
	char *command;

	if (!ctx->dry_run)
		return lvm_run(ctx, argv, NULL);
	command = lvm_command(argv);
	say(ctx, "Would run: %s", command);
	free(command);
	return 0;
}

/* Calls for each line of an answer with its blank-separated words; returns how many there were. */
static unsigned int split(char *line, char **word, unsigned int max)
{
	unsigned int n = 0;
	char *save, *w;

	for (w = strtok_r(line, " \t", &save); w && n < max; w = strtok_r(NULL, " \t", &save))
		word[n++] = w;
	return n;
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

/* In any group without one. */
static bool volume_exists(const char *vg, const char *lv, const char *all)
{
	char *name = xasprintf("%s%s/%s ", vg ? " " : "", vg ? vg : "", lv);
	bool there = strstr(all, name);

	free(name);
	return there;
}

bool same_device(const char *a, const char *b)
{
	struct stat x, y;

	return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && x.st_rdev == y.st_rdev);
}

/*
 * A set's name may have letters that a volume's may not.  Free in all groups, as two
 * volumes of a set with one name would be taken for copies (lvm_list_set()).
 */
static char *free_name(const char *set_name, const char *all)
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
	/* All of them: of what is none, pvs would say no more than that. */
	const char *const pvs[] = {
		"pvs", "--noheadings", "--units", "b", "--nosuffix", "-o",
		"pv_free,vg_extent_size,pv_name,vg_name", NULL
	};
	const char *const lvs[] = { "lvs", "--noheadings", "--separator", "/", "-o", "vg_name,lv_name", NULL };
	char *output = NULL, *line, *save, *word[4], a[SIZE_TEXT], b[SIZE_TEXT], *c;
	uint64_t room, extent = 0;
	struct text all = { 0 };
	bool good = false;

	memset(v, 0, sizeof(*v));
	if (lvm_run(ctx, pvs, &output))
		return false;
	for (line = strtok_r(output, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (split(line, word, 4) == 4 && !parse_number(word[0], &room) &&
		    !parse_number(word[1], &extent) && extent && same_device(word[2], pv)) {
			v->vg = xstrdup(word[3]);
			break;
		}
	}
	free(output);
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

	if (lvm_run(ctx, lvs, &output))
		return false;
	for (c = output; *c; c++)
		if (*c == '\n')
			*c = ' ';
	text_add(&all, " %s ", output);
	free(output);
	if (lv && volume_exists(v->vg, lv, all.s))
		err(ctx, ERR_EXISTS, "%s/%s: exists already. Choose another --name.", v->vg, lv);
	else
		good = true;
	v->lv = lv ? xstrdup(lv) : free_name(set_name, all.s);
	text_free(&all);
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
