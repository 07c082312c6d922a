// SPDX-License-Identifier: GPL-2.0-only
#include "set/pins.h"

#include <blkid/blkid.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"
#include "base/words.h"

#define HEADING	"tierctl-pins 1 "
#define HANDLE_MAX	128
/* In place of a UUID. */
#define UNKNOWN		"-"

void pin_free(struct pin *pin)
{
	free(pin->handle);
	free(pin->path);
	ranges_free(&pin->chunks);
	memset(pin, 0, sizeof(*pin));
}

/*
 * The path ends the line; characters that would end it too early are written in octal, as in
 * mountinfo.
 */
void pin_to_line(const struct pin *pin, struct text *t)
{
	char *path = mnt_mangle(pin->path);

	text_add(t, "pin %s %u %s ", pin->set, pin->tier_id, pin->handle);
	ranges_to_text(&pin->chunks, t);
	text_add(t, " %s\n", path);
	free(path);
}

bool pin_from_line(const char *line, struct pin *pin)
{
	const char *word;
	struct words w;
	bool good;

	memset(pin, 0, sizeof(*pin));
	words_init(&w, line);
	word = words_next(&w);
	good = word && !strcmp(word, "pin");
	word = words_next(&w);
	good = good && word && strlen(word) == sizeof(pin->set) - 1;
	if (good)
		strcpy(pin->set, word);
	pin->tier_id = words_count(&w, 254);
	word = words_next(&w);
	pin->handle = word ? xstrdup(word) : NULL;
	word = words_next(&w);
	good = good && word && ranges_from_text(word, &pin->chunks);
	word = words_next(&w);
	pin->path = word ? mnt_unmangle(word) : NULL;
	good = good && !w.failed && words_end(&w);
	words_free(&w);
	if (!good)
		pin_free(pin);
	return good;
}

/* The UUID of the file system on the device, as blkid shows it; the caller frees. */
static char *file_system_uuid(dev_t dev)
{
	char *node = blkid_devno_to_devname(dev);
	blkid_probe probe = node ? blkid_new_probe_from_filename(node) : NULL;
	const char *value;
	char *uuid = NULL;

	if (probe) {
		blkid_probe_enable_superblocks(probe, true);
		blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_UUID);
		if (!blkid_do_safeprobe(probe) && !blkid_probe_lookup_value(probe, "UUID", &value, NULL))
			uuid = xstrdup(value);
		blkid_free_probe(probe);
	}
	free(node);
	return uuid ? uuid : xstrdup(UNKNOWN);
}

static bool read_lines(struct pins *pins, FILE *f, const char *uuid)
{
	char *line = NULL;
	size_t room = 0;
	unsigned int number = 0;
	struct pin pin;
	bool good = true;

	while (good && getline(&line, &room, f) > 0) {
		number++;
		line[strcspn(line, "\n")] = '\0';
		if (*line == '#' || !*line)
			continue;
		if (!strncmp(line, HEADING, strlen(HEADING))) {
			const char *of = line + strlen(HEADING);

			if (strcmp(of, uuid) && strcmp(of, UNKNOWN) && strcmp(uuid, UNKNOWN)) {
				warn(pins->ctx, "%s: is of another file system and is not used.", pins->where);
				break;
			}
			continue;
		}
		good = pin_from_line(line, &pin);
		if (good)
			*pins_add(pins) = pin;
		else
			err(pins->ctx, ERR_DAMAGED,
			    "%s: line %u is damaged. Mend it, or remove the file.", pins->where, number);
	}
	free(line);
	return good;
}

/* Anybody who can write the file could change the pins. */
static bool trusted(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && !st.st_uid && !(st.st_mode & 022);
}

char *pins_name(const struct pins *pins, const char *path)
{
	char *name = strcmp(path, ".") ? xasprintf("%s/%s", pins->point, path) :
					 xstrdup(*pins->point ? pins->point : "/");

	make_printable(name);
	return name;
}

