// SPDX-License-Identifier: GPL-2.0-only
/* All files below a directory; parts that cannot be read are reported. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block/extents.h"
#include "../tap.h"
#include "base/util.h"

/*
 * The directory with this many entries left gives an I/O error, and so does a stat of this name.
 */
static int entries_left = -1;
static const char *bad_name = "";

struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir)
{
	if (!entries_left) {
		errno = EIO;
		return NULL;
	}
	entries_left -= entries_left > 0;
	return __real_readdir(dir);
}

int __real_fstatat(int fd, const char *name, struct stat *st, int flags);
int __wrap_fstatat(int fd, const char *name, struct stat *st, int flags);
int __wrap_fstatat(int fd, const char *name, struct stat *st, int flags)
{
	if (!strcmp(name, bad_name)) {
		errno = EIO;
		return -1;
	}
	return __real_fstatat(fd, name, st, flags);
}

static unsigned int files, failures;
static int last_error;

static int count_file(void *context, int fd, const char *path)
{
	(void)context;
	(void)fd;
	(void)path;
	files++;
	return 0;
}

static void count_failure(void *context, const char *path, int error)
{
	(void)context;
	(void)path;
	failures++;
	last_error = error;
}

static void walk(const char *directory)
{
	struct walk walk = { .file = count_file, .failed = count_failure };

	files = failures = 0;
	last_error = 0;
	walk_directory(&walk, open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), directory);
}

static void make(const char *directory, const char *name)
{
	char *path = xasprintf("%s/%s", directory, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	free(path);
}

static void take_away(const char *directory, const char *name)
{
	char *path = xasprintf("%s/%s", directory, name);

	if (unlink(path))
		rmdir(path);
	free(path);
}

int main(void)
{
	char directory[] = "/tmp/test-walk.XXXXXX", *below;

	if (!mkdtemp(directory))
		return 1;
	below = xasprintf("%s/d", directory);
	mkdir(below, 0700);
	make(directory, "a");
	make(directory, "b");
	make(below, "c");

	walk(directory);
	ok(files == 3 && !failures, "three files");
	bad_name = "a";
	walk(directory);
	ok(files == 2 && failures == 1 && last_error == EIO, "one that cannot be looked at is told");
	bad_name = "";
	entries_left = 1;
	walk(directory);
	ok(failures && last_error == EIO, "a directory that cannot be read to its end is told");
	entries_left = -1;

	take_away(below, "c");
	take_away(directory, "a");
	take_away(directory, "b");
	take_away(directory, "d");
	rmdir(directory);
	free(below);
	return tap_done();
}
