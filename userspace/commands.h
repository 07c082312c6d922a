/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands; each returns an exit code.  And what they share. */
#ifndef TIERCTL_COMMANDS_H
#define TIERCTL_COMMANDS_H

#include "options.h"
#include "ranges.h"
#include "set.h"

int cmd_create(const struct args *args);
int cmd_destroy(const struct args *args);
int cmd_activate(const struct args *args);
int cmd_deactivate(const struct args *args);
int cmd_list(const struct args *args);
int cmd_scan(const struct args *args);
int cmd_status(const struct args *args);
int cmd_pause(const struct args *args);
int cmd_resume(const struct args *args);
int cmd_set(const struct args *args);
int cmd_get(const struct args *args);
int cmd_migrate(const struct args *args);
int cmd_pin(const struct args *args);
int cmd_unpin(const struct args *args);
int cmd_evacuate(const struct args *args);
int cmd_admit(const struct args *args);
int cmd_wait(const struct args *args);
int cmd_top(const struct args *args);
int cmd_heatmap(const struct args *args);
int cmd_explain(const struct args *args);
int cmd_events(const struct args *args);
int cmd_metrics(const struct args *args);
int cmd_check(const struct args *args);
int cmd_dump(const struct args *args);
int cmd_restore(const struct args *args);
int cmd_repair(const struct args *args);
int cmd_add(const struct args *args);
int cmd_remove(const struct args *args);
int cmd_replace(const struct args *args);
int cmd_resize(const struct args *args);
int cmd_rename(const struct args *args);
int cmd_schedule(const struct args *args);
int cmd_convert(const struct args *args);
int cmd_revert(const struct args *args);

/*
 * The set of that name, which must be active and in working order; NULL with the
 * error said.  Fills *list, which the caller frees in any case.
 */
struct set *need_active(struct set_list *list, const char *name);

/* Makes the device of an inactive set, as tierctl activate does.  An exit code. */
int activate_uuid(const char *set_hex);

/* A label is from the metadata's future, so the metadata is an old copy; with the error said. */
bool activate_metadata_stale(const struct set *s);

/* An activation that was killed leaves its device without a table: the set is not active. */
bool activate_has_remains(const struct set *s);
/* Takes that away and calls fn with the set as it is then, for that command.  An exit code. */
int activate_without_remains(const struct set *before, const char *command,
			     int (*fn)(void *context, struct set *s), void *context);

/* Whether there is a set of that name, active or not; with the error said. */
bool need_known(struct set_list *list, const char *name);

/* Whether it is active and in working order; false with the error said. */
bool check_active(const struct set *s);

/* Sends a message, or says that it would (--dry-run).  0 or -errno, with the error said. */
int send_message(const struct set *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A rank of the set; false with the error said. */
bool parse_rank(const struct set *s, const char *text, unsigned int *rank);

/* Whether it can be a set's name. */
bool is_name(const char *name);
/* The same: 0, or EXIT_USAGE with the error said. */
int check_name(const char *name, const char *command);

/* --feature of create and activate.  0, or EXIT_USAGE with the error said. */
int parse_features(const struct args *args, const char *command, struct strings *features);

/* Takes the hours of a set that is gone away from systemd, if it has any. */
void schedule_forget(const char *set_hex);
/* Pauses or resumes a set that was activated, if it has hours. */
void schedule_follow(const char *set_hex);

/* --chunksize and --policy of create and convert.  0, or EXIT_USAGE with the error said. */
int parse_chunk_size(const struct args *args, const char *command, uint64_t *sectors);
int parse_policy(const struct args *args, const char *command, char **policy);

/* Refuses when the mapped device is open: false, with the error said. */
bool check_closed(const struct set *s, const char *command);

/* Waits, with a bar if there is a terminal.  rank < 0: until nothing moves. */
int wait_for(struct set *s, int rank, uint64_t timeout_ms);
/* Waits until all of the chunks that are mapped lie on the tier, with a bar likewise. */
int wait_for_chunks(struct set *s, const struct ranges *chunks, unsigned int rank);

/* --interval: milliseconds, 0 if it was not given.  0, or EXIT_USAGE with the error said. */
int parse_interval(const struct args *args, const char *command, uint64_t *ms);

#endif