bool pins_open(struct tier_context *ctx, struct pins *pins, const struct mounts *mounts, dev_t dev)
{
	const struct mount *m = mounts_find(mounts, dev);
	char *uuid;
	bool good;
	FILE *f;
	int fd;

	memset(pins, 0, sizeof(*pins));
	pins->ctx = ctx;
	pins->root = mount_open_root(mounts, dev);
	if (pins->root < 0) {
		err(ctx, ERR_SYSTEM,
		    "%s: the root of the file system is mounted nowhere, so that what is pinned cannot be recorded. Mount it.",
		    m ? m->point : "a file");
		return false;
	}
	pins->point = xstrdup(strcmp(m->point, "/") ? m->point : "");
	pins->where = pins_name(pins, PINS_FILE);
	/* The owner of the root directory can put a pipe there. */
	fd = openat(pins->root, PINS_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return true;
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f) {
		err(ctx, error_from(errno), "%s: %s.", pins->where, strerror(errno));
		return false;
	}
	if (!trusted(fd)) {
		err(ctx, ERR_PERMISSION,
		    "%s: is not root's alone. chown and chmod it (root, 0600), or remove it.",
		    pins->where);
		fclose(f);
		return false;
	}
	uuid = file_system_uuid(dev);
	good = read_lines(pins, f, uuid);
	free(uuid);
	fclose(f);
	return good;
}

void pins_close(struct pins *pins)
{
	while (pins->nr)
		pin_free(&pins->pin[--pins->nr]);
	free(pins->pin);
	free(pins->where);
	free(pins->point);
	if (pins->root >= 0)
		close(pins->root);
	memset(pins, 0, sizeof(*pins));
	pins->root = -1;
}

static int write_all(int fd, const char *s, size_t len)
{
	while (len) {
		ssize_t n = write(fd, s, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		s += n;
		len -= n;
	}
	return fsync(fd) ? -errno : 0;
}

static int replace_file(struct pins *pins, const struct text *t)
{
	static const char temporary[] = PINS_FILE ".new";
	int fd, r;

	if (!pins->nr)
		return unlinkat(pins->root, PINS_FILE, 0) && errno != ENOENT ? -errno : 0;
	unlinkat(pins->root, temporary, 0);
	fd = openat(pins->root, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, t->s, t->len);
	close(fd);
	if (!r && renameat(pins->root, temporary, pins->root, PINS_FILE))
		r = -errno;
	if (!r && fsync(pins->root))
		r = -errno;
	if (r)
		unlinkat(pins->root, temporary, 0);
	return r;
}

bool pins_write(struct pins *pins)
{
	struct text t = { 0 };
	struct stat st;
	char *uuid;
	unsigned int i;
	int r = 0;

	if (fstat(pins->root, &st))
		return false;
	uuid = file_system_uuid(st.st_dev);
	text_add(&t, "# Files that tierctl keeps on a tier, see tierctl-pin(8).\n" HEADING "%s\n", uuid);
	for (i = 0; i < pins->nr; i++)
		pin_to_line(&pins->pin[i], &t);
	r = replace_file(pins, &t);
	pins->ctx->changed |= !r;
	if (r)
		err(pins->ctx, error_from(-r), "%s: %s.", pins->where, strerror(-r));
	free(uuid);
	text_free(&t);
	return !r;
}

int pins_find(const struct pins *pins, const char *handle)
{
	unsigned int i;

	for (i = 0; i < pins->nr; i++)
		if (!strcmp(pins->pin[i].handle, handle))
			return i;
	return -1;
}

struct pin *pins_add(struct pins *pins)
{
	pins->pin = xrealloc(pins->pin, pins->nr + 1, sizeof(*pins->pin));
	memset(&pins->pin[pins->nr], 0, sizeof(*pins->pin));
	return &pins->pin[pins->nr++];
}

void pins_remove(struct pins *pins, unsigned int i)
{
	pin_free(&pins->pin[i]);
	pins->nr--;
	memmove(&pins->pin[i], &pins->pin[i + 1], (pins->nr - i) * sizeof(*pins->pin));
}

static int open_handle(int root, const char *text)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + HANDLE_MAX];
	} u = { 0 };
	const char *hex = strchr(text, ':');
	int fd;

	if (!hex)
		return -EINVAL;
	u.h.handle_type = atoi(text);
	for (hex++; isxdigit((unsigned char)hex[0]) && isxdigit((unsigned char)hex[1]); hex += 2) {
		const char byte[] = { hex[0], hex[1], '\0' };

		if (u.h.handle_bytes == HANDLE_MAX)
			return -EINVAL;
		u.h.f_handle[u.h.handle_bytes++] = strtoul(byte, NULL, 16);
	}
	fd = open_by_handle_at(root, &u.h, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * The path of an open file, from the root of the file system; NULL if unknown: a file that the
 * kernel opens by its handle has no name, unless the name is in the kernel's cache.
 */
static char *path_from_root(const struct pins *pins, int fd)
{
	char link[64], target[PATH_MAX], root[PATH_MAX];
	struct stat is, named;
	const char *path;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, target, sizeof(target) - 1);
	target[len > 0 ? len : 0] = '\0';
	snprintf(link, sizeof(link), "/proc/self/fd/%d", pins->root);
	len = readlink(link, root, sizeof(root) - 1);
	root[len > 0 ? len : 0] = '\0';
	len = strcmp(root, "/") ? strlen(root) : 0;
	if (*target && !strcmp(target, root))
		path = ".";
	else if (!strncmp(target, root, len) && target[len] == '/')
		path = target + len + 1;
	else
		return NULL;
	if (fstat(fd, &is) || fstatat(pins->root, path, &named, AT_SYMLINK_NOFOLLOW) ||
	    is.st_dev != named.st_dev || is.st_ino != named.st_ino)
		return NULL;
	return xstrdup(path);
}

