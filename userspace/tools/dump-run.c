// SPDX-License-Identifier: GPL-2.0-only
#include "tools/dump-run.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"
#include "format/record.h"
#include "tools/output.h"
#include "tools/tool.h"

/* Reads all metadata; false with the errors said. */
static bool read_whole(const struct dump_run *run, struct md_source *src, struct md_content *c)
{
	struct tool_input input = { run->ctx, run->input };
	struct md_problems p = { .say = tool_say_problem, .context = &input };
	struct md_image image = { .src = src, .p = &p }, snapshot;
	struct md_image *which = &image;

	if (!md_image_open(&image))
		return false;
	if (run->snapshot) {
		if (!image.info.held_root) {
			err(run->ctx, ERR_NOT_FOUND,
			    "%s: holds no metadata snapshot. Reserve one: dmsetup message NAME 0 reserve_metadata_snap",
			    run->input);
			return false;
		}
		if (!md_image_snapshot(&image, &snapshot))
			return false;
		which = &snapshot;
	}
	md_content_read(c, which);
	if (!p.errors)
		md_content_judge(c, &p);
	md_problems_end(&p);
	if (!p.errors)
		return true;
	err(run->ctx, ERR_DAMAGED,
	    "%s: is damaged, nothing was written. What is left of it: tier_repair", run->input);
	md_content_free(c);
	return false;
}

static bool write_dump(const struct dump_run *run, const struct md_content *c, FILE *f)
{
	if (run->json)
		md_write_json(c, f);
	else
		md_write_xml(c, f);
	return !fflush(f) && !ferror(f);
}

/* Text written over metadata would destroy the set. */
static bool may_write(const struct dump_run *run)
{
	struct stat in, out;

	if (!run->output)
		return true;
	if (stat(run->output, &out))
		return output_may_create(run->ctx, run->output);
	if (S_ISBLK(out.st_mode)) {
		err(run->ctx, ERR_UNSUITABLE, "%s: is a block device. A dump goes to a file.", run->output);
		return false;
	}
	if (!stat(run->input, &in) && in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
		err(run->ctx, ERR_UNSUITABLE, "%s: is the input. Name another file.", run->output);
		return false;
	}
	return output_may_replace(run->ctx, run->output, &out);
}

static bool write_and_close(const struct dump_run *run, const struct md_content *c, const char *path, FILE *f)
{
	bool good = write_dump(run, c, f);

	if (good && path)
		good = !fsync(fileno(f)) || errno == EINVAL;
	if (!good)
		err(run->ctx, error_from(errno), "%s: %s.", path ? path : "standard output", strerror(errno));
	if (path && fclose(f) && good) {
		err(run->ctx, error_from(errno), "%s: %s.", path, strerror(errno));
		good = false;
	}
	return good;
}

/* The usual mode of a new file. */
static mode_t usual_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* So that the name, too, survives a power cut, on file systems that can sync a directory. */
static void sync_folder(const char *path)
{
	char *copy = xstrdup(path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(copy);
}

/* Writes a new file and renames it, as the old file may be the only good dump. */
static bool replace_file(const struct dump_run *run, const struct md_content *c, const char *path, mode_t mode)
{
	char *new = xasprintf("%s.XXXXXX", path);
	int fd = mkostemp(new, O_CLOEXEC);
	bool good;
	FILE *f;

	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f) {
		err(run->ctx, error_from(errno), "%s: %s.", new, strerror(errno));
		if (fd >= 0) {
			close(fd);
			unlink(new);
		}
		free(new);
		return false;
	}
	/* This fails on file systems without modes, such as FAT. */
	fchmod(fd, mode & 0777);
	good = write_and_close(run, c, new, f);
	if (good && rename(new, path)) {
		err(run->ctx, error_from(errno), "%s: %s.", path, strerror(errno));
		good = false;
	}
	if (!good)
		unlink(new);
	else
		sync_folder(path);
	free(new);
	return good;
}

static bool write_file(const struct dump_run *run, const struct md_content *c)
{
	struct stat st;
	char *path;
	FILE *f;
	bool good;

	if (!run->output)
		return write_and_close(run, c, NULL, stdout);
	if (stat(run->output, &st))
		return replace_file(run, c, run->output, usual_mode());
	if (S_ISREG(st.st_mode)) {
		path = realpath(run->output, NULL);
		good = path && replace_file(run, c, path, st.st_mode);
		if (!path)
			err(run->ctx, error_from(errno), "%s: %s.", run->output, strerror(errno));
		free(path);
		return good;
	}
	f = fopen(run->output, "we");
	if (!f) {
		err(run->ctx, error_from(errno), "%s: %s.", run->output, strerror(errno));
		return false;
	}
	return write_and_close(run, c, run->output, f);
}

bool dump_run(const struct dump_run *run)
{
	struct md_content content;
	struct md_source src;
	bool good;

	if (!may_write(run) || !tool_open_source(run->ctx, run->input, run->at, run->snapshot, &src))
		return false;
	good = read_whole(run, &src, &content);
	tool_close_source(&src);
	if (run->was_read)
		run->was_read(run->context);
	if (good) {
		if (run->info)
			*run->info = content.info;
		good = write_file(run, &content);
		md_content_free(&content);
	}
	return good;
}

/* Chooses the format by the first character that is no blank. */
static bool parse(FILE *f, struct md_undump *u)
{
	int c;

	do {
		c = getc(f);
	} while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
	if (c == EOF)
		return md_undump_fail(u, "%s", ferror(f) ? strerror(errno) : "is empty");
	ungetc(c, f);
	return c == '{' ? md_parse_json(f, u) : md_parse_xml(f, u);
}

/* 0: as many as needed, or unknown yet. */
static u64 blocks_of(const char *output)
{
	int fd = open(output, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);

	if (fd >= 0)
		close(fd);
	return size < 0 ? 0 : size / MD_BLOCK;
}

bool restore_read(struct tier_context *ctx, const char *input, const char *output, struct md_content *content)
{
	struct tool_input named = { ctx, input };
	struct md_problems p = { .say = tool_say_problem, .context = &named };
	struct md_undump undump = { .content = content, .max_blocks = blocks_of(output) };
	FILE *f = strcmp(input, "-") ? fopen(input, "re") : stdin;
	bool good;

	*content = (struct md_content){ 0 };
	if (!f) {
		err(ctx, error_from(errno), "%s: %s.", input, strerror(errno));
		return false;
	}
	good = parse(f, &undump);
	if (!good)
		err(ctx, ERR_DAMAGED, "%s: %s.", input, undump.error);
	free(undump.error);
	if (good) {
		md_content_judge(content, &p);
		md_problems_end(&p);
		good = !p.errors;
	}
	if (good && tier_features_read_only(content->info.compat_ro_flags)) {
		err(ctx, ERR_UNSUPPORTED, "%s: has features that only allow this version to read it.", input);
		good = false;
	}
	if (!good)
		md_content_free(content);
	if (f != stdin)
		fclose(f);
	return good;
}
