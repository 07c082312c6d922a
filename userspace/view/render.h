/* SPDX-License-Identifier: GPL-2.0-only */
/* Reports on the screen and as JSON. */
#ifndef TIERCTL_RENDER_H
#define TIERCTL_RENDER_H

#include <stdio.h>

#include "set/report.h"

void show_list(const struct report *reports, unsigned int nr);
void show_status(const struct report *r);
/* devices: found by scan; sets: the sets that they belong to. */
void show_scan(const struct member_list *devices, const struct set_list *sets);
/* Prometheus' text format; the reports are of active sets, with wear and holds. */
void print_metrics(FILE *f, const struct report *reports, unsigned int nr);
void show_tunables(const struct set *s, const char *key);

/*
 * JSON is printed once, at the end of the command: an envelope with the sets, the devices and
 * the errors.  Nothing of events and dump, which print JSON of their own.
 */
void json_start(const char *command);
void json_add_report(const struct report *r);
void json_add_scan(const struct member_list *devices, const struct set_list *sets);
void json_add_tunables(const struct set *s, const char *key);
struct check_run;
/* name: of the set, or of the device or file that was checked. */
void json_add_check(const char *name, const struct check_run *run, bool fine);
struct terminal;
void json_finish(const struct terminal *t);
/* The same of a command that changes something and has no report of its own. */
void json_finish_change(const struct terminal *t, int exit_code);

struct picture;
void json_add_heatmap(const struct picture *p);

struct hot;
/* Adds to the set that was reported last. */
void json_add_hot(const struct hot *hot);

#endif