bool pin_identify(const struct pins *pins, int fd, char **handle, char **path)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + HANDLE_MAX];
	} u = { .h.handle_bytes = HANDLE_MAX };
	struct text t = { 0 };
	unsigned int i;
	int mount_id, again;

	if (name_to_handle_at(fd, "", &u.h, &mount_id, AT_EMPTY_PATH))
		return false;
	text_add(&t, "%d:", u.h.handle_type);
	for (i = 0; i < u.h.handle_bytes; i++)
		text_add(&t, "%02x", u.h.f_handle[i]);

	/* Opened once more, as fd may belong to another mount, of a part of the file system. */
	again = open_handle(pins->root, t.s);
	*path = again < 0 ? NULL : path_from_root(pins, again);
	if (again >= 0)
		close(again);
	*handle = t.s;
	if (*path)
		return true;
	free(t.s);
	return false;
}

/* A file that is open somewhere has a handle even if its name is gone. */
static bool belongs(const struct pins *pins, int fd)
{
	struct stat st, root;

	return !fstat(fd, &st) && !fstat(pins->root, &root) && st.st_dev == root.st_dev && st.st_nlink &&
	       (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

int pin_open(const struct pins *pins, const struct pin *pin, char **path)
{
	int fd = open_handle(pins->root, pin->handle);

	if (fd >= 0 && !belongs(pins, fd)) {
		close(fd);
		fd = -ESTALE;
	}
	if (fd == -ESTALE || fd == -ENOENT) {
		fd = openat(pins->root, pin->path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return errno == ELOOP || errno == ENOTDIR ? -ENOENT : -errno;
	}
	if (fd < 0)
		return fd;
	if (!belongs(pins, fd)) {
		close(fd);
		return -ENOENT;
	}
	*path = path_from_root(pins, fd);
	if (!*path)
		*path = xstrdup(pin->path);
	return fd;
}

void pins_chunks(const struct pins *pins, const char *set, int except, struct ranges *chunks)
{
	unsigned int i;

	memset(chunks, 0, sizeof(*chunks));
	for (i = 0; i < pins->nr; i++)
		if ((int)i != except && !strcmp(pins->pin[i].set, set))
			ranges_add_all(chunks, &pins->pin[i].chunks);
	ranges_settle(chunks);
}
