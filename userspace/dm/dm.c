// SPDX-License-Identifier: GPL-2.0-only
#include "dm/dm.h"

#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <linux/dm-ioctl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/context.h"
#include "base/util.h"
#include "base/within.h"
#include "dm/kmsg.h"

/* More than the status of a set of 16 tiers. */
#define STATUS_BYTES	65536

/* Messages of libdevmapper above this level are chatter. */
#define LOG_WARNING_LEVEL	4

/* libdevmapper's callback for messages gets no context. */
static struct tier_context *dm_context;

__attribute__((format(printf, 5, 6)))
static void log_libdm(int level, const char *file, int line, int error, const char *fmt, ...)
{
	va_list ap;
	char *s;

	(void)file;
	(void)line;
	(void)error;
	/* The high bits choose where to print. */
	if ((level & 7) > LOG_WARNING_LEVEL)
		return;
	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	verbose(dm_context, "libdevmapper: %s", s);
	free(s);
}

void dm_start(struct tier_context *ctx)
{
	dm_context = ctx;
	dm_log_with_errno_init(log_libdm);
	dm_set_name_mangling_mode(DM_STRING_MANGLING_NONE);
	dm_udev_set_sync_support(1);
	dm_hold_control_dev(1);
}

void dm_stop(void)
{
	dm_lib_release();
	dm_lib_exit();
}

static const char no_dm[] = "cannot talk to device-mapper (are you root? is dm_mod loaded?)";
static bool failed;

/* A task for a device, or for all when name is NULL. */
static struct dm_task *new_task(int type, const char *name)
{
	struct dm_task *task = dm_task_create(type);

	if (!task)
		return NULL;
	if (name && !dm_task_set_name(task, name)) {
		dm_task_destroy(task);
		return NULL;
	}
	return task;
}

static int run(struct dm_task *task)
{
	int e;

	if (dm_task_run(task))
		return 0;
	e = dm_task_get_errno(task);
	return e ? -e : -EIO;
}

/*
 * udev needs only a moment, or more at boot, with many devices. A udevd that hangs does nothing
 * any more.
 */
#define UDEV_MS		30000
#define UDEV_HANGS_MS	1000

/* Like dm_udev_wait(), which would wait for ever. */
static void wait_for_udev(uint32_t cookie)
{
	static unsigned int limit = UDEV_MS;
	uint64_t end = now_ms() + limit;
	unsigned int pause = 1;
	int ready = 0, known;

	if (!cookie || !dm_udev_get_sync_support())
		return;
	for (;;) {
		known = dm_udev_wait_immediate(cookie, &ready);
		if (!known)
			verbose(dm_context, "waiting for udev failed");
		if (!known || ready)
			return;
		if (now_ms() >= end)
			break;
		poll(NULL, 0, pause);
		if (pause < 16)
			pause *= 2;
	}
	if (limit == UDEV_MS)
		warn(dm_context, "udev has not handled an event within %u s, and is not waited for any more. Does udevd hang? If it does: systemctl restart systemd-udevd",
		     UDEV_MS / 1000);
	limit = UDEV_HANGS_MS;
	/* Completed in udev's place, or the semaphore would stay in the kernel. */
	if (!dm_udev_complete(cookie) || !dm_udev_wait(cookie))
		verbose(dm_context, "waiting for udev failed");
}

static int run_with_cookie(struct dm_task *task, uint16_t flags)
{
	uint32_t cookie = 0;
	int r;

	if (!dm_task_set_cookie(task, &cookie, flags))
		return -EIO;
	r = run(task);
	wait_for_udev(cookie);
	return r;
}

/* Runs a task that ends in a uevent, and waits for udev, if there is one. */
static int run_with_udev(struct dm_task *task)
{
	return run_with_cookie(task, 0);
}

/* The same for a device that concerns nobody else. */
static int run_hidden(struct dm_task *task)
{
	return run_with_cookie(task, DM_UDEV_DISABLE_SUBSYSTEM_RULES_FLAG | DM_UDEV_DISABLE_DISK_RULES_FLAG |
				     DM_UDEV_DISABLE_OTHER_RULES_FLAG);
}

/* Runs a task and, if the kernel refuses it, finds out why. */
static int run_explained(struct dm_task *task, int (*run)(struct dm_task *), char **reason)
{
	int handle = kmsg_open();
	int r = run(task);
	char *text = kmsg_reason(handle);

	if (!r) {
		free(text);
		return 0;
	}
	*reason = text ? text : xstrdup(strerror(-r));
	return r;
}

/* Ends a task that changed devices; task may be NULL. */
static int finish_change(struct dm_task *task, int r, char **reason)
{
	if (r && !*reason)
		*reason = xstrdup(strerror(-r));
	if (!r)
		dm_context->changed = true;
	if (task)
		dm_task_destroy(task);
	/* Nodes have been made or removed when this returns. */
	dm_task_update_nodes();
	return r;
}

