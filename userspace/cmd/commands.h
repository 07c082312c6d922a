/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands; each returns an exit code.  And what they share. */
#ifndef TIERCTL_COMMANDS_H
#define TIERCTL_COMMANDS_H

#include "base/context.h"
#include "cmd/options.h"
#include "base/ranges.h"
#include "set/set.h"

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
int cmd_advise(const struct args *args);
int cmd_events(const struct args *args);
int cmd_metrics(const struct args *args);
int cmd_check(const struct args *args);
int cmd_backup(const struct args *args);
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

/* Whether it can be a set's name (is_name()): 0, or EXIT_USAGE with the error said. */
int check_name(struct tier_context *ctx, const char *name, const char *command);

/* Dumps the metadata of a set to a file, as XML; *info is what was dumped. False with the error said. */
bool dump_metadata(struct tier_context *ctx, const char *name, const char *output, struct tier_meta_info *info);

/* --feature of create and activate.  0, or EXIT_USAGE with the error said. */
int parse_features(const struct args *args, const char *command, struct strings *features);

/*
 * --chunksize (0 if it is not given) and --policy of create and convert.  0, or EXIT_USAGE with
 * the error said.
 */
int parse_chunk_size(const struct args *args, const char *command, uint64_t *sectors);
/* What to say behind the size of chunks if it is not the usual one, and nobody asked for it. */
const char *chunk_size_note(const struct args *args, uint64_t sectors);
int parse_policy(const struct args *args, const char *command, char **policy);

/* --interval: milliseconds, 0 if it was not given.  0, or EXIT_USAGE with the error said. */
int parse_interval(const struct args *args, const char *command, uint64_t *ms);

#endif
