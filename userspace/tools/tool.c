// SPDX-License-Identifier: GPL-2.0-only
#include "tools/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "block/device.h"

int tool_option(struct tier_context *ctx, int argc, char **argv, const char *letters,
		const struct option *options, const char *help)
{
	char letter[3] = "-?";
	const char *spelt;
	int c;

	opterr = 0;
	c = getopt_long(argc, argv, letters, options, NULL);
	switch (c) {
	case 'h':
		fputs(help, stdout);
		exit(tool_finish(terminal_of(ctx), TOOL_FINE));
	case 'V':
		printf("%s %s\n", program, TIERCTL_VERSION);
		exit(tool_finish(terminal_of(ctx), TOOL_FINE));
	case '?':
	case ':':
		break;
	default:
		return c;
	}
	spelt = argv[optind - 1];
	if (optopt && optopt < 256 && strncmp(spelt, "--", 2)) {
		letter[1] = optopt;
		spelt = letter;
	}
	if (c == ':')
		err(ctx, ERR_USAGE, "%s needs a value. Try: %s --help", spelt, program);
	else
		err(ctx, ERR_USAGE, "no option %s. Try: %s --help", spelt, program);
	exit(tool_finish(terminal_of(ctx), TOOL_FAILED));
}

const char *tool_tiers_wrong(unsigned int nr, bool announced)
{
	if (nr && !announced)
		return "devices want --tiers before them";
	if (announced && !nr)
		return "--tiers wants devices";
	return NULL;
}

static int open_device(const char *path, int flags)
{
	int fd = open(path, flags | O_DIRECT | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && errno == EINVAL)
		fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);
	return fd;
}

int tool_open(struct tier_context *ctx, const char *path, int flags, bool shared)
{
	struct stat st;
	char *held;
	int fd;

	if (stat(path, &st)) {
		err(ctx, error_from(errno), "%s: %s.", path, strerror(errno));
		return -1;
	}
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)) {
		err(ctx, ERR_UNSUITABLE, "%s: neither a block device nor a file.", path);
		return -1;
	}
	/*
	 * The file of a loop device may be the metadata of an active set, like a device in use.
	 */
	held = S_ISREG(st.st_mode) && !shared ? file_held(&st) : NULL;
	if (held) {
		err(ctx, ERR_IN_USE, "%s: %s. Name that.", path, held);
		free(held);
		return -1;
	}
	if (S_ISBLK(st.st_mode))
		fd = open_device(path, flags | (shared ? 0 : O_EXCL));
	else
		fd = open(path, flags | O_CLOEXEC);
	if (fd < 0 && errno == EBUSY)
		err(ctx, ERR_IN_USE,
		    "%s: is in use. Deactivate the set first, or read the metadata snapshot of a live one: tier_dump --metadata-snap.",
		    path);
	else if (fd < 0)
		err(ctx, error_from(errno), "%s: %s.", path, strerror(errno));
	return fd;
}

bool tool_open_source(struct tier_context *ctx, const char *path, uint64_t at, bool shared, struct md_source *src)
{
	int fd = tool_open(ctx, path, O_RDONLY, shared), r;

	if (fd < 0)
		return false;
	r = lseek(fd, at, SEEK_SET) < 0 ? -errno : md_source_init(src, fd);
	if (r) {
		err(ctx, error_from(-r), "%s: %s.", path, strerror(-r));
		close(fd);
		return false;
	}
	return true;
}

void tool_close_source(struct md_source *src)
{
	md_source_free(src);
	close(src->fd);
}

void tool_say_problem(void *context, const char *text)
{
	const struct tool_input *input = context;

	err(input->ctx, ERR_DAMAGED, "%s: %s", input->path, text);
}

int tool_finish(struct terminal *t, int code)
{
	terminal_free(t);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "%s: standard output: %s\n", program, strerror(errno));
		return TOOL_FAILED;
	}
	return code;
}