static bool is_tier(const char *type)
{
	return type && !strcmp(type, "tier");
}

/* The table that dmsetup's wipe_table leaves, and its remove --force of a device in use. */
static bool is_error(const char *type)
{
	return type && !strcmp(type, "error");
}

/* Recognised by its UUID, which a set made by dmsetup may lack. */
static bool is_remains(const char *type, const char *uuid)
{
	return (!type || is_error(type)) && uuid && !strncmp(uuid, DM_UUID_PREFIX, strlen(DM_UUID_PREFIX));
}

/* 1: *d is a set's device; 0: another device, or gone; or -errno. */
static int load_device(const char *name, struct dm_device *d)
{
	struct dm_task *task = new_task(DM_DEVICE_TABLE, name);
	char *type = NULL, *params = NULL;
	uint64_t start, length = 0;
	const char *uuid;
	struct dm_info info;
	int r = 0;

	if (!task)
		return -ENOMEM;
	r = run(task);
	if (r == -ENXIO)
		r = 0;
	if (r || !dm_task_get_info(task, &info) || !info.exists)
		goto out;
	dm_get_next_target(task, NULL, &start, &length, &type, &params);
	uuid = dm_task_get_uuid(task);
	if (!is_tier(type) && !is_remains(type, uuid))
		goto out;

	memset(d, 0, sizeof(*d));
	d->name = xstrdup(name);
	d->uuid = xstrdup(uuid ? uuid : "");
	d->dev = makedev(info.major, info.minor);
	d->open_count = info.open_count;
	d->suspended = info.suspended;
	d->read_only = info.read_only;
	d->table_waits = info.inactive_table;
	d->removal_waits = info.deferred_remove;
	d->wiped = is_error(type);
	d->length = length;
	if (is_tier(type))
		d->table = xstrdup(params ? params : "");
	r = 1;
out:
	dm_task_destroy(task);
	return r;
}

int dm_for_each_name(int (*fn)(void *context, const char *name), void *context)
{
	struct dm_task *task = new_task(DM_DEVICE_LIST, NULL);
	struct dm_names *names;
	unsigned int next;
	int r = task ? run(task) : -EIO;

	names = r ? NULL : dm_task_get_names(task);
	if (names && names->dev) {
		do {
			r = fn(context, names->name);
			next = names->next;
			names = (struct dm_names *)((char *)names + next);
		} while (next && !r);
	}
	if (task)
		dm_task_destroy(task);
	return r;
}

struct visit {
	int (*fn)(void *context, struct dm_device *d);
	void *context;
	int error;
};

/* A device that does not answer must not hide the others. */
static int visit_set(void *context, const char *name)
{
	struct visit *v = context;
	struct dm_device d;
	int found = load_device(name, &d);

	if (found < 0)
		v->error = found;
	return found > 0 ? v->fn(v->context, &d) : 0;
}

int dm_for_each_set(int (*fn)(void *context, struct dm_device *d), void *context)
{
	struct visit v = { .fn = fn, .context = context };
	int r = dm_for_each_name(visit_set, &v) ? : v.error;

	if (r < 0)
		failed = true;
	return r;
}

void dm_device_free(struct dm_device *d)
{
	free(d->name);
	free(d->uuid);
	free(d->table);
	memset(d, 0, sizeof(*d));
}

int dm_ask(char **reason)
{
	/* Opens the control node, which loads dm_mod, and compares versions. */
	struct dm_task *task = new_task(DM_DEVICE_VERSION, NULL);
	int r = task ? run(task) : -EIO;

	if (r)
		*reason = xstrdup(no_dm);
	if (task)
		dm_task_destroy(task);
	return r;
}

bool dm_failed(void)
{
	return failed;
}

static bool read_info(const char *name, struct dm_info *info)
{
	struct dm_task *task = new_task(DM_DEVICE_INFO, name);
	bool exists;

	if (!task)
		return false;
	exists = !run(task) && dm_task_get_info(task, info) && info->exists;
	dm_task_destroy(task);
	return exists;
}

bool dm_name_exists(const char *name)
{
	struct dm_info info;

	return read_info(name, &info);
}

int dm_open_count(const char *name)
{
	struct dm_info info;

	return read_info(name, &info) ? info.open_count : -1;
}

bool dm_table_waits(const char *name)
{
	struct dm_info info;

	return read_info(name, &info) && info.inactive_table;
}

