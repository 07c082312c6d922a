/* SPDX-License-Identifier: GPL-2.0-only */
/* What is asked of the kernel's device-mapper; the only user of libdevmapper. */
#ifndef TIERCTL_DM_H
#define TIERCTL_DM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DM_UUID_PREFIX	"TIER-"

/* A mapped device with a tier target, or what is left of one; dm_device_free() empties it. */
struct dm_device {
	char *name;
	char *uuid;		/* may be empty */
	dev_t dev;
	int open_count;
	bool suspended;
	bool read_only;
	bool table_waits;	/* one is loaded that resume would make the live one */
	bool removal_waits;	/* it goes as soon as nobody has it open */
	bool wiped;		/* its table is one of "error" instead */
	uint64_t length;	/* sectors; 0 without a table */
	char *table;		/* the target's arguments, NULL without such a table */
};

/* Lines of all functions here go to ctx, until dm_stop(). */
struct tier_context;
void dm_start(struct tier_context *ctx);
void dm_stop(void);

/*
 * All functions below return 0 or -errno.  *reason, where there is one, is then
 * what is known of the cause, never NULL; the caller frees.
 */

/* Whether device-mapper can be asked at all. */
int dm_ask(char **reason);

/* Calls fn for every mapped device with a tier target; fn takes over *d. */
int dm_for_each_set(int (*fn)(void *context, struct dm_device *d), void *context);
/* Whether that has failed: then some sets look as if they were inactive. */
bool dm_failed(void);
void dm_device_free(struct dm_device *d);

/* Whether a device of that name exists, whatever its target. */
bool dm_name_exists(const char *name);

/* How often it is open now; -1 if that cannot be learnt. */
int dm_open_count(const char *name);

/* The kernel's tier target, loading its module; *version is "1.0.0" or so. */
int dm_tier_target(char **version, char **reason);

/* Makes the device, or leaves no trace. */
int dm_create(const char *name, const char *uuid, uint64_t length, const char *params,
	      bool read_only, char **reason);
int dm_remove(const char *name, char **reason);

/* Loads a table, which the target only checks. */
int dm_load(const char *name, uint64_t length, const char *params, bool read_only, char **reason);
/* The same of a table that passes everything through to one device. */
int dm_load_linear(const char *name, uint64_t length, dev_t dev, char **reason);
/* I/O waits until dm_resume(); file systems are not frozen. */
int dm_suspend(const char *name, char **reason);
/* NULL if there is no such device; the caller frees. */
char *dm_name_of_uuid(const char *uuid);
/* At once, if it is not open. */
int dm_remove_at_last_close(const char *name, char **reason);
/*
 * Makes the loaded table the live one, in one call: the device is suspended and
 * resumed within it.  After an error the device is suspended.
 */
int dm_resume(const char *name, char **reason);
int dm_rename(const char *name, const char *new_name, char **reason);

/*
 * The status line (INFO) of the target; the caller frees.  The target waits for its metadata
 * device where a change of the metadata does: -ETIMEDOUT after so many milliseconds, if not 0.
 */
int dm_status(const char *name, unsigned int ms, char **status);

/* answer may be NULL; else it is what the target said, "" if nothing; the caller frees. */
int dm_message(const char *name, const char *message, char **answer, char **reason);

/* A line of a mapped device's table; start and length in sectors. */
struct dm_line {
	uint64_t start, length;
	char *type;
	char *params;		/* may hold a key */
};

/* The table of any mapped device.  0 or -errno; dm_lines_free() wipes and frees. */
int dm_table_lines(dev_t dev, struct dm_line **lines, unsigned int *nr);
/* The same of its status, which some targets (not linear, mirror and raid) may be long to tell. */
int dm_status_lines(dev_t dev, struct dm_line **lines, unsigned int *nr);
void dm_lines_free(struct dm_line *lines, unsigned int nr);

/*
 * A descriptor that poll() finds readable (POLLIN) when a device-mapper event has
 * happened since dm_events_arm().  Negative: -errno.
 */
int dm_events_open(void);
int dm_events_arm(int fd);

#endif
