// SPDX-License-Identifier: GPL-2.0-only
/* heatmap */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/ranges.h"
#include "base/screen.h"
#include "base/size.h"
#include "base/util.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "cmd/selection.h"
#include "dm/status.h"
#include "set/files.h"
#include "set/heat.h"
#include "set/set.h"
#include "tools/output.h"
#include "tools/terminal.h"
#include "view/picture.h"
#include "view/render.h"

/* In a picture file. */
#define FILE_COLUMNS	128
#define FILE_ROWS	32
/* On the terminal, besides the number of the first chunk of a row. */
#define SCREEN_ROWS	16
#define LABEL		12

static bool write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		bytes += n;
		len -= n;
	}
	return true;
}

/* An old file stays until the new one is complete. */
static int save(struct tier_context *ctx, const char *path, const void *bytes, size_t len)
{
	char *temporary;
	struct stat st;
	bool good;
	int fd;

	if (!strcmp(path, "-")) {
		/* Write errors are checked at the end, as for all output. */
		fwrite(bytes, 1, len, stdout);
		return EXIT_DONE;
	}
	if (!stat(path, &st)) {
		if (!S_ISREG(st.st_mode)) {
			err(ctx, ERR_EXISTS, "%s: is there and is no file, so it is not replaced.", path);
			return EXIT_FAILED;
		}
		if (!output_may_replace(ctx, path, &st))
			return EXIT_FAILED;
	}
	temporary = xasprintf("%s.new.%ld", path, (long)getpid());
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	good = fd >= 0 && write_all(fd, bytes, len);
	if (fd >= 0 && close(fd))
		good = false;
	if (good && rename(temporary, path))
		good = false;
	if (!good) {
		err(ctx, error_from(errno), "%s: %s.", path, strerror(errno));
		if (fd >= 0)
			unlink(temporary);
	}
	free(temporary);
	return good ? EXIT_DONE : EXIT_FAILED;
}

static int save_svg(struct tier_context *ctx, const struct picture *p, const char *path)
{
	struct text t = { 0 };
	int code;

	picture_svg(p, &t);
	code = save(ctx, path, t.s, t.len);
	text_free(&t);
	return code;
}

static int save_png(struct tier_context *ctx, const struct picture *p, const char *path)
{
	size_t len;
	void *bytes = picture_png(p, &len);
	int code = EXIT_FAILED;

	if (bytes)
		code = save(ctx, path, bytes, len);
	else
		err(ctx, ERR_IO, "%s: libpng failed.", path);
	free(bytes);
	return code;
}

static char *make_title(const struct target *t)
{
	char size[SIZE_TEXT], chunk[SIZE_TEXT];
	const struct set *s = t->set;
	struct text title = { 0 };
	uint64_t chunks = ranges_total(&t->chunks);
	unsigned int i;

	text_add(&title, "%s", s->name);
	for (i = 0; i < t->nr_paths; i++)
		text_add(&title, "%s %s", i ? "," : ":", t->path[i].path);
	text_add(&title, "  %s  %llu chunk%s of %s", format_size(size, chunks * s->chunk_sectors * SECTOR_SIZE),
		 (unsigned long long)chunks, chunks == 1 ? "" : "s",
		 format_size(chunk, s->chunk_sectors * SECTOR_SIZE));
	make_printable(title.s);
	return title.s;
}

static unsigned int columns_for(bool to_file, const struct target *t)
{
	unsigned int width = screen_width(), columns;

	if (to_file) {
		columns = FILE_COLUMNS;
	} else {
		columns = width > LABEL + 16 ? width - LABEL : 16;
		if (columns * SCREEN_ROWS > HEAT_BUCKETS_MAX)
			columns = HEAT_BUCKETS_MAX / SCREEN_ROWS;
	}
	/* Rows that begin at round numbers are easier to read. */
	columns -= columns % 8;
	return ranges_total(&t->chunks) < columns ? ranges_total(&t->chunks) : columns;
}

static int draw(const struct args *args, const struct target *t)
{
	bool to_file = args->given[OPT_SVG] || args->given[OPT_PNG];
	unsigned int columns = columns_for(to_file || terminal_of(args->ctx)->json, t), nr;
	struct heat_bucket *cells;
	struct picture p;
	int code = EXIT_DONE;

	if (heat_cells(t->set, &t->chunks, columns * (to_file || terminal_of(args->ctx)->json ? FILE_ROWS : SCREEN_ROWS), &cells, &nr))
		return EXIT_FAILED;
	picture_init(&p, t->set, &t->chunks, cells, nr);
	p.columns = columns;
	p.title = make_title(t);
	if (args->given[OPT_SVG])
		code = save_svg(args->ctx, &p, args->value[OPT_SVG]);
	if (args->given[OPT_PNG] && code == EXIT_DONE)
		code = save_png(args->ctx, &p, args->value[OPT_PNG]);
	if (terminal_of(args->ctx)->json)
		json_add_heatmap(&p);
	else if (!to_file && !terminal_of(args->ctx)->quiet)
		picture_print(&p);
	free(p.title);
	free(cells);
	return code;
}

int cmd_heatmap(const struct args *args)
{
	bool svg = args->given[OPT_SVG] && !strcmp(args->value[OPT_SVG], "-");
	bool png = args->given[OPT_PNG] && !strcmp(args->value[OPT_PNG], "-");
	unsigned int i;
	struct target t;
	int code;

	if (svg + png + terminal_of(args->ctx)->json > 1) {
		err(args->ctx, ERR_USAGE, "heatmap: only one thing can go to standard output.");
		return EXIT_USAGE;
	}
	code = target_parse(args, "heatmap", TARGET_WHOLE, &t);
	for (i = 0; i < t.nr_paths && !code; i++)
		where_warn(args->ctx, &t.path[i].where, t.path[i].path);
	if (!code)
		code = draw(args, &t);
	target_free(&t);
	return code;
}