int dm_tier_target(char **version, char **reason)
{
	struct dm_task *task = new_task(DM_DEVICE_GET_TARGET_VERSION, "tier");
	int r = task ? run(task) : -ENOMEM;
	struct dm_versions *v = r ? NULL : dm_task_get_versions(task);

	if (v)
		*version = xasprintf("%u.%u.%u", v->version[0], v->version[1], v->version[2]);
	else
		*reason = xstrdup(r == -ENOMEM || r == -ENXIO || r == -EIO ? no_dm :
				  "the kernel has no tier target: modprobe dm-tier");
	if (task)
		dm_task_destroy(task);
	return v ? 0 : r ? r : -EINVAL;
}

static int create(const char *name, const char *uuid, uint64_t length, const char *type, const char *params,
		  bool read_only, int (*run)(struct dm_task *), char **reason)
{
	struct dm_task *task = new_task(DM_DEVICE_CREATE, name);
	int r = -ENOMEM;

	*reason = NULL;
	if (task && dm_task_set_uuid(task, uuid) && dm_task_add_target(task, 0, length, type, params) &&
	    dm_task_set_add_node(task, DM_ADD_NODE_ON_RESUME) && (!read_only || dm_task_set_ro(task)))
		r = run_explained(task, run, reason);
	return finish_change(task, r, reason);
}

int dm_create(const char *name, const char *uuid, uint64_t length, const char *params,
	      bool read_only, char **reason)
{
	return create(name, uuid, length, "tier", params, read_only, run_with_udev, reason);
}

int dm_create_hidden(const char *name, const char *uuid, uint64_t length, const char *type, const char *params,
		     bool read_only, char **reason)
{
	return create(name, uuid, length, type, params, read_only, run_hidden, reason);
}

/* Runs a task with one option that changes a device. */
static int change(int type, const char *name, int (*option)(struct dm_task *), int (*run)(struct dm_task *),
		  char **reason)
{
	struct dm_task *task = new_task(type, name);
	int r = -ENOMEM;

	*reason = NULL;
	if (task && option(task))
		r = run_explained(task, run, reason);
	return finish_change(task, r, reason);
}

int dm_remove(const char *name, char **reason)
{
	/* udev may have the device open for a moment: try for a while. */
	return change(DM_DEVICE_REMOVE, name, dm_task_retry_remove, run_with_udev, reason);
}

int dm_remove_at_last_close(const char *name, char **reason)
{
	return change(DM_DEVICE_REMOVE, name, dm_task_deferred_remove, run_with_udev, reason);
}

/* I/O is held only for a moment, so a file system need not be frozen. */
int dm_suspend(const char *name, char **reason)
{
	return change(DM_DEVICE_SUSPEND, name, dm_task_skip_lockfs, run, reason);
}

int dm_resume(const char *name, char **reason)
{
	return change(DM_DEVICE_RESUME, name, dm_task_skip_lockfs, run_with_udev, reason);
}

int dm_resume_hidden(const char *name, char **reason)
{
	return change(DM_DEVICE_RESUME, name, dm_task_skip_lockfs, run_hidden, reason);
}

static int load(const char *name, uint64_t length, const char *type, const char *params,
		bool read_only, char **reason)
{
	struct dm_task *task = new_task(DM_DEVICE_RELOAD, name);
	int r = -ENOMEM;

	*reason = NULL;
	if (task && dm_task_add_target(task, 0, length, type, params) &&
	    (!read_only || dm_task_set_ro(task)))
		r = run_explained(task, run, reason);
	return finish_change(task, r, reason);
}

int dm_load(const char *name, uint64_t length, const char *params, bool read_only, char **reason)
{
	return load(name, length, "tier", params, read_only, reason);
}

int dm_load_target(const char *name, uint64_t length, const char *type, const char *params, char **reason)
{
	return load(name, length, type, params, false, reason);
}

int dm_load_linear(const char *name, uint64_t length, dev_t dev, char **reason)
{
	char *params = xasprintf("%u:%u 0", major(dev), minor(dev));
	int r = load(name, length, "linear", params, false, reason);

	free(params);
	return r;
}

char *dm_name_of_uuid(const char *uuid)
{
	struct dm_task *task = dm_task_create(DM_DEVICE_INFO);
	struct dm_info info;
	char *name = NULL;

	if (task && dm_task_set_uuid(task, uuid) && !run(task) && dm_task_get_info(task, &info) &&
	    info.exists)
		name = xstrdup(dm_task_get_name(task));
	if (task)
		dm_task_destroy(task);
	return name;
}

int dm_rename(const char *name, const char *new_name, char **reason)
{
	struct dm_task *task = new_task(DM_DEVICE_RENAME, name);
	int r = -ENOMEM;

	*reason = NULL;
	if (task && dm_task_set_newname(task, new_name))
		r = run_explained(task, run_with_udev, reason);
	return finish_change(task, r, reason);
}

/* The answer to a request, in the kernel's layout. */
union answer {
	struct dm_ioctl request;
	char bytes[STATUS_BYTES];
};

