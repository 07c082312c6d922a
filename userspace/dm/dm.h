/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls to the kernel's device-mapper; only this file uses libdevmapper. */
#ifndef TIERCTL_DM_H
#define TIERCTL_DM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DM_UUID_PREFIX	"TIER-"
/* Of metadata that lies on a set's tiers, and of the slices that it is made of (set/mirror.h). */
#define MIRROR_UUID_PREFIX	"TIERMETA-"
#define SLICE_UUID_PREFIX	"TIERSLICE-"

/* A mapped device with a tier target, or the rest of one; dm_device_free() frees it. */
struct dm_device {
	char *name;
	char *uuid;		/* may be empty */
	dev_t dev;
	int open_count;
	bool suspended;
	bool read_only;
	bool table_waits;	/* a table is loaded, which resume would make the live one */
	bool removal_waits;	/* the device is removed as soon as nobody has it open */
	bool wiped;		/* its table is one of "error" instead */
	uint64_t length;	/* sectors; 0 without a table */
	char *table;		/* the target's arguments, NULL without such a table */
};

/* Lines of all functions here go to ctx, until dm_stop(). */
struct tier_context;
void dm_start(struct tier_context *ctx);
void dm_stop(void);

/*
 * All functions below return 0 or -errno. *reason, if there is one, is then the known cause,
 * never NULL; the caller frees.
 */

/* Whether device-mapper answers at all. */
int dm_ask(char **reason);

/* Calls fn for every mapped device, until it returns another value than 0, which is returned. */
int dm_for_each_name(int (*fn)(void *context, const char *name), void *context);
/* The same for those with a tier target; fn takes over *d. */
int dm_for_each_set(int (*fn)(void *context, struct dm_device *d), void *context);
/* Whether that has failed: then some active sets look inactive. */
bool dm_failed(void);
void dm_device_free(struct dm_device *d);

/* Whether a device of that name exists, whatever its target. */
bool dm_name_exists(const char *name);

/* How often the device is open now; -1 if unknown. */
int dm_open_count(const char *name);

/* Whether a table is loaded that is not the live one. */
bool dm_table_waits(const char *name);

/* The kernel's tier target, loading its module; *version is "1.0.0" or so. */
int dm_tier_target(char **version, char **reason);

/* Makes the device, or leaves nothing behind. */
int dm_create(const char *name, const char *uuid, uint64_t length, const char *params,
	      bool read_only, char **reason);
/* The same for any target, hidden from udev's other rules, and so from everything but device-mapper. */
int dm_create_hidden(const char *name, const char *uuid, uint64_t length, const char *type, const char *params,
		     bool read_only, char **reason);
int dm_remove(const char *name, char **reason);

/* Loads a table, which the target only checks. */
int dm_load(const char *name, uint64_t length, const char *params, bool read_only, char **reason);
/* The same for any target. */
int dm_load_target(const char *name, uint64_t length, const char *type, const char *params, char **reason);
/* Loads a table that passes all I/O through to one device. */
int dm_load_linear(const char *name, uint64_t length, dev_t dev, char **reason);
/* I/O waits until dm_resume(); file systems are not frozen. */
int dm_suspend(const char *name, char **reason);
/* NULL if there is no such device; the caller frees. */
char *dm_name_of_uuid(const char *uuid);
/* At once if the device is not open. */
int dm_remove_at_last_close(const char *name, char **reason);
/*
 * Makes the loaded table the live one, in one call: the device is suspended and resumed within
 * it. After an error the device is suspended.
 */
int dm_resume(const char *name, char **reason);
/* The same for a device of dm_create_hidden(), which udev would show from then on. */
int dm_resume_hidden(const char *name, char **reason);
int dm_rename(const char *name, const char *new_name, char **reason);

/*
 * The status line (INFO) of the target; the caller frees. The target waits for its metadata
 * device while a change of the metadata does: -ETIMEDOUT after ms milliseconds, unless ms is 0.
 */
int dm_status(const char *name, unsigned int ms, char **status);

/*
 * answer may be NULL; else it is set to the target's answer, "" if there is none; the caller
 * frees.
 */
int dm_message(const char *name, const char *message, char **answer, char **reason);

/* The target's answer to a message that changes nothing, as dm_status(); -ENODATA: there is none. */
int dm_query(const char *name, unsigned int ms, const char *message, char **answer);

/* A line of a mapped device's table; start and length in sectors. */
struct dm_line {
	uint64_t start, length;
	char *type;
	char *params;		/* may hold a key */
};

/* The table of any mapped device.  0 or -errno; dm_lines_free() wipes and frees. */
int dm_table_lines(dev_t dev, struct dm_line **lines, unsigned int *nr);
/*
 * The same for the status. The status of some targets (not linear, mirror and raid) may take
 * long.
 */
int dm_status_lines(dev_t dev, struct dm_line **lines, unsigned int *nr);
void dm_lines_free(struct dm_line *lines, unsigned int nr);

/*
 * A descriptor that poll() finds readable (POLLIN) when a device-mapper event has
 * happened since dm_events_arm().  Negative: -errno.
 */
int dm_events_open(void);
int dm_events_arm(int fd);

#endif
