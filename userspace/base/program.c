// SPDX-License-Identifier: GPL-2.0-only
#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"

extern char **environ;

const char *program_run(const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	int status = 0, r;
	pid_t pid;

	fflush(NULL);
	posix_spawn_file_actions_init(&actions);
	r = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO) ? :
	    posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	while (!r && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r)
		return strerror(r);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? NULL : "failed";
}

/* A name in a folder is on disk when the folder is. */
static bool sync_folder(const char *path)
{
	char *copy = xstrdup(path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool good = fd >= 0 && !fsync(fd);

	if (fd >= 0)
		close(fd);
	free(copy);
	return good;
}

bool file_write(struct tier_context *ctx, const char *path, const char *text)
{
	char *temporary;
	bool good;
	FILE *f;

	if (ctx->dry_run) {
		say(ctx, "Would write %s:\n%s", path, text);
		return true;
	}
	temporary = xasprintf("%s.new", path);
	f = fopen(temporary, "we");
	/* On disk before it is renamed: a power cut must not leave an empty file. */
	good = f && fputs(text, f) >= 0 && !fflush(f) && !fsync(fileno(f));
	if (f && fclose(f))
		good = false;
	good = good && !rename(temporary, path) && sync_folder(path);
	if (!good) {
		err(ctx, error_from(errno), "%s: %s.", path, strerror(errno));
		unlink(temporary);
	}
	free(temporary);
	return good;
}

bool file_remove(struct tier_context *ctx, const char *path)
{
	if (ctx->dry_run) {
		say(ctx, "Would remove %s.", path);
	} else if (unlink(path) && errno != ENOENT) {
		err(ctx, error_from(errno), "%s: %s.", path, strerror(errno));
		return false;
	}
	return true;
}