/* Without libdevmapper, whose open file a separate process does not have. */
static int ask_kernel(const char *name, unsigned long command, union answer *a)
{
	int fd = dm_events_open(), r;

	memset(&a->request, 0, sizeof(a->request));
	a->request.version[0] = DM_VERSION_MAJOR;
	a->request.flags = DM_NOFLUSH_FLAG;
	a->request.data_size = sizeof(*a);
	a->request.data_start = sizeof(a->request);
	copy_string(a->request.name, sizeof(a->request.name), name);
	if (fd < 0)
		return fd;
	r = ioctl(fd, command, a) ? -errno : 0;
	close(fd);
	return r;
}

static int ask_status(void *context, void *result)
{
	return ask_kernel(context, DM_TABLE_STATUS, result);
}

struct question {
	const char *name, *message;
};

static int ask_target(void *context, void *result)
{
	const struct question *q = context;
	union answer *a = result;
	struct dm_target_msg *m = (void *)(a->bytes + sizeof(a->request));

	copy_string(m->message, sizeof(*a) - sizeof(a->request) - sizeof(*m), q->message);
	return ask_kernel(q->name, DM_TARGET_MSG, a);
}

int dm_query(const char *name, unsigned int ms, const char *message, char **answer)
{
	struct question q = { name, message };
	union answer *a = xcalloc(1, sizeof(*a));
	int r = run_within(ms, ask_target, &q, a, sizeof(*a));

	if (!r && !(a->request.flags & DM_DATA_OUT_FLAG))
		r = -ENODATA;
	if (!r)
		*answer = xstrdup(a->bytes + a->request.data_start);
	free(a);
	return r;
}

int dm_status(const char *name, unsigned int ms, char **status)
{
	union answer *a = xcalloc(1, sizeof(*a));
	const struct dm_target_spec *spec = (const void *)(a->bytes + sizeof(a->request));
	int r;

	if (ms)
		r = run_within(ms, ask_status, (void *)name, a, sizeof(*a));
	else
		r = ask_status((void *)name, a);

	if (!r && (!a->request.target_count || !is_tier(spec->target_type)))
		r = -ENODATA;
	if (!r)
		*status = xstrdup((const char *)(spec + 1));
	free(a);
	return r;
}

int dm_message(const char *name, const char *message, char **answer, char **reason)
{
	struct dm_task *task = new_task(DM_DEVICE_TARGET_MSG, name);
	const char *response;
	int r = -ENOMEM;

	*reason = NULL;
	if (task && dm_task_set_sector(task, 0) && dm_task_set_message(task, message))
		r = run_explained(task, run, reason);
	if (!r && answer) {
		response = dm_task_get_message_response(task);
		*answer = xstrdup(response ? response : "");
	}
	if (r && !*reason)
		*reason = xstrdup(strerror(-r));
	if (task)
		dm_task_destroy(task);
	return r;
}

static int lines_of(int type, dev_t dev, struct dm_line **lines, unsigned int *nr)
{
	struct dm_task *task = dm_task_create(type);
	char *target, *params;
	uint64_t start, length;
	void *next = NULL;
	int r = -ENOMEM;

	*lines = NULL;
	*nr = 0;
	if (task && dm_task_set_major(task, major(dev)) && dm_task_set_minor(task, minor(dev)) &&
	    dm_task_secure_data(task) && dm_task_no_flush(task))
		r = run(task);
	while (!r) {
		next = dm_get_next_target(task, next, &start, &length, &target, &params);
		if (target) {
			*lines = xrealloc(*lines, *nr + 1, sizeof(**lines));
			(*lines)[(*nr)++] = (struct dm_line){
				.start = start, .length = length,
				.type = xstrdup(target), .params = xstrdup(params ? params : ""),
			};
		}
		if (!next)
			break;
	}
	if (task)
		dm_task_destroy(task);
	return r;
}

int dm_table_lines(dev_t dev, struct dm_line **lines, unsigned int *nr)
{
	return lines_of(DM_DEVICE_TABLE, dev, lines, nr);
}

int dm_status_lines(dev_t dev, struct dm_line **lines, unsigned int *nr)
{
	return lines_of(DM_DEVICE_STATUS, dev, lines, nr);
}

void dm_lines_free(struct dm_line *lines, unsigned int nr)
{
	while (nr--) {
		explicit_bzero(lines[nr].params, strlen(lines[nr].params));
		free(lines[nr].params);
		free(lines[nr].type);
	}
	free(lines);
}

int dm_events_open(void)
{
	int fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int dm_events_arm(int fd)
{
	struct dm_ioctl request = {
		.version = { DM_VERSION_MAJOR, 0, 0 },
		.data_size = sizeof(request),
		.data_start = sizeof(request),
	};

	return ioctl(fd, DM_DEV_ARM_POLL, &request) ? -errno : 0;
}
